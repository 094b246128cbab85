// Package fault is the one vocabulary of failures a person may see.
//
// A Fault names what went wrong by a key of the message catalogue and the facts
// that belong in the sentence; the page puts it into the reader's language.
// Everything that is not a Fault is ours: it is logged whole and shown as an
// apology. The package promises that no fault carries a secret or raw SQL.
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Kind says what a failure means to the person who caused it.
type Kind int

// The kinds, from "nothing is wrong" to "something is not there".
const (
	None      Kind = iota
	Invalid        // what was typed or sent cannot be; 422
	Forbidden      // the person may not do this; 403
	NotFound       // there is no such thing, or not for this person; 404
	Conflict       // it could be, but not in the state things are in; 409
	TooMany        // too often; 429
	TooLarge       // more than is accepted; 413
	Busy           // right thing, wrong moment: try again shortly; 503
	Internal       // not a fault at all: an error of ours
)

// Args are the facts of a sentence: alternating name and value, as the
// catalogue's {name} placeholders want them.
type Args []any

// Message is one sentence for a person: a catalogue key and its facts.
type Message struct {
	Key  string
	Args Args
}

// Msg makes a Message from a key and alternating names and values.
func Msg(key string, args ...any) Message { return Message{Key: key, Args: args} }

// Fault is a failure that a person may see.
type Fault struct {
	Kind Kind
	Message
	// Fields holds what is wrong by the name of the form field that caused it.
	Fields map[string]Message
}

// Error is for logs; pages translate Key and Args instead.
func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.Key)
	for i := 0; i+1 < len(f.Args); i += 2 {
		fmt.Fprintf(&b, " %v=%v", f.Args[i], f.Args[i+1])
	}
	for name, m := range f.Fields {
		fmt.Fprintf(&b, " [%s: %s]", name, m.Key)
	}
	return b.String()
}

// New makes a fault of the given kind.
func New(kind Kind, key string, args ...any) *Fault {
	return &Fault{Kind: kind, Message: Msg(key, args...)}
}

// Invalidf says that what was sent cannot be.
func Invalidf(key string, args ...any) error { return New(Invalid, key, args...) }

// Forbiddenf says that the person may not do this.
func Forbiddenf(key string, args ...any) error { return New(Forbidden, key, args...) }

// NotFoundf says that there is no such thing for this person.
func NotFoundf(key string, args ...any) error { return New(NotFound, key, args...) }

// Conflictf says that the state of things does not allow it.
func Conflictf(key string, args ...any) error { return New(Conflict, key, args...) }

// Fieldsf refuses a form with one message for each field that caused it.
func Fieldsf(fields map[string]Message) error {
	return &Fault{Kind: Invalid, Message: Msg("fault.fields", "n", len(fields)), Fields: fields}
}

// As returns the fault inside err, or nil.
func As(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	return nil
}

// KindOf answers None for nil and Internal for an error that is no fault.
func KindOf(err error) Kind {
	if err == nil {
		return None
	}
	if f := As(err); f != nil {
		return f.Kind
	}
	return Internal
}
