// Package intake reads the files that HR departments bring: people and roster
// pairs, as a workbook or as CSV in whatever encoding and with whatever
// separator the spreadsheet at hand wrote them.
//
// It promises to say what it understood (encoding, separator, order of dates),
// to name the true line of the file in everything it refuses, and to refuse a
// line without touching its neighbours. It refuses whole files only where no
// line can be trusted: too large, not text, or broken quotes. It knows no
// database: whether a manager exists is asked by the store.
package intake

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"ciclo/internal/fault"
)

// What a file may be at most.
const (
	MaxBytes   = 10 << 20
	MaxRows    = 200_000
	MaxColumns = 64
	MaxCell    = 4 << 10
)

// Sheet is a file as it was understood: one header line and the rows below it.
type Sheet struct {
	Name      string `json:"name"`
	Encoding  string `json:"encoding"` // UTF-8, UTF-16, Windows-1252 or Excel
	Separator string `json:"separator"`
	Tab       string `json:"tab"` // of a workbook: the name of the sheet that was read
	// HeaderLine is the line the headers stand in; blank lines may precede it.
	HeaderLine int      `json:"header_line"`
	Headers    []string `json:"headers"`
	Rows       []Row    `json:"rows"`
}

// Row is one line with something in it.
type Row struct {
	Line  int      `json:"line"` // as a text editor counts, from 1
	Cells []string `json:"cells"`
}

// Read understands body, the file called name. Lines with nothing in them are
// left out; cells that were defused on export come back as they were. Of a
// workbook it reads one sheet: the first whose header is of this kind of file.
func Read(name string, body []byte, kind Columns) (*Sheet, error) {
	if len(body) <= MaxBytes && isZip(body) && bytes.Contains(body, []byte("xl/")) {
		return readWorkbook(name, body, kind)
	}
	sheet, err := readText(name, body)
	if f := fault.As(err); f != nil && f.Kind == fault.Invalid && strings.HasSuffix(strings.ToLower(name), ".xlsx") && !slices.Contains(namesTheCause, f.Key) {
		return nil, fault.Invalidf("intake.xlsx_broken")
	}
	return sheet, err
}

// namesTheCause lists what is truer of a file called .xlsx than that it is broken.
var namesTheCause = []string{"intake.empty", "intake.no_rows", "intake.is_xls", "intake.is_encrypted", "intake.is_pdf", "intake.is_image", "intake.is_html"}

func readText(name string, body []byte) (*Sheet, error) {
	if err := looksLikeText(body); err != nil {
		return nil, err
	}
	text, encoding, err := decode(body)
	if err != nil {
		return nil, err
	}
	if at := strings.IndexByte(text, 0); at >= 0 {
		return nil, fault.Invalidf("intake.nul", "line", lineOf(text, at))
	}
	sep, skip := separator(text)
	rows, err := records(text[skip:], sep, 1+countLines(text[:skip]))
	if err != nil {
		return nil, err
	}
	sheet, err := sheetOf(name, rows)
	if err != nil {
		return nil, err
	}
	sheet.Encoding, sheet.Separator = encoding, string(sep)
	return sheet, nil
}

// sheetOf takes the first row for the headers; there must be another.
func sheetOf(name string, rows []Row) (*Sheet, error) {
	if len(rows) == 0 {
		return nil, fault.Invalidf("intake.empty")
	}
	if len(rows) == 1 {
		return nil, fault.Invalidf("intake.no_rows", "line", rows[0].Line)
	}
	return &Sheet{Name: fileName(name), HeaderLine: rows[0].Line, Headers: headers(rows[0].Cells), Rows: rows[1:]}, nil
}

// Understood says in the reader's language how the file was read: its encoding
// and separator, or which sheet of a workbook.
func (s *Sheet) Understood() fault.Message {
	if s.Workbook() {
		return fault.Msg("intake.understood_sheet", "tab", s.Tab)
	}
	separator := "semicolon"
	switch s.Separator {
	case ",":
		separator = "comma"
	case "\t":
		separator = "tab"
	}
	return fault.Msg("intake.understood_text", "encoding", s.Encoding, "separator", fault.Msg("intake.separator."+separator))
}

func isZip(body []byte) bool { return bytes.HasPrefix(body, []byte("PK\x03\x04")) }

// looksLikeText refuses what is known by its first bytes to be something else.
func looksLikeText(body []byte) error {
	switch {
	case len(body) > MaxBytes:
		return fault.New(fault.TooLarge, "intake.too_large", "limit", "10 MB")
	case len(bytes.TrimSpace(body)) == 0:
		return fault.Invalidf("intake.empty")
	}
	starts := func(magic string) bool { return bytes.HasPrefix(body, []byte(magic)) }
	switch {
	case starts("PK\x03\x04"), starts("PK\x05\x06"), starts("\x1f\x8b"), starts("7z\xbc\xaf\x27\x1c"), starts("Rar!"):
		return fault.Invalidf("intake.is_zip")
	case starts("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") && bytes.Contains(body, []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")):
		return fault.Invalidf("intake.is_encrypted")
	case starts("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
		return fault.Invalidf("intake.is_xls")
	case starts("%PDF"):
		return fault.Invalidf("intake.is_pdf")
	case starts("\x89PNG"), starts("\xff\xd8\xff"), starts("GIF8"):
		return fault.Invalidf("intake.is_image")
	}
	// Some payroll systems write a web page and call it .xls.
	head := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 512)]))
	for _, tag := range []string{"<html", "<!doctype", "<table", "<?xml"} {
		if bytes.HasPrefix(head, []byte(tag)) {
			return fault.Invalidf("intake.is_html")
		}
	}
	return nil
}

// decode answers the file as UTF-8, without its byte order mark.
func decode(body []byte) (text, encoding string, err error) {
	switch {
	case bytes.HasPrefix(body, []byte("\xff\xfe")), bytes.HasPrefix(body, []byte("\xfe\xff")):
		out, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(body)
		if err != nil {
			return "", "", fault.Invalidf("intake.utf16_broken")
		}
		return string(out), "UTF-16", nil
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		text := string(body[3:])
		if at := firstBroken(text); at >= 0 {
			return "", "", fault.Invalidf("intake.utf8_broken", "line", lineOf(text, at))
		}
		return text, "UTF-8", nil
	case wideWithoutMark(body):
		return "", "", fault.Invalidf("intake.utf16_no_mark")
	}
	text = string(body)
	at := firstBroken(text)
	if at < 0 {
		return text, "UTF-8", nil
	}
	if mixed(text) {
		return "", "", fault.Invalidf("intake.mixed_encoding", "line", lineOf(text, at))
	}
	out, err := charmap.Windows1252.NewDecoder().Bytes(body)
	if err != nil {
		return "", "", fmt.Errorf("decode Windows-1252: %w", err)
	}
	return string(out), "Windows-1252", nil
}

func firstBroken(text string) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// wideWithoutMark recognises UTF-16 that forgot its mark: in Western text
// every second byte is then zero.
func wideWithoutMark(body []byte) bool {
	head := body[:min(len(body), 1024)]
	var even, odd int
	for i, b := range head {
		switch {
		case b == 0 && i%2 == 0:
			even++
		case b == 0:
			odd++
		}
	}
	return len(head) >= 8 && (even > len(head)/4 || odd > len(head)/4)
}

// mixed reports whether text is UTF-8 for the most part. Real Windows-1252
// holds a well-formed sequence by accident at best, so more of them than of
// broken bytes means that two files were pasted together; reading it as
// Windows-1252 would turn every "é" of the good part into "Ã©".
func mixed(text string) bool {
	var whole, broken int
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			broken++
		case size > 1:
			whole++
		}
		i += size
	}
	return whole > broken
}

// separator answers the most frequent of ; tab , in the header line outside
// quotes, and how many bytes to skip: spreadsheets may write "sep=;" first.
func separator(text string) (sep byte, skip int) {
	line, rest := firstLine(text)
	if mark, ok := strings.CutPrefix(strings.ToLower(strings.TrimRight(line, "\r\n")), "sep="); ok && len(mark) == 1 && strings.Contains(";,\t", mark) {
		return mark[0], rest
	}
	var count [256]int
	quoted, started := false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n' || c == '\r':
			if started {
				i = len(text)
			}
		default:
			started = started || c != ' '
			count[c]++
		}
	}
	sep = ';'
	for _, c := range []byte{'\t', ','} {
		if count[c] > count[sep] {
			sep = c
		}
	}
	return sep, 0
}

func firstLine(text string) (line string, next int) {
	at := strings.IndexAny(text, "\r\n")
	if at < 0 {
		return text, len(text)
	}
	if strings.HasPrefix(text[at:], "\r\n") {
		return text[:at], at + 2
	}
	return text[:at], at + 1
}

// records splits text into rows. It is our own reader because encoding/csv
// knows no lone CR, rewrites line ends inside cells and limits nothing.
func records(text string, sep byte, line int) ([]Row, error) {
	var rows []Row
	for i := 0; i < len(text); {
		row := Row{Line: line}
		for more := true; more; {
			cell, next, err := readCell(text, i, sep, line, len(row.Cells)+1)
			if err != nil {
				return nil, err
			}
			line += countLines(text[i:next])
			row.Cells = append(row.Cells, arm(cell))
			if len(row.Cells) > MaxColumns {
				return nil, fault.Invalidf("intake.too_many_columns", "line", row.Line, "max", MaxColumns)
			}
			i, more = next, next < len(text) && text[next] == sep
			if more {
				i++
			}
		}
		if i < len(text) { // at a line end
			if strings.HasPrefix(text[i:], "\r\n") {
				i++
			}
			i++
			line++
		}
		if blank(row.Cells) {
			continue
		}
		if len(rows) > MaxRows { // one more than MaxRows, as the headers count too
			return nil, fault.Invalidf("intake.too_many_rows", "line", row.Line, "max", MaxRows)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// readCell reads the cell that starts at text[i] and answers where it ends: at
// the separator, the line end or the end of the file.
func readCell(text string, i int, sep byte, line, column int) (cell string, next int, err error) {
	start := i
	for start < len(text) && text[start] == ' ' {
		start++
	}
	if start == len(text) || text[start] != '"' {
		end := i
		for end < len(text) && text[end] != sep && text[end] != '\n' && text[end] != '\r' {
			end++
		}
		return limited(text[i:end], end, line, column)
	}
	var b strings.Builder
	for at := start + 1; ; {
		quote := strings.IndexByte(text[at:], '"')
		if quote < 0 {
			return "", 0, fault.Invalidf("intake.quote_open", "line", line, "column", column)
		}
		b.WriteString(text[at : at+quote])
		at += quote + 1
		if at < len(text) && text[at] == '"' {
			b.WriteByte('"')
			at++
			continue
		}
		for at < len(text) && text[at] == ' ' {
			at++
		}
		if at < len(text) && text[at] != sep && text[at] != '\n' && text[at] != '\r' {
			return "", 0, fault.Invalidf("intake.quote_after", "line", line+countLines(text[i:at]), "column", column)
		}
		return limited(b.String(), at, line, column)
	}
}

func limited(cell string, next, line, column int) (string, int, error) {
	if len(cell) > MaxCell {
		return "", 0, fault.Invalidf("intake.cell_too_long", "line", line, "column", column, "max", MaxCell)
	}
	return cell, next, nil
}

// countLines counts line ends: CRLF, LF or CR.
func countLines(s string) int {
	return strings.Count(s, "\n") + strings.Count(s, "\r") - strings.Count(s, "\r\n")
}

func lineOf(text string, at int) int { return 1 + countLines(text[:at]) }

func blank(cells []string) bool {
	for _, c := range cells {
		if strings.TrimSpace(c) != "" {
			return false
		}
	}
	return true
}

// headers cleans the names of the columns for display, and drops empty ones at
// the end, which spreadsheets add for cells that were once formatted.
func headers(cells []string) []string {
	out := make([]string, len(cells))
	last := 0
	for i, c := range cells {
		out[i] = shorten(visible(tidy(c)), 120)
		if out[i] != "" {
			last = i + 1
		}
	}
	return out[:last]
}

// fileName keeps the last part of what the browser called the file.
func fileName(name string) string {
	name = strings.ToValidUTF8(name[strings.LastIndexAny(name, `/\`)+1:], "")
	return shorten(visible(tidy(name)), 120)
}
