package intake_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/internal/intake"
)

func fixture(t *testing.T, name string) *intake.Sheet {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := intake.Read(name, body, intake.PeopleColumns)
	if err != nil {
		t.Fatalf("Read(%s) = %v", name, err)
	}
	return s
}

func TestPeopleAsTheDepartmentExportsThem(t *testing.T) {
	s := fixture(t, "pessoas.csv")
	if s.Encoding != "Windows-1252" || s.Separator != ";" {
		t.Errorf("understood as %s, %q", s.Encoding, s.Separator)
	}
	m := intake.PeopleColumns.Guess(s.Headers)
	want := intake.Mapping{"employee_code", "name", "email", "department", "job_title", "manager", "hired_on", "left_on"}
	if d := cmp.Diff(want, m); d != "" {
		t.Errorf("mapping (-want +got):\n%s", d)
	}
	if err := intake.PeopleColumns.Check(s, m); err != nil {
		t.Error(err)
	}
	if got := intake.DateOrder(s, m); got != intake.OrderDMY {
		t.Errorf("DateOrder() = %s", got)
	}
	rows := intake.ReadPeople(s, m, intake.OrderDMY)
	var noAddress, left, noManager int
	for _, r := range rows {
		for _, p := range r.Problems {
			t.Errorf("line %d: %s", r.Line, i18n.EN.Message(p.Message()))
		}
		if r.Email == nil {
			noAddress++
		}
		if r.LeftOn != nil {
			left++
		}
		if r.Manager == nil {
			noManager++
		}
	}
	if len(rows) != 320 || noAddress != 6 || left != 7 || noManager != 1 {
		t.Errorf("%d people, %d without address, %d left, %d without manager", len(rows), noAddress, left, noManager)
	}
	if r := rows[1]; r.Line != 3 || r.Code != "000002" || r.Name != "Kátia D'Ávila Nóbrega" || r.HiredOn.Format("2006-01-02") != "2024-02-09" || r.Manager.Kind != intake.ByAddress {
		t.Errorf("line 3 read as %+v", r)
	}
}

func TestPairsAsTheDepartmentExportsThem(t *testing.T) {
	s := fixture(t, "pares.csv")
	m := intake.PairColumns.Guess(s.Headers)
	if err := intake.PairColumns.Check(s, m); err != nil {
		t.Fatal(err)
	}
	reviewers, kinds := map[string]bool{}, map[string]int{}
	rows := intake.ReadPairs(s, m)
	for _, r := range rows {
		if len(r.Problems) > 0 {
			t.Errorf("line %d: %v", r.Line, r.Problems)
		}
		reviewers[r.Reviewer.Key()] = true
		kinds[r.Kind]++
	}
	if len(rows) != 1265 || len(reviewers) != 307 {
		t.Errorf("%d pairs by %d reviewers, want 1265 by 307", len(rows), len(reviewers))
	}
	if d := cmp.Diff(map[string]int{"self": 307, "manager": 306, "peer": 612, "report": 40}, kinds); d != "" {
		t.Errorf("kinds (-want +got):\n%s", d)
	}
}

// Every line of pessoas-com-erros.csv but the first and the last has one fault.
func TestEveryFaultSaysWhatIsThereAndWhatWouldBeRight(t *testing.T) {
	s := fixture(t, "pessoas-com-erros.csv")
	m := intake.PeopleColumns.Guess(s.Headers)
	want := map[int]string{
		3:  "Admissão “31/02/2024”: essa data não existe. Use dd/mm/aaaa ou aaaa-mm-dd.",
		4:  "E-mail “jose.magalhaes@@transportes.example”: há um @ a mais. O endereço tem um só, como em nome@empresa.com.br.",
		5:  "Matrícula “000001”: já está na linha 2, com Ana Brandão Leão. Cada pessoa tem a sua.",
		6:  "E-mail “ana.leao@transportes.example”: já está na linha 2, com Ana Brandão Leão. Um endereço é de uma pessoa só.",
		7:  "Matrícula: está em branco. Toda pessoa precisa da sua matrícula.",
		8:  "Nome completo: está em branco. Escreva o nome completo.",
		9:  "E-mail “fabio.kuhn.transportes.example”: falta o @, como em nome@empresa.com.br.",
		10: "E-mail “gisele nobrega@transportes.example”: há um espaço no meio. Tire-o.",
		11: "E-mail “heitor@transportes”: “transportes” não tem ponto, e um domínio tem, como em empresa.com.br.",
		12: "E-mail “íris@transportes.example”: “í” não cabe em um endereço. Use letras sem acento.",
		13: "E-mail “joao@transportes.example, jr@transportes.example”: há mais de um endereço na célula. Deixe um.",
		14: "E-mail “Kátia <katia@transportes.example>”: deixe só o endereço, sem o nome e sem < >.",
		15: "E-mail “luis..vilhena@transportes.example”: há um ponto onde não pode haver: no começo, no fim, ao lado do @ ou dois seguidos.",
		16: "Admissão “amanhã”: não é uma data que se leia. Use dd/mm/aaaa ou aaaa-mm-dd.",
		17: "Admissão “14/05/19”: o ano precisa de quatro algarismos, como em 05/08/2024.",
		18: "Admissão “45123”: é o número que o Excel guarda no lugar da data. Formate a coluna como data e exporte de novo.",
		19: "Admissão “14/05/0219”: o ano está fora do que se espera, de 1900 a 2100.",
		20: "Desligamento “13/05/2018”: é antes da admissão, 14/05/2019. Corrija uma das duas.",
		21: "E-mail do gestor “sergio.davila@transportes.example”: é a própria pessoa. Indique a quem ela responde, ou deixe em branco.",
		22: "E-mail do gestor “ana.leao@”: falta o que vem depois do @, como em nome@empresa.com.br.",
		23: "Idioma “tupi”: não é um idioma do sistema. Use pt-BR ou en, ou deixe em branco.",
		24: "Papel “dona”: não é um papel do sistema. Use admin, rh ou colaborador, ou deixe em branco.",
		25: "Nome completo “Wagner [U+0007]Höfling”: tem um caractere que não se vê, [U+0007]. Digite o texto de novo, sem copiar.",
		26: "Nome completo “Zélia[U+000D][U+000A]Inácio”: tem uma quebra de linha dentro da célula. Deixe tudo em uma linha só.",
		28: "Nome completo “" + strings.Repeat("Antônio ", 7) + "Ant…”: são 207 caracteres, e cabem 200. Encurte.",
		29: "#12 “SP”: a linha tem 12 células e o cabeçalho tem 11. Veja se falta pôr entre aspas um texto com separador.",
	}
	got := map[int]string{}
	rows := intake.ReadPeople(s, m, intake.DateOrder(s, m))
	for _, r := range rows {
		var lines []string
		for _, p := range r.Problems {
			lines = append(lines, i18n.PT.Message(p.Message()))
		}
		if len(lines) > 0 {
			got[r.Line] = strings.Join(lines, " | ")
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("messages by line (-want +got):\n%s", d)
	}
	last := rows[len(rows)-1]
	if last.Line != 30 || last.Manager.Kind != intake.ByName || *last.Locale != "en" || *last.Role != "hr_manager" || last.Attributes["Cidade"] != "São Paulo" || last.Email != nil || last.LeftOn != nil {
		t.Errorf("last line read as %+v", last)
	}
}

func TestPairsThatCannotBe(t *testing.T) {
	s, err := intake.Read("pares.csv", []byte("avaliado,avaliador,tipo\n"+
		"a@x.example,b@x.example,gestor(a)\n"+
		"a@x.example,B@x.example,gestora\n"+
		"a@x.example,b@x.example,chefinho\n"+
		"a@x.example,b@x.example,auto\n"+
		"a@x.example,A@x.example,par\n"+
		",b@x.example,par\n"+
		"a@x.example,,\n"+
		"Ana Leão,b@x.example,liderado(a)\n"+
		"a@x,b@x.example,direct report\n"+
		"000001,b@x.example,self\n"), intake.PairColumns)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"",
		"avaliador “B@x.example”: this pair is already in line 2. Take one of them out.",
		"tipo “chefinho”: is not a kind of review. Use self, manager, peer or report.",
		"avaliador “b@x.example”: is a self-review, but the person under review is a@x.example. Use the same person on both sides, or another kind.",
		"avaliador “A@x.example”: reviewer and person under review are the same. Use self, or somebody else.",
		"avaliado: is blank. Write the address or the employee code of the person under review.",
		"avaliador: is blank. Write the address or the employee code of the reviewer. | tipo: is blank. Use self, manager, peer or report.",
		"avaliado “Ana Leão”: looks like a name, which more than one person may bear. Use the address or the employee code.",
		"avaliado “a@x”: “x” has no dot, and a domain has one, as in company.com.",
		"", // address and code: the store knows whether they are one person
	}
	var got []string
	for _, r := range intake.ReadPairs(s, intake.PairColumns.Guess(s.Headers)) {
		var lines []string
		for _, p := range r.Problems {
			lines = append(lines, i18n.EN.Message(p.Message()))
		}
		got = append(got, strings.Join(lines, " | "))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
}

func TestReadUnderstands(t *testing.T) {
	utf16le := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune("código\tnome\r\n7\tJoão 𝕏\r\n")) {
		utf16le = append(utf16le, byte(u), byte(u>>8))
	}
	for _, tt := range []struct {
		name      string
		body      string
		encoding  string
		separator string
		headers   []string
		rows      []intake.Row
	}{
		{"a UTF-8 mark and commas", "\ufeffcode,name\n7,João\n", "UTF-8", ",", []string{"code", "name"}, []intake.Row{{2, []string{"7", "João"}}}},
		{"Windows-1252", "c\xf3digo;nome\r\n7;Jo\xe3o\r\n", "Windows-1252", ";", []string{"código", "nome"}, []intake.Row{{2, []string{"7", "João"}}}},
		{"UTF-16 with tabs", string(utf16le), "UTF-16", "\t", []string{"código", "nome"}, []intake.Row{{2, []string{"7", "João 𝕏"}}}},
		{"lone CR line ends", "code;name\r7;Ana\r\r8;Rui", "UTF-8", ";", []string{"code", "name"}, []intake.Row{{2, []string{"7", "Ana"}}, {4, []string{"8", "Rui"}}}},
		{"lines after a cell of two lines keep their numbers", "code;name\r\n7;\"A\r\nB\"\r\n;;\r\n8;Rui", "UTF-8", ";", []string{"code", "name"}, []intake.Row{{2, []string{"7", "A\r\nB"}}, {5, []string{"8", "Rui"}}}},
		{"separators inside quoted headers do not count", "\"a,b,c\";name\n7;Ana", "UTF-8", ";", []string{"a,b,c", "name"}, []intake.Row{{2, []string{"7", "Ana"}}}},
		{"the separator a spreadsheet declares", "sep=,\ncode,na;me;x\n7,Ana\n", "UTF-8", ",", []string{"code", "na;me;x"}, []intake.Row{{3, []string{"7", "Ana"}}}},
		{"quotes inside a bare cell are letters", "code;name\n7;João \"Jota\" Silva\n", "UTF-8", ";", []string{"code", "name"}, []intake.Row{{2, []string{"7", "João \"Jota\" Silva"}}}},
		{"doubled quotes, and space around quotes", "code, name\n7, \"João \"\"Jota\"\", Silva\" \n", "UTF-8", ",", []string{"code", "name"}, []intake.Row{{2, []string{"7", "João \"Jota\", Silva"}}}},
		{"zeros kept by a formula", "code;name\n=\"007\";Ana\n", "UTF-8", ";", []string{"code", "name"}, []intake.Row{{2, []string{"007", "Ana"}}}},
		{"empty columns at the end", "\n\ncode;name;;\n7;Ana;;\n", "UTF-8", ";", []string{"code", "name"}, []intake.Row{{4, []string{"7", "Ana", "", ""}}}},
		{"one column", "code\n7\n", "UTF-8", ";", []string{"code"}, []intake.Row{{2, []string{"7"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := intake.Read(`C:\Users\rh\pessoas.csv`, []byte(tt.body), intake.PeopleColumns)
			if err != nil {
				t.Fatal(err)
			}
			got := []any{s.Name, s.Encoding, s.Separator, s.Headers, s.Rows}
			if d := cmp.Diff([]any{"pessoas.csv", tt.encoding, tt.separator, tt.headers, tt.rows}, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	wide := strings.Repeat("a;", 64) + "a"
	for _, tt := range []struct {
		name string
		body string
		kind fault.Kind
		want string
	}{
		{"an empty file", " \r\n ", fault.Invalid, "The file is empty. Its first line holds the column names; each line below, one person or one pair."},
		{"a mark and nothing else", "\ufeff", fault.Invalid, "The file is empty. Its first line holds the column names; each line below, one person or one pair."},
		{"headers alone", "\ncode;name\n\n", fault.Invalid, "The file has only line 2, with the column names. The lines with the data are missing."},
		{"too many bytes", strings.Repeat("a", intake.MaxBytes+1), fault.TooLarge, "The file is over 10 MB. Split it and send one part at a time."},
		{"too many lines", "code\n" + strings.Repeat("7\n", intake.MaxRows+1), fault.Invalid, "Line 200,002 is beyond 200,000 lines with data, which is the limit. Split the file."},
		{"too many columns", "code;name\n1;2\n" + wide, fault.Invalid, "Line 3 has more than 64 columns, which is the limit. Take out the columns that are not used."},
		{"a cell too long", "code;name\n1;" + strings.Repeat("x", intake.MaxCell+1), fault.Invalid, "Line 2, column 2, is over 4,096 bytes. Shorten the text; if it looks short, check for quotes that open and never close."},
		{"quotes left open", "code;name\n1;Ana\n2;\"Rui\n3;Eva\n", fault.Invalid, "In line 3, column 2, quotes open and do not close before the end of the file. Close them, or take them out."},
		{"text after quotes", "code;name\n1;\"Ana\" Leão\n", fault.Invalid, "In line 2, column 2, there is text after the closing quotes. Quotes inside a cell are written twice: \"\"."},
		{"a null character", "code;name\n1;A\x00na\n", fault.Invalid, "Line 2 has a null character, which text never has. The file is damaged or no CSV: export it again."},
		{"a workbook", "PK\x03\x04........xl/workbook.xml", fault.Invalid, "The file says that it is an Excel workbook (.xlsx), but does not open as one. Open it in Excel, save it again as .xlsx or CSV and send that."},
		{"an old sheet", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", fault.Invalid, "This file is an old Excel sheet (.xls). In Excel, use Save as, “Excel Workbook (.xlsx)”, and send the new one."},
		{"a ZIP", "PK\x03\x04........pessoas.csv", fault.Invalid, "This file is compressed. Extract the sheet inside and send that."},
		{"a PDF", "%PDF-1.7", fault.Invalid, "This file is a PDF. Ask whoever made it for the same data as CSV."},
		{"a picture", "\x89PNG\r\n", fault.Invalid, "This file is a picture. Send the data as CSV."},
		{"a web page", "\r\n<HTML><table>", fault.Invalid, "This file is a web page, whatever its name says. Open it in Excel, save it as CSV and send the CSV."},
		{"UTF-16 without a mark", "c\x00o\x00d\x00e\x00;\x00n\x00", fault.Invalid, "The file looks like UTF-16, but lacks the mark that says so. Save it as “CSV UTF-8” and send it again."},
		{"UTF-8 that is not", "\ufeffcode;name\n1;Jo\xe3o\n", fault.Invalid, "The file says that it is UTF-8, but line 2 is not. Export it again as “CSV UTF-8”."},
		{"two encodings in one file", "código;admissão\n1;João\n2;Jos\xe9\n", fault.Invalid, "Most of the file is UTF-8, but line 3 is not. It looks like two files put together: save all of it as “CSV UTF-8”."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := intake.Read("x.csv", []byte(tt.body), intake.PeopleColumns)
			if fault.KindOf(err) != tt.kind {
				t.Fatalf("Read() = %v, want kind %v", err, tt.kind)
			}
			if got := i18n.EN.Message(fault.As(err).Message); got != tt.want {
				t.Errorf("says %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDateOrder(t *testing.T) {
	for _, tt := range []struct {
		name, dates string
		want        intake.Order
	}{
		{"a day over 12 comes first", "13/01/2024 02/03/2024", intake.OrderDMY},
		{"a day over 12 comes second", "01/13/2024 02/03/2024", intake.OrderMDY},
		{"no day over 12", "01/02/2024 03/04/2024", intake.OrderOpen},
		{"both, evenly", "13/01/2024 01/13/2024", intake.OrderOpen},
		{"one mistake among many", "13/01/2024 14/01/2024 15/01/2024 16/01/2024 17/01/2024 18/01/2024 19/01/2024 20/01/2024 21/01/2024 22/01/2024 02/31/2024", intake.OrderDMY},
		{"ISO only", "2024-01-02", intake.OrderDMY},
		{"the same both ways", "05/05/2024", intake.OrderDMY},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := intake.Read("x.csv", []byte("code;name;admissão\n1;Ana;"+strings.ReplaceAll(tt.dates, " ", "\n1;Ana;")), intake.PeopleColumns)
			if err != nil {
				t.Fatal(err)
			}
			if got := intake.DateOrder(s, intake.PeopleColumns.Guess(s.Headers)); got != tt.want {
				t.Errorf("DateOrder() = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestGuessMapsEachFieldOnceAndTheSurestColumn(t *testing.T) {
	got := intake.PeopleColumns.Guess([]string{"ÁREA", "Gestor", "Matrícula_do_Gestor", "e-mail", "E-MAIL DO GESTOR", "COLABORADOR", "Chapa", "Filial", "Empresa", "", "Motivo da rejeição"})
	want := intake.Mapping{"department", "", "", "email", "manager", "name", "employee_code", "unit", "", "-", "-"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestGuessKnowsOurOwnLabels(t *testing.T) {
	for _, cs := range []intake.Columns{intake.PeopleColumns, intake.PairColumns} {
		for _, l := range i18n.Locales {
			var headers []string
			var want intake.Mapping
			for _, c := range cs {
				headers = append(headers, l.Message(c.Field.Label()))
				want = append(want, c.Field)
			}
			if d := cmp.Diff(want, cs.Guess(headers)); d != "" {
				t.Errorf("%s (-want +got):\n%s", l, d)
			}
		}
	}
}

func TestCheckNamesTheColumn(t *testing.T) {
	s := &intake.Sheet{Headers: []string{"Cod", "Nome", "Apelido"}}
	err := intake.PeopleColumns.Check(s, intake.Mapping{"", "name", "name"})
	want := map[string]string{
		"columns":  "Nenhuma coluna foi indicada como Matrícula, que é obrigatória. O arquivo tem: Cod, Nome, Apelido.",
		"column-2": "“Apelido” está como Nome, mas “Nome” também. Escolha uma das duas.",
	}
	got := map[string]string{}
	for k, m := range fault.As(err).Fields {
		got[k] = i18n.PT.Message(m)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := intake.PeopleColumns.Check(s, intake.Mapping{"employee_code", "name", "reviewer"}); fault.As(err).Fields["column-2"].Key != "intake.mapping_unknown" {
		t.Errorf("a field of another file passed: %v", err)
	}
	if err := intake.PeopleColumns.Check(s, intake.Mapping{"employee_code", "name"}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a mapping of another width passed: %v", err)
	}
}

func TestNamesThatDeceive(t *testing.T) {
	for _, tt := range []struct{ name, cell, want string }{
		{"a direction override", "Ana \u202eoaB", "[U+202E]"},
		{"a zero-width space", "Ana\u200bLeão", "[U+200B]"},
		{"a filler that passes for a letter", "\u3164", "[U+3164]"},
		{"a lost letter", "Jos\ufffd", "�"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := intake.Read("x.csv", []byte("code;name\n1;"+tt.cell), intake.PeopleColumns)
			if err != nil {
				t.Fatal(err)
			}
			rows := intake.ReadPeople(s, intake.PeopleColumns.Guess(s.Headers), intake.OrderDMY)
			if len(rows[0].Problems) != 1 || !strings.Contains(i18n.PT.Message(rows[0].Problems[0].Message()), tt.want) {
				t.Errorf("problems = %v", rows[0].Problems)
			}
		})
	}
}

func TestAnExportComesBackAsItWas(t *testing.T) {
	rows := [][]string{
		{"code", "name", "note"},
		{"000123", "=1+1", "+55 11 99999-0000"},
		{"@x", "-3", "'=a"},
		{"'plain", "''@b", "a;b,c\t\"d\""},
		{"=\"007\"", " outer ", "two\r\nlines"},
		{"\tx", "\nx", "\rx"},
	}
	var out bytes.Buffer
	if err := intake.WriteCSV(&out, rows); err != nil {
		t.Fatal(err)
	}
	for _, cell := range []string{"=1+1", "+55", "@x", "-3"} {
		if regexp.MustCompile(`(^|[;"\n])` + regexp.QuoteMeta(cell)).MatchString(out.String()) {
			t.Errorf("%s left as a formula:\n%s", cell, out.String())
		}
	}
	s, err := intake.Read("x.csv", out.Bytes(), intake.PeopleColumns)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, r := range s.Rows {
		got = append(got, r.Cells)
	}
	if d := cmp.Diff(rows[1:], got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestRejectsComeBackWithoutTheirReasons(t *testing.T) {
	s, err := intake.Read("x.csv", []byte("code;name;x\n1;Ana\n2;Rui;3;4\n"), intake.PeopleColumns)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = s.WriteRejects(&out, i18n.PT.T("intake.rejects_header"), func(line int) string {
		if line == 3 {
			return "porque sim"
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "\ufeffcode;name;x;;Motivo da rejeição\r\n2;Rui;3;4;porque sim\r\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestEveryMessageIsInTheCatalogue(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`"(intake\.[a-z0-9_.]*[a-z0-9_])"`)
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range key.FindAllStringSubmatch(string(body), -1) {
			if !i18n.Has(m[1]) {
				t.Errorf("%s uses %s, which the catalogue lacks", f, m[1])
			}
		}
	}
	for _, cs := range []intake.Columns{intake.PeopleColumns, intake.PairColumns} {
		for _, c := range cs {
			if !i18n.Has(c.Field.Label().Key) {
				t.Errorf("no label for %s", c.Field)
			}
			if c.Required && !i18n.Has("intake.blank."+string(c.Field)) {
				t.Errorf("no word for a blank %s", c.Field)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "a", "code;name\n1;Ana\n", "\"", "\"a\";\"b\"\r\n\"c\"\"\r\n", "\xff\xfea\x00", "\xfe\xff\x00a\xd8", "\ufeff\"\n\";\r;\n",
		"sep=,\na,b\n=\"1\",'=2\n", "avaliado\tavaliador\ttipo\n1\t1\tauto\n", "código;nome;admissão\n1;\xe3;31/02/2024\n", "'=\n''=\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := intake.Read("f", body, intake.PeopleColumns)
		if err != nil {
			if fault.KindOf(err) == fault.Internal {
				t.Fatalf("not a fault: %v", err)
			}
			return
		}
		m := intake.PeopleColumns.Guess(s.Headers)
		intake.ReadPeople(s, m, intake.DateOrder(s, m))
		intake.ReadPairs(s, intake.PairColumns.Guess(s.Headers))
		var out bytes.Buffer
		rows := make([][]string, 0, len(s.Rows)+1)
		rows = append(rows, []string{"header"})
		for _, r := range s.Rows {
			rows = append(rows, r.Cells)
		}
		if err := intake.WriteCSV(&out, rows); err != nil {
			t.Fatal(err)
		}
		again, err := intake.Read("f", out.Bytes(), intake.PeopleColumns)
		if err != nil {
			t.Fatalf("our own export is refused: %v", err)
		}
		for i, r := range again.Rows {
			if d := cmp.Diff(s.Rows[i].Cells, r.Cells); d != "" {
				t.Fatalf("row %d (-was +is):\n%s", i, d)
			}
		}
	})
}
