package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/policy"
)

// RosterQuery narrows the reviewer map of a cycle.
type RosterQuery struct {
	Page
	Kind       appraisal.Kind  // empty means all
	Department *string         // of the person under review; nil means all, "" those without one
	State      appraisal.State // empty means all
}

// Roster reads one page of the reviewer map, in a constant number of
// statements whatever its size.
func (s *Store) Roster(ctx context.Context, by policy.Actor, id int64, q RosterQuery) (r appraisal.Roster, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if r.Head, err = readHeadPart(ctx, tx, by, id); err != nil {
			return err
		}
		if r.Rule, err = readRule(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		r.HasRule = r.Rule.Self || r.Rule.Manager
		if err := readPairs(ctx, tx, by, id, q, &r); err != nil {
			return err
		}
		return readDepartments(ctx, tx, by, id, &r)
	})
	return r, err
}

func readPairs(ctx context.Context, tx pgx.Tx, by policy.Actor, cycle int64, q RosterQuery, r *appraisal.Roster) error {
	args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": cycle, "kind": string(q.Kind), "state": string(q.State), "department": q.Department,
		"words": searchWords(q.Q), "sort": q.Sort, "limit": q.Limit, "offset": q.Offset}
	covered(by, args)
	err := tx.QueryRow(ctx, `
		SELECT count(*)
		FROM evaluations e
		JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
		JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND is_covered(reviewee.unit, reviewee.department, reviewee.manager_id, @units, @departments, @team_of)
		  AND (@kind = '' OR e.kind = @kind)
		  AND (@state = '' OR e.state = @state)
		  AND (@state = 'cancelled' OR e.state_reason IS NULL OR e.state_reason NOT IN ('reassigned', 'called_off'))
		  AND (@department::text IS NULL OR reviewee.department = @department)
		  AND (reviewee.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
		    OR reviewer.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w)))`, args).Scan(&r.Total)
	if err != nil {
		return fmt.Errorf("count pairs of cycle %d: %w", cycle, err)
	}
	rows, err := tx.Query(ctx, `
		SELECT e.id, e.kind, e.source, e.state,
		       reviewee.id, reviewee.name, reviewee.code, reviewee.department,
		       reviewer.id, reviewer.name, reviewer.code, coalesce(reviewer.email, ''), reviewer.left_on
		FROM evaluations e
		JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
		JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND is_covered(reviewee.unit, reviewee.department, reviewee.manager_id, @units, @departments, @team_of)
		  AND (@kind = '' OR e.kind = @kind)
		  AND (@state = '' OR e.state = @state)
		  AND (@state = 'cancelled' OR e.state_reason IS NULL OR e.state_reason NOT IN ('reassigned', 'called_off'))
		  AND (@department::text IS NULL OR reviewee.department = @department)
		  AND (reviewee.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
		    OR reviewer.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w)))
		ORDER BY CASE WHEN @sort = '-reviewee' THEN reviewee.name END COLLATE "pt-BR-x-icu" DESC,
		         CASE WHEN @sort = 'reviewer' THEN reviewer.name END COLLATE "pt-BR-x-icu",
		         CASE WHEN @sort = '-reviewer' THEN reviewer.name END COLLATE "pt-BR-x-icu" DESC,
		         CASE WHEN @sort = 'department' THEN reviewee.department END COLLATE "pt-BR-x-icu",
		         CASE WHEN @sort = '-department' THEN reviewee.department END COLLATE "pt-BR-x-icu" DESC,
		         reviewee.name COLLATE "pt-BR-x-icu", reviewee.id,
		         array_position(ARRAY['self', 'manager', 'peer', 'report'], e.kind), reviewer.name COLLATE "pt-BR-x-icu", e.id
		LIMIT @limit OFFSET @offset`, args)
	if err != nil {
		return fmt.Errorf("list pairs of cycle %d: %w", cycle, err)
	}
	if r.Pairs, err = pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.Pair]); err != nil {
		return fmt.Errorf("list pairs of cycle %d: %w", cycle, err)
	}
	return nil
}

func readDepartments(ctx context.Context, tx pgx.Tx, by policy.Actor, cycle int64, r *appraisal.Roster) error {
	args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": cycle}
	covered(by, args)
	rows, err := tx.Query(ctx, `
		SELECT p.department, count(*) FILTER (WHERE NOT has_left(p.left_on, (SELECT zone FROM tenants WHERE id = @tenant))) AS working,
		       bool_or(taking.person_id IS NOT NULL) AS in_the_roster
		FROM people p
		LEFT JOIN participants taking ON taking.tenant_id = p.tenant_id AND taking.cycle_id = @cycle AND taking.person_id = p.id AND taking.excluded_at IS NULL
		WHERE p.tenant_id = @tenant
		  AND is_covered(p.unit, p.department, p.manager_id, @units, @departments, @team_of)
		GROUP BY p.department
		ORDER BY p.department COLLATE "pt-BR-x-icu"`, args)
	if err != nil {
		return fmt.Errorf("list departments: %w", err)
	}
	var share appraisal.Share
	var there bool
	_, err = pgx.ForEachRow(rows, []any{&share.Name, &share.N, &there}, func() error {
		if share.N > 0 {
			r.Offered = append(r.Offered, share)
		}
		if there {
			r.Departments = append(r.Departments, share.Name)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list departments: %w", err)
	}
	return nil
}

// RosterLines answers the whole reviewer map for export; the file imports again
// unchanged.
func (s *Store) RosterLines(ctx context.Context, by policy.Actor, id int64) (head appraisal.CycleHead, lines []appraisal.RosterLine, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if head, err = readHeadPart(ctx, tx, by, id); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": id}
		covered(by, args)
		rows, err := tx.Query(ctx, `
			SELECT coalesce(reviewee.email::text, reviewee.code), coalesce(reviewer.email::text, reviewer.code), e.kind
			FROM evaluations e
			JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
			JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND (e.state_reason IS NULL OR e.state_reason NOT IN ('reassigned', 'called_off'))
			  AND is_covered(reviewee.unit, reviewee.department, reviewee.manager_id, @units, @departments, @team_of)
			ORDER BY reviewee.name COLLATE "pt-BR-x-icu", reviewee.id,
			         array_position(ARRAY['self', 'manager', 'peer', 'report'], e.kind), reviewer.name COLLATE "pt-BR-x-icu", e.id`,
			args)
		if err != nil {
			return fmt.Errorf("export the roster of cycle %d: %w", id, err)
		}
		lines, err = pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.RosterLine])
		if err != nil {
			return fmt.Errorf("export the roster of cycle %d: %w", id, err)
		}
		return audit(ctx, tx, by, "roster.exported", "cycle", id, map[string]any{"pairs": len(lines)})
	})
	return head, lines, err
}
