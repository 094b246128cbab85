package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// UndoActivation takes an activation back while nothing of it has left: its
// events are deleted, every evaluation is planned again and the cycle is a
// draft, so that the next activation asks everybody once more. One message that
// a worker has claimed, one slip handed over or one review begun refuses it, and
// nothing is changed. That it was activated stays on record.
func (s *Store) UndoActivation(ctx context.Context, by policy.Actor, id int64) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		cycle, _, err := lockCycle(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := policy.Can(by, policy.ActivateCycle, ofCycle(cycle)); err != nil {
			return err
		}
		if err := cycle.Undo(); err != nil {
			return err
		}
		did, err := readActivation(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := planAgain(ctx, tx, by.TenantID, did); err != nil { // evaluations before events: the lock order
			return err
		}
		if err := takeBackEvents(ctx, tx, by.TenantID, did); err != nil {
			return err
		}
		if err := draftAgain(ctx, tx, by, id); err != nil {
			return err
		}
		return audit(ctx, tx, by, "cycle.activation_undone", "cycle", id, map[string]any{"receipt": did.Code(), "events": did.Events, "evaluations": did.Evaluations})
	})
}

// planAgain returns every evaluation to planned, or none: who has begun keeps
// their text.
func planAgain(ctx context.Context, tx pgx.Tx, tenant int64, did appraisal.Receipt) error {
	var moved, all int
	err := tx.QueryRow(ctx, `
		WITH moved AS (
			UPDATE evaluations
			SET state = 'planned'
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND state = 'pending'
			RETURNING id
		)
		SELECT (SELECT count(*) FROM moved), (SELECT count(*) FROM evaluations WHERE tenant_id = @tenant AND cycle_id = @cycle)`,
		pgx.NamedArgs{"tenant": tenant, "cycle": did.CycleID}).Scan(&moved, &all)
	if err != nil {
		return fmt.Errorf("plan evaluations of cycle %d again: %w", did.CycleID, err)
	}
	if moved != all || moved != did.Evaluations {
		return fault.Conflictf("undo.begun")
	}
	return nil
}

// takeBackEvents deletes the activation's events, unless one of them was ever
// claimed or handed over, or another message of the cycle exists. A claim that
// runs at this moment is waited for, and counts. The samples HR sent themselves
// while rehearsing asked nobody for anything and stand in nobody's way.
func takeBackEvents(ctx context.Context, tx pgx.Tx, tenant int64, did appraisal.Receipt) error {
	tag, err := tx.Exec(ctx, `
		DELETE FROM outbox_events
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND event_type = 'evaluation.assigned'
		  AND status = 'pending'
		  AND attempts = 0`, pgx.NamedArgs{"tenant": tenant, "cycle": did.CycleID})
	if err != nil {
		return fmt.Errorf("take back the messages of cycle %d: %w", did.CycleID, err)
	}
	var left bool
	err = tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM outbox_events
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND event_type <> 'invitation.sample')`, pgx.NamedArgs{"tenant": tenant, "cycle": did.CycleID}).Scan(&left)
	if err != nil {
		return fmt.Errorf("look for messages of cycle %d that have left: %w", did.CycleID, err)
	}
	if left || int(tag.RowsAffected()) != did.Events {
		return fault.Conflictf("undo.leaving")
	}
	return nil
}

// draftAgain makes the cycle a draft, with links that open nothing any more.
func draftAgain(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) error {
	for _, step := range []struct{ what, sql string }{
		{"end the sessions of", `
			DELETE FROM sessions
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle`},
		{"take back the links of", `
			UPDATE review_links
			SET revoked_at = now()
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND revoked_at IS NULL`},
		{"note the undoing of", `
			UPDATE activations
			SET undone_at = now(), undone_by = @actor
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND undone_at IS NULL`},
		{"reopen", `
			UPDATE cycles
			SET state = 'draft', activated_at = NULL, activated_by = NULL, updated_at = now()
			WHERE tenant_id = @tenant
			  AND id = @cycle`},
	} {
		if _, err := tx.Exec(ctx, step.sql, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "actor": by.PersonID}); err != nil {
			return fmt.Errorf("%s cycle %d: %w", step.what, id, err)
		}
	}
	return nil
}

// undoable reports whether UndoActivation would succeed now, as far as can be
// seen without locking anything.
func undoable(ctx context.Context, tx pgx.Tx, by policy.Actor, cycle int64, did appraisal.Receipt) (yes bool, err error) {
	err = tx.QueryRow(ctx, `
		SELECT c.state = 'active'
		   AND (SELECT count(*) FILTER (WHERE status = 'pending' AND attempts = 0 AND event_type = 'evaluation.assigned') = @events AND count(*) = @events
		        FROM outbox_events
		        WHERE tenant_id = @tenant
		          AND cycle_id = @cycle
		          AND event_type <> 'invitation.sample')
		   AND NOT EXISTS (
			SELECT FROM evaluations
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND state <> 'pending')
		FROM cycles c
		WHERE c.tenant_id = @tenant
		  AND c.id = @cycle`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": cycle, "events": did.Events}).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("see whether the activation of cycle %d can be undone: %w", cycle, err)
	}
	return yes, nil
}
