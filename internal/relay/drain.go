package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"ciclo/internal/outbox"
)

type drainWorker struct {
	river.WorkerDefaults[outbox.DrainArgs]
	relay *Relay
}

// Work drains one slice, and puts the drain back when more may be due.
func (w *drainWorker) Work(ctx context.Context, job *river.Job[outbox.DrainArgs]) error {
	more, err := w.relay.drain(ctx, job.Args)
	if err != nil {
		return err
	}
	if !more {
		return nil
	}
	return w.relay.store.Continue(ctx, job.Args)
}

// slice is the part of one drain that lives between two rows.
type slice struct {
	relay    *Relay
	queue    string
	tenant   int64
	carrier  Carrier
	prev     outbox.Event // delivered, and not settled yet
	troubled bool         // the last row met a fault of our side
	leave    func()       // gives back the slice's side of the alone lock
}

// drain works at most a hundred rows or one second of one tenant's queue, and
// answers whether more may be due.
func (r *Relay) drain(ctx context.Context, args outbox.DrainArgs) (more bool, err error) {
	deliverer, ok := r.deliverers[args.Queue]
	if !ok {
		return false, fmt.Errorf("no deliverer for queue %s", args.Queue)
	}
	s := &slice{relay: r, queue: args.Queue, tenant: args.Tenant}
	defer func() {
		err = errors.Join(err, s.stepBack(ctx))
		if s.carrier != nil {
			s.carrier.Close()
		}
	}()
	if pause := r.rests.left(args.Queue, time.Now()); pause > 0 { // the sweep and other organisations wake drains meanwhile
		return false, r.store.RestQueue(ctx, args.Queue, args.Tenant, pause)
	}
	end := time.Now().Add(outbox.SliceTime)
	for n := 0; n < outbox.SliceRows && time.Now().Before(end) && !r.isStopping(); n++ {
		if err := s.ready(ctx, deliverer); err != nil {
			r.log.WarnContext(ctx, "the queue rests: nothing could be made ready", "queue", args.Queue, "error", err)
			return false, r.rest(ctx, args)
		}
		s.enter()
		if r.isStopping() { // it may have waited long for a connection, or for a suspect
			break
		}
		worked, err := s.one(ctx)
		if err != nil || !worked {
			return false, err
		}
		if s.troubled { // every other row would meet the same answer
			r.log.WarnContext(ctx, "the queue rests: the server refuses us", "queue", args.Queue)
			return false, r.rest(ctx, args)
		}
		if args.Queue == outbox.QueueAlone || r.alone.isWanted() {
			if err := s.stepBack(ctx); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// rest wakes one drain when the queue has rested: nothing else would.
func (r *Relay) rest(ctx context.Context, args outbox.DrainArgs) error {
	return r.store.RestQueue(ctx, args.Queue, args.Tenant, r.rests.after(args.Queue, time.Now()))
}

// ready opens a carrier when there is none that can go on. It steps back
// first: opening may take long.
func (s *slice) ready(ctx context.Context, d Deliverer) error {
	if s.carrier != nil && s.carrier.Alive() {
		return nil
	}
	if err := s.stepBack(ctx); err != nil {
		return err
	}
	if s.carrier != nil {
		s.carrier.Close()
		s.carrier = nil
	}
	carrier, err := d.Open(ctx)
	if err != nil {
		return err
	}
	s.carrier = carrier
	return nil
}

// enter takes the slice's side of the alone lock, unless it still holds it.
func (s *slice) enter() {
	if s.leave == nil {
		s.leave = s.relay.alone.enter(s.queue)
	}
}

// stepBack settles what was delivered and lets go of the alone lock.
func (s *slice) stepBack(ctx context.Context) error {
	err := s.settlePrev(ctx)
	if s.leave != nil {
		s.leave()
		s.leave = nil
	}
	return err
}

// one claims and delivers one row, and settles the one before; false when none
// was due.
func (s *slice) one(ctx context.Context) (worked bool, err error) {
	end := time.Now().Add(deliverFor) // the lease begins after this
	claim, err := s.relay.store.ClaimNext(ctx, s.queue, s.tenant, s.prev)
	switch {
	case err != nil:
		return false, err // the plain settle runs as the slice steps back
	case s.prev.ID != 0 && claim.PrevSettled:
		s.relay.delivered(ctx, s.prev)
		s.prev = outbox.Event{}
	case s.prev.ID != 0: // was the lease lost, or the row settled before?
		if err := s.settlePrev(ctx); err != nil {
			return false, err
		}
	}
	if !claim.Found {
		return false, nil
	}
	return true, s.deliver(ctx, claim.Event, end)
}

// deliverFor is how long after its claim a delivery may go on, whatever it waits
// for: its settle still comes within the lease, so that no second worker sends
// the same message beside it.
const deliverFor = outbox.Lease - settleFor - 10*time.Second

// deliver carries one claimed event until end, in a span of its own that is
// linked to the click which owed it, and settles everything but a plain success.
func (s *slice) deliver(ctx context.Context, e outbox.Event, end time.Time) error {
	ctx, span := startSpan(ctx, e)
	defer span.End()
	within, cancel := context.WithDeadline(ctx, end)
	result := s.relay.carry(within, s.carrier, e)
	cancel()
	settle := context.WithoutCancel(ctx)
	switch {
	case result.Lost:
		s.relay.meters.fenced(ctx, e)
		return nil
	case result.Cancelled != "":
		span.SetAttributes(attribute.String("ciclo.outcome", "cancelled"))
		return s.relay.settled(settle, e, "cancelled", func(ctx context.Context) (bool, error) {
			return s.relay.store.SettleCancelled(ctx, e, result.Cancelled)
		})
	case result.Failed != nil:
		a := *result.Failed
		s.troubled = a.Class.OurFault()
		span.SetAttributes(attribute.String("ciclo.outcome", string(a.Class)), attribute.String("ciclo.cause", string(a.Cause)))
		span.SetStatus(codes.Error, string(a.Class))
		s.relay.log.InfoContext(ctx, "not delivered", "event", e.ID, "tenant", e.TenantID, "attempt", e.Attempts, "class", a.Class, "cause", a.Cause)
		return s.relay.settled(settle, e, string(a.Class), func(ctx context.Context) (bool, error) {
			_, ours, err := s.relay.store.SettleFailed(ctx, e, a)
			return ours, err
		})
	}
	span.SetAttributes(attribute.String("ciclo.outcome", "delivered"))
	s.relay.rests.over(s.queue)
	s.prev = e
	return nil
}

// carry is Deliver with a panic turned into a lost attempt of that row alone.
func (r *Relay) carry(ctx context.Context, c Carrier, e outbox.Event) (result Result) {
	defer func() {
		if p := recover(); p != nil {
			r.log.ErrorContext(ctx, "the deliverer panicked", "event", e.ID, "panic", fmt.Sprint(p))
			result = Result{Failed: &outbox.Attempt{Class: outbox.Unknown, Cause: outbox.CauseUnknown, Error: "our own program failed while sending"}}
		}
	}()
	return c.Deliver(ctx, e)
}

// settlePrev settles the delivered row that no claim has settled yet.
func (s *slice) settlePrev(ctx context.Context) error {
	if s.prev.ID == 0 {
		return nil
	}
	prev := s.prev
	s.prev = outbox.Event{}
	return s.relay.settled(context.WithoutCancel(ctx), prev, "delivered", func(ctx context.Context) (bool, error) {
		return s.relay.store.SettleDelivered(ctx, prev)
	})
}

// settleFor is how long a settle is tried: the lease still holds by then.
const settleFor = 30 * time.Second

// settled runs a settle until the database answers or its time is up, and
// counts the outcome; a lost lease is counted and nothing else is touched.
func (r *Relay) settled(ctx context.Context, e outbox.Event, outcome string, settle func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		ours, err := settle(ctx)
		switch {
		case err == nil && !ours:
			r.meters.fenced(ctx, e)
			r.log.WarnContext(ctx, "the lease was lost: another attempt decides", "event", e.ID, "tenant", e.TenantID, "attempt", e.Attempts)
			return nil
		case err == nil:
			if outcome == "delivered" {
				r.delivered(ctx, e)
			} else {
				r.meters.attempt(ctx, e, outcome)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("settle event %d: %w", e.ID, err)
		case <-time.After(wait):
		}
	}
}

// delivered counts a delivery and how long the reviewer waited for it.
func (r *Relay) delivered(ctx context.Context, e outbox.Event) {
	r.meters.attempt(ctx, e, "delivered")
	r.meters.waited(ctx, e)
}

func (r *Relay) isStopping() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return false
	}
}

// startSpan begins the delivery's span. It links to the click's span: the click
// has long ended, and one click owes thousands of deliveries.
func startSpan(ctx context.Context, e outbox.Event) (context.Context, trace.Span) {
	opts := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(
			attribute.Int64("ciclo.event.id", e.ID),
			attribute.String("ciclo.event.type", e.Type),
			attribute.Int64("tenant.id", e.TenantID),
			attribute.Int("ciclo.attempt", e.Attempts),
		),
	}
	click := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": e.Traceparent})
	if sc := trace.SpanContextFromContext(click); sc.IsValid() {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: sc}))
	}
	return otel.Tracer("ciclo/internal/relay").Start(ctx, "deliver "+e.Type, opts...)
}
