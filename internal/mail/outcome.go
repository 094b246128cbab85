package mail

import (
	"context"
	"errors"
	"io"
	"net/textproto"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind says what became of a message, and so what may be done next.
type Kind string

// The kinds. The words are stored and used as metric labels: never rename them.
const (
	// Delivered: the mail server answered 250 to the whole message. Whatever
	// happens on the connection afterwards changes nothing.
	Delivered Kind = "delivered"
	// Temporary: this message was not taken now and may be taken later.
	Temporary Kind = "temporary"
	// Permanent: this message will never be taken as it stands.
	Permanent Kind = "permanent"
	// SenderRefused: the server refuses us (sign-in or sender), so every other
	// message would meet the same answer.
	SenderRefused Kind = "sender_refused"
	// Unavailable: the server could not be used; nothing was handed over and
	// the message is not at fault.
	Unavailable Kind = "unavailable"
	// Unknown: the whole message left, and no answer came back. It may or may
	// not have been taken.
	Unknown Kind = "unknown"
)

// Phase is the step of the conversation that decided the outcome.
type Phase string

// The phases, in the order of the conversation.
const (
	PhaseMessage Phase = "message" // our own message was not fit to be sent
	PhaseConnect Phase = "connect" // dial, greeting, EHLO
	PhaseTLS     Phase = "tls"
	PhaseAuth    Phase = "auth"
	PhaseMail    Phase = "mail"
	PhaseRcpt    Phase = "rcpt"
	PhaseData    Phase = "data"
	PhaseEnd     Phase = "end"
)

// Outcome is what one try at one message came to.
type Outcome struct {
	Kind     Kind
	Phase    Phase
	Code     int           // the server's reply code; 0 when it gave none
	Enhanced string        // its enhanced status code, as in "5.1.1"; may be empty
	Err      string        // what the server (or the network) said: one line, at most 2,000 bytes; empty when delivered
	Took     time.Duration // from the call to the answer
}

// maxWords bounds what a server may put on a row.
const maxWords = 2000

// ConnectError is why no usable connection could be had. Its outcome is
// SenderRefused when the server turned our sign-in down for good, and
// Unavailable for everything else.
type ConnectError struct {
	Outcome Outcome
	cause   error
}

// Error names the phase and the server's words; never the password.
func (e *ConnectError) Error() string {
	return "connect to the mail server (" + string(e.Outcome.Phase) + "): " + e.Outcome.Err
}

// Unwrap gives the network's own error.
func (e *ConnectError) Unwrap() error { return e.cause }

// judge turns the error of a phase into its outcome: the table of who is at
// fault, in one place.
func judge(phase Phase, err error) Outcome {
	out := Outcome{Phase: phase, Err: words(err)}
	var reply *textproto.Error
	if errors.As(err, &reply) {
		out.Code = reply.Code
		out.Enhanced = enhancedCode.FindString(reply.Msg)
	}
	refused, postponed := out.Code/100 == 5, out.Code/100 == 4

	switch phase {
	case PhaseConnect, PhaseTLS:
		out.Kind = Unavailable
	case PhaseAuth, PhaseMail:
		out.Kind = Unavailable
		if refused {
			out.Kind = SenderRefused
		}
	case PhaseRcpt, PhaseData:
		// A connection that breaks here has certainly not taken the message, yet
		// it costs the message a try: content that makes a filter hang up would
		// otherwise be sent for ever.
		out.Kind = Temporary
		if refused {
			out.Kind = Permanent
		}
	case PhaseEnd:
		switch {
		case refused:
			out.Kind = Permanent
		case postponed:
			out.Kind = Temporary
		default:
			out.Kind = Unknown
		}
	}
	return out
}

var enhancedCode = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// words puts an error on one line that a text column takes: valid UTF-8, no NUL,
// bounded.
func words(err error) string {
	var reply *textproto.Error
	switch {
	case errors.As(err, &reply):
		return clip(strconv.Itoa(reply.Code)+" "+oneLine(reply.Msg), maxWords)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "no answer from the mail server in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the mail server closed the connection"
	default:
		return clip(oneLine(err.Error()), maxWords)
	}
}

// oneLine makes text safe for a header or a one-line column: line ends, NUL,
// other control characters and the marks that turn the reading direction become
// spaces, and runs of space become one.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029', r == '\uFEFF':
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// clip cuts s to at most limit bytes without cutting a character.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}
