package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// ApplyRule builds the rule's part of the roster anew: pairs the rule no longer
// makes are taken out and missing ones put in. Pairs that came from a file or
// the page stay, and so does everybody who was left out with a reason. People
// who left the company are not taken in, nor asked as managers.
func (s *Store) ApplyRule(ctx context.Context, by policy.Actor, id int64, rule appraisal.Rule) (done appraisal.RuleOutcome, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		_, _, err := openDraft(ctx, tx, by, id, lockCycle) // the rule is written on the cycle's own row
		if err != nil {
			return err
		}
		if err := rule.Check(); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "rule": rule, "departments": rule.Departments,
			"hired_before": rule.HiredBefore, "self": rule.Self, "manager": rule.Manager}
		if err := applyRule(ctx, tx, args, &done); err != nil {
			return fmt.Errorf("apply the rule of cycle %d: %w", id, err)
		}
		return audit(ctx, tx, by, "roster.rule_applied", "cycle", id, map[string]any{
			"rule": rule, "matched": done.Matched, "added": done.Added, "removed": done.Removed, "left": done.Left,
		})
	})
	if err == nil {
		s.learnSizes(ctx)
	}
	return done, err
}

// applyRule runs in six statements, whatever the organisation's size. The
// wanted pairs are kept in a table of this transaction.
func applyRule(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs, done *appraisal.RuleOutcome) error {
	_, err := tx.Exec(ctx, `
		UPDATE cycles
		SET rule = @rule, updated_at = now()
		WHERE tenant_id = @tenant
		  AND id = @cycle`, args)
	if err != nil {
		return err
	}
	if _, err = tx.Exec(ctx, `
		CREATE TEMPORARY TABLE rule_people ON COMMIT DROP AS
		SELECT p.id AS person_id, manager.id AS manager_id, out.id IS NOT NULL AS kept_out
		FROM people p
		LEFT JOIN people manager ON manager.tenant_id = p.tenant_id AND manager.id = p.manager_id
		     AND NOT has_left(manager.left_on, (SELECT zone FROM tenants WHERE id = @tenant))
		LEFT JOIN participants out ON out.tenant_id = p.tenant_id AND out.cycle_id = @cycle AND out.person_id = p.id AND out.excluded_at IS NOT NULL
		WHERE p.tenant_id = @tenant
		  AND NOT has_left(p.left_on, (SELECT zone FROM tenants WHERE id = @tenant))
		  AND (coalesce(cardinality(@departments::text[]), 0) = 0 OR p.department = ANY (@departments))
		  AND (@hired_before::date IS NULL OR p.hired_on < @hired_before::date)`, args); err != nil {
		return err
	}
	// without it, and without statistics, every row would be looked for in all of it
	if _, err = tx.Exec(ctx, `CREATE UNIQUE INDEX ON rule_people (person_id)`); err != nil {
		return err
	}
	err = tx.QueryRow(ctx, `
		WITH joined AS (
			INSERT INTO participants (tenant_id, cycle_id, person_id, source)
			SELECT @tenant, @cycle, person_id, 'rule'
			FROM rule_people
			WHERE NOT kept_out
			ORDER BY person_id
			ON CONFLICT (tenant_id, cycle_id, person_id) DO NOTHING
		), gone AS (
			DELETE FROM evaluations e
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND e.source = 'rule'
			  AND NOT EXISTS (
				SELECT FROM rule_people w
				WHERE w.person_id = e.reviewee_id
				  AND NOT w.kept_out
				  AND (e.kind = 'self' AND @self OR e.kind = 'manager' AND @manager AND w.manager_id = e.reviewer_id))
			RETURNING e.id
		)
		SELECT (SELECT count(*) FROM gone), count(*) FILTER (WHERE NOT kept_out), count(*) FILTER (WHERE kept_out),
		       count(*) FILTER (WHERE NOT kept_out AND manager_id IS NULL AND @manager)
		FROM rule_people`, args).Scan(&done.Removed, &done.Matched, &done.KeptOut, &done.WithoutManager)
	if err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO evaluations (tenant_id, cycle_id, reviewee_id, reviewer_id, kind, source)
		SELECT @tenant, @cycle, person_id, reviewer_id, kind, 'rule'
		FROM rule_people
		CROSS JOIN LATERAL (VALUES (person_id, 'self', @self::boolean), (manager_id, 'manager', @manager::boolean)) AS pair (reviewer_id, kind, wanted)
		WHERE NOT kept_out
		  AND wanted
		  AND reviewer_id IS NOT NULL
		ORDER BY person_id, kind
		ON CONFLICT (tenant_id, cycle_id, reviewee_id, reviewer_id, kind) DO NOTHING`, args)
	if err != nil {
		return err
	}
	done.Added = int(tag.RowsAffected())
	tag, err = tx.Exec(ctx, `
		DELETE FROM participants p
		WHERE p.tenant_id = @tenant
		  AND p.cycle_id = @cycle
		  AND p.source = 'rule'
		  AND p.excluded_at IS NULL
		  AND NOT EXISTS (SELECT FROM rule_people w WHERE w.person_id = p.person_id)
		  AND NOT EXISTS (
			SELECT FROM evaluations e
			WHERE e.tenant_id = p.tenant_id
			  AND e.cycle_id = p.cycle_id
			  AND e.reviewee_id = p.person_id)`, args)
	done.Left = int(tag.RowsAffected())
	return err
}

// openDraft takes a cycle for a change of its roster, with the lock the change
// needs, and refuses unless the actor may and the cycle is still a draft.
func openDraft(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64,
	lock func(context.Context, pgx.Tx, int64, int64) (appraisal.Cycle, time.Time, error)) (appraisal.Cycle, time.Time, error) {
	return openDraftFor(ctx, tx, by, id, policy.EditCycle, lock)
}

// openDraftPart is openDraft for a change about one person, which who covers
// that person may make: ask coverPerson for whom it is about.
func openDraftPart(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) (appraisal.Cycle, error) {
	c, _, err := openDraftFor(ctx, tx, by, id, policy.EditRosterPart, shareCycle)
	return c, err
}

// coverPerson refuses a change about somebody out of the actor's scope, as if
// they did not exist.
func coverPerson(ctx context.Context, tx pgx.Tx, by policy.Actor, act policy.Act, person int64) error {
	o := policy.Object{TenantID: by.TenantID, SubjectID: person}
	err := tx.QueryRow(ctx, `
		SELECT unit, department, coalesce(manager_id, 0)
		FROM people
		WHERE tenant_id = @tenant
		  AND id = @person`, pgx.NamedArgs{"tenant": by.TenantID, "person": person}).Scan(&o.Unit, &o.Department, &o.ManagerID)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.NotFoundf("fault.not_found")
	}
	if err != nil {
		return fmt.Errorf("read person %d: %w", person, err)
	}
	return policy.Can(by, act, o)
}

func openDraftFor(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64, act policy.Act,
	lock func(context.Context, pgx.Tx, int64, int64) (appraisal.Cycle, time.Time, error)) (appraisal.Cycle, time.Time, error) {
	c, now, err := lock(ctx, tx, by.TenantID, id)
	if err != nil {
		return c, now, err
	}
	if err := policy.Can(by, act, ofCycle(c)); err != nil {
		return c, now, err
	}
	return c, now, c.Edit()
}
