package intake

import (
	"io"
	"strings"
)

// active lists what makes a spreadsheet run a cell instead of showing it.
const active = "=+-@\t\r\n"

// defuse puts an apostrophe before a cell that a spreadsheet would run. A cell
// that already looks defused gets one more, so that arm is its exact inverse.
func defuse(cell string) string {
	if rest := strings.TrimLeft(cell, "'"); rest != "" && strings.IndexByte(active, rest[0]) >= 0 {
		return "'" + cell
	}
	return cell
}

// arm takes that apostrophe away again, and unwraps ="000123", which other
// systems write to keep leading zeros.
func arm(cell string) string {
	if rest := strings.TrimLeft(cell, "'"); len(rest) < len(cell) && rest != "" && strings.IndexByte(active, rest[0]) >= 0 {
		return cell[1:]
	}
	if len(cell) >= 3 && strings.HasPrefix(cell, `="`) && strings.HasSuffix(cell, `"`) && strings.Count(cell, `"`) == 2 {
		return cell[2 : len(cell)-1]
	}
	return cell
}

// WriteCSV writes rows as a Brazilian spreadsheet opens them: UTF-8 with its
// mark, semicolons, CRLF. Cells that would run as formulas are defused; Read
// gives every cell back as it was.
func WriteCSV(w io.Writer, rows [][]string) error {
	var b strings.Builder
	b.WriteString("\ufeff")
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte(';')
			}
			writeCell(&b, defuse(cell))
		}
		b.WriteString("\r\n")
		if b.Len() > 64<<10 {
			if _, err := io.WriteString(w, b.String()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeCell(b *strings.Builder, cell string) {
	if strings.ContainsAny(cell, ";\"\r\n\t,") || strings.HasPrefix(cell, " ") || strings.HasSuffix(cell, " ") {
		b.WriteByte('"')
		b.WriteString(strings.ReplaceAll(cell, `"`, `""`))
		b.WriteByte('"')
		return
	}
	b.WriteString(cell)
}

// WriteRejects writes the lines for which why has an answer, as they stood in
// the file, with that answer in a last column called header. Guess leaves that
// column out when the mended file comes back.
func (s *Sheet) WriteRejects(w io.Writer, header string, why func(line int) string) error {
	width := len(s.Headers)
	var rejected []Row
	for _, r := range s.Rows {
		if why(r.Line) != "" {
			rejected = append(rejected, r)
			width = max(width, len(r.Cells))
		}
	}
	beside := func(cells []string, last string) []string {
		row := make([]string, width+1)
		copy(row, cells)
		row[width] = last
		return row
	}
	rows := [][]string{beside(s.Headers, header)}
	for _, r := range rejected {
		rows = append(rows, beside(r.Cells, why(r.Line)))
	}
	return WriteCSV(w, rows)
}
