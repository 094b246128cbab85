package store_test

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

// asked makes an active cycle of Bruno's that asks n reviewers, and answers
// their events in the order of the people.
func asked(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, name string, n int) (cycle int64, events []int64) {
	t.Helper()
	cycle = c.Draft(t, name, n, n)
	if _, err := s.ActivateCycle(t.Context(), c.HR, cycle); err != nil {
		t.Fatalf("activate %s: %v", name, err)
	}
	rows, _ := pool.Query(t.Context(), `SELECT id FROM outbox_events WHERE cycle_id = $1 ORDER BY person_id`, cycle)
	events, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(events) != n {
		t.Fatalf("%d events (%v), want %d", len(events), err, n)
	}
	return cycle, events
}

// claimID claims the company's events until the one with that id is in hand.
func claimID(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) outbox.Event {
	t.Helper()
	storetest.Exec(t, pool, `UPDATE outbox_events SET available_at = now() + CASE WHEN id = $1 THEN '-1 second' ELSE '1 hour' END::interval WHERE status = 'pending'`, id)
	e := claimOne(t, s, c.Tenant)
	if e.ID != id {
		t.Fatalf("claimed %d, want %d", e.ID, id)
	}
	return e
}

// try claims an event, makes its link as the sender does, and settles it as failed.
func try(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64, a outbox.Attempt) outbox.Status {
	t.Helper()
	e := claimID(t, s, pool, c, id)
	if _, err := s.Letter(t.Context(), e, "k1"); err != nil {
		t.Fatal(err)
	}
	status, ours, err := s.SettleFailed(t.Context(), e, a)
	if err != nil || !ours {
		t.Fatalf("settle %d: ours %v, %v", id, ours, err)
	}
	return status
}

var (
	noMailbox = outbox.Attempt{Class: outbox.Permanent, Cause: outbox.CauseAddress, Phase: "RCPT", Address: "p@errado.test", Error: "550 5.1.1 User unknown", Took: 400 * time.Millisecond}
	noAnswer  = outbox.Attempt{Class: outbox.Unknown, Cause: outbox.CauseUnknown, Phase: "DATA", Address: "p@errado.test", Error: "EOF after the end of data"}
	later     = outbox.Attempt{Class: outbox.Temporary, Cause: outbox.CauseSlow, Phase: "RCPT", Address: "p@errado.test", Error: "450 4.7.1 Greylisted"}
)

func row(t *testing.T, pool *pgxpool.Pool, id int64) string {
	t.Helper()
	return storetest.One[string](t, pool, `
		SELECT status || ' ' || attempts || '/' || max_attempts || ' ' || queue || CASE WHEN cancel_requested THEN ' cancel asked' ELSE '' END
		FROM outbox_events
		WHERE id = $1`, id)
}

func drains(t *testing.T, pool *pgxpool.Pool) int {
	t.Helper()
	return storetest.One[int](t, pool, `SELECT count(*) FROM river_job WHERE kind = 'outbox_drain'`)
}

func deeds(t *testing.T, pool *pgxpool.Pool, id int64) []string {
	t.Helper()
	rows, _ := pool.Query(t.Context(), `SELECT act FROM audit_entries WHERE object_type = 'message' AND object_id = $1 ORDER BY id`, id)
	acts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return acts
}

// race runs act in n goroutines at once and counts successes and conflicts.
func race(n int, act func() error) (won, lost int) {
	var wg sync.WaitGroup
	start, results := make(chan struct{}), make(chan error, n)
	for range n {
		wg.Go(func() { <-start; results <- act() })
	}
	close(start)
	wg.Wait()
	close(results)
	for err := range results {
		switch fault.KindOf(err) {
		case fault.None:
			won++
		case fault.Conflict:
			lost++
		}
	}
	return won, lost
}

// What an HR manager may see are the messages of the cycles they own; an admin
// sees all of the organisation, and nobody another's.
func TestMessagesAreSeenByWhomTheyConcern(t *testing.T) {
	s, pool, c := open(t, 6)
	foreign := storetest.NewCompany(t, pool, "Peroba", 4)
	cycle, events := asked(t, s, pool, c, "Ciclo", 2)
	try(t, s, pool, c, events[0], noMailbox)
	otherHR := c.Actor(2, policy.HRManager)
	for _, tt := range []struct {
		name string
		by   policy.Actor
		want fault.Kind
	}{
		{"the owner", c.HR, fault.None},
		{"an admin", c.Admin, fault.None},
		{"another HR manager", otherHR, fault.NotFound},
		{"a reviewer", c.Actor(3), fault.Forbidden},
		{"another organisation's admin", foreign.Admin, fault.NotFound},
		{"somebody by a review link", policy.Actor{TenantID: c.Tenant, PersonID: c.People[0], CycleID: cycle}, fault.Forbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, id := t.Context(), events[0]
			_, err := s.Message(ctx, tt.by, id)
			expect(t, "see", err, tt.want)
			_, err = s.Messages(ctx, tt.by, outbox.Filter{CycleID: cycle})
			expect(t, "see the cycle's", err, tt.want)
			if tt.want == fault.None {
				return
			}
			_, err = s.CancelMessage(ctx, tt.by, id, "porque sim")
			expect(t, "cancel", err, tt.want)
			_, err = s.CorrectAddress(ctx, tt.by, id, "novo@example.test")
			expect(t, "correct", err, tt.want)
			expect(t, "retry", s.RetryMessage(ctx, tt.by, id), tt.want)
			expect(t, "hand over", s.HandOver(ctx, tt.by, id), tt.want)
			_, err = s.RetryMessages(ctx, tt.by, []int64{id})
			expect(t, "retry chosen", err, tt.want)
			_, err = s.RetryMatching(ctx, tt.by, outbox.Filter{CycleID: cycle})
			expect(t, "retry the cycle's", err, tt.want)
			_, err = s.RetryMatching(ctx, tt.by, outbox.Filter{})
			if fault.KindOf(err) != tt.want && fault.KindOf(err) != fault.Conflict {
				t.Errorf("retry all of theirs: %v", err)
			}
			if got := row(t, pool, id); got != "failed 1/5 mail" {
				t.Errorf("the row became %q", got)
			}
		})
	}
	// one id that is not theirs refuses the others too
	if _, err := s.RetryMessages(t.Context(), c.HR, []int64{events[0], 999_999}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a forged id among the chosen: %v", err)
	}
	if got := row(t, pool, events[0]); got != "failed 1/5 mail" {
		t.Errorf("the row became %q", got)
	}
}

func expect(t *testing.T, what string, err error, want fault.Kind) {
	t.Helper()
	if got := fault.KindOf(err); got != want {
		t.Errorf("%s: %v (%v), want %v", what, got, err, want)
	}
}

func TestMessageTellsItsStory(t *testing.T) {
	s, pool, c := open(t, 6)
	cycle, events := asked(t, s, pool, c, "Ciclo", 2)
	try(t, s, pool, c, events[0], later)
	try(t, s, pool, c, events[0], noMailbox)
	if err := s.RetryMessage(t.Context(), c.Admin, events[0]); err != nil {
		t.Fatal(err)
	}
	d, err := s.Message(t.Context(), c.HR, events[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Tries) != 2 || d.Tries[1].Number != 2 || d.Tries[1].Class != outbox.Permanent || d.Tries[1].Phase != "RCPT" ||
		d.Tries[1].Took != 400*time.Millisecond || d.Tries[1].Address != "p@errado.test" || d.Tries[1].Error != noMailbox.Error {
		t.Errorf("the attempts are %+v", d.Tries)
	}
	if len(d.Deeds) != 1 || d.Deeds[0].By != "Ana 1" || d.Deeds[0].Act != "message.retried" {
		t.Errorf("the deeds are %+v", d.Deeds)
	}
	if d.Origin == nil || !regexp.MustCompile(`^ATV-\d{4}-0001$`).MatchString(d.Origin.Code) || d.Origin.By != "Bruno 2" {
		t.Errorf("the origin is %+v", d.Origin)
	}
	if !d.Link.Made || d.Link.Revoked || d.Link.OpenedAt != nil || d.Link.Over || d.Link.Arrived {
		t.Errorf("the link is %+v", d.Link)
	}
	if d.CycleID != cycle || d.Person != "Ana 1" || d.Locale != "pt-BR" || d.Evaluations != 1 || d.State() != outbox.StateRetrying || d.Cause != outbox.CauseAddress {
		t.Errorf("it is %+v", d)
	}
	if !strings.Contains(d.PrettyPayload(), "\n  \"cycle_id\": ") {
		t.Errorf("the payload is %s", d.PrettyPayload())
	}
}

func TestMessagesSortAndPage(t *testing.T) {
	s, pool, c := open(t, 60)
	_, events := asked(t, s, pool, c, "Ciclo", 60)
	storetest.Exec(t, pool, `UPDATE outbox_events SET updated_at = created_at + make_interval(secs => id) WHERE id = ANY ($1)`, events)
	read := func(f outbox.Filter) outbox.Messages {
		t.Helper()
		f.State = outbox.StateQueued
		page, err := s.Messages(t.Context(), c.Admin, f)
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	for _, tt := range []struct {
		name   string
		filter outbox.Filter
		page   int
		rows   int
		first  string
	}{
		{"newest first", outbox.Filter{}, 1, 25, "João 60"},
		{"oldest first", outbox.Filter{Sort: "last"}, 1, 25, "Ana 1"},
		{"by name", outbox.Filter{Sort: "name"}, 1, 25, "Ana 1"},
		{"by name, backwards", outbox.Filter{Sort: "-name"}, 1, 25, "João 60"},
		{"the last page", outbox.Filter{Sort: "last", Page: 3}, 3, 10, "Ana 51"},
		{"a page beyond the last", outbox.Filter{Sort: "last", Page: 900}, 3, 10, "Ana 51"},
		{"an order that is none", outbox.Filter{Sort: "1; DROP TABLE people"}, 1, 25, "João 60"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page := read(tt.filter)
			if page.Matching != 60 || page.Page != tt.page || len(page.Rows) != tt.rows || page.Rows[0].Person != tt.first {
				t.Errorf("page %d with %d of %d rows, first %s", page.Page, len(page.Rows), page.Matching, page.Rows[0].Person)
			}
		})
	}
}

// Three thousand messages cost as many statements as one, and failed ones are
// found by their own index.
func TestMessagesStayQuickWhenThereAreMany(t *testing.T) {
	s, pool, c := open(t, 3)
	counted := count(t, s, pool, c)
	few := counted()
	owe(t, pool, c, 3000)
	storetest.Exec(t, pool, `UPDATE outbox_events SET status = 'delivered', delivered_at = now(), attempts = 1`)
	storetest.Exec(t, pool, `UPDATE outbox_events SET status = 'failed', delivered_at = NULL, last_error = 'x', cause = 'address' WHERE id % 400 = 0`)
	storetest.Exec(t, pool, `VACUUM ANALYZE outbox_events`)
	storetest.Exec(t, pool, `VACUUM ANALYZE people`)
	if many := counted(); many != few {
		t.Errorf("%d statements with 3,000 messages, %d with none", many, few)
	}
	args := store.MatchingArgs(c.Admin, outbox.Filter{})
	plan := explain(t, pool, store.ListMessagesSQL, args)
	if !strings.Contains(plan, "outbox_events_failed_idx") || strings.Contains(plan, "Seq Scan on people") {
		t.Errorf("the failed ones are looked for everywhere:\n%s", plan)
	}
}

// count answers a function that reads the page and says how many statements that took.
func count(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company) func() int {
	t.Helper()
	var n int
	config := pool.Config().Copy()
	config.ConnConfig.Tracer = statements{&n}
	traced, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(traced.Close)
	st, err := store.New(traced)
	if err != nil {
		t.Fatal(err)
	}
	return func() int {
		t.Helper()
		n = 0
		if _, err := st.Messages(t.Context(), c.Admin, outbox.Filter{State: outbox.StateAccepted}); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

type statements struct{ n *int }

func (s statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	*s.n++
	return ctx
}

func (statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func explain(t *testing.T, pool *pgxpool.Pool, sql string, args pgx.NamedArgs) string {
	t.Helper()
	rows, _ := pool.Query(t.Context(), "EXPLAIN "+sql, args)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
