package store_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

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
