package appraisal

import (
	"time"

	"ciclo/internal/fault"
)

// CycleState says where a cycle stands.
type CycleState string

// The states of a cycle.
const (
	CycleDraft     CycleState = "draft"
	CycleActive    CycleState = "active"
	CycleClosed    CycleState = "closed"
	CycleCancelled CycleState = "cancelled"
)

// Cycle is one round of evaluations of an organisation.
type Cycle struct {
	ID            int64
	TenantID      int64
	Name          string
	State         CycleState
	FormVersionID int64
	DueAt         time.Time
	DueZone       string // IANA name; the deadline is the end of a day there
	Grace         time.Duration
	Reminds       bool   // by itself, some days before the deadline
	ContactEmail  string // where replies go; empty means the organisation's
	OwnerID       int64
	CreatedAt     time.Time
	ActivatedAt   *time.Time
	ActivatedBy   string // the person's name
	ClosedAt      *time.Time
	ClosedBy      string
	CancelledAt   *time.Time
	CancelledBy   string
	CancelReason  string
}

// Due is the deadline in the cycle's own zone.
func (c Cycle) Due() time.Time { return c.in(c.DueAt) }

func (c Cycle) in(t time.Time) time.Time {
	if loc, err := time.LoadLocation(c.DueZone); err == nil {
		return t.In(loc)
	}
	return t
}

// Activate answers nil when the cycle may be opened for reviewers now. A cycle
// that is already under way answers since when and by whom.
func (c Cycle) Activate(now time.Time) error {
	switch {
	case c.State == CycleActive:
		return fault.Conflictf("cycle.already_active", "cycle", c.Name, "who", c.ActivatedBy, "when", c.in(*c.ActivatedAt))
	case c.State != CycleDraft:
		return c.over()
	case !c.DueAt.After(now):
		return fault.Conflictf("cycle.due_is_past", "cycle", c.Name, "when", c.Due())
	}
	return nil
}

// Undo answers nil when the cycle may go back to being a draft, as far as the
// cycle itself can tell: whether a message has left is the outbox's to say.
func (c Cycle) Undo() error {
	switch c.State {
	case CycleActive:
		return nil
	case CycleDraft:
		return fault.Conflictf("undo.not_active", "cycle", c.Name)
	}
	return c.over()
}

// Edit answers nil while the cycle and its roster may still be changed freely.
func (c Cycle) Edit() error {
	switch c.State {
	case CycleDraft:
		return nil
	case CycleActive:
		return fault.Conflictf("cycle.locked", "cycle", c.Name, "who", c.ActivatedBy, "when", c.in(*c.ActivatedAt))
	}
	return c.over()
}

// Close answers nil when the cycle may be closed: what is not submitted expires.
func (c Cycle) Close() error {
	switch c.State {
	case CycleActive:
		return nil
	case CycleDraft:
		return fault.Conflictf("cycle.not_active", "cycle", c.Name)
	}
	return c.over()
}

// Cancel answers nil when the cycle may be called off.
func (c Cycle) Cancel() error {
	if c.State == CycleDraft || c.State == CycleActive {
		return nil
	}
	return c.over()
}

// over says since when and by whom the cycle is over.
func (c Cycle) over() error {
	if c.State == CycleClosed {
		return fault.Conflictf("cycle.already_closed", "cycle", c.Name, "who", c.ClosedBy, "when", c.in(*c.ClosedAt))
	}
	return fault.Conflictf("cycle.already_cancelled", "cycle", c.Name, "who", c.CancelledBy, "when", c.in(*c.CancelledAt))
}

// Terms are what a cycle is set up with, and what may change while it is a draft.
type Terms struct {
	Name          string
	FormVersionID int64
	DueAt         time.Time // an instant: the end of a day in DueZone
	DueZone       string
	Grace         time.Duration
	Reminds       bool   // by itself, some days before the deadline
	ContactEmail  string // empty means the organisation's
}

// MaxGrace is the longest time that drafts opened before the deadline may still
// be submitted in.
const MaxGrace = 24 * time.Hour

// EndOfDay is the last second of day's date in the zone: the instant of a
// deadline that people know as a date.
func EndOfDay(day time.Time, zone *time.Location) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), 23, 59, 59, 0, zone)
}

// Check refuses terms that no cycle can have, field by field.
func (t Terms) Check(now time.Time) error {
	wrong := map[string]fault.Message{}
	if _, known := Zone(t.DueZone); !known {
		wrong["zone"] = fault.Msg("cycle.zone_unknown")
	}
	if t.Name == "" {
		wrong["name"] = fault.Msg("fault.required")
	}
	if t.FormVersionID == 0 {
		wrong["form"] = fault.Msg("cycle.form_required")
	}
	if !t.DueAt.After(now) {
		wrong["due"] = fault.Msg("cycle.due_in_past", "when", Cycle{DueAt: t.DueAt, DueZone: t.DueZone}.Due())
	}
	if t.Grace < 0 || t.Grace > MaxGrace {
		wrong["grace"] = fault.Msg("cycle.grace_range")
	}
	if len(wrong) > 0 {
		return fault.Fieldsf(wrong)
	}
	return nil
}

// CheckCancelReason refuses a cancellation without a reason: reviewers read it.
func CheckCancelReason(reason string) error {
	if reason == "" {
		return fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("cycle.cancel_reason_required")})
	}
	return nil
}
