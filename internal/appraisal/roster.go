package appraisal

import (
	"fmt"
	"time"

	"ciclo/internal/fault"
)

// Rule says who takes part in a cycle and which pairs come from the org chart.
type Rule struct {
	Departments []string   `json:"departments,omitempty"` // none means all
	HiredBefore *time.Time `json:"hired_before,omitempty"`
	Self        bool       `json:"self"`
	Manager     bool       `json:"manager"`
}

// Check refuses a rule that could make no pair.
func (r Rule) Check() error {
	if !r.Self && !r.Manager {
		return fault.Fieldsf(map[string]fault.Message{"kinds": fault.Msg("roster.rule_without_pairs")})
	}
	return nil
}

// BlockerKind names why a roster cannot be activated as it is.
type BlockerKind string

// The blockers. The first four concern the cycle, the others one row.
const (
	NoPairs                BlockerKind = "no_pairs"
	DeadlinePast           BlockerKind = "deadline_past"
	NoContact              BlockerKind = "no_contact"
	ReviewerLeft           BlockerKind = "reviewer_left"
	RevieweeLeft           BlockerKind = "reviewee_left"
	WithoutReviewer        BlockerKind = "without_reviewer"
	ExcludedButInTheRoster BlockerKind = "excluded"
)

// Blocker is one reason that refuses an activation. Row kinds name the pair.
type Blocker struct {
	Kind         BlockerKind
	EvaluationID int64
	RevieweeID   int64
	Reviewee     string
	RevieweeDept string
	ReviewerID   int64
	Reviewer     string
	PairKind     Kind
	LeftOn       *time.Time
}

// Receipt is what an activation did. Its counts agree, or it did not happen.
type Receipt struct {
	CycleID     int64
	Number      int64
	By          string
	At          time.Time
	Pairs       int       // counted in the roster
	Evaluations int       // moved from planned to pending
	Reviewers   int       // distinct, counted in the roster
	Events      int       // written to the outbox
	Mails       int       // of the events, those that go by e-mail
	Handouts    int       // and those handed over on paper
	HeldUntil   time.Time // before it no message leaves; zero when none was held
}

// Code is the receipt's number as people write it: ATV-2026-0002.
func (r Receipt) Code() string { return fmt.Sprintf("ATV-%d-%04d", r.At.Year(), r.Number) }

// Check refuses a receipt whose sums do not close. It is an error of ours and
// rolls the activation back: a swallowed conflict is no success.
func (r Receipt) Check() error {
	if r.Pairs != r.Evaluations {
		return fmt.Errorf("activation of cycle %d: %d pairs but %d evaluations moved", r.CycleID, r.Pairs, r.Evaluations)
	}
	if r.Reviewers != r.Events {
		return fmt.Errorf("activation of cycle %d: %d reviewers but %d events written", r.CycleID, r.Reviewers, r.Events)
	}
	if r.Events != r.Mails+r.Handouts {
		return fmt.Errorf("activation of cycle %d: %d events but %d mails and %d hand-outs", r.CycleID, r.Events, r.Mails, r.Handouts)
	}
	return nil
}
