package handlers_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"ciclo/handlers"
	"ciclo/internal/outbox"
	"ciclo/store"
	"ciclo/store/storetest"
)

// letterFor claims the next message of the quiet lane and reads it as the relay
// would send it.
func (s *site) letterFor(kind string) store.Outgoing {
	s.t.Helper()
	claim, err := s.store.ClaimNext(s.t.Context(), outbox.QueueMailNow, s.company.Tenant, outbox.Event{})
	e := claim.Event
	if err != nil || e.Type != kind {
		s.t.Fatalf("the next message is %+v (%v), want %s", e, err, kind)
	}
	letter, err := s.store.Letter(s.t.Context(), e, "k1")
	if err != nil {
		s.t.Fatal(err)
	}
	if strings.Contains(string(e.Payload), "password/") {
		s.t.Errorf("the link lies in the payload: %s", e.Payload)
	}
	return letter
}

func TestAnAdminInvitesAndThePersonComesIn(t *testing.T) {
	s := newSite(t)
	who := s.company.People[4]
	path := fmt.Sprintf("/people/%d", who)
	admin := s.as(s.company.Admin)
	admin.get(path).want(t, http.StatusOK, "Convidar para criar a senha", "ainda não definida")
	admin.post(path+"/invitation").want(t, http.StatusSeeOther)
	admin.get(path).want(t, http.StatusOK, "O convite para Érica 5 está a caminho", "Convidar de novo")
	admin.post(path+"/invitation").want(t, http.StatusConflict, "já está a caminho")

	first := s.letterFor(outbox.PersonInvited)
	if first.Valid != store.LinkForInvitation || !strings.HasPrefix(first.Path, "/password/") || first.Actor != "Ana 1" {
		t.Errorf("the invitation says %+v", first.Letter)
	}
	b := s.browser()
	b.get(first.Path).want(t, http.StatusOK, "Érica 5")
	b.post(first.Path, "password", password, "again", password).want(t, http.StatusSeeOther)
	b.post(first.Path, "password", password, "again", password).want(t, http.StatusNotFound)
	email := storetest.One[string](t, s.pool, `SELECT email::text FROM people WHERE id = $1`, who)
	b.post("/login", "email", email, "password", password).want(t, http.StatusSeeOther)
	b.get("/").want(t, http.StatusOK)

	storetest.Exec(t, s.pool, `UPDATE people SET email = NULL WHERE id = $1`, s.company.People[5])
	admin.post(fmt.Sprintf("/people/%d/invitation", s.company.People[5])).want(t, http.StatusConflict, "não tem e-mail")
	storetest.Exec(t, s.pool, `UPDATE people SET left_on = '2026-01-31' WHERE id = $1`, s.company.People[6])
	admin.post(fmt.Sprintf("/people/%d/invitation", s.company.People[6])).want(t, http.StatusConflict, "já saiu")
}

func TestALostPasswordSaysTheSameToEverybody(t *testing.T) {
	s := newSite(t)
	who := s.company.People[4]
	s.givePassword(who, password)
	inside := s.as(s.company.Actor(4))
	known := storetest.One[string](t, s.pool, `SELECT email::text FROM people WHERE id = $1`, who)
	without := storetest.One[string](t, s.pool, `SELECT email::text FROM people WHERE id = $1`, s.company.People[5])
	b := s.browser()
	b.get("/login").want(t, http.StatusOK, `href="/password/lost"`)
	b.get("/password/lost").want(t, http.StatusOK, "Mandar o link")
	var said []string
	for _, email := range []string{known, "ninguem@example.test", without, known} {
		began := time.Now()
		if got := b.post("/password/lost", "email", email).want(t, http.StatusSeeOther).location; got != "/login" {
			t.Errorf("%s leads to %s", email, got)
		}
		if took := time.Since(began); took < 250*time.Millisecond {
			t.Errorf("%s was answered after %s: sooner than the others may be", email, took)
		}
		said = append(said, b.get("/login").want(t, http.StatusOK, "vale por 60 minutos").body)
	}
	if said[0] != said[1] || said[1] != said[2] {
		t.Error("the pages after asking differ")
	}
	one, two := s.letterFor(outbox.PasswordReset), s.letterFor(outbox.PasswordReset)
	if one.PersonID != who || two.PersonID != who || one.Path == two.Path || one.Valid != time.Hour {
		t.Errorf("the letters are %+v and %+v", one.Letter, two.Letter)
	}
	// the newer link is used: the older one ends, and so does every session
	b.post(two.Path, "password", "outra senha comprida", "again", "outra senha comprida").want(t, http.StatusSeeOther)
	b.get(one.Path).want(t, http.StatusNotFound, "não vale mais")
	inside.get("/").want(t, http.StatusSeeOther)
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM outbox_events`); n != 2 {
		t.Errorf("%d messages are owed, want 2", n)
	}
	// three an hour and no more, which nobody is told
	for range 4 {
		b.post("/password/lost", "email", known).want(t, http.StatusSeeOther)
	}
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM outbox_events`); n != store.ResetTries {
		t.Errorf("%d messages are owed, want %d", n, store.ResetTries)
	}
	b.post("/password/lost", "email", "").want(t, http.StatusUnprocessableEntity, "Preencha este campo")
	b.post("/password/lost", "email", "a\x00b").want(t, http.StatusUnprocessableEntity)
}

// Somebody who guesses from elsewhere keeps neither the owner nor the owner's
// office out; a header that no trusted proxy wrote changes nobody's place.
func TestSignInSlowsDownWhoeverGuesses(t *testing.T) {
	s := newSite(t)
	s.serve(handlers.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	email := func(i int) string {
		s.givePassword(s.company.People[i], password)
		return storetest.One[string](t, s.pool, `SELECT email::text FROM people WHERE id = $1`, s.company.People[i])
	}
	owner, colleague := email(4), email(5)
	guesser, office := s.browser().with("X-Forwarded-For", "203.0.113.9"), s.browser().with("X-Forwarded-For", "198.51.100.7")
	for range store.SignInTries {
		guesser.post("/login", "email", owner, "password", "um palpite").want(t, http.StatusUnprocessableEntity)
	}
	guesser.post("/login", "email", owner, "password", password).want(t, http.StatusTooManyRequests)
	// what stands left of what the proxy wrote is the guesser's own invention
	guesser.with("X-Forwarded-For", "198.51.100.8, 203.0.113.9").post("/login", "email", owner, "password", password).want(t, http.StatusTooManyRequests)
	guesser.post("/login", "email", colleague, "password", password).want(t, http.StatusSeeOther)
	office.post("/login", "email", owner, "password", password).want(t, http.StatusSeeOther)
	if n := storetest.One[int](t, s.pool, `
		SELECT count(*)
		FROM audit_entries
		WHERE act = 'sign_in.failed'
		  AND object_id = $1
		  AND detail::text NOT LIKE '%@%'`, s.company.People[4]); n != store.SignInTries {
		t.Errorf("%d failures are in the audit", n)
	}

	s.serve(handlers.Options{}) // nobody is trusted: the header is air
	for i := range store.SignInTries {
		s.browser().with("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i)).post("/login", "email", colleague, "password", "um palpite").want(t, http.StatusUnprocessableEntity)
	}
	s.browser().with("X-Forwarded-For", "203.0.113.77").post("/login", "email", colleague, "password", password).want(t, http.StatusTooManyRequests)
}

func TestSigningOutEverywhere(t *testing.T) {
	s := newSite(t)
	one, two := s.as(s.company.Actor(4)), s.as(s.company.Actor(4))
	one.get("/account").want(t, http.StatusOK, "2 sessões abertas", "Sair de todos os lugares")
	if got := one.post("/account/sessions/removal").want(t, http.StatusSeeOther).location; got != "/login" {
		t.Errorf("leads to %s", got)
	}
	one.get("/login").want(t, http.StatusOK, "2 sessões terminaram")
	two.get("/account").want(t, http.StatusSeeOther)
	three := s.as(s.company.Actor(4))
	admin := s.as(s.company.Admin)
	path := fmt.Sprintf("/people/%d", s.company.People[4])
	admin.get(path).want(t, http.StatusOK, "Encerrar as sessões")
	admin.post(path+"/sessions/removal").want(t, http.StatusSeeOther)
	three.get("/account").want(t, http.StatusSeeOther)
	for act, want := range map[string]int{"sign_in": 3, "sign_out.everywhere": 1, "sessions.ended": 1} {
		if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM audit_entries WHERE act = $1 AND object_id = $2`, act, s.company.People[4]); n != want {
			t.Errorf("%d entries of %s, want %d", n, act, want)
		}
	}
}

func TestAnAddressIsCorrectedOnTheRecord(t *testing.T) {
	s := newSite(t)
	who := s.company.People[4]
	path := fmt.Sprintf("/people/%d/address", who)
	hr := s.as(s.company.HR)
	old := storetest.One[string](t, s.pool, `SELECT email::text FROM people WHERE id = $1`, who)
	hr.get(path).want(t, http.StatusOK, old)
	for typed, cause := range map[string]string{
		"":               "Preencha este campo",
		"sem arroba":     "sem arroba",
		old:              "já está no cadastro",
		"a\u202eb@x.org": "caracteres invisíveis",
		storetest.One[string](t, s.pool, `SELECT email::text FROM people WHERE id = $1`, s.company.People[5]): "Fábio 6",
	} {
		hr.post(path, "email", typed).want(t, http.StatusUnprocessableEntity, cause)
	}
	hr.post(fmt.Sprintf("/people/%d/address", s.company.Admin.PersonID), "email", "meu@example.test").want(t, http.StatusUnprocessableEntity, "Só um administrador")

	unused, err := s.store.CreateOneTimeLink(t.Context(), s.company.Tenant, who, "password")
	if err != nil {
		t.Fatal(err)
	}
	hr.post(path, "email", "certa@example.test").want(t, http.StatusSeeOther)
	hr.get(fmt.Sprintf("/people/%d", who)).want(t, http.StatusOK, "certa@example.test", "O endereço de Érica 5 foi trocado")
	s.browser().get("/password/"+unused).want(t, http.StatusNotFound)
	letter := s.letterFor(outbox.AddressChanged)
	if letter.Email != old || letter.To != old || letter.Actor != "Bruno 2" {
		t.Errorf("the old address is told %+v", letter.Letter)
	}
}
