package relay_test

import (
	"context"
	"net/mail"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"ciclo/internal/links"
	smtp "ciclo/internal/mail"
	"ciclo/internal/mail/mailtest"
	"ciclo/internal/outbox"
	"ciclo/internal/relay"
	"ciclo/store"
	"ciclo/store/storetest"
)

// office is a company with an active cycle whose invitations are due, a mail
// server, and the means to run relays between them.
type office struct {
	t       *testing.T
	pool    *pgxpool.Pool
	store   *store.Store
	company storetest.Company
	cycle   int64
	server  *mailtest.Server
}

func newOffice(t *testing.T, reviewers int, script mailtest.Script) *office {
	t.Helper()
	t.Parallel()
	pool := storetest.Pool(t)
	config := pool.Config()
	config.MaxConns = 20
	wide, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wide.Close)
	s, err := store.New(wide)
	if err != nil {
		t.Fatal(err)
	}
	o := &office{t: t, pool: wide, store: s, server: mailtest.Start(t, script)}
	o.company = storetest.NewCompany(t, wide, "Aroeira", max(3, reviewers))
	o.cycle = o.company.Draft(t, "2026.2", reviewers, reviewers)
	if _, err := s.ActivateCycle(t.Context(), o.company.HR, o.cycle); err != nil {
		t.Fatal(err)
	}
	return o
}

func testKeys() (links.Ring, error) {
	return links.ParseRing("test:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
}

func testRing(t testing.TB) links.Ring {
	t.Helper()
	ring, err := testKeys()
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// mail is the real deliverer over the office's server.
func (o *office) mail(options smtp.Options) *relay.Mail {
	o.t.Helper()
	server, err := smtp.ParseURL(o.server.URL())
	if err != nil {
		o.t.Fatal(err)
	}
	options.RootCAs = o.server.RootCAs()
	pool := smtp.NewPool(server, options)
	o.t.Cleanup(pool.Close)
	return &relay.Mail{Store: o.store, Pool: pool, From: mail.Address{Address: "ciclo@example.test"}, BaseURL: "https://ciclo.example.test", Keys: testRing(o.t)}
}

// run works the mail queues with a real River client until the test ends.
func (o *office) run(d relay.Deliverer) *relay.Relay {
	o.t.Helper()
	r, err := relay.New(relay.Options{Store: o.store, Deliverers: map[string]relay.Deliverer{outbox.QueueMail: d, outbox.QueueAlone: d}})
	if err != nil {
		o.t.Fatal(err)
	}
	if err := r.Start(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			o.t.Error(err)
		}
	})
	return r
}

// waitFor asks until the query answers true, or the test's time is up.
func (o *office) waitFor(sql string, args ...any) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), 60*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !storetest.One[bool](o.t, o.pool, sql, args...) {
		select {
		case <-ctx.Done():
			o.t.Fatalf("never true: %s\n%s", sql, o.statuses())
		case <-tick.C:
		}
	}
}

const allSettled = `SELECT NOT EXISTS (SELECT FROM outbox_events WHERE status IN ('pending', 'processing'))`

// statuses counts the events as "delivered 1: 25".
func (o *office) statuses() string {
	o.t.Helper()
	return storetest.One[string](o.t, o.pool, `
		SELECT coalesce(string_agg(line, ', ' ORDER BY line), '')
		FROM (SELECT status || ' ' || attempts || ': ' || count(*) AS line FROM outbox_events GROUP BY status, attempts) lines`)
}

func (o *office) expect(want string) {
	o.t.Helper()
	if got := o.statuses(); got != want {
		o.t.Errorf("events: %s; want %s", got, want)
	}
}

// address of the i-th reviewer.
func (o *office) address(i int) string {
	return storetest.One[string](o.t, o.pool, `SELECT email::text FROM people WHERE id = $1`, o.company.People[i])
}

// invariants of every delivery case: nothing is marked delivered that the
// server did not accept, no reviewer is without their event, and repeats carry
// one Message-ID and are at most as many as were in flight.
func (o *office) invariants(repeats int) {
	o.t.Helper()
	accepted := map[string]int{}
	for _, m := range o.server.Messages() {
		accepted[m.MessageID]++
	}
	again := 0
	for _, n := range accepted {
		again += n - 1
	}
	if again > repeats {
		o.t.Errorf("%d repeats, at most %d were in flight", again, repeats)
	}
	rows, err := o.pool.Query(o.t.Context(), `SELECT id FROM outbox_events WHERE status = 'delivered'`)
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			o.t.Fatal(err)
		}
		if accepted[(smtp.Message{ID: id, From: "ciclo@example.test"}).MessageID()] == 0 {
			o.t.Errorf("event %d is marked delivered and the server never accepted it", id)
		}
	}
	if n := storetest.One[int](o.t, o.pool, `
		SELECT count(*) FROM (
			SELECT DISTINCT reviewer_id FROM evaluations WHERE cycle_id = $1
			EXCEPT
			SELECT person_id FROM outbox_events WHERE cycle_id = $1) forgotten`, o.cycle); n != 0 {
		o.t.Errorf("%d reviewers were forgotten", n)
	}
}

func TestEveryReviewerGetsOneMessage(t *testing.T) {
	o := newOffice(t, 60, mailtest.Script{})
	o.run(o.mail(smtp.Options{}))
	o.waitFor(allSettled)
	o.expect("delivered 1: 60")
	o.invariants(0)
	messages := o.server.Messages()
	if len(messages) != 60 {
		t.Fatalf("%d messages, want 60", len(messages))
	}
	m := messages[0]
	for name, want := range map[string]string{"Reply-To": "<rh@example.test>", "Content-Language": "pt-BR", "Auto-Submitted": "auto-generated"} {
		if got := m.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(m.Header().Get("From"), "Aroeira") || !strings.Contains(string(m.Raw), "https://ciclo.example.test/r/") {
		t.Errorf("the message names neither organisation nor link:\n%s", m.Raw)
	}
}

// D9: one address of a hundred does not exist.
func TestOneRefusedRecipientAmongAHundred(t *testing.T) {
	o := newOffice(t, 100, mailtest.Script{})
	o.server.SetRules(t, mailtest.Rule{Phase: mailtest.Rcpt, To: o.address(41), Reply: "550 5.1.1 User unknown"})
	o.run(o.mail(smtp.Options{}))
	o.waitFor(allSettled)
	o.expect("delivered 1: 99, failed 1: 1")
	o.invariants(0)
	got := storetest.One[string](t, o.pool, `SELECT cause || ' | ' || last_error FROM outbox_events WHERE status = 'failed'`)
	if !strings.HasPrefix(got, "address | ") || !strings.Contains(got, "5.1.1 User unknown") {
		t.Errorf("the row says %q", got)
	}
}

// D10: accepted, and the connection dropped before the 250.
func TestUnknownOutcomeIsTriedAgainWithOneMessageID(t *testing.T) {
	o := newOffice(t, 3, mailtest.Script{Rules: []mailtest.Rule{{Phase: mailtest.End, Times: 1, Act: mailtest.AcceptDrop}}})
	o.run(o.mail(smtp.Options{}))
	o.waitFor(`SELECT EXISTS (SELECT FROM delivery_attempts WHERE class = 'unknown')`)
	if got := storetest.One[string](t, o.pool, `SELECT last_error FROM outbox_events WHERE cause = 'unknown'`); !strings.HasPrefix(got, "outcome unknown") {
		t.Errorf("the row says %q", got)
	}
	storetest.Exec(t, o.pool, `UPDATE outbox_events SET available_at = now() - interval '1 minute' WHERE status = 'pending'`)
	if _, err := o.store.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.waitFor(allSettled)
	o.expect("delivered 1: 2, delivered 2: 1")
	o.invariants(1)
	if n := len(o.server.Messages()); n != 4 {
		t.Errorf("the journal holds %d messages, want 4: one of them twice", n)
	}
}

// D18: after the 250 nothing on the connection changes the outcome.
func TestFailingResetAfterAcceptanceIsDelivered(t *testing.T) {
	o := newOffice(t, 3, mailtest.Script{Rules: []mailtest.Rule{{Phase: mailtest.Rset, Act: mailtest.Drop}}})
	o.run(o.mail(smtp.Options{MaxConnections: 1}))
	o.waitFor(allSettled)
	o.expect("delivered 1: 3")
	o.invariants(0)
	if n := len(o.server.Messages()); n != 3 {
		t.Errorf("the journal holds %d messages, want 3", n)
	}
}

// D8 with the intervals cut short: greylisted four times, then taken.
func TestGreylistingEndsDelivered(t *testing.T) {
	o := newOffice(t, 2, mailtest.Script{Rules: []mailtest.Rule{{Phase: mailtest.Rcpt, PerRecipient: true, Times: 3, Reply: "450 4.7.1 Greylisted"}}})
	// hurry makes each retry due at once; the waits themselves are asserted in the store
	storetest.Exec(t, o.pool, `
		CREATE FUNCTION hurry() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF NEW.available_at > now() + interval '300 seconds' THEN RAISE EXCEPTION 'waits over five minutes'; END IF;
			NEW.available_at := now() - interval '1 minute';
			RETURN NEW;
		END $$;
		CREATE TRIGGER hurry BEFORE UPDATE ON outbox_events FOR EACH ROW WHEN (NEW.status = 'pending') EXECUTE FUNCTION hurry()`)
	o.run(o.mail(smtp.Options{}))
	for range 3 {
		if _, err := o.store.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	o.waitFor(allSettled)
	o.expect("delivered 4: 2")
	o.invariants(0)
}

// D11, shortened: while the server is down nothing is claimed, and nothing fails.
func TestAnOutageCostsNoAttempt(t *testing.T) {
	o := newOffice(t, 20, mailtest.Script{Rules: []mailtest.Rule{{Phase: mailtest.Connect, Times: 1, Reply: "421 4.3.2 down", Act: mailtest.Drop}}})
	o.run(o.mail(smtp.Options{MaxConnections: 1}))
	o.waitFor(allSettled)
	o.expect("delivered 1: 20")
	o.invariants(0)
}

// The sender's account is refused: our fault, so no row pays for it.
func TestRefusedSenderCostsNoRow(t *testing.T) {
	o := newOffice(t, 3, mailtest.Script{Rules: []mailtest.Rule{{Phase: mailtest.Mail, Reply: "550 5.7.1 not allowed to send"}}})
	o.run(o.mail(smtp.Options{MaxConnections: 1}))
	o.waitFor(`SELECT EXISTS (SELECT FROM outbox_events WHERE cause = 'sender' AND status = 'pending' AND max_attempts = 6)`)
	// and the queue rests: the others would meet the same answer
	o.waitFor(`SELECT NOT EXISTS (SELECT FROM river_job WHERE kind = 'outbox_drain' AND state IN ('available', 'running'))`)
	o.expect("pending 0: 2, pending 1: 1")
}

func TestStateIsReadAgainAtSendTime(t *testing.T) {
	for _, tt := range []struct{ name, change, want, why string }{
		{"the cycle was cancelled", `UPDATE cycles SET state = 'cancelled', cancelled_at = now(), cancelled_by = owner_id, cancel_reason = 'x'`, "cancelled 1: 3", outbox.ReasonCycleCancelled},
		{"everything was submitted", `UPDATE evaluations SET state = 'submitted', submitted_at = now(), submitted_via = 'session'`, "cancelled 1: 3", outbox.ReasonNothingLeft},
		{"a cancellation was asked for", `UPDATE outbox_events SET cancel_requested = true`, "cancelled 1: 3", outbox.ReasonAsked},
		{"the address is gone", `UPDATE people SET email = NULL`, "failed 1: 3", ""},
		{"the reviewer left", `UPDATE people SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date - 1`, "failed 1: 3", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOffice(t, 3, mailtest.Script{})
			storetest.Exec(t, o.pool, tt.change)
			o.run(o.mail(smtp.Options{}))
			o.waitFor(allSettled)
			o.expect(tt.want)
			if n := len(o.server.Messages()); n != 0 {
				t.Errorf("%d messages left all the same", n)
			}
			if got := storetest.One[string](t, o.pool, `SELECT coalesce(max(status_reason), '') FROM outbox_events`); got != tt.why {
				t.Errorf("the reason is %q, want %q", got, tt.why)
			}
		})
	}
}

// held is a deliverer that lets a test act while a message is being sent.
type held struct {
	relay.Deliverer
	sending chan sending
	sent    atomic.Int64
}

// sending is a message that was sent and waits for the test before its settle.
type sending struct {
	outbox.Event
	goOn chan struct{}
}

func (h *held) Open(ctx context.Context) (relay.Carrier, error) {
	c, err := h.Deliverer.Open(ctx)
	return &heldCarrier{c, h}, err
}

type heldCarrier struct {
	relay.Carrier
	h *held
}

func (c *heldCarrier) Deliver(ctx context.Context, e outbox.Event) relay.Result {
	result := c.Carrier.Deliver(ctx, e)
	c.h.sent.Add(1)
	one := sending{e, make(chan struct{})}
	c.h.sending <- one
	<-one.goOn
	return result
}

// D22: the cancellation comes while the message is on its way: the row tells
// what really happened.
func TestCancelWhileSendingTellsTheTruth(t *testing.T) {
	o := newOffice(t, 1, mailtest.Script{})
	h := &held{Deliverer: o.mail(smtp.Options{}), sending: make(chan sending, 1)}
	o.run(h)
	e := <-h.sending
	storetest.Exec(t, o.pool, `UPDATE outbox_events SET cancel_requested = true WHERE id = $1 AND status = 'processing'`, e.ID)
	close(e.goOn)
	o.waitFor(allSettled)
	if got := storetest.One[string](t, o.pool, `SELECT status || ' ' || cancel_requested FROM outbox_events`); got != "delivered true" {
		t.Errorf("the row is %s, want delivered true", got)
	}
	o.invariants(0)
}

// D17: a worker is held up past its lease, another takes the row; the late
// settle changes nothing and is counted.
func TestAWorkerHeldUpPastItsLease(t *testing.T) {
	reader := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	o := newOffice(t, 1, mailtest.Script{})
	h := &held{Deliverer: o.mail(smtp.Options{}), sending: make(chan sending, 2)}
	o.run(h)
	first := <-h.sending
	storetest.Exec(t, o.pool, `UPDATE outbox_events SET available_at = now() - interval '1 second' WHERE id = $1`, first.ID)
	if _, err := o.store.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := <-h.sending
	if second.ID != first.ID || second.Attempts != 2 {
		t.Fatalf("the second worker has %+v", second)
	}
	close(first.goOn)
	for fenced(t, reader) == 0 {
		if got := o.statuses(); got != "processing 2: 1" {
			t.Fatalf("the late settle changed the row: %s", got)
		}
	}
	o.expect("processing 2: 1")
	close(second.goOn)
	o.waitFor(allSettled)
	o.expect("delivered 2: 1")
	o.invariants(1)
	if n := fenced(t, reader); n != 1 {
		t.Errorf("%d fenced settles counted, want 1", n)
	}
}

// fenced reads the counter of late settles.
func fenced(t *testing.T, reader *metric.ManualReader) (n int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "ciclo.outbox.fenced" {
				for _, point := range sum.DataPoints {
					n += point.Value
				}
			}
		}
	}
	return n
}

// Stop lets what is being sent end and claims nothing more.
func TestStopEndsWhatIsBeingSent(t *testing.T) {
	o := newOffice(t, 30, mailtest.Script{})
	h := &held{Deliverer: o.mail(smtp.Options{}), sending: make(chan sending, 64)}
	r := o.run(h)
	e := <-h.sending
	stopped := make(chan error, 1)
	go func() { stopped <- r.Stop(context.WithoutCancel(t.Context())) }()
	close(e.goOn)
	for done := false; !done; {
		select {
		case e := <-h.sending: // claimed before the stop was heard
			close(e.goOn)
		case err := <-stopped:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		}
	}
	if n := storetest.One[int](t, o.pool, `SELECT count(*) FROM outbox_events WHERE status = 'processing'`); n != 0 {
		t.Errorf("%d rows were left behind", n)
	}
	if n := storetest.One[int64](t, o.pool, `SELECT count(*) FROM outbox_events WHERE status = 'delivered'`); n != h.sent.Load() || n == 30 {
		t.Errorf("%d delivered rows for %d messages sent; the stop came too late to tell", n, h.sent.Load())
	}
	// D13: a new process takes over; nothing is repeated, no attempt is lost
	o.run(o.mail(smtp.Options{}))
	o.waitFor(allSettled)
	o.expect("delivered 1: 30")
	o.invariants(0)
}
