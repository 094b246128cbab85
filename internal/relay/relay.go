// Package relay carries events out of the building after their change has
// committed.
//
// A drain works one slice of one tenant's queue: it makes the connection ready,
// claims a row, delivers it, and settles it in the same statement that claims
// the next. Its slice over, it puts itself back at the tail, which is the
// fairness between tenants. Retry state lives on the row, never in River's;
// River only wakes and runs drains. A sweep recovers what a lost worker left.
//
// The package promises at least once for every event and at most one delivery
// in flight for each; it promises nothing about order.
package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"ciclo/internal/outbox"
	"ciclo/store"
)

// Deliverer carries one kind of message. The mail room is one; others follow.
type Deliverer interface {
	// Open makes ready whatever a delivery needs, before a row is claimed: a
	// server that cannot be reached costs no row an attempt.
	Open(ctx context.Context) (Carrier, error)
}

// Carrier delivers, one event after the other, until it is closed.
type Carrier interface {
	Deliver(ctx context.Context, e outbox.Event) Result
	// Alive reports whether another event can be delivered without opening anew.
	Alive() bool
	Close()
}

// Result is what became of one event. The zero Result means delivered.
type Result struct {
	// Failed is the attempt to record; nil when delivered or cancelled.
	Failed *outbox.Attempt
	// Cancelled says why the event must not leave any more.
	Cancelled string
	// Lost is set when the row was found to be another worker's: touch nothing.
	Lost bool
}

// Options say how a relay works.
type Options struct {
	Store      *store.Store
	Deliverers map[string]Deliverer // by outbox queue
	Workers    map[string]int       // by outbox queue; default DefaultWorkers
	Log        *slog.Logger
	Middleware []rivertype.Middleware // tracing of jobs
}

// DefaultWorkers are the drains that run at once in one process.
var DefaultWorkers = map[string]int{outbox.QueueMail: 8, outbox.QueueMailNow: 2, outbox.QueueAlone: 1}

// jobTimeout is far above a slice with its slowest message.
const jobTimeout = 3 * time.Minute

// Relay runs drains and the sweep until it is stopped.
type Relay struct {
	store      *store.Store
	deliverers map[string]Deliverer
	log        *slog.Logger
	meters     meters
	client     *river.Client[pgx.Tx]
	alone      alone
	rests      rests
	heart      *heart
	stopping   chan struct{}
	stop       sync.Once
}

// New prepares a relay. It works only the queues it has a deliverer for.
func New(o Options) (*Relay, error) {
	r := &Relay{store: o.Store, deliverers: o.Deliverers, log: o.Log, heart: newHeart(o.Deliverers), stopping: make(chan struct{})}
	if r.log == nil {
		r.log = slog.Default()
	}
	var err error
	if r.meters, err = newMeters(); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &drainWorker{relay: r})
	river.AddWorker(workers, &sweepWorker{relay: r})
	river.AddWorker(workers, &tidyWorker{relay: r})
	river.AddWorker(workers, &tellWorker{relay: r})
	river.AddWorker(workers, &remindWorker{relay: r})
	queues := map[string]river.QueueConfig{outbox.QueueMaint: {MaxWorkers: 2}}
	for queue := range o.Deliverers {
		n := DefaultWorkers[queue]
		if o.Workers[queue] > 0 {
			n = o.Workers[queue]
		}
		queues[queue] = river.QueueConfig{MaxWorkers: max(1, n)}
	}
	r.client, err = river.NewClient(riverpgxv5.New(o.Store.Pool()), &river.Config{
		Queues:                      queues,
		Workers:                     workers,
		JobTimeout:                  jobTimeout,
		Logger:                      slog.New(quietly(r.log.Handler())),
		Middleware:                  o.Middleware,
		CompletedJobRetentionPeriod: time.Hour, // the row is the history; River's is not
		PeriodicJobs: []*river.PeriodicJob{every(outbox.SweepEvery, outbox.SweepArgs{}), every(outbox.TidyEvery, outbox.TidyArgs{}),
			every(outbox.TellEvery, outbox.TellArgs{}), every(outbox.RemindEvery, outbox.RemindArgs{})},
	})
	if err != nil {
		return nil, fmt.Errorf("relay client: %w", err)
	}
	return r, nil
}

// every runs a job at an interval, and once when a new leader starts.
func every(interval time.Duration, args river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(interval),
		func() (river.JobArgs, *river.InsertOpts) {
			return args, &river.InsertOpts{Queue: outbox.QueueMaint, MaxAttempts: 1}
		},
		&river.PeriodicJobOpts{ID: args.Kind(), RunOnStart: true})
}

// Start begins to work; it returns at once.
func (r *Relay) Start(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if err := r.beat(ctx); err != nil {
		return fmt.Errorf("start the relay: %w", err)
	}
	if err := r.client.Start(ctx); err != nil {
		return fmt.Errorf("start the relay: %w", err)
	}
	return nil
}

// Stop claims nothing more, lets what is being sent end, and returns. When ctx
// ends first, sends are cut; their leases hand them to another worker.
func (r *Relay) Stop(ctx context.Context) error {
	r.stop.Do(func() { close(r.stopping) })
	defer r.endBeat(ctx)
	err := r.client.Stop(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		cut, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = r.client.StopAndCancel(cut)
	}
	if err != nil {
		return fmt.Errorf("stop the relay: %w", err)
	}
	return nil
}

// alone keeps messages that may kill their worker away from the others. Drains
// hold the read side; the queue of suspects takes the write side, row by row. A
// waiting suspect makes every drain settle and step back after the row it has,
// so that nobody's delivered row is still unsettled when the worker dies.
type alone struct {
	mu      sync.RWMutex
	waiting sync.Mutex
	wanted  bool
}

func (a *alone) setWanted(w bool) {
	a.waiting.Lock()
	a.wanted = w
	a.waiting.Unlock()
}

func (a *alone) isWanted() bool {
	a.waiting.Lock()
	defer a.waiting.Unlock()
	return a.wanted
}

// enter takes the side that the queue's rows are worked under.
func (a *alone) enter(queue string) (leave func()) {
	if queue != outbox.QueueAlone {
		a.mu.RLock()
		return a.mu.RUnlock
	}
	a.setWanted(true)
	a.mu.Lock()
	a.setWanted(false)
	return a.mu.Unlock
}

// rests remembers which queues could not be made ready, and until when each is
// left alone.
type rests struct {
	mu sync.Mutex
	of map[string]rest
}

type rest struct {
	failed int // in a row
	until  time.Time
}

// after answers how long a queue rests that could not be made ready: a moment at
// first, half a minute from the third time on. Drains that fail while it rests
// already tried at the same time: they count as one.
func (r *rests) after(queue string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.of[queue]
	if left := q.until.Sub(now); left > 0 {
		return left
	}
	q.failed++
	pause := 5 * time.Second
	if q.failed >= 3 {
		pause = 30 * time.Second
	}
	q.until = now.Add(pause)
	if r.of == nil {
		r.of = map[string]rest{}
	}
	r.of[queue] = q
	return pause
}

// left answers how long a queue still rests; nought or less when it does not.
func (r *rests) left(queue string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[queue].until.Sub(now)
}

func (r *rests) over(queue string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, queue)
}
