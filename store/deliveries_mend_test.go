package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/store"
	"ciclo/store/storetest"
)

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
