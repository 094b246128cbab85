package relay

import (
	"context"

	"github.com/riverqueue/river"

	"ciclo/internal/outbox"
)

type sweepWorker struct {
	river.WorkerDefaults[outbox.SweepArgs]
	relay *Relay
}

// Work recovers lost leases, wakes what is overdue, and measures.
func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[outbox.SweepArgs]) error {
	swept, err := w.relay.store.Sweep(ctx)
	if err != nil {
		return err
	}
	if swept.Reclaimed > 0 {
		w.relay.log.WarnContext(ctx, "took back rows of lost workers", "reclaimed", swept.Reclaimed, "failed", swept.Failed)
		w.relay.meters.reclaimed(ctx, swept.Reclaimed)
	}
	standing, err := w.relay.store.OutboxStanding(ctx)
	if err != nil {
		return err
	}
	w.relay.meters.standing(ctx, standing)
	return nil
}

type tellWorker struct {
	river.WorkerDefaults[outbox.TellArgs]
	relay *Relay
}

// Work tells those who can mend them of messages that have failed.
func (w *tellWorker) Work(ctx context.Context, _ *river.Job[outbox.TellArgs]) error {
	_, err := w.relay.store.TellOfFailed(ctx)
	return err
}

type tidyWorker struct {
	river.WorkerDefaults[outbox.TidyArgs]
	relay *Relay
}

// Work deletes what has expired.
func (w *tidyWorker) Work(ctx context.Context, _ *river.Job[outbox.TidyArgs]) error {
	gone, err := w.relay.store.Tidy(ctx)
	if err == nil && gone > 0 {
		w.relay.log.InfoContext(ctx, "tidied up", "rows", gone)
	}
	return err
}

type remindWorker struct {
	river.WorkerDefaults[outbox.RemindArgs]
	relay *Relay
}

// Work owes the reminders that the rule of running cycles asks for by now. A
// worker that was away sends what is still true when it comes back.
func (w *remindWorker) Work(ctx context.Context, _ *river.Job[outbox.RemindArgs]) error {
	owed, err := w.relay.store.RemindByRule(ctx)
	if err == nil && owed > 0 {
		w.relay.log.InfoContext(ctx, "owed reminders", "reminders", owed)
	}
	return err
}
