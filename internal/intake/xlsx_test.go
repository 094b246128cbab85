package intake_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/internal/intake"
)

// workbook writes a workbook of one sheet per name, each with its rows.
func workbook(t *testing.T, sheets map[string][][]any, order ...string) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for i, name := range order {
		if i == 0 {
			must(t, f.SetSheetName("Sheet1", name))
		} else if _, err := f.NewSheet(name); err != nil {
			t.Fatal(err)
		}
		for n, row := range sheets[name] {
			must(t, f.SetSheetRow(name, fmt.Sprintf("A%d", n+1), &row))
		}
	}
	return packed(t, f)
}

func packed(t *testing.T, f *excelize.File) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, f.Write(&b))
	return b.Bytes()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// zipped packs parts as they are given; a workbook's skeleton goes before them.
func zipped(t *testing.T, parts map[string]string) []byte {
	t.Helper()
	all := map[string]string{
		"[Content_Types].xml":        `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"_rels/.rels":                `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Dados" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>code</t></is></c><c r="B1" t="inlineStr"><is><t>name</t></is></c></row><row r="2"><c r="A2"><v>7</v></c><c r="B2" t="inlineStr"><is><t>Ana</t></is></c></row></sheetData></worksheet>`,
	}
	for name, text := range parts {
		all[name] = text
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range all {
		part, err := w.Create(name)
		must(t, err)
		_, err = io.WriteString(part, text)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func TestAWorkbookReadsAsItLooks(t *testing.T) {
	f := excelize.NewFile()
	defer f.Close()
	must(t, f.SetSheetName("Sheet1", "Pessoas"))
	must(t, f.SetSheetRow("Pessoas", "A2", &[]any{"Matrícula", "Nome", "Admissão", "Desligamento", "Ramal", "Ativo", "Salário"}))
	format := func(cell, code string, value any) {
		id, err := f.NewStyle(&excelize.Style{CustomNumFmt: &code})
		must(t, err)
		must(t, f.SetCellStyle("Pessoas", cell, cell, id))
		must(t, f.SetCellValue("Pessoas", cell, value))
	}
	day := func(cell string, id int, value any) {
		style, err := f.NewStyle(&excelize.Style{NumFmt: id})
		must(t, err)
		must(t, f.SetCellStyle("Pessoas", cell, cell, style))
		must(t, f.SetCellValue("Pessoas", cell, value))
	}
	hired := time.Date(2024, 2, 1, 15, 30, 0, 0, time.UTC)
	must(t, f.SetSheetRow("Pessoas", "A4", &[]any{42.0, "Ana", hired, "01/03/2024", 4005.0, true, 1234.5}))
	format("A5", "000000", 42)
	must(t, f.SetCellValue("Pessoas", "B5", " Rui "))
	day("C5", 14, 45323)
	format("D5", `dd"-dia-"mm/yy;@`, 45323)
	format("E5", "#,##0.00", 4005)
	format("G5", "[Red]0.00", 10)
	must(t, f.SetCellValue("Pessoas", "A6", "000007"))
	must(t, f.SetCellValue("Pessoas", "B6", "'=1+1"))
	must(t, f.SetCellValue("Pessoas", "C6", 45323)) // a date that lost its format
	must(t, f.SetCellValue("Pessoas", "E6", "12345678901"))
	must(t, f.SetCellValue("Pessoas", "D6", "#N/D"))
	must(t, f.SetCellValue("Pessoas", "A7", 12345678901))
	must(t, f.SetCellValue("Pessoas", "B7", "Eva"))

	s, err := intake.Read("pessoas.xlsx", packed(t, f), intake.PeopleColumns)
	must(t, err)
	want := []intake.Row{
		{Line: 4, Cells: []string{"42", "Ana", "2024-02-01", "01/03/2024", "4005", "TRUE", "1234.5"}},
		{Line: 5, Cells: []string{"000042", " Rui ", "2024-02-01", "2024-02-01", "4005", "", "10"}},
		{Line: 6, Cells: []string{"000007", "=1+1", "45323", "#N/D", "12345678901"}},
		{Line: 7, Cells: []string{"12345678901", "Eva"}},
	}
	if d := cmp.Diff(want, s.Rows); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	if got := i18n.PT.Message(s.Understood()); s.HeaderLine != 2 || got != "Excel, planilha “Pessoas”" {
		t.Errorf("header line %d, understood as %q", s.HeaderLine, got)
	}
	m := intake.PeopleColumns.Guess(s.Headers)
	people := intake.ReadPeople(s, m, intake.DateOrder(s, m))
	if got := people[2].HiredOn; got == nil || got.Format(time.DateOnly) != "2024-02-01" {
		t.Errorf("a bare number as a date reads %v", got)
	}
	if len(people[2].Problems) != 1 || people[2].Problems[0].Why.Key != "intake.formula_error" {
		t.Errorf("the error of a formula: %+v", people[2].Problems)
	}
}

func TestTheSheetWithAKnownHeaderIsRead(t *testing.T) {
	cover := [][]any{{"Relatório do RH"}, {"gerado em novembro"}}
	people := [][]any{{"Matrícula", "Nome"}, {"000001", "Ana"}}
	pairs := [][]any{{"avaliado", "avaliador", "tipo"}, {"000001", "000002", "par"}}
	all := map[string][][]any{"Capa": cover, "Mapa": pairs, "Pessoas": people, "Vazia": nil}
	for _, tt := range []struct {
		name  string
		order []string
		kind  intake.Columns
		tab   string
	}{
		{"people behind a cover", []string{"Capa", "Mapa", "Pessoas"}, intake.PeopleColumns, "Pessoas"},
		{"pairs behind people", []string{"Pessoas", "Mapa"}, intake.PairColumns, "Mapa"},
		{"nothing known: the first with anything on it", []string{"Vazia", "Capa", "Mapa"}, intake.PeopleColumns, "Capa"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := intake.Read("x.xlsx", workbook(t, all, tt.order...), tt.kind)
			must(t, err)
			if s.Tab != tt.tab {
				t.Errorf("read %q, want %q", s.Tab, tt.tab)
			}
		})
	}
	s, err := intake.Read("sem-nome", zipped(t, nil), intake.PeopleColumns)
	if err != nil || s.Tab != "Dados" || s.Rows[0].Cells[0] != "7" {
		t.Errorf("the skeleton reads as %+v, %v", s, err)
	}
}

func TestWorkbooksThatAreRefused(t *testing.T) {
	sheet := func(rows string) map[string]string {
		return map[string]string{"xl/worksheets/sheet1.xml": `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c t="inlineStr"><is><t>code</t></is></c></row>` + rows + `</sheetData></worksheet>`}
	}
	text := func(s string) string { return `<c t="inlineStr"><is><t>` + s + `</t></is></c>` }
	secret, err := excelize.Encrypt(workbook(t, map[string][][]any{"A": {{"code", "name"}, {"1", "Ana"}}}, "A"), &excelize.Options{Password: "segredo"})
	must(t, err)
	locked := zipped(t, nil)
	for _, mark := range []string{"PK\x03\x04", "PK\x01\x02"} { // the bit that says "encrypted", in every head
		for at := 0; ; {
			i := bytes.Index(locked[at:], []byte(mark))
			if i < 0 {
				break
			}
			at += i + 4
			locked[at+2+2*strings.Count(mark, "\x01")] |= 1
		}
	}
	bomb := map[string]string{"xl/worksheets/sheet1.xml": strings.Repeat(" ", intake.MaxUnzipped+1)}
	two := map[string]string{"xl/worksheets/sheet1.xml": strings.Repeat(" ", 60<<20), "xl/worksheets/sheet2.xml": strings.Repeat(" ", 60<<20)}
	texts := map[string]string{"xl/sharedStrings.xml": "<sst>" + strings.Repeat("<si/>", 3_000_001) + "</sst>"}
	styles := map[string]string{"xl/styles.xml": "<styleSheet><cellXfs>" + strings.Repeat("<xf/>", 1<<20) + "</cellXfs></styleSheet>"}
	// One text of 4,000 letters in half a million cells: small when packed, and when unpacked.
	repeated := sheet(strings.Repeat(`<row>`+strings.Repeat(`<c t="s"><v>0</v></c>`, 60)+`</row>`, 9_000))
	repeated["xl/sharedStrings.xml"] = `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><r><t>` + strings.Repeat("x", 4000) + `</t></r></si></sst>`
	for _, tt := range []struct {
		name string
		file string
		body []byte
		kind fault.Kind
		want string
	}{
		{"a bomb", "x.xlsx", zipped(t, bomb), fault.TooLarge, "Unpacked, the workbook is over 100 MB"},
		{"a bomb in two parts", "x.xlsx", zipped(t, two), fault.TooLarge, "Unpacked, the workbook is over 100 MB"},
		{"a bomb of texts", "x.xlsx", zipped(t, texts), fault.TooLarge, "Unpacked, the workbook is over 100 MB"},
		{"a bomb of styles", "x.xlsx", zipped(t, styles), fault.TooLarge, "Unpacked, the workbook is over 100 MB"},
		{"a text repeated", "x.xlsx", zipped(t, repeated), fault.TooLarge, "Unpacked, the workbook is over 100 MB"},
		{"with a password", "x.xlsx", secret, fault.Invalid, "The file is protected by a password"},
		{"with packed parts locked", "x.xlsx", locked, fault.Invalid, "The file is protected by a password"},
		{"an .xls", "x.xls", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1........"), fault.Invalid, "an old Excel sheet"},
		{"an .xls called .xlsx", "x.xlsx", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1........"), fault.Invalid, "an old Excel sheet"},
		{"no zip", "X.XLSX", []byte("\x00\x01\x02\x03 nothing"), fault.Invalid, "does not open as one"},
		{"cut off", "x.xlsx", zipped(t, nil)[:900], fault.Invalid, "does not open as one"},
		{"another zip", "x.zip", []byte("PK\x03\x04........pessoas.csv"), fault.Invalid, "This file is compressed"},
		{"a document", "x.docx", zippedAlone(t, "word/document.xml", "xl/", "x"), fault.Invalid, "This file is compressed"},
		{"no XML inside", "x.xlsx", zipped(t, map[string]string{"xl/workbook.xml": "<<<"}), fault.Invalid, "does not open as one"},
		{"no sheet inside", "x.xlsx", zipped(t, map[string]string{"xl/worksheets/sheet1.xml": "<<<"}), fault.Invalid, "The file is empty"},
		{"65 columns", "x.xlsx", zipped(t, sheet("<row>"+strings.Repeat(text("a"), 65)+"</row>")), fault.Invalid, "Line 2 has more than 64 columns"},
		{"a cell far to the right", "x.xlsx", zipped(t, sheet(`<row r="2"><c r="XFD2"><v>1</v></c></row>`)), fault.Invalid, "Line 2 has more than 64 columns"},
		{"a cell of 5 KiB", "x.xlsx", zipped(t, sheet("<row>"+text(strings.Repeat("x", 5<<10))+"</row>")), fault.Invalid, "Line 2, column 1, is over 4,096 bytes"},
		{"200,001 lines", "x.xlsx", zipped(t, sheet(strings.Repeat("<row><c><v>7</v></c></row>", intake.MaxRows+1))), fault.Invalid, "Line 200,002 is beyond 200,000 lines"},
		{"headers alone", "x.xlsx", zipped(t, sheet("")), fault.Invalid, "The file has only line 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			most := peakWhile(func() {
				_, err := intake.Read(tt.file, tt.body, intake.PeopleColumns)
				if fault.KindOf(err) != tt.kind {
					t.Fatalf("Read() = %v, want kind %v", err, tt.kind)
				}
				if got := i18n.EN.Message(fault.As(err).Message); !strings.Contains(got, tt.want) {
					t.Errorf("says %q, want %q", got, tt.want)
				}
			})
			if most > 400<<20 {
				t.Errorf("took %d MB", most>>20)
			}
		})
	}
}

// zippedAlone packs pairs of names and texts and nothing else.
func zippedAlone(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range pairs {
		_, err := w.Create(name)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

// peakWhile answers the most memory that was in use while do ran, over what was before.
func peakWhile(do func()) uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				runtime.ReadMemStats(&m)
				if m.HeapAlloc > before {
					most = max(most, m.HeapAlloc-before)
				}
			case <-stop:
				return
			}
		}
	}()
	do()
	close(stop)
	<-stopped
	return most
}

// The largest workbook that is accepted, as the caps allow it.
func TestALargeWorkbookIsReadWithinBounds(t *testing.T) {
	f := excelize.NewFile()
	defer f.Close()
	w, err := f.NewStreamWriter("Sheet1")
	must(t, err)
	must(t, w.SetRow("A1", []any{"Matrícula", "Nome", "E-mail", "Departamento", "Cargo", "Admissão"}))
	const n = 20_000
	for i := range n {
		must(t, w.SetRow(fmt.Sprintf("A%d", i+2), []any{fmt.Sprintf("%06d", i), "Pessoa " + fmt.Sprint(i), fmt.Sprintf("p%d@x.example", i), "Operações", "Motorista", time.Date(2020, 1, 1+i%300, 0, 0, 0, 0, time.UTC)}))
	}
	must(t, w.Flush())
	body := packed(t, f)
	most := peakWhile(func() {
		s, err := intake.Read("x.xlsx", body, intake.PeopleColumns)
		must(t, err)
		if len(s.Rows) != n || s.Rows[n-1].Cells[0] != "019999" {
			t.Errorf("%d rows, the last is %v", len(s.Rows), s.Rows[len(s.Rows)-1])
		}
	})
	t.Logf("%d KB packed, %d MB at most", len(body)>>10, most>>20)
	if most > 400<<20 {
		t.Errorf("took %d MB", most>>20)
	}
}
