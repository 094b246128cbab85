package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/links"
	smtp "ciclo/internal/mail"
	"ciclo/internal/mail/mailtest"
	"ciclo/internal/telemetry"
	"ciclo/store/storetest"
)

// record keeps what a process writes, from any goroutine.
type record struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

// A token, a password, an answer and a secret that are planted in a journey are
// found in no span, metric, log line, River row, payload or error, and the
// database holds the answer alone, where answers are kept.
func TestPlantedSecretsGoNowhere(t *testing.T) {
	const password, wrong, answer, smtpPassword = "canario-senha-7731", "canario-errada-7732", "canario-resposta-7733", "canario-smtp-7734"
	seen, endpoint := startCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	key := newKey("canary")
	ring, err := links.ParseRing(key)
	if err != nil {
		t.Fatal(err)
	}
	mailServer := mailtest.Start(t, mailtest.Script{Users: map[string]string{"ciclo": smtpPassword}, Rules: []mailtest.Rule{
		{Phase: mailtest.Rcpt, Skip: 7, Reply: "550 5.1.1 no such mailbox"},
	}})
	target, err := smtp.ParseURL(mailServer.URL()) // with its user and password
	if err != nil {
		t.Fatal(err)
	}
	lines := &record{}
	a, err := openApp(t.Context(), config{
		DatabaseURL: storetest.Database(t), BaseURL: &url.URL{Scheme: "http", Host: "ciclo.test"}, Listen: "127.0.0.1:0", Keys: ring,
		SMTP: target, SMTPMaxConnections: 4, MailFrom: mail.Address{Address: "ciclo@example.test"}, OTLPEndpoint: endpoint,
	}, slog.New(telemetry.WithTrace(slog.NewJSONHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	company := storetest.NewCompany(t, a.pool, "Aroeira", 8)
	cycle := company.Draft(t, "2026.2", 8, 8)
	if err := a.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.serve(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	base := "http://" + a.listener.Addr().String()
	send := func(b *http.Client, path string, values url.Values) *http.Response {
		t.Helper()
		res, err := b.PostForm(base+path, values)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res
	}
	visitor := func() *http.Client {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Client{Jar: jar, Timeout: time.Minute}
	}

	// The HR manager chooses a password by a one-time link, mistypes it once, and activates.
	address := storetest.One[string](t, a.pool, `SELECT email::text FROM people WHERE id = $1`, company.HR.PersonID)
	oneTime, err := a.store.CreateOneTimeLink(t.Context(), company.Tenant, company.HR.PersonID, "password")
	if err != nil {
		t.Fatal(err)
	}
	hr := visitor()
	send(hr, "/password/"+oneTime, url.Values{"password": {password}, "again": {password}})
	send(hr, "/login", url.Values{"email": {address}, "password": {wrong}})
	if at := send(hr, "/login", url.Values{"email": {address}, "password": {password}}); at.Request.URL.Path != "/" {
		t.Fatalf("signing in led to %s, %s", at.Request.URL, at.Status)
	}
	if at := send(hr, fmt.Sprintf("/cycles/%d/activation", cycle), nil); at.StatusCode != http.StatusOK {
		t.Fatalf("activation: %s", at.Status)
	}

	// A reviewer follows the link, and forwards one that is broken.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	messages, err := mailServer.WaitFor(ctx, 7)
	if err != nil {
		t.Fatal(err)
	}
	raw := strings.ReplaceAll(string(messages[0].Raw), "=\r\n", "")
	token := regexp.MustCompile(`/r/([A-Za-z0-9_-]{40,})`).FindStringSubmatch(raw)[1]
	reviewer := visitor()
	send(reviewer, "/r/"+token+"x", nil)
	if at := send(reviewer, "/r/"+token, nil); at.Request.URL.Path != "/reviews" {
		t.Fatalf("the link led to %s, %s", at.Request.URL, at.Status)
	}
	review := storetest.One[int64](t, a.pool, `
		SELECT min(e.id)
		FROM evaluations e
		JOIN people p ON p.id = e.reviewer_id
		WHERE p.email = ANY ($1::text[]::citext[])`, messages[0].To)
	path := fmt.Sprintf("/reviews/%d", review)
	send(reviewer, path+"/draft", url.Values{"version": {"0"}, "q.q1": {answer}})
	send(reviewer, path+"/draft", url.Values{"version": {"0"}, "q.q1": {answer + " again"}}) // a stale tab
	send(reviewer, path+"/submission", url.Values{"version": {"x" + answer}, "q.q1": {answer}})
	if n := storetest.One[int](t, a.pool, `SELECT count(*) FROM answers WHERE content::text LIKE '%' || $1 || '%'`, answer); n != 1 {
		t.Fatalf("the answer was stored %d times", n)
	}
	a.close() // flushes

	secrets := map[string]string{"the password": password, "a mistyped password": wrong, "the link's token": token[:24], "a one-time link's token": oneTime,
		"the signing key": key[strings.Index(key, ":")+1:], "the mail server's password": smtpPassword, "an answer": answer}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if len(seen.bodies) == 0 || !strings.Contains(lines.String(), "/login") {
		t.Fatal("nothing was recorded to look through")
	}
	everywhere := map[string]string{"the telemetry": strings.Join(seen.bodies, "\n"), "the log": lines.String()}
	pool, err := pgxpool.New(t.Context(), a.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, table := range storetest.One[[]string](t, pool, `
		SELECT array_agg(table_name::text)
		FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`) {
		everywhere["table "+table] = storetest.One[string](t, pool, `SELECT coalesce(string_agg(r::text, E'\n'), '') FROM "`+table+`" r`)
	}
	for where, text := range everywhere {
		for what, secret := range secrets {
			if where == "table answers" && what == "an answer" {
				continue
			}
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s is in %s: …%s…", what, where, text[max(0, i-80):min(len(text), i+len(secret)+20)])
			}
		}
	}
}
