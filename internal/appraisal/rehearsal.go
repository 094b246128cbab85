package appraisal

import "time"

// Rehearsal says what an activation would do now, and what stands against it.
type Rehearsal struct {
	Head      CycleHead
	Blockers  []Blocker // the page asked for
	Kinds     []BlockerCount
	Last      *LastRehearsal // nil while nobody has marked one
	Total     int            // blockers there are
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
	Elsewhere      int // participants who are also in another open cycle, and nobody has said that they stay in both
	OnLeave        int // people of the map who are away on the day of the deadline
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
	Kept       string // who said that they stay in both; empty while nobody has
	Reviews    int    // for leave: reviews they are asked for
	Away       *Leave // for leave
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
	AboutLeave     = "leave"     // people who are away on the day of the deadline
)

// PairChange is how one pair differs from the last rehearsal.
type PairChange struct {
	Reviewee string
	Kind     Kind
	Was      string // the reviewer then; empty for a pair that is new
	Now      string // the reviewer now; empty for a pair that is gone
}

// LastRehearsal says what has changed since somebody marked the roster as rehearsed.
type LastRehearsal struct {
	By      string
	At      time.Time
	Added   int
	Removed int
	Changed int
	Changes []PairChange // the page asked for
}

// Total is how many changes there are.
func (l LastRehearsal) Total() int { return l.Added + l.Removed + l.Changed }
