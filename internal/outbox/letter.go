package outbox

import (
	"slices"
	"strconv"
	"time"
)

// The kinds of event. Each owes one message to one person.
const (
	EvaluationAssigned   = "evaluation.assigned"   // asks a reviewer for all their reviews of a cycle
	EvaluationReminder   = "evaluation.reminder"   // of what is not submitted yet
	EvaluationExtended   = "evaluation.extended"   // the deadline has moved
	EvaluationReassigned = "evaluation.reassigned" // a review is yours from now on
	EvaluationWithdrawn  = "evaluation.withdrawn"  // a review is another's from now on
	EvaluationReceived   = "evaluation.received"   // all your reviews of the cycle are in
	CycleCancelled       = "cycle.cancelled"       // to those already asked
	LinkAgain            = "link.again"            // the link, asked for again
	PersonInvited        = "person.invited"        // to the organisation: set a password
	PasswordReset        = "password.reset"
	AddressChanged       = "address.changed"    // to the old address, and to HR
	MessagesFailed       = "messages.failed"    // to those who can mend them
	SendingStopped       = "sending.stopped"    // a queue was paused by us, not by a person
	ExtensionAsked       = "extension.asked"    // a reviewer asks HR for more time
	ExtensionAnswered    = "extension.answered" // and is told
	TestMessage          = "message.test"       // to whoever asks whether sending works
	InvitationSample     = "invitation.sample"  // what a reviewer would get, to whoever rehearses
)

// Kinds lists them.
var Kinds = []string{EvaluationAssigned, EvaluationReminder, EvaluationExtended, EvaluationReassigned, EvaluationWithdrawn, EvaluationReceived,
	CycleCancelled, LinkAgain, PersonInvited, PasswordReset, AddressChanged, MessagesFailed, SendingStopped, ExtensionAsked, ExtensionAnswered, TestMessage, InvitationSample}

// PathOf answers where the button of a kind, about the cycle if any, leads that
// needs no link of its own.
func PathOf(kind string, cycle int64) string {
	switch kind {
	case ExtensionAsked:
		return "/cycles/" + strconv.FormatInt(cycle, 10) + "/requests"
	case MessagesFailed, SendingStopped:
		return "/deliveries"
	case InvitationSample:
		return SamplePath
	}
	return ""
}

// SamplePath is where the button of a sample leads: to no link of anybody.
const SamplePath = "/r/exemplo"

// needs says what a kind about a cycle needs to be true when it is sent.
type needs struct {
	states []string // of the cycle
	work   bool     // something is left to submit
}

var aboutCycle = map[string]needs{
	EvaluationAssigned:   {[]string{"active"}, true},
	EvaluationReminder:   {[]string{"active"}, true},
	EvaluationExtended:   {[]string{"active"}, true},
	EvaluationReassigned: {[]string{"active"}, true},
	LinkAgain:            {[]string{"active"}, true},
	EvaluationWithdrawn:  {[]string{"active"}, false},
	ExtensionAnswered:    {[]string{"active"}, false},
	ExtensionAsked:       {[]string{"active"}, false},
	EvaluationReceived:   {[]string{"active", "closed"}, false},
	CycleCancelled:       {[]string{"cancelled"}, false},
	InvitationSample:     {[]string{"draft", "active"}, false},
}

// AboutCycle reports whether the kind belongs to a cycle.
func AboutCycle(kind string) bool { _, ok := aboutCycle[kind]; return ok }

// CarriesLink reports whether the message carries the person's review link.
func CarriesLink(kind string) bool {
	return aboutCycle[kind].work || kind == ExtensionAnswered
}

// CarriesOneTimeLink reports whether the message carries a link to set a password.
func CarriesOneTimeLink(kind string) bool { return kind == PersonInvited || kind == PasswordReset }

// QueueOf answers the queue of a kind: what somebody waits for in front of a
// screen must not stand behind three thousand invitations.
func QueueOf(kind string) string {
	switch kind {
	case LinkAgain, PersonInvited, PasswordReset, AddressChanged, MessagesFailed, SendingStopped, TestMessage, InvitationSample:
		return QueueMailNow
	}
	return QueueMail
}

// Facts are what an event's payload may state beside whom it is for. Anything
// that can change meanwhile is an id here, and is read when the message is sent.
type Facts struct {
	WasDue      time.Time `json:"was_due,omitzero"`
	Until       time.Time `json:"until,omitzero"` // what was asked for, or granted
	Reason      string    `json:"reason,omitempty"`
	ColleagueID int64     `json:"colleague_id,omitempty"`
	RevieweeID  int64     `json:"reviewee_id,omitempty"`
	ActorID     int64     `json:"actor_id,omitempty"`
	To          string    `json:"to,omitempty"` // an address that is not the person's any more
	NewAddress  string    `json:"new_address,omitempty"`
	Number      int       `json:"number,omitempty"`
	Granted     bool      `json:"granted,omitempty"`
}

// Letter is what one message says, read at the moment it is sent: people
// leave, submit and change address meanwhile.
type Letter struct {
	Kind         string
	Organisation string
	Contact      string // Reply-To; empty when nobody is named
	PersonID     int64
	Person       string
	Email        string // empty when the person has none
	Locale       string
	Left         bool // the person has left the company

	// For the kinds about a cycle.
	CycleID    int64
	Cycle      string
	CycleState string
	Due        time.Time      // the person's, in the cycle's zone
	Late       bool           // it is over
	Reviews    []LetterReview // not submitted yet

	Facts
	Colleague string // Facts.ColleagueID's name
	Reviewee  string // Facts.RevieweeID's
	Actor     string // Facts.ActorID's

	// Path is where the message's button leads, below BASE_URL.
	Path string
	// Valid is how long Path works, for one-time links.
	Valid time.Duration
}

// LetterReview is one review that a letter names.
type LetterReview struct {
	Name  string // of the person under review
	Title string
	As    string // the evaluation's kind
}

// Over answers why the message must not leave any more: audience and state as
// they are now, not as they were when it was owed. Empty means that it may.
func (l Letter) Over() string {
	n, ok := aboutCycle[l.Kind]
	switch {
	case !ok:
	case slices.Contains(n.states, l.CycleState):
		if n.work && len(l.Reviews) == 0 {
			return ReasonNothingLeft
		}
		if l.Kind == EvaluationReminder && l.Late {
			return ReasonDeadlineOver
		}
	case l.CycleState == "cancelled":
		return ReasonCycleCancelled
	default:
		return ReasonCycleClosed
	}
	return ""
}
