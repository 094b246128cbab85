package appraisal

import (
	"testing"
	"time"

	"ciclo/internal/fault"
)

// Every state under every act: what becomes of it, or that it is refused.
func TestEvaluationLife(t *testing.T) {
	acts := []Act{Open, Save, Submit, Decline, Reopen, Close, CallOff}
	want := map[State][]State{ // in the order of acts; empty: refused
		Planned:    {Pending, "", "", "", "", "", Cancelled},
		Pending:    {"", InProgress, Submitted, Declined, "", Expired, Cancelled},
		InProgress: {"", InProgress, Submitted, Declined, "", Expired, Cancelled},
		Submitted:  {"", "", "", "", Reopened, "", ""},
		Reopened:   {"", Reopened, Submitted, "", "", Expired, Cancelled},
		Declined:   {"", "", "", "", "", "", ""},
		Expired:    {"", "", "", "", "", "", ""},
		Cancelled:  {"", "", "", "", "", "", ""},
	}
	for _, state := range States {
		for i, act := range acts {
			next, err := EvaluationLife.Next(state, act)
			if w := want[state][i]; w == "" {
				if fault.KindOf(err) != fault.Conflict || next != state {
					t.Errorf("%s %s: %s, %v; want it refused", act, state, next, err)
				}
			} else if err != nil || next != w {
				t.Errorf("%s %s: %s, %v; want %s", act, state, next, err, w)
			}
		}
	}
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestCycleActs(t *testing.T) {
	at := noon.Add(-time.Hour)
	due := noon.Add(24 * time.Hour)
	for _, tt := range []struct {
		name                                  string
		cycle                                 Cycle
		activate, edit, closing, cancellation fault.Kind
	}{
		{"a draft", Cycle{State: CycleDraft, DueAt: due}, fault.None, fault.None, fault.Conflict, fault.None},
		{"a draft already due", Cycle{State: CycleDraft, DueAt: at}, fault.Conflict, fault.None, fault.Conflict, fault.None},
		{"due this instant", Cycle{State: CycleDraft, DueAt: noon}, fault.Conflict, fault.None, fault.Conflict, fault.None},
		{"an active cycle", Cycle{State: CycleActive, DueAt: due, ActivatedAt: &at}, fault.Conflict, fault.Conflict, fault.None, fault.None},
		{"a closed cycle", Cycle{State: CycleClosed, DueAt: due, ActivatedAt: &at, ClosedAt: &at}, fault.Conflict, fault.Conflict, fault.Conflict, fault.Conflict},
		{"a cancelled cycle", Cycle{State: CycleCancelled, DueAt: due, CancelledAt: &at}, fault.Conflict, fault.Conflict, fault.Conflict, fault.Conflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := [4]fault.Kind{fault.KindOf(tt.cycle.Activate(noon)), fault.KindOf(tt.cycle.Edit()), fault.KindOf(tt.cycle.Close()), fault.KindOf(tt.cycle.Cancel())}
			if want := [4]fault.Kind{tt.activate, tt.edit, tt.closing, tt.cancellation}; got != want {
				t.Errorf("activate, edit, close, cancel = %v, want %v", got, want)
			}
		})
	}
}

// C12, as a rule: when a review may be saved and when submitted.
func TestWhenAReviewIsOpen(t *testing.T) {
	before, after := noon.Add(-time.Hour), noon.Add(time.Hour)
	active := Cycle{State: CycleActive, DueAt: noon, Grace: 15 * time.Minute, ActivatedAt: &before}
	closed, cancelled := active, active
	closed.State, closed.ClosedAt = CycleClosed, &after
	cancelled.State, cancelled.CancelledAt, cancelled.CancelReason = CycleCancelled, &after, "x"
	opened, late := before, noon.Add(time.Minute)
	for _, tt := range []struct {
		name         string
		cycle        Cycle
		state        State
		started      *time.Time
		now          time.Time
		save, submit fault.Kind
	}{
		{"before the start", Cycle{State: CycleDraft, DueAt: noon}, Planned, nil, before, fault.Conflict, fault.Conflict},
		{"in time", active, Pending, nil, before, fault.None, fault.None},
		{"at the last instant", active, Pending, nil, noon, fault.None, fault.None},
		{"a draft within the grace", active, InProgress, &opened, noon.Add(15 * time.Minute), fault.None, fault.None},
		{"a draft after the grace", active, InProgress, &opened, noon.Add(16 * time.Minute), fault.None, fault.Conflict},
		{"a draft opened after the deadline", active, InProgress, &late, noon.Add(2 * time.Minute), fault.None, fault.Conflict},
		{"nothing written by the deadline", active, Pending, nil, noon.Add(time.Minute), fault.None, fault.Conflict},
		{"after submission", active, Submitted, &opened, before, fault.Conflict, fault.Conflict},
		{"after closing", closed, Expired, &opened, after, fault.Conflict, fault.Conflict},
		{"after cancellation", cancelled, Cancelled, &opened, after, fault.Conflict, fault.Conflict},
		{"declined", active, Declined, nil, before, fault.Conflict, fault.Conflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := Evaluation{State: tt.state, StartedAt: tt.started, SubmittedAt: tt.started}
			_, save := e.SaveDraft(tt.cycle)
			_, submit := e.Submit(tt.cycle, tt.now)
			if got := fault.KindOf(save); got != tt.save {
				t.Errorf("SaveDraft() = %v, want kind %v", save, tt.save)
			}
			if got := fault.KindOf(submit); got != tt.submit {
				t.Errorf("Submit() = %v, want kind %v", submit, tt.submit)
			}
		})
	}
}

func TestReceiptSumsMustClose(t *testing.T) {
	good := Receipt{Pairs: 40, Evaluations: 40, Reviewers: 25, Events: 25, Mails: 20, Handouts: 5}
	if err := good.Check(); err != nil {
		t.Errorf("a good receipt is refused: %v", err)
	}
	for name, spoil := range map[string]func(*Receipt){
		"an evaluation is missing": func(r *Receipt) { r.Evaluations-- },
		"an event is missing":      func(r *Receipt) { r.Events--; r.Mails-- },
		"a mail is missing":        func(r *Receipt) { r.Mails-- },
	} {
		bad := good
		spoil(&bad)
		if bad.Check() == nil {
			t.Errorf("%s and the receipt stands", name)
		}
	}
}
