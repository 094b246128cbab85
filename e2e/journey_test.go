package e2e

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"
)

// TestTheJourney is the main job, as people do it: HR imports the company,
// builds a roster, rehearses and activates; a reviewer follows their mail on a
// phone, writes and submits; HR sees it, and that every message was accepted.
func TestTheJourney(t *testing.T) {
	t.Parallel() // with the others that wait more than they work
	demo := shared(t)
	const cycle = "Avaliação de Desempenho 2027.1"
	hr := newTab(t, demo.url, 1280)
	hr.signIn(hrManager)

	hr.press("Pessoas")
	hr.at("/people")
	hr.press("Importar pessoas")
	hr.at("/people/import")
	hr.upload("pessoas.csv")
	hr.press("Enviar arquivo")
	hr.at(`/people/import/\d+/columns`)
	hr.sees("pessoas.csv", "Windows-1252", "320 linhas lidas")
	hr.press("Conferir as linhas")
	hr.at(`/people/import/\d+`)
	hr.sees("8 reconhecidas", "Novas 320 entram no cadastro", "Rejeitadas 0", "Uma pessoa sem gestor(a)", "Olívia Queirós Uchôa")
	hr.press("Importar 320 pessoas")
	hr.sees("Importar 320 pessoas de “pessoas.csv”?", "As 320 entram juntas")
	hr.press("Importar 320 pessoas")
	hr.sees("Importação concluída", "320 pessoas importadas.")

	hr.press("Ciclos")
	hr.at("/cycles")
	hr.press("Novo ciclo")
	hr.at("/cycles/new")
	hr.fill("Nome do ciclo", cycle)
	hr.fill("Prazo", inAMonth())
	hr.press("Criar ciclo")
	hr.at(`/cycles/\d+/roster`)
	hr.sees("foi criado como rascunho", "O mapa está vazio")
	at := regexp.MustCompile(`^/cycles/\d+`).FindString(hr.path())
	hr.press("Importar arquivo")
	hr.at(at + "/imports/new")
	hr.upload("pares.csv")
	hr.press("Ler o arquivo")
	hr.at(at + `/imports/\d+`)
	hr.sees("1.265")
	hr.press("Gravar 1.265 mudanças")
	hr.sees("Gravar 1.265 mudanças no mapa de “" + cycle + "”?")
	hr.press("Gravar 1.265 mudanças")
	hr.at(at + "/roster")
	hr.sees("Arquivo gravado: 1.265 avaliações incluídas", "307 avaliadores")

	hr.press("Ver simulação")
	hr.at(at + "/rehearsal")
	hr.sees("Nada impede a ativação", "Avaliações 1.265", "E-mails 307")
	hr.press("Ativar ciclo")
	hr.sees("Ativar “"+cycle+"”?", "307 pessoas recebem um e-mail")
	hr.press("Voltar à simulação") // thinks again, nothing happens
	hr.until("the dialog to close", `!document.querySelector("dialog[open]")`)
	hr.at(at + "/rehearsal")
	hr.press("Ativar ciclo")
	hr.press("Ativar e enviar 307 e-mails")
	hr.at(at + "/receipt")
	hr.sees("Ciclo ativado: 1.265 avaliações abertas, 307 mensagens registradas.", "as contas fecham")
	hr.sees("Nada mais a enviar") // by itself, while the page stays open

	mail, link := invitation(t, demo.url, "katia.davila.nobrega.2@", cycle)
	if all := len(letters(t, demo.url, mail.To)); all != 1 {
		t.Errorf("%s got %d mails", mail.To, all)
	}
	name := reviewOnAPhone(t, demo.url, link, cycle)

	hr.open(at + "/progress")
	hr.sees("1 de 1.265", "Enviadas")
	hr.open(at + "/roster?q=" + regexp.MustCompile(`\s`).ReplaceAllString(name, "+"))
	hr.sees("Enviada")
	hr.open(at + "/progress")
	hr.pressAt(`main a[href^="/deliveries?cycle="]`)
	hr.at(`/deliveries\?cycle=\d+`)
	hr.sees("Falharam 0", "Aceitas 307")
}

// reviewOnAPhone is a reviewer with a browser that has never been here. It
// answers whom they reviewed.
func reviewOnAPhone(t *testing.T, base, link, cycle string) (reviewee string) {
	t.Helper()
	b := newTab(t, base, 390)
	b.open(link)
	b.sees("É você?", "Kátia D'Ávila Nóbrega", cycle)
	b.press("Sou eu, abrir avaliações")
	b.at("/reviews")
	b.sees("Suas avaliações", cycle)
	reviewee = ask[string](b, `document.querySelector("main .rows__title").innerText`)
	b.pressAt("main .rows__title")
	b.at(`/reviews/\d+`)
	form := b.path()

	questions := ask[int](b, `document.querySelectorAll("form[data-review] .question").length`)
	for i := range ask[int](b, `document.querySelectorAll("form[data-review] fieldset.question").length`) {
		b.hit(`document.querySelectorAll("form[data-review] fieldset.question")[` + strconv.Itoa(i) + `].querySelectorAll("label")[1]`)
	}
	const words = "Entrega o que combina — e avisa cedo: “não vai dar”. 👍"
	texts := ask[int](b, `[...document.querySelectorAll("form[data-review] div.question textarea")].length`)
	for i := range texts {
		b.hit(`document.querySelectorAll("form[data-review] div.question textarea")[` + strconv.Itoa(i) + `]`)
		b.types(words)
	}
	b.sees("Salvo às")
	b.until("everything to be saved", `document.querySelector(".autosave").dataset.state === "saved" && document.querySelector("[data-answered]").innerText.startsWith(`+quoted(strconv.Itoa(questions)+" de ")+`)`)
	b.open(form) // as after a call that came in between
	b.until("the draft to be kept", `document.querySelector("form[data-review] div.question textarea").value === `+quoted(words))
	if n := ask[int](b, `document.querySelectorAll("form[data-review] input[type=radio]:checked").length`); n != questions-texts {
		t.Errorf("%d of %d choices are kept", n, questions-texts)
	}
	b.press("Revisar e enviar")
	b.at(form + "/submission")
	b.sees(words)
	b.press("Enviar avaliação")
	b.at("/reviews")
	b.sees("enviada", "Suas avaliações")
	b.open(form)
	b.sees("As respostas não podem mais ser mudadas.", words)
	if n := ask[int](b, `document.querySelectorAll("main textarea, main input:not([type=hidden])").length`); n != 0 {
		t.Errorf("%d fields on a review that was submitted", n)
	}

	// The session is for these reviews and nothing else.
	b.open("/cycles")
	b.at("/reviews")
	b.expects(http.StatusNotFound)
	b.open("/reviews/1")
	b.sees("Página não encontrada")
	return reviewee
}
