package appraisal

import (
	"time"

	"ciclo/internal/fault"
)

// Change answers nil while the roster of a cycle may be changed by a named act:
// from its activation to its end.
func (c Cycle) Change() error {
	switch c.State {
	case CycleActive:
		return nil
	case CycleDraft:
		return fault.Conflictf("change.not_active", "cycle", c.Name)
	}
	return c.over()
}

// EndOfMinute is the instant that people mean by a day and a time of the clock,
// the last second of that minute, in the cycle's zone. Wall holds what was
// written, in whatever zone.
func (c Cycle) EndOfMinute(wall time.Time) time.Time {
	return time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 59, 0, c.Due().Location())
}

// Extend answers nil when the deadline may move to until: later than now and
// later than it is.
func (c Cycle) Extend(now, until time.Time) error {
	switch {
	case !until.After(now):
		return fault.Fieldsf(map[string]fault.Message{"day": fault.Msg("extension.in_past", "when", c.in(until), "now", c.in(now))})
	case !until.After(c.DueAt):
		return fault.Fieldsf(map[string]fault.Message{"day": fault.Msg("extension.not_later", "when", c.Due())})
	}
	return nil
}

// Reassign answers nil when somebody else may be asked for the evaluation.
func (e Evaluation) Reassign() error {
	if e.Kind == Self {
		return fault.Conflictf("reassignment.self")
	}
	return e.CallOff()
}

// CallOff answers nil when the evaluation may be cancelled by itself.
func (e Evaluation) CallOff() error {
	if e.State == Submitted && e.SubmittedAt != nil {
		return fault.Conflictf("change.already_submitted", "when", *e.SubmittedAt)
	}
	_, err := EvaluationLife.Next(e.State, CallOff)
	return err
}

// Why an evaluation alone was cancelled. It is no part of the roster any more;
// one that ended with its cycle still is.
const (
	ReasonReassigned = "reassigned" // another reviewer has been asked
	ReasonCalledOff  = "called_off" // nobody will be asked; the change says why
)

// Extended is what an extension did.
type Extended struct {
	Until     time.Time // in the cycle's zone
	Reviewers int       // unfinished ones whose deadline has moved
	Told      int       // by mail
	Silent    int       // without an address
}

// Reminded is what became of a wish to remind.
type Reminded struct {
	Sent     int
	Recently int // reminded within NudgeEvery
	Finished int // nothing left to submit
	Silent   int // without an address
	Late     int // their deadline is over
}

// Limits of asking people again.
const (
	NudgeEvery  = 6 * time.Hour      // between two reminders to one reviewer
	RemindAhead = 3 * 24 * time.Hour // the rule's reminder comes so long before the deadline
	LinkEvery   = 5 * time.Minute    // between two sendings of a link
)

// Reassigned is one evaluation that has passed from one reviewer to another.
type Reassigned struct {
	EvaluationID int64 // the one that is asked for now
	Reviewee     string
	From, To     string
	Revived      bool // the new reviewer had it before, and finds their text again
	HandedOver   bool // the draft came along
	Handout      bool // the new reviewer has no address: told on paper
}

// Decision is an evaluation that nobody can go on with as it is.
type Decision struct {
	ID             int64
	Kind           Kind
	State          State
	RevieweeID     int64
	Reviewee       string
	RevieweeCode   string
	RevieweeLeftOn *time.Time
	ReviewerID     int64
	Reviewer       string
	ReviewerCode   string
	ReviewerLeftOn *time.Time
	HasText        bool
}

// Why says who has left: reviewee, reviewer or both.
func (d Decision) Why() string {
	switch {
	case d.RevieweeLeftOn != nil && d.ReviewerLeftOn != nil:
		return "both"
	case d.RevieweeLeftOn != nil:
		return "reviewee"
	}
	return "reviewer"
}

// ReviewerHere is one reviewer in one cycle, as HR sees them: what they owe and
// until when, and what has become of it. What they wrote is not part of it.
type ReviewerHere struct {
	Head       CycleHead
	PersonID   int64
	Name       string
	Code       string
	Email      string
	Department string
	LeftOn     *time.Time
	Due        time.Time // theirs, in the cycle's zone
	Own        bool      // it is later than the cycle's
	Reviews    []ReviewHere
	Changes    []ChangeHere
	Request    *ExtensionRequest // still to be answered
}

// Owed counts what is left to submit.
func (r ReviewerHere) Owed() (n int) {
	for _, e := range r.Reviews {
		if e.Open() {
			n++
		}
	}
	return n
}

// ReviewHere is one of their reviews.
type ReviewHere struct {
	ID           int64
	Kind         Kind
	State        State
	Why          string // a cancelled one's reason
	RevieweeID   int64
	Reviewee     string
	RevieweeCode string
	SubmittedAt  *time.Time
	SavedAt      *time.Time
	PassedTo     string // who has it now, after a reassignment
	HeirID       int64  // their evaluation
	Returnable   bool   // it is not submitted: it can come back
}

// Open reports whether it is still to be submitted.
func (e ReviewHere) Open() bool {
	return e.State == Pending || e.State == InProgress || e.State == Reopened
}

// ChangeHere is one named change that touched them.
type ChangeHere struct {
	Kind     string // as roster_changes
	At       time.Time
	By       string
	Reason   string
	Reviewee string
}

// ExtensionRequest is a reviewer's wish for more time.
type ExtensionRequest struct {
	ID         int64
	PersonID   int64
	Person     string
	Department string
	Note       string
	AskedAt    time.Time
	Due        time.Time // theirs, in the cycle's zone
	Owed       int
	Started    int
	AnsweredAt *time.Time
	AnsweredBy string
	Granted    bool
	Until      *time.Time
	Answer     string
}
