package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"ciclo/store/storetest"
)

// openLink lets the browser follow a review link of the i-th person.
func (b *browser) openLink(person, cycle int64) *httptest.ResponseRecorder {
	b.site.t.Helper()
	r := httptest.NewRequestWithContext(b.site.t.Context(), http.MethodPost, b.site.server.URL+"/r/x", nil)
	u, _ := url.Parse(b.site.server.URL)
	for _, c := range b.client.Jar.Cookies(u) {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.site.handlers.OpensLink(b.site.company.Tenant, person, cycle).ServeHTTP(w, r)
	b.client.Jar.SetCookies(u, w.Result().Cookies())
	return w
}

func TestLinkSessionIsKeptToTheReviews(t *testing.T) {
	s := newSite(t)
	cycle := s.company.Draft(t, "Ciclo", 6, 4)
	b := s.browser()
	if w := b.openLink(s.company.HR.PersonID, cycle); w.Code != http.StatusSeeOther {
		t.Fatalf("opening: %d", w.Code)
	}
	for _, path := range []string{"/", "/people", "/cycles", "/deliveries"} { // an HR manager by link is a reviewer only
		if got := b.get(path); got.status != http.StatusNotFound && (got.status != http.StatusSeeOther || got.location != "/reviews") {
			t.Errorf("GET %s: %d to %q", path, got.status, got.location)
		}
	}
	storetest.Exec(t, s.pool, `
		UPDATE sessions
		SET seen_at = now() - interval '30 minutes'`)
	if got := b.get("/"); got.location != "/login?next=%2F" {
		t.Errorf("after 30 idle minutes: %d to %q", got.status, got.location)
	}
}

func TestLinkSessionLeavesAnAccountAlone(t *testing.T) {
	s := newSite(t)
	cycle := s.company.Draft(t, "Ciclo", 6, 4)
	hr := s.company.HR

	b := s.as(hr)
	token := s.token(b)
	if w := b.openLink(s.company.People[4], cycle); w.Code != http.StatusConflict {
		t.Errorf("somebody else's link in an account's browser: %d", w.Code)
	}
	if w := b.openLink(hr.PersonID, cycle); w.Code != http.StatusSeeOther {
		t.Errorf("one's own link in one's own browser: %d", w.Code)
	}
	if s.token(b) != token {
		t.Error("the account's session was replaced")
	}
	if n := storetest.One[int](t, s.pool, `
		SELECT count(*)
		FROM sessions
		WHERE cycle_id IS NOT NULL`); n != 0 {
		t.Errorf("%d sessions by link beside the account's own", n)
	}
	b.get("/").want(t, http.StatusOK)
}

func TestSigningInEndsASessionByLink(t *testing.T) {
	s := newSite(t)
	cycle := s.company.Draft(t, "Ciclo", 6, 4)
	b := s.browser()
	b.openLink(s.company.People[4], cycle)
	s.givePassword(s.company.HR.PersonID, password)
	b.post("/login", "email", s.email(s.company.HR.PersonID), "password", password).want(t, http.StatusSeeOther)
	b.get("/").want(t, http.StatusOK, s.company.HR.Name)
	if n := storetest.One[int](t, s.pool, `
		SELECT count(*)
		FROM sessions
		WHERE person_id = @id`, pgx.NamedArgs{"id": s.company.People[4]}); n != 0 {
		t.Error("the session by link goes on beside the account's")
	}
}
