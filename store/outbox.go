package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel/propagation"

	"ciclo/internal/outbox"
)

// Claim is the answer of ClaimNext: whether the previous row was settled in the
// same round trip, and the row claimed, if one was due.
type Claim struct {
	Event       outbox.Event
	Found       bool
	PrevSettled bool
}

// ClaimNext settles prev as delivered (the zero Event for none) and claims the
// queue's next due row of the tenant, in one statement and one commit. The row
// is ours until its lease ends; attempts is its fence.
//
// When PrevSettled is false although prev was given, the caller asks
// SettleDelivered, which tells a lost lease from a row that was already ours.
func (s *Store) ClaimNext(ctx context.Context, queue string, tenant int64, prev outbox.Event) (Claim, error) {
	floor := s.floors.at(queue, tenant)
	claim, due, err := s.claim(ctx, queue, tenant, prev, floor)
	if err != nil {
		return Claim{}, fmt.Errorf("claim from %s: %w", queue, err)
	}
	if !claim.Found && floor != bottom {
		// rows below the floor are rare: given back by a transaction that rolled back
		s.floors.drop(queue, tenant)
		again, lower, err := s.claim(ctx, queue, tenant, outbox.Event{}, bottom)
		if err != nil {
			return claim, fmt.Errorf("claim from %s: %w", queue, err)
		}
		claim.Event, claim.Found, due = again.Event, again.Found, lower
	}
	if claim.Found {
		s.floors.raise(queue, tenant, due)
	}
	return claim, nil
}

// claim is the one statement of the relay. The settle must run first, which its
// count inside due forces: two CTEs that update rows of one table in an order
// of the planner's choosing make sixteen workers deadlock. The left join
// answers the settle's outcome even when nothing is due. A pause is read here and
// nowhere else: from its commit on nothing of the lane is claimed.
func (s *Store) claim(ctx context.Context, queue string, tenant int64, prev outbox.Event, floor place) (c Claim, due place, err error) {
	var (
		settled        int
		id, aggregate  *int64
		kind, trace    *string
		attempts, max  *int
		cancel         *bool
		dueAt, created *time.Time
	)
	err = s.pool.QueryRow(ctx, claimSQL, pgx.NamedArgs{
		"tenant": tenant, "queue": queue, "prev": prev.ID, "prev_attempts": prev.Attempts,
		"lane": outbox.LaneOf(queue), "floor_at": floor.at, "floor_id": floor.id, "lease": outbox.Lease.Seconds(),
	}).Scan(&settled, &id, &kind, &aggregate, &c.Event.Payload, &trace, &attempts, &max, &cancel, &created, &dueAt)
	if err != nil {
		return Claim{}, place{}, err
	}
	c.PrevSettled = settled == 1
	if id == nil {
		return c, place{}, nil
	}
	c.Found = true
	c.Event = outbox.Event{ID: *id, TenantID: tenant, Queue: queue, Type: *kind, AggregateID: *aggregate, Payload: c.Event.Payload,
		Attempts: *attempts, MaxAttempts: *max, CancelRequested: *cancel, CreatedAt: *created}
	if trace != nil {
		c.Event.Traceparent = *trace
	}
	return c, place{at: *dueAt, id: *id}, nil
}

const claimSQL = `
	WITH settled AS (
		UPDATE outbox_events
		SET status = 'delivered', delivered_at = now(), updated_at = now()
		WHERE tenant_id = @tenant
		  AND id = @prev
		  AND status = 'processing'
		  AND attempts = @prev_attempts
		RETURNING id
	), due AS (
		SELECT id, available_at
		FROM outbox_events
		WHERE queue = @queue
		  AND tenant_id = @tenant
		  AND status = 'pending'
		  AND (available_at, id) >= (@floor_at::timestamptz, @floor_id::bigint)
		  AND available_at <= now()
		  AND (SELECT count(*) FROM settled) >= 0
		  AND NOT EXISTS (SELECT FROM queue_pauses WHERE tenant_id = @tenant AND queue = @lane)
		ORDER BY available_at, id
		LIMIT 1
		FOR UPDATE SKIP LOCKED
	), claimed AS (
		UPDATE outbox_events e
		SET status = 'processing', attempts = e.attempts + 1, available_at = now() + make_interval(secs => @lease), updated_at = now()
		FROM due
		WHERE e.tenant_id = @tenant
		  AND e.id = due.id
		RETURNING e.id, e.event_type, e.aggregate_id, e.payload, e.traceparent, e.attempts, e.max_attempts, e.cancel_requested, e.created_at,
		          due.available_at AS due_at
	)
	SELECT s.n, c.id, c.event_type, c.aggregate_id, c.payload, c.traceparent, c.attempts, c.max_attempts, c.cancel_requested, c.created_at, c.due_at
	FROM (SELECT count(*) AS n FROM settled) s
	LEFT JOIN claimed c ON true`

// SettleDelivered records that the event was delivered, and answers whether it
// was still ours: false means the lease was lost, and another attempt decides.
// A row that is delivered at this very attempt was settled before: ours.
func (s *Store) SettleDelivered(ctx context.Context, e outbox.Event) (ours bool, err error) {
	err = s.pool.QueryRow(ctx, `
		WITH settled AS (
			UPDATE outbox_events
			SET status = 'delivered', delivered_at = now(), updated_at = now()
			WHERE tenant_id = @tenant
			  AND id = @id
			  AND status = 'processing'
			  AND attempts = @attempts
			RETURNING id
		)
		SELECT EXISTS (SELECT FROM settled)
		    OR EXISTS (
			SELECT FROM outbox_events
			WHERE tenant_id = @tenant
			  AND id = @id
			  AND status = 'delivered'
			  AND attempts = @attempts)`,
		pgx.NamedArgs{"tenant": e.TenantID, "id": e.ID, "attempts": e.Attempts}).Scan(&ours)
	if err != nil {
		return false, fmt.Errorf("settle event %d as delivered: %w", e.ID, err)
	}
	return ours, nil
}

// SettleCancelled records that the event must not leave any more, and why.
func (s *Store) SettleCancelled(ctx context.Context, e outbox.Event, reason string) (ours bool, err error) {
	tag, err := s.pool.Exec(ctx, `
		UPDATE outbox_events
		SET status = 'cancelled', status_reason = coalesce(status_reason, @reason), updated_at = now()
		WHERE tenant_id = @tenant
		  AND id = @id
		  AND status = 'processing'
		  AND attempts = @attempts`,
		pgx.NamedArgs{"tenant": e.TenantID, "id": e.ID, "attempts": e.Attempts, "reason": reason})
	if err != nil {
		return false, fmt.Errorf("settle event %d as cancelled: %w", e.ID, err)
	}
	return tag.RowsAffected() == 1, nil
}

// SettleFailed records an attempt that did not deliver, and what comes next: a
// refusal for good and the last attempt end failed; everything else waits its
// backoff, with a wake for that instant in the same transaction. A fault of our
// own side costs the row nothing: it gets one more attempt. A cancellation that
// was asked for meanwhile is honoured instead of a retry.
func (s *Store) SettleFailed(ctx context.Context, e outbox.Event, a outbox.Attempt) (status outbox.Status, ours bool, err error) {
	backoff := outbox.Backoff(e.Attempts, e.MaxAttempts, rand.Float64())
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		status, ours = "", false // a deadlock runs this twice
		var due time.Time
		err := tx.QueryRow(ctx, `
			WITH settled AS (
				UPDATE outbox_events
				SET status = CASE
						WHEN @permanent THEN 'failed'
						WHEN cancel_requested THEN 'cancelled'
						WHEN attempts >= max_attempts AND NOT @our_fault THEN 'failed'
						ELSE 'pending' END,
				    max_attempts = max_attempts + CASE WHEN @our_fault THEN 1 ELSE 0 END,
				    available_at = now() + make_interval(secs => @backoff),
				    last_error = @error, cause = @cause, updated_at = now()
				WHERE tenant_id = @tenant
				  AND id = @id
				  AND status = 'processing'
				  AND attempts = @attempts
				RETURNING tenant_id, id, attempts, status, available_at
			), recorded AS (
				INSERT INTO delivery_attempts (tenant_id, event_id, attempt, class, cause, phase, address, error, took_ms)
				SELECT tenant_id, id, attempts, @class, @cause, @phase, nullif(@address, ''), @error, @took
				FROM settled
			)
			SELECT status, available_at
			FROM settled`,
			pgx.NamedArgs{"tenant": e.TenantID, "id": e.ID, "attempts": e.Attempts, "permanent": a.Class == outbox.Permanent,
				"our_fault": a.Class.OurFault(), "backoff": backoff.Seconds(), "error": atMost(a.Error, 2000), "cause": a.Cause, "class": a.Class,
				"phase": a.Phase, "address": a.Address, "took": a.Took.Milliseconds()}).Scan(&status, &due)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // the lease was lost: touch nothing
		}
		if err != nil {
			return fmt.Errorf("settle event %d as failed: %w", e.ID, err)
		}
		ours = true
		if status == outbox.Pending {
			return s.wake(ctx, tx, e.Queue, e.TenantID, due)
		}
		return nil
	})
	return status, ours, err
}

// dispatch wakes the relay for n new events of a queue: plain jobs, last in the
// transaction that wrote the events. They are not unique, because a unique one
// is swallowed while its running twin looks for the last time.
func (s *Store) dispatch(ctx context.Context, tx pgx.Tx, tenant int64, queue string, n int) error {
	return s.dispatchAt(ctx, tx, tenant, queue, n, time.Time{})
}

// dispatchAt is dispatch for events that are due later; the zero time is now.
func (s *Store) dispatchAt(ctx context.Context, tx pgx.Tx, tenant int64, queue string, n int, due time.Time) error {
	return s.insertDrainsAt(ctx, tx, outbox.Drains(n), outbox.DrainArgs{Queue: queue, Tenant: tenant}, due)
}

func (s *Store) insertDrains(ctx context.Context, tx pgx.Tx, k int, args outbox.DrainArgs) error {
	return s.insertDrainsAt(ctx, tx, k, args, time.Time{})
}

func (s *Store) insertDrainsAt(ctx context.Context, tx pgx.Tx, k int, args outbox.DrainArgs, due time.Time) error {
	if k <= 0 {
		return nil
	}
	jobs := make([]river.InsertManyParams, k)
	for i := range jobs {
		jobs[i] = river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{Queue: args.Queue, MaxAttempts: 3, ScheduledAt: due}}
	}
	if _, err := s.jobs.InsertManyFastTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("wake %d drains of %s: %w", k, args.Queue, err)
	}
	return nil
}

// wake schedules one drain for when a row becomes due. One is enough for all rows
// of the tenant's queue that become due in the same five seconds, so it comes at
// their end.
func (s *Store) wake(ctx context.Context, tx pgx.Tx, queue string, tenant int64, due time.Time) error {
	until := due.Truncate(outbox.WakeBucket).Add(outbox.WakeBucket)
	args := outbox.DrainArgs{Queue: queue, Tenant: tenant, Woken: true, Bucket: until.Unix()}
	_, err := s.jobs.InsertTx(ctx, tx, args, &river.InsertOpts{
		Queue: queue, ScheduledAt: until, MaxAttempts: 3, UniqueOpts: river.UniqueOpts{ByArgs: true},
	})
	if err != nil {
		return fmt.Errorf("wake a drain of %s: %w", queue, err)
	}
	return nil
}

// Continue puts a drain back at the tail of its queue after its slice. One that
// was woken by a retry or the sweep goes on only while the tenant's queue has
// fewer live drains than its backlog is worth, or they would multiply for as
// long as mail is slow.
func (s *Store) Continue(ctx context.Context, args outbox.DrainArgs) error {
	args.Bucket = 0
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if args.Woken {
			due, live, err := backlog(ctx, tx, args.Queue, args.Tenant)
			if err != nil {
				return err
			}
			if others := live - 1; others >= outbox.Drains(due) { // the caller is still running
				return nil
			}
		}
		return s.insertDrains(ctx, tx, 1, args)
	})
}

// RestQueue wakes one drain of the tenant's queue after the pause, for when the
// mail server cannot be reached: nothing was claimed, so nothing else would.
func (s *Store) RestQueue(ctx context.Context, queue string, tenant int64, pause time.Duration) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		now, err := databaseNow(ctx, tx)
		if err != nil {
			return err
		}
		return s.wake(ctx, tx, queue, tenant, now.Add(pause))
	})
}

// backlog counts a tenant's due rows of a queue, as far as they matter for the
// number of drains, and its live drains. A running drain whose slice began over
// ten seconds ago may be a dead process's and is not counted.
func backlog(ctx context.Context, tx pgx.Tx, queue string, tenant int64) (due, live int, err error) {
	err = tx.QueryRow(ctx, `
		SELECT (
			SELECT count(*)
			FROM (
				SELECT FROM outbox_events
				WHERE queue = @queue
				  AND tenant_id = @tenant
				  AND status = 'pending'
				  AND available_at <= now()
				LIMIT @enough
			) waiting
		), (
			SELECT count(*)
			FROM river_job
			WHERE state IN ('available', 'running')
			  AND queue = @queue
			  AND kind = @kind
			  AND (args ->> 'tenant')::bigint = @tenant
			  AND (state = 'available' OR attempted_at > now() - make_interval(secs => @fresh))
		)`,
		pgx.NamedArgs{"queue": queue, "tenant": tenant, "enough": outbox.MaxDrains * outbox.SliceRows,
			"kind": outbox.DrainArgs{}.Kind(), "fresh": outbox.Overdue.Seconds()}).Scan(&due, &live)
	if err != nil {
		return 0, 0, fmt.Errorf("measure the backlog of %s: %w", queue, err)
	}
	return due, live, nil
}

// traceparent is the W3C header of the span in ctx, or empty.
func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// atMost cuts s to n characters, never inside one.
func atMost(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// instant is t for a column that may be null: the zero time is no time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// place is a position in the claim index.
type place struct {
	at time.Time
	id int64
}

// bottom is below every row.
var bottom = place{at: time.Unix(0, 0).UTC()}

// floors remembers, for each tenant's queue, how far claims have got, so that
// the claim does not walk over the index entries of rows already claimed while
// an old snapshot keeps them from being cleaned. It is only ever a shortcut:
// dropped after a minute, by the sweep, and before a queue is called empty.
type floors struct {
	mu    sync.Mutex
	known map[floorKey]floorMark
}

type floorKey struct {
	queue  string
	tenant int64
}

type floorMark struct {
	place place
	since time.Time
}

const floorLife = time.Minute

func newFloors() *floors { return &floors{known: map[floorKey]floorMark{}} }

func (f *floors) at(queue string, tenant int64) place {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := floorKey{queue, tenant}
	mark, ok := f.known[key]
	if !ok {
		return bottom
	}
	if time.Since(mark.since) > floorLife {
		delete(f.known, key)
		return bottom
	}
	return mark.place
}

func (f *floors) raise(queue string, tenant int64, to place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := floorKey{queue, tenant}
	mark, ok := f.known[key]
	if !ok {
		mark.since = time.Now()
	} else if to.at.Before(mark.place.at) || to.at.Equal(mark.place.at) && to.id < mark.place.id {
		return
	}
	mark.place = to
	f.known[key] = mark
}

func (f *floors) drop(queue string, tenant int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, floorKey{queue, tenant})
}

func (f *floors) dropAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.known)
}
