package e2e

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// inAMonth is a deadline as a date field holds it.
func inAMonth() string { return time.Now().AddDate(0, 1, 0).Format(time.DateOnly) }

var reviewLink = regexp.MustCompile(`https?://[^\s<>"]+/r/[^\s<>"]+`)

// invitation is the newest mail to somebody about a cycle, and its link.
func invitation(t *testing.T, base, to, cycle string) (letter, string) {
	t.Helper()
	var found letter
	until(t, "an invitation to "+to, patience, func() bool {
		for _, l := range letters(t, base, to) {
			if strings.Contains(l.Text, cycle) {
				found = l
				return true
			}
		}
		return false
	})
	link := reviewLink.FindString(found.Text)
	if link == "" {
		t.Fatalf("the mail to %s holds no link:\n%s", to, found.Text)
	}
	if !strings.Contains(found.HTML, link) {
		t.Errorf("the HTML of the mail to %s does not hold the link of its text", to)
	}
	return found, link
}

// importPeople brings testdata/pessoas.csv in, page by page.
func (p *plain) importPeople() {
	p.t.Helper()
	p.open("/people").follow("Importar pessoas")
	p.press("Enviar arquivo", "file", "@pessoas.csv").sees("Dizer o que cada coluna é", "E-mail do gestor")
	p.press("Conferir as linhas").sees("Conferir as linhas antes de importar")
	p.press("Importar 320 pessoas").sees("Importar 320 pessoas de “pessoas.csv”?")
	p.press("Importar 320 pessoas").sees("Importação concluída", "320 pessoas importadas.")
}

// newCycle makes a cycle and answers its address.
func (p *plain) newCycle(name string) string {
	p.t.Helper()
	p.open("/cycles").follow("Novo ciclo")
	p.press("Criar ciclo", "name", name, "due", inAMonth()).sees("“"+name+"” foi criado como rascunho", "O mapa está vazio")
	return strings.TrimSuffix(p.at.Path, "/roster")
}

// importPairs brings testdata/pares.csv into a cycle.
func (p *plain) importPairs(cycle string) {
	p.t.Helper()
	p.open(cycle + "/roster").follow("Importar arquivo")
	p.press("Ler o arquivo", "file", "@pares.csv").sees("Conferir as linhas antes de importar", "1.265")
	p.press("Gravar 1.265 mudanças")
	p.press("Gravar 1.265 mudanças").sees("Arquivo gravado: 1.265 avaliações incluídas")
}

// activate presses the button of the rehearsal, and that of the page that asks.
func (p *plain) activate(cycle, verb string) {
	p.t.Helper()
	p.open(cycle + "/rehearsal").sees("Nada impede a ativação")
	p.press("Ativar ciclo")
	p.press(verb)
	if !strings.HasSuffix(p.at.Path, "/receipt") {
		p.t.Fatalf("activating leads to %s (%d):\n%s", p.at.Path, p.status, p.text())
	}
}

// TestWithoutScript does the core of the work in a browser that runs none.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	demo := shared(t)
	const cycle = "Sem script 2026"
	hr := newPlain(t, demo.url).signIn(hrManager)
	at := hr.newCycle(cycle)
	hr.open(at + "/roster").follow("Montar pela regra")
	hr.press("Aplicar a regra", "departments", "Tecnologia").sees("A regra reúne")
	hr.open(at + "/rehearsal")
	verb := regexp.MustCompile(`Ativar e enviar \d+ e-mails`).FindString(words(whole(hr.page)))
	hr.activate(at, verb)
	hr.sees("Comprovante de ativação", "as contas fecham")
	hr.open(at + "/activation")
	if hr.at.Path != at+"/progress" {
		t.Errorf("asking to activate again leads to %s", hr.at.Path)
	}

	_, link := invitation(t, demo.url, admin, cycle)
	who := newPlain(t, demo.url)
	who.open(link).sees("É você?", "Ubirajara Höfling", cycle)
	who.press("Sou eu, abrir avaliações").sees("Suas avaliações", cycle)
	before := len(openReviews(who))
	who.open(openReviews(who)[0])
	form := who.at.Path

	// Too little is refused, with what was typed kept.
	radio, text := answers(who)
	who.press("Revisar e enviar", text...)
	if who.status != http.StatusUnprocessableEntity {
		t.Fatalf("a review without its ratings is answered with %d:\n%s", who.status, who.text())
	}
	who.sees("Entrega o que combina")
	who.press("Salvar rascunho", append(slices.Clone(radio), text...)...).sees("Rascunho salvo.")
	newPlain(t, demo.url).open(form).sees("Entrar") // nobody else

	who.open(form).press("Revisar e enviar").sees("Revisar e enviar", "Entrega o que combina")
	who.press("Enviar avaliação").sees("enviada", "Suas avaliações")
	if after := len(openReviews(who)); after != before-1 {
		t.Errorf("%d reviews to do, %d before", after, before)
	}
	who.open(form).sees("As respostas não podem mais ser mudadas.", "Entrega o que combina")
	if f, _ := who.form("Revisar e enviar"); f != nil {
		t.Error("what was submitted can be submitted again")
	}
}

// openReviews are the addresses of the reviews that are still to be written.
func openReviews(p *plain) []string {
	p.t.Helper()
	p.open("/reviews")
	var urls []string
	for n := range p.page.Descendants() {
		if n.Data == "li" && (strings.Contains(said(n), "A fazer") || strings.Contains(said(n), "Em andamento")) {
			for a := range n.Descendants() {
				if strings.HasPrefix(attr(a, "href"), "/reviews/") {
					urls = append(urls, attr(a, "href"))
				}
			}
		}
	}
	return urls
}

// answers fills every question of the review that is open: the first choice of
// each group, and words.
func answers(p *plain) (radio, text []string) {
	p.t.Helper()
	seen := map[string]bool{}
	for _, n := range p.fields("Revisar e enviar", "q.") {
		name := attr(n, "name")
		switch {
		case n.Data == "textarea":
			text = append(text, name, "Entrega o que combina.\nAvisa cedo quando não vai dar.")
		case !seen[name]:
			radio = append(radio, name, attr(n, "value"))
		}
		seen[name] = true
	}
	if len(radio) == 0 || len(text) == 0 {
		p.t.Fatalf("the form on %s asks for nothing:\n%s", p.at.Path, p.text())
	}
	return radio, text
}
