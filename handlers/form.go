package handlers

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"ciclo/internal/fault"
	"ciclo/internal/intake"
	"ciclo/views"
)

// form reads what a person typed, field by field, and collects what cannot be:
// each reader answers a clean value, or a zero one and a fault beside its field.
type form struct {
	values url.Values
	faults map[string]fault.Message
	order  []string
}

// readForm parses the body of a POST; the query plays no part. A body that
// cannot be read as a form is a fault.
func readForm(r *http.Request) (*form, error) {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Header.Get("Content-Type") == "" && r.ContentLength == 0:
	case err != nil:
		return nil, fault.Invalidf("fault.bad_request")
	case mediaType == "multipart/form-data":
		err = r.ParseMultipartForm(uploadLimit)
	case mediaType == "application/x-www-form-urlencoded":
		err = r.ParseForm()
	default:
		return nil, fault.Invalidf("fault.bad_request")
	}
	if errors.Is(err, errTooLarge) {
		return nil, tooLarge(bodyLimit)
	}
	if err != nil {
		return nil, fault.Invalidf("fault.bad_request")
	}
	return &form{values: r.PostForm, faults: map[string]fault.Message{}}, nil
}

// Fault blames a field; the first blame stands.
func (f *form) Fault(field, key string, args ...any) {
	if _, blamed := f.faults[field]; !blamed {
		f.faults[field] = fault.Msg(key, args...)
	}
}

// Faults answers every blame as one fault, or nil.
func (f *form) Faults() error {
	if len(f.faults) == 0 {
		return nil
	}
	return fault.Fieldsf(f.faults)
}

// Require blames those of the fields that are empty.
func (f *form) Require(fields ...string) {
	for _, field := range fields {
		if strings.TrimSpace(f.first(field)) == "" {
			f.Fault(field, "fault.required")
		}
	}
}

// View is the form as it is drawn again: with what was typed, as far as it can
// be shown, and with what is wrong.
func (f *form) View() views.Form {
	shown := make(map[string][]string, len(f.values))
	for name, values := range f.values {
		for _, v := range values {
			shown[name] = append(shown[name], strings.ReplaceAll(strings.ToValidUTF8(v, "\uFFFD"), "\x00", "\uFFFD"))
		}
	}
	return views.Form{Values: shown, Faults: f.faults, Order: f.order}
}

// Refused answers the form to draw again when err is the person's to mend:
// something typed that cannot be, a state of things that does not allow it, or
// a wait that is asked for.
func (f *form) Refused(err error) (views.Form, bool) {
	bad := fault.As(err)
	if bad == nil || bad.Kind != fault.Invalid && bad.Kind != fault.Conflict && bad.Kind != fault.TooMany {
		return views.Form{}, false
	}
	for field, m := range bad.Fields {
		if _, blamed := f.faults[field]; !blamed {
			f.faults[field] = m
		}
	}
	v := f.View()
	if len(bad.Fields) == 0 {
		v.Problem = &bad.Message
	}
	return v, true
}

func (f *form) first(field string) string {
	if !slices.Contains(f.order, field) {
		f.order = append(f.order, field)
	}
	return f.values.Get(field)
}

// Line reads one line of text: trimmed, at most max characters, without line
// ends, control or direction characters.
func (f *form) Line(field string, max int) string {
	s, m := cleanLine(f.first(field), max)
	if m != nil {
		f.Fault(field, m.Key, m.Args...)
		return ""
	}
	return s
}

// Lines reads every value of a field that may stand several times, each as Line
// reads one.
func (f *form) Lines(field string, max int) []string {
	f.first(field)
	var lines []string
	for _, v := range f.values[field] {
		s, m := cleanLine(v, max)
		if m != nil {
			f.Fault(field, m.Key, m.Args...)
			return nil
		}
		lines = append(lines, s)
	}
	return lines
}

// Text reads text of several lines, at most max characters; line ends become \n.
func (f *form) Text(field string, max int) string {
	s := strings.ReplaceAll(f.first(field), "\r\n", "\n")
	s = strings.TrimSpace(norm.NFC.String(strings.ReplaceAll(s, "\r", "\n")))
	switch {
	case !utf8.ValidString(f.first(field)):
		f.Fault(field, "fault.text_utf8")
	case strings.ContainsRune(s, 0):
		f.Fault(field, "fault.text_nul")
	case strings.ContainsFunc(s, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }):
		f.Fault(field, "fault.text_controls")
	case utf8.RuneCountInString(s) > max:
		f.Fault(field, "fault.text_long", "max", max)
	default:
		return s
	}
	return ""
}

// Secret reads a password as it was typed: not trimmed, not normalised away.
func (f *form) Secret(field string, max int) string {
	s := f.first(field)
	switch {
	case !utf8.ValidString(s):
		f.Fault(field, "fault.text_utf8")
	case strings.ContainsRune(s, 0):
		f.Fault(field, "fault.text_nul")
	case utf8.RuneCountInString(s) > max:
		f.Fault(field, "fault.text_long", "max", max)
	default:
		return norm.NFC.String(s) // the same key gives other bytes on a Mac
	}
	return ""
}

// Int reads a whole number between min and max; an empty field is min.
func (f *form) Int(field string, min, max int) int {
	s := strings.TrimSpace(f.first(field))
	if s == "" {
		return min
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < min || n > max {
		f.Fault(field, "fault.number", "min", min, "max", max)
		return min
	}
	return n
}

// Date reads a day, as 2026-11-30 or 30/11/2026; an empty field is the zero time.
func (f *form) Date(field string) time.Time {
	s := strings.TrimSpace(f.first(field))
	if s == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.DateOnly, "02/01/2006", "2/1/2006"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1900 && t.Year() <= 2200 {
			return t
		}
	}
	shown, m := cleanLine(s, 40)
	if m != nil {
		shown = "…"
	}
	f.Fault(field, "fault.date", "value", shown)
	return time.Time{}
}

// Choice reads one of the allowed values.
func (f *form) Choice(field string, allowed ...string) string {
	s := f.first(field)
	if !slices.Contains(allowed, s) {
		f.Fault(field, "fault.choice")
		return ""
	}
	return s
}

// Ticked reports whether a box is ticked.
func (f *form) Ticked(field string) bool { return f.first(field) != "" }

// ID reads the number of a thing; an empty or forged one is a fault beside the field.
func (f *form) ID(field string) int64 {
	id, ok := parseID(f.first(field))
	if !ok {
		f.Fault(field, "fault.choice")
	}
	return id
}

// IDs reads the numbers of ticked rows.
func (f *form) IDs(field string) []int64 {
	f.first(field)
	var ids []int64
	for _, s := range f.values[field] {
		id, ok := parseID(s)
		if !ok {
			f.Fault(field, "fault.choice")
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

// cleanLine is the rule for every line a person types, in forms and searches.
func cleanLine(s string, max int) (string, *fault.Message) {
	refuse := func(key string, args ...any) (string, *fault.Message) {
		m := fault.Msg(key, args...)
		return "", &m
	}
	switch {
	case !utf8.ValidString(s):
		return refuse("fault.text_utf8")
	case strings.ContainsRune(s, 0):
		return refuse("fault.text_nul")
	}
	s = norm.NFC.String(strings.TrimSpace(s))
	switch {
	case strings.ContainsFunc(s, hidden), s != "" && !strings.ContainsFunc(s, seen):
		return refuse("fault.text_controls")
	case utf8.RuneCountInString(s) > max:
		return refuse("fault.text_long", "max", max)
	}
	return s, nil
}

// hidden reports characters that a reader cannot see and that change what the
// reader sees. Joiners stay: they hold emoji, and letters of some scripts, together.
func hidden(c rune) bool { return !joins(c) && intake.Unseen(c) }

// seen reports characters that show something by themselves.
func seen(c rune) bool { return !joins(c) && !unicode.Is(unicode.Variation_Selector, c) }

func joins(c rune) bool { return c == 0x200C || c == 0x200D }

// parseID accepts 1 to 2^63-1, written the one way we write it.
func parseID(s string) (int64, bool) {
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil && id >= 1 && strconv.FormatInt(id, 10) == s
}
