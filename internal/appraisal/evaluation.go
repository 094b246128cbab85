package appraisal

import (
	"time"

	"ciclo/internal/fault"
)

// Kind is what the reviewer is to the reviewee.
type Kind string

// The kinds, in the order they are listed.
const (
	Self    Kind = "self"
	Manager Kind = "manager"
	Peer    Kind = "peer"
	Report  Kind = "report"
)

// Kinds lists the kinds in the order of pages and mails.
var Kinds = []Kind{Self, Manager, Peer, Report}

// State says where an evaluation stands.
type State string

// The states of an evaluation.
const (
	Planned    State = "planned"
	Pending    State = "pending"
	InProgress State = "in_progress"
	Submitted  State = "submitted"
	Reopened   State = "reopened"
	Declined   State = "declined"
	Expired    State = "expired"
	Cancelled  State = "cancelled"
)

// States lists the states in the order of pages.
var States = []State{Planned, Pending, InProgress, Submitted, Reopened, Declined, Expired, Cancelled}

// Act is something done to an evaluation.
type Act string

// The acts.
const (
	Open    Act = "open" // by activating the cycle
	Save    Act = "save"
	Submit  Act = "submit"
	Decline Act = "decline"
	Reopen  Act = "reopen"
	Close   Act = "close"  // by closing the cycle
	CallOff Act = "cancel" // by cancelling it or the cycle
)

// Life is a table of what becomes of a state under an act.
type Life map[State]map[Act]State

// EvaluationLife is the whole life of an evaluation.
var EvaluationLife = Life{
	Planned:    {Open: Pending, CallOff: Cancelled},
	Pending:    {Save: InProgress, Submit: Submitted, Decline: Declined, Close: Expired, CallOff: Cancelled},
	InProgress: {Save: InProgress, Submit: Submitted, Decline: Declined, Close: Expired, CallOff: Cancelled},
	Submitted:  {Reopen: Reopened},
	Reopened:   {Save: Reopened, Submit: Submitted, Close: Expired, CallOff: Cancelled},
}

// Next answers what an evaluation becomes when someone acts on it, or a
// Conflict that says what it is now.
func (l Life) Next(at State, act Act) (State, error) {
	if next, ok := l[at][act]; ok {
		return next, nil
	}
	return at, fault.Conflictf("evaluation.cannot_"+string(act), "state", fault.Msg("evaluation.state."+string(at)))
}

// Evaluation is what one reviewer owes about one reviewee.
type Evaluation struct {
	ID          int64
	TenantID    int64
	CycleID     int64
	RevieweeID  int64
	ReviewerID  int64
	Kind        Kind
	State       State
	StartedAt   *time.Time
	SubmittedAt *time.Time
}

// SaveDraft answers what the evaluation becomes when its text is saved. After
// the deadline the text is still kept, until the cycle closes.
func (e Evaluation) SaveDraft(c Cycle) (State, error) {
	if err := e.openFor(c); err != nil {
		return e.State, err
	}
	return EvaluationLife.Next(e.State, Save)
}

// Submit answers what the evaluation becomes when it is submitted at now. After
// the deadline only a draft opened before it may still go in, within the grace.
func (e Evaluation) Submit(c Cycle, now time.Time) (State, error) {
	if err := e.openFor(c); err != nil {
		return e.State, err
	}
	next, err := EvaluationLife.Next(e.State, Submit)
	if err != nil {
		return e.State, err
	}
	if now.After(c.DueAt) {
		opened := e.StartedAt != nil && !e.StartedAt.After(c.DueAt)
		if !opened || now.After(c.DueAt.Add(c.Grace)) {
			return e.State, fault.Conflictf("evaluation.after_deadline", "when", c.Due())
		}
	}
	return next, nil
}

// openFor refuses, in words, before the cycle's start and after its end, and
// once the evaluation is submitted or over.
func (e Evaluation) openFor(c Cycle) error {
	switch {
	case e.State == Submitted:
		if e.SubmittedAt != nil {
			return fault.Conflictf("evaluation.already_submitted", "when", c.in(*e.SubmittedAt))
		}
		return fault.Conflictf("evaluation.is_over", "state", fault.Msg("evaluation.state."+string(e.State)))
	case c.State == CycleDraft:
		return fault.Conflictf("evaluation.before_start", "cycle", c.Name)
	case c.State == CycleCancelled:
		return fault.Conflictf("evaluation.cycle_cancelled", "cycle", c.Name, "reason", c.CancelReason)
	case c.State == CycleClosed:
		return fault.Conflictf("evaluation.cycle_closed", "cycle", c.Name, "when", c.in(*c.ClosedAt))
	case e.State == Cancelled || e.State == Declined || e.State == Expired:
		return fault.Conflictf("evaluation.is_over", "state", fault.Msg("evaluation.state."+string(e.State)))
	}
	return nil
}
