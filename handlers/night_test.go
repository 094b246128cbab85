package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ciclo/internal/outbox"
	"ciclo/store/storetest"
)

func (v *reviewing) owed(kind string) int {
	v.t.Helper()
	return storetest.One[int](v.t, v.pool, `SELECT count(*)::int FROM outbox_events WHERE event_type = $1`, kind)
}

// day is a day from now as a form sends it.
func day(days int) string { return time.Now().AddDate(0, 0, days).Format(time.DateOnly) }

// Case C10, through the screens.
func TestAReviewChangesHandsAndComesBack(t *testing.T) {
	v := newReviewing(t)
	hr, carla, joao := v.as(v.company.HR), v.as(v.company.Actor(2)), v.as(v.company.Actor(9))
	old := v.reviews(v.cycle, 2)[0]
	carla.post(path(old, "/draft"), "version", "0", "q.comentario", "meio rascunho da Carla").want(t, http.StatusSeeOther)

	here := cyclePath(v.cycle, fmt.Sprintf("reviewers/%d", v.company.People[2]))
	hr.get(here).want(t, http.StatusOK, "Carla 3 neste ciclo", "Trocar avaliador(a)", "Nenhuma mudança desde a ativação")
	form := cyclePath(v.cycle, fmt.Sprintf("evaluations/%d/reviewer", old))
	hr.get(form).want(t, http.StatusOK, "Entregar o rascunho à nova pessoa")
	hr.post(form, "reviewer", "Ninguém da Silva", "reason", "férias").want(t, http.StatusUnprocessableEntity, `value="Ninguém da Silva"`, "férias")
	a := hr.post(form, "reviewer", "000010", "reason", "férias").want(t, http.StatusSeeOther)
	hr.get(a.location).want(t, http.StatusOK, "passou de Carla 3 para João 10")
	hr.post(form, "reviewer", "000009").want(t, http.StatusConflict)

	theirs := v.reviews(v.cycle, 9)
	if len(theirs) != 1 || v.owed("evaluation.reassigned") != 1 || v.owed("evaluation.withdrawn") != 1 {
		t.Fatalf("João has %d reviews; %d and %d messages", len(theirs), v.owed("evaluation.reassigned"), v.owed("evaluation.withdrawn"))
	}
	if a := joao.get(path(theirs[0], "")).want(t, http.StatusOK); strings.Contains(a.body, "meio rascunho") {
		t.Error("João reads Carla's draft")
	}
	joao.get(path(old, "")).want(t, http.StatusNotFound)
	carla.get(path(old, "")).want(t, http.StatusOK, "meio rascunho da Carla")
	hr.get(here).want(t, http.StatusOK, "passou para João 10", "Devolver a Carla 3", "avaliador(a) trocado(a)", "férias")
	hr.get(cyclePath(v.cycle, fmt.Sprintf("reviewers/%d", v.company.People[9]))).want(t, http.StatusOK, "avaliador(a) trocado(a)")
	if a := hr.get(cyclePath(v.cycle, "roster")).want(t, http.StatusOK); strings.Contains(a.body, "meio rascunho") {
		t.Error("HR reads a draft")
	}

	back := cyclePath(v.cycle, fmt.Sprintf("evaluations/%d/reviewer", theirs[0]))
	hr.get(back+"?to=000003").want(t, http.StatusOK, `value="000003"`)
	a = hr.post(back, "reviewer", "000003").want(t, http.StatusSeeOther)
	hr.get(a.location).want(t, http.StatusOK, "voltou de João 10 para Carla 3")
	carla.get(path(old, "")).want(t, http.StatusOK, "meio rascunho da Carla", "Revisar e enviar")
	joao.post(path(theirs[0], "/draft"), "version", "0", "q.comentario", "tarde demais").want(t, http.StatusConflict)
	hr.get(cyclePath(v.cycle, "receipt")).want(t, http.StatusOK, "as contas fecham")
}

func TestTheDeadlineIsExtendedOnTheScreens(t *testing.T) {
	v := newReviewing(t)
	hr := v.as(v.company.HR)
	hr.get(cyclePath(v.cycle, "progress")).want(t, http.StatusOK, "Prorrogar prazo", "Lembrar quem falta", cyclePath(v.cycle, "extension"))
	at := cyclePath(v.cycle, "extension")
	hr.get(at).want(t, http.StatusOK, "3 pessoas ainda não terminaram")
	carla := idText(v.company.People[2])
	hr.get(at+"?id="+carla).want(t, http.StatusOK, "Prorrogar o prazo de 1 pessoa?", "Carla 3", `name="id" value="`+carla+`"`)
	hr.get(at+"?id=nada").want(t, http.StatusUnprocessableEntity)
	for _, tt := range []struct {
		name string
		send []string
		says string
	}{
		{"nothing", nil, "Novo prazo: dia"},
		{"no day", []string{"day", "amanhã", "time", "23:59", "why", "chuvas"}, `value="amanhã"`},
		{"no time", []string{"day", day(60), "time", "25h", "why", "chuvas"}, `value="25h"`},
		{"a day that is past", []string{"day", "2020-01-01", "time", "23:59", "why", "chuvas"}, "já passou"},
		{"no later than it is", []string{"day", day(2), "time", "23:59", "why", "chuvas"}, "O prazo já é"},
		{"somebody forged", []string{"day", day(60), "time", "23:59", "id", "x"}, ""},
		{"a reason without end", []string{"day", day(60), "time", "23:59", "why", strings.Repeat("a", 501)}, "500"},
	} {
		if a := hr.post(at, tt.send...); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, tt.says) {
			t.Errorf("%s: %d\n%s", tt.name, a.status, a.body)
		}
	}
	a := hr.post(at, "day", day(60), "time", "18:30", "id", carla, "why", "férias").want(t, http.StatusSeeOther)
	hr.get(a.location).want(t, http.StatusOK, "O prazo agora é", "18:30", "1 pessoa será avisada", "prazo próprio")
	v.byLink(v.cycle, 2).get("/reviews").want(t, http.StatusOK, "18:30")
	if a := v.byLink(v.cycle, 1).get("/reviews").want(t, http.StatusOK); strings.Contains(a.body, "18:30") {
		t.Error("another's deadline has moved too")
	}
	if v.owed("evaluation.extended") != 1 {
		t.Errorf("%d messages", v.owed("evaluation.extended"))
	}
}

func TestRemindersAndLinksOnTheScreens(t *testing.T) {
	v := newReviewing(t)
	hr := v.as(v.company.HR)
	at := cyclePath(v.cycle, "reminders")
	hr.get(at).want(t, http.StatusOK, "3 pessoas têm avaliações por enviar")
	hr.get(hr.post(at).want(t, http.StatusSeeOther).location).want(t, http.StatusOK, "Marque quem você quer lembrar")
	hr.post(at, "id", "nada").want(t, http.StatusUnprocessableEntity)
	two := []string{"id", idText(v.company.People[1]), "id", idText(v.company.People[2])}
	hr.get(hr.post(at, two...).location).want(t, http.StatusOK, "2 lembretes estão a caminho", "lembrado em")
	hr.get(hr.post(at, "all", "yes").location).want(t, http.StatusOK, "1 lembrete está a caminho", "2 pessoas já foram lembradas há menos de 6 horas")

	here := cyclePath(v.cycle, fmt.Sprintf("reviewers/%d", v.company.People[2]))
	hr.get(hr.post(here+"/link").want(t, http.StatusSeeOther).location).want(t, http.StatusOK, "O link de Carla 3 está a caminho")
	hr.get(hr.post(here+"/link").want(t, http.StatusSeeOther).location).want(t, http.StatusOK, "há menos de 5 minutos")
	if v.owed("link.again") != 1 {
		t.Errorf("%d links", v.owed("link.again"))
	}
}

func TestALostLinkAnswersEverybodyAlike(t *testing.T) {
	v := newReviewing(t)
	b := v.browser()
	b.get("/r/"+strings.Repeat("A", 40)).want(t, http.StatusNotFound, "/r/lost")
	b.get("/r/lost").want(t, http.StatusOK, "Receber o link de novo")
	known := storetest.One[string](t, v.pool, `SELECT email::text FROM people WHERE id = $1`, v.company.People[2])
	answers := map[string]bool{}
	for _, email := range []string{known, "ninguem@example.test"} {
		began := time.Now()
		a := b.post("/r/lost", "email", email).want(t, http.StatusOK)
		if took := time.Since(began); took < 250*time.Millisecond {
			t.Errorf("the answer about %s took %v, which can tell who is known", email, took)
		}
		answers[strings.ReplaceAll(a.body, email, "…")] = true
	}
	if len(answers) != 1 || v.owed("link.again") != 1 {
		t.Errorf("%d answers, %d links", len(answers), v.owed("link.again"))
	}
	b.post("/r/lost", "email", "isto não é").want(t, http.StatusUnprocessableEntity, `value="isto não é"`)
	b.post("/r/lost").want(t, http.StatusUnprocessableEntity)
}

// Case C12, its last part: after the deadline the text is kept, and HR decides.
func TestWhoIsLateAsksForTime(t *testing.T) {
	v := newReviewing(t)
	hr, carla := v.as(v.company.HR), v.byLink(v.cycle, 2)
	mine := v.reviews(v.cycle, 2)[0]
	v.dueAt(v.cycle, time.Now().Add(-time.Hour))
	carla.post(path(mine, "/submission"), complete(0, "quase pronto")...).want(t, http.StatusConflict, "O prazo terminou em", "Pedir mais prazo")
	if v.text(mine) != "quase pronto" {
		t.Errorf("the text is %q", v.text(mine))
	}
	ask := path(mine, "/extension")
	carla.get(ask).want(t, http.StatusOK, "Por que precisa de mais prazo?")
	carla.post(ask).want(t, http.StatusUnprocessableEntity, "Diga por que precisa")
	carla.post(ask, "note", strings.Repeat("a", 501)).want(t, http.StatusUnprocessableEntity)
	carla.get(carla.post(ask, "note", "estive na estrada").want(t, http.StatusSeeOther).location).want(t, http.StatusOK, "Pedido enviado ao RH")
	carla.post(ask, "note", "de novo").want(t, http.StatusConflict, "Você já pediu mais prazo")

	hr.get(cyclePath(v.cycle, "progress")).want(t, http.StatusOK, "1 pessoa pede mais prazo")
	hr.get(cyclePath(v.cycle, "requests")).want(t, http.StatusOK, "estive na estrada", "Carla 3")
	id := storetest.One[int64](t, v.pool, `SELECT id FROM extension_requests`)
	answer := cyclePath(v.cycle, fmt.Sprintf("requests/%d", id))
	hr.get(answer).want(t, http.StatusOK, "Carla 3 pede mais prazo")
	hr.post(answer, "decision", "talvez").want(t, http.StatusUnprocessableEntity)
	hr.post(answer, "decision", "refuse", "words", "").want(t, http.StatusUnprocessableEntity, "Para recusar, diga por quê")
	hr.post(answer, "decision", "grant", "day", "2020-01-01", "time", "10:00", "words", "sim").want(t, http.StatusUnprocessableEntity, "já passou", `value="2020-01-01"`)
	hr.get(hr.post(answer, "decision", "grant", "day", day(2), "time", "10:00", "words", "sim").want(t, http.StatusSeeOther).location).want(t, http.StatusOK, "atendido")
	hr.post(answer, "decision", "refuse", "words", "não").want(t, http.StatusConflict, "já foi respondido")
	carla.post(path(mine, "/submission"), "version", "1").want(t, http.StatusSeeOther)
	v.byLink(v.cycle, 1).post(path(v.reviews(v.cycle, 1)[0], "/submission"), complete(0, "eu não pedi")...).want(t, http.StatusConflict)
}

// Case C8, through the screens: sending is paused, the cycle activated and
// cancelled, sending resumed; nothing leaves, and the links say why.
func TestACancelledCycleSaysSoOnItsLinks(t *testing.T) {
	v := newReviewing(t)
	hr := v.as(v.company.HR)
	if err := v.store.PauseSending(t.Context(), v.company.Admin, "mail", "texto errado"); err != nil {
		t.Fatal(err)
	}
	second := v.company.Draft(t, "Ciclo parado", 6, 3)
	v.activate(second)
	token, _ := v.token(second, 2)
	hr.post(cyclePath(second, "cancellation"), "reason", "reestruturação").want(t, http.StatusSeeOther)
	if err := v.store.ResumeSending(t.Context(), v.company.Admin, "mail"); err != nil {
		t.Fatal(err)
	}
	claim, err := v.store.ClaimNext(t.Context(), "mail", v.company.Tenant, outbox.Event{})
	for err == nil && claim.Found {
		if got := storetest.One[int64](t, v.pool, `SELECT cycle_id FROM outbox_events WHERE id = $1`, claim.Event.ID); got == second {
			t.Errorf("%s of the cancelled cycle is sent", claim.Event.Type)
		}
		claim, err = v.store.ClaimNext(t.Context(), "mail", v.company.Tenant, claim.Event)
	}
	if err != nil {
		t.Fatal(err)
	}
	if held := storetest.One[string](t, v.pool, `SELECT string_agg(DISTINCT status || ' ' || status_reason, ',') FROM outbox_events WHERE cycle_id = $1`, second); held != "cancelled reestruturação" {
		t.Errorf("its messages are %s", held)
	}
	v.browser().get("/r/"+token).want(t, http.StatusConflict, "foi cancelado: reestruturação")
	v.browser().post("/r/"+token).want(t, http.StatusConflict, "foi cancelado: reestruturação")
}

// Case C11, on its page.
func TestWhoLeftIsDecidedOnOnePage(t *testing.T) {
	v := newReviewing(t)
	hr := v.as(v.company.HR)
	storetest.Exec(t, v.pool, `UPDATE people SET left_on = current_date - 2 WHERE id = $1`, v.company.People[2])
	hr.get(cyclePath(v.cycle, "progress")).want(t, http.StatusOK, "avaliações precisam de uma decisão", "Ver e decidir")
	page := hr.get(cyclePath(v.cycle, "decisions")).want(t, http.StatusOK, "Quem avalia saiu em", "Quem é avaliado saiu em", "Cancelar avaliação")
	_, list, err := v.store.Decisions(t.Context(), v.company.HR, v.cycle)
	if err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(page.body, "<tr>") - 1; rows != len(list) {
		t.Errorf("%d rows for %d decisions", rows, len(list))
	}
	act := cyclePath(v.cycle, fmt.Sprintf("evaluations/%d/cancellation", list[0].ID))
	hr.get(act).want(t, http.StatusOK, "Nada é apagado")
	hr.post(act, "reason", "").want(t, http.StatusUnprocessableEntity, "Escreva o motivo")
	a := hr.post(act, "reason", "saiu", "next", cyclePath(v.cycle, "decisions")).want(t, http.StatusSeeOther)
	if a.location != cyclePath(v.cycle, "decisions") {
		t.Errorf("it leads to %s", a.location)
	}
	hr.get(a.location).want(t, http.StatusOK, "foi cancelada")
	hr.post(act, "reason", "de novo").want(t, http.StatusConflict)
}

func TestALateJoinerOnTheScreens(t *testing.T) {
	v := newReviewing(t)
	hr := v.as(v.company.HR)
	hr.get(cyclePath(v.cycle, "roster")).want(t, http.StatusOK, "Incluir avaliação")
	hr.get(cyclePath(v.cycle, "joiners/new")).want(t, http.StatusOK)
	at := cyclePath(v.cycle, "joiners")
	hr.post(at, "reviewee", "ninguém", "kind", "peer", "reviewer", "000010").want(t, http.StatusUnprocessableEntity, `value="ninguém"`)
	a := hr.post(at, "reviewee", "000012", "kind", "peer", "reviewer", "000010", "reason", "chegou agora").want(t, http.StatusSeeOther)
	hr.get(a.location).want(t, http.StatusOK, "Avaliação incluída: João 10 avalia")
	hr.post(at, "reviewee", "000012", "kind", "peer", "reviewer", "000010").want(t, http.StatusUnprocessableEntity)
	draft := v.company.Draft(t, "Rascunho", 4, 2)
	hr.get(cyclePath(draft, "joiners/new")).want(t, http.StatusConflict)
	v.as(v.company.Actor(9)).get("/reviews").want(t, http.StatusOK, v.name(11))
}

func (v *reviewing) name(person int) string {
	v.t.Helper()
	return storetest.One[string](v.t, v.pool, `SELECT name FROM people WHERE id = $1`, v.company.People[person])
}

func TestACycleIsToldNotToRemind(t *testing.T) {
	v := newReviewing(t)
	hr := v.as(v.company.HR)
	hr.get("/cycles/new").want(t, http.StatusOK, `name="reminds" value="on" checked`)
	draft := v.company.Draft(t, "Rascunho", 4, 2)
	hr.get(cyclePath(draft, "terms")).want(t, http.StatusOK, `name="reminds" value="on" checked`)
	hr.post(cyclePath(draft, "terms"), "name", "Rascunho", "form", idText(v.company.Form), "due", day(30), "zone", "America/Sao_Paulo", "grace", "20").want(t, http.StatusSeeOther)
	terms, err := v.store.CycleTerms(t.Context(), v.company.HR, draft)
	if err != nil || terms.Reminds || terms.Grace != 20*time.Minute {
		t.Errorf("the terms are %+v (%v)", terms.Terms, err)
	}
}
