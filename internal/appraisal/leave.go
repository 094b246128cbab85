package appraisal

import "time"

// LeaveKind says why somebody is away; no more than HR needs to know.
type LeaveKind string

// LeaveKinds lists them.
var LeaveKinds = []LeaveKind{"vacation", "parental", "sick", "other"}

// Leave is a time in which a person is away, first and last day included.
type Leave struct {
	ID    int64
	From  time.Time
	Until time.Time
	Kind  LeaveKind
}
