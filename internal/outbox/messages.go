package outbox

import (
	"encoding/json"
	"strings"
	"time"
)

// State is where a message stands in the words of the messages page: a status
// as a person needs to tell it apart. Its catalogue key is "message.state."
// followed by it.
type State string

// The states.
const (
	StateFailed    State = "failed"    // needs a person
	StateRetrying  State = "retrying"  // tried before, waits for its next attempt
	StateQueued    State = "queued"    // never tried
	StateSending   State = "sending"   // a worker holds it
	StateAccepted  State = "accepted"  // the mail server took it
	StateHandout   State = "handout"   // on paper, waits to be handed over
	StateHanded    State = "handed"    // on paper, handed over
	StateCancelled State = "cancelled" // must not leave any more
)

// States lists them as the page does: what needs attention first.
var States = []State{StateFailed, StateHandout, StateRetrying, StateQueued, StateSending, StateAccepted, StateHanded, StateCancelled}

// StateOf tells the state of a row.
func StateOf(status Status, queue string, attempts int) State {
	paper := queue == QueueHandout
	switch {
	case status == Failed:
		return StateFailed
	case status == Cancelled:
		return StateCancelled
	case status == Delivered && paper:
		return StateHanded
	case status == Delivered:
		return StateAccepted
	case paper:
		return StateHandout
	case status == Processing:
		return StateSending
	case attempts > 0:
		return StateRetrying
	}
	return StateQueued
}

// Rows answers which rows are in the state; nil means either.
func (s State) Rows() (status Status, handout, tried *bool) {
	yes, no := true, false
	switch s {
	case StateRetrying:
		return Pending, &no, &yes
	case StateQueued:
		return Pending, &no, &no
	case StateSending:
		return Processing, nil, nil
	case StateAccepted:
		return Delivered, &no, nil
	case StateHandout:
		return Pending, &yes, nil
	case StateHanded:
		return Delivered, &yes, nil
	case StateCancelled:
		return Cancelled, nil, nil
	}
	return Failed, nil, nil
}

// Filter narrows the messages page. The zero Filter shows what failed, the
// newest first.
type Filter struct {
	State   State
	CycleID int64 // 0: all that the actor may see
	Cause   Cause // "": any
	Except  Cause // rows with this cause are left out
	Q       string
	Sort    string // last, name or attempts, with a minus for descending
	Page    int    // from 1
}

// PageSize is how many messages a page shows.
const PageSize = 25

// Message is one row of the messages page.
type Message struct {
	ID              int64
	Type            string
	Queue           string
	Status          Status
	CycleID         int64
	Cycle           string
	PersonID        int64
	Person          string
	Email           string // on file now; empty for none
	Attempts        int
	MaxAttempts     int
	Cause           Cause
	LastError       string
	Reason          string // why it was cancelled, or was asked to be
	CancelRequested bool
	DueAt           time.Time // while pending; the lease's end while processing
	CreatedAt       time.Time
	UpdatedAt       time.Time
	DeliveredAt     *time.Time
}

// State tells where the message stands.
func (m Message) State() State { return StateOf(m.Status, m.Queue, m.Attempts) }

// Handout reports whether the message goes on paper.
func (m Message) Handout() bool { return m.Queue == QueueHandout }

// CanRetry reports whether the message may be sent again as it is.
func (m Message) CanRetry() bool { return m.Status == Failed }

// CanCancel reports whether the message may still be stopped.
func (m Message) CanCancel() bool {
	return m.Status == Pending || m.Status == Failed || m.Status == Processing && !m.CancelRequested
}

// CanCorrect reports whether the person's address may be corrected from this
// message. One that was accepted went to the wrong mailbox; one that is being
// sent must first come to its end.
func (m Message) CanCorrect() bool {
	return m.Status == Failed || m.Status == Pending || m.Status == Delivered && !m.Handout()
}

// CanHandOver reports whether the message is paper that waits.
func (m Message) CanHandOver() bool { return m.Handout() && m.Status == Pending }

// Stopped answers how a cancellation that was asked for while the message was
// being sent has ended: the catalogue key of the sentence, or nothing.
func (d MessageDetail) Stopped() string {
	switch {
	case !d.CancelRequested:
		return ""
	case d.Status == Processing:
		return "message.stop.asked"
	case d.Status == Delivered:
		return "message.stop.too_late"
	case d.Status == Failed:
		return "message.stop.refused"
	case d.Status == Cancelled && d.mayHaveLeft():
		return "message.stop.maybe"
	case d.Status == Cancelled:
		return "message.stop.in_time"
	}
	return ""
}

// mayHaveLeft reports whether the last attempt ended without an answer.
func (d MessageDetail) mayHaveLeft() bool {
	last := 0
	var class Class
	for _, a := range d.Tries {
		if a.Number > last {
			last, class = a.Number, a.Class
		}
	}
	return last == d.Attempts && (class == Unknown || class == Lost)
}

// CauseCount is how many failed for one cause.
type CauseCount struct {
	Cause Cause
	N     int
}

// CycleRef names a cycle.
type CycleRef struct {
	ID   int64
	Name string
}

// Figures are the counts of the messages that an actor sees.
type Figures struct {
	Now       time.Time
	Counts    map[State]int
	OldestDue *time.Time // of what is due and not yet sent; paper does not count
}

// Total is the sum of all states.
func (f Figures) Total() (n int) {
	for _, c := range f.Counts {
		n += c
	}
	return n
}

// Moving reports whether anything may change without a person.
func (f Figures) Moving() bool {
	return f.Counts[StateRetrying]+f.Counts[StateQueued]+f.Counts[StateSending] > 0
}

// Messages is what the messages page shows.
type Messages struct {
	Figures
	Filter
	Cycle    string       // the name of Filter.CycleID
	Cycles   []CycleRef   // that have messages
	Causes   []CauseCount // of what failed, commonest first
	Rows     []Message
	Matching int // rows that match the filter, on all pages
	Dead     int // of those, with an address that does not exist
}

// Try is one attempt that did not deliver, as the trail shows it.
type Try struct {
	Number int
	At     time.Time
	Attempt
}

// Deed is what a person did to a message.
type Deed struct {
	Act    string
	By     string
	At     time.Time
	Detail map[string]any
}

// Word answers a fact of the deed.
func (d Deed) Word(name string) string {
	s, _ := d.Detail[name].(string)
	return s
}

// Origin is the activation that wrote the message.
type Origin struct {
	Code string // of its record
	By   string
	At   time.Time
}

// LinkState is how the person's link to the cycle stands.
type LinkState struct {
	Made     bool
	Revoked  bool
	OpenedAt *time.Time
	Until    time.Time // the cycle's deadline
	Over     bool      // the cycle takes no more reviews
	Arrived  bool      // an attempt may have arrived: a new address needs a new link
}

// MessageDetail is one message with all that is known of it.
type MessageDetail struct {
	Message
	Payload     []byte
	Locale      string
	Domain      string // the commonest one among the organisation's addresses
	Origin      *Origin
	Tries       []Try
	Deeds       []Deed
	Link        LinkState
	Evaluations int
}

// PrettyPayload is the payload on indented lines.
func (d MessageDetail) PrettyPayload() string {
	var v any
	if json.Unmarshal(d.Payload, &v) != nil {
		return string(d.Payload)
	}
	pretty, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(d.Payload)
	}
	return string(pretty)
}

// LikelyAddress answers the address with the organisation's usual domain when
// the one on file has another that looks like a slip of it, or nothing.
func (d MessageDetail) LikelyAddress() string {
	local, domain, ok := strings.Cut(d.Email, "@")
	if !ok || d.Domain == "" || strings.EqualFold(domain, d.Domain) || !oneSlip(strings.ToLower(domain), d.Domain) {
		return ""
	}
	return local + "@" + d.Domain
}

// oneSlip reports whether a becomes b by one letter left out, put in or
// changed, or two neighbours swapped.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return false
	}
	swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	return a[i+1:] == b[i+1:] || swapped
}

// Correction is what correcting an address and sending again did.
type Correction struct {
	Person  string
	Changed bool // the record has a new address
	NewLink bool // the old link no longer works
}
