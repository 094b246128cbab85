package relay

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"
)

type kept struct{ lines *[]string }

func (k kept) Enabled(context.Context, slog.Level) bool { return true }
func (k kept) Handle(_ context.Context, r slog.Record) error {
	*k.lines = append(*k.lines, r.Message)
	return nil
}
func (k kept) WithAttrs([]slog.Attr) slog.Handler { return k }
func (k kept) WithGroup(string) slog.Handler      { return k }

func TestTheSameTroubleIsSaidOnceAMinute(t *testing.T) {
	var lines []string
	h := quietly(kept{&lines})
	began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	away, full := errors.New("connection refused"), errors.New("disk full")
	for _, line := range []struct {
		after time.Duration
		text  string
		err   error
		queue string
	}{
		{0, "fetch", away, "mail"},
		{time.Second, "fetch", away, "mail_now"},          // the same on another queue
		{2 * time.Second, "fetch", full, "mail"},          // something else
		{3 * time.Second, "elect", away, "mail"},          // elsewhere
		{59 * time.Second, "fetch", away, "mail"},         // still the same
		{61 * time.Second, "fetch", away, "mail"},         // said again, so that nobody believes it over
		{62 * time.Second, "fetch", away, "mail"},         //
		{24 * time.Hour, "fetch", full, "mail_exclusive"}, //
	} {
		r := slog.NewRecord(began.Add(line.after), slog.LevelError, line.text, 0)
		r.AddAttrs(slog.Any("err", line.err), slog.String("queue", line.queue))
		if err := h.WithAttrs([]slog.Attr{slog.Int("client", 1)}).WithGroup("river").Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d lines, want fetch, fetch, elect, fetch, fetch: %v", len(lines), lines)
	}
	if h.WithAttrs(nil).Enabled(t.Context(), slog.LevelInfo) {
		t.Error("chatter passes")
	}
}
