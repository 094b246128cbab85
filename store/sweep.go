package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/outbox"
)

// Swept says what a sweep found.
type Swept struct {
	Reclaimed int // leases that had ended
	Failed    int // of those, rows without an attempt left
	Woken     int // drains inserted
}

// Sweep recovers what lost workers left behind. Rows whose lease has ended are
// due again at once, or failed after their last attempt, each with an attempt
// row that says so; from its second loss on a row is worked alone, so that a
// message that kills its worker takes no neighbour along five times. Then every
// tenant whose rows wait longer than ten seconds gets as many drains as its
// backlog is worth. After a kill only this recovers: River's own rescuer waits
// an hour.
func (s *Store) Sweep(ctx context.Context) (swept Swept, err error) {
	s.floors.dropAll()
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		swept = Swept{}
		waiting, err := reclaim(ctx, tx, &swept)
		if err != nil {
			return err
		}
		overdue, err := overdueQueues(ctx, tx)
		if err != nil {
			return err
		}
		for _, q := range waiting { // whoever had them is not to be counted on
			if err := s.insertDrains(ctx, tx, 1, outbox.DrainArgs{Queue: q.queue, Tenant: q.tenant, Woken: true}); err != nil {
				return err
			}
			swept.Woken++
		}
		for _, q := range overdue {
			k, err := s.topUp(ctx, tx, q)
			if err != nil {
				return err
			}
			swept.Woken += k
		}
		return nil
	})
	return swept, err
}

// reclaim takes rows back from workers whose lease has ended.
func reclaim(ctx context.Context, tx pgx.Tx, swept *Swept) ([]floorKey, error) {
	rows, err := tx.Query(ctx, `
		WITH lost AS (
			SELECT tenant_id, id
			FROM outbox_events
			WHERE status = 'processing'
			  AND available_at < now()
			ORDER BY available_at
			LIMIT 1000
			FOR UPDATE SKIP LOCKED
		), reclaimed AS (
			UPDATE outbox_events e
			SET status = CASE
					WHEN e.cancel_requested THEN 'cancelled'
					WHEN e.attempts >= e.max_attempts THEN 'failed'
					ELSE 'pending' END,
			    queue = CASE
					WHEN e.queue = @mail AND EXISTS (
						SELECT FROM delivery_attempts a
						WHERE a.tenant_id = e.tenant_id
						  AND a.event_id = e.id
						  AND a.class = @lost) THEN @alone
					ELSE e.queue END,
			    available_at = now(), last_error = @error, cause = @cause, updated_at = now()
			FROM lost
			WHERE e.tenant_id = lost.tenant_id
			  AND e.id = lost.id
			RETURNING e.tenant_id, e.id, e.queue, e.status, e.attempts
		), recorded AS (
			INSERT INTO delivery_attempts (tenant_id, event_id, attempt, class, cause, error)
			SELECT tenant_id, id, attempts, @lost, @cause, @error
			FROM reclaimed
		)
		SELECT queue, tenant_id, count(*), count(*) FILTER (WHERE status = 'failed'), count(*) FILTER (WHERE status = 'pending')
		FROM reclaimed
		GROUP BY queue, tenant_id`,
		pgx.NamedArgs{"mail": outbox.QueueMail, "alone": outbox.QueueAlone, "lost": outbox.Lost, "cause": outbox.CauseLost, "error": "worker lost"})
	if err != nil {
		return nil, fmt.Errorf("reclaim lost leases: %w", err)
	}
	var waiting []floorKey
	var q floorKey
	var n, failed, pending int
	_, err = pgx.ForEachRow(rows, []any{&q.queue, &q.tenant, &n, &failed, &pending}, func() error {
		swept.Reclaimed += n
		swept.Failed += failed
		if pending > 0 {
			waiting = append(waiting, q)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reclaim lost leases: %w", err)
	}
	return waiting, nil
}

// overdueQueues finds each tenant's queue with rows that wait too long, by
// jumping from one to the next in the claim index. Hand-outs have no worker, and
// what is paused waits for a person.
func overdueQueues(ctx context.Context, tx pgx.Tx) ([]floorKey, error) {
	rows, err := tx.Query(ctx, `
		WITH RECURSIVE waiting AS (
			(
				SELECT queue, tenant_id
				FROM outbox_events
				WHERE status IN ('pending', 'processing')
				ORDER BY queue, tenant_id
				LIMIT 1
			)
			UNION ALL
			SELECT further.queue, further.tenant_id
			FROM waiting
			CROSS JOIN LATERAL (
				SELECT e.queue, e.tenant_id
				FROM outbox_events e
				WHERE e.status IN ('pending', 'processing')
				  AND (e.queue, e.tenant_id) > (waiting.queue, waiting.tenant_id)
				ORDER BY e.queue, e.tenant_id
				LIMIT 1
			) further
		)
		SELECT queue, tenant_id
		FROM waiting w
		WHERE queue <> @handout
		  AND NOT EXISTS (
			SELECT FROM queue_pauses p
			WHERE p.tenant_id = w.tenant_id
			  AND p.queue = CASE WHEN w.queue = @alone THEN @mail ELSE w.queue END)
		  AND EXISTS (
			SELECT FROM outbox_events e
			WHERE e.queue = w.queue
			  AND e.tenant_id = w.tenant_id
			  AND e.status = 'pending'
			  AND e.available_at < now() - make_interval(secs => @overdue))`,
		pgx.NamedArgs{"handout": outbox.QueueHandout, "alone": outbox.QueueAlone, "mail": outbox.QueueMail, "overdue": outbox.Overdue.Seconds()})
	if err != nil {
		return nil, fmt.Errorf("find overdue queues: %w", err)
	}
	queues, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (q floorKey, err error) {
		return q, row.Scan(&q.queue, &q.tenant)
	})
	if err != nil {
		return nil, fmt.Errorf("find overdue queues: %w", err)
	}
	return queues, nil
}

// topUp inserts the drains that a queue's backlog is worth and does not have.
func (s *Store) topUp(ctx context.Context, tx pgx.Tx, q floorKey) (int, error) {
	due, live, err := backlog(ctx, tx, q.queue, q.tenant)
	if err != nil {
		return 0, err
	}
	k := max(0, outbox.Drains(due)-live)
	return k, s.insertDrains(ctx, tx, k, outbox.DrainArgs{Queue: q.queue, Tenant: q.tenant, Woken: true})
}

// Standing is how many events of a queue stand at a status, over all
// organisations, and how long the first of those that wait for a worker has been
// due. Hand-outs and what is paused wait for a person, and are never due.
type Standing struct {
	Queue     string
	Status    outbox.Status
	Events    int
	OldestDue time.Duration
}

// OutboxStanding counts what is not delivered or cancelled, for operators.
func (s *Store) OutboxStanding(ctx context.Context) ([]Standing, error) {
	rows, err := s.pool.Query(ctx, `
		WITH counted AS (
			SELECT e.queue, e.status, count(*) AS events,
			       min(e.available_at) FILTER (WHERE e.status = 'pending' AND e.queue <> @handout AND p.queue IS NULL) AS first
			FROM outbox_events e
			LEFT JOIN queue_pauses p ON p.tenant_id = e.tenant_id AND p.queue = CASE WHEN e.queue = @alone THEN @mail ELSE e.queue END
			WHERE e.status IN ('pending', 'processing', 'failed')
			GROUP BY e.queue, e.status
		)
		SELECT q.queue, st.status, coalesce(c.events, 0), greatest(0, coalesce(extract(epoch FROM now() - c.first), 0))::float8
		FROM unnest(@queues::text[]) AS q (queue)
		CROSS JOIN unnest(ARRAY['pending', 'processing', 'failed']) AS st (status)
		LEFT JOIN counted c ON c.queue = q.queue AND c.status = st.status
		ORDER BY q.queue, st.status`,
		pgx.NamedArgs{"handout": outbox.QueueHandout, "alone": outbox.QueueAlone, "mail": outbox.QueueMail, "queues": []string{outbox.QueueMail, outbox.QueueMailNow, outbox.QueueAlone, outbox.QueueHandout}})
	if err != nil {
		return nil, fmt.Errorf("count the outbox: %w", err)
	}
	standing, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (st Standing, err error) {
		var seconds float64
		err = row.Scan(&st.Queue, &st.Status, &st.Events, &seconds)
		st.OldestDue = time.Duration(seconds * float64(time.Second))
		return st, err
	})
	if err != nil {
		return nil, fmt.Errorf("count the outbox: %w", err)
	}
	return standing, nil
}
