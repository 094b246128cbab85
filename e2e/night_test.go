package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDeadlineNight is HR on the evening of a deadline: one reviewer gets more
// time, another's review passes to a colleague who is asked by mail, those who
// are missing are reminded once, and a lost link is sent again.
func TestDeadlineNight(t *testing.T) {
	t.Parallel()
	demo := start(t, t.TempDir())
	const cycle = "Avaliação de Desempenho 2026.2"
	hr := newTab(t, demo.url, 1280)
	hr.signIn(hrManager)
	hr.press("Ciclos")
	hr.press(cycle)
	hr.at(`/cycles/\d+/progress`)
	at := strings.TrimSuffix(hr.path(), "/progress")
	hr.sees("1 pessoa pede mais prazo", "as contas fecham")

	// Everybody gets a day more.
	hr.press("Prorrogar prazo")
	hr.sees("Prorrogar o prazo de “"+cycle+"”?", "Quem já tem um prazo mais longo fica com ele.")
	hr.fill("Novo prazo: dia", time.Now().AddDate(0, 0, 40).Format(time.DateOnly))
	hr.fill("Motivo", "Chuvas na BR-163")
	hr.pressAt("#extend button[type=submit]")
	hr.at(at + "/progress")
	hr.sees("O prazo agora é", "serão avisadas por e-mail")
	mailed(t, demo.url, "joao.montenegro@demo.example", "Novo prazo para avaliar", "Chuvas na BR-163")

	// One is ticked and reminded; a second press reminds nobody again.
	hr.open(at + "/progress?q=montenegro")
	hr.pressAt("td .tick")
	hr.sees("1 pessoa selecionada")
	hr.pressAt(".bulkbar button")
	hr.sees("1 lembrete está a caminho.")
	mailed(t, demo.url, "joao.montenegro@demo.example", "Lembrete: faltam", cycle)
	hr.open(at + "/progress?q=montenegro")
	hr.sees("lembrado em")
	hr.pressAt("td .tick")
	hr.pressAt(".bulkbar button")
	hr.sees("Nenhum lembrete saiu. 1 pessoa já foi lembrada há menos de 6 horas.")

	// A review of his passes to Thaís, who finds her link in a mail.
	hr.open(at + "/progress?q=montenegro")
	hr.press("João Guilherme Albuquerque de Souza Montenegro")
	hr.at(at + `/reviewers/\d+`)
	hr.sees("Trilha", "Prazo prorrogado")
	hr.press("Trocar avaliador(a)")
	hr.at(at + `/evaluations/\d+/reviewer`)
	hr.fill("Quem avalia agora", "900007")
	hr.press("Trocar avaliador(a)")
	hr.sees("para Thaís Emanuelle Guimarães Nóbrega.")
	asked := mailed(t, demo.url, "thais.nobrega@demo.example", "Mais uma avaliação para você", cycle)
	mailed(t, demo.url, "joao.montenegro@demo.example", "Você não precisa mais avaliar", cycle)
	hr.open(at + "/receipt")
	hr.sees("as contas fecham")

	thais := newTab(t, demo.url, 390)
	thais.open(reviewLink.FindString(asked.Text))
	thais.sees("É você?", "Thaís Emanuelle Guimarães Nóbrega")
	thais.press("Sou eu, abrir avaliações")
	thais.at("/reviews")
	reviewee := regexp.MustCompile(`, você avalia (.+)`).FindStringSubmatch(asked.Text)
	if reviewee == nil {
		t.Fatalf("the mail does not say whom she reviews:\n%s", asked.Text)
	}
	thais.sees(strings.TrimSpace(reviewee[1]))

	// Somebody else has lost the link, and asks for it without being known.
	lost := newTab(t, demo.url, 390)
	lost.open("/r/lost")
	lost.fill("E-mail", "zelia.xavier@demo.example")
	lost.press("Enviar o link")
	lost.sees("Confira o seu e-mail")
	again := mailed(t, demo.url, "zelia.xavier@demo.example", "Seu link para avaliar, de novo", cycle)
	lost.open(reviewLink.FindString(again.Text))
	lost.sees("É você?", "Zélia Höfling Xavier")
}

// mailed waits for a mail to somebody, with these words in its subject and text.
func mailed(t *testing.T, base, to, subject, words string) (found letter) {
	t.Helper()
	until(t, "a mail to "+to+": "+subject, patience, func() bool {
		for _, l := range letters(t, base, to) {
			if strings.Contains(l.Subject, subject) && strings.Contains(l.Text, words) {
				found = l
				return true
			}
		}
		return false
	})
	return found
}
