package intake

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"ciclo/internal/fault"
)

// What a workbook may be at most, unpacked. The parts that are read whole are
// held to less: a byte of them takes up to thirty in memory.
const (
	MaxUnzipped  = 100 << 20
	maxWholePart = 4 << 20
	maxTexts     = 3_000_000 // entries in the table of shared texts
	maxSheets    = 50        // that are looked at for a known header
	maxParts     = 1_000
	maxWidth     = 256 // cells of a line, blank ones at its end included
	// dayMark goes before the number of a cell that shows a day. No text that can
	// be kept has it. (The library's own dates cost sixty times as much.)
	dayMark = "\ue000"
)

// workbookEncoding is what Sheet.Encoding says of a workbook.
const workbookEncoding = "Excel"

// Workbook reports whether the sheet came from a workbook, where a bare number
// in a column of dates is a date.
func (s *Sheet) Workbook() bool { return s.Encoding == workbookEncoding }

// readWorkbook reads the first sheet whose header says what kind of file this
// is, or else the first with anything on it.
func readWorkbook(name string, body []byte, kind Columns) (sheet *Sheet, err error) {
	// The library is handed what strangers made; where it stumbles, the file is
	// to blame and not the request.
	defer func() {
		if stumbled := recover(); stumbled != nil {
			sheet, err = nil, fault.Invalidf("intake.xlsx_broken")
		}
	}()
	lean, err := sieve(body)
	if err != nil {
		return nil, err
	}
	book, err := excelize.OpenReader(bytes.NewReader(lean), excelize.Options{
		UnzipSizeLimit: MaxUnzipped, UnzipXMLSizeLimit: maxWholePart,
	})
	if book != nil {
		defer book.Close() // takes its temporary files away
	}
	if err != nil {
		return nil, fault.Invalidf("intake.xlsx_broken")
	}
	plainNumbers(book)
	tab, err := chooseTab(book, kind)
	if err != nil {
		return nil, err
	}
	rows, err := workbookRows(book, tab, false)
	if err != nil {
		return nil, err
	}
	sheet, err = sheetOf(name, rows)
	if err != nil {
		return nil, err
	}
	sheet.Encoding, sheet.Tab = workbookEncoding, shorten(visible(tidy(tab)), 120)
	return sheet, nil
}

// sieve keeps of a workbook the parts that hold cells, as they are packed, and
// refuses what would unpack to more than fits. Pictures, pivots and macros are
// neither read nor counted.
func sieve(body []byte) ([]byte, error) {
	in, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil || len(in.File) > maxParts {
		return nil, fault.Invalidf("intake.xlsx_broken")
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	var total uint64
	var book bool
	for _, part := range in.File {
		where := strings.ToLower(strings.ReplaceAll(part.Name, `\`, "/"))
		if !holdsCells(where) {
			continue
		}
		if part.Flags&1 != 0 {
			return nil, fault.Invalidf("intake.is_encrypted")
		}
		// What a part says of its size is true: unpacking stops at it.
		total += part.UncompressedSize64
		texts := where == "xl/sharedstrings.xml"
		if part.UncompressedSize64 > MaxUnzipped || total > MaxUnzipped || !texts && path.Dir(where) != "xl/worksheets" && part.UncompressedSize64 > maxWholePart {
			return nil, tooMuchUnzipped()
		}
		if texts {
			if err := countTexts(part); err != nil {
				return nil, err
			}
		}
		book = book || path.Dir(where) == "xl/worksheets"
		if err := w.Copy(part); err != nil {
			return nil, fault.Invalidf("intake.xlsx_broken")
		}
	}
	if !book {
		return nil, fault.Invalidf("intake.is_zip")
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack the workbook again: %w", err)
	}
	return out.Bytes(), nil
}

func tooMuchUnzipped() error {
	return fault.New(fault.TooLarge, "intake.xlsx_too_large", "limit", "100 MB")
}

func holdsCells(part string) bool {
	switch path.Dir(part) {
	case ".", "_rels", "xl/_rels":
		return part == "[content_types].xml" || strings.HasSuffix(part, ".rels")
	case "xl":
		return strings.HasSuffix(part, ".xml") && part != "xl/calcchain.xml"
	case "xl/worksheets":
		return strings.HasSuffix(part, ".xml")
	}
	return false
}

// countTexts refuses a table of texts with more entries than memory is meant
// for: each costs some forty bytes beside its letters.
func countTexts(part *zip.File) error {
	r, err := part.Open()
	if err != nil {
		return fault.Invalidf("intake.xlsx_broken")
	}
	defer r.Close()
	buf := make([]byte, 64<<10)
	n, kept := 0, 0
	for {
		got, err := r.Read(buf[kept:])
		chunk := buf[:kept+got]
		n += bytes.Count(chunk, []byte("<si"))
		if n > maxTexts {
			return tooMuchUnzipped()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fault.Invalidf("intake.xlsx_broken")
		}
		kept = copy(buf, chunk[max(0, len(chunk)-2):]) // a mark may lie across two reads
	}
}

// plainNumbers makes cells read as what they hold and not as they are dressed:
// dates marked as such, numbers without separators and decimals that they lack.
// Formats of nothing but zeros stay, as they are how 42 is shown as 000042.
func plainNumbers(book *excelize.File) {
	if book.Styles == nil || book.Styles.CellXfs == nil {
		return
	}
	marked := `"` + dayMark + `"0.0000`
	known := len(book.Styles.CellXfs.Xf)
	made, err := book.NewStyle(&excelize.Style{CustomNumFmt: &marked})
	if err != nil || book.Styles.CellXfs.Xf[made].NumFmtID == nil {
		return
	}
	day, general := *book.Styles.CellXfs.Xf[made].NumFmtID, 0
	means := map[int]int{}
	for _, f := range book.Styles.NumFmts.NumFmt {
		code := f.FormatCode
		if f.FormatCode16 != "" {
			code = f.FormatCode16
		}
		switch {
		case f.NumFmtID == day:
		case saysDay(code):
			means[f.NumFmtID] = day
		case strings.Trim(code, "0") == "" && code != "":
			means[f.NumFmtID] = f.NumFmtID
		}
	}
	for i := range book.Styles.CellXfs.Xf[:known] {
		x := &book.Styles.CellXfs.Xf[i]
		if x.NumFmtID == nil {
			continue
		}
		id, own := means[*x.NumFmtID]
		if n := *x.NumFmtID; !own && (n >= 14 && n <= 17 || n == 22 || n >= 27 && n <= 31 || n == 36 || n >= 50 && n <= 58) {
			id = day
		} else if !own {
			id = general
		}
		x.NumFmtID = &id
	}
}

// markedDay turns a marked number into the day it stands for, as ISO.
func markedDay(cell string, from1904 bool) string {
	marked, is := strings.CutPrefix(cell, dayMark)
	if !is {
		return cell
	}
	n, err := strconv.ParseFloat(marked, 64)
	if err != nil || n < 1 || n > 2_958_465 { // the last day of 9999
		return marked
	}
	if from1904 {
		n += 1462
	}
	return firstSerial.AddDate(0, 0, int(n)).Format(time.DateOnly)
}

// saysDay reports whether a number format shows a day or a year, outside of its
// quoted words and its [colours].
func saysDay(code string) bool {
	var bare strings.Builder
	closing := byte(0)
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case closing != 0:
			if c == closing {
				closing = 0
			}
		case c == '"':
			closing = '"'
		case c == '[':
			closing = ']'
		case c == '\\' || c == '_' || c == '*':
			i++ // the next one is only drawn
		default:
			bare.WriteByte(c)
		}
	}
	first, _, _ := strings.Cut(strings.ToLower(bare.String()), ";")
	return first != "general" && strings.ContainsAny(first, "dy")
}

// chooseTab answers the first sheet with a header that knows every required
// column of its kind; else the first with anything on it.
func chooseTab(book *excelize.File, kind Columns) (tab string, err error) {
	tabs := book.GetSheetList()
	for _, name := range tabs[:min(len(tabs), maxSheets)] {
		rows, err := workbookRows(book, name, true)
		if err != nil && fault.As(err) == nil {
			return "", err
		}
		if len(rows) == 0 {
			continue
		}
		if tab == "" {
			tab = name
		}
		if kind.know(headers(rows[0].Cells)) {
			return name, nil
		}
	}
	if tab == "" {
		return "", fault.Invalidf("intake.empty")
	}
	return tab, nil
}

// know reports whether headers name every required column.
func (cs Columns) know(headers []string) bool {
	m := cs.Guess(headers)
	for _, c := range cs {
		if c.Required && !slices.Contains(m, c.Field) {
			return false
		}
	}
	return len(cs) > 0
}

// workbookRows reads the lines of one sheet that have something on them, or the
// first of them only.
func workbookRows(book *excelize.File, tab string, headerOnly bool) (out []Row, err error) {
	rows, err := book.Rows(tab)
	if err != nil {
		return nil, fault.Invalidf("intake.xlsx_broken") // a chart has no cells, a broken sheet neither
	}
	defer rows.Close()
	props, err := book.GetWorkbookProps()
	if err != nil {
		return nil, fault.Invalidf("intake.xlsx_broken")
	}
	from1904 := props.Date1904 != nil && *props.Date1904
	text := 0
	for line := 1; rows.Next(); line++ {
		cells, err := rows.Columns()
		if err != nil {
			return nil, fault.Invalidf("intake.xlsx_broken")
		}
		if len(cells) > maxWidth {
			return nil, fault.Invalidf("intake.too_many_columns", "line", line, "max", MaxColumns)
		}
		for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
			cells = cells[:len(cells)-1]
		}
		if len(cells) == 0 {
			continue
		}
		if len(cells) > MaxColumns {
			return nil, fault.Invalidf("intake.too_many_columns", "line", line, "max", MaxColumns)
		}
		if len(out) > MaxRows { // one more than MaxRows, as the headers count too
			return nil, fault.Invalidf("intake.too_many_rows", "line", line, "max", MaxRows)
		}
		row := Row{Line: line, Cells: make([]string, len(cells))}
		for i, cell := range cells {
			if len(cell) > MaxCell {
				return nil, fault.Invalidf("intake.cell_too_long", "line", line, "column", i+1, "max", MaxCell)
			}
			if strings.ContainsRune(cell, 0) {
				return nil, fault.Invalidf("intake.nul", "line", line)
			}
			// One text may stand in every cell: what is kept is counted, not what was packed.
			if text += len(cell); text > MaxUnzipped {
				return nil, tooMuchUnzipped()
			}
			row.Cells[i] = arm(markedDay(strings.ToValidUTF8(cell, "\ufffd"), from1904))
		}
		if out = append(out, row); headerOnly {
			return out, nil
		}
	}
	if rows.Error() != nil {
		return nil, fault.Invalidf("intake.xlsx_broken")
	}
	return out, nil
}
