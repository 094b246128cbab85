package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// RetryMessage sends a failed message again: due now, with five more attempts.
func (s *Store) RetryMessage(ctx context.Context, by policy.Actor, id int64) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		m, err := lockMessage(ctx, tx, by, id)
		if err != nil {
			return err
		}
		if !m.CanRetry() {
			return notFailed(m)
		}
		_, err = s.retry(ctx, tx, by, outbox.Filter{}, []int64{id})
		return err
	})
}

// RetryMessages sends the failed ones among the chosen messages again and
// answers how many those were. One that the actor may not see refuses them all;
// one that somebody else has just sent again is left alone.
func (s *Store) RetryMessages(ctx context.Context, by policy.Actor, ids []int64) (n int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.MendMessages, policy.Of(by)); err != nil {
			return err
		}
		if len(ids) == 0 {
			return fault.Invalidf("message.none_chosen")
		}
		if err := allSeen(ctx, tx, by, ids); err != nil {
			return err
		}
		if n, err = s.retry(ctx, tx, by, outbox.Filter{}, ids); err != nil {
			return err
		}
		if n == 0 {
			return fault.Conflictf("message.nothing_to_retry")
		}
		return nil
	})
	return n, err
}

// RetryMatching sends every failed message that matches the filter again, in a
// constant number of statements, and answers how many those were.
func (s *Store) RetryMatching(ctx context.Context, by policy.Actor, f outbox.Filter) (n int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.MendMessages, policy.Of(by)); err != nil {
			return err
		}
		if f.CycleID != 0 {
			cycles, err := cyclesWithMessages(ctx, tx, by)
			if err != nil {
				return err
			}
			if _, err := nameOf(cycles, f.CycleID); err != nil {
				return err
			}
		}
		if n, err = s.retry(ctx, tx, by, f, nil); err != nil {
			return err
		}
		if n == 0 {
			return fault.Conflictf("message.nothing_to_retry")
		}
		return nil
	})
	return n, err
}

// CancelMessage stops a message for a reason that stays on it. One that waits
// or has failed is cancelled at once. One that is being sent is asked to stop,
// which is honoured as long as its sender has not begun to hand it over: what
// really happened is on the row afterwards. The answer is where it stands now.
func (s *Store) CancelMessage(ctx context.Context, by policy.Actor, id int64, reason string) (m outbox.Message, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		d, err := lockMessage(ctx, tx, by, id)
		if err != nil {
			return err
		}
		if m = d.Message; !m.CanCancel() {
			return notCancellable(m)
		}
		if err := checkReason(reason); err != nil {
			return err
		}
		act := "message.cancelled"
		if m.Status == outbox.Processing {
			act = "message.cancel_asked"
		}
		err = tx.QueryRow(ctx, `
			UPDATE outbox_events
			SET status = CASE WHEN status = 'processing' THEN status ELSE 'cancelled' END,
			    cancel_requested = status = 'processing',
			    status_reason = @reason, updated_at = now()
			WHERE tenant_id = @tenant
			  AND id = @id
			RETURNING status, cancel_requested, status_reason`,
			pgx.NamedArgs{"tenant": by.TenantID, "id": id, "reason": reason}).Scan(&m.Status, &m.CancelRequested, &m.Reason)
		if err != nil {
			return fmt.Errorf("cancel message %d: %w", id, err)
		}
		return audit(ctx, tx, by, act, "message", id, map[string]any{"reason": reason, "was": d.Status})
	})
	return m, err
}

// HandOver records that a hand-out has reached its person's hands.
func (s *Store) HandOver(ctx context.Context, by policy.Actor, id int64) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		m, err := lockMessage(ctx, tx, by, id)
		if err != nil {
			return err
		}
		switch {
		case !m.Handout():
			return fault.Conflictf("message.not_paper")
		case m.Status == outbox.Delivered && m.DeliveredAt != nil:
			return fault.Conflictf("message.already_handed_over", "when", *m.DeliveredAt)
		case !m.CanHandOver():
			return fault.Conflictf("message.not_waiting", "state", fault.Msg("message.state."+string(m.State())))
		}
		_, err = tx.Exec(ctx, `
			UPDATE outbox_events
			SET status = 'delivered', delivered_at = now(), updated_at = now()
			WHERE tenant_id = @tenant
			  AND id = @id`, pgx.NamedArgs{"tenant": by.TenantID, "id": id})
		if err != nil {
			return fmt.Errorf("hand over message %d: %w", id, err)
		}
		return audit(ctx, tx, by, "message.handed_over", "message", id, nil)
	})
}

// retry makes the failed messages of a filter, or those with the given ids, due
// now with five more attempts, says so on the trail of each, and wakes drains
// for them. They are locked in the order of their ids, so that two such acts
// wait for each other; the second finds nothing failed any more.
func (s *Store) retry(ctx context.Context, tx pgx.Tx, by policy.Actor, f outbox.Filter, ids []int64) (n int, err error) {
	f.State = outbox.StateFailed
	args := matching(by, f)
	args["ids"], args["grant"] = ids, outbox.MaxAttempts
	rows, err := tx.Query(ctx, `
		WITH chosen AS (
			SELECT e.id
			FROM outbox_events e
			LEFT JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
			LEFT JOIN people p ON p.tenant_id = e.tenant_id AND p.id = e.person_id
			WHERE e.tenant_id = @tenant
			  AND (@every OR e.cycle_id IS NULL OR c.owner_id = @actor)
			  AND e.status = @status
			  AND (@ids::bigint[] IS NULL OR e.id = ANY (@ids))
			  AND (@cycle = 0 OR e.cycle_id = @cycle)
			  AND (@cause::text = '' OR coalesce(e.cause, @other) = @cause)
			  AND (@except::text = '' OR coalesce(e.cause, @other) <> @except)
			  AND (@q = '' OR strpos(p.search, fold(@q)) > 0)
			ORDER BY e.id
			FOR NO KEY UPDATE OF e
		), retried AS (
			UPDATE outbox_events e
			SET status = 'pending', max_attempts = e.attempts + @grant, available_at = now(), cancel_requested = false,
			    status_reason = NULL, updated_at = now()
			FROM chosen
			WHERE e.tenant_id = @tenant
			  AND e.id = chosen.id
			RETURNING e.id, e.queue, e.attempts
		), noted AS (
			INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id, detail)
			SELECT @tenant, @actor, 'message.retried', 'message', id, jsonb_build_object('attempts', attempts)
			FROM retried
		)
		SELECT queue, count(*)
		FROM retried
		GROUP BY queue`, args)
	if err != nil {
		return 0, fmt.Errorf("send failed messages again: %w", err)
	}
	woken := map[string]int{}
	var queue string
	var k int
	if _, err = pgx.ForEachRow(rows, []any{&queue, &k}, func() error { woken[queue] = k; n += k; return nil }); err != nil {
		return 0, fmt.Errorf("send failed messages again: %w", err)
	}
	for queue, k := range woken {
		if err := s.wakeNow(ctx, tx, by.TenantID, queue, k); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// wakeNow wakes drains for n rows that a person has made due: plain jobs, which
// go on only while the backlog is worth them.
func (s *Store) wakeNow(ctx context.Context, tx pgx.Tx, tenant int64, queue string, n int) error {
	return s.insertDrains(ctx, tx, outbox.Drains(n), outbox.DrainArgs{Queue: queue, Tenant: tenant, Woken: true})
}

// allSeen refuses ids among which one is not the actor's to see.
func allSeen(ctx context.Context, tx pgx.Tx, by policy.Actor, ids []int64) error {
	var strange bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM unnest(@ids::bigint[]) AS wanted (id)
			WHERE NOT EXISTS (
				SELECT FROM outbox_events e
				LEFT JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
				WHERE e.tenant_id = @tenant
				  AND e.id = wanted.id
				  AND (@every OR e.cycle_id IS NULL OR c.owner_id = @actor)))`,
		seen(by, pgx.NamedArgs{"ids": ids})).Scan(&strange)
	if err != nil {
		return fmt.Errorf("look for chosen messages: %w", err)
	}
	if strange {
		return fault.NotFoundf("fault.not_found")
	}
	return nil
}

func notFailed(m outbox.MessageDetail) error {
	return fault.Conflictf("message.not_failed", "state", fault.Msg("message.state."+string(m.State())))
}

func notCancellable(m outbox.Message) error {
	switch {
	case m.Status == outbox.Processing:
		return fault.Conflictf("message.cancel_already_asked")
	case m.Status == outbox.Cancelled:
		return fault.Conflictf("message.already_cancelled", "reason", m.Reason)
	case m.Handout() && m.DeliveredAt != nil:
		return fault.Conflictf("message.already_handed_over", "when", *m.DeliveredAt)
	case m.DeliveredAt != nil:
		return fault.Conflictf("message.already_accepted", "when", *m.DeliveredAt)
	}
	return fmt.Errorf("message %d cannot be cancelled while %s", m.ID, m.Status)
}

// checkReason refuses a reason that says nothing or more than the row holds.
func checkReason(reason string) error {
	switch n := len([]rune(reason)); {
	case strings.TrimSpace(reason) == "":
		return fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("message.reason_required")})
	case n > 500:
		return fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("fault.text_long", "max", 500)})
	}
	return nil
}
