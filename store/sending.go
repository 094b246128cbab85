package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// Sending reads what keeps an organisation's messages from leaving: lanes that
// somebody paused, and workers that have fallen silent.
func (s *Store) Sending(ctx context.Context, by policy.Actor) (st outbox.Sending, err error) {
	if err := policy.Can(by, policy.SeeMessages, policy.Of(by)); err != nil {
		return st, err
	}
	rows, err := s.pool.Query(ctx, `
		SELECT q.queue, p.name, q.reason, q.paused_at
		FROM queue_pauses q
		JOIN people p ON p.tenant_id = q.tenant_id AND p.id = q.paused_by
		WHERE q.tenant_id = @tenant
		ORDER BY q.queue`, pgx.NamedArgs{"tenant": by.TenantID})
	if err != nil {
		return st, fmt.Errorf("read pauses: %w", err)
	}
	st.Pauses, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p outbox.Pause, err error) {
		return p, row.Scan(&p.Lane, &p.By, &p.Reason, &p.Since)
	})
	if err != nil {
		return st, fmt.Errorf("read pauses: %w", err)
	}
	err = s.pool.QueryRow(ctx, `
		SELECT max(beat_at), coalesce(max(beat_at) < now() - make_interval(secs => @silence), true)
		FROM worker_heartbeats
		WHERE queue = @mail`, pgx.NamedArgs{"silence": outbox.Silence.Seconds(), "mail": outbox.QueueMail}).Scan(&st.LastHeard, &st.Silent)
	if err != nil {
		return st, fmt.Errorf("listen for workers: %w", err)
	}
	return st, nil
}

// PauseSending stops a lane of the organisation: whatever a worker has not
// claimed yet stays where it is. A lane that is paused already is a Conflict
// that says by whom.
func (s *Store) PauseSending(ctx context.Context, by policy.Actor, lane, reason string) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.PauseSending, policy.Of(by)); err != nil {
			return err
		}
		if !slices.Contains(outbox.Lanes, lane) {
			return fault.NotFoundf("fault.not_found")
		}
		reason = strings.TrimSpace(reason)
		if reason == "" {
			return fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("sending.reason_required")})
		}
		if err := checkReason(reason); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO queue_pauses (tenant_id, queue, paused_by, reason)
			VALUES (@tenant, @queue, @actor, @reason)
			ON CONFLICT (tenant_id, queue) DO NOTHING`,
			pgx.NamedArgs{"tenant": by.TenantID, "queue": lane, "actor": by.PersonID, "reason": reason})
		if err != nil {
			return fmt.Errorf("pause %s: %w", lane, err)
		}
		if tag.RowsAffected() == 0 {
			return alreadyPaused(ctx, tx, by.TenantID, lane)
		}
		if err := s.tellOfPause(ctx, tx, by, lane, reason); err != nil {
			return err
		}
		return audit(ctx, tx, by, "sending.paused", "tenant", by.TenantID, map[string]any{"queue": lane, "reason": reason})
	})
}

func alreadyPaused(ctx context.Context, tx pgx.Tx, tenant int64, lane string) error {
	var p outbox.Pause
	err := tx.QueryRow(ctx, `
		SELECT p.name, q.paused_at
		FROM queue_pauses q
		JOIN people p ON p.tenant_id = q.tenant_id AND p.id = q.paused_by
		WHERE q.tenant_id = @tenant
		  AND q.queue = @queue`, pgx.NamedArgs{"tenant": tenant, "queue": lane}).Scan(&p.By, &p.Since)
	if err != nil {
		return fmt.Errorf("read who paused %s: %w", lane, err)
	}
	return fault.Conflictf("sending.already_paused", "who", p.By, "when", p.Since)
}

// ResumeSending lets a lane go again and wakes as many drains as its backlog is
// worth. One that nobody has paused is a Conflict.
func (s *Store) ResumeSending(ctx context.Context, by policy.Actor, lane string) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.PauseSending, policy.Of(by)); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			DELETE FROM queue_pauses
			WHERE tenant_id = @tenant
			  AND queue = @queue`, pgx.NamedArgs{"tenant": by.TenantID, "queue": lane})
		if err != nil {
			return fmt.Errorf("resume %s: %w", lane, err)
		}
		if tag.RowsAffected() == 0 {
			return fault.Conflictf("sending.not_paused")
		}
		if err := audit(ctx, tx, by, "sending.resumed", "tenant", by.TenantID, map[string]any{"queue": lane}); err != nil {
			return err
		}
		for _, queue := range []string{outbox.QueueMail, outbox.QueueMailNow, outbox.QueueAlone} {
			if outbox.LaneOf(queue) != lane {
				continue
			}
			if _, err := s.topUp(ctx, tx, floorKey{queue: queue, tenant: by.TenantID}); err != nil {
				return err
			}
		}
		return nil
	})
}

// tellOfPause owes a mail about the pause of the invitations' lane to those who
// run cycles that are under way and to the admins, whoever paused it aside.
func (s *Store) tellOfPause(ctx context.Context, tx pgx.Tx, by policy.Actor, lane, reason string) error {
	if lane != outbox.QueueMail { // the mail would wait behind the pause that it tells of
		return nil
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, traceparent)
		SELECT p.tenant_id, @now, @kind, p.id, jsonb_build_object('person_id', p.id, 'actor_id', @actor::bigint, 'reason', @reason::text), nullif(@traceparent, '')
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		WHERE p.tenant_id = @tenant
		  AND p.id <> @actor
		  AND p.email IS NOT NULL
		  AND NOT has_left(p.left_on, t.zone)
		  AND (EXISTS (SELECT FROM grants g WHERE g.tenant_id = p.tenant_id AND g.person_id = p.id AND g.role = 'admin')
		    OR EXISTS (SELECT FROM cycles c WHERE c.tenant_id = p.tenant_id AND c.owner_id = p.id AND c.state = 'active'))`,
		pgx.NamedArgs{"tenant": by.TenantID, "actor": by.PersonID, "reason": reason, "now": outbox.QueueMailNow,
			"kind": outbox.SendingStopped, "traceparent": traceparent(ctx)})
	if err != nil {
		return fmt.Errorf("tell of the pause: %w", err)
	}
	return s.dispatch(ctx, tx, by.TenantID, outbox.QueueMailNow, int(tag.RowsAffected()))
}

// Beat notes that a process works these queues now.
func (s *Store) Beat(ctx context.Context, process string, queues []string) error {
	_, err := s.pool.Exec(ctx, `
		INSERT INTO worker_heartbeats (process, queue)
		SELECT @process, unnest(@queues::text[])
		ON CONFLICT (process, queue) DO UPDATE
		SET beat_at = now()`, pgx.NamedArgs{"process": process, "queues": queues})
	if err != nil {
		return fmt.Errorf("note that the worker is alive: %w", err)
	}
	return nil
}

// EndBeats notes that a process has stopped on purpose.
func (s *Store) EndBeats(ctx context.Context, process string) error {
	if _, err := s.pool.Exec(ctx, `DELETE FROM worker_heartbeats WHERE process = @process`, pgx.NamedArgs{"process": process}); err != nil {
		return fmt.Errorf("note that the worker has stopped: %w", err)
	}
	return nil
}
