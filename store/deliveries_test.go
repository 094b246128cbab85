package store_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestRetryGrantsFiveMoreAndWakes(t *testing.T) {
	s, pool, c := open(t, 4)
	_, events := asked(t, s, pool, c, "Ciclo", 2)
	if err := s.RetryMessage(t.Context(), c.HR, events[0]); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a message that waits was sent again: %v", err)
	}
	try(t, s, pool, c, events[0], noMailbox)
	before := drains(t, pool)
	if err := s.RetryMessage(t.Context(), c.HR, events[0]); err != nil {
		t.Fatal(err)
	}
	if got, want := row(t, pool, events[0]), "pending 1/6 mail"; got != want {
		t.Errorf("the row is %q, want %q", got, want)
	}
	if due := storetest.One[bool](t, pool, `SELECT available_at <= now() FROM outbox_events WHERE id = $1`, events[0]); !due {
		t.Error("the row is not due")
	}
	if got := drains(t, pool) - before; got != 1 {
		t.Errorf("%d drains woken, want 1", got)
	}
	if diff := cmp.Diff([]string{"message.retried"}, deeds(t, pool, events[0])); diff != "" {
		t.Error(diff)
	}
}

func TestEightRetriesAreOneGrant(t *testing.T) {
	s, pool, c := open(t, 4)
	_, events := asked(t, s, pool, c, "Ciclo", 1)
	try(t, s, pool, c, events[0], noMailbox)
	before := drains(t, pool)
	for name, act := range map[string]func() error{
		"one":      func() error { return s.RetryMessage(t.Context(), c.HR, events[0]) },
		"chosen":   func() error { _, err := s.RetryMessages(t.Context(), c.Admin, events); return err },
		"matching": func() error { _, err := s.RetryMatching(t.Context(), c.HR, outbox.Filter{}); return err },
	} {
		storetest.Exec(t, pool, `UPDATE outbox_events SET status = 'failed', max_attempts = attempts, last_error = 'x' WHERE id = $1`, events[0])
		if won, lost := race(8, act); won != 1 || lost != 7 {
			t.Errorf("%s: %d won and %d met a conflict, want 1 and 7", name, won, lost)
		}
		if got, want := row(t, pool, events[0]), "pending 1/6 mail"; got != want {
			t.Errorf("%s: the row is %q, want %q", name, got, want)
		}
	}
	if got := drains(t, pool) - before; got != 3 {
		t.Errorf("%d drains woken, want one for each grant", got)
	}
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

func TestRetryMatchingTakesExactlyWhatTheFilterShows(t *testing.T) {
	s, pool, c := open(t, 20)
	cycle, events := asked(t, s, pool, c, "Ciclo", 12)
	other, others := asked(t, s, pool, c, "Outro", 3)
	fail := func(cause outbox.Cause, ids ...int64) {
		storetest.Exec(t, pool, `UPDATE outbox_events SET status = 'failed', attempts = 5, last_error = 'x', cause = $2 WHERE id = ANY ($1)`, ids, cause)
	}
	fail(outbox.CauseAddress, events[0], events[1], others[0])
	fail(outbox.CauseMailboxFull, events[2], events[3], events[4])
	for _, tt := range []struct {
		name   string
		filter outbox.Filter
		want   int
		dead   int
	}{
		{"all", outbox.Filter{}, 6, 3},
		{"of a cycle", outbox.Filter{CycleID: cycle}, 5, 2},
		{"of the other", outbox.Filter{CycleID: other}, 1, 1},
		{"of a cause", outbox.Filter{Cause: outbox.CauseMailboxFull}, 3, 0},
		{"but the dead", outbox.Filter{Except: outbox.CauseAddress}, 3, 0},
		{"by name", outbox.Filter{Q: "ANA 1"}, 2, 2},
		{"by address", outbox.Filter{Q: "p3@"}, 1, 0},
		{"by a wildcard that is none", outbox.Filter{Q: "%"}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, err := s.Messages(t.Context(), c.HR, withState(tt.filter, outbox.StateFailed))
			if err != nil || page.Matching != tt.want || len(page.Rows) != tt.want || page.Dead != tt.dead {
				t.Fatalf("the page shows %d of %d with %d dead (%v), want %d with %d", len(page.Rows), page.Matching, page.Dead, err, tt.want, tt.dead)
			}
			n, err := s.RetryMatching(t.Context(), c.HR, tt.filter)
			if n != tt.want || (tt.want == 0) != (fault.KindOf(err) == fault.Conflict) {
				t.Errorf("%d sent again (%v), want %d", n, err, tt.want)
			}
			fail(outbox.CauseAddress, events[0], events[1], others[0])
			fail(outbox.CauseMailboxFull, events[2], events[3], events[4])
		})
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM outbox_events WHERE status = 'pending' AND max_attempts <> 5`); n != 0 {
		t.Errorf("%d messages that had not failed were touched", n)
	}
}

func withState(f outbox.Filter, s outbox.State) outbox.Filter { f.State = s; return f }

func TestRetryAllWakesAsManyDrainsAsItIsWorth(t *testing.T) {
	s, pool, c := open(t, 3)
	owe(t, pool, c, 250)
	storetest.Exec(t, pool, `UPDATE outbox_events SET status = 'failed', attempts = 5, last_error = 'x', cause = 'other'`)
	before := drains(t, pool)
	if n, err := s.RetryMatching(t.Context(), c.Admin, outbox.Filter{}); n != 250 || err != nil {
		t.Fatalf("%d sent again (%v)", n, err)
	}
	if got := drains(t, pool) - before; got != 3 {
		t.Errorf("%d drains woken, want 3", got)
	}
	if got := storetest.One[int](t, pool, `SELECT count(*) FROM audit_entries WHERE act = 'message.retried'`); got != 250 {
		t.Errorf("%d audit entries, want one for each", got)
	}
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

func TestCancelByState(t *testing.T) {
	s, pool, c := open(t, 8)
	_, events := asked(t, s, pool, c, "Ciclo", 4)
	try(t, s, pool, c, events[1], noMailbox)
	delivered := claimID(t, s, pool, c, events[2])
	if ours, err := s.SettleDelivered(t.Context(), delivered); !ours || err != nil {
		t.Fatal(ours, err)
	}
	claimID(t, s, pool, c, events[3])
	for _, tt := range []struct {
		name  string
		id    int64
		why   string
		want  fault.Kind
		row   string
		again fault.Kind
	}{
		{"without a reason", events[0], " ", fault.Invalid, "pending 0/5 mail", fault.Invalid},
		{"with an endless reason", events[0], strings.Repeat("é", 501), fault.Invalid, "pending 0/5 mail", fault.Invalid},
		{"pending", events[0], "saiu da empresa", fault.None, "cancelled 0/5 mail", fault.Conflict},
		{"failed", events[1], "avisada por telefone", fault.None, "cancelled 1/5 mail", fault.Conflict},
		{"delivered", events[2], "tarde", fault.Conflict, "delivered 1/5 mail", fault.Conflict},
		{"processing", events[3], "endereço errado", fault.None, "processing 1/5 mail cancel asked", fault.Conflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.CancelMessage(t.Context(), c.HR, tt.id, tt.why)
			expect(t, "cancel", err, tt.want)
			_, err = s.CancelMessage(t.Context(), c.HR, tt.id, tt.why)
			expect(t, "cancel again", err, tt.again)
			if got := row(t, pool, tt.id); got != tt.row {
				t.Errorf("the row is %q, want %q", got, tt.row)
			}
		})
	}
	if err := s.RetryMessage(t.Context(), c.HR, events[0]); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a cancelled message was sent again: %v", err)
	}
	if won, lost := race(8, func() error {
		_, err := s.CancelMessage(t.Context(), c.HR, asLeft(t, pool, events[1]), "uma vez")
		return err
	}); won != 1 || lost != 7 {
		t.Errorf("%d cancelled and %d met a conflict, want 1 and 7", won, lost)
	}
}

var once sync.Map

// asLeft makes a message failed again, once a test.
func asLeft(t *testing.T, pool *pgxpool.Pool, id int64) int64 {
	if _, done := once.LoadOrStore(t.Name(), true); !done {
		storetest.Exec(t, pool, `UPDATE outbox_events SET status = 'failed' WHERE id = $1`, id)
	}
	return id
}

// D22 at the store: what really happened is on the row, however it ended.
func TestCancelWhileBeingSentTellsWhatHappened(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name   string
		settle func(*store.Store, *pgxpool.Pool, outbox.Event) error
		row    string
		told   string
	}{
		{"the sender looked in time", func(s *store.Store, _ *pgxpool.Pool, e outbox.Event) error {
			inv, err := s.Letter(ctx, e, "k1")
			if err != nil || !inv.CancelRequested {
				return fmt.Errorf("the last look says %v, %v", inv.CancelRequested, err)
			}
			_, err = s.SettleCancelled(ctx, e, "cancel requested")
			return err
		}, "cancelled 1/5 mail cancel asked", "message.stop.in_time"},
		{"it had left", func(s *store.Store, _ *pgxpool.Pool, e outbox.Event) error {
			_, err := s.SettleDelivered(ctx, e)
			return err
		}, "delivered 1/5 mail cancel asked", "message.stop.too_late"},
		{"the server put it off", func(s *store.Store, _ *pgxpool.Pool, e outbox.Event) error {
			_, _, err := s.SettleFailed(ctx, e, later)
			return err
		}, "cancelled 1/5 mail cancel asked", "message.stop.in_time"},
		{"the server refused it", func(s *store.Store, _ *pgxpool.Pool, e outbox.Event) error {
			_, _, err := s.SettleFailed(ctx, e, noMailbox)
			return err
		}, "failed 1/5 mail cancel asked", "message.stop.refused"},
		{"nobody answered", func(s *store.Store, _ *pgxpool.Pool, e outbox.Event) error {
			_, _, err := s.SettleFailed(ctx, e, noAnswer)
			return err
		}, "cancelled 1/5 mail cancel asked", "message.stop.maybe"},
		{"its worker was lost", func(s *store.Store, pool *pgxpool.Pool, e outbox.Event) error {
			if _, err := pool.Exec(ctx, `UPDATE outbox_events SET available_at = now() - interval '1 second' WHERE id = $1`, e.ID); err != nil {
				return err
			}
			_, err := s.Sweep(ctx)
			return err
		}, "cancelled 1/5 mail cancel asked", "message.stop.maybe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, pool, c := open(t, 4)
			_, events := asked(t, s, pool, c, "Ciclo", 1)
			e := claimID(t, s, pool, c, events[0])
			if m, err := s.CancelMessage(t.Context(), c.HR, e.ID, "engano"); err != nil || m.Status != outbox.Processing || !m.CancelRequested {
				t.Fatalf("asked: %+v, %v", m, err)
			}
			if d, err := s.Message(t.Context(), c.HR, e.ID); err != nil || d.Stopped() != "message.stop.asked" {
				t.Errorf("meanwhile it says %q (%v)", d.Stopped(), err)
			}
			if err := tt.settle(s, pool, e); err != nil {
				t.Fatal(err)
			}
			if got := row(t, pool, e.ID); got != tt.row {
				t.Errorf("the row is %q, want %q", got, tt.row)
			}
			d, err := s.Message(t.Context(), c.HR, e.ID)
			if err != nil || d.Stopped() != tt.told || d.Reason != "engano" {
				t.Errorf("it says %q because %q (%v), want %q", d.Stopped(), d.Reason, err, tt.told)
			}
		})
	}
}

// D16: the link stays while every attempt was refused, and goes when one may
// have arrived.
func TestCorrectedAddressKeepsTheLinkOnlyIfNobodyCanHaveIt(t *testing.T) {
	for _, tt := range []struct {
		name    string
		before  func(*testing.T, *store.Store, *pgxpool.Pool, storetest.Company, int64)
		newLink bool
		row     string
	}{
		{"every attempt refused for good", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			try(t, s, pool, c, id, noMailbox)
		}, false, "pending 1/6 mail"},
		{"put off, then refused", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			try(t, s, pool, c, id, later)
			try(t, s, pool, c, id, noMailbox)
		}, false, "pending 2/7 mail"},
		{"no answer, then refused", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			try(t, s, pool, c, id, noAnswer)
			try(t, s, pool, c, id, noMailbox)
		}, true, "pending 2/7 mail"},
		{"a worker lost, then refused", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			e := claimID(t, s, pool, c, id)
			if _, err := s.Letter(t.Context(), e, "k1"); err != nil {
				t.Fatal(err)
			}
			storetest.Exec(t, pool, `UPDATE outbox_events SET available_at = now() - interval '1 second' WHERE id = $1`, id)
			if _, err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			try(t, s, pool, c, id, noMailbox)
		}, true, "pending 2/7 mail"},
		{"accepted", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			e := claimID(t, s, pool, c, id)
			if _, err := s.Letter(t.Context(), e, "k1"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.SettleDelivered(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}, true, "pending 1/6 mail"},
		{"opened by somebody", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			try(t, s, pool, c, id, noMailbox)
			storetest.Exec(t, pool, `UPDATE review_links SET opened_at = now()`)
		}, true, "pending 1/6 mail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, pool, c := open(t, 6)
			cycle, events := asked(t, s, pool, c, "Ciclo", 4)
			id, person := events[3], c.People[3]
			tt.before(t, s, pool, c, id)
			link := storetest.One[int64](t, pool, `SELECT id FROM review_links WHERE person_id = $1`, person)
			d, err := s.Message(t.Context(), c.HR, id)
			if err != nil || d.Link.Arrived != tt.newLink {
				t.Errorf("beforehand the page says arrived %v (%v), want %v", d.Link.Arrived, err, tt.newLink)
			}
			storetest.Exec(t, pool, `INSERT INTO sessions (token_hash, tenant_id, person_id, cycle_id, expires_at) VALUES (sha256('x'), $1, $2, $3, now() + interval '1 hour')`, c.Tenant, person, cycle)
			before := drains(t, pool)

			got, err := s.CorrectAddress(t.Context(), c.HR, id, " certo@example.test ")
			if err != nil || got != (outbox.Correction{Person: d.Person, Changed: true, NewLink: tt.newLink}) {
				t.Fatalf("CorrectAddress() = %+v, %v", got, err)
			}
			if got := row(t, pool, id); got != tt.row {
				t.Errorf("the row is %q, want %q", got, tt.row)
			}
			if got := storetest.One[string](t, pool, `SELECT email::text FROM people WHERE id = $1`, person); got != "certo@example.test" {
				t.Errorf("on file is %q", got)
			}
			if got := storetest.One[bool](t, pool, `SELECT revoked_at IS NOT NULL FROM review_links WHERE id = $1`, link); got != tt.newLink {
				t.Errorf("the old link is revoked: %v, want %v", got, tt.newLink)
			}
			if got := storetest.One[int](t, pool, `SELECT count(*) FROM sessions WHERE person_id = $1`, person) == 0; got != tt.newLink {
				t.Errorf("the session of the old link ended: %v, want %v", got, tt.newLink)
			}
			if n := drains(t, pool) - before; n != 2 { // one for the old address's notice
				t.Errorf("%d drains were woken", n)
			}
			// the relay's next attempt carries the same link, or a new one
			inv, err := s.Letter(t.Context(), claimID(t, s, pool, c, id), "k1")
			if err != nil || inv.Email != "certo@example.test" || (inv.Link.ID != link) != tt.newLink {
				t.Errorf("the next attempt goes to %q by link %d (was %d), %v", inv.Email, inv.Link.ID, link, err)
			}
			if n := storetest.One[int](t, pool, `SELECT count(*) FROM audit_entries WHERE act = 'person.address_corrected' AND object_id = $1`, person); n != 1 {
				t.Errorf("%d audit entries on the person, want 1", n)
			}
		})
	}
}

// A sender that is about to read an address which is being corrected waits for
// the new one: else it would send a link that stays good to the old one.
func TestASenderWaitsForTheAddressBeingCorrected(t *testing.T) {
	s, pool, c := open(t, 6)
	_, events := asked(t, s, pool, c, "Ciclo", 4)
	e := claimID(t, s, pool, c, events[3])
	if _, err := s.Letter(t.Context(), e, "k1"); err != nil {
		t.Fatal(err)
	}
	correcting, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = correcting.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := correcting.Exec(t.Context(), `UPDATE people SET email = 'certo@example.test' WHERE id = $1`, c.People[3]); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		store.Outgoing
		err error
	}
	read := make(chan answer, 1)
	go func() {
		inv, err := s.Letter(t.Context(), e, "k1")
		read <- answer{inv, err}
	}()
	waitFor(t, pool, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
	if err := correcting.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got.err != nil || got.Email != "certo@example.test" || !got.Ours {
		t.Errorf("the sender read %q, ours %v, %v", got.Email, got.Ours, got.err)
	}
}

func TestCorrectionRefused(t *testing.T) {
	s, pool, c := open(t, 8)
	_, events := asked(t, s, pool, c, "Ciclo", 5)
	id, person := events[3], c.People[3]
	try(t, s, pool, c, id, noMailbox)
	taken := storetest.One[string](t, pool, `SELECT email::text FROM people WHERE id = $1`, c.People[4])
	for _, tt := range []struct {
		name, email, key string
	}{
		{"empty", "", "fault.required"},
		{"no address", "certo.example.test", "message.address_wrong"},
		{"two", "a@b.test; c@d.test", "message.address_wrong"},
		{"a colleague's", strings.ToUpper(taken), "message.address_taken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.CorrectAddress(t.Context(), c.HR, id, tt.email)
			if f := fault.As(err); f == nil || f.Kind != fault.Invalid || f.Fields["email"].Key != tt.key {
				t.Errorf("refused with %v, want %s", err, tt.key)
			}
			if got := row(t, pool, id); got != "failed 1/5 mail" {
				t.Errorf("the row became %q", got)
			}
		})
	}
	// a role holder's address opens their account: only an admin, or they, may change it
	try(t, s, pool, c, events[0], noMailbox)
	if _, err := s.CorrectAddress(t.Context(), c.HR, events[0], "meu@example.test"); fault.As(err) == nil || fault.As(err).Fields["email"].Key != "message.address_of_role_holder" {
		t.Errorf("an HR manager changed the admin's address: %v", err)
	}
	if _, err := s.CorrectAddress(t.Context(), c.Admin, events[0], "ana@example.test"); err != nil {
		t.Errorf("the admin could not: %v", err)
	}
	claimID(t, s, pool, c, events[2])
	_, err := s.CorrectAddress(t.Context(), c.HR, events[2], "x@example.test")
	expect(t, "while it is being sent", err, fault.Conflict)
	// the same address only sends again, and keeps the link
	got, err := s.CorrectAddress(t.Context(), c.HR, id, storetest.One[string](t, pool, `SELECT email::text FROM people WHERE id = $1`, person))
	if err != nil || got.Changed || got.NewLink {
		t.Errorf("the same address: %+v, %v", got, err)
	}
	if got := row(t, pool, id); got != "pending 1/6 mail" {
		t.Errorf("the row is %q", got)
	}
}

func TestEightCorrectionsAreOne(t *testing.T) {
	s, pool, c := open(t, 6)
	_, events := asked(t, s, pool, c, "Ciclo", 4)
	try(t, s, pool, c, events[3], noMailbox)
	before := drains(t, pool)
	if won, lost := race(8, func() error {
		_, err := s.CorrectAddress(t.Context(), c.HR, events[3], "certo@example.test")
		return err
	}); won != 1 || lost != 7 {
		t.Errorf("%d corrected and %d met a conflict, want 1 and 7", won, lost)
	}
	if got := row(t, pool, events[3]); got != "pending 1/6 mail" || drains(t, pool)-before != 2 { // one for the old address's notice
		t.Errorf("the row is %q, %d drains woken", got, drains(t, pool)-before)
	}
	if diff := cmp.Diff([]string{"message.address_corrected"}, deeds(t, pool, events[3])); diff != "" {
		t.Error(diff)
	}
}

func TestHandOuts(t *testing.T) {
	s, pool, c := open(t, 6)
	storetest.Exec(t, pool, `UPDATE people SET email = NULL WHERE id = ANY ($1)`, c.People[2:4])
	_, events := asked(t, s, pool, c, "Ciclo", 4)
	if got := row(t, pool, events[2]); got != "pending 0/5 handout" {
		t.Fatalf("the row is %q", got)
	}
	if won, lost := race(8, func() error { return s.HandOver(t.Context(), c.HR, events[2]) }); won != 1 || lost != 7 {
		t.Errorf("%d handed over and %d met a conflict, want 1 and 7", won, lost)
	}
	if got := row(t, pool, events[2]); got != "delivered 0/5 handout" {
		t.Errorf("the row is %q", got)
	}
	if diff := cmp.Diff([]string{"message.handed_over"}, deeds(t, pool, events[2])); diff != "" {
		t.Error(diff)
	}
	expect(t, "hand a mail over", s.HandOver(t.Context(), c.HR, events[0]), fault.Conflict)
	_, err := s.CorrectAddress(t.Context(), c.HR, events[2], "x@example.test")
	expect(t, "mail what was handed over", err, fault.Conflict)
	// who gets an address gets mail
	if got, err := s.CorrectAddress(t.Context(), c.HR, events[3], "novo@example.test"); err != nil || !got.Changed || got.NewLink {
		t.Errorf("an address for who had none: %+v, %v", got, err)
	}
	if got := row(t, pool, events[3]); got != "pending 0/5 mail" {
		t.Errorf("the row is %q", got)
	}
	page, err := s.Messages(t.Context(), c.HR, outbox.Filter{State: outbox.StateHanded})
	if err != nil || len(page.Rows) != 1 {
		t.Fatalf("%d handed over (%v)", len(page.Rows), err)
	}
	want := map[outbox.State]int{outbox.StateHanded: 1, outbox.StateQueued: 3}
	if diff := cmp.Diff(want, page.Counts); diff != "" {
		t.Error(diff)
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
