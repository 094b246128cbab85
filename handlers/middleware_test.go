package handlers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"

	"ciclo/handlers"
	"ciclo/static"
)

func TestEveryPageIsProtected(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	for _, path := range []string{"/", "/login", "/nowhere", "/password/x", static.Path("ciclo.css")} {
		got := b.get(path)
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: policy %q lacks %q", path, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s %q, want %q", path, name, got.header.Get(name), want)
			}
		}
		if strings.Contains(got.body, " style=") || strings.Contains(got.body, "<style") || strings.Contains(got.body, " onclick=") {
			t.Errorf("%s holds something inline", path)
		}
	}
	page := b.get("/")
	if page.header.Get("Cache-Control") != "no-store" || !strings.Contains(page.header.Get("Vary"), "HX-Request") {
		t.Errorf("a page is cached by %q, varies by %q", page.header.Get("Cache-Control"), page.header.Get("Vary"))
	}
	file := b.get(static.Path("ciclo.css"))
	if !strings.Contains(file.header.Get("Cache-Control"), "immutable") {
		t.Errorf("a file is cached by %q", file.header.Get("Cache-Control"))
	}
	b.get("/static/ciclo.css").want(t, http.StatusNotFound) // only the hashed name
}

func TestWritesComeFromThisSite(t *testing.T) {
	s := newSite(t)
	s.serve(handlers.Options{BaseURL: "https://ciclo.example"}) // a proxy ends TLS and rewrites Host
	for _, tt := range []struct {
		name   string
		header map[string]string
		want   int
	}{
		{"plain http, own Origin, no Sec-Fetch-Site", map[string]string{"Origin": s.server.URL}, http.StatusSeeOther},
		{"the public address behind a proxy", map[string]string{"Origin": "https://ciclo.example"}, http.StatusSeeOther},
		{"a browser on this site", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": s.server.URL}, http.StatusSeeOther},
		{"no browser at all", nil, http.StatusSeeOther},
		{"another site", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, http.StatusForbidden},
		{"a sister site", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "https://x.ciclo.example"}, http.StatusForbidden},
		{"another Origin, no Sec-Fetch-Site", map[string]string{"Origin": "http://evil.example"}, http.StatusForbidden},
		{"Origin null", map[string]string{"Origin": "null"}, http.StatusForbidden},
	} {
		b := s.browser()
		for name, value := range tt.header {
			b = b.with(name, value)
		}
		got := b.post("/theme", "theme", "dark", "next", "/login")
		if got.status != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got.status, tt.want)
		}
		if got.status == http.StatusForbidden && !strings.Contains(got.body, "veio de outro site") {
			t.Errorf("%s: refused without words", tt.name)
		}
	}
}

func TestFailuresSpeakToReader(t *testing.T) {
	s := newSite(t)
	b := s.as(s.company.HR)
	b.get("/nowhere").want(t, http.StatusNotFound, "Página não encontrada", "Código do pedido", "Ir para o início")
	s.browser().with("Accept-Language", "en-GB,en;q=0.9").get("/nowhere").want(t, http.StatusNotFound, "Page not found", "Sign in")
	got := b.htmx().get("/nowhere").want(t, http.StatusNotFound, "Esta página não existe")
	if got.header.Get("HX-Retarget") != "#problem" || strings.Contains(got.body, "<html") {
		t.Errorf("htmx gets %q into %q", got.body, got.header.Get("HX-Retarget"))
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	s := newSite(t)
	if got := s.browser().do(http.MethodHead, "/login", "", nil); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD /login: %d %q", got.status, got.body)
	}
}

func TestBodiesHaveLimits(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	big := strings.Repeat("x", 1<<20+1)
	b.post("/theme", "theme", big).want(t, http.StatusRequestEntityTooLarge, "O envio passa de 1 MB")
	b.do(http.MethodPost, "/theme", "application/json", strings.NewReader(`{}`)).want(t, http.StatusUnprocessableEntity, "não pôde ser lido")
	b.do(http.MethodPost, "/theme", "application/x-www-form-urlencoded", strings.NewReader("theme=%zz")).want(t, http.StatusUnprocessableEntity, "não pôde ser lido")
	b.do(http.MethodPost, "/theme", "multipart/form-data; boundary=x", strings.NewReader("broken")).want(t, http.StatusUnprocessableEntity, "não pôde ser lido")

	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	file, _ := m.CreateFormFile("file", "big.csv")
	_, _ = io.WriteString(file, big)
	_ = m.Close()
	b.do(http.MethodPost, "/theme", m.FormDataContentType(), &body).want(t, http.StatusRequestEntityTooLarge)
}

// Whoever breaks off half-way has no answer to come, and is nobody's failure.
func TestWhoLeavesIsNoFailure(t *testing.T) {
	s := newSite(t)
	for _, cookie := range []string{"", "ciclo=WHOEVERTHISMAYBE"} {
		gone, leave := context.WithCancel(t.Context())
		leave()
		r := httptest.NewRequestWithContext(gone, http.MethodPost, "/theme", io.MultiReader(strings.NewReader("theme="), iotest.ErrReader(io.ErrUnexpectedEOF)))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", cookie)
		w := httptest.NewRecorder()
		s.handlers.Routes().ServeHTTP(w, r)
		if w.Body.Len() > 0 || strings.Contains(s.log.String(), "level=ERROR") {
			t.Errorf("with cookie %q: answered %q, logged %s", cookie, w.Body, s.log)
		}
	}
}

func TestFieldsRefuseWhatCannotBeShownOrStored(t *testing.T) {
	s := newSite(t)
	line := func(in handlers.Form) { in.Line("f", 10) }
	text := func(in handlers.Form) { in.Text("f", 10) }
	for _, tt := range []struct {
		name  string
		read  func(handlers.Form)
		value string
		want  string // "" is accepted
	}{
		{"a name with accents", line, " Érica ", ""},
		{"composed and decomposed count alike", line, strings.Repeat("e\u0301", 10), ""},
		{"ten letters", line, "ççççççççç!", ""},
		{"eleven letters", line, "ççççççççç!!", "no máximo 10"},
		{"bytes that are not UTF-8", line, "a\xff", "UTF-8"},
		{"NUL", line, "a\x00b", "NUL"},
		{"a line end", line, "a\nb", "invisíveis"},
		{"a carriage return", line, "a\rb", "invisíveis"},
		{"a direction override", line, "a\u202eb", "invisíveis"},
		{"a direction isolate", line, "a\u2066b", "invisíveis"},
		{"a line separator", line, "a\u2028b", "invisíveis"},
		{"a zero-width space", line, "a\u200bb", "invisíveis"},
		{"an escape", line, "a\x1b[31m", "invisíveis"},
		{"text of two lines", text, "a\r\nb", ""},
		{"text with NUL", text, "a\x00", "NUL"},
		{"text that is not UTF-8", text, "\xc3", "UTF-8"},
		{"text with a bell", text, "a\ab", "invisíveis"},
		{"long text", text, "abcdefghijk", "no máximo 10"},
		{"a number", func(in handlers.Form) { in.Int("f", 0, 9) }, "9", ""},
		{"a number too large", func(in handlers.Form) { in.Int("f", 0, 9) }, "10", "de 0 a 9"},
		{"no number", func(in handlers.Form) { in.Int("f", 0, 9) }, "nine", "de 0 a 9"},
		{"a date", func(in handlers.Form) { in.Date("f") }, "30/11/2026", ""},
		{"an ISO date", func(in handlers.Form) { in.Date("f") }, "2026-11-30", ""},
		{"a date that does not exist", func(in handlers.Form) { in.Date("f") }, "31/02/2026", "“31/02/2026”: essa data não existe"},
		{"a choice that is not offered", func(in handlers.Form) { in.Choice("f", "a", "b") }, "c", "opções da lista"},
		{"an id", func(in handlers.Form) { in.ID("f") }, "9223372036854775807", ""},
		{"an id with a zero in front", func(in handlers.Form) { in.ID("f") }, "07", "opções da lista"},
		{"an id beyond bigint", func(in handlers.Form) { in.ID("f") }, "9223372036854775808", "opções da lista"},
		{"an empty field that is needed", func(in handlers.Form) { in.Require("f") }, "  ", "Preencha este campo"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("f="+escape(tt.value)))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.handlers.Reads(tt.read).ServeHTTP(w, r)
		switch {
		case tt.want == "" && w.Code != http.StatusOK:
			t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
		case tt.want != "" && (w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), tt.want)):
			t.Errorf("%s: %d, want %q in\n%s", tt.name, w.Code, tt.want, w.Body)
		}
	}
}

// escape writes every byte as %XX, also those that no URL library would let out.
func escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func TestListQuery(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  string // sort, page and URL of the second page; "refused" otherwise
	}{
		{"", "name 1 /x?page=2"},
		{"q=ana&sort=-due&page=3", "-due 3 /x?page=2&q=ana&sort=-due"},
		{"sort=drop&page=-1", "name 1 /x?page=2&sort=drop"},
		{"page=99999999999999999999", "name 1 /x?page=2"},
		{"state=draft&state=active&q=", "name 1 /x?page=2&state=draft"},
		{"q=%00", "refused"},
		{"q=%ff", "refused"},
		{"q=%zz", "refused"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x?"+tt.query, nil)
		l, err := handlers.ListQuery(r, "name", "due")
		got := fmt.Sprintf("%s %d %s", l.Sort, l.Page, l.URL("page", "2"))
		if err != nil {
			got = "refused"
		}
		if got != tt.want {
			t.Errorf("?%s: %s, want %s", tt.query, got, tt.want)
		}
	}
}

func TestContentDispositionKeepsAccents(t *testing.T) {
	got := handlers.ContentDisposition("avaliação \"x\"\r\n.csv")
	if want := `attachment; filename="avalia__o _x___.csv"; filename*=UTF-8''avalia%C3%A7%C3%A3o%20%22x%22%0D%0A.csv`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestAccessLogNamesRoutesNotPaths(t *testing.T) {
	s := newSite(t)
	s.browser().get("/password/SECRETTOKEN")
	s.browser().get("/nowhere/SECRETTOKEN")
	s.server.Close()
	log := s.log.String()
	if strings.Contains(log, "SECRETTOKEN") {
		t.Errorf("the log holds a path:\n%s", log)
	}
	if !strings.Contains(log, "route=/password/{token}") {
		t.Errorf("the log does not name the route:\n%s", log)
	}
}

func TestLanguageAndTheme(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.get("/login").want(t, http.StatusOK, `<html lang="pt-BR">`)
	b.with("Accept-Language", "fr, en;q=0.8").get("/login").want(t, http.StatusOK, `<html lang="en">`)
	if got := b.post("/language", "locale", "en", "next", "/login?next=%2F"); got.location != "/login?next=%2F" {
		t.Errorf("went to %q", got.location)
	}
	b.get("/login").want(t, http.StatusOK, `<html lang="en">`)
	b.post("/language", "locale", "xx").want(t, http.StatusUnprocessableEntity)
	b.post("/theme", "theme", "dark", "next", "//evil.example").want(t, http.StatusSeeOther)
	b.get("/login").want(t, http.StatusOK, `<html lang="en" data-theme="dark">`)
	b.post("/theme", "theme", "auto", "next", "/login").want(t, http.StatusSeeOther)
	b.get("/login").want(t, http.StatusOK, `<html lang="en">`)
	if got := b.get("/language").want(t, http.StatusMethodNotAllowed).header.Get("Allow"); got != "POST" {
		t.Errorf("GET /language is told to use %q", got)
	}

	in := s.as(s.company.HR)
	in.post("/language", "locale", "en", "next", "/").want(t, http.StatusSeeOther)
	s.as(s.company.HR).get("/").want(t, http.StatusOK, "What needs you") // another browser: the person's own setting
}

func TestTrustedProxies(t *testing.T) {
	h, err := handlers.New(handlers.Options{Store: newSite(t).store, BaseURL: "http://ciclo.example", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ peer, forwarded, want string }{
		{"203.0.113.9:1", "198.51.100.1", "203.0.113.9"},
		{"10.0.0.1:1", "198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:1", "6.6.6.6, 198.51.100.1, 10.0.0.2", "198.51.100.1"},
		{"10.0.0.1:1", "", "10.0.0.1"},
		{"10.0.0.1:1", "nonsense", "10.0.0.1"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = tt.peer
		r.Header.Set("X-Forwarded-For", tt.forwarded)
		if got := h.ClientIP(r).String(); got != tt.want {
			t.Errorf("%s for %q: %s, want %s", tt.peer, tt.forwarded, got, tt.want)
		}
	}
}
