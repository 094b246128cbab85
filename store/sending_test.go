package store_test

import (
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

// activated makes an active cycle that asks n reviewers.
func activated(t *testing.T, s *store.Store, company storetest.Company, name string, n int) (cycle int64) {
	t.Helper()
	cycle = company.Draft(t, name, n, n)
	if _, err := s.ActivateCycle(t.Context(), company.HR, cycle); err != nil {
		t.Fatal(err)
	}
	return cycle
}

func nextDue(t *testing.T, s *store.Store, tenant int64) bool {
	t.Helper()
	claim, err := s.ClaimNext(t.Context(), outbox.QueueMail, tenant, outbox.Event{})
	if err != nil {
		t.Fatal(err)
	}
	return claim.Found
}

func TestNothingIsClaimedWhileALaneIsPaused(t *testing.T) {
	s, pool, company := open(t, 6)
	activated(t, s, company, "A", 4)
	if err := s.PauseSending(t.Context(), company.HR, outbox.QueueMail, "texto errado"); err != nil {
		t.Fatal(err)
	}
	if nextDue(t, s, company.Tenant) {
		t.Error("a row was claimed from a paused lane")
	}
	storetest.Exec(t, pool, `UPDATE outbox_events SET available_at = now() - interval '1 minute' WHERE queue = 'mail'`)
	storetest.Exec(t, pool, `DELETE FROM river_job`)
	if swept, err := s.Sweep(t.Context()); err != nil || swept.Woken != 0 {
		t.Errorf("the sweep wakes %d drains of a paused lane (%v)", swept.Woken, err)
	}
	standing, err := s.OutboxStanding(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range standing {
		if q.Queue == outbox.QueueMail && q.OldestDue != 0 {
			t.Errorf("%s counts as due for %s while it is paused", q.Queue, q.OldestDue)
		}
	}
	st, err := s.Sending(t.Context(), company.HR)
	if err != nil {
		t.Fatal(err)
	}
	if p, paused := st.Paused(outbox.QueueMail); !paused || p.By != company.HR.Name || p.Reason != "texto errado" {
		t.Errorf("the pause reads %+v", p)
	}
	stranger := storetest.NewCompany(t, pool, "Outra", 3)
	if st, err := s.Sending(t.Context(), stranger.HR); err != nil || len(st.Pauses) != 0 {
		t.Errorf("another organisation sees %v (%v)", st.Pauses, err)
	}
	if err := s.ResumeSending(t.Context(), company.HR, outbox.QueueMail); err != nil {
		t.Fatal(err)
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM river_job WHERE kind = 'outbox_drain' AND queue = 'mail'`); n != 1 {
		t.Errorf("%d drains after resuming, want 1 for four rows", n)
	}
	if !nextDue(t, s, company.Tenant) {
		t.Error("nothing is claimed after resuming")
	}
}

func TestOnePauseAtATime(t *testing.T) {
	s, pool, company := open(t, 4)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = s.PauseSending(t.Context(), company.HR, outbox.QueueMail, "parar") })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case fault.KindOf(err) != fault.Conflict:
			t.Errorf("the loser is told %v", err)
		}
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM audit_entries WHERE act = 'sending.paused'`); won != 1 || n != 1 {
		t.Errorf("%d paused and %d are on record, want 1 and 1", won, n)
	}
	for range 2 {
		errs[0] = s.ResumeSending(t.Context(), company.HR, outbox.QueueMail)
	}
	if fault.KindOf(errs[0]) != fault.Conflict {
		t.Errorf("resuming twice answers %v", errs[0])
	}
}

func TestPauseRefusesWhatSaysNothing(t *testing.T) {
	s, _, company := open(t, 4)
	for _, tt := range []struct {
		lane, reason string
		by           policy.Actor
		want         fault.Kind
	}{
		{outbox.QueueMail, " \n", company.HR, fault.Invalid},
		{outbox.QueueMail, strings.Repeat("á", 501), company.HR, fault.Invalid},
		{outbox.QueueHandout, "porque sim", company.HR, fault.NotFound},
		{outbox.QueueMail, "porque sim", company.Actor(2), fault.Forbidden},
	} {
		if err := s.PauseSending(t.Context(), tt.by, tt.lane, tt.reason); fault.KindOf(err) != tt.want {
			t.Errorf("pause %s with %q: %v, want kind %v", tt.lane, tt.reason, err, tt.want)
		}
	}
}

// C8: sending paused, activated, cancelled, resumed.
func TestCancelledWhilePausedSendsNothing(t *testing.T) {
	s, pool, company := open(t, 6)
	if err := s.PauseSending(t.Context(), company.HR, outbox.QueueMail, "conferir"); err != nil {
		t.Fatal(err)
	}
	cycle := activated(t, s, company, "A", 4)
	if _, err := s.CancelCycle(t.Context(), company.HR, cycle, "engano"); err != nil {
		t.Fatal(err)
	}
	if err := s.ResumeSending(t.Context(), company.HR, outbox.QueueMail); err != nil {
		t.Fatal(err)
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM outbox_events WHERE cycle_id = $1 AND event_type = 'evaluation.assigned' AND status = 'cancelled'`, cycle); n != 4 {
		t.Errorf("%d of 4 invitations are cancelled", n)
	}
	if nextDue(t, s, company.Tenant) {
		t.Error("something leaves although the cycle was cancelled before anybody was asked")
	}
}

func hold(t *testing.T, pool *pgxpool.Pool, company storetest.Company, minutes int) {
	t.Helper()
	storetest.Exec(t, pool, `UPDATE tenants SET hold_minutes = $2 WHERE id = $1`, company.Tenant, minutes)
}

func TestHeldActivationLeavesLaterAndCanBeUndone(t *testing.T) {
	s, pool, company := open(t, 6)
	hold(t, pool, company, 10)
	cycle := activated(t, s, company, "A", 4)
	if nextDue(t, s, company.Tenant) {
		t.Error("a held message was claimed")
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM river_job WHERE kind = 'outbox_drain' AND state = 'scheduled' AND scheduled_at > now() + interval '9 minutes'`); n != 1 {
		t.Errorf("%d drains come when the hold ends, want 1", n)
	}
	if err := s.UndoActivation(t.Context(), company.HR, cycle); err != nil {
		t.Fatal(err)
	}
	if got := at(t, pool, cycle); got.Cycle != "draft" || got.Planned != 4 || got.Pending != 0 || got.Events != 0 {
		t.Errorf("after undoing: %+v", got)
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM activations WHERE cycle_id = $1 AND undone_by IS NOT NULL`, cycle); n != 1 {
		t.Errorf("%d undone activations on record, want 1", n)
	}
	hold(t, pool, company, 0)
	receipt, err := s.ActivateCycle(t.Context(), company.HR, cycle)
	if err != nil || receipt.Events != 4 || receipt.Number != 2 {
		t.Errorf("activated again: %+v, %v; want everybody asked once more", receipt, err)
	}
}

// Whoever asks for a lost link is unknown: they do not get it before the hold
// ends, and with it the activation could not be undone any more.
func TestALostLinkWaitsForTheEndOfTheHold(t *testing.T) {
	s, pool, company := open(t, 6)
	hold(t, pool, company, 10)
	cycle := activated(t, s, company, "A", 4)
	address := storetest.One[string](t, pool, `SELECT p.email::text FROM people p JOIN evaluations e ON e.reviewer_id = p.id WHERE e.cycle_id = $1 LIMIT 1`, cycle)
	ask := func() (links int) {
		t.Helper()
		if err := s.SendLostLinks(t.Context(), address, netip.MustParseAddr("192.0.2.1")); err != nil {
			t.Fatal(err)
		}
		return storetest.One[int](t, pool, `SELECT count(*) FROM outbox_events WHERE event_type = 'link.again'`)
	}
	if n := ask(); n != 0 {
		t.Errorf("%d links are owed while the activation is held", n)
	}
	storetest.Exec(t, pool, `UPDATE outbox_events SET available_at = now()`)
	if n := ask(); n != 1 {
		t.Errorf("%d links are owed after the hold, want 1", n)
	}
	storetest.Exec(t, pool, `DELETE FROM outbox_events WHERE event_type = 'link.again'`)
	if err := s.UndoActivation(t.Context(), company.HR, cycle); err != nil {
		t.Errorf("undo: %v", err)
	}
}

// Who rehearsed with care sent themselves the mail first: that asked nobody.
func TestASampleDoesNotStandInTheWayOfUndoing(t *testing.T) {
	for _, status := range []string{"pending", "delivered"} {
		t.Run(status, func(t *testing.T) {
			s, pool, company := open(t, 6)
			hold(t, pool, company, 10)
			cycle := activated(t, s, company, "A", 4)
			storetest.Exec(t, pool, `
				INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, status, attempts, delivered_at)
				SELECT tenant_id, queue, 'invitation.sample', aggregate_id, payload || jsonb_build_object('cycle_id', cycle_id), $2, CASE $2 WHEN 'delivered' THEN 1 ELSE 0 END, CASE $2 WHEN 'delivered' THEN now() END
				FROM outbox_events
				WHERE cycle_id = $1
				LIMIT 1`, cycle, status)
			if r, err := s.Receipt(t.Context(), company.HR, cycle); err != nil || !r.Undoable {
				t.Errorf("the record does not offer it: %v", err)
			}
			if err := s.UndoActivation(t.Context(), company.HR, cycle); err != nil {
				t.Fatal(err)
			}
			if got := at(t, pool, cycle); got.Cycle != "draft" || got.Planned != 4 || got.Events != 1 {
				t.Errorf("after undoing: %+v, want only the sample to stay", got)
			}
		})
	}
}

func TestUndoIsRefusedOnceAnythingHasLeft(t *testing.T) {
	for name, happens := range map[string]func(*testing.T, *store.Store, *pgxpool.Pool, storetest.Company, int64){
		"a message is claimed": func(t *testing.T, s *store.Store, _ *pgxpool.Pool, c storetest.Company, _ int64) {
			claimOne(t, s, c.Tenant)
		},
		"a message failed and waits": func(t *testing.T, s *store.Store, _ *pgxpool.Pool, c storetest.Company, _ int64) {
			if _, _, err := s.SettleFailed(t.Context(), claimOne(t, s, c.Tenant), outbox.Attempt{Class: outbox.Temporary, Cause: outbox.CauseSlow, Error: "450"}); err != nil {
				t.Fatal(err)
			}
		},
		"a review is begun": func(t *testing.T, _ *store.Store, pool *pgxpool.Pool, _ storetest.Company, cycle int64) {
			storetest.Exec(t, pool, `UPDATE evaluations SET state = 'in_progress', started_at = now() WHERE id = (SELECT min(id) FROM evaluations WHERE cycle_id = $1)`, cycle)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, pool, company := open(t, 6)
			cycle := activated(t, s, company, "A", 4)
			happens(t, s, pool, company, cycle)
			before := at(t, pool, cycle)
			if err := s.UndoActivation(t.Context(), company.HR, cycle); fault.KindOf(err) != fault.Conflict {
				t.Errorf("undone all the same: %v", err)
			}
			if after := at(t, pool, cycle); after != before {
				t.Errorf("%+v became %+v", before, after)
			}
		})
	}
}

// Whoever comes first wins: either the message leaves and the cycle stays
// active, or nothing leaves.
func TestUndoAgainstAClaim(t *testing.T) {
	s, pool, company := open(t, 6)
	for round := range 20 {
		cycle := activated(t, s, company, "A"+strings.Repeat("a", round), 3)
		var wg sync.WaitGroup
		var claimed bool
		var undo error
		wg.Go(func() { undo = s.UndoActivation(t.Context(), company.HR, cycle) })
		wg.Go(func() {
			claim, err := s.ClaimNext(t.Context(), outbox.QueueMail, company.Tenant, outbox.Event{})
			if err != nil {
				t.Error(err)
			}
			claimed = claim.Found
		})
		wg.Wait()
		if claimed == (undo == nil) {
			t.Fatalf("round %d: claimed %t, undo says %v", round, claimed, undo)
		}
		want := "draft"
		if claimed {
			want = "active"
		}
		if got := at(t, pool, cycle); got.Cycle != want {
			t.Fatalf("round %d: %+v, want it %s", round, got, want)
		}
		storetest.Exec(t, pool, `UPDATE outbox_events SET status = 'delivered', delivered_at = now() WHERE status IN ('pending', 'processing')`)
	}
}

func TestSilentWorkersAreNoticed(t *testing.T) {
	s, pool, company := open(t, 4)
	silent := func() bool {
		st, err := s.Sending(t.Context(), company.HR)
		if err != nil {
			t.Fatal(err)
		}
		return st.Silent
	}
	if !silent() {
		t.Error("no worker was ever there, and nobody notices")
	}
	for range 2 {
		if err := s.Beat(t.Context(), "one", []string{outbox.QueueMail, outbox.QueueMailNow}); err != nil {
			t.Fatal(err)
		}
	}
	if silent() {
		t.Error("a worker beats, and is not heard")
	}
	storetest.Exec(t, pool, `UPDATE worker_heartbeats SET beat_at = now() - interval '61 seconds'`)
	if !silent() {
		t.Error("the last beat is a minute old, and nobody notices")
	}
	if err := s.EndBeats(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM worker_heartbeats`); n != 0 {
		t.Errorf("%d beats of a process that has stopped", n)
	}
}

func TestPeopleAreToldOfFailuresOnce(t *testing.T) {
	s, pool, company := open(t, 6)
	activated(t, s, company, "A", 4)
	storetest.Exec(t, pool, `UPDATE outbox_events SET status = 'failed', last_error = '550', attempts = 1, updated_at = now() - interval '3 minutes' WHERE id IN (SELECT id FROM outbox_events LIMIT 2)`)
	want := storetest.One[int](t, pool, `
		SELECT count(*) FROM people p
		WHERE email IS NOT NULL AND (EXISTS (SELECT FROM grants g WHERE g.person_id = p.id AND role = 'admin') OR EXISTS (SELECT FROM cycles c WHERE c.owner_id = p.id))`)
	if want == 0 {
		t.Fatal("nobody can mend messages here")
	}
	var told [4]int
	var wg sync.WaitGroup
	for i := range told {
		wg.Go(func() {
			n, err := s.TellOfFailed(t.Context())
			if err != nil {
				t.Error(err)
			}
			told[i] = n
		})
	}
	wg.Wait()
	if sum := told[0] + told[1] + told[2] + told[3]; sum != want {
		t.Errorf("%v mails, want %d in all", told, want)
	}
	if n := storetest.One[string](t, pool, `SELECT DISTINCT payload ->> 'number' FROM outbox_events WHERE event_type = 'messages.failed'`); n != "2" {
		t.Errorf("they are told of %s messages, want 2", n)
	}
	storetest.Exec(t, pool, `UPDATE outbox_events SET updated_at = now() - interval '3 minutes', created_at = now() - interval '5 minutes'`)
	if n, err := s.TellOfFailed(t.Context()); err != nil || n != 0 {
		t.Errorf("told again within the hour: %d (%v)", n, err)
	}
	storetest.Exec(t, pool, `UPDATE outbox_events SET created_at = now() - interval '2 hours' WHERE event_type = 'messages.failed'`)
	if n, err := s.TellOfFailed(t.Context()); err != nil || n != want {
		t.Errorf("after an hour %d are told of new failures (%v), want %d", n, err, want)
	}
}
