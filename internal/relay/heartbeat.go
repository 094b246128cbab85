package relay

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"ciclo/internal/outbox"
)

// heart says, for as long as the relay works, that its queues have a worker.
type heart struct {
	process string
	queues  []string
	beats   sync.WaitGroup
}

func newHeart(deliverers map[string]Deliverer) *heart {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &heart{process: fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text()[:8]), queues: slices.Sorted(maps.Keys(deliverers))}
}

// beat notes at once that the process works, and then again every quarter of a
// minute until the relay stops. A beat that fails is made up for by the next.
func (r *Relay) beat(ctx context.Context) error {
	if err := r.store.Beat(ctx, r.heart.process, r.heart.queues); err != nil {
		return err
	}
	r.heart.beats.Go(func() {
		tick := time.NewTicker(outbox.BeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-r.stopping:
				return
			case <-tick.C:
			}
			within, cancel := context.WithTimeout(ctx, outbox.BeatEvery)
			if err := r.store.Beat(within, r.heart.process, r.heart.queues); err != nil {
				r.log.WarnContext(ctx, "no heartbeat", "error", err)
			}
			cancel()
		}
	})
	return nil
}

// endBeat takes the process off the record: it has stopped on purpose.
func (r *Relay) endBeat(ctx context.Context) {
	r.heart.beats.Wait()
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := r.store.EndBeats(within, r.heart.process); err != nil {
		r.log.WarnContext(ctx, "the last heartbeat stays on record for a minute", "error", err)
	}
}
