package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/handlers"
	"ciclo/store"
	"ciclo/store/storetest"
)

func (s *site) email(person int64) string {
	s.t.Helper()
	return storetest.One[string](s.t, s.pool, `
		SELECT email::text
		FROM people
		WHERE id = @id`, pgx.NamedArgs{"id": person})
}

func TestSignInOpensWhatWasAskedFor(t *testing.T) {
	s := newSite(t)
	b, email := s.browser(), s.email(s.company.HR.PersonID)
	s.givePassword(s.company.HR.PersonID, password)
	if got := b.get("/?x=1"); got.status != http.StatusSeeOther || got.location != "/login?next=%2F%3Fx%3D1" {
		t.Fatalf("asking for a page unknown: %d to %q", got.status, got.location)
	}
	b.get("/login?next=%2F%3Fx%3D1").want(t, http.StatusOK, "<h1>Entrar</h1>", `lang="pt-BR"`, `value="/?x=1"`)
	got := b.post("/login", "email", strings.ToUpper(email), "password", password, "next", "/?x=1").want(t, http.StatusSeeOther)
	if got.location != "/?x=1" {
		t.Errorf("went to %q", got.location)
	}
	cookie := got.header.Get("Set-Cookie")
	for _, want := range []string{"ciclo=", "HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("cookie %q lacks %q", cookie, want)
		}
	}
	b.get("/").want(t, http.StatusOK, "O que precisa de você", "Transportes Aroeira", `href="/cycles"`, `href="/deliveries"`)
	if got := b.get("/login"); got.status != http.StatusSeeOther {
		t.Errorf("the sign-in page to who is signed in: %d", got.status)
	}
}

func TestSignInLeadsOnlyToThisSite(t *testing.T) {
	s := newSite(t)
	s.givePassword(s.company.HR.PersonID, password)
	for _, next := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "/\t/evil.example", "javascript:alert(1)", "login", ""} {
		got := s.browser().post("/login", "email", s.email(s.company.HR.PersonID), "password", password, "next", next)
		if got.status != http.StatusSeeOther || got.location != "/" {
			t.Errorf("next %q: %d to %q", next, got.status, got.location)
		}
	}
}

func TestSignInRefusesAlike(t *testing.T) {
	s := newSite(t)
	s.givePassword(s.company.HR.PersonID, password)
	wrong := s.browser().post("/login", "email", s.email(s.company.HR.PersonID), "password", "not this one")
	unknown := s.browser().post("/login", "email", "ninguem@example.test", "password", "not this one")
	noPassword := s.browser().post("/login", "email", s.email(s.company.People[5]), "password", "not this one")
	for name, got := range map[string]answer{"wrong": wrong, "unknown": unknown, "without a password": noPassword} {
		got.want(t, http.StatusUnprocessableEntity, "E-mail ou senha não conferem", "<title>Erro: Entrar")
		if strings.Contains(got.body, "not this one") {
			t.Errorf("%s: the password came back", name)
		}
	}
	wrong.want(t, http.StatusUnprocessableEntity, `value="`+s.email(s.company.HR.PersonID)+`"`)
	s.browser().post("/login", "email", "", "password", "").want(t, http.StatusUnprocessableEntity, "E-mail: Preencha este campo.", `href="#f-email"`)
}

func TestSignInSlowsDownAndForgets(t *testing.T) {
	s := newSite(t)
	person := s.company.HR.PersonID
	s.givePassword(person, password)
	email, other := s.email(person), s.email(s.company.Admin.PersonID)
	s.givePassword(s.company.Admin.PersonID, password)
	for range store.SignInTries {
		s.browser().post("/login", "email", email, "password", "not this one").want(t, http.StatusUnprocessableEntity)
	}
	slowed := s.browser().post("/login", "email", email, "password", password).want(t, http.StatusTooManyRequests, "Espere 15 minutos", `value="`+email+`"`)
	if slowed.header.Get("Retry-After") == "" {
		t.Error("a browser is not told when to try again")
	}
	s.browser().post("/login", "email", other, "password", password).want(t, http.StatusSeeOther) // the office goes on
	storetest.Exec(t, s.pool, `
		UPDATE sign_in_attempts
		SET last_failed_at = last_failed_at - interval '15 minutes'`)
	s.browser().post("/login", "email", email, "password", password).want(t, http.StatusSeeOther)
	if n := storetest.One[int](t, s.pool, `
		SELECT count(*)
		FROM sign_in_attempts`); n != 0 {
		t.Errorf("%d addresses remembered after success", n)
	}
}

func TestOneAddressInTwoOrganisations(t *testing.T) {
	s := newSite(t)
	other := storetest.NewCompany(t, s.pool, "Beta & Filhos", 3)
	here, there := s.company.HR.PersonID, other.HR.PersonID
	s.givePassword(here, password)
	s.givePassword(there, password)
	storetest.Exec(t, s.pool, `
		UPDATE people
		SET email = 'dupla@example.test'
		WHERE id IN (@here, @there)`, pgx.NamedArgs{"here": here, "there": there})
	b := s.browser()
	got := b.post("/login", "email", "dupla@example.test", "password", password).want(t, http.StatusSeeOther)
	if got.location != "/login/organisation" {
		t.Fatalf("went to %q", got.location)
	}
	page := b.get("/login/organisation").want(t, http.StatusOK, "Beta &amp; Filhos", "Transportes Aroeira")
	if strings.Contains(page.body, password) {
		t.Error("the password is in the page")
	}
	b.get("/").want(t, http.StatusSeeOther) // nobody yet
	if got := b.post("/login/organisation", "person", "999999"); got.location != "/login" {
		t.Errorf("a forged choice leads to %q", got.location)
	}
	if got := b.post("/login/organisation", "person", idText(there)); got.location != "/" {
		t.Errorf("the choice leads to %q", got.location)
	}
	b.get("/").want(t, http.StatusOK, "Beta &amp; Filhos")

	s.givePassword(there, "outra senha bem longa") // the passwords differ: no question
	if got := s.browser().post("/login", "email", "dupla@example.test", "password", password); got.location != "/" {
		t.Errorf("one match leads to %q", got.location)
	}
}

func TestSignInGivesANewToken(t *testing.T) {
	s := newSite(t)
	s.givePassword(s.company.HR.PersonID, password)
	b := s.as(s.company.HR)
	before := s.token(b)
	b.post("/login", "email", s.email(s.company.HR.PersonID), "password", password).want(t, http.StatusSeeOther)
	after := s.token(b)
	if before == after {
		t.Error("the token survived signing in")
	}
	if n := storetest.One[int](t, s.pool, `
		SELECT count(*)
		FROM sessions`); n != 1 {
		t.Errorf("%d sessions, want the new one alone", n)
	}
	if n := storetest.One[int](t, s.pool, `
		SELECT count(*)
		FROM sessions
		WHERE token_hash = convert_to(@token, 'UTF8')`, pgx.NamedArgs{"token": after}); n != 0 {
		t.Error("the token itself is stored")
	}
}

func TestSessionEnds(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct {
		name string
		sql  string
		want int
	}{
		{"just seen", `UPDATE sessions SET seen_at = now()`, http.StatusOK},
		{"idle for 7 h 59 min", `UPDATE sessions SET seen_at = now() - interval '7 hours 59 minutes'`, http.StatusOK},
		{"idle for 8 h", `UPDATE sessions SET seen_at = now() - interval '8 hours'`, http.StatusSeeOther},
		{"seven days old", `UPDATE sessions SET expires_at = created_at`, http.StatusSeeOther},
		{"the person leaves tomorrow", `UPDATE people SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date + 1`, http.StatusOK},
		{"the person is gone from today on", `UPDATE people SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date`, http.StatusSeeOther},
	} {
		b := s.as(s.company.HR)
		storetest.Exec(t, s.pool, tt.sql)
		if got := b.get("/"); got.status != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got.status, tt.want)
		}
		storetest.Exec(t, s.pool, `UPDATE people SET left_on = NULL`)
	}
	s.as(s.company.HR)
	storetest.Exec(t, s.pool, `UPDATE sessions SET expires_at = now() - interval '1 second'`)
	if n, err := s.store.Tidy(t.Context()); err != nil || n == 0 {
		t.Errorf("Tidy() = %d, %v", n, err)
	}
}

func TestSessionLifeIsAtMostSevenDays(t *testing.T) {
	s := newSite(t)
	s.as(s.company.HR)
	life := storetest.One[time.Duration](t, s.pool, `
		SELECT expires_at - created_at
		FROM sessions`)
	if life != store.AccountLife {
		t.Errorf("a session lives %v", life)
	}
}

func TestSomeoneWhoLeftCannotSignIn(t *testing.T) {
	s := newSite(t)
	s.givePassword(s.company.HR.PersonID, password)
	storetest.Exec(t, s.pool, `
		UPDATE people
		SET left_on = '2021-01-01'
		WHERE id = @id`, pgx.NamedArgs{"id": s.company.HR.PersonID})
	s.browser().post("/login", "email", s.email(s.company.HR.PersonID), "password", password).
		want(t, http.StatusUnprocessableEntity, "E-mail ou senha não conferem")
}

func TestSignOut(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	b.get("/logout").want(t, http.StatusMethodNotAllowed, "Pedido não aceito")
	b.get("/").want(t, http.StatusOK)
	if got := b.post("/logout"); got.status != http.StatusSeeOther || got.location != "/login" {
		t.Errorf("signing out: %d to %q", got.status, got.location)
	}
	b.get("/").want(t, http.StatusSeeOther)
	if n := storetest.One[int](t, s.pool, `
		SELECT count(*)
		FROM sessions`); n != 0 {
		t.Errorf("%d sessions left", n)
	}
}

func TestNoDatabaseIsNotSignedOut(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	s.pool.Close()
	got := b.get("/").want(t, http.StatusServiceUnavailable, "Código do pedido")
	if got.header.Get("Set-Cookie") != "" {
		t.Errorf("the cookie was touched: %q", got.header.Get("Set-Cookie"))
	}
	b.get("/healthz").want(t, http.StatusOK, "ok")
}

func TestSecureCookiesUnderHTTPS(t *testing.T) {
	s := newSite(t)
	s.serve(handlers.Options{BaseURL: "https://ciclo.example"})
	s.givePassword(s.company.HR.PersonID, password)
	got := s.browser().post("/login", "email", s.email(s.company.HR.PersonID), "password", password)
	cookie := got.header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-ciclo=") || !strings.Contains(cookie, "Secure") || strings.Contains(cookie, "Domain") {
		t.Errorf("cookie %q", cookie)
	}
	if got.header.Get("Strict-Transport-Security") == "" {
		t.Error("no HSTS")
	}
}

func TestPasswordLink(t *testing.T) {
	s := newSite(t)
	person := s.company.HR
	s.givePassword(person.PersonID, password)
	b := s.as(person)
	link := func() string {
		t.Helper()
		token, err := s.store.CreateOneTimeLink(t.Context(), person.TenantID, person.PersonID, "password")
		if err != nil {
			t.Fatal(err)
		}
		return "/password/" + token
	}
	path, spare := link(), link()
	fresh := "uma frase nova e longa"
	for range 3 { // looking uses nothing up
		s.browser().get(path).want(t, http.StatusOK, person.Name, "Definir a senha")
	}
	s.browser().post(path, "password", "curta", "again", "curta").want(t, http.StatusUnprocessableEntity, "menos de 10 caracteres")
	s.browser().post(path, "password", fresh, "again", fresh+"x").want(t, http.StatusUnprocessableEntity, "As duas senhas são diferentes")
	s.browser().post(path, "password", "", "again", "").want(t, http.StatusUnprocessableEntity, "Nova senha: Preencha este campo.")
	setter := s.browser()
	if got := setter.post(path, "password", fresh, "again", fresh); got.status != http.StatusSeeOther || got.location != "/login" {
		t.Fatalf("setting: %d to %q\n%s", got.status, got.location, got.body)
	}
	setter.get("/login").want(t, http.StatusOK, "Senha definida. Entre com ela.")
	if again := setter.get("/login"); strings.Contains(again.body, "Senha definida") {
		t.Error("the notice is shown twice")
	}
	b.get("/").want(t, http.StatusSeeOther) // the other session has ended
	for _, used := range []string{path, spare, "/password/NEVERISSUED"} {
		s.browser().get(used).want(t, http.StatusNotFound, "Este link não vale mais")
		s.browser().post(used, "password", fresh, "again", fresh).want(t, http.StatusNotFound)
	}
	s.browser().post("/login", "email", s.email(person.PersonID), "password", password).want(t, http.StatusUnprocessableEntity)
	s.browser().post("/login", "email", s.email(person.PersonID), "password", fresh).want(t, http.StatusSeeOther)

	late := link()
	storetest.Exec(t, s.pool, `
		UPDATE one_time_links
		SET expires_at = created_at
		WHERE used_at IS NULL`)
	s.browser().get(late).want(t, http.StatusNotFound)
}
