package appraisal

import "time"

// ReceiptToday is an activation's record beside what has become of it by now.
type ReceiptToday struct {
	Undoable bool      // nothing of it has left
	Now      time.Time // of the counts
	Head     CycleHead
	Did      Receipt
	Messages Messages
	Listed   int // evaluations that stood in the roster then and are listed today
	States   map[State]int
}

// Messages counts the messages of one activation by where they stand.
type Messages struct {
	Total     int
	Accepted  int // by the mail server
	Handed    int // on paper
	Queued    int // due, or being sent
	Retrying  int // refused for now, to be tried again
	ToHand    int // on paper, still to be handed over
	Failed    int
	Cancelled int
	Next      *time.Time // when the next waiting one becomes due
}

// DepartmentProgress is how far the reviews of a department's people are.
type DepartmentProgress struct {
	Name       string
	Total      int
	Submitted  int
	InProgress int
}

// Missing is one reviewer who still owes reviews.
type Missing struct {
	PersonID   int64
	Name       string
	Email      string
	Department string
	Owed       int
	Started    int // of those owed, with a draft
	Submitted  int
	Message    string // where their invitation stands, as outbox.Status; empty when there is none
	EventID    int64
	Handout    bool
	OwnDue     *time.Time // their own deadline, when it is later than the cycle's; in its zone
	RemindedAt *time.Time // the last time
}

// Progress is how a cycle stands.
type Progress struct {
	Head        CycleHead
	Receipt     *Receipt // nil before activation
	Messages    Messages
	States      map[State]int // of the roster as it is now
	Then        map[State]int // of what the activation opened
	Decisions   int           // evaluations whose people have left
	Requests    int           // for more time, not answered yet
	Slips       bool          // somebody was asked on paper
	Departments []DepartmentProgress
	Missing     []Missing
	MissingAll  int      // reviewers who still owe something
	Total       int      // of those, who match the search
	Owing       []string // departments of who owes
}

// Known is the sum of all that have a known destination; it must be Total.
func (m Messages) Known() int {
	return m.Accepted + m.Handed + m.Queued + m.Retrying + m.ToHand + m.Failed + m.Cancelled
}

// Moving reports whether a drain still has something to do.
func (m Messages) Moving() bool { return m.Queued+m.Retrying > 0 }
