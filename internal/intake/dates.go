package intake

import (
	"regexp"
	"strconv"
	"time"

	"ciclo/internal/fault"
)

// Order is how a file writes dates that are not ISO.
type Order string

// The orders; OrderOpen means that the file does not say and a person must.
const (
	OrderDMY  Order = "dmy"
	OrderMDY  Order = "mdy"
	OrderOpen Order = "ask"
)

// Orders lists what a person may choose.
var Orders = []Order{OrderDMY, OrderMDY}

// Word says the order in the reader's language.
func (o Order) Word() fault.Message { return fault.Msg("intake.order." + string(o)) }

var (
	isoDate   = regexp.MustCompile(`^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ][\d:.,Z+-]*)?$`)
	slashDate = regexp.MustCompile(`^(\d{1,2})[/.-](\d{1,2})[/.-](\d{2}|\d{4})(?: [\d:]*)?$`)
	serial    = regexp.MustCompile(`^\d{5}$`)
)

// DateOrder answers how the date columns of s are written. A day over 12 gives
// it away; dates like 01/02/2024 alone leave it open. A few that contradict the
// rest are mistakes, not an order.
func DateOrder(s *Sheet, m Mapping) Order {
	var dmy, mdy, open int
	for _, f := range []Field{HiredOn, LeftOn} {
		at := m.at(f)
		for _, r := range s.Rows {
			if at < 0 || at >= len(r.Cells) {
				continue
			}
			p := slashDate.FindStringSubmatch(tidy(r.Cells[at]))
			if p == nil {
				continue
			}
			a, b := number(p[1]), number(p[2])
			switch {
			case a > 12 && b <= 12:
				dmy++
			case b > 12 && a <= 12:
				mdy++
			case a != b && a <= 12:
				open++
			}
		}
	}
	switch {
	case dmy > 0 && dmy >= 10*mdy:
		return OrderDMY
	case mdy > 0 && mdy >= 10*dmy:
		return OrderMDY
	case dmy == 0 && mdy == 0 && open == 0:
		return OrderDMY // nothing depends on it
	}
	return OrderOpen
}

// firstSerial is the day before the first of the days that workbooks count, as
// they count them after February 1900.
var firstSerial = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)

// workbookDay is the day that a bare number stands for in a workbook, as ISO.
func workbookDay(v string) string {
	if !serial.MatchString(v) {
		return v
	}
	return firstSerial.AddDate(0, 0, number(v)).Format(time.DateOnly)
}

// parseDate reads one date; why says what is wrong with it.
func parseDate(v string, order Order) (day time.Time, why fault.Message) {
	format := "intake.date_format"
	if order == OrderMDY {
		format = "intake.date_format_mdy"
	}
	var y, m, d string
	if p := isoDate.FindStringSubmatch(v); p != nil {
		y, m, d = p[1], p[2], p[3]
	} else if p := slashDate.FindStringSubmatch(v); p != nil {
		d, m, y = p[1], p[2], p[3]
		if order == OrderMDY {
			d, m = m, d
		}
	} else if serial.MatchString(v) {
		return day, fault.Msg("intake.date_serial")
	} else {
		return day, fault.Msg(format)
	}
	if len(y) == 2 {
		return day, fault.Msg("intake.date_short_year")
	}
	day = time.Date(number(y), time.Month(number(m)), number(d), 0, 0, 0, 0, time.UTC)
	if day.Day() != number(d) || int(day.Month()) != number(m) {
		if order == OrderMDY {
			return day, fault.Msg("intake.date_missing_mdy")
		}
		return day, fault.Msg("intake.date_missing")
	}
	if day.Year() < 1900 || day.Year() > 2100 {
		return day, fault.Msg("intake.date_year")
	}
	return day, fault.Message{}
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
