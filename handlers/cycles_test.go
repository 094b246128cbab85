package handlers_test

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/store/storetest"
)

// newDraft creates a cycle through its form and answers its number.
func (b *browser) newDraft(t *testing.T, name string) (id int64) {
	t.Helper()
	got := b.post("/cycles", "name", name, "form", fmt.Sprint(b.site.company.Form), "due", time.Now().AddDate(0, 1, 0).Format("2006-01-02"),
		"zone", "America/Sao_Paulo", "grace", "15", "contact", "")
	if got.status != http.StatusSeeOther {
		t.Fatalf("create %s: %d\n%s", name, got.status, got.body)
	}
	id, err := strconv.ParseInt(regexp.MustCompile(`\d+`).FindString(got.location), 10, 64)
	if err != nil {
		t.Fatalf("create %s: sent to %q", name, got.location)
	}
	return id
}

func cyclePath(id int64, part string) string { return fmt.Sprintf("/cycles/%d/%s", id, part) }

// From an empty page to the activation record, as a person does it.
func TestACycleFromItsFormToItsRecord(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	b.get("/cycles").want(t, 200, "Nenhum ciclo ainda", "Novo ciclo")
	b.get("/cycles/new").want(t, 200, "Teste, versão 1", "rh@example.test", "America/Manaus")
	id := b.newDraft(t, "Avaliação 2026.2")
	b.get(cyclePath(id, "roster")).want(t, 200, "O mapa está vazio", "Avaliação 2026.2” foi criado")
	b.get(cyclePath(id, "rehearsal")).want(t, 200, "1 linha impede a ativação", "O mapa de avaliadores está vazio", "Nenhum e-mail ainda")
	b.get(cyclePath(id, "rule")).want(t, 200, "Logística", "6 pessoas")
	if got := b.post(cyclePath(id, "rule"), "departments", "Logística", "self", "on", "manager", "on"); got.location != cyclePath(id, "roster") {
		t.Fatalf("apply the rule: %d %s", got.status, got.body)
	}
	b.get(cyclePath(id, "roster")).want(t, 200, "12 avaliações incluídas.", "6 participantes, 12 avaliações, 7 avaliadores", "Ver simulação")
	rehearsal := b.get(cyclePath(id, "rehearsal")).want(t, 200, "Nada impede a ativação", "Ativar e enviar 7 e-mails", "Avaliador 1 de 7", "só um exemplo")
	frame := regexp.MustCompile(`src="(/cycles/[^"]*mail[^"]*)"`).FindStringSubmatch(rehearsal.body)
	if frame == nil || !strings.Contains(rehearsal.header.Get("Content-Security-Policy"), "frame-src 'self'") {
		t.Fatal("the rehearsal frames no mail")
	}
	mail := b.get(strings.ReplaceAll(frame[1], "&amp;", "&")).want(t, 200, "Ana", "/r/exemplo")
	if csp := mail.header.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'self'") {
		t.Errorf("the mail's policy is %q", csp)
	}
	b.get(cyclePath(id, "rehearsal/mail?lang=en&format=text")).want(t, 200, "you have", "/r/exemplo")
	b.get(cyclePath(id, "activation")).want(t, 200, "Ativar “Avaliação 2026.2”?", "7 pessoas recebem um e-mail")
	got := b.post(cyclePath(id, "activation"))
	if got.status != http.StatusSeeOther || got.location != cyclePath(id, "receipt") {
		t.Fatalf("activate: %d %s\n%s", got.status, got.location, got.body)
	}
	receipt := b.get(cyclePath(id, "receipt")).want(t, 200, "as contas fecham", "ATV-", "7 na fila", "12 a fazer", `hx-trigger="every 2s"`, "Ciclo ativado: 12 avaliações abertas, 7 mensagens")
	if strings.Count(receipt.body, "<dd>12</dd>") != 3 || strings.Count(receipt.body, "<dd>7</dd>") != 3 {
		t.Error("the sums of the record are not written out")
	}
	b.htmx().get(cyclePath(id, "receipt")).want(t, 200, "as contas fecham")
	b.get(cyclePath(id, "progress")).want(t, 200, "Faltam 7 avaliadores", "Logística", "Encerrar ciclo", "na fila")
	b.get(cyclePath(id, "roster")).want(t, 200, "A fazer")
	if got := b.get(cyclePath(id, "rehearsal")); got.status != http.StatusSeeOther {
		t.Errorf("the rehearsal of an active cycle: %d", got.status)
	}
	b.get("/cycles?state=active&q=avaliacao").want(t, 200, "Avaliação 2026.2", "0 de 12")
	b.get("/cycles?q=nada").want(t, 200, "Nada corresponde à busca")
}

// C1, D2: twenty presses, by page and by htmx, are one activation; the losers
// are told who and when.
func TestTwentyPressesAreOneActivation(t *testing.T) {
	s := newSite(t)
	id := s.company.Draft(t, "2026.2", 40, 10)
	b := s.as(s.company.HR)
	answers := make(chan answer, 20)
	for i := range 20 {
		presser := b
		if i%2 == 1 {
			presser = b.htmx()
		}
		go func() { answers <- presser.post(cyclePath(id, "activation")) }()
	}
	won := 0
	for range 20 {
		switch got := <-answers; got.status {
		case http.StatusSeeOther, http.StatusOK:
			won++
		case http.StatusConflict:
			if !strings.Contains(got.body, "já foi ativado por Bruno 2 em") {
				t.Errorf("a loser was told %s", got.body)
			}
		default:
			t.Errorf("status %d\n%s", got.status, got.body)
		}
	}
	if won != 1 {
		t.Errorf("%d activations, want 1", won)
	}
	b.post(cyclePath(id, "activation")).want(t, http.StatusConflict, "já foi ativado por Bruno 2")
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM outbox_events`); n != 10 {
		t.Errorf("%d messages, want 10", n)
	}
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM evaluations WHERE state = 'pending'`); n != 40 {
		t.Errorf("%d evaluations are open, want 40", n)
	}
}

// C3: one reviewer gone among many refuses the whole, naming the row; mended,
// it passes.
func TestABlockerIsNamedAndMended(t *testing.T) {
	s := newSite(t)
	id := s.company.Draft(t, "2026.2", 30, 10)
	storetest.Exec(t, s.pool, `UPDATE people SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date - 3 WHERE id = $1`, s.company.People[6])
	b := s.as(s.company.HR)
	b.get(cyclePath(id, "activation")).want(t, 200, "ainda não pode ser ativado", "O avaliador saiu da empresa")
	refused := b.post(cyclePath(id, "activation")).want(t, http.StatusConflict, "A ativação foi recusada", "Gisele 7", "O avaliador saiu da empresa em", "Trocar avaliador(a)")
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM evaluations WHERE state <> 'planned'`) + storetest.One[int](t, s.pool, `SELECT count(*) FROM outbox_events`); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	removals := regexp.MustCompile(`/cycles/\d+/pairs/\d+/removal`).FindAllString(refused.body, -1)
	if len(removals) != 3 {
		t.Fatalf("%d rows offer to remove the pair, want 3", len(removals))
	}
	if got := b.post(removals[0], "next", cyclePath(id, "rehearsal")); got.location != cyclePath(id, "rehearsal") {
		t.Errorf("after removing a pair: %d %q", got.status, got.location)
	}
	for _, removal := range removals[1:] {
		replace := strings.Replace(removal, "removal", "reviewer", 1)
		b.get(replace).want(t, 200, "Gisele 7")
		b.post(replace, "reviewer", "ninguém mesmo").want(t, 422, "não está no cadastro", `value="ninguém mesmo"`)
		b.post(replace, "reviewer", "000012")
	}
	// Gisele herself is under review and gone: she is left out, with a reason.
	person := fmt.Sprint(s.company.People[6])
	b.get(cyclePath(id, "rehearsal")).want(t, 200, "A pessoa avaliada saiu da empresa em")
	b.post(cyclePath(id, "exclusions/"+person), "reason", "").want(t, 422, "Diga o motivo")
	b.post(cyclePath(id, "exclusions/"+person), "reason", "saiu em novembro", "next", cyclePath(id, "rehearsal"))
	b.get(cyclePath(id, "rehearsal")).want(t, 200, "Nada impede a ativação")
	if got := b.post(cyclePath(id, "activation")); got.status != http.StatusSeeOther {
		t.Errorf("activate: %d", got.status)
	}
}

// C6: an emptied roster is still empty when it is opened again, and activation
// says so in plain words.
func TestAnEmptiedRoster(t *testing.T) {
	s := newSite(t)
	id := s.company.Draft(t, "2026.2", 30, 10)
	b := s.as(s.company.HR)
	b.get(cyclePath(id, "roster/removal")).want(t, 200, "Retirar 30 avaliações")
	b.post(cyclePath(id, "roster/removal"))
	b.get(cyclePath(id, "roster")).want(t, 200, "O mapa está vazio", "30 avaliações foram retiradas")
	b.get(cyclePath(id, "roster")).want(t, 200, "O mapa está vazio")
	b.post(cyclePath(id, "activation")).want(t, http.StatusConflict, "O mapa de avaliadores está vazio")
}

// file sends a form with a file.
func (b *browser) file(path, name string, body []byte, pairs ...string) answer {
	b.site.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for i := 0; i+1 < len(pairs); i += 2 {
		_ = w.WriteField(pairs[i], pairs[i+1])
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		b.site.t.Fatal(err)
	}
	_, _ = part.Write(body)
	_ = w.Close()
	return b.do(http.MethodPost, path, w.FormDataContentType(), &form)
}

// C4 by page: what is exported imports as nothing to do, in both languages.
func TestAnExportImportsUnchanged(t *testing.T) {
	s := newSite(t)
	id := s.company.Draft(t, "2026.2", 30, 10)
	b := s.as(s.company.HR)
	for _, lang := range []string{"pt-BR", "en"} {
		b.post("/language", "locale", lang, "next", "/")
		export := b.get(cyclePath(id, "roster.csv")).want(t, 200)
		got := b.file(cyclePath(id, "imports"), "pares.csv", []byte(export.body), "mode", "replace")
		if got.status != http.StatusSeeOther {
			t.Fatalf("%s: %d\n%s", lang, got.status, got.body)
		}
		nothing := map[string]string{"pt-BR": "Nada a fazer", "en": "Nothing to do"}[lang]
		b.get(got.location).want(t, 200, nothing, `<span class="tile__figure">30</span>`)
	}
	b.post("/language", "locale", "pt-BR", "next", "/")
	lines := strings.Split(b.get(cyclePath(id, "roster.csv")).body, "\r\n")
	cells := strings.Split(lines[1], ";")
	cells[1] = "000012"
	lines[1] = strings.Join(cells, ";")
	got := b.file(cyclePath(id, "imports"), "pares.csv", []byte(strings.Join(lines, "\r\n")), "mode", "replace")
	b.get(got.location).want(t, 200, "Gravar 1 mudança", "<del>", "Muda o avaliador")
	b.get(got.location+"?verdict=update").want(t, 200, "<ins>")
	b.get(got.location+"/confirmation").want(t, 200, "1 avaliação muda de avaliador")
	if confirmed := b.post(got.location + "/confirmation"); confirmed.location != cyclePath(id, "roster") {
		t.Fatalf("confirm: %d\n%s", confirmed.status, confirmed.body)
	}
	b.get(cyclePath(id, "roster")).want(t, 200, "Arquivo gravado: 1 avaliação trocada.", "30 de 30")
	b.post(got.location+"/confirmation").want(t, http.StatusConflict, "já foi gravado")
}

// Files that cannot be read, or lines that cannot go in, say why.
func TestARosterFileIsRefusedInWords(t *testing.T) {
	s := newSite(t)
	id := s.company.Draft(t, "2026.2", 10, 10)
	b := s.as(s.company.HR)
	b.get(cyclePath(id, "imports/new")).want(t, 200, "Somar ao mapa")
	b.file(cyclePath(id, "imports"), "x.csv", []byte("a;b\n1;2\n"), "mode", "merge").want(t, 422, "aria-invalid", "Somar ao mapa")
	b.file(cyclePath(id, "imports"), "x.csv", nil, "mode", "merge").want(t, 422)
	b.file(cyclePath(id, "imports"), "x.csv", []byte("avaliado;avaliador;tipo\n000003;000004;par\n")).want(t, 422)
	b.post(cyclePath(id, "imports"), "mode", "merge").want(t, 422, "Escolha a planilha")
	b.file(cyclePath(id, "imports"), "grande.csv", bytes.Repeat([]byte("x"), 12<<20), "mode", "merge").want(t, http.StatusRequestEntityTooLarge)
	got := b.file(cyclePath(id, "imports"), "x.csv", []byte("avaliado;avaliador;tipo\n000003;zé@nada.test;par\n000003;000012;par\n"), "mode", "merge")
	b.get(got.location).want(t, 200, "1 linha não entra como está", "Gravar 1 mudança")
	rejected := b.get(got.location+"/rejected.csv").want(t, 200, "Motivo da rejeição")
	if !strings.HasPrefix(rejected.header.Get("Content-Disposition"), "attachment") {
		t.Error("the rejected lines are no file")
	}
	if back := b.file(cyclePath(id, "imports"), "volta.csv", []byte(rejected.body), "mode", "merge"); back.status != http.StatusSeeOther {
		t.Errorf("the rejected lines do not come back: %d\n%s", back.status, back.body)
	}
}

// What was typed stays, and the fault stands beside its field.
func TestACycleFormKeepsWhatWasTyped(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	form := fmt.Sprint(s.company.Form)
	for _, tt := range []struct {
		name  string
		pairs []string
		words []string
	}{
		{"nothing", nil, []string{"Nome do ciclo: Preencha este campo", `href="#f-name"`}},
		{"a bad date", []string{"name", "Ciclo X", "form", form, "due", "31/02/2027", "zone", "America/Manaus"}, []string{`value="Ciclo X"`, `value="31/02/2027"`, "31/02/2027”"}},
		{"a past day", []string{"name", "Ciclo X", "form", form, "due", "2020-01-01", "zone", "America/Sao_Paulo"}, []string{"esse instante já passou", `value="2020-01-01"`}},
		{"a zone that is none", []string{"name", "Ciclo X", "form", form, "due", "2030-01-01", "zone", "Mars/Olympus"}, []string{"Este fuso não existe"}},
		{"a zone of this machine alone", []string{"name", "Ciclo X", "form", form, "due", "2030-01-01", "zone", "./UTC"}, []string{"Este fuso não existe"}},
		{"a forged form", []string{"name", "Ciclo X", "form", "999999", "due", "2030-01-01", "zone", "UTC"}, []string{"Escolha um formulário", `value="Ciclo X"`}},
		{"an address that is none", []string{"name", "Ciclo X", "form", form, "due", "2030-01-01", "zone", "UTC", "contact", "rh@@x.test"}, []string{"rh@@x.test"}},
		{"too much grace", []string{"name", "Ciclo X", "form", form, "due", "2030-01-01", "zone", "UTC", "grace", "2000"}, []string{`value="2000"`}},
		{"a name that turns text round", []string{"name", "Ciclo \u202e", "form", form, "due", "2030-01-01", "zone", "UTC"}, []string{"f-name-e"}},
		{"a name that shows nothing", []string{"name", "\u3164\u200d", "form", form, "due", "2030-01-01", "zone", "UTC"}, []string{"f-name-e"}},
		{"a name with a part that shows nothing", []string{"name", "Ciclo\u00ad X", "form", form, "due", "2030-01-01", "zone", "UTC"}, []string{"f-name-e"}},
		{"a name of joiners alone", []string{"name", "\u200d\ufe0f", "form", form, "due", "2030-01-01", "zone", "UTC"}, []string{"f-name-e"}},
		{"a name too long", []string{"name", strings.Repeat("x", 121), "form", form, "due", "2030-01-01", "zone", "UTC"}, []string{"120"}},
		{"a NUL", []string{"name", "a\x00b", "form", form, "due", "2030-01-01", "zone", "UTC"}, []string{"f-name-e"}},
	} {
		b.post("/cycles", tt.pairs...).want(t, 422, append(tt.words, "error-summary")...)
	}
	id := b.newDraft(t, "Ciclo X")
	b.post("/cycles", "name", "Ciclo X", "form", form, "due", "2030-01-01", "zone", "UTC").want(t, 422, "Já existe um ciclo com este nome")
	b.get(cyclePath(id, "terms")).want(t, 200, `value="Ciclo X"`)
	b.post(cyclePath(id, "terms"), "name", "", "form", form, "due", "2030-01-01", "zone", "UTC").want(t, 422, "Preencha")
	b.post(cyclePath(id, "terms"), "name", "Ciclo Y", "form", form, "due", "2030-01-01", "zone", "America/Manaus", "grace", "0", "contact", "gente@x.test")
	if got := storetest.One[string](t, s.pool, `SELECT name || due_at AT TIME ZONE 'America/Manaus' FROM cycles WHERE id = $1`, id); got != "Ciclo Y2030-01-01 23:59:59" {
		t.Errorf("the cycle is now %q", got)
	}
	for _, pairs := range [][]string{{}, {"reviewee", "000003", "kind", "primo", "reviewer", "000004"}, {"reviewee", "000003", "kind", "self", "reviewer", "000004"}, {"reviewee", "a", "kind", "peer", "reviewer", "000004"}} {
		b.post(cyclePath(id, "pairs"), pairs...).want(t, 422, "error-summary")
	}
	b.post(cyclePath(id, "rule")).want(t, 422, "Escolha ao menos um tipo")
}

// One pair by hand, by name, address or code.
func TestOnePairByHand(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	id := b.newDraft(t, "2026.2")
	b.htmx().get(cyclePath(id, "people?field=reviewer&reviewer=gis")).want(t, 200, `<option value="000007">`)
	b.get(cyclePath(id, "pairs/new?person="+fmt.Sprint(s.company.People[4]))).want(t, 200, `value="000005"`)
	if got := b.post(cyclePath(id, "pairs"), "reviewee", "érica", "kind", "peer", "reviewer", "p7@"+fmt.Sprint(s.company.Tenant)+".example.test"); got.status != http.StatusSeeOther {
		t.Fatalf("add: %d\n%s", got.status, got.body)
	}
	b.get(cyclePath(id, "roster")).want(t, 200, "Gisele 7 avalia Érica 5, como par")
	b.post(cyclePath(id, "pairs"), "reviewee", "000005", "kind", "peer", "reviewer", "000007").want(t, 422, "já está no mapa")
	b.post(cyclePath(id, "pairs"), "reviewee", "000006", "kind", "self", "reviewer", "")
	b.get(cyclePath(id, "roster")).want(t, 200, "autoavaliação")
	person := fmt.Sprint(s.company.People[4])
	b.get(cyclePath(id, "exclusions/"+person)).want(t, 200, "Deixar Érica 5 fora do ciclo?")
	b.post(cyclePath(id, "exclusions/"+person), "reason", "licença")
	b.post(cyclePath(id, "pairs"), "reviewee", "000005", "kind", "peer", "reviewer", "000007").want(t, 422, "fora do ciclo, porque: licença")
	b.get(cyclePath(id, "absences?why=excluded")).want(t, 200, "Fora do ciclo, porque: licença", "Incluir de novo")
	b.post(cyclePath(id, "inclusions/"+person), "next", "https://evil.test/")
	b.get(cyclePath(id, "rehearsal")).want(t, 200, "A pessoa está no ciclo e ninguém a avalia")
}

// 3,000 rows: search, filter, sort and page are in the address, and the number
// of statements stays the same.
func TestThreeThousandPairsStayUsable(t *testing.T) {
	s := newSite(t)
	storetest.Exec(t, s.pool, `
		INSERT INTO people (tenant_id, code, name, email, department)
		SELECT $1::bigint, 'g' || i, 'Pessoa ' || lpad(i::text, 4, '0'), 'g' || i || '@g.test', CASE WHEN i % 10 = 0 THEN '' ELSE 'Setor ' || i % 10 END
		FROM generate_series(1, 3000) i`, s.company.Tenant)
	id := s.company.Draft(t, "2026.2", 0, 1)
	small := s.company.Draft(t, "Pequeno", 10, 10)
	ctx := context.WithoutCancel(t.Context())
	if _, err := s.store.ApplyRule(ctx, s.company.HR, id, appraisal.Rule{Self: true}); err != nil {
		t.Fatal(err)
	}
	b := s.as(s.company.HR)
	first := b.get(cyclePath(id, "roster")).want(t, 200, "3.012 de 3.012", "1–25 de 3.012", "Página 1 de 121")
	if rows := strings.Count(first.body, "<tr>"); rows != 26 {
		t.Errorf("%d rows on a page", rows)
	}
	b.get(cyclePath(id, "roster?page=121")).want(t, 200, "3.001–3.012 de 3.012", "Pessoa 3000")
	b.get(cyclePath(id, "roster?q=pessoa+2999")).want(t, 200, "Pessoa 2999", "1 de 3.012")
	b.get(cyclePath(id, "roster?department=Setor+3&sort=-reviewee")).want(t, 200, "300 de 3.012", "Pessoa 2993")
	b.get(cyclePath(id, "roster?department=-")).want(t, 200, "300 de 3.012")
	b.get(cyclePath(id, "roster?kind=manager")).want(t, 200, "Nada corresponde")
	for _, page := range []string{"roster", "progress", "absences", "rehearsal"} {
		got := b.get(cyclePath(id, page+"?page=9999"))
		if page == "roster" && got.location != cyclePath(id, "roster?page=121") || got.status == 200 && strings.Contains(got.body, "9.999") {
			t.Errorf("%s beyond its last page: %d %s", page, got.status, got.location)
		}
	}
	b.get(cyclePath(id, "roster?sort=nonsense&page=-4&kind=x%25")).want(t, 200)
	fragment := b.htmx().get(cyclePath(id, "roster?page=2")).want(t, 200, "26–50 de 3.012")
	if strings.Contains(fragment.body, "<html") || !strings.Contains(b.get(cyclePath(id, "roster?page=2")).body, "26–50 de 3.012") {
		t.Error("the fragment and the page differ")
	}
	for _, part := range []string{"roster", "rehearsal", "absences"} {
		if few, many := s.statements(func() { b.get(cyclePath(small, part)) }), s.statements(func() { b.get(cyclePath(id, part)) }); few != many || many == 0 {
			t.Errorf("%s: %d statements for 10 pairs, %d for 3,012", part, few, many)
		}
	}
	few := s.statements(func() { b.post(cyclePath(small, "activation")) })
	many := s.statements(func() { b.post(cyclePath(id, "activation")) })
	if few == 0 || many > few+1 { // one INSERT of drain jobs, whatever their number
		t.Errorf("activation: %d statements for 10 pairs, %d for 3,012", few, many)
	}
	b.get(cyclePath(id, "progress?sort=-owed&page=2")).want(t, 200, "Faltam 3.012 avaliadores", "26–50 de 3.012")
	b.get(cyclePath(id, "progress?q=pessoa+2999&started=no")).want(t, 200, "1 de 3.012")
	if few, many := s.statements(func() { b.get(cyclePath(small, "progress")) }), s.statements(func() { b.get(cyclePath(id, "progress")) }); few != many || many == 0 {
		t.Errorf("progress: %d statements for 10 pairs, %d for 3,012", few, many)
	}
}

// Nothing of another organisation's cycle exists, for reading or writing.
func TestAForeignCycleDoesNotExist(t *testing.T) {
	s := newSite(t)
	other := storetest.NewCompany(t, s.pool, "Outra", 12)
	id := s.company.Draft(t, "2026.2", 10, 10)
	person := fmt.Sprint(s.company.People[3])
	pair := fmt.Sprint(storetest.One[int64](t, s.pool, `SELECT min(id) FROM evaluations WHERE cycle_id = $1`, id))
	stranger := s.as(other.HR)
	plain := s.as(s.company.Actor(5))
	for _, part := range []string{"", "terms", "roster", "roster.csv", "roster/removal", "rule", "imports/new", "imports/1", "imports/1/confirmation", "imports/1/rejected.csv",
		"pairs/new", "pairs/" + pair + "/reviewer", "people?field=reviewer&reviewer=ana", "absences", "exclusions/" + person, "rehearsal", "rehearsal/mail", "rehearsal/elsewhere",
		"activation", "receipt", "progress", "standing", "closure", "cancellation"} {
		at := strings.TrimSuffix(cyclePath(id, part), "/")
		if got := stranger.get(at); got.status != http.StatusNotFound && !(part == "standing" && got.status == http.StatusSeeOther) {
			t.Errorf("GET %s by a stranger: %d", at, got.status)
		}
		if got := plain.get(at); got.status != http.StatusForbidden && got.status != http.StatusNotFound && !(part == "standing" && got.status == http.StatusSeeOther) {
			t.Errorf("GET %s by an employee: %d", at, got.status)
		}
	}
	for _, part := range []string{"terms", "roster/removal", "rule", "pairs", "pairs/" + pair + "/removal", "pairs/" + pair + "/reviewer", "exclusions/" + person,
		"inclusions/" + person, "imports/1/confirmation", "activation", "closure", "cancellation"} {
		pairs := []string{"name", "x", "form", "1", "due", "2030-01-01", "zone", "UTC", "self", "on", "reviewee", "000003", "kind", "peer", "reviewer", "000004", "reason", "x"}
		if got := stranger.post(cyclePath(id, part), pairs...); got.status != http.StatusNotFound {
			t.Errorf("POST %s by a stranger: %d\n%s", part, got.status, got.body)
		}
		if got := plain.post(cyclePath(id, part), pairs...); got.status != http.StatusForbidden && got.status != http.StatusNotFound {
			t.Errorf("POST %s by an employee: %d", part, got.status)
		}
	}
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM evaluations WHERE cycle_id = $1 AND state = 'planned'`, id); n != 10 {
		t.Errorf("%d pairs are left of 10", n)
	}
}

// The end of a cycle: confirmation pages, one winner, and what it leaves.
func TestClosingAndCancelling(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	closed := s.company.Draft(t, "A encerrar", 10, 10)
	b.get(cyclePath(closed, "closure")).want(t, http.StatusConflict, "ainda é um rascunho")
	b.post(cyclePath(closed, "activation"))
	b.get(cyclePath(closed, "closure")).want(t, 200, "10 avaliações não enviadas expiram")
	answers := make(chan int, 8)
	for range 8 {
		go func() { answers <- b.post(cyclePath(closed, "closure")).status }()
	}
	won := 0
	for range 8 {
		if <-answers == http.StatusSeeOther {
			won++
		}
	}
	if won != 1 {
		t.Errorf("%d closed it, want 1", won)
	}
	b.post(cyclePath(closed, "closure")).want(t, http.StatusConflict, "foi encerrado por Bruno 2")
	b.get(cyclePath(closed, "progress")).want(t, 200, "Encerrado", "10 expiradas", "10 canceladas", "10 avaliações ficaram sem envio")
	b.get(cyclePath(closed, "receipt")).want(t, 200, "as contas fecham")

	gone := s.company.Draft(t, "A cancelar", 10, 10)
	b.post(cyclePath(gone, "activation"))
	b.get(cyclePath(gone, "cancellation")).want(t, 200, "Cancelar “A cancelar”?")
	b.post(cyclePath(gone, "cancellation"), "reason", " ").want(t, 422, "Diga o motivo")
	b.post(cyclePath(gone, "cancellation"), "reason", "reorganização da diretoria")
	b.get(cyclePath(gone, "progress")).want(t, 200, "Cancelado", "reorganização da diretoria")
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM outbox_events WHERE cycle_id = @id AND status = 'cancelled' AND status_reason = 'reorganização da diretoria'`, pgx.NamedArgs{"id": gone}); n != 10 {
		t.Errorf("%d messages carry the reason, want 10", n)
	}
	b.post(cyclePath(gone, "cancellation"), "reason", "de novo").want(t, http.StatusConflict, "foi cancelado por Bruno 2")

	draft := s.company.Draft(t, "Nunca ativado", 10, 10)
	b.post(cyclePath(draft, "cancellation"), "reason", "não será feito")
	b.get(cyclePath(draft, "roster")).want(t, 200, "Cancelado", "não será feito")
}
