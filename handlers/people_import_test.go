package handlers_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ciclo/internal/intake"
	"ciclo/store/storetest"
)

// upload posts a form with one file.
func (b *browser) upload(path, name string, body []byte) answer {
	b.site.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		b.site.t.Fatal(err)
	}
	if _, err := part.Write(body); err != nil {
		b.site.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.site.t.Fatal(err)
	}
	return b.do(http.MethodPost, path, w.FormDataContentType(), &form)
}

// apart gives the cast codes that no file of testdata has.
func (s *site) apart() {
	s.t.Helper()
	storetest.Exec(s.t, s.pool, `
		UPDATE people
		SET code = 'RH-' || code`)
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// columns posts the columns step as the page offers it.
func (b *browser) columns(t *testing.T, path string, changed ...string) answer {
	t.Helper()
	page := b.get(path+"/columns").want(t, http.StatusOK)
	chosen := map[string]string{}
	for name := range strings.SplitSeq(page.body, `<select`) {
		field := cutOut(name, ` name="`, `"`)
		if field == "" {
			continue
		}
		for option := range strings.SplitSeq(strings.SplitN(name, "</select>", 2)[0], "<option") {
			if value := cutOut(option, `value="`, `"`); strings.Contains(strings.SplitN(option, ">", 2)[0], " selected") {
				chosen[field] = value
			}
		}
		if _, there := chosen[field]; !there {
			chosen[field] = ""
		}
	}
	for i := 0; i+1 < len(changed); i += 2 {
		chosen[changed[i]] = changed[i+1]
	}
	var pairs []string
	for field, value := range chosen {
		pairs = append(pairs, field, value)
	}
	return b.post(path+"/columns", pairs...)
}

func cutOut(s, before, after string) string {
	_, s, found := strings.Cut(s, before)
	if !found {
		return ""
	}
	s, _, _ = strings.Cut(s, after)
	return s
}

// preview brings a file as far as its preview and answers its address.
func (b *browser) preview(t *testing.T, body string) (path string) {
	t.Helper()
	path = b.upload("/people/import", "pessoas.csv", []byte(body)).want(t, http.StatusSeeOther).location
	if got := b.columns(t, path).want(t, http.StatusSeeOther).location; got != path {
		t.Fatalf("the columns lead to %s", got)
	}
	return path
}

func TestTheCompanyIsImportedOverThePages(t *testing.T) {
	s := newSite(t)
	s.apart()
	b := s.as(s.company.HR)
	b.get("/people/import").want(t, http.StatusOK, `enctype="multipart/form-data"`)
	path := b.upload("/people/import", "pessoas.csv", fixture(t, "pessoas.csv")).want(t, http.StatusSeeOther).location
	if got := b.get(path).want(t, http.StatusSeeOther).location; got != path+"/columns" {
		t.Errorf("an uploaded file leads to %s", got)
	}
	b.get(path+"/columns").want(t, http.StatusOK, "E-mail do gestor", "olivia.queiros.uchoa.1@transportes.example", "Windows-1252, separado por ponto e vírgula", "é 3 ago 2025")
	b.columns(t, path).want(t, http.StatusSeeOther)
	page := b.get(path).want(t, http.StatusOK, "Importar 320 pessoas", `<span class="tile__figure">320</span>`, "6 pessoas sem e-mail",
		"7 pessoas com data de desligamento", "Uma pessoa sem gestor(a)", "12 pessoas do cadastro não estão no arquivo", "1–25 de 320", "nada foi gravado ainda")
	fragment := b.htmx().get(path).want(t, http.StatusOK)
	if !strings.Contains(page.body, strings.TrimSpace(fragment.body)) {
		t.Error("the page does not contain the fragment")
	}
	b.get(path+"?r=all&note=no_manager").want(t, http.StatusOK, "Olívia Queirós Uchôa", "1 de 320 linhas")
	b.get(path+"?q=davila+katia").want(t, http.StatusOK, "Kátia D&#39;Ávila")
	b.get(path+"?q=317").want(t, http.StatusOK, `data-label="Linha">317</td>`)
	b.get(path+"/confirmation").want(t, http.StatusOK, "Importar 320 pessoas de “pessoas.csv”?", "As 320 entram juntas")
	if got := b.post(path+"/confirmation").want(t, http.StatusSeeOther).location; got != path {
		t.Errorf("the confirmation leads to %s", got)
	}
	b.get(path).want(t, http.StatusOK, "Importação concluída", "320 pessoas importadas.")
	b.post(path+"/confirmation").want(t, http.StatusConflict, "já foi importado")
	b.get("/people?q=uchoa+olivia+000001").want(t, http.StatusOK, "Olívia Queirós Uchôa", "1 de 332 pessoas")

	again := b.preview(t, string(fixture(t, "pessoas.csv")))
	b.get(again).want(t, http.StatusOK, "Nada muda", `<span class="tile__figure">320</span>`)
	b.post(again+"/confirmation").want(t, http.StatusConflict, "não tem linha nova nem alterada")
}

func TestRejectedLinesAreShownAndComeBack(t *testing.T) {
	s := newSite(t)
	s.apart()
	b := s.as(s.company.Admin)
	path := b.preview(t, string(fixture(t, "pessoas-com-erros.csv")))
	b.get(path+"?r=reject&sort=line").want(t, http.StatusOK, "<strong>Admissão “31/02/2024”:</strong> essa data não existe.", "26 linhas não entram como estão", "Importar 2 pessoas")
	got := b.get(path+"/rejects").want(t, http.StatusOK)
	if !strings.Contains(got.header.Get("Content-Disposition"), `filename="pessoas-rejeitadas.csv"`) {
		t.Errorf("called %s", got.header.Get("Content-Disposition"))
	}
	sheet, err := intake.Read("rejeitadas.csv", []byte(got.body), intake.PeopleColumns)
	if err != nil {
		t.Fatal(err)
	}
	last := len(sheet.Headers) - 1
	if len(sheet.Rows) != 26 || sheet.Headers[last] != "Motivo da rejeição" || !strings.Contains(sheet.Rows[0].Cells[last], "essa data não existe") {
		t.Errorf("%d rows, headers %v, first %v", len(sheet.Rows), sheet.Headers, sheet.Rows[0])
	}
	// As it came: the column of reasons is left out, and what is wrong is wrong again.
	back := b.preview(t, got.body)
	b.get(back+"?q=2").want(t, http.StatusOK, "essa data não existe")
}

func TestAFileThatCannotBeIsRefusedInWords(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	line := "Matrícula;Nome\n7;"
	for _, tt := range []struct {
		name   string
		body   []byte
		status int
		says   string
	}{
		{"empty", nil, 422, "O arquivo está vazio"},
		{"headers alone", []byte("Matrícula;Nome\n"), 422, "só tem a linha 1"},
		{"binary", []byte("\x89PNG\r\n\x1a\n\x00\x01"), 422, "é uma imagem"},
		{"a workbook", []byte("PK\x03\x04....xl/workbook.xml"), 422, "mas não abre como tal"},
		{"65 columns", []byte(strings.Repeat("a;", 64) + "b\n1;2\n"), 422, "mais de 64 colunas"},
		{"a NUL", []byte(line + "Ana\x00\n"), 422, "caractere nulo"},
		{"a cell of 5 KiB", []byte(line + strings.Repeat("x", 5<<10)), 422, "passa de 4.096 bytes"},
		{"open quotes", []byte(line + "\"Ana\n"), 422, "aspas abrem e não fecham"},
		{"over 10 MB", append([]byte(line), bytes.Repeat([]byte("x;y\n"), 10<<18+10)...), 413, "passa de 10 MB"},
		{"far over 10 MB", append([]byte(line), bytes.Repeat([]byte("x;y\n"), 11<<18)...), 413, "passa de 10 MB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.upload("/people/import", "x.csv", tt.body).want(t, tt.status, tt.says)
		})
	}
	b.post("/people/import").want(t, http.StatusUnprocessableEntity, "Escolha o arquivo a enviar.")
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM imports`); n != 0 {
		t.Errorf("%d files were staged", n)
	}
	b.with("Accept-Language", "en").upload("/people/import", "x.csv", nil).want(t, 422)
}

func TestOddFilesAreReadAllTheSame(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	for _, tt := range []struct {
		name  string
		body  string
		query string
		says  []string
	}{
		{"invalid UTF-8 is Windows-1252", "Matr\xedcula;Nome\nX1;Jo\xe3o\n", "", []string{"João", "Windows-1252"}},
		{"the same header twice", "Matrícula;Nome;Cidade;Cidade\nX1;Ana;Santos;Campinas\n", "", []string{"Importar uma pessoa"}},
		{"a direction mark in a name", "Matrícula;Nome\nX1;A\u202eB\n", "", []string{"[U+202E]", "tem um caractere que não se vê"}},
		{"a formula is only text", "Matrícula;Nome\nX1;=1+1\n", "", []string{"=1+1", "Importar uma pessoa"}},
		{"markup is only text", "Matrícula;Nome\nX1;<script>alert(1)</script>\n", "", []string{"&lt;script&gt;"}},
		{"a code without its zeros", "Matrícula;Nome;Cargo\n3;Carla 3;Motorista\n", "?note=zeros", []string{"Matrícula “3”: só existe com zeros à esquerda. Quem é?", "parece ter perdido os zeros"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.get(b.preview(t, tt.body)+tt.query).want(t, http.StatusOK, tt.says...)
		})
	}
}

func TestWhatWasChosenForTheColumnsIsKept(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	path := b.upload("/people/import", "x.csv", []byte("Nº;Quem;Entrada\nX1;Ana;01/02/2024\n")).want(t, http.StatusSeeOther).location
	b.columns(t, path, "column-0", "employee_code", "column-1", "employee_code", "column-2", "hired_on").want(t, http.StatusUnprocessableEntity,
		"“Quem” está como Matrícula, mas “Nº” também", "Nenhuma coluna foi indicada como Nome", `<option value="hired_on" selected>`, `href="#f-column-1"`)
	b.columns(t, path, "column-0", "employee_code", "column-1", "name", "column-2", "hired_on").want(t, http.StatusUnprocessableEntity,
		"As datas do arquivo podem ser dia/mês ou mês/dia", `<option value="name" selected>`, `href="#f-date_order"`)
	b.columns(t, path, "column-0", "employee_code", "column-1", "name", "column-2", "hired_on", "date_order", "mdy").want(t, http.StatusSeeOther)
	b.get(path).want(t, http.StatusOK, "admissão 2 jan 2024")
	// Looking again recomputes: the column is kept as an attribute now.
	b.columns(t, path, "column-2", "").want(t, http.StatusSeeOther)
	if page := b.get(path).want(t, http.StatusOK); strings.Contains(page.body, "admissão") {
		t.Error("the new mapping did not count")
	}
	b.post(path+"/columns", "date_order", "ydm", "column-0", "name").want(t, http.StatusUnprocessableEntity)
	b.post(path+"/columns", "column-0", "name").want(t, http.StatusUnprocessableEntity, "o arquivo tem 3")
	b.columns(t, path, "column-0", "nonsense").want(t, http.StatusUnprocessableEntity, "uma opção que não existe")
	b.post(path+"/confirmation").want(t, http.StatusSeeOther)
	b.columns2(t, path)
}

// columns2 finds that the columns of an imported file are closed.
func (b *browser) columns2(t *testing.T, path string) {
	t.Helper()
	b.get(path+"/columns").want(t, http.StatusSeeOther)
	b.post(path+"/columns", "column-0", "employee_code", "column-1", "name", "column-2", "-", "date_order", "dmy").want(t, http.StatusConflict, "já foi importado")
}

// C14, as the person meets it.
func TestTheImporterIsToldWhichLineFailed(t *testing.T) {
	s := newSite(t)
	s.apart()
	b := s.as(s.company.HR)
	path := b.preview(t, "Matrícula;Nome;E-mail\nX1;Xavier;x@x.example\nX2;Yara;y@x.example\n")
	storetest.Exec(t, s.pool, `INSERT INTO people (tenant_id, code, name) VALUES ($1, 'X2', 'Outra')`, s.company.Tenant)
	b.post(path+"/confirmation").want(t, http.StatusConflict, "Nada foi importado. A linha 3", "Matrícula “X2”: foi cadastrada depois da conferência, com Outra", "Importar 2 pessoas", "Atualiza")
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM people WHERE code LIKE 'X%'`); n != 1 {
		t.Errorf("%d people", n)
	}
	b.post(path+"/confirmation").want(t, http.StatusSeeOther) // what is shown now is confirmed now
	b.get("/people?q=yara").want(t, http.StatusOK, "Yara")
}

func TestConfirmingTwiceAtOnceImportsOnce(t *testing.T) {
	s := newSite(t)
	s.apart()
	b := s.as(s.company.HR)
	path := b.preview(t, string(fixture(t, "pessoas.csv")))
	var wg sync.WaitGroup
	got := make([]answer, 4)
	for i := range got {
		wg.Go(func() { got[i] = b.post(path + "/confirmation") })
	}
	wg.Wait()
	won := 0
	for _, a := range got {
		if a.status == http.StatusSeeOther {
			won++
		} else {
			a.want(t, http.StatusConflict, "já foi importado, em")
		}
	}
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM people`); won != 1 || n != 332 {
		t.Errorf("%d confirmations won, %d people", won, n)
	}
}

func TestPeoplePagesAreForThoseWhoKeepThem(t *testing.T) {
	s := newSite(t)
	hr, admin, reviewer := s.as(s.company.HR), s.as(s.company.Admin), s.as(s.company.Actor(4))
	path := hr.preview(t, "Matrícula;Nome\nX1;Xavier\n")
	other := storetest.NewCompany(t, s.pool, "Outra", 3)
	foreign := s.as(other.HR)
	person := fmt.Sprintf("/people/%d", s.company.People[3])
	for _, page := range []string{"/people", "/people/import", person, path, path + "/columns", path + "/rejects", path + "/confirmation"} {
		reviewer.get(page).want(t, http.StatusForbidden)
		s.browser().get(page).want(t, http.StatusSeeOther)
	}
	for _, page := range []string{path, path + "/columns", path + "/rejects", path + "/confirmation"} {
		admin.get(page).want(t, http.StatusNotFound, "Este envio não existe, ou já passou de 24 horas")
		foreign.get(page).want(t, http.StatusNotFound)
	}
	for _, post := range []string{path + "/columns", path + "/confirmation"} {
		foreign.post(post, "column-0", "name").want(t, http.StatusNotFound)
		reviewer.post(post, "column-0", "name").want(t, http.StatusForbidden)
	}
	reviewer.upload("/people/import", "x.csv", []byte("a;b\n1;2\n")).want(t, http.StatusForbidden)
	foreign.get(person).want(t, http.StatusNotFound)
	admin.get(person).want(t, http.StatusOK)
	hr.get("/people/0").want(t, http.StatusNotFound)
	hr.get("/people/import/99999").want(t, http.StatusNotFound)
	storetest.Exec(t, s.pool, `UPDATE imports SET expires_at = now() - interval '1 second'`)
	hr.get(path).want(t, http.StatusNotFound, "Envie o arquivo de novo")
}
