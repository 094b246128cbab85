package store_test

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

func TestRemindingByHandOnceInSixHours(t *testing.T) {
	n := newNight(t)
	ctx, hr, people := t.Context(), n.company.HR, n.company.People
	for _, id := range n.reviews(0) {
		if err := n.submit(0, id); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Exec(t, n.pool, `UPDATE people SET email = NULL WHERE id = $1`, people[1])
	var sent []int
	var mu sync.Mutex
	eight(t, func() error {
		done, err := n.RemindReviewers(ctx, hr, n.cycle, people[0:4])
		if err == nil && (done.Finished != 1 || done.Silent != 1 || done.Sent+done.Recently != 2) {
			t.Errorf("reminded %+v", done)
		}
		mu.Lock()
		sent = append(sent, done.Sent)
		mu.Unlock()
		return err
	})
	slices.Sort(sent)
	if !slices.Equal(sent, []int{0, 0, 0, 0, 0, 0, 0, 2}) || !slices.Equal(n.events(outbox.EvaluationReminder), people[2:4]) {
		t.Errorf("sent %v to %v", sent, n.events(outbox.EvaluationReminder))
	}
	storetest.Exec(t, n.pool, `UPDATE outbox_events SET created_at = now() - interval '7 hours' WHERE event_type = 'evaluation.reminder'`)
	done, err := n.RemindReviewers(ctx, hr, n.cycle, nil)
	if err != nil || done.Sent != 4 {
		t.Errorf("seven hours later %+v (%v)", done, err)
	}
	n.due(time.Now().Add(-time.Minute))
	storetest.Exec(t, n.pool, `UPDATE outbox_events SET created_at = now() - interval '7 hours' WHERE event_type = 'evaluation.reminder'`)
	done, err = n.RemindReviewers(ctx, hr, n.cycle, nil)
	if err != nil || done.Sent != 0 || done.Late != 4 {
		t.Errorf("after the deadline %+v (%v)", done, err)
	}
	if l := n.letter(outbox.EvaluationReminder, 2); l.Over() != outbox.ReasonDeadlineOver {
		t.Errorf("a reminder that is still in the queue then: %q", l.Over())
	}
}

// Case C7: the worker, and with it the rule, was away for 48 hours.
func TestTheRuleRemindsEachUnfinishedReviewerOnce(t *testing.T) {
	n := newNight(t)
	ctx := t.Context()
	long := func() {
		storetest.Exec(t, n.pool, `UPDATE outbox_events SET created_at = created_at - interval '20 days'`)
	}
	long()
	if owed, err := n.RemindByRule(ctx); err != nil || owed != 0 {
		t.Fatalf("a month ahead %d (%v)", owed, err)
	}
	n.due(time.Now().Add(24 * time.Hour)) // "three days left" was two days ago
	for _, id := range n.reviews(0) {
		if err := n.submit(0, id); err != nil {
			t.Fatal(err)
		}
	}
	off := n.company.Draft(t, "Sem lembretes", 4, 2)
	if _, err := n.ActivateCycle(ctx, n.company.HR, off); err != nil {
		t.Fatal(err)
	}
	long()
	storetest.Exec(t, n.pool, `UPDATE cycles SET reminds = false, due_at = now() + interval '1 day' WHERE id = $1`, off)
	eight(t, func() error { _, err := n.RemindByRule(ctx); return err })
	if got, want := n.events(outbox.EvaluationReminder), n.company.People[1:6]; !slices.Equal(got, want) {
		t.Fatalf("reminded %v, want %v", got, want)
	}
	for _, id := range n.reviews(1) { // while the reminder waits
		if err := n.submit(1, id); err != nil {
			t.Fatal(err)
		}
	}
	if l := n.letter(outbox.EvaluationReminder, 1); l.Over() != outbox.ReasonNothingLeft {
		t.Errorf("the finished one's reminder: %q", l.Over())
	}
	if l := n.letter(outbox.EvaluationReminder, 2); l.Over() != "" {
		t.Errorf("an unfinished one's reminder: %q", l.Over())
	}
	n.due(time.Now().Add(-time.Hour))
	if owed, err := n.RemindByRule(ctx); err != nil || owed != 0 {
		t.Errorf("after the deadline %d (%v)", owed, err)
	}
	// a new deadline is reminded of anew, for the one who has it
	if _, err := n.ExtendDeadline(ctx, n.company.HR, n.cycle, store.NewDeadline{Wall: wall(time.Now().Add(48 * time.Hour)), People: n.company.People[2:3]}); err != nil {
		t.Fatal(err)
	}
	if owed, err := n.RemindByRule(ctx); err != nil || owed != 0 {
		t.Errorf("who has just been told of the deadline: %d (%v)", owed, err)
	}
	long()
	if owed, err := n.RemindByRule(ctx); err != nil || owed != 1 {
		t.Errorf("reminded of the new deadline: %d (%v)", owed, err)
	}
}

func TestTheLinkIsSentAgainOnceForEightPresses(t *testing.T) {
	n := newNight(t)
	ctx, hr, people := t.Context(), n.company.HR, n.company.People
	worked := eight(t, func() error { _, err := n.SendLinkAgain(ctx, hr, n.cycle, people[2]); return err })
	if worked != 1 || !slices.Equal(n.events(outbox.LinkAgain), people[2:3]) {
		t.Errorf("%d sent, to %v", worked, n.events(outbox.LinkAgain))
	}
	if got := storetest.One[string](t, n.pool, `SELECT queue FROM outbox_events WHERE event_type = 'link.again'`); got != outbox.QueueMailNow {
		t.Errorf("it goes by %s", got)
	}
	for _, id := range n.reviews(3) {
		if err := n.submit(3, id); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Exec(t, n.pool, `UPDATE people SET email = NULL WHERE id = $1`, people[4])
	for _, tt := range []struct {
		name   string
		by     policy.Actor
		person int64
		want   fault.Kind
	}{
		{"who has nothing left", hr, people[3], fault.Conflict},
		{"who has no address", hr, people[4], fault.Conflict},
		{"who reviews nobody here", hr, people[9], fault.NotFound},
		{"by an employee", n.company.Actor(5), people[5], fault.Forbidden},
	} {
		_, err := n.SendLinkAgain(ctx, tt.by, n.cycle, tt.person)
		expect(t, tt.name, err, tt.want)
	}
}

func TestALostLinkIsSentForEveryRunningCycleAndNotInHeaps(t *testing.T) {
	n := newNight(t)
	ctx := t.Context()
	second := n.company.Draft(t, "Segundo", 4, 4)
	if _, err := n.ActivateCycle(ctx, n.company.HR, second); err != nil {
		t.Fatal(err)
	}
	address := storetest.One[string](t, n.pool, `SELECT email::text FROM people WHERE id = $1`, n.company.People[2])
	eight(t, func() error { return n.SendLostLinks(ctx, address, netip.MustParseAddr("192.0.2.1")) })
	if got := n.events(outbox.LinkAgain); len(got) != 2 {
		t.Fatalf("sent to %v", got)
	}
	storetest.Exec(t, n.pool, `UPDATE outbox_events SET created_at = now() - interval '10 minutes'`)
	if err := n.SendLostLinks(ctx, address, netip.MustParseAddr("192.0.2.2")); err != nil || len(n.events(outbox.LinkAgain)) != 2 {
		t.Errorf("a ninth time within the hour: %v (%v)", n.events(outbox.LinkAgain), err)
	}
	storetest.Exec(t, n.pool, `UPDATE lost_link_requests SET since = now() - interval '61 minutes'`)
	if err := n.SendLostLinks(ctx, address, netip.MustParseAddr("192.0.2.2")); err != nil || len(n.events(outbox.LinkAgain)) != 4 {
		t.Errorf("an hour later: %v (%v)", n.events(outbox.LinkAgain), err)
	}
	for range 70 {
		if err := n.SendLostLinks(ctx, "ninguem@example.test", netip.MustParseAddr("192.0.2.9")); err != nil {
			t.Fatal(err)
		}
	}
	other := storetest.One[string](t, n.pool, `SELECT email::text FROM people WHERE id = $1`, n.company.People[3])
	if err := n.SendLostLinks(ctx, other, netip.MustParseAddr("192.0.2.9")); err != nil || len(n.events(outbox.LinkAgain)) != 4 {
		t.Errorf("from a place that asks in heaps: %v (%v)", n.events(outbox.LinkAgain), err)
	}
}

// A customer of IPv6 has more addresses than anybody can count.
func TestLostLinksAreCountedByNetwork(t *testing.T) {
	n := newNight(t)
	for i := range 61 {
		if err := n.SendLostLinks(t.Context(), "ninguem@example.test", netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i+1))); err != nil {
			t.Fatal(err)
		}
	}
	known := storetest.One[string](t, n.pool, `SELECT email::text FROM people WHERE id = $1`, n.company.People[2])
	if err := n.SendLostLinks(t.Context(), known, netip.MustParseAddr("2001:db8::ffff")); err != nil || len(n.events(outbox.LinkAgain)) != 0 {
		t.Errorf("from one more address of the network: %v (%v)", n.events(outbox.LinkAgain), err)
	}
	if err := n.SendLostLinks(t.Context(), known, netip.MustParseAddr("2001:db8:0:1::1")); err != nil || len(n.events(outbox.LinkAgain)) != 1 {
		t.Errorf("from another network: %v (%v)", n.events(outbox.LinkAgain), err)
	}
}
