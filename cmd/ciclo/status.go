package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"ciclo/internal/outbox"
	"ciclo/store"
)

type statusCommand struct {
	JSON bool `help:"For monitors." name:"json"`
}

// lookAfter is how long a due message may wait before somebody should look.
const lookAfter = 5 * time.Minute

// Run says what is owed, by queue and status.
func (c statusCommand) Run(ctx context.Context, out io.Writer) error {
	return onDatabase(ctx, func(_ config, s *store.Store) error {
		standing, err := s.OutboxStanding(ctx)
		if err != nil {
			return err
		}
		return printStatus(out, standing, c.JSON)
	})
}

// statusLine is one line of ciclo status --json.
type statusLine struct {
	Queue            string  `json:"queue"`
	Status           string  `json:"status"`
	Events           int     `json:"events"`
	OldestDueSeconds float64 `json:"oldest_due_seconds"`
}

// printStatus writes the standing, and ends with an error that says what
// somebody should look at: failed messages, and due ones that nobody sends.
func printStatus(out io.Writer, standing []store.Standing, asJSON bool) error {
	var lines []statusLine
	var trouble []string
	for _, s := range standing {
		line := statusLine{Queue: s.Queue, Status: string(s.Status), Events: s.Events, OldestDueSeconds: s.OldestDue.Seconds()}
		if s.OldestDue > lookAfter {
			trouble = append(trouble, fmt.Sprintf("%s: a message has been due for %s", s.Queue, s.OldestDue.Round(time.Second)))
		}
		if s.Status == outbox.Failed && s.Events > 0 {
			trouble = append(trouble, fmt.Sprintf("%s: %d failed", s.Queue, s.Events))
		}
		lines = append(lines, line)
	}
	if asJSON {
		if err := json.NewEncoder(out).Encode(lines); err != nil {
			return err
		}
	} else {
		for _, l := range lines {
			fmt.Fprintf(out, "%-12s %-11s %7d  oldest due %s\n", l.Queue, l.Status, l.Events, (time.Duration(l.OldestDueSeconds) * time.Second))
		}
	}
	if len(trouble) > 0 {
		return fmt.Errorf("somebody should look: %s", strings.Join(trouble, "; "))
	}
	return nil
}
