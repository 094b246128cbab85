package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// Mending is what to do about rows of a rehearsal: the chosen blockers, all of
// one kind, or the people behind a warning.
type Mending struct {
	Act      appraisal.MendAct
	Blockers []string // as BlockerKey names them
	All      appraisal.BlockerKind
	People   []int64
	Reason   string // to exclude
	Reviewer string // to replace: code, address or name
	Skip     bool   // leave the rows that cannot be touched as they are
}

// BlockerKey names a blocker of one row from one page to the next; empty for
// those that concern the cycle.
func BlockerKey(b appraisal.Blocker) string {
	switch {
	case b.EvaluationID != 0:
		return string(b.Kind) + ":" + strconv.FormatInt(b.EvaluationID, 10)
	case b.RevieweeID != 0:
		return string(b.Kind) + ":" + strconv.FormatInt(b.RevieweeID, 10)
	}
	return ""
}

// PlanMending answers what Mend would touch, and changes nothing. Rows that
// somebody else has mended meanwhile are left out.
func (s *Store) PlanMending(ctx context.Context, by policy.Actor, id int64, m Mending) (plan appraisal.MendPlan, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if plan.Head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		if err := policy.Can(by, policy.EditCycle, ofCycle(plan.Head.Cycle)); err != nil {
			return err
		}
		if err := plan.Head.Edit(); err != nil {
			return err
		}
		plan.Act = m.Act
		var reviewer int64
		if m.Act == appraisal.MendReplace && m.Reviewer != "" {
			found, err := findPeople(ctx, tx, by, plan.Head.Cycle, []mention{{"reviewer", m.Reviewer}})
			if err == nil {
				reviewer = found["reviewer"].id
			} else if fault.As(err) == nil { // who cannot be found is said when it is asked for
				return err
			}
		}
		plan.Rows, err = mendRows(ctx, tx, plan.Head.Cycle, m, reviewer)
		return err
	})
	return plan, err
}

// Mend does the act to every row that it can touch, in one transaction and a
// constant number of statements, and answers how many people or pairs those
// were. Rows that it cannot touch refuse it unless they are to be left alone.
func (s *Store) Mend(ctx context.Context, by policy.Actor, id int64, m Mending) (n int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := openDraft(ctx, tx, by, id, lockCycle)
		if err != nil {
			return err
		}
		reviewer, err := checkMending(ctx, tx, by, c, m)
		if err != nil {
			return err
		}
		plan := appraisal.MendPlan{Act: m.Act}
		if plan.Rows, err = mendRows(ctx, tx, c, m, reviewer); err != nil {
			return err
		}
		n = plan.Touched()
		switch bad := plan.Problems(); {
		case bad > 0 && !m.Skip:
			return fault.Fieldsf(map[string]fault.Message{"skip": fault.Msg("mend.some_cannot", "n", bad)})
		case n == 0 && bad > 0:
			return fault.Conflictf("mend.none_can")
		case n == 0:
			return fault.Conflictf("mend.nothing")
		}
		return applyMending(ctx, tx, by, c, m, plan, reviewer)
	})
	return n, err
}

// checkMending reads what was typed beside the rows.
func checkMending(ctx context.Context, tx pgx.Tx, by policy.Actor, c appraisal.Cycle, m Mending) (reviewer int64, err error) {
	switch m.Act {
	case appraisal.MendExclude:
		if m.Reason == "" {
			return 0, fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("roster.reason_required")})
		}
		if len([]rune(m.Reason)) > maxReason {
			return 0, fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("fault.text_long", "max", maxReason)})
		}
	case appraisal.MendReplace:
		found, err := findPeople(ctx, tx, by, c, []mention{{"reviewer", m.Reviewer}})
		return found["reviewer"].id, err
	}
	return 0, nil
}

// mendRows finds the rows that are meant, as they are now, and says of each why
// the act cannot touch it.
func mendRows(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, m Mending, reviewer int64) ([]appraisal.MendRow, error) {
	var kinds []string
	var evaluations, reviewees []int64
	if len(m.Blockers) > 0 || m.All != "" {
		blockers, err := rosterBlockers(ctx, tx, c)
		if err != nil {
			return nil, err
		}
		for _, b := range blockers {
			if key := BlockerKey(b); key != "" && (b.Kind == m.All || slices.Contains(m.Blockers, key)) {
				kinds, evaluations, reviewees = append(kinds, string(b.Kind)), append(evaluations, b.EvaluationID), append(reviewees, b.RevieweeID)
			}
		}
	}
	rows, err := tx.Query(ctx, `
		WITH meant AS (
			SELECT u.kind AS blocker, u.evaluation_id, u.reviewee_id
			FROM unnest(@kinds::text[], @evaluations::bigint[], @reviewees::bigint[]) AS u (kind, evaluation_id, reviewee_id)
			UNION ALL
			SELECT '', e.id, e.reviewee_id
			FROM evaluations e
			WHERE @act = 'replace'
			  AND e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND e.reviewer_id = ANY (@people::bigint[])
			UNION ALL
			SELECT '', 0, x.person_id
			FROM participants x
			WHERE @act <> 'replace'
			  AND x.tenant_id = @tenant
			  AND x.cycle_id = @cycle
			  AND x.excluded_at IS NULL
			  AND x.person_id = ANY (@people::bigint[])
		), seen AS (
			SELECT DISTINCT ON (meant.evaluation_id, meant.reviewee_id) meant.blocker, meant.evaluation_id, meant.reviewee_id,
			       reviewee.name AS reviewee, reviewee.department, coalesce(reviewer.name, '') AS reviewer, coalesce(e.kind, '') AS kind,
			       reviewee.manager_id, coalesce(manager.name, '') AS manager,
			       has_left(manager.left_on, (SELECT zone FROM tenants WHERE id = @tenant)) AS manager_left,
			       CASE WHEN @act = 'manager' THEN reviewee.manager_id ELSE @reviewer END AS next_reviewer,
			       CASE WHEN @act = 'manager' THEN 'manager' ELSE e.kind END AS next_kind
			FROM meant
			JOIN people reviewee ON reviewee.tenant_id = @tenant AND reviewee.id = meant.reviewee_id
			LEFT JOIN evaluations e ON e.tenant_id = @tenant AND e.cycle_id = @cycle AND e.id = meant.evaluation_id
			LEFT JOIN people reviewer ON reviewer.tenant_id = @tenant AND reviewer.id = e.reviewer_id
			LEFT JOIN people manager ON manager.tenant_id = @tenant AND manager.id = reviewee.manager_id
		)
		SELECT evaluation_id, reviewee_id, reviewee, department, reviewer, kind, manager,
		       CASE WHEN @act IN ('exclude', 'keep') THEN ''
		            WHEN blocker IN ('reviewee_left', 'excluded') OR @act = 'replace' AND evaluation_id = 0 THEN 'not_for_this'
		            WHEN kind = 'self' THEN 'self'
		            WHEN @act = 'manager' AND manager_id IS NULL THEN 'no_manager'
		            WHEN @act = 'manager' AND manager_left THEN 'manager_left'
		            WHEN next_reviewer = 0 THEN ''
		            WHEN next_reviewer = reviewee_id THEN 'oneself'
		            WHEN EXISTS (
		                SELECT FROM evaluations other
		                WHERE other.tenant_id = @tenant AND other.cycle_id = @cycle AND other.reviewee_id = seen.reviewee_id
		                  AND other.reviewer_id = seen.next_reviewer AND other.kind = seen.next_kind) THEN 'pair_exists'
		            WHEN row_number() OVER (PARTITION BY reviewee_id, next_kind ORDER BY evaluation_id) > 1 THEN 'twice'
		            ELSE '' END
		FROM seen
		ORDER BY reviewee COLLATE "pt-BR-x-icu", reviewee_id, evaluation_id`,
		pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "act": m.Act, "kinds": kinds, "evaluations": evaluations, "reviewees": reviewees,
			"people": m.People, "reviewer": reviewer})
	if err != nil {
		return nil, fmt.Errorf("find what to mend in cycle %d: %w", c.ID, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.MendRow])
	if err != nil {
		return nil, fmt.Errorf("find what to mend in cycle %d: %w", c.ID, err)
	}
	return found, nil
}

// applyMending writes what the plan says about the rows without a problem.
func applyMending(ctx context.Context, tx pgx.Tx, by policy.Actor, c appraisal.Cycle, m Mending, plan appraisal.MendPlan, reviewer int64) error {
	var people, pairs, alone []int64
	for _, r := range plan.Rows {
		switch {
		case r.Problem != "":
		case r.EvaluationID != 0:
			people, pairs = append(people, r.RevieweeID), append(pairs, r.EvaluationID)
		default:
			people, alone = append(people, r.RevieweeID), append(alone, r.RevieweeID)
		}
	}
	slices.Sort(people)
	people = slices.Compact(people)
	args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": c.ID, "actor": by.PersonID, "people": people, "pairs": pairs, "alone": alone,
		"reviewer": reviewer, "reason": m.Reason}
	var err error
	switch m.Act {
	case appraisal.MendExclude:
		err = excludeAll(ctx, tx, args)
	case appraisal.MendReplace:
		_, err = tx.Exec(ctx, `
			UPDATE evaluations
			SET reviewer_id = @reviewer, source = 'page'
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND id = ANY (@pairs::bigint[])`, args)
	case appraisal.MendManager:
		err = askManagers(ctx, tx, args)
	case appraisal.MendKeep:
		_, err = tx.Exec(ctx, `
			UPDATE participants
			SET kept_at = now(), kept_by = @actor
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND excluded_at IS NULL
			  AND person_id = ANY (@people::bigint[])`, args)
	default:
		return fault.Invalidf("fault.bad_request")
	}
	if err != nil {
		return fmt.Errorf("mend cycle %d by %s: %w", c.ID, m.Act, err)
	}
	return audit(ctx, tx, by, "roster.mended", "cycle", c.ID, map[string]any{
		"how": m.Act, "people": people, "pairs": pairs, "reviewer": reviewer, "reason": m.Reason, "left_alone": plan.Problems()})
}

// excludeAll leaves people out; who was out already keeps the reason they had.
func excludeAll(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) error {
	if _, err := tx.Exec(ctx, `
		INSERT INTO participants (tenant_id, cycle_id, person_id, source, excluded_at, excluded_by, exclusion_reason)
		SELECT @tenant, @cycle, person_id, 'page', now(), @actor, @reason
		FROM unnest(@people::bigint[]) AS u (person_id)
		ON CONFLICT (tenant_id, cycle_id, person_id) DO UPDATE
		SET excluded_at = now(), excluded_by = @actor, exclusion_reason = @reason
		WHERE participants.excluded_at IS NULL`, args); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		DELETE FROM evaluations
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND reviewee_id = ANY (@people::bigint[])`, args)
	return err
}

// askManagers has each person's manager review them: in place of the reviewer
// of a chosen pair, or as the only one.
func askManagers(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) error {
	if _, err := tx.Exec(ctx, `
		UPDATE evaluations e
		SET reviewer_id = p.manager_id, kind = 'manager', source = 'page'
		FROM people p
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND e.id = ANY (@pairs::bigint[])
		  AND p.tenant_id = e.tenant_id
		  AND p.id = e.reviewee_id`, args); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO evaluations (tenant_id, cycle_id, reviewee_id, reviewer_id, kind, source)
		SELECT p.tenant_id, @cycle, p.id, p.manager_id, 'manager', 'page'
		FROM people p
		WHERE p.tenant_id = @tenant
		  AND p.id = ANY (@alone::bigint[])`, args)
	return err
}
