package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// maxReason is how long a reason may be.
const maxReason = 500

// ExcludePerson leaves someone out of a draft, with a reason: the pairs in
// which they are reviewed go, those in which they review others stay.
func (s *Store) ExcludePerson(ctx context.Context, by policy.Actor, id, person int64, reason string) (name string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := openDraftPart(ctx, tx, by, id); err != nil {
			return err
		}
		if err := coverPerson(ctx, tx, by, policy.EditRosterPart, person); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			SELECT name
			FROM people
			WHERE tenant_id = @tenant
			  AND id = @person`, pgx.NamedArgs{"tenant": by.TenantID, "person": person}).Scan(&name)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("fault.not_found")
		}
		if err != nil {
			return fmt.Errorf("read person %d: %w", person, err)
		}
		if reason == "" {
			return fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("roster.reason_required")})
		}
		if len([]rune(reason)) > maxReason {
			return fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("fault.text_long", "max", maxReason)})
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "person": person, "actor": by.PersonID, "reason": reason}
		if _, err = tx.Exec(ctx, `
			INSERT INTO participants (tenant_id, cycle_id, person_id, source, excluded_at, excluded_by, exclusion_reason)
			VALUES (@tenant, @cycle, @person, 'page', now(), @actor, @reason)
			ON CONFLICT (tenant_id, cycle_id, person_id) DO UPDATE
			SET excluded_at = now(), excluded_by = @actor, exclusion_reason = @reason`, args); err != nil {
			return fmt.Errorf("leave out person %d: %w", person, err)
		}
		tag, err := tx.Exec(ctx, `
			DELETE FROM evaluations
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND reviewee_id = @person`, args)
		if err != nil {
			return fmt.Errorf("remove pairs of person %d: %w", person, err)
		}
		return audit(ctx, tx, by, "roster.person_excluded", "cycle", id, map[string]any{"person": person, "reason": reason, "pairs": tag.RowsAffected()})
	})
	return name, err
}

// IncludePerson takes an exclusion back. The person's pairs come back when the
// rule is applied again or a file is read; until then nobody reviews them, and
// the rehearsal says so.
func (s *Store) IncludePerson(ctx context.Context, by policy.Actor, id, person int64) (name string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := openDraftPart(ctx, tx, by, id); err != nil {
			return err
		}
		if err := coverPerson(ctx, tx, by, policy.EditRosterPart, person); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			UPDATE participants x
			SET excluded_at = NULL, excluded_by = NULL, exclusion_reason = NULL
			FROM people p
			WHERE x.tenant_id = @tenant
			  AND x.cycle_id = @cycle
			  AND x.person_id = @person
			  AND x.excluded_at IS NOT NULL
			  AND p.tenant_id = x.tenant_id
			  AND p.id = x.person_id
			RETURNING p.name`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "person": person}).Scan(&name)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("roster.person_not_out")
		}
		if err != nil {
			return fmt.Errorf("include person %d: %w", person, err)
		}
		return audit(ctx, tx, by, "roster.person_included", "cycle", id, map[string]any{"person": person})
	})
	return name, err
}

// AbsenceQuery narrows it.
type AbsenceQuery struct {
	Page
	Why string
}

// Absences lists everybody of the organisation who is not under review in the
// cycle, each with the reason: the words of who left them out, or what the rule
// says about them.
func (s *Store) Absences(ctx context.Context, by policy.Actor, id int64, q AbsenceQuery) (a appraisal.Absences, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if a.Head, err = readHeadPart(ctx, tx, by, id); err != nil {
			return err
		}
		if a.Rule, err = readRule(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "has_rule": a.Rule.Self || a.Rule.Manager,
			"of_rule": a.Rule.Departments, "hired_before": a.Rule.HiredBefore, "why": q.Why, "words": searchWords(q.Q),
			"sort": q.Sort, "limit": q.Limit, "offset": q.Offset}
		covered(by, args)
		rows, err := tx.Query(ctx, `
			WITH away AS (
				SELECT p.id, p.name, p.code, p.department, p.hired_on, p.left_on, p.search,
				       CASE WHEN x.excluded_at IS NOT NULL THEN 'excluded'
				            WHEN has_left(p.left_on, (SELECT zone FROM tenants WHERE id = @tenant)) THEN 'left'
				            WHEN NOT @has_rule THEN 'not_asked'
				            WHEN coalesce(cardinality(@of_rule::text[]), 0) > 0 AND p.department <> ALL (@of_rule) THEN 'department'
				            WHEN @hired_before::date IS NOT NULL AND p.hired_on IS NULL THEN 'not_hired'
				            WHEN p.hired_on >= @hired_before::date THEN 'hired'
				            ELSE 'not_asked' END AS why,
				       coalesce(x.exclusion_reason, '') AS reason, coalesce(author.name, '') AS author, x.excluded_at
				FROM people p
				LEFT JOIN participants x ON x.tenant_id = p.tenant_id AND x.cycle_id = @cycle AND x.person_id = p.id
				LEFT JOIN people author ON author.tenant_id = x.tenant_id AND author.id = x.excluded_by
				WHERE p.tenant_id = @tenant
				  AND is_covered(p.unit, p.department, p.manager_id, @units, @departments, @team_of)
				  AND (x.id IS NULL OR x.excluded_at IS NOT NULL)
			), matching AS (
				SELECT id, name, code, department, hired_on, left_on, why, reason, author, excluded_at
				FROM away
				WHERE (@why = '' OR why = @why)
				  AND search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
			), page AS (
				SELECT id, name, code, department, hired_on, left_on, why, reason, author, excluded_at
				FROM matching
				ORDER BY CASE WHEN @sort = '-name' THEN name END COLLATE "pt-BR-x-icu" DESC,
				         CASE WHEN @sort = 'department' THEN department END COLLATE "pt-BR-x-icu",
				         CASE WHEN @sort = '-department' THEN department END COLLATE "pt-BR-x-icu" DESC,
				         CASE WHEN @sort = '' THEN excluded_at IS NULL END, name COLLATE "pt-BR-x-icu", id
				LIMIT @limit OFFSET @offset
			)
			SELECT id, name, code, department, hired_on, left_on, why, reason, author, excluded_at, -1::bigint AS n
			FROM page
			UNION ALL
			SELECT 0, '', '', '', NULL, NULL, why, '', '', NULL, count(*)
			FROM away
			GROUP BY why
			UNION ALL
			SELECT -1, '', '', '', NULL, NULL, '', '', '', NULL, count(*)
			FROM matching`,
			args)
		if err != nil {
			return fmt.Errorf("list who is not in cycle %d: %w", id, err)
		}
		var p appraisal.Absence
		var n int
		_, err = pgx.ForEachRow(rows, []any{&p.PersonID, &p.Name, &p.Code, &p.Department, &p.HiredOn, &p.LeftOn, &p.Why, &p.Reason, &p.By, &p.At, &n}, func() error {
			switch {
			case n < 0:
				a.People = append(a.People, p)
			case p.PersonID < 0:
				a.Total = n
			default:
				a.ByWhy = append(a.ByWhy, appraisal.Share{Name: p.Why, N: n})
			}
			p = appraisal.Absence{}
			return nil
		})
		if err != nil {
			return fmt.Errorf("list who is not in cycle %d: %w", id, err)
		}
		return nil
	})
	return a, err
}
