package handlers_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/handlers"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

// password opens every account that a test signs in to.
const password = "uma senha comprida"

// site is the product as a browser meets it: Routes() behind a real server, on
// a database of its own with a company of twelve people.
type site struct {
	handlers *handlers.Handlers
	t        *testing.T
	pool     *pgxpool.Pool
	store    *store.Store
	server   *httptest.Server
	company  storetest.Company
	log      *bytes.Buffer
	queries  atomic.Int64 // statements that reached the database
}

// TraceQueryStart counts a statement.
func (s *site) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.queries.Add(1)
	return ctx
}

// TraceQueryEnd has nothing to add.
func (s *site) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func newSite(t *testing.T) *site {
	t.Helper()
	t.Parallel()
	s := &site{t: t, log: &bytes.Buffer{}}
	config, err := pgxpool.ParseConfig(storetest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.Tracer = s
	if s.pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.pool.Close)
	if s.store, err = store.New(s.pool); err != nil {
		t.Fatal(err)
	}
	s.company = storetest.NewCompany(t, s.pool, "Transportes Aroeira", 12)
	t.Cleanup(func() { // runs after the server has closed
		if t.Failed() {
			t.Log(s.log.String())
		}
	})
	s.serve(handlers.Options{})
	return s
}

// serve starts the server again with other options.
func (s *site) serve(o handlers.Options) {
	s.t.Helper()
	if s.server != nil {
		s.server.Close()
	}
	o.Store, o.Log = s.store, slog.New(slog.NewTextHandler(s.log, nil))
	var routes http.Handler
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { routes.ServeHTTP(w, r) }))
	s.t.Cleanup(s.server.Close)
	if o.BaseURL == "" {
		o.BaseURL = s.server.URL
	}
	h, err := handlers.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.handlers, routes = h, h.Routes()
}

// browser is one browser: it keeps cookies and follows no redirect.
type browser struct {
	site   *site
	client *http.Client
	header http.Header
}

func (s *site) browser() *browser {
	jar, _ := cookiejar.New(nil)
	return &browser{site: s, header: http.Header{}, client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// as is a browser in which the actor is signed in. It skips the sign-in page,
// which has its own tests, and the time that hashing a password takes.
func (s *site) as(a policy.Actor) *browser {
	s.t.Helper()
	session, err := s.store.BeginSession(s.t.Context(), store.Session{TenantID: a.TenantID, PersonID: a.PersonID})
	if err != nil {
		s.t.Fatal(err)
	}
	b := s.browser()
	u, _ := url.Parse(s.server.URL)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: "ciclo", Value: session.Token, Path: "/"}})
	return b
}

func (s *site) givePassword(person int64, secret string) {
	s.t.Helper()
	hash := usualHash()
	if secret != password {
		var err error
		if hash, err = store.HashPassword(secret); err != nil {
			s.t.Fatal(err)
		}
	}
	storetest.Exec(s.t, s.pool, `
		UPDATE people
		SET password_hash = @hash
		WHERE id = @id`, pgx.NamedArgs{"hash": hash, "id": person})
}

// usualHash spares the tests from hashing the same password again and again.
var usualHash = sync.OnceValue(func() string {
	hash, err := store.HashPassword(password)
	if err != nil {
		panic(err)
	}
	return hash
})

// answer is what came back.
type answer struct {
	status   int
	header   http.Header
	body     string
	location string
}

func (b *browser) get(path string) answer {
	b.site.t.Helper()
	return b.do(http.MethodGet, path, "", nil)
}

// post sends a form: alternating names and values.
func (b *browser) post(path string, pairs ...string) answer {
	b.site.t.Helper()
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return b.do(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(values.Encode()))
}

// with is the same browser, sending a header with every request.
func (b *browser) with(name, value string) *browser {
	header := b.header.Clone()
	header.Set(name, value)
	return &browser{site: b.site, client: b.client, header: header}
}

// htmx is the same browser, asking for fragments.
func (b *browser) htmx() *browser {
	return b.with("HX-Request", "true").with("HX-Request-Type", "partial")
}

func (b *browser) do(method, path, mediaType string, body io.Reader) answer {
	b.site.t.Helper()
	req, err := http.NewRequestWithContext(b.site.t.Context(), method, b.site.server.URL+path, body)
	if err != nil {
		b.site.t.Fatal(err)
	}
	req.Header = b.header.Clone()
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.site.t.Fatal(err)
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		b.site.t.Fatal(err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: string(read), location: resp.Header.Get("Location")}
}

// want fails the test unless the answer has that status and holds every text.
func (a answer) want(t *testing.T, status int, texts ...string) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d\n%s", a.status, status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("the answer does not hold %q\n%s", text, a.body)
		}
	}
	return a
}

// token is what the browser's session cookie holds.
func (s *site) token(b *browser) string {
	s.t.Helper()
	u, _ := url.Parse(s.server.URL)
	for _, c := range b.client.Jar.Cookies(u) {
		if c.Name == "ciclo" {
			return c.Value
		}
	}
	s.t.Fatal("no session cookie")
	return ""
}

func idText(id int64) string { return strconv.FormatInt(id, 10) }

// statements counts what the database is asked while do runs.
func (s *site) statements(do func()) int {
	before := s.queries.Load()
	do()
	return int(s.queries.Load() - before)
}
