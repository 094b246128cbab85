package mailtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/mail"
	"os"
	"slices"
	"sync"
	"time"
)

// Message is one that the server took.
type Message struct {
	MessageID string    `json:"message_id"`
	Event     string    `json:"event"` // X-Ciclo-Event
	From      string    `json:"from"`
	To        []string  `json:"to"`
	Raw       []byte    `json:"raw"`
	At        time.Time `json:"at"`
	Conn      int       `json:"conn"` // counted from 1, in the order of connecting
	TLS       bool      `json:"tls"`
	User      string    `json:"user"` // who had signed in
	UTF8      bool      `json:"utf8"` // MAIL FROM asked for SMTPUTF8
}

// Header reads the message's header.
func (m Message) Header() mail.Header {
	msg, err := mail.ReadMessage(bytes.NewReader(m.Raw))
	if err != nil {
		return mail.Header{}
	}
	return msg.Header
}

// journal keeps what happened and wakes whoever waits for more of it.
type journal struct {
	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change
	messages []Message
	opened   int
	closed   int
	verbs    []string
	file     *os.File // nil: in memory only
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

// note applies a change and wakes the waiting.
func (j *journal) note(change func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change()
	close(j.changed)
	j.changed = make(chan struct{})
}

// accept writes the message down, on disk first.
func (j *journal) accept(m Message) error {
	if j.file != nil {
		line, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if _, err := j.file.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	j.note(func() { j.messages = append(j.messages, m) })
	return nil
}

// wait returns once enough is true, looking again at every change.
func (j *journal) wait(ctx context.Context, what string, enough func() bool) error {
	for {
		j.mu.Lock()
		done, changed := enough(), j.changed
		j.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		}
	}
}

func (j *journal) all() []Message {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.messages)
}

// ReadJournal reads the journal that a server of its own process left on disk,
// also after that process was killed.
func ReadJournal(path string) ([]Message, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var messages []Message
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return messages, nil // a last line without its end was never acknowledged
		}
		if err != nil {
			return nil, err
		}
		var m Message
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("journal line %d: %w", len(messages)+1, err)
		}
		messages = append(messages, m)
	}
}
