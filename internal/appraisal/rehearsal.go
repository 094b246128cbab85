package appraisal

import "time"

// Rehearsal says what an activation would do now, and what stands against it.
type Rehearsal struct {
	Head      CycleHead
	Blockers  []Blocker // the page asked for
	Total     int       // blockers there are
	ByKind    map[Kind]int
	Mails     int           // reviewers with an address
	Handouts  int           // reviewers without one
	Hold      time.Duration // how long the messages are held after the click
	Elsewhere []OtherCycle
	Warnings  Warnings
}

// Warnings count what does not refuse an activation but is worth a look.
type Warnings struct {
	WithoutAddress int // reviewers
	WithoutManager int // participants nobody reviews as their manager
	Elsewhere      int // participants who are also in another open cycle
	Excluded       int
	Reasons        []Share // of exclusions, the most frequent first
}

// OtherCycle is an open cycle that shares participants with the rehearsed one.
type OtherCycle struct {
	ID    int64
	Name  string
	State CycleState
	N     int
}

// Concern is one person a warning is about.
type Concern struct {
	PersonID   int64
	Name       string
	Code       string
	Department string
	Reviewee   bool   // they take part, so they can be left out
	CycleID    int64  // for elsewhere: the other cycle
	Cycle      string // and its name
	CycleState CycleState
}

// Concerns lists the people a warning of the rehearsal is about.
type Concerns struct {
	Head   CycleHead
	People []Concern
	Total  int
}

// The concerns a warning is about.
const (
	AboutManager   = "manager"   // participants nobody reviews as their manager
	AboutAddress   = "address"   // reviewers without an e-mail address
	AboutElsewhere = "elsewhere" // participants of another open cycle too
)
