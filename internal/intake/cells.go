package intake

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"ciclo/internal/fault"
)

// tidy takes away what nobody typed on purpose: outer space, no-break spaces,
// and accents written as separate characters (as macOS does).
func tidy(s string) string {
	s = norm.NFC.String(s)
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\r' && r != '\t' && unicode.In(r, unicode.Zs) {
			return ' '
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	for strings.Contains(s, "  ") {
		s = strings.ReplaceAll(s, "  ", " ")
	}
	return s
}

// Unseen reports a character that a reader cannot see: controls, line ends, the
// marks that turn the direction of text round, and fillers, which pass for
// letters and show nothing.
func Unseen(r rune) bool {
	const blankBraille = 0x2800
	return r == blankBraille || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// unseen answers the first such character.
func unseen(s string) (rune, bool) {
	for _, r := range s {
		if Unseen(r) {
			return r, true
		}
	}
	return 0, false
}

// CheckLine answers why a line of text cannot be kept, and whether it can:
// every character of it can be seen and is whole.
func CheckLine(s string) (why fault.Message, ok bool) {
	switch r, bad := unseen(s); {
	case bad && (r == '\n' || r == '\r'):
		return fault.Msg("intake.line_end"), false
	case bad:
		return fault.Msg("intake.unseen", "char", visible(string(r))), false
	case strings.ContainsRune(s, utf8.RuneError):
		return fault.Msg("intake.damaged"), false
	}
	return fault.Message{}, true
}

// visible replaces what cannot be seen by its code point, so that a message
// quoting it cannot be disturbed by it.
func visible(s string) string {
	if _, bad := unseen(s); !bad {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if _, bad := unseen(string(r)); bad {
			fmt.Fprintf(&b, "[%U]", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// shorten keeps at most max characters; an ellipsis says that there were more.
func shorten(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	return string([]rune(s)[:max-1]) + "…"
}

// fold compares headers and words: lower case, no accents, letters and digits only.
func fold(s string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(s)) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// FoldName compares names of people: lower case, no accents, single spaces.
func FoldName(s string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(tidy(s))) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// BareCode is an employee code as a spreadsheet leaves it when it takes the
// code for a number: without its leading zeros.
func BareCode(s string) string {
	bare := strings.TrimLeft(s, "0")
	if bare == "" && s != "" {
		return "0"
	}
	return strings.ToLower(bare)
}

// Problem is one thing wrong in one line: the column as the file calls it, the
// value that stands there, and why it cannot be.
type Problem struct {
	Field  Field         `json:"field,omitempty"`
	Column string        `json:"column"`
	Value  string        `json:"value,omitempty"`
	Why    fault.Message `json:"why"` // facts are strings and ints only, so that it survives JSON
}

// Message is the whole sentence: Admissão “31/02/2024”: essa data não existe. …
func (p Problem) Message() fault.Message {
	if p.Value == "" {
		return fault.Msg("intake.problem_blank", "column", p.Column, "why", p.Why)
	}
	return fault.Msg("intake.problem", "column", p.Column, "value", p.Value, "why", p.Why)
}

// UnmarshalJSON gives whole numbers back as int, so that a staged problem reads
// as it did before: line 1.204, not 1204 or 1.204e+03.
func (p *Problem) UnmarshalJSON(data []byte) error {
	type plain Problem
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	for i, v := range p.Why.Args {
		if f, ok := v.(float64); ok {
			p.Why.Args[i] = int(f)
		}
	}
	return nil
}
