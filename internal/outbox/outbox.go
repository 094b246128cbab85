// Package outbox names what must leave the building after a change commits.
//
// An event is a fact and the one message it owes, written in the same
// transaction as the change it reports: exactly once in our records, at least
// once in an inbox, and never lost without a row that says so.
//
//	pending ──claim──▶ processing ──settle──▶ delivered
//	   ▲                   │ ├──no more attempts, or refused for good──▶ failed
//	   └──backoff, lost────┘ └──cancel asked before it left──▶ cancelled
//
// failed is the dead letter: a person corrects what was wrong and grants five
// more attempts, or cancels with a reason. The package is pure: it decides
// nothing with a clock and stores nothing.
package outbox

import (
	"math"
	"strings"
	"time"
)

// Status is where an event stands.
type Status string

// The statuses.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Delivered  Status = "delivered"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// The queues. handout has no worker: a person hands the message over.
const (
	QueueMail    = "mail"
	QueueMailNow = "mail_now"
	QueueAlone   = "mail_alone"
	QueueHandout = "handout"
	QueueMaint   = "maint" // River only: the sweep
)

// Reasons of ours why a message was cancelled; what a person wrote stands in
// their place. The catalogue key is "message.cancelled_because." and the code.
const (
	ReasonAsked          = "asked"           // by a person, while it was being sent
	ReasonCycleCancelled = "cycle_cancelled" // before it left
	ReasonCycleClosed    = "cycle_closed"    // before it left
	ReasonNothingLeft    = "nothing_left"    // the reviewer has submitted everything
	ReasonDeadlineOver   = "deadline_over"   // a reminder that comes too late
)

// Reasons lists them.
var Reasons = []string{ReasonAsked, ReasonCycleCancelled, ReasonCycleClosed, ReasonNothingLeft, ReasonDeadlineOver}

// Limits of the relay.
const (
	MaxAttempts = 5
	Lease       = 90 * time.Second
	SliceRows   = 100
	SliceTime   = time.Second
	MaxDrains   = 8
	SweepEvery  = 15 * time.Second
	Overdue     = 10 * time.Second // the sweep wakes tenants whose rows wait longer
	WakeBucket  = 5 * time.Second
	TidyEvery   = time.Hour
	TellEvery   = 5 * time.Minute
	RemindEvery = 10 * time.Minute
)

// Drains answers how many drain jobs n new events are worth.
func Drains(n int) int { return min(MaxDrains, (n+SliceRows-1)/SliceRows) }

// Backoff answers how long a row waits after its attempt-th attempt of max.
// Each grant of five attempts starts again at 15 s; jitter is between 0 and 1.
// The third and fourth waits outlast the usual 300 s of greylisting together,
// and none is over five minutes.
func Backoff(attempts, max int, jitter float64) time.Duration {
	n := math.Max(1, float64(attempts-(max-MaxAttempts)))
	s := math.Min(300, 15*math.Pow(4, n-1)*(1+0.1*jitter))
	return time.Duration(s * float64(time.Second))
}

// Class says what a failed attempt means for the next one.
type Class string

// The classes.
const (
	Temporary     Class = "temporary"      // refused for now: wait and try again
	Permanent     Class = "permanent"      // refused for good: only a person can help
	Unavailable   Class = "unavailable"    // our side did not reach the server
	SenderRefused Class = "sender_refused" // the server refuses us, whoever the recipient
	Unknown       Class = "unknown"        // sent, but no answer came
	Lost          Class = "lost"           // the worker died with it
)

// OurFault reports whether the attempt failed on our side: it costs the row
// nothing, and every other row would have met the same.
func (c Class) OurFault() bool { return c == Unavailable || c == SenderRefused }

// Cause is a failure in words a person can act on; its catalogue key is
// "cause." followed by it.
type Cause string

// The causes.
const (
	CauseAddress     Cause = "address"      // no such mailbox or domain
	CauseMailboxFull Cause = "mailbox_full" // over quota
	CausePolicy      Cause = "policy"       // refused by a rule of the server
	CauseSender      Cause = "sender"       // our account or address is refused
	CauseUnreachable Cause = "unreachable"  // connection, TLS, greeting
	CauseSlow        Cause = "slow"         // come back later: greylisting, limits
	CauseUnknown     Cause = "unknown"      // no answer after the message was handed over
	CauseLost        Cause = "lost"         // the worker was lost
	CauseNoAddress   Cause = "no_address"   // the person has none any more
	CauseOther       Cause = "other"
)

// Causes lists them in the order of the messages page.
var Causes = []Cause{CauseAddress, CauseMailboxFull, CausePolicy, CauseNoAddress, CauseSender, CauseUnreachable, CauseSlow, CauseUnknown, CauseLost, CauseOther}

// CauseOf reads a cause from the class and the server's codes (RFC 3463).
func CauseOf(class Class, code int, enhanced string) Cause {
	switch class {
	case Lost:
		return CauseLost
	case Unknown:
		return CauseUnknown
	case Unavailable:
		return CauseUnreachable
	case SenderRefused:
		return CauseSender
	}
	_, detail, _ := strings.Cut(enhanced, ".")
	switch {
	case strings.HasPrefix(detail, "2.2") || code == 552 || code == 452 && enhanced == "":
		return CauseMailboxFull
	case strings.HasPrefix(detail, "1."), strings.HasPrefix(detail, "2.1"), (code == 550 || code == 551 || code == 553) && enhanced == "":
		return CauseAddress
	case class == Permanent && strings.HasPrefix(detail, "7."):
		return CausePolicy
	case class == Temporary:
		return CauseSlow
	}
	return CauseOther
}

// Attempt is one try that did not deliver.
type Attempt struct {
	Class   Class
	Cause   Cause
	Phase   string
	Address string
	Error   string // the other side's words, at most 2,000 characters
	Took    time.Duration
}

// Event is a claimed row: what the deliverer needs to know of it.
type Event struct {
	ID              int64
	TenantID        int64
	Queue           string
	Type            string
	AggregateID     int64
	Payload         []byte
	Traceparent     string
	Attempts        int // this claim counted
	MaxAttempts     int
	CancelRequested bool
	CreatedAt       time.Time
}

// DrainArgs is the job that works one slice of one tenant's queue.
type DrainArgs struct {
	Queue  string `json:"queue" river:"unique"`
	Tenant int64  `json:"tenant" river:"unique"`
	// Bucket makes a retry's wake unique by five seconds; 0 for a dispatch.
	Bucket int64 `json:"bucket,omitempty" river:"unique"`
	// Woken is set for a drain that a retry or the sweep woke: it goes on only
	// while there are fewer live ones than the backlog is worth.
	Woken bool `json:"woken,omitempty"`
}

// Kind names the job for River.
func (DrainArgs) Kind() string { return "outbox_drain" }

// SweepArgs is the job that recovers what a lost worker left behind.
type SweepArgs struct{}

// Kind names the job for River.
func (SweepArgs) Kind() string { return "outbox_sweep" }

// RemindArgs is the job that owes the reminders of the rule.
type RemindArgs struct{}

// Kind names the job for River.
func (RemindArgs) Kind() string { return "remind" }

// TidyArgs is the job that deletes what has expired.
type TidyArgs struct{}

// Kind names the job for River.
func (TidyArgs) Kind() string { return "tidy" }

// TellArgs is the job that tells people of messages that failed.
type TellArgs struct{}

// Kind names the job for River.
func (TellArgs) Kind() string { return "outbox_tell" }
