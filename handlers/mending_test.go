package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/outbox"
	"ciclo/store"
	"ciclo/store/storetest"
)

func (w *town) exec(sql string, args pgx.NamedArgs) {
	w.t.Helper()
	if _, err := w.pool.Exec(w.t.Context(), sql, args); err != nil {
		w.t.Fatal(err)
	}
}

func (w *town) leaves(person int64) {
	w.t.Helper()
	w.exec(`UPDATE people SET left_on = current_date - 2 WHERE id = @person`, pgx.NamedArgs{"person": person})
}

func (w *town) blockers(cycle int64) (n int) {
	w.t.Helper()
	r, err := w.store.Rehearse(w.t.Context(), w.company.HR, cycle, store.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Total
}

// C3: one reviewer has left after the roster was built.
func TestAReviewerWhoLeftIsMendedForAllTheirRowsAtOnce(t *testing.T) {
	w := newTown(t)
	cycle := w.company.Draft(t, "Quinhentas linhas", 60, 10)
	gone := storetest.One[int64](t, w.pool, `SELECT reviewer_id FROM evaluations WHERE cycle_id = $1 AND kind <> 'self' GROUP BY reviewer_id ORDER BY count(*) DESC LIMIT 1`, cycle)
	w.exec(`DELETE FROM evaluations WHERE cycle_id = @cycle AND kind = 'self' AND reviewer_id = @gone`, pgx.NamedArgs{"cycle": cycle, "gone": gone})
	w.exec(`DELETE FROM participants WHERE cycle_id = @cycle AND person_id = @gone AND NOT EXISTS (SELECT FROM evaluations e WHERE e.cycle_id = @cycle AND e.reviewee_id = @gone)`, pgx.NamedArgs{"cycle": cycle, "gone": gone})
	w.leaves(gone)
	name := storetest.One[string](t, w.pool, `SELECT name FROM people WHERE id = $1`, gone)
	rows := storetest.One[int](t, w.pool, `SELECT count(*) FROM evaluations WHERE cycle_id = $1 AND reviewer_id = $2`, cycle, gone)
	page := fmt.Sprintf("/cycles/%d/", cycle)

	w.hr.post(page+"activation").want(t, http.StatusConflict, name)
	if state := storetest.One[string](t, w.pool, `SELECT state FROM cycles WHERE id = $1`, cycle); state != "draft" {
		t.Fatalf("the cycle is %s after a refusal", state)
	}
	w.hr.get(page+"rehearsal").want(t, 200, "linha", "act=replace&amp;all=reviewer_left")
	ask := w.hr.get(page+"mending?act=replace&all=reviewer_left").want(t, 200, "Trocar")
	if !strings.Contains(ask.body, name) {
		t.Error("the question does not name who is replaced")
	}

	// who cannot be found, and nobody at all: beside the field, with what was typed
	w.hr.post(page+"mending", "act", "replace", "all", "reviewer_left", "reviewer", "").want(t, http.StatusUnprocessableEntity, "f-reviewer")
	w.hr.post(page+"mending", "act", "replace", "all", "reviewer_left", "reviewer", "Ninguém Assim").want(t, http.StatusUnprocessableEntity, "Ninguém Assim")
	if n := storetest.One[int](t, w.pool, `SELECT count(*) FROM evaluations WHERE cycle_id = $1 AND reviewer_id = $2`, cycle, gone); n != rows {
		t.Fatalf("a refused act changed %d rows", rows-n)
	}

	// a new colleague takes all of them, in one act
	w.exec(`INSERT INTO people (tenant_id, code, name) VALUES (@tenant, 'N-1', 'Nova Colega')`, pgx.NamedArgs{"tenant": w.company.Tenant})
	first := w.hr.post(page+"mending", "act", "replace", "all", "reviewer_left", "reviewer", "N-1")
	if first.status == http.StatusUnprocessableEntity { // two of the rows become one
		first.want(t, http.StatusUnprocessableEntity, "Deixar como")
		w.hr.post(page+"mending", "act", "replace", "all", "reviewer_left", "reviewer", "N-1", "skip", "on").want(t, http.StatusSeeOther)
		w.hr.post(page+"mending", "act", "exclude", "all", "reviewer_left", "reason", "repetidas").want(t, http.StatusSeeOther)
	}
	if w.blockers(cycle) > 0 { // they were under review too
		w.hr.post(page+"mending", "act", "exclude", "all", "reviewee_left", "reason", "saiu da empresa").want(t, http.StatusSeeOther)
	}
	if n := w.blockers(cycle); n > 0 {
		t.Fatalf("%d blockers are left", n)
	}
	w.hr.post(page+"activation").want(t, http.StatusSeeOther)
}

func TestAWayThatMendsNoRowSaysSo(t *testing.T) {
	w := newTown(t)
	cycle := w.company.Draft(t, "Gestora que saiu", 20, 3)
	gone := storetest.One[int64](t, w.pool, `SELECT reviewer_id FROM evaluations WHERE cycle_id = $1 AND kind <> 'self' GROUP BY reviewer_id ORDER BY count(*) DESC LIMIT 1`, cycle)
	w.exec(`UPDATE people SET manager_id = NULL WHERE tenant_id = @tenant`, pgx.NamedArgs{"tenant": w.company.Tenant})
	w.leaves(gone)
	page := fmt.Sprintf("/cycles/%d/mending", cycle)

	ask := w.hr.get(page+"?act=manager&all=reviewer_left").want(t, 200, "Não dá para resolver estas linhas assim")
	for _, button := range []string{`name="skip"`, ">Passar ao gestor(a)<"} {
		if strings.Contains(ask.body, button) {
			t.Errorf("%s is offered, and would do nothing", button)
		}
	}
	refused := w.hr.post(page, "act", "manager", "all", "reviewer_left", "skip", "on").want(t, http.StatusConflict, "Não dá para resolver estas linhas assim")
	if strings.Contains(refused.body, "outra pessoa já cuidou") {
		t.Error("the refusal says that somebody else has seen to them")
	}
}

func TestChosenRowsAreMendedAndTheOthersStay(t *testing.T) {
	w := newTown(t)
	cycle := w.draft()
	people := storetest.One[[]int64](t, w.pool, `SELECT array_agg(person_id ORDER BY person_id) FROM participants WHERE cycle_id = $1`, cycle)
	if len(people) < 4 {
		t.Fatalf("the draft has %d people", len(people))
	}
	alone := people[:4] // nobody reviews them; the fourth has no manager
	w.exec(`DELETE FROM evaluations WHERE cycle_id = @cycle AND reviewee_id = ANY (@alone)`, pgx.NamedArgs{"cycle": cycle, "alone": alone})
	w.exec(`UPDATE people SET manager_id = CASE WHEN id = @last THEN NULL ELSE @boss::bigint END WHERE id = ANY (@alone)`,
		pgx.NamedArgs{"last": alone[3], "boss": w.company.People[11], "alone": alone})
	page := fmt.Sprintf("/cycles/%d/", cycle)
	key := func(i int) string { return "without_reviewer:" + idText(alone[i]) }

	shown := w.hr.get(page+"rehearsal").want(t, 200, `name="blocker"`, key(0), "4 avaliados sem avaliador")
	if strings.Count(shown.body, `form="mend"`) != w.blockers(cycle) {
		t.Error("a blocker of a row cannot be chosen")
	}
	w.hr.get(page+"mending?act=manager&blocker="+key(0)+"&blocker="+key(1)).want(t, 200, "Passar 2 avaliações ao gestor(a) de cada pessoa?")
	w.hr.get(page+"mending?act=manager").want(t, http.StatusSeeOther)
	w.hr.get(page+"mending?act=dance&all=without_reviewer").want(t, http.StatusSeeOther)
	w.hr.get(page+"mending?act=exclude&person=x").want(t, http.StatusSeeOther)

	// one of three cannot: nothing is done, and its reason stands beside it
	three := []string{"act", "manager", "blocker", key(0), "blocker", key(1), "blocker", key(3)}
	w.hr.post(page+"mending", three...).want(t, http.StatusUnprocessableEntity, "não tem gestor(a) no cadastro", "Passar 2 avaliações")
	if n := w.blockers(cycle); n != 4 {
		t.Fatalf("%d blockers after a refusal, want 4", n)
	}
	w.hr.post(page+"mending", append(three, "skip", "on")...).want(t, http.StatusSeeOther)
	if n := w.blockers(cycle); n != 2 {
		t.Fatalf("%d blockers are left, want the one that was not chosen and the one that cannot", n)
	}
	// said again, there is nothing left of it
	w.hr.post(page+"mending", three[:6]...).want(t, http.StatusConflict, "outra pessoa já cuidou")

	w.hr.post(page+"mending", "act", "exclude", "blocker", key(2), "reason", "  ").want(t, http.StatusUnprocessableEntity, "f-reason")
	w.hr.post(page+"mending", "act", "exclude", "blocker", key(2), "reason", strings.Repeat("x", 501)).want(t, http.StatusUnprocessableEntity)
	w.hr.post(page+"mending", "act", "exclude", "all", "without_reviewer", "reason", "em licença", "next", page+"rehearsal?page=1").want(t, http.StatusSeeOther)
	if n := w.blockers(cycle); n > 0 {
		t.Errorf("%d blockers are left", n)
	}
	w.hr.get(page+"absences?why=excluded").want(t, 200, "em licença")
	w.hr.post(page+"mending", "act", "exclude", "reason", "x").want(t, http.StatusUnprocessableEntity)
	w.hr.post(page+"mending", "act", "exclude", "person", "-1", "reason", "x").want(t, http.StatusUnprocessableEntity)
}

// Two people press the same at once: one does it, the other is told.
func TestRowsAreMendedOnce(t *testing.T) {
	w := newTown(t)
	cycle := w.draft()
	person := storetest.One[int64](t, w.pool, `SELECT min(person_id) FROM participants WHERE cycle_id = $1`, cycle)
	w.exec(`DELETE FROM evaluations WHERE cycle_id = @cycle AND reviewee_id = @person`, pgx.NamedArgs{"cycle": cycle, "person": person})
	w.exec(`UPDATE people SET manager_id = @boss WHERE id = @person`, pgx.NamedArgs{"boss": w.company.People[11], "person": person})
	var wg sync.WaitGroup
	done := make([]int, 8)
	for i := range done {
		wg.Go(func() {
			done[i], _ = w.store.Mend(t.Context(), w.company.HR, cycle, store.Mending{Act: appraisal.MendManager, All: appraisal.WithoutReviewer})
		})
	}
	wg.Wait()
	won := 0
	for _, n := range done {
		won += n
	}
	if n := storetest.One[int](t, w.pool, `SELECT count(*) FROM evaluations WHERE cycle_id = $1 AND reviewee_id = $2`, cycle, person); n != 1 || won != 1 {
		t.Errorf("%d reviews for one person, by %d acts", n, won)
	}
}

// C2: somebody of an active cycle is in an overlapping draft.
func TestWhoIsInTwoCyclesIsNamedWithBothAndStaysOnPurpose(t *testing.T) {
	w := newTown(t)
	cycle := w.draft() // the same people as in the cycle under way
	page := fmt.Sprintf("/cycles/%d/", cycle)
	people := storetest.One[[]int64](t, w.pool, `SELECT array_agg(person_id ORDER BY person_id) FROM participants WHERE cycle_id = $1`, cycle)
	names := storetest.One[[]string](t, w.pool, `SELECT array_agg(name ORDER BY id) FROM cycles WHERE id IN ($1, $2)`, w.cycle, cycle)
	w.hr.get(page+"rehearsal").want(t, 200, fmt.Sprintf("%d pessoas em outro ciclo aberto", len(people)))
	w.hr.get(page+"rehearsal/elsewhere").want(t, 200, names[0], names[1], "Manter nos dois ciclos")

	keep := []string{"act", "keep", "next", page + "rehearsal/elsewhere"}
	for _, p := range people[1:] {
		keep = append(keep, "person", idText(p))
	}
	w.hr.post(page+"mending", keep...).want(t, http.StatusSeeOther)
	w.hr.get(page+"rehearsal").want(t, 200, "1 pessoa em outro ciclo aberto")
	w.hr.get(page+"rehearsal/elsewhere").want(t, 200, "Fica nos dois, por decisão de "+w.company.HR.Name)
	w.hr.post(page+"mending", "act", "exclude", "person", idText(people[0]), "reason", "já está no outro ciclo").want(t, http.StatusSeeOther)
	if got := w.hr.get(page+"rehearsal").want(t, 200); strings.Contains(got.body, "em outro ciclo aberto") {
		t.Error("the warning stays although everybody was decided on")
	}
	// a further cycle asks again
	w.exec(`UPDATE participants SET created_at = now() + interval '1 minute' WHERE cycle_id = @cycle`, pgx.NamedArgs{"cycle": w.cycle})
	w.hr.get(page+"rehearsal").want(t, 200, "em outro ciclo aberto")
}

func TestALeaveOnTheDeadlineIsAWarning(t *testing.T) {
	w := newTown(t)
	cycle := w.draft()
	page := fmt.Sprintf("/cycles/%d/", cycle)
	person := storetest.One[int64](t, w.pool, `SELECT min(reviewer_id) FROM evaluations WHERE cycle_id = $1`, cycle)
	name := storetest.One[string](t, w.pool, `SELECT name FROM people WHERE id = $1`, person)
	due := storetest.One[time.Time](t, w.pool, `SELECT (due_at AT TIME ZONE due_zone)::date FROM cycles WHERE id = $1`, cycle)
	day := func(d int) string { return due.AddDate(0, 0, d).Format(time.DateOnly) }
	own := "/people/" + idText(person)

	w.hr.get(own).want(t, 200, "Nenhum afastamento registrado")
	for what, in := range map[string][]string{
		"nothing":               {},
		"no kind":               {"from", day(0), "until", day(1)},
		"an unknown kind":       {"from", day(0), "until", day(1), "kind", "sabbath"},
		"no date":               {"from", "30/02/2026", "until", day(1), "kind", "sick"},
		"an end before a start": {"from", day(2), "until", day(1), "kind", "sick"},
		"a hundred years":       {"from", "1926-01-01", "until", "2026-01-01", "kind", "sick"},
	} {
		got := w.hr.post(own+"/leave", in...).want(t, http.StatusUnprocessableEntity, "error-summary")
		if len(in) > 1 && in[1] == "30/02/2026" && !strings.Contains(got.body, "30/02/2026") {
			t.Errorf("%s: what was typed is gone", what)
		}
	}
	w.hr.post(own+"/leave", "from", day(-40), "until", day(-1), "kind", "vacation").want(t, http.StatusSeeOther)
	if got := w.hr.get(page + "rehearsal"); strings.Contains(got.body, "no dia do prazo") {
		t.Error("a leave that ends before the deadline is a warning")
	}
	w.hr.post(own+"/leave", "from", day(-1), "until", day(9), "kind", "sick").want(t, http.StatusUnprocessableEntity, "Já há um afastamento")
	w.hr.post(own+"/leave", "from", day(0), "until", day(9), "kind", "parental").want(t, http.StatusSeeOther)
	w.hr.get(own).want(t, 200, "Licença-maternidade ou paternidade")
	w.hr.get(page+"rehearsal").want(t, 200, "1 pessoa afastada no dia do prazo")
	w.hr.get(page+"rehearsal/leave").want(t, 200, name, "Licença-maternidade ou paternidade", "Trocar avaliador(a)")

	w.exec(`INSERT INTO people (tenant_id, code, name) VALUES (@tenant, 'N-1', 'Nova Colega')`, pgx.NamedArgs{"tenant": w.company.Tenant})
	w.hr.post(page+"mending", "act", "replace", "person", idText(person), "reviewer", "N-1", "skip", "on").want(t, http.StatusSeeOther)
	if n := storetest.One[int](t, w.pool, `SELECT count(*) FROM evaluations WHERE cycle_id = $1 AND reviewer_id = $2 AND kind <> 'self'`, cycle, person); n > 0 {
		t.Logf("%d rows could not be given to another", n)
	}

	leave := storetest.One[int64](t, w.pool, `SELECT max(id) FROM absences WHERE person_id = $1`, person)
	w.hr.post(fmt.Sprintf("%s/leave/%d/removal", own, leave)).want(t, http.StatusSeeOther)
	w.hr.post(fmt.Sprintf("%s/leave/%d/removal", own, leave)).want(t, http.StatusNotFound)
	if got := w.hr.get(page + "rehearsal"); strings.Contains(got.body, "no dia do prazo") {
		t.Error("a leave that was removed is a warning")
	}
}

func TestWhatChangedSinceTheLastRehearsalIsTold(t *testing.T) {
	w := newTown(t)
	cycle := w.draft()
	page := fmt.Sprintf("/cycles/%d/", cycle)
	w.hr.get(page+"rehearsal").want(t, 200, "Ninguém marcou este mapa como simulado ainda")
	w.hr.get(page+"rehearsal/changes").want(t, 200, "Nada mudou")
	w.hr.post(page+"rehearsal").want(t, http.StatusSeeOther)
	w.hr.get(page+"rehearsal").want(t, 200, "Simulado por "+w.company.HR.Name, "nenhum")

	w.exec(`INSERT INTO people (tenant_id, code, name) VALUES (@tenant, 'N-1', 'Nova Colega'), (@tenant, 'N-2', 'Outra Colega')`, pgx.NamedArgs{"tenant": w.company.Tenant})
	peer := storetest.One[int64](t, w.pool, `SELECT min(id) FROM evaluations WHERE cycle_id = $1 AND kind <> 'self'`, cycle)
	w.hr.post(fmt.Sprintf("%spairs/%d/reviewer", page, peer), "reviewer", "N-1").want(t, http.StatusSeeOther)
	other := storetest.One[int64](t, w.pool, `SELECT max(id) FROM evaluations WHERE cycle_id = $1`, cycle)
	w.hr.post(fmt.Sprintf("%spairs/%d/removal", page, other)).want(t, http.StatusSeeOther)
	reviewee := storetest.One[string](t, w.pool, `SELECT p.code FROM evaluations e JOIN people p ON p.id = e.reviewee_id WHERE e.id = $1`, peer)
	w.hr.post(page+"pairs", "reviewee", reviewee, "kind", "report", "reviewer", "N-2").want(t, http.StatusSeeOther)

	w.hr.get(page+"rehearsal").want(t, 200, "1 incluída, 1 retirada, 1 com outro avaliador", "Nova Colega", "Outra Colega avalia")
	w.hr.get(page+"rehearsal/changes").want(t, 200, "Nova Colega", "Outra Colega")
	w.hr.post(page+"rehearsal").want(t, http.StatusSeeOther)
	w.hr.get(page+"rehearsal/changes").want(t, 200, "Nada mudou")
	if n := storetest.One[int](t, w.pool, `SELECT count(*) FROM rehearsals WHERE cycle_id = $1`, cycle); n != 1 {
		t.Errorf("%d rehearsals are kept, want the last", n)
	}
}

func TestASampleGoesToOneselfAndOpensNothing(t *testing.T) {
	w := newTown(t)
	cycle := w.draft()
	page := fmt.Sprintf("/cycles/%d/rehearsal", cycle)
	reviewer := storetest.One[int64](t, w.pool, `SELECT min(reviewer_id) FROM evaluations WHERE cycle_id = $1`, cycle)
	for range store.SamplesAtMost {
		w.hr.post(page+"/sample", "reviewer", idText(reviewer)).want(t, http.StatusSeeOther)
	}
	w.hr.post(page+"/sample", "reviewer", idText(reviewer)).want(t, http.StatusTooManyRequests, "Espere um pouco")
	w.hr.post(page+"/sample", "reviewer", "x").want(t, http.StatusUnprocessableEntity)

	event := outbox.Event{ID: storetest.One[int64](t, w.pool, `SELECT min(id) FROM outbox_events WHERE event_type = $1`, outbox.InvitationSample),
		TenantID: w.company.Tenant, Type: outbox.InvitationSample, Attempts: 0}
	event.Payload = storetest.One[[]byte](t, w.pool, `SELECT payload FROM outbox_events WHERE id = $1`, event.ID)
	letter, err := w.store.Letter(t.Context(), event, "k1")
	if err != nil {
		t.Fatal(err)
	}
	if letter.Link != nil || letter.Path != outbox.SamplePath || letter.PersonID != w.company.HR.PersonID || letter.Over() != "" {
		t.Errorf("the sample goes to %d by %s (link %v, over %q)", letter.PersonID, letter.Path, letter.Link != nil, letter.Over())
	}
	if want := storetest.One[int](t, w.pool, `SELECT count(*) FROM evaluations WHERE cycle_id = $1 AND reviewer_id = $2`, cycle, reviewer); len(letter.Reviews) != want {
		t.Errorf("the sample names %d reviews, want the reviewer's %d", len(letter.Reviews), want)
	}
	if queue := storetest.One[string](t, w.pool, `SELECT queue FROM outbox_events WHERE id = $1`, event.ID); queue != outbox.QueueMailNow {
		t.Errorf("the sample waits on %s", queue)
	}
	w.browser().get(outbox.SamplePath).want(t, http.StatusNotFound)
	w.exec(`UPDATE people SET email = NULL WHERE id = @me`, pgx.NamedArgs{"me": w.company.HR.PersonID})
	w.exec(`DELETE FROM outbox_events WHERE event_type = @kind`, pgx.NamedArgs{"kind": outbox.InvitationSample})
	w.hr.post(page+"/sample", "reviewer", idText(reviewer)).want(t, http.StatusConflict, "não tem e-mail")
}
