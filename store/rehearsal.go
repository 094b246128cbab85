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

// Rehearse answers what activation would do now. Its blockers are the very list
// that activation asks again at the instant of the click. Nothing is changed.
func (s *Store) Rehearse(ctx context.Context, by policy.Actor, id int64, page Page) (r appraisal.Rehearsal, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if r.Head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		blockers, err := rosterBlockers(ctx, tx, r.Head.Cycle)
		if err != nil {
			return err
		}
		r.Total = len(blockers)
		r.Blockers, r.Kinds = cut(blockers, page), tallyBlockers(blockers)
		if err := countByKind(ctx, tx, by.TenantID, id, &r); err != nil {
			return err
		}
		if r.Last, err = lastRehearsal(ctx, tx, by.TenantID, id, Page{Limit: 5}); err != nil {
			return err
		}
		if err := countWarnings(ctx, tx, r.Head.Cycle, &r.Warnings); err != nil {
			return err
		}
		r.Warnings.WithoutAddress, r.Warnings.Excluded = r.Handouts, r.Head.Excluded
		if r.Hold, err = holdOf(ctx, tx, by.TenantID); err != nil {
			return err
		}
		r.Elsewhere, err = otherCycles(ctx, tx, by.TenantID, id)
		return err
	})
	return r, err
}

// tallyBlockers counts those of each kind that concerns a row.
func tallyBlockers(blockers []appraisal.Blocker) (counts []appraisal.BlockerCount) {
	for _, mendable := range appraisal.MendableBlockers {
		n := 0
		for _, b := range blockers {
			if b.Kind == mendable.Kind {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, appraisal.BlockerCount{Kind: mendable.Kind, N: n})
		}
	}
	return counts
}

// cut answers one page of a list that is read whole anyway.
func cut[T any](all []T, page Page) []T {
	from := min(max(page.Offset, 0), len(all))
	to := len(all)
	if page.Limit > 0 {
		to = min(from+page.Limit, len(all))
	}
	return all[from:to]
}

func countByKind(ctx context.Context, tx pgx.Tx, tenant, cycle int64, r *appraisal.Rehearsal) error {
	rows, err := tx.Query(ctx, `
		SELECT kind, count(*)
		FROM evaluations
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		GROUP BY kind
		UNION ALL
		SELECT CASE WHEN p.email IS NULL THEN 'handout' ELSE 'mail' END, count(*)
		FROM people p
		WHERE p.tenant_id = @tenant
		  AND p.id IN (SELECT e.reviewer_id FROM evaluations e WHERE e.tenant_id = @tenant AND e.cycle_id = @cycle)
		GROUP BY p.email IS NULL`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle})
	if err != nil {
		return fmt.Errorf("count reviews of cycle %d: %w", cycle, err)
	}
	r.ByKind = map[appraisal.Kind]int{}
	var what string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&what, &n}, func() error {
		switch what {
		case "mail":
			r.Mails = n
		case "handout":
			r.Handouts = n
		default:
			r.ByKind[appraisal.Kind(what)] = n
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count reviews of cycle %d: %w", cycle, err)
	}
	return nil
}

func countWarnings(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, w *appraisal.Warnings) error {
	cycle := c.ID
	args := pgx.NamedArgs{"tenant": c.TenantID, "cycle": cycle, "due": day(c.Due())}
	err := tx.QueryRow(ctx, `
		WITH taking AS (
			SELECT tenant_id, cycle_id, person_id, kept_at
			FROM participants
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND excluded_at IS NULL
		)
		SELECT count(*) FILTER (WHERE NOT EXISTS (
		           SELECT FROM evaluations e
		           WHERE e.tenant_id = taking.tenant_id AND e.cycle_id = taking.cycle_id AND e.reviewee_id = taking.person_id AND e.kind = 'manager')),
		       count(*) FILTER (WHERE EXISTS (
		           SELECT FROM participants other
		           JOIN cycles c ON c.tenant_id = other.tenant_id AND c.id = other.cycle_id
		           WHERE other.tenant_id = taking.tenant_id AND other.person_id = taking.person_id AND other.cycle_id <> taking.cycle_id
		             AND other.excluded_at IS NULL AND c.state IN ('draft', 'active')
		             AND (taking.kept_at IS NULL OR other.created_at > taking.kept_at))),
		       (SELECT count(*)
		        FROM absences a
		        WHERE a.tenant_id = @tenant
		          AND @due::date BETWEEN a.starts_on AND a.ends_on
		          AND (a.person_id IN (SELECT t.person_id FROM taking t)
		            OR a.person_id IN (SELECT e.reviewer_id FROM evaluations e WHERE e.tenant_id = @tenant AND e.cycle_id = @cycle)))
		FROM taking`, args).Scan(&w.WithoutManager, &w.Elsewhere, &w.OnLeave)
	if err != nil {
		return fmt.Errorf("count warnings of cycle %d: %w", cycle, err)
	}
	rows, err := tx.Query(ctx, `
		SELECT exclusion_reason, count(*) AS n
		FROM participants
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND excluded_at IS NOT NULL
		GROUP BY exclusion_reason
		ORDER BY n DESC, exclusion_reason
		LIMIT 4`, args)
	if err != nil {
		return fmt.Errorf("list exclusions of cycle %d: %w", cycle, err)
	}
	if w.Reasons, err = pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.Share]); err != nil {
		return fmt.Errorf("list exclusions of cycle %d: %w", cycle, err)
	}
	return nil
}

func otherCycles(ctx context.Context, tx pgx.Tx, tenant, cycle int64) ([]appraisal.OtherCycle, error) {
	rows, err := tx.Query(ctx, `
		SELECT c.id, c.name, c.state, count(*)
		FROM participants taking
		JOIN participants other ON other.tenant_id = taking.tenant_id AND other.person_id = taking.person_id AND other.cycle_id <> taking.cycle_id
		JOIN cycles c ON c.tenant_id = other.tenant_id AND c.id = other.cycle_id
		WHERE taking.tenant_id = @tenant
		  AND taking.cycle_id = @cycle
		  AND taking.excluded_at IS NULL
		  AND other.excluded_at IS NULL
		  AND c.state IN ('draft', 'active')
		GROUP BY c.id, c.name, c.state
		ORDER BY count(*) DESC, c.id`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle})
	if err != nil {
		return nil, fmt.Errorf("list cycles that share people with %d: %w", cycle, err)
	}
	others, err := pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.OtherCycle])
	if err != nil {
		return nil, fmt.Errorf("list cycles that share people with %d: %w", cycle, err)
	}
	return others, nil
}

// Concerns lists, page by page, the people behind one warning: who is in two
// open cycles is named with both, and whoever rehearses chooses.
func (s *Store) Concerns(ctx context.Context, by policy.Actor, id int64, about string, page Page) (c appraisal.Concerns, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if c.Head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			WITH concerned AS (
				SELECT x.person_id, true AS reviewee, other.id AS cycle_id, other.name AS cycle, other.state AS cycle_state,
				       CASE WHEN other.created_at <= x.kept_at THEN x.kept_by END AS kept_by
				FROM participants x
				LEFT JOIN LATERAL (
					SELECT c.id, c.name, c.state, o.created_at
					FROM participants o
					JOIN cycles c ON c.tenant_id = o.tenant_id AND c.id = o.cycle_id
					WHERE @about = 'elsewhere'
					  AND o.tenant_id = x.tenant_id
					  AND o.person_id = x.person_id
					  AND o.cycle_id <> x.cycle_id
					  AND o.excluded_at IS NULL
					  AND c.state IN ('draft', 'active')
				) other ON true
				WHERE x.tenant_id = @tenant
				  AND x.cycle_id = @cycle
				  AND x.excluded_at IS NULL
				  AND (@about = 'elsewhere' AND other.id IS NOT NULL
				    OR @about = 'leave'
				    OR @about = 'manager' AND NOT EXISTS (
						SELECT FROM evaluations e
						WHERE e.tenant_id = x.tenant_id AND e.cycle_id = x.cycle_id AND e.reviewee_id = x.person_id AND e.kind = 'manager'))
				UNION ALL
				SELECT DISTINCT e.reviewer_id, false, NULL::bigint, NULL::text, NULL::text, NULL::bigint
				FROM evaluations e
				WHERE @about IN ('address', 'leave')
				  AND e.tenant_id = @tenant
				  AND e.cycle_id = @cycle
				  AND (@about = 'address' OR NOT EXISTS (
					SELECT FROM participants x
					WHERE x.tenant_id = e.tenant_id AND x.cycle_id = e.cycle_id AND x.person_id = e.reviewer_id AND x.excluded_at IS NULL))
			)
			SELECT p.id, p.name, p.code, p.department, concerned.reviewee, coalesce(concerned.cycle_id, 0), coalesce(concerned.cycle, ''),
			       coalesce(concerned.cycle_state, ''), coalesce(keeper.name, ''),
			       (SELECT count(*) FROM evaluations e WHERE @about = 'leave' AND e.tenant_id = @tenant AND e.cycle_id = @cycle AND e.reviewer_id = p.id),
			       coalesce(a.id, 0), a.starts_on, a.ends_on, coalesce(a.kind, ''), count(*) OVER ()
			FROM concerned
			JOIN people p ON p.tenant_id = @tenant AND p.id = concerned.person_id
			LEFT JOIN people keeper ON keeper.tenant_id = @tenant AND keeper.id = concerned.kept_by
			LEFT JOIN absences a ON @about = 'leave' AND a.tenant_id = @tenant AND a.person_id = p.id AND @due::date BETWEEN a.starts_on AND a.ends_on
			WHERE (@about <> 'address' OR p.email IS NULL)
			  AND (@about <> 'leave' OR a.id IS NOT NULL)
			  AND p.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
			ORDER BY p.name COLLATE "pt-BR-x-icu", p.id, concerned.cycle_id
			LIMIT @limit OFFSET @offset`,
			pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "about": about, "words": searchWords(page.Q), "due": day(c.Head.Due()),
				"limit": page.Limit, "offset": page.Offset})
		if err != nil {
			return fmt.Errorf("list who a warning of cycle %d is about: %w", id, err)
		}
		c.People, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p appraisal.Concern, err error) {
			var from, until *time.Time
			var away appraisal.Leave
			err = row.Scan(&p.PersonID, &p.Name, &p.Code, &p.Department, &p.Reviewee, &p.CycleID, &p.Cycle, &p.CycleState, &p.Kept, &p.Reviews,
				&away.ID, &from, &until, &away.Kind, &c.Total)
			if from != nil && until != nil {
				away.From, away.Until = *from, *until
				p.Away = &away
			}
			return p, err
		})
		if err != nil {
			return fmt.Errorf("list who a warning of cycle %d is about: %w", id, err)
		}
		return nil
	})
	return c, err
}

// SampleInvitation is the message one reviewer would get, and their place among
// all who would.
type SampleInvitation struct {
	outbox.Letter
	Place     int   // from 1
	Reviewers int   // with an address
	Previous  int64 // ids of the reviewers before and after, or nought
	Next      int64
}

// SampleInvitation reads, for the rehearsal, what the relay would read when it
// sends; reviewer nought is the first who would get one. The link is not made.
func (s *Store) SampleInvitation(ctx context.Context, by policy.Actor, id, reviewer int64) (inv SampleInvitation, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := readCycle(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := policy.Can(by, policy.EditCycle, ofCycle(c)); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			WITH asked AS (
				SELECT p.id, row_number() OVER w AS place, count(*) OVER () AS reviewers,
				       coalesce(lag(p.id) OVER w, 0) AS previous, coalesce(lead(p.id) OVER w, 0) AS next
				FROM people p
				WHERE p.tenant_id = @tenant
				  AND p.email IS NOT NULL
				  AND p.id IN (SELECT e.reviewer_id FROM evaluations e WHERE e.tenant_id = @tenant AND e.cycle_id = @cycle)
				WINDOW w AS (ORDER BY p.name COLLATE "pt-BR-x-icu", p.id)
			)
			SELECT id, place, reviewers, previous, next
			FROM asked
			WHERE @reviewer::bigint IN (0, id)
			ORDER BY place
			LIMIT 1`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "reviewer": reviewer})
		if err != nil {
			return fmt.Errorf("list reviewers of cycle %d: %w", id, err)
		}
		found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (int64, error) {
			var person int64
			return person, row.Scan(&person, &inv.Place, &inv.Reviewers, &inv.Previous, &inv.Next)
		})
		switch {
		case err != nil:
			return fmt.Errorf("list reviewers of cycle %d: %w", id, err)
		case len(found) == 0:
			return fault.NotFoundf("rehearsal.no_mail")
		}
		inv.Letter, err = readLetter(ctx, tx, by.TenantID, outbox.Letter{Kind: outbox.EvaluationAssigned, PersonID: found[0], CycleID: id})
		return err
	})
	return inv, err
}
