package appraisal

import "time"

// CycleHead is what stands on top of every page of a cycle.
type CycleHead struct {
	Cycle
	Form         FormChoice
	Pairs        int
	Participants int
	Excluded     int
	Reviewers    int
	Submitted    int
	Blockers     int // of a draft: rows that would refuse its activation
	Failed       int // messages that failed and wait for a person
	Now          time.Time
	Contact      string // the contact in force: the cycle's or the organisation's
}

// FormChoice is a version of a form that a cycle can use.
type FormChoice struct {
	VersionID int64
	Code      string
	Number    int
	Title     Text
}

// CycleRow is one line of the list of cycles.
type CycleRow struct {
	ID           int64
	Name         string
	State        CycleState
	DueAt        time.Time
	DueZone      string
	Participants int
	Pairs        int
	Submitted    int
	Failed       int
}
