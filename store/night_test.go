package store_test

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

// night is a running cycle in which people[0..5] review one or two others each.
type night struct {
	*store.Store
	pool    *pgxpool.Pool
	company storetest.Company
	cycle   int64
	t       *testing.T
}

func newNight(t *testing.T) *night {
	t.Helper()
	s, pool, company := open(t, 12)
	n := &night{s, pool, company, company.Draft(t, "Ciclo 2026.2", 9, 6), t}
	if _, err := s.ActivateCycle(t.Context(), company.HR, n.cycle); err != nil {
		t.Fatal(err)
	}
	return n
}

// events lists whom messages of a kind are for, in order.
func (n *night) events(kind string) []int64 {
	n.t.Helper()
	return storetest.One[[]int64](n.t, n.pool, `
		SELECT coalesce(array_agg(person_id ORDER BY person_id, id), '{}')
		FROM outbox_events
		WHERE event_type = $1`, kind)
}

func (n *night) reviews(person int) []int64 {
	n.t.Helper()
	return storetest.One[[]int64](n.t, n.pool, `
		SELECT coalesce(array_agg(id ORDER BY id), '{}')
		FROM evaluations
		WHERE cycle_id = $1
		  AND reviewer_id = $2`, n.cycle, n.company.People[person])
}

func (n *night) state(id int64) string {
	n.t.Helper()
	return storetest.One[string](n.t, n.pool, `SELECT state || coalesce(' ' || state_reason, '') FROM evaluations WHERE id = $1`, id)
}

func (n *night) saying(text string) store.Said {
	return func(appraisal.FormContent) appraisal.Answers { return appraisal.Answers{"q1": {Text: text}} }
}

func (n *night) write(person int, id int64, text string) {
	n.t.Helper()
	if _, err := n.SaveDraft(n.t.Context(), n.company.Actor(person), id, 0, n.saying(text)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *night) submit(person int, id int64) error {
	n.t.Helper()
	_, err := n.SubmitEvaluation(n.t.Context(), n.company.Actor(person), id, 0, n.saying("Vai bem."))
	return err
}

func (n *night) due(at time.Time) {
	n.t.Helper()
	storetest.Exec(n.t, n.pool, `UPDATE cycles SET due_at = $2 WHERE id = $1`, n.cycle, at)
}

// wall is an instant as somebody in São Paulo writes it.
func wall(at time.Time) time.Time {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		panic(err)
	}
	return at.In(zone)
}

func (n *night) letter(kind string, person int) store.Outgoing {
	n.t.Helper()
	e := outbox.Event{TenantID: n.company.Tenant, Type: kind}
	err := n.pool.QueryRow(n.t.Context(), `
		SELECT id, payload
		FROM outbox_events
		WHERE event_type = $1
		  AND person_id = $2
		ORDER BY id DESC
		LIMIT 1`, kind, n.company.People[person]).Scan(&e.ID, &e.Payload)
	if err != nil {
		n.t.Fatal(err)
	}
	out, err := n.Letter(n.t.Context(), e, "k1")
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

// eight does the same at once eight times, and answers how often it worked.
func eight(t *testing.T, act func() error) (worked int) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 8 {
		wg.Go(func() {
			err := act()
			mu.Lock()
			defer mu.Unlock()
			switch fault.KindOf(err) {
			case fault.None:
				worked++
			case fault.Conflict, fault.Invalid, fault.NotFound:
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return worked
}

func TestExtendingTellsEveryUnfinishedReviewerOnce(t *testing.T) {
	n := newNight(t)
	ctx, hr := t.Context(), n.company.HR
	for _, id := range n.reviews(0) {
		if err := n.submit(0, id); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Exec(t, n.pool, `UPDATE people SET email = NULL WHERE id = $1`, n.company.People[1])
	before := storetest.One[time.Time](t, n.pool, `SELECT due_at FROM cycles WHERE id = $1`, n.cycle)
	until := before.Add(48 * time.Hour)
	done, err := n.ExtendDeadline(ctx, hr, n.cycle, store.NewDeadline{Wall: wall(until), Reason: "chuvas"})
	if err != nil {
		t.Fatal(err)
	}
	if done.Reviewers != 5 || done.Told != 4 || done.Silent != 1 {
		t.Errorf("extended %+v", done)
	}
	if got, want := n.events(outbox.EvaluationExtended), n.company.People[2:6]; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	l := n.letter(outbox.EvaluationExtended, 3)
	if !l.WasDue.Equal(before) || l.Due.Sub(until).Abs() > time.Minute || l.Reason != "chuvas" || l.Link == nil {
		t.Errorf("the letter says %v → %v (%q)", l.WasDue, l.Due, l.Reason)
	}
	// all at once once more: the same deadline is later for nobody
	worked := eight(t, func() error {
		_, err := n.ExtendDeadline(ctx, hr, n.cycle, store.NewDeadline{Wall: wall(until.Add(time.Hour))})
		return err
	})
	if worked != 1 || len(n.events(outbox.EvaluationExtended)) != 8 {
		t.Errorf("%d extensions, %d messages", worked, len(n.events(outbox.EvaluationExtended)))
	}
}

func TestADeadlineOfOnesOwnHoldsEverywhere(t *testing.T) {
	n := newNight(t)
	ctx, hr := t.Context(), n.company.HR
	n.due(time.Now().Add(-2 * time.Hour))
	mine, other := n.reviews(2)[0], n.reviews(3)[0]
	expect(t, "late", n.submit(2, mine), fault.Conflict)
	if _, err := n.ExtendDeadline(ctx, hr, n.cycle, store.NewDeadline{Wall: wall(time.Now().Add(3 * time.Hour)), People: n.company.People[2:3]}); err != nil {
		t.Fatal(err)
	}
	if got := n.events(outbox.EvaluationExtended); !slices.Equal(got, n.company.People[2:3]) {
		t.Errorf("told %v", got)
	}
	r, err := n.Review(ctx, n.company.Actor(2), mine)
	if err != nil || !r.Cycle.DueAt.After(time.Now()) {
		t.Errorf("their page says %v (%v)", r.Cycle.DueAt, err)
	}
	lines, err := n.Reviews(ctx, n.company.Actor(2))
	if err != nil || lines[0].Late {
		t.Errorf("their list says %+v (%v)", lines[0], err)
	}
	if l := n.letter(outbox.EvaluationAssigned, 2); !l.Due.After(time.Now()) || l.Late {
		t.Errorf("their mail says %v", l.Due)
	}
	expect(t, "in the time that is theirs", n.submit(2, mine), fault.None)
	expect(t, "somebody else", n.submit(3, other), fault.Conflict)
	if l := n.letter(outbox.EvaluationAssigned, 3); !l.Late {
		t.Error("the other's deadline has moved too")
	}
}

func TestBadExtensions(t *testing.T) {
	n := newNight(t)
	ctx := t.Context()
	later := wall(time.Now().Add(40 * 24 * time.Hour))
	for _, tt := range []struct {
		name string
		by   policy.Actor
		to   store.NewDeadline
		want fault.Kind
	}{
		{"a time that is past", n.company.HR, store.NewDeadline{Wall: wall(time.Now().Add(-time.Hour))}, fault.Invalid},
		{"no later than it is", n.company.HR, store.NewDeadline{Wall: wall(time.Now().Add(time.Hour))}, fault.Invalid},
		{"nobody who owes anything", n.company.HR, store.NewDeadline{Wall: later, People: n.company.People[9:10]}, fault.Conflict},
		{"an employee", n.company.Actor(3), store.NewDeadline{Wall: later}, fault.Forbidden},
		{"for one", n.company.HR, store.NewDeadline{Wall: later, People: n.company.People[3:4]}, fault.None},
		{"for them again, no later", n.company.HR, store.NewDeadline{Wall: later, People: n.company.People[2:4]}, fault.Invalid},
	} {
		_, err := n.ExtendDeadline(ctx, tt.by, n.cycle, tt.to)
		expect(t, tt.name, err, tt.want)
	}
	if _, err := n.CloseCycle(ctx, n.company.HR, n.cycle); err != nil {
		t.Fatal(err)
	}
	_, err := n.ExtendDeadline(ctx, n.company.HR, n.cycle, store.NewDeadline{Wall: later})
	expect(t, "a closed cycle", err, fault.Conflict)
}

// Case C10, below the screens.
func TestReassigningKeepsTheTextWithItsAuthor(t *testing.T) {
	n := newNight(t)
	ctx, hr := t.Context(), n.company.HR
	old := n.reviews(2)[0]
	n.write(2, old, "meio rascunho da Carla")
	to := store.NewReviewer{Reviewer: "000010", Reason: "férias"}
	var done appraisal.Reassigned
	var mu sync.Mutex
	worked := eight(t, func() error {
		d, err := n.ReassignEvaluation(ctx, hr, n.cycle, old, to)
		if err == nil {
			mu.Lock()
			done = d
			mu.Unlock()
		}
		return err
	})
	if worked != 1 || n.state(old) != "cancelled reassigned" || n.state(done.EvaluationID) != "pending" {
		t.Fatalf("%d reassignments, the old one is %s, the new one %s", worked, n.state(old), n.state(done.EvaluationID))
	}
	if got := n.events(outbox.EvaluationReassigned); !slices.Equal(got, n.company.People[9:10]) {
		t.Errorf("asked %v", got)
	}
	if got := n.events(outbox.EvaluationWithdrawn); !slices.Equal(got, n.company.People[2:3]) {
		t.Errorf("told %v", got)
	}
	theirs, err := n.Review(ctx, n.company.Actor(9), done.EvaluationID)
	if err != nil || len(theirs.Answers) != 0 {
		t.Errorf("the new reviewer reads %v (%v)", theirs.Answers, err)
	}
	mine, err := n.Review(ctx, n.company.Actor(2), old)
	if err != nil || mine.Answers["q1"].Text != "meio rascunho da Carla" {
		t.Errorf("the old reviewer reads %v (%v)", mine.Answers, err)
	}
	_, err = n.SaveDraft(ctx, n.company.Actor(2), old, mine.Version, n.saying("mais"))
	expect(t, "to write on", err, fault.Conflict)

	back, err := n.ReassignEvaluation(ctx, hr, n.cycle, done.EvaluationID, store.NewReviewer{Reviewer: "000003"})
	if err != nil || back.EvaluationID != old || !back.Revived || n.state(old) != "in_progress" || n.state(done.EvaluationID) != "cancelled reassigned" {
		t.Fatalf("back: %+v (%v), the old one is %s", back, err, n.state(old))
	}
	mine, err = n.Review(ctx, n.company.Actor(2), old)
	if err != nil || mine.Answers["q1"].Text != "meio rascunho da Carla" {
		t.Errorf("after the way back they read %v (%v)", mine.Answers, err)
	}
	if got := storetest.One[int](t, n.pool, `SELECT count(*)::int FROM roster_changes WHERE kind = 'reassign'`); got != 2 {
		t.Errorf("%d changes", got)
	}
	// the record of the activation is what it was
	receipt, err := n.Receipt(ctx, hr, n.cycle)
	if err != nil || receipt.Listed != receipt.Did.Evaluations || receipt.Messages.Total != receipt.Did.Events {
		t.Errorf("the receipt does not close: %+v (%v)", receipt, err)
	}
}

func TestADraftIsHandedOverOnRequestOnly(t *testing.T) {
	n := newNight(t)
	ctx := t.Context()
	old := n.reviews(2)[0]
	n.write(2, old, "meio rascunho")
	done, err := n.ReassignEvaluation(ctx, n.company.HR, n.cycle, old, store.NewReviewer{Reviewer: "000010", HandOver: true})
	if err != nil || !done.HandedOver {
		t.Fatalf("%+v (%v)", done, err)
	}
	r, err := n.Review(ctx, n.company.Actor(9), done.EvaluationID)
	if err != nil || r.Answers["q1"].Text != "meio rascunho" || r.State != appraisal.InProgress {
		t.Errorf("they read %v, %s (%v)", r.Answers, r.State, err)
	}
	if l := n.letter(outbox.EvaluationReassigned, 9); l.Colleague == "" || l.Reviewee == "" || l.Link == nil {
		t.Errorf("the letter: %+v", l)
	}
}

func TestBadReassignments(t *testing.T) {
	n := newNight(t)
	ctx, hr := t.Context(), n.company.HR
	storetest.Exec(t, n.pool, `UPDATE people SET email = NULL WHERE id = $1`, n.company.People[10])
	storetest.Exec(t, n.pool, `UPDATE people SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date - 1 WHERE id = $1`, n.company.People[11])
	id := n.reviews(0)[0] // of Bruno
	submitted := n.reviews(1)[0]
	if err := n.submit(1, submitted); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		by   policy.Actor
		id   int64
		to   string
		want fault.Kind
	}{
		{"to nobody", hr, id, "", fault.Invalid},
		{"to somebody unknown", hr, id, "Ninguém", fault.Invalid},
		{"to the same", hr, id, "000001", fault.Invalid},
		{"to whom it is about", hr, id, "000002", fault.Invalid},
		{"to somebody who has left", hr, id, "000012", fault.Invalid},
		{"one that is submitted", hr, submitted, "000009", fault.Conflict},
		{"one of nowhere", hr, 1 << 40, "000009", fault.NotFound},
		{"by an employee", n.company.Actor(4), id, "000009", fault.Forbidden},
		{"to somebody without an address", hr, id, "000011", fault.None},
	} {
		_, err := n.ReassignEvaluation(ctx, tt.by, n.cycle, tt.id, store.NewReviewer{Reviewer: tt.to})
		expect(t, tt.name, err, tt.want)
	}
	if got := storetest.One[string](t, n.pool, `SELECT string_agg(event_type || ' ' || queue, ',') FROM outbox_events WHERE person_id = $1`, n.company.People[10]); got != "evaluation.assigned handout" {
		t.Errorf("without an address it goes by %s", got)
	}
	if receipt, err := n.Receipt(ctx, hr, n.cycle); err != nil || receipt.Messages.Total != receipt.Did.Events {
		t.Errorf("the receipt counts a later slip: %+v (%v)", receipt, err)
	}
}

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

func TestAskingForTimeAndItsAnswer(t *testing.T) {
	n := newNight(t)
	ctx, hr := t.Context(), n.company.HR
	n.due(time.Now().Add(-2 * time.Hour))
	mine := n.reviews(2)[0]
	worked := eight(t, func() error { return n.AskForTime(ctx, n.company.Actor(2), mine, "estive na estrada") })
	if worked != 1 || !slices.Equal(n.events(outbox.ExtensionAsked), []int64{hr.PersonID}) {
		t.Fatalf("%d asked, told %v", worked, n.events(outbox.ExtensionAsked))
	}
	if l := n.letter(outbox.ExtensionAsked, 1); l.Actor == "" || l.Reason != "estive na estrada" || l.Path == "" || l.Link != nil {
		t.Errorf("the owner's letter: %+v", l)
	}
	_, requests, err := n.ExtensionRequests(ctx, hr, n.cycle)
	if err != nil || len(requests) != 1 {
		t.Fatalf("%v (%v)", requests, err)
	}
	id := requests[0].ID
	for _, tt := range []struct {
		name   string
		by     policy.Actor
		answer store.ExtensionAnswer
		want   fault.Kind
	}{
		{"no without words", hr, store.ExtensionAnswer{}, fault.Invalid},
		{"a time that is past", hr, store.ExtensionAnswer{Grant: true, Wall: wall(time.Now().Add(-time.Hour))}, fault.Invalid},
		{"by the one who asks", n.company.Actor(2), store.ExtensionAnswer{Grant: true, Wall: wall(time.Now().Add(time.Hour))}, fault.Forbidden},
	} {
		_, err := n.AnswerRequest(ctx, tt.by, n.cycle, id, tt.answer)
		expect(t, tt.name, err, tt.want)
	}
	worked = eight(t, func() error {
		_, err := n.AnswerRequest(ctx, hr, n.cycle, id, store.ExtensionAnswer{Grant: true, Wall: wall(time.Now().Add(5 * time.Hour)), Words: "até a noite"})
		return err
	})
	if worked != 1 || !slices.Equal(n.events(outbox.ExtensionAnswered), n.company.People[2:3]) || len(n.events(outbox.EvaluationExtended)) != 0 {
		t.Errorf("%d answers, told %v and %v", worked, n.events(outbox.ExtensionAnswered), n.events(outbox.EvaluationExtended))
	}
	if l := n.letter(outbox.ExtensionAnswered, 2); !l.Granted || l.Until.IsZero() || l.Link == nil {
		t.Errorf("the answer: %+v", l)
	}
	expect(t, "in time now", n.submit(2, mine), fault.None)
	expect(t, "for what is submitted", n.AskForTime(ctx, n.company.Actor(2), mine, "mais"), fault.Conflict)
	expect(t, "for another's", n.AskForTime(ctx, n.company.Actor(5), n.reviews(3)[0], "mais"), fault.NotFound)
	expect(t, "without a note", n.AskForTime(ctx, n.company.Actor(3), n.reviews(3)[0], ""), fault.Invalid)
}

// Case C11: both in one list; totals, list and export agree; nothing is deleted.
func TestWhoLeavesIsLeftToADecision(t *testing.T) {
	n := newNight(t)
	ctx, hr := t.Context(), n.company.HR
	ours := n.reviews(2)[0]
	n.write(2, ours, "texto que fica")
	reviewee := storetest.One[int64](t, n.pool, `SELECT reviewee_id FROM evaluations WHERE id = $1`, n.reviews(4)[0])
	storetest.Exec(t, n.pool, `UPDATE people SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date - 1 WHERE id = ANY ($1)`, []int64{n.company.People[2], reviewee})
	agree := func(decisions, pairs int) {
		t.Helper()
		_, list, err := n.Decisions(ctx, hr, n.cycle)
		if err != nil {
			t.Fatal(err)
		}
		p, err := n.Progress(ctx, hr, n.cycle, store.MissingQuery{Page: store.Page{Limit: 25}})
		if err != nil {
			t.Fatal(err)
		}
		roster, err := n.Roster(ctx, hr, n.cycle, store.RosterQuery{Page: store.Page{Limit: 100}})
		if err != nil {
			t.Fatal(err)
		}
		_, lines, err := n.RosterLines(ctx, hr, n.cycle)
		if err != nil {
			t.Fatal(err)
		}
		states := 0
		for _, k := range p.States {
			states += k
		}
		if len(list) != decisions || p.Decisions != decisions || p.Head.Pairs != pairs || roster.Total != pairs || len(roster.Pairs) != pairs || len(lines) != pairs || states != pairs {
			t.Errorf("decisions %d and %d (want %d); pairs %d, roster %d, list %d, export %d, states %d (want %d)",
				len(list), p.Decisions, decisions, p.Head.Pairs, roster.Total, len(roster.Pairs), len(lines), states, pairs)
		}
	}
	_, list, err := n.Decisions(ctx, hr, n.cycle)
	if err != nil || len(list) < 3 {
		t.Fatalf("%d decisions (%v)", len(list), err)
	}
	all := len(list)
	agree(all, 9)
	for _, d := range list {
		if d.ReviewerLeftOn != nil && d.RevieweeLeftOn == nil {
			_, err = n.ReassignEvaluation(ctx, hr, n.cycle, d.ID, store.NewReviewer{Reviewer: "000011"})
			expect(t, "reassign", err, fault.None)
			all--
			agree(all, 9)
			break
		}
	}
	for _, d := range list {
		if d.RevieweeLeftOn != nil {
			_, err = n.CallOffEvaluation(ctx, hr, n.cycle, d.ID, "")
			expect(t, "without a reason", err, fault.Invalid)
			worked := eight(t, func() error { _, err := n.CallOffEvaluation(ctx, hr, n.cycle, d.ID, "saiu da empresa"); return err })
			if worked != 1 {
				t.Errorf("called off %d times", worked)
			}
			all--
			agree(all, 8)
			break
		}
	}
	if got := storetest.One[string](t, n.pool, `SELECT content -> 'q1' ->> 'text' FROM answers WHERE evaluation_id = $1`, ours); got != "texto que fica" {
		t.Errorf("the text is %q", got)
	}
}

func TestALateJoinerIsAskedOnce(t *testing.T) {
	n := newNight(t)
	ctx, hr := t.Context(), n.company.HR
	pair := store.NewPair{Reviewee: "000012", Reviewer: "000011", Kind: appraisal.Peer}
	worked := eight(t, func() error { _, err := n.AddLateJoiner(ctx, hr, n.cycle, pair, "entrou em novembro"); return err })
	if worked != 1 || !slices.Equal(n.events(outbox.EvaluationReassigned), n.company.People[10:11]) {
		t.Errorf("%d added, asked %v", worked, n.events(outbox.EvaluationReassigned))
	}
	if got := n.reviews(10); len(got) != 1 || n.state(got[0]) != "pending" {
		t.Errorf("reviews %v", got)
	}
	p, err := n.Progress(ctx, hr, n.cycle, store.MissingQuery{Page: store.Page{Limit: 25}})
	if err != nil || p.Head.Pairs != 10 {
		t.Errorf("%d pairs (%v)", p.Head.Pairs, err)
	}
	n.due(time.Now().Add(-time.Minute))
	_, err = n.AddLateJoiner(ctx, hr, n.cycle, store.NewPair{Reviewee: "000012", Reviewer: "000010", Kind: appraisal.Peer}, "")
	expect(t, "after the deadline", err, fault.Conflict)
}

func TestTheLastReviewIsThankedForOnce(t *testing.T) {
	n := newNight(t)
	mine := n.reviews(0)
	if len(mine) != 2 {
		t.Fatalf("%d reviews", len(mine))
	}
	var wg sync.WaitGroup
	for _, id := range mine { // two windows, the last two at once
		wg.Go(func() {
			if err := n.submit(0, id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := n.events(outbox.EvaluationReceived); !slices.Equal(got, n.company.People[0:1]) {
		t.Errorf("thanked %v", got)
	}
}

// Case C8, below the screens: what is held never leaves; who was asked is told.
func TestACancelledCycleTellsThoseAlreadyAsked(t *testing.T) {
	n := newNight(t)
	ctx := t.Context()
	storetest.Exec(t, n.pool, `
		UPDATE outbox_events
		SET status = 'delivered', delivered_at = now()
		WHERE person_id = ANY ($1)`, n.company.People[0:2])
	if _, err := n.CancelCycle(ctx, n.company.HR, n.cycle, "reestruturação"); err != nil {
		t.Fatal(err)
	}
	if got := n.events(outbox.CycleCancelled); !slices.Equal(got, n.company.People[0:2]) {
		t.Errorf("told %v", got)
	}
	if l := n.letter(outbox.CycleCancelled, 0); l.Over() != "" || l.Reason != "reestruturação" || l.Link != nil {
		t.Errorf("the letter: %+v", l)
	}
	if held := storetest.One[int](t, n.pool, `SELECT count(*)::int FROM outbox_events WHERE event_type = 'evaluation.assigned' AND status = 'cancelled'`); held != 4 {
		t.Errorf("%d held messages are cancelled", held)
	}
}
