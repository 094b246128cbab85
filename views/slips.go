package views

import (
	"fmt"
	"strings"

	"rsc.io/qr"

	"ciclo/internal/appraisal"
)

// SlipsPanelID is what htmx swaps on the list of who hands out slips.
const SlipsPanelID = "slips"

// EveryTeam stands for all managers where one of them could be named.
const EveryTeam = "all"

// Slip is one person's, as it is printed.
type Slip struct {
	Person     string
	Employee   string
	Title      string
	Department string
	Reviews    int
	Handed     bool
	Code       string // empty while it is not prepared
	QR         QR
}

// SlipTeam is what one manager hands out.
type SlipTeam struct {
	ManagerID int64
	Manager   string
	Slips     []Slip
}

// SlipSheet is what is printed.
type SlipSheet struct {
	Head         appraisal.CycleHead
	Organisation string
	Address      string // to type, without its scheme
	Team         string // as the address names it
	Teams        []SlipTeam
	Unprepared   int
}

// Add puts a slip with those of its manager; they come manager by manager.
func (s *SlipSheet) Add(managerID int64, manager string, slip Slip) {
	if n := len(s.Teams); n == 0 || s.Teams[n-1].ManagerID != managerID {
		s.Teams = append(s.Teams, SlipTeam{ManagerID: managerID, Manager: manager})
	}
	t := &s.Teams[len(s.Teams)-1]
	t.Slips = append(t.Slips, slip)
}

// SlipHandover is the question before slips are marked as handed over.
type SlipHandover struct {
	Head    appraisal.CycleHead
	Team    string
	Manager string // of the last slip; said only when one manager is meant
	Waiting int
}

// QR is a code as one path of an SVG: no image to load, no style to allow.
type QR struct {
	Side int // in modules, with the quiet zone around
	Path string
}

func (q QR) box() string { return fmt.Sprintf("0 0 %d %d", q.Side, q.Side) }

// quiet is the white border that scanners need, in modules.
const quiet = 4

// DrawQR draws text as a QR code that survives a fold or a stain.
func DrawQR(text string) (QR, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return QR{}, fmt.Errorf("draw a QR code: %w", err)
	}
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			run := 0
			for code.Black(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, run, run)
				x += run
			}
		}
	}
	return QR{Side: code.Size + 2*quiet, Path: path.String()}, nil
}
