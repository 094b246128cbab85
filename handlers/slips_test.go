package handlers_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/links"
	"ciclo/store"
	"ciclo/store/storetest"
)

// paperTown is a town whose cycle under way is on paper for everybody; the first
// four reviewers are the team of person 9, the others have no manager.
type paperTown struct {
	*town
	codes map[int64]string // by person
}

var slipCode = regexp.MustCompile(`[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}`)

func newPaperTown(t *testing.T) *paperTown {
	t.Helper()
	w := &paperTown{town: newTown(t), codes: map[int64]string{}}
	storetest.Exec(t, w.pool, `UPDATE outbox_events SET queue = 'handout' WHERE cycle_id = $1`, w.cycle)
	storetest.Exec(t, w.pool, `UPDATE people SET manager_id = CASE WHEN id = ANY (@team) THEN @boss::bigint END`,
		pgx.NamedArgs{"boss": w.company.People[9], "team": w.company.People[:4]})
	return w
}

// print prepares every slip and reads the codes, through the store's rows.
func (w *paperTown) print() {
	w.t.Helper()
	if _, err := w.store.PrepareSlips(w.t.Context(), w.company.HR, w.cycle, store.EveryManager, "k1"); err != nil {
		w.t.Fatal(err)
	}
	sheet, err := w.store.SlipSheet(w.t.Context(), w.company.HR, w.cycle, store.EveryManager)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range sheet.Slips {
		if w.codes[s.Link.PersonID], err = w.keys.SlipCode(s.Link); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *paperTown) employeeCode(person int64) string {
	return storetest.One[string](w.t, w.pool, `SELECT code FROM people WHERE id = $1`, person)
}

func (w *paperTown) handoutOf(person int64) string {
	return storetest.One[string](w.t, w.pool, `SELECT status FROM outbox_events WHERE cycle_id = @cycle AND person_id = @person`,
		pgx.NamedArgs{"cycle": w.cycle, "person": person})
}

func TestSlipsArePrintedAManagersAtATime(t *testing.T) {
	w := newPaperTown(t)
	hr := w.as(w.company.HR)
	page := fmt.Sprintf("/cycles/%d/slips", w.cycle)
	boss := idText(w.company.People[9])
	hr.get(page).want(t, 200, "Convites em papel", "Imprimir todos", "Sem gestor(a)")
	hr.get(page+"/sheet?manager=all").want(t, 200, "convites ainda não têm código")

	printed := hr.post(page, "manager", boss).want(t, http.StatusSeeOther)
	sheet := hr.get(printed.location).want(t, 200, "Equipe de", "horário de Brasília", "/acesso", `<svg class="slip__qr"`)
	codes := slipCode.FindAllString(sheet.body, -1)
	if len(codes) != 4 {
		t.Errorf("the team's sheet has %d codes, want its 4", len(codes))
	}
	if n := storetest.One[int](t, w.pool, `SELECT count(*) FROM review_links WHERE cycle_id = $1`, w.cycle); n != 4 {
		t.Errorf("%d links were made for 4 slips", n)
	}
	// printed again, the slips say the same
	hr.post(page, "manager", boss).want(t, http.StatusSeeOther)
	if again := slipCode.FindAllString(hr.get(printed.location).body, -1); strings.Join(again, " ") != strings.Join(codes, " ") {
		t.Error("printing again made other codes")
	}
	for _, code := range codes { // kept nowhere
		plain := strings.ReplaceAll(code, "-", "")
		if n := storetest.One[int](t, w.pool, `SELECT count(*) FROM audit_entries WHERE detail::text ~ $1`, code+"|"+plain); n > 0 {
			t.Errorf("a code stands on the trail")
		}
	}
	hr.post(page, "manager", "nada").want(t, http.StatusUnprocessableEntity)
	hr.post(page, "manager", idText(w.company.People[0])).want(t, http.StatusConflict, "convites em papel")
	hr.get(page+"/sheet?manager=nada").want(t, http.StatusSeeOther)
}

func TestATeamsSlipsAreHandedOverAtOnce(t *testing.T) {
	w := newPaperTown(t)
	hr := w.as(w.company.HR)
	page := fmt.Sprintf("/cycles/%d/slips/handover", w.cycle)
	boss := idText(w.company.People[9])
	hr.get(page+"?manager="+boss).want(t, 200, "Marcar 4 convites como entregues em mãos?")

	var wg sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		wg.Go(func() { statuses[i] = w.as(w.company.HR).post(page, "manager", boss).status })
	}
	wg.Wait()
	won := 0
	for _, s := range statuses {
		switch s {
		case http.StatusSeeOther:
			won++
		case http.StatusConflict:
		default:
			t.Errorf("a hand-over answered %d", s)
		}
	}
	if won != 1 {
		t.Errorf("%d of eight marked the slips", won)
	}
	if n := storetest.One[int](t, w.pool, `SELECT count(*) FROM outbox_events WHERE cycle_id = $1 AND status = 'delivered'`, w.cycle); n != 4 {
		t.Errorf("%d slips were handed over, want the team's 4", n)
	}
	if n := storetest.One[int](t, w.pool, `SELECT count(*) FROM audit_entries WHERE act = 'message.handed_over'`); n != 4 {
		t.Errorf("the trail has %d hand-overs, want 4", n)
	}
	hr.post(page, "manager", boss).want(t, http.StatusConflict, "já foram entregues")
	hr.get(fmt.Sprintf("/cycles/%d/slips", w.cycle)).want(t, 200, "4 entregues em mãos")
}

// enter goes from the two fields of the slip to the list of reviews.
func (w *paperTown) enter(b *browser, person int64) {
	w.t.Helper()
	b.post("/acesso", "employee", w.employeeCode(person), "code", w.codes[person]).want(w.t, http.StatusSeeOther)
	b.get("/acesso/pessoa").want(w.t, 200, "É você?")
	if got := b.post("/acesso/pessoa").want(w.t, http.StatusSeeOther); got.location != "/reviews" {
		w.t.Fatalf("the slip leads to %s", got.location)
	}
}

func TestASlipOpensOnlyItsPersonsReviews(t *testing.T) {
	w := newPaperTown(t)
	w.print()
	person := w.company.People[employee]
	b := w.browser()
	b.get("/acesso").want(t, 200, "Entrar com o convite em papel")
	b.get("/acesso/pessoa").want(t, http.StatusSeeOther)

	b.post("/acesso", "employee", strings.ToLower(w.employeeCode(person)), "code", strings.ToLower(strings.ReplaceAll(w.codes[person], "-", " "))).want(t, http.StatusSeeOther)
	b.get("/reviews").want(t, http.StatusSeeOther) // nothing is open before "this is me"
	if got := w.handoutOf(person); got != "pending" {
		t.Errorf("the invitation is %s before anybody said who they are", got)
	}
	landing := b.get("/acesso/pessoa").want(t, 200, "É você?")
	if landing.header.Get("Cache-Control") != "no-store" {
		t.Error("the landing page may be kept")
	}
	b.post("/acesso/pessoa").want(t, http.StatusSeeOther)
	if got := w.handoutOf(person); got != "delivered" {
		t.Errorf("the invitation is %s after its first use", got)
	}
	list := b.get("/reviews").want(t, 200, "Sair")
	if list.header.Get("Cache-Control") != "no-store" {
		t.Error("the list of reviews may be kept")
	}
	b.get("/cycles").want(t, http.StatusSeeOther)

	id := answered(w.town)[0].(int64)
	b.post(fmt.Sprintf("/reviews/%d/submission", id), "version", "1").want(t, http.StatusSeeOther)
	if via := storetest.One[string](t, w.pool, `SELECT submitted_via FROM evaluations WHERE id = $1`, id); via != "slip" {
		t.Errorf("it was submitted by %s, want slip", via)
	}

	out := b.post("/logout").want(t, http.StatusSeeOther)
	if out.location != "/acesso" || out.header.Get("Clear-Site-Data") == "" {
		t.Errorf("signing out leads to %s and leaves the cache", out.location)
	}
	b.get("/acesso").want(t, 200, "Você saiu")
	b.get("/reviews").want(t, http.StatusSeeOther)
	b.get("/acesso/pessoa").want(t, http.StatusSeeOther)

	// idle for half an hour, the session is over
	w.enter(b, person)
	storetest.Exec(t, w.pool, `UPDATE sessions SET seen_at = now() - interval '31 minutes' WHERE slip`)
	b.get("/reviews").want(t, http.StatusSeeOther)
}

func TestAWrongSlipIsToldTheSameWhateverIsWrong(t *testing.T) {
	w := newPaperTown(t)
	w.print()
	one, other := w.company.People[1], w.company.People[2]
	strange, err := w.keys.SlipCode(links.Link{ID: 999_999, TenantID: 1, CycleID: 1, PersonID: 1, KeyID: "k1", Nonce: make([]byte, 16)})
	if err != nil {
		t.Fatal(err)
	}
	wrongCode := w.browser().post("/acesso", "employee", w.employeeCode(one), "code", strange).want(t, http.StatusUnprocessableEntity, "não são do mesmo convite", strange)
	wrongPerson := w.browser().post("/acesso", "employee", w.employeeCode(other), "code", w.codes[one]).want(t, http.StatusUnprocessableEntity)
	nobody := w.browser().post("/acesso", "employee", "ninguém", "code", w.codes[one]).want(t, http.StatusUnprocessableEntity)
	plain := func(a answer) string {
		return strings.NewReplacer(strange, "", w.codes[one], "", w.employeeCode(one), "", w.employeeCode(other), "", "ninguém", "").Replace(a.body)
	}
	if plain(wrongCode) != plain(wrongPerson) || plain(wrongPerson) != plain(nobody) {
		t.Error("the answer tells a wrong code from a wrong person")
	}

	for what, in := range map[string][2]string{
		"nothing":                       {"", ""},
		"a code with a typing error":    {w.employeeCode(one), w.codes[one][:18] + map[bool]string{true: "0", false: "1"}[w.codes[one][18] != '0']},
		"a code that is too long":       {w.employeeCode(one), strings.Repeat("9", 100)},
		"an employee code of a novel":   {strings.Repeat("x", 5000), w.codes[one]},
		"a line end in the code":        {w.employeeCode(one), "A\nB"},
		"an employee code of nothing":   {"   ", w.codes[one]},
		"a code of an unknown alphabet": {w.employeeCode(one), "ЖЖЖЖ-ЖЖЖЖ-ЖЖЖЖ-ЖЖЖЖ"},
	} {
		if got := w.browser().post("/acesso", "employee", in[0], "code", in[1]); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d, want 422", what, got.status)
		}
	}
}

func TestGuessingAtASlipIsSlowedDown(t *testing.T) {
	w := newPaperTown(t)
	w.print()
	one, other := w.company.People[1], w.company.People[2]
	for range store.SlipTries {
		w.browser().post("/acesso", "employee", "errada", "code", w.codes[one]).want(t, http.StatusUnprocessableEntity)
	}
	w.browser().post("/acesso", "employee", w.employeeCode(one), "code", w.codes[one]).want(t, http.StatusTooManyRequests, "Espere 15 min")
	w.enter(w.browser(), other) // nobody else waits

	// a right code forgets the typing errors before it
	for range store.SlipTries - 1 {
		w.browser().post("/acesso", "employee", "errada", "code", w.codes[other]).want(t, http.StatusUnprocessableEntity)
	}
	w.enter(w.browser(), other)
	w.browser().post("/acesso", "employee", "errada", "code", w.codes[other]).want(t, http.StatusUnprocessableEntity)

	// after the wait there are five more, and then a longer wait
	storetest.Exec(t, w.pool, `UPDATE slip_tries SET blocked_until = now() WHERE blocked_until IS NOT NULL`)
	for range store.SlipTries {
		w.browser().post("/acesso", "employee", "errada", "code", w.codes[one]).want(t, http.StatusUnprocessableEntity)
	}
	w.browser().post("/acesso", "employee", w.employeeCode(one), "code", w.codes[one]).want(t, http.StatusTooManyRequests, "Espere 30 min")

	// all together
	storetest.Exec(t, w.pool, `UPDATE slip_tries SET tries = $1 WHERE subject = 'all'`, store.SlipTriesAll)
	w.browser().post("/acesso", "employee", w.employeeCode(other), "code", w.codes[other]).want(t, http.StatusTooManyRequests, "fale com o RH")
	storetest.Exec(t, w.pool, `UPDATE slip_tries SET since = now() - interval '11 minutes' WHERE subject = 'all'`)
	w.enter(w.browser(), other)
}

// One network that guesses is stopped before it has used up what all may try, and
// a right code from it does not start its count again.
func TestOneNetworkCannotShutOutTheOthers(t *testing.T) {
	w := newPaperTown(t)
	w.print()
	one, other := w.company.People[1], w.company.People[2]
	guess := func(from string, link int64) fault.Kind {
		code, err := w.keys.SlipCode(links.Link{ID: link, TenantID: 1, CycleID: 1, PersonID: 1, KeyID: "k1"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.store.TrySlip(t.Context(), w.keys, "errada", code, netip.MustParseAddr(from))
		return fault.KindOf(err)
	}
	for i := range store.SlipTriesHere - 1 {
		if got := guess("192.0.2.1", 1_000_000+int64(i)); got != fault.Invalid {
			t.Fatalf("guess %d: %v", i, got)
		}
	}
	if _, err := w.store.TrySlip(t.Context(), w.keys, w.employeeCode(one), w.codes[one], netip.MustParseAddr("192.0.2.1")); err != nil {
		t.Errorf("a right code: %v", err)
	}
	if got := guess("192.0.2.1", 2_000_000); got != fault.Invalid {
		t.Errorf("the last guess: %v", got)
	}
	for i := range 3 {
		if got := guess("192.0.2.1", 3_000_000+int64(i)); got != fault.TooMany {
			t.Errorf("one guess more: %v", got)
		}
	}
	if n := storetest.One[int](t, w.pool, `SELECT tries FROM slip_tries WHERE subject = 'all'`); n != store.SlipTriesHere {
		t.Errorf("%d tries count for all, want %d", n, store.SlipTriesHere)
	}
	if _, err := w.store.TrySlip(t.Context(), w.keys, w.employeeCode(other), w.codes[other], netip.MustParseAddr("192.0.2.2")); err != nil {
		t.Errorf("from another network: %v", err)
	}
}

// Guesses made at once are counted one by one.
func TestGuessesAtOnceDoNotPassTogether(t *testing.T) {
	w := newPaperTown(t)
	w.print()
	code := w.codes[w.company.People[1]]
	var wg sync.WaitGroup
	kinds := make([]fault.Kind, 20)
	for i := range kinds {
		wg.Go(func() {
			_, err := w.store.TrySlip(t.Context(), w.keys, "errada", code, netip.MustParseAddr("192.0.2.1"))
			kinds[i] = fault.KindOf(err)
		})
	}
	wg.Wait()
	looked := 0
	for _, k := range kinds {
		if k == fault.Invalid {
			looked++
		}
	}
	if looked != store.SlipTries {
		t.Errorf("%d of twenty guesses were looked at, want %d", looked, store.SlipTries)
	}
}

// The first use and a hand-over at the same instant settle the invitation once.
func TestAnInvitationIsSettledOnceByUseOrByHand(t *testing.T) {
	w := newPaperTown(t)
	w.print()
	sheet, err := w.store.SlipSheet(t.Context(), w.company.HR, w.cycle, store.EveryManager)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, s := range sheet.Slips {
		event := storetest.One[int64](t, w.pool, `SELECT id FROM outbox_events WHERE cycle_id = @cycle AND person_id = @person`,
			pgx.NamedArgs{"cycle": w.cycle, "person": s.Link.PersonID})
		wg.Go(func() {
			if _, err := w.store.OpenSlip(t.Context(), s.Link.ID); err != nil {
				t.Errorf("use a slip: %v", err)
			}
		})
		wg.Go(func() { _, _ = w.store.OpenSlip(t.Context(), s.Link.ID) })
		wg.Go(func() { _ = w.store.HandOver(t.Context(), w.company.HR, event) })
		wg.Go(func() { _, _ = w.store.HandOverSlips(t.Context(), w.company.HR, w.cycle, store.EveryManager) })
	}
	wg.Wait()
	if n := storetest.One[int](t, w.pool, `SELECT count(*) FROM outbox_events WHERE cycle_id = $1 AND status <> 'delivered'`, w.cycle); n > 0 {
		t.Errorf("%d invitations are not settled", n)
	}
	if n := storetest.One[int](t, w.pool, `
		SELECT count(*)
		FROM (
			SELECT object_id
			FROM audit_entries
			WHERE act IN ('message.handed_over', 'message.first_used')
			GROUP BY object_id
			HAVING count(*) <> 1
		) twice`); n > 0 {
		t.Errorf("%d invitations were settled more than once", n)
	}
}

func TestASlipSaysWhyItOpensNothingAnyMore(t *testing.T) {
	for _, tt := range []struct {
		name string
		sql  string
		want string
	}{
		{"the cycle was cancelled", `UPDATE cycles SET state = 'cancelled', cancelled_at = now(), cancelled_by = owner_id, cancel_reason = 'adiado' WHERE id = @cycle`, "cancelado"},
		{"the cycle is closed", `UPDATE cycles SET state = 'closed', closed_at = now(), closed_by = owner_id WHERE id = @cycle`, "encerrado"},
		{"the person left", `UPDATE people SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date - 2 WHERE id = @person`, "saiu da organização"},
		{"the link was replaced", `UPDATE review_links SET revoked_at = now() WHERE person_id = @person`, "substituído"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newPaperTown(t)
			w.print()
			person := w.company.People[employee]
			late := w.browser() // gave the code before, and says "this is me" after
			late.post("/acesso", "employee", w.employeeCode(person), "code", w.codes[person]).want(t, http.StatusSeeOther)
			if _, err := w.pool.Exec(t.Context(), tt.sql, pgx.NamedArgs{"cycle": w.cycle, "person": person}); err != nil {
				t.Fatal(err)
			}
			w.browser().post("/acesso", "employee", w.employeeCode(person), "code", w.codes[person]).want(t, http.StatusConflict, tt.want)
			late.get("/acesso/pessoa").want(t, http.StatusConflict, tt.want)
			late.post("/acesso/pessoa").want(t, http.StatusConflict, tt.want)
			late.get("/reviews").want(t, http.StatusSeeOther)
			if got := w.handoutOf(person); got != "pending" {
				t.Errorf("the invitation is %s although nothing was opened", got)
			}
		})
	}
}

// A slip never takes over the session of somebody else's account.
func TestASlipGivesAnAccountNothing(t *testing.T) {
	w := newPaperTown(t)
	w.print()
	person := w.company.People[employee]
	b := w.as(w.company.HR)
	b.post("/acesso", "employee", w.employeeCode(person), "code", w.codes[person]).want(t, http.StatusSeeOther)
	b.post("/acesso/pessoa").want(t, http.StatusConflict)
	b.get("/cycles").want(t, 200)
}
