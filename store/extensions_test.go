package store_test

import (
	"slices"
	"testing"
	"time"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

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
