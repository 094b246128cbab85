package relay

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// quietly drops River's informational chatter. Of its warnings and errors it
// passes each one on once a minute: while the database is away, every queue
// would repeat the same one every second.
func quietly(h slog.Handler) slog.Handler {
	return quiet{h, &repeats{last: map[string]time.Time{}}}
}

type quiet struct {
	slog.Handler
	repeats *repeats
}

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if q.repeats.recent(cause(r), r.Time) {
		return nil
	}
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs), q.repeats}
}

func (q quiet) WithGroup(name string) slog.Handler {
	return quiet{q.Handler.WithGroup(name), q.repeats}
}

// cause is what a line is about: its words and its error, whatever the queue
// and the attempt.
func cause(r slog.Record) string {
	about := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" || a.Key == "error" {
			about += " " + a.Value.String()
		}
		return true
	})
	return about
}

// repeats remembers what was said in the last minute.
type repeats struct {
	mu   sync.Mutex
	last map[string]time.Time
}

const repeatAfter = time.Minute

func (s *repeats) recent(what string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, at := range s.last {
		if now.Sub(at) >= repeatAfter {
			delete(s.last, old)
		}
	}
	if _, said := s.last[what]; said {
		return true
	}
	s.last[what] = now
	return false
}
