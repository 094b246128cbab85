package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"ciclo/internal/links"
	smtp "ciclo/internal/mail"
	"ciclo/internal/mail/mailtest"
	"ciclo/store/storetest"
)

// collector is an OTLP receiver: it keeps what a real one would be sent.
type collector struct {
	mu      sync.Mutex
	spans   []*tracepb.Span
	metrics map[string]bool
	bodies  []string
}

func startCollector(t *testing.T) (*collector, string) {
	t.Helper()
	c := &collector{metrics: map[string]bool{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies = append(c.bodies, string(body))
		switch r.URL.Path {
		case "/v1/traces":
			var sent collectortrace.ExportTraceServiceRequest
			if err := proto.Unmarshal(body, &sent); err != nil {
				t.Error(err)
			}
			for _, resource := range sent.ResourceSpans {
				for _, scope := range resource.ScopeSpans {
					c.spans = append(c.spans, scope.Spans...)
				}
			}
		case "/v1/metrics":
			var sent collectormetrics.ExportMetricsServiceRequest
			if err := proto.Unmarshal(body, &sent); err != nil {
				t.Error(err)
			}
			for _, resource := range sent.ResourceMetrics {
				for _, scope := range resource.ScopeMetrics {
					for _, m := range scope.Metrics {
						c.metrics[m.Name] = true
					}
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	return c, server.URL
}

func (c *collector) named(name string) (found []*tracepb.Span) {
	for _, span := range c.spans {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

// attribute writes a span's attribute as text; lists are joined by commas.
func attribute(span *tracepb.Span, key string) string {
	for _, a := range span.Attributes {
		if a.Key == key {
			return text(a.Value)
		}
	}
	return ""
}

func text(v *commonpb.AnyValue) string {
	switch v := v.Value.(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *commonpb.AnyValue_ArrayValue:
		var parts []string
		for _, part := range v.ArrayValue.Values {
			parts = append(parts, text(part))
		}
		return strings.Join(parts, ",")
	}
	return ""
}

// startApp opens the whole product on a database and a mail server of its own.
func startApp(t *testing.T, collectorURL string) (*app, storetest.Company, *mailtest.Server) {
	t.Helper()
	mailServer := mailtest.Start(t, mailtest.Script{})
	target, err := smtp.ParseURL(mailServer.URL())
	if err != nil {
		t.Fatal(err)
	}
	ring, err := links.ParseRing(newKey("test"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := openApp(t.Context(), config{
		DatabaseURL: storetest.Database(t), BaseURL: &url.URL{Scheme: "http", Host: "ciclo.test"}, Listen: "127.0.0.1:0", Keys: ring,
		SMTP: target, SMTPMaxConnections: 4, MailFrom: mail.Address{Address: "ciclo@example.test"}, OTLPEndpoint: collectorURL,
	}, newLog("json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	return a, storetest.NewCompany(t, a.pool, "Aroeira", 8), mailServer
}

// signIn gives a person a password and answers a browser signed in as them.
func signIn(t *testing.T, a *app, base string, tenant, person int64) *http.Client {
	t.Helper()
	token, err := a.store.CreateOneTimeLink(t.Context(), tenant, person, "password")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.store.SetPassword(t.Context(), token, "a long password"); err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	address := storetest.One[string](t, a.pool, `SELECT email::text FROM people WHERE id = $1`, person)
	answer, err := browser.PostForm(base+"/login", url.Values{"email": {address}, "password": {"a long password"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.Request.URL.Path != "/" {
		t.Fatalf("signing in led to %s, %s", answer.Request.URL, answer.Status)
	}
	return browser
}

// The click and its deliveries can be followed from one to the other, and who
// clicked is on the spans; no name, address or path is.
func TestTheClickAndItsDeliveriesInTraces(t *testing.T) {
	seen, endpoint := startCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	a, company, mailServer := startApp(t, endpoint)
	cycle := company.Draft(t, "2026.2", 8, 8)
	if err := a.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.serve(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	base := "http://" + a.listener.Addr().String()
	browser := signIn(t, a, base, company.Tenant, company.HR.PersonID)
	answer, err := browser.PostForm(fmt.Sprintf("%s/cycles/%d/activation", base, cycle), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("activation: %s at %s", answer.Status, answer.Request.URL)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	messages, err := mailServer.WaitFor(ctx, 8)
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(string(messages[0].Raw), "/r/")
	token = token[:20]
	if answer, err := browser.Get(base + "/r/" + token + "forged"); err == nil {
		_ = answer.Body.Close()
	}
	for !storetest.One[bool](t, a.pool, `SELECT EXISTS (SELECT FROM river_job WHERE kind = 'outbox_sweep' AND state = 'completed')`) {
		if err := ctx.Err(); err != nil {
			t.Fatal("the first sweep never came")
		}
	}
	a.close() // flushes

	seen.mu.Lock()
	defer seen.mu.Unlock()
	clicks := seen.named("POST /cycles/{id}/activation")
	if len(clicks) != 1 {
		t.Fatalf("%d spans of the click; there are %v", len(clicks), names(seen.spans))
	}
	click := clicks[0]
	who := map[string]string{"user.id": fmt.Sprint(company.HR.PersonID), "tenant.id": fmt.Sprint(company.Tenant), "user.roles": "hr_manager"}
	for key, want := range who {
		if got := attribute(click, key); got != want {
			t.Errorf("the click's %s is %q, want %q", key, got, want)
		}
	}
	below := 0
	for _, span := range seen.spans {
		if string(span.TraceId) == string(click.TraceId) && string(span.SpanId) != string(click.SpanId) && attribute(span, "user.id") == who["user.id"] {
			below++
		}
	}
	if below == 0 {
		t.Error("no span below the click says who clicked")
	}
	deliveries := seen.named("deliver evaluation.assigned")
	if len(deliveries) != 8 {
		t.Errorf("%d delivery spans, want 8", len(deliveries))
	}
	for _, d := range deliveries {
		linked := false
		for _, l := range d.Links {
			linked = linked || string(l.TraceId) == string(click.TraceId) && string(l.SpanId) == string(click.SpanId)
		}
		if !linked {
			t.Errorf("the delivery %s is not linked to the click", hex.EncodeToString(d.SpanId))
		}
	}
	for _, span := range seen.spans {
		if strings.Contains(span.Name, fmt.Sprintf("/%d", cycle)) || strings.Contains(span.Name, "/r/") && !strings.Contains(span.Name, "{token}") {
			t.Errorf("a span is named by a path: %s", span.Name)
		}
	}
	for _, body := range seen.bodies {
		for what, secret := range map[string]string{"a link's token": token, "an address": "@" + fmt.Sprint(company.Tenant) + ".example.test", "a name": company.HR.Name, "the password": "a long password"} {
			if strings.Contains(body, secret) {
				t.Errorf("%s left with the telemetry", what)
			}
		}
	}
	for _, name := range []string{"ciclo.outbox.attempts", "ciclo.outbox.wait", "ciclo.outbox.events", "http.server.request.duration"} {
		if !seen.metrics[name] {
			t.Errorf("metric %s is missing", name)
		}
	}
}

func names(spans []*tracepb.Span) (all []string) {
	for _, span := range spans {
		all = append(all, span.Name)
	}
	return all
}

// A collector that is away slows nothing.
func TestADeadCollectorSlowsNothing(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	a, company, _ := startApp(t, "http://127.0.0.1:1")
	if err := a.serve(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	signIn(t, a, "http://"+a.listener.Addr().String(), company.Tenant, company.HR.PersonID)
}

func TestReadiness(t *testing.T) {
	a, _, _ := startApp(t, "")
	if err := a.serve(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ask := func() int {
		answer, err := http.Get("http://" + a.listener.Addr().String() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	if got := ask(); got != http.StatusOK {
		t.Errorf("ready: %d", got)
	}
	storetest.Exec(t, a.pool, `UPDATE schema_migrations SET version = 1`)
	if got := ask(); got != http.StatusServiceUnavailable {
		t.Errorf("with an old schema: %d", got)
	}
	storetest.Exec(t, a.pool, `UPDATE schema_migrations SET version = 999`)
	if got := ask(); got != http.StatusOK {
		t.Errorf("with a newer schema: %d", got)
	}
	a.stopping.Store(true)
	if got := ask(); got != http.StatusServiceUnavailable {
		t.Errorf("while stopping: %d", got)
	}
	a.close()
}

func TestWhatServeRefuses(t *testing.T) {
	a, company, _ := startApp(t, "")
	if err := a.fitForProduction(t.Context()); err != nil {
		t.Fatalf("a good database is refused: %v", err)
	}
	cycle := company.Draft(t, "2026.2", 2, 2)
	storetest.Exec(t, a.pool, `UPDATE cycles SET state = 'active', activated_at = now(), activated_by = owner_id WHERE id = $1`, cycle)
	storetest.Exec(t, a.pool, `INSERT INTO review_links (tenant_id, cycle_id, person_id, kid, nonce) VALUES ($1, $2, $3, 'lost', '0123456789abcdef')`, company.Tenant, cycle, company.People[0])
	if err := a.fitForProduction(t.Context()); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("a missing key: %v", err)
	}
	storetest.Exec(t, a.pool, `DELETE FROM review_links`)
	storetest.Exec(t, a.pool, `UPDATE installation SET demo = true`)
	if err := a.fitForProduction(t.Context()); err == nil || !strings.Contains(err.Error(), "demo") {
		t.Errorf("the demo's database: %v", err)
	}
	ours, err := a.store.ClaimForDemo(t.Context())
	if err != nil || !ours {
		t.Errorf("the demo does not know its own database: %v, %v", ours, err)
	}
	storetest.Exec(t, a.pool, `UPDATE installation SET demo = false`)
	if ours, err := a.store.ClaimForDemo(t.Context()); err != nil || ours {
		t.Errorf("the demo takes another's database: %v, %v", ours, err)
	}
}
