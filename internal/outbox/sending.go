package outbox

import "time"

// Lanes are what can be paused: invitations and reminders, and the mails that
// somebody waits for in front of a screen.
var Lanes = []string{QueueMail, QueueMailNow}

// LaneOf answers which pause stops a queue: a suspect is worked alone, but it is
// still a message of its old queue.
func LaneOf(queue string) string {
	if queue == QueueAlone {
		return QueueMail
	}
	return queue
}

// Heartbeats say that a queue has workers.
const (
	BeatEvery = 15 * time.Second
	Silence   = 60 * time.Second // after it, nobody is taken to work the queue
)

// Pause is a lane that a person has stopped.
type Pause struct {
	Lane   string
	By     string
	Reason string
	Since  time.Time
}

// Sending is how an organisation's sending stands.
type Sending struct {
	Pauses    []Pause
	Silent    bool       // no worker has been heard for a minute
	LastHeard *time.Time // of any worker; nil when none ever was
}

// Paused answers the pause of a lane, if there is one.
func (s Sending) Paused(lane string) (Pause, bool) {
	for _, p := range s.Pauses {
		if p.Lane == lane {
			return p, true
		}
	}
	return Pause{}, false
}

// Troubled reports whether messages wait for a person.
func (s Sending) Troubled() bool { return len(s.Pauses) > 0 || s.Silent }
