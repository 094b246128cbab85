package e2e

import (
	"fmt"
	"regexp"
	"testing"
)

// slipOn finds the first slip of a sheet: the employee code and the slip's own.
func slipOn(t *testing.T, sheet string) (employee, code string) {
	t.Helper()
	found := regexp.MustCompile(`(?s)Matrícula (\S+).*?([0-9A-Z]{4}(?:-[0-9A-Z]{4}){3})`).FindStringSubmatch(sheet)
	if found == nil {
		t.Fatalf("no slip with a code on the sheet:\n%s", sheet)
	}
	return found[1], found[2]
}

// TestASlipInADriversHand: HR prints the sheet, somebody without an address
// scans the QR on a shared phone, writes, submits and signs out; the invitation
// is settled by its first use, and nothing is left behind Back.
func TestASlipInADriversHand(t *testing.T) {
	t.Parallel()
	demo := start(t, t.TempDir()) // alone: what it uses up is counted elsewhere
	db := demo.database(t)
	cycle := one[int64](t, db, `SELECT id FROM cycles WHERE name = 'Avaliação de Desempenho 2026.2'`)
	hr := newTab(t, demo.url, 1280)
	hr.signIn(hrManager)
	hr.open(fmt.Sprintf("/cycles/%d/progress", cycle))
	hr.press("Convites em papel")
	hr.at(`/cycles/\d+/slips`)
	hr.sees("por entregar")
	hr.press("Imprimir todos")
	hr.at(`/cycles/\d+/slips/sheet.manager=all`)
	hr.sees("Esta folha abre avaliações", "horário de Brasília")
	// somebody who still has something to submit
	employee := one[string](t, db, `
		SELECT p.code
		FROM outbox_events o
		JOIN people p ON p.id = o.person_id
		WHERE o.queue = 'handout'
		  AND o.status = 'pending'
		  AND EXISTS (SELECT FROM evaluations e WHERE e.reviewer_id = p.id AND e.cycle_id = o.cycle_id AND e.state = 'pending')
		ORDER BY p.id
		LIMIT 1`)
	code := ask[string](hr, `[...document.querySelectorAll(".slip")].find((s) => s.textContent.includes("Matrícula " + `+quoted(employee)+`)).querySelector(".slip__code").lastChild.textContent.trim()`)

	phone := newTab(t, demo.url, 390)
	phone.open("/acesso#" + code) // as the QR leads
	phone.until("the code to be in its field", `document.querySelector("[name=code]").value === `+quoted(code)+` && location.hash === ""`)
	if small := ask[int](phone, `[...document.querySelectorAll("main form[action='/acesso'] :is(input, button)")].filter((e) => e.getBoundingClientRect().height < 44).length`); small > 0 {
		t.Errorf("%d targets are under 44 px", small)
	}
	phone.fill("Matrícula", employee)
	phone.press("Continuar")
	phone.at("/acesso/pessoa")
	phone.sees("É você?")
	phone.press("Sou eu, abrir avaliações")
	phone.at("/reviews")
	phone.sees("Suas avaliações", "Sair")
	if status := one[string](t, db, `SELECT o.status FROM outbox_events o JOIN people p ON p.id = o.person_id WHERE o.queue = 'handout' AND o.cycle_id = $1 AND p.code = $2`, cycle, employee); status != "delivered" {
		t.Errorf("the invitation is %s after its first use", status)
	}
	review := ask[string](phone, `document.querySelector("main .rows__title[href^='/reviews/']").pathname`)
	writer := newPlain(t, demo.url) // submits as the form does without script, with the same slip
	writer.open("/acesso").press("Continuar", "employee", employee, "code", code)
	writer.press("Sou eu, abrir avaliações")
	radio, text := answers(writer.open(review))
	writer.press("Revisar e enviar", append(radio, text...)...)
	writer.press("Enviar avaliação").sees("enviada")
	if via := one[string](t, db, `SELECT submitted_via FROM evaluations WHERE id = $1::text::bigint`, review[len("/reviews/"):]); via != "slip" {
		t.Errorf("it was submitted by %s", via)
	}
	phone.open("/reviews")
	phone.sees("Enviada")
	phone.press("Sair")
	phone.at("/acesso")
	phone.sees("Você saiu")
	phone.open("/acesso") // a page of its own, so that Back leads to what was there
	ask[bool](phone, `history.go(-2), true`)
	phone.until("Back to show nothing of theirs", `!document.body.textContent.includes("Suas avaliações") || document.readyState === "complete" && !location.pathname.startsWith("/reviews")`)

	hr.open(fmt.Sprintf("/cycles/%d/slips", cycle))
	hr.sees("1 entregue em mãos")
}
