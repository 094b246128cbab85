package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// ActivateCycle opens a draft cycle: the roster is locked, every planned
// evaluation becomes pending, each reviewer's one message lies in the outbox,
// and drains are on their way. All of it commits or none of it does, in a
// constant number of statements whatever the roster's size.
//
// A cycle that is already active answers Conflict with who and when; a roster
// with blockers answers Conflict and nothing is skipped. See Rehearse for the list.
func (s *Store) ActivateCycle(ctx context.Context, by policy.Actor, id int64) (receipt appraisal.Receipt, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		cycle, now, err := lockCycle(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := policy.Can(by, policy.ActivateCycle, ofCycle(cycle)); err != nil {
			return err
		}
		if err := cycle.Activate(now); err != nil {
			return err
		}
		blockers, err := rosterBlockers(ctx, tx, cycle)
		if err != nil {
			return err
		}
		if len(blockers) > 0 {
			return fault.Conflictf("cycle.has_blockers", "cycle", cycle.Name, "n", len(blockers))
		}
		receipt = appraisal.Receipt{CycleID: id, By: by.Name, At: now}
		for _, step := range []func(context.Context, pgx.Tx, policy.Actor, *appraisal.Receipt) error{
			countRoster, openCycle, openEvaluations, holdMessages, writeInvitations, keepReceipt,
		} {
			if err := step(ctx, tx, by, &receipt); err != nil {
				return err
			}
		}
		if err := audit(ctx, tx, by, "cycle.activated", "cycle", id, map[string]any{
			"receipt": receipt.Code(), "evaluations": receipt.Evaluations, "events": receipt.Events,
		}); err != nil {
			return err
		}
		return s.dispatchAt(ctx, tx, by.TenantID, outbox.QueueMail, receipt.Mails, receipt.HeldUntil)
	})
	return receipt, err
}

// holdMessages reads for how long the organisation holds an activation's
// messages, so that it can still be undone.
func holdMessages(ctx context.Context, tx pgx.Tx, by policy.Actor, r *appraisal.Receipt) error {
	hold, err := holdOf(ctx, tx, by.TenantID)
	if err != nil {
		return err
	}
	if hold > 0 {
		r.HeldUntil = r.At.Add(hold)
	}
	return nil
}

// holdOf reads how long the organisation holds the messages of an activation.
func holdOf(ctx context.Context, tx pgx.Tx, tenant int64) (time.Duration, error) {
	var minutes int
	err := tx.QueryRow(ctx, `
		SELECT hold_minutes
		FROM tenants
		WHERE id = @tenant`, pgx.NamedArgs{"tenant": tenant}).Scan(&minutes)
	if err != nil {
		return 0, fmt.Errorf("read how long messages are held: %w", err)
	}
	return time.Duration(minutes) * time.Minute, nil
}

// rosterBlockers lists every reason why the roster cannot be activated as it
// is: those of the cycle first, then row by row. The rehearsal shows exactly
// this list, and activation asks it again at the instant of the click. Who
// reviews whom is looked up by hash (NOT IN a column that is never null, ANY of
// an array): right after an import the tables have no statistics, and a join
// would read the whole cycle for every row.
func rosterBlockers(ctx context.Context, tx pgx.Tx, cycle appraisal.Cycle) ([]appraisal.Blocker, error) {
	rows, err := tx.Query(ctx, `
		SELECT 'no_pairs' AS kind, 0 AS place, 0::bigint AS evaluation_id, 0::bigint AS reviewee_id, '' AS reviewee, '' AS department,
		       0::bigint AS reviewer_id, '' AS reviewer, '' AS pair_kind, NULL::date AS left_on
		WHERE NOT EXISTS (SELECT FROM evaluations WHERE tenant_id = @tenant AND cycle_id = @cycle)
		UNION ALL
		SELECT 'deadline_past', 0, 0, 0, '', '', 0, '', '', NULL
		WHERE @due::timestamptz <= now()
		UNION ALL
		SELECT 'no_contact', 0, 0, 0, '', '', 0, '', '', NULL
		FROM tenants t
		WHERE t.id = @tenant
		  AND t.contact_email IS NULL
		  AND @contact = ''
		UNION ALL
		SELECT 'reviewer_left', 1, e.id, e.reviewee_id, reviewee.name, reviewee.department, e.reviewer_id, reviewer.name, e.kind, reviewer.left_on
		FROM evaluations e
		JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
		JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND has_left(reviewer.left_on, (SELECT zone FROM tenants WHERE id = @tenant))
		UNION ALL
		SELECT 'reviewee_left', 1, 0, p.person_id, reviewee.name, reviewee.department, 0, '', '', reviewee.left_on
		FROM participants p
		JOIN people reviewee ON reviewee.tenant_id = p.tenant_id AND reviewee.id = p.person_id
		WHERE p.tenant_id = @tenant
		  AND p.cycle_id = @cycle
		  AND p.excluded_at IS NULL
		  AND has_left(reviewee.left_on, (SELECT zone FROM tenants WHERE id = @tenant))
		UNION ALL
		SELECT 'without_reviewer', 1, 0, p.person_id, reviewee.name, reviewee.department, 0, '', '', NULL
		FROM participants p
		JOIN people reviewee ON reviewee.tenant_id = p.tenant_id AND reviewee.id = p.person_id
		WHERE p.tenant_id = @tenant
		  AND p.cycle_id = @cycle
		  AND p.excluded_at IS NULL
		  AND p.person_id NOT IN (
			SELECT e.reviewee_id
			FROM evaluations e
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle)
		UNION ALL
		SELECT 'excluded', 1, e.id, e.reviewee_id, reviewee.name, reviewee.department, e.reviewer_id, reviewer.name, e.kind, NULL
		FROM evaluations e
		JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
		JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND e.reviewee_id = ANY (ARRAY(
			SELECT p.person_id
			FROM participants p
			WHERE p.tenant_id = @tenant
			  AND p.cycle_id = @cycle
			  AND p.excluded_at IS NOT NULL))
		ORDER BY place, reviewee, reviewer, evaluation_id`,
		pgx.NamedArgs{"tenant": cycle.TenantID, "cycle": cycle.ID, "due": cycle.DueAt, "contact": cycle.ContactEmail})
	if err != nil {
		return nil, fmt.Errorf("list blockers of cycle %d: %w", cycle.ID, err)
	}
	blockers, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (b appraisal.Blocker, err error) {
		var place int
		var left *time.Time
		err = row.Scan(&b.Kind, &place, &b.EvaluationID, &b.RevieweeID, &b.Reviewee, &b.RevieweeDept, &b.ReviewerID, &b.Reviewer, &b.PairKind, &left)
		b.LeftOn = left
		return b, err
	})
	if err != nil {
		return nil, fmt.Errorf("list blockers of cycle %d: %w", cycle.ID, err)
	}
	return blockers, nil
}

// countRoster counts what must come out equal at the end.
func countRoster(ctx context.Context, tx pgx.Tx, by policy.Actor, r *appraisal.Receipt) error {
	err := tx.QueryRow(ctx, `
		SELECT count(*), count(DISTINCT reviewer_id)
		FROM evaluations
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle`,
		pgx.NamedArgs{"tenant": by.TenantID, "cycle": r.CycleID}).Scan(&r.Pairs, &r.Reviewers)
	if err != nil {
		return fmt.Errorf("count roster of cycle %d: %w", r.CycleID, err)
	}
	return nil
}

// openCycle makes the cycle active; from here the roster's trigger refuses.
func openCycle(ctx context.Context, tx pgx.Tx, by policy.Actor, r *appraisal.Receipt) error {
	_, err := tx.Exec(ctx, `
		UPDATE cycles
		SET state = 'active', activated_at = now(), activated_by = @actor, updated_at = now()
		WHERE tenant_id = @tenant
		  AND id = @cycle`,
		pgx.NamedArgs{"tenant": by.TenantID, "cycle": r.CycleID, "actor": by.PersonID})
	if err != nil {
		return fmt.Errorf("open cycle %d: %w", r.CycleID, err)
	}
	return nil
}

// openEvaluations moves every planned evaluation to pending.
func openEvaluations(ctx context.Context, tx pgx.Tx, by policy.Actor, r *appraisal.Receipt) error {
	tag, err := tx.Exec(ctx, `
		UPDATE evaluations
		SET state = 'pending'
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND state = 'planned'`,
		pgx.NamedArgs{"tenant": by.TenantID, "cycle": r.CycleID})
	if err != nil {
		return fmt.Errorf("open evaluations of cycle %d: %w", r.CycleID, err)
	}
	r.Evaluations = int(tag.RowsAffected())
	return nil
}

// writeInvitations owes each reviewer one message: by mail, or handed over on
// paper where the person has no address. A reviewer who was already asked is a
// conflict that the index swallows and the counts then show.
func writeInvitations(ctx context.Context, tx pgx.Tx, by policy.Actor, r *appraisal.Receipt) error {
	err := tx.QueryRow(ctx, `
		WITH asked AS (
			SELECT reviewer_id, count(*) AS evaluations
			FROM evaluations
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND state = 'pending'
			GROUP BY reviewer_id
		), written AS (
			INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, available_at, payload, traceparent)
			SELECT p.tenant_id, CASE WHEN p.email IS NULL THEN @handout ELSE @mail END, @type, @cycle, coalesce(@held_until::timestamptz, now()),
			       jsonb_build_object('reviewer_id', p.id, 'cycle_id', @cycle::bigint, 'evaluations', asked.evaluations),
			       nullif(@traceparent, '')
			FROM asked
			JOIN people p ON p.tenant_id = @tenant AND p.id = asked.reviewer_id
			ORDER BY p.id
			ON CONFLICT (tenant_id, event_type, aggregate_id, (payload ->> 'reviewer_id')) WHERE event_type = 'evaluation.assigned' DO NOTHING
			RETURNING queue
		)
		SELECT count(*), count(*) FILTER (WHERE queue = @mail), count(*) FILTER (WHERE queue = @handout)
		FROM written`,
		pgx.NamedArgs{"tenant": by.TenantID, "cycle": r.CycleID, "type": outbox.EvaluationAssigned,
			"held_until": instant(r.HeldUntil), "mail": outbox.QueueMail, "handout": outbox.QueueHandout, "traceparent": traceparent(ctx)}).
		Scan(&r.Events, &r.Mails, &r.Handouts)
	if err != nil {
		return fmt.Errorf("write invitations of cycle %d: %w", r.CycleID, err)
	}
	return nil
}

// keepReceipt refuses sums that do not close, and stores the rest under the
// organisation's next number.
func keepReceipt(ctx context.Context, tx pgx.Tx, by policy.Actor, r *appraisal.Receipt) error {
	if err := r.Check(); err != nil {
		return err
	}
	err := tx.QueryRow(ctx, `
		WITH numbered AS (
			UPDATE tenants
			SET activations = activations + 1
			WHERE id = @tenant
			RETURNING activations
		)
		INSERT INTO activations (tenant_id, cycle_id, number, actor_id, at, pairs, evaluations, reviewers, events, mails, handouts, held_until)
		SELECT @tenant, @cycle, activations, @actor, @at, @pairs, @evaluations, @reviewers, @events, @mails, @handouts, @held_until
		FROM numbered
		RETURNING number`,
		pgx.NamedArgs{"tenant": by.TenantID, "cycle": r.CycleID, "actor": by.PersonID, "at": r.At, "pairs": r.Pairs,
			"evaluations": r.Evaluations, "reviewers": r.Reviewers, "events": r.Events, "mails": r.Mails, "handouts": r.Handouts, "held_until": instant(r.HeldUntil)}).
		Scan(&r.Number)
	if err != nil {
		return fmt.Errorf("keep the receipt of cycle %d: %w", r.CycleID, err)
	}
	return nil
}
