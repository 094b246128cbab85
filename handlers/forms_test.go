package handlers_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"ciclo/internal/appraisal"
	"ciclo/store/storetest"
)

// fieldsOf reads a page's form as a browser would send it, without any button.
func fieldsOf(body string) url.Values {
	values := url.Values{}
	attr := func(tag, name string) string {
		if m := regexp.MustCompile(`\s` + name + `="([^"]*)"`).FindStringSubmatch(tag); m != nil {
			return html.UnescapeString(m[1])
		}
		return ""
	}
	for _, m := range regexp.MustCompile(`(?s)<input([^>]*)>|<textarea([^>]*)>\n?(.*?)</textarea>`).FindAllStringSubmatch(body, -1) {
		tag := m[1] + m[2]
		name := attr(tag, "name")
		box := strings.Contains(tag, `type="checkbox"`)
		switch {
		case name == "" || name == "next" || box && !strings.Contains(tag, " checked"):
		case m[2] != "":
			values.Set(name, html.UnescapeString(m[3]))
		default:
			values.Set(name, attr(tag, "value"))
		}
	}
	return values
}

func (b *browser) send(path string, v url.Values, button string) answer {
	b.site.t.Helper()
	pairs := []string{"do", button}
	for name, values := range v {
		pairs = append(pairs, name, values[0])
	}
	got := b.post(path, pairs...)
	if strings.Contains(got.body, "«") {
		b.site.t.Errorf("%s lacks a word of the catalogue", path)
	}
	return got
}

func TestAFormIsMadeEditedAndKept(t *testing.T) {
	s := newSite(t)
	if err := s.store.EnsureReadyForms(t.Context(), s.company.Tenant); err != nil {
		t.Fatal(err)
	}
	hr := s.as(s.company.HR)
	hr.get("/forms").want(t, http.StatusOK, "Competências e Metas", "experiencia", "6", "Novo formulário")
	hr.get("/forms/draft").want(t, http.StatusOK, "Em branco", "Modelo pronto: Competências e Metas", "Cópia de Teste")

	// From blank, with nothing but buttons and typing.
	page := hr.get("/forms/draft?from=blank").want(t, http.StatusOK, "Criar formulário")
	page = hr.send("/forms/draft", fieldsOf(page.body), "add.rating").want(t, http.StatusOK, "Pergunta 1", "autofocus")
	page = hr.send("/forms/draft", fieldsOf(page.body), "add.choice").want(t, http.StatusOK, "Pergunta 2", "Opção 2")
	page = hr.send("/forms/draft", fieldsOf(page.body), "option.1").want(t, http.StatusOK, "Opção 3")
	page = hr.send("/forms/draft", fieldsOf(page.body), "unoption.1.2").want(t, http.StatusOK, "Opção 2")
	page = hr.send("/forms/draft", fieldsOf(page.body), "add.text").want(t, http.StatusOK, "Pergunta 3")
	v := fieldsOf(page.body)
	v.Set("title.pt", "Clima “2026” <b>")
	v.Set("questions.0.text.pt", "Gosta daqui?")
	v.Set("questions.0.weight", "cem")
	page = hr.send("/forms/draft", v, "save").want(t, http.StatusUnprocessableEntity,
		`value="Clima “2026” &lt;b&gt;"`, `value="cem"`, "Falta o texto em inglês", "“cem” não é um número inteiro", "Pergunta 2: Preencha este campo.", "Escala: Preencha este campo.")
	v = fieldsOf(page.body)
	for name := range v {
		if v.Get(name) == "" && !strings.Contains(name, "help") && !strings.Contains(name, "section") && !strings.HasPrefix(name, "intro") {
			v.Set(name, "Algo")
		}
	}
	v.Set("questions.0.weight", "100")
	saved := hr.send("/forms/draft", v, "save").want(t, http.StatusSeeOther)
	hr.get(saved.location).want(t, http.StatusOK, "Clima “2026” &lt;b&gt;", "Gosta daqui?", "Formulário criado", "Não tenho como avaliar", "clima-2026-b")

	// A new version: the text moves to the top and the choice goes.
	draft := saved.location + "/draft"
	page = hr.get(draft).want(t, http.StatusOK, "Salvar versão 2")
	stale := fieldsOf(page.body)
	page = hr.send(draft, fieldsOf(page.body), "up.2").want(t, http.StatusOK)
	page = hr.send(draft, fieldsOf(page.body), "remove.2").want(t, http.StatusOK)
	page = hr.send(draft, fieldsOf(page.body), "up.1").want(t, http.StatusOK)
	v = fieldsOf(page.body)
	if v.Get("questions.0.kind") != "text" || v.Get("questions.1.kind") != "rating" || v.Has("questions.2.kind") {
		t.Errorf("the questions stand as %v", v)
	}
	v.Set("scale.max", "3")
	page = hr.send(draft, v, "save").want(t, http.StatusUnprocessableEntity, "A escala tem 3 passos e havia palavras para 5")
	hr.send(draft, fieldsOf(page.body), "save").want(t, http.StatusSeeOther)
	hr.get(saved.location).want(t, http.StatusOK, "Versão 2", "Versão 2 salva")
	hr.get(saved.location+"?version=1").want(t, http.StatusOK, "Esta é a versão 1; a mais recente é a 2")
	hr.get(saved.location+"?version=3").want(t, http.StatusNotFound)

	// Who opened version 1 is told, loses nothing, and may insist.
	stale.Set("title.pt", "Outra coisa")
	page = hr.send(draft, stale, "save").want(t, http.StatusConflict, "salvou a versão 2", `value="Outra coisa"`, "Salvar versão 3")
	hr.send(draft, fieldsOf(page.body), "save").want(t, http.StatusSeeOther)
	page = hr.get(draft)
	hr.send(draft, fieldsOf(page.body), "save").want(t, http.StatusSeeOther)
	hr.get(saved.location).want(t, http.StatusOK, "Nada mudou: continua a versão 3")
}

func TestReadyFormsGoThroughTheEditorUnchanged(t *testing.T) {
	s := newSite(t)
	hr := s.as(s.company.HR)
	for _, ready := range appraisal.ReadyForms() {
		page := hr.get("/forms/draft?from="+ready.Code).want(t, http.StatusOK)
		at := hr.send("/forms/draft", fieldsOf(page.body), "save").want(t, http.StatusSeeOther).location
		page = hr.get(at+"/draft").want(t, http.StatusOK)
		hr.send(at+"/draft", fieldsOf(page.body), "save").want(t, http.StatusSeeOther)
		hr.get(at).want(t, http.StatusOK, "Nada mudou: continua a versão 1")
	}
}

func TestFormsAreClosedToOthers(t *testing.T) {
	s := newSite(t)
	form := storetest.One[int64](t, s.pool, `SELECT form_id FROM form_versions WHERE id = $1`, s.company.Form)
	at := fmt.Sprintf("/forms/%d", form)
	foreign := s.as(storetest.NewCompany(t, s.pool, "Jatobá", 3).HR)
	admin, colleague := s.as(s.company.Admin), s.as(s.company.Actor(3))
	for _, tt := range []struct {
		path                     string
		post                     bool
		admin, colleague, abroad int
	}{
		{"/forms", false, 200, 403, 200},
		{"/forms/draft", false, 403, 403, 200},
		{"/forms/draft?from=blank", false, 403, 403, 200},
		{fmt.Sprintf("/forms/draft?from=%d", form), false, 403, 403, 404},
		{"/forms/draft?from=nada", false, 403, 403, 404},
		{at, false, 200, 403, 404},
		{at + "/draft", false, 403, 403, 404},
		{at + "/draft", true, 403, 403, 404},
		{"/forms/9223372036854775808", false, 404, 404, 404},
	} {
		for who, b := range map[string]struct {
			browser *browser
			want    int
		}{"admin": {admin, tt.admin}, "colleague": {colleague, tt.colleague}, "foreign": {foreign, tt.abroad}} {
			var got answer
			if tt.post {
				got = b.browser.post(tt.path, "do", "add.text")
			} else {
				got = b.browser.get(tt.path)
			}
			if got.status != b.want {
				t.Errorf("%s at %s: %d, want %d", who, tt.path, got.status, b.want)
			}
		}
	}
}

func TestTheEditorTakesAnything(t *testing.T) {
	s := newSite(t)
	hr := s.as(s.company.HR)
	for _, button := range []string{"up.0", "down.9", "remove.-1", "remove.x", "option.7", "unoption.0.9", "unoption.", "add.essay", "steps", "save", "", "x\x00"} {
		got := hr.post("/forms/draft", "do", button, "scale.min", "9999999999999999999", "scale.max", "-1", "title.pt", "a\x00\xff", "questions.0.id", "É", "questions.0.kind", "essay", "questions.0.options.0.id", "")
		if got.status >= 500 || got.status == 303 {
			t.Errorf("button %q: %d", button, got.status)
		}
	}
	pairs := []string{"do", "add.text"}
	for i := range 200 {
		pairs = append(pairs, fmt.Sprintf("questions.%d.id", i), fmt.Sprintf("q%d", i), fmt.Sprintf("questions.%d.kind", i), "text")
	}
	hr.post("/forms/draft", pairs...).want(t, http.StatusOK, "cabem 60")
}
