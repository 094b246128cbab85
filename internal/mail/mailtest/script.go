// Package mailtest is a mail server that misbehaves on request.
//
// It speaks real SMTP on a real socket, because what is tested is how far a
// conversation got when it broke. A Script says what goes wrong, by phase and
// recipient; everything else is accepted and kept in a journal, written before
// the 250 goes out. It runs in the test's own process (Start) or in one of its
// own, with the journal on disk (StartProcess), for tests that kill things.
//
// It speaks raw SMTP and not through go-smtp, whose sessions cannot drop the
// connection between accepting a message and answering, or answer RSET at all.
package mailtest

import (
	"strings"
	"sync"
	"time"
)

// Phase is the moment at which a rule applies.
type Phase string

// The moments of a conversation.
const (
	Connect  Phase = "connect" // in the place of the greeting
	Ehlo     Phase = "ehlo"
	StartTLS Phase = "starttls"
	Auth     Phase = "auth"
	Mail     Phase = "mail"
	Rcpt     Phase = "rcpt"
	Data     Phase = "data"
	Body     Phase = "body" // after the 354, before the body is read
	End      Phase = "end"  // after the full stop
	Rset     Phase = "rset"
	Noop     Phase = "noop"
	Quit     Phase = "quit"
)

// Act is what a rule does beyond replying.
type Act string

// The acts. A rule without one only replies.
const (
	Drop       Act = "drop"        // reply if there is a Reply, then close the connection
	Stall      Act = "stall"       // say nothing until the client gives up
	AcceptDrop Act = "accept_drop" // at End: take the message, close before the 250
)

// Rule is one fault. The first rule that applies wins.
type Rule struct {
	Phase Phase
	// To narrows a rule to one recipient (at Rcpt and later); empty means any.
	To string
	// From narrows a rule to one envelope sender (at Mail and later).
	From string
	// Skip lets that many occasions pass first; Times ends the rule after that
	// many (0: never). Each counts by recipient when PerRecipient is set.
	Skip, Times  int
	PerRecipient bool
	// For ends the rule that long after the first occasion (by recipient when
	// PerRecipient is set): greylisting.
	For time.Duration
	// Reply is a full reply, "450 4.7.1 Greylisted"; \n makes further lines.
	Reply string
	Act   Act
}

// Script is everything a server can be told.
type Script struct {
	Rules []Rule
	// TLS is "", "starttls" or "implicit".
	TLS string
	// Users are the names and passwords of AUTH; empty means AUTH is not offered.
	Users map[string]string
	// Mechanisms that are offered; PLAIN and LOGIN when empty.
	Mechanisms []string
	// NoSMTPUTF8 leaves the extension out.
	NoSMTPUTF8 bool
	// MaxConnections answers 421 to further ones; 0 means any number.
	MaxConnections int
	// MaxPerConnection answers 421 at the MAIL FROM after that many messages.
	MaxPerConnection int
	// Latency is waited before the reply to the end of data.
	Latency time.Duration
}

// rulebook remembers how often each rule was met.
type rulebook struct {
	mu    sync.Mutex
	rules []Rule
	met   []map[string]occasions
}

type occasions struct {
	count int
	first time.Time
}

func (b *rulebook) replace(rules []Rule) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rules = rules
	b.met = make([]map[string]occasions, len(rules))
}

// match gives the rule for this moment. Every rule that fits the moment counts
// it, whether or not it wins, up to the one that wins.
func (b *rulebook) match(phase Phase, from, to string, now time.Time) (Rule, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, r := range b.rules {
		if r.Phase != phase || !fits(r.To, to) || !fits(r.From, from) {
			continue
		}
		key := ""
		if r.PerRecipient {
			key = strings.ToLower(to)
		}
		if b.met[i] == nil {
			b.met[i] = map[string]occasions{}
		}
		o := b.met[i][key]
		if o.count == 0 {
			o.first = now
		}
		o.count++
		b.met[i][key] = o
		if o.count <= r.Skip || (r.Times > 0 && o.count > r.Skip+r.Times) || (r.For > 0 && now.Sub(o.first) >= r.For) {
			continue
		}
		return r, true
	}
	return Rule{}, false
}

func fits(want, got string) bool { return want == "" || strings.EqualFold(want, got) }
