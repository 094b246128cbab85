package appraisal

import "time"

// Pair is one line of the reviewer map.
type Pair struct {
	ID             int64
	Kind           Kind
	Source         string
	State          State
	RevieweeID     int64
	Reviewee       string
	RevieweeCode   string
	Department     string
	ReviewerID     int64
	Reviewer       string
	ReviewerCode   string
	ReviewerEmail  string
	ReviewerLeftOn *time.Time
}

// Roster is the reviewer map of a cycle as its page shows it.
type Roster struct {
	Head        CycleHead
	Rule        Rule
	HasRule     bool
	Pairs       []Pair
	Total       int
	Departments []string // of the people under review
	Offered     []Share  // departments of the organisation with how many work there today
}

// Share is a name and how many belong to it.
type Share struct {
	Name string
	N    int
}

// RuleOutcome says what applying a rule changed.
type RuleOutcome struct {
	Matched        int // people the rule takes in, left out ones not counted
	KeptOut        int // people it would take in, but who were left out with a reason
	Added          int // pairs
	Removed        int // pairs
	Left           int // people who are no longer in
	WithoutManager int // matched, but nobody in the records manages them any more
}

// Absence is someone who is not in the cycle, and why.
type Absence struct {
	PersonID   int64
	Name       string
	Code       string
	Department string
	HiredOn    *time.Time
	LeftOn     *time.Time
	Why        string // excluded, left, department, hired, not_hired, not_asked
	Reason     string // the words of who left them out
	By         string
	At         *time.Time
}

// Absences is the list of who is not in the cycle.
type Absences struct {
	Head   CycleHead
	Rule   Rule
	People []Absence
	Total  int
	ByWhy  []Share
}

// RosterLine is one pair as a file says it: people by address, or by employee
// code where they have none.
type RosterLine struct{ Reviewee, Reviewer, Kind string }
