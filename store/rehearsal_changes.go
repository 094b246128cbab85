package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/policy"
)

// KeepRehearsal marks the roster as it is now as rehearsed, so that the next
// look can say what has changed since. Only the last one is kept.
func (s *Store) KeepRehearsal(ctx context.Context, by policy.Actor, id int64) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if _, _, err := openDraft(ctx, tx, by, id, lockCycle); err != nil {
			return err
		}
		var pairs int
		err := tx.QueryRow(ctx, `
			WITH forgotten AS (
				DELETE FROM rehearsals
				WHERE tenant_id = @tenant
				  AND cycle_id = @cycle
			)
			INSERT INTO rehearsals (tenant_id, cycle_id, actor_id, reviewees, reviewers, kinds)
			SELECT @tenant, @cycle, @actor, coalesce(array_agg(reviewee_id ORDER BY id), '{}'),
			       coalesce(array_agg(reviewer_id ORDER BY id), '{}'), coalesce(array_agg(kind ORDER BY id), '{}')
			FROM evaluations
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			RETURNING cardinality(kinds)`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "actor": by.PersonID}).Scan(&pairs)
		if err != nil {
			return fmt.Errorf("keep the rehearsal of cycle %d: %w", id, err)
		}
		return audit(ctx, tx, by, "cycle.rehearsed", "cycle", id, map[string]any{"pairs": pairs})
	})
}

// RehearsalChanges lists, page by page, how the roster differs from what was
// last rehearsed; nil while nothing was.
func (s *Store) RehearsalChanges(ctx context.Context, by policy.Actor, id int64, page Page) (head appraisal.CycleHead, last *appraisal.LastRehearsal, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		if err := policy.Can(by, policy.EditCycle, ofCycle(head.Cycle)); err != nil {
			return err
		}
		last, err = lastRehearsal(ctx, tx, by.TenantID, id, page)
		return err
	})
	return head, last, err
}

// lastRehearsal compares the roster with what was last rehearsed. A pair that
// went and one that came for the same person and kind are one change of
// reviewer.
func lastRehearsal(ctx context.Context, tx pgx.Tx, tenant, cycle int64, page Page) (*appraisal.LastRehearsal, error) {
	args := pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "offset": page.Offset, "limit": page.Limit}
	var last appraisal.LastRehearsal
	err := tx.QueryRow(ctx, `
		SELECT p.name, r.at
		FROM rehearsals r
		JOIN people p ON p.tenant_id = r.tenant_id AND p.id = r.actor_id
		WHERE r.tenant_id = @tenant
		  AND r.cycle_id = @cycle
		ORDER BY r.id DESC
		LIMIT 1`, args).Scan(&last.By, &last.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // nobody has rehearsed yet
	}
	if err != nil {
		return nil, fmt.Errorf("read the last rehearsal of cycle %d: %w", cycle, err)
	}
	rows, err := tx.Query(ctx, `
		WITH rehearsed AS (
			SELECT u.reviewee_id, u.reviewer_id, u.kind
			FROM rehearsals r
			CROSS JOIN LATERAL unnest(r.reviewees, r.reviewers, r.kinds) AS u (reviewee_id, reviewer_id, kind)
			WHERE r.tenant_id = @tenant
			  AND r.cycle_id = @cycle
		), now_there AS (
			SELECT reviewee_id, reviewer_id, kind
			FROM evaluations
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
		), gone AS (
			SELECT reviewee_id, reviewer_id, kind, row_number() OVER (PARTITION BY reviewee_id, kind ORDER BY reviewer_id) AS n
			FROM (SELECT reviewee_id, reviewer_id, kind FROM rehearsed EXCEPT SELECT reviewee_id, reviewer_id, kind FROM now_there) g
		), come AS (
			SELECT reviewee_id, reviewer_id, kind, row_number() OVER (PARTITION BY reviewee_id, kind ORDER BY reviewer_id) AS n
			FROM (SELECT reviewee_id, reviewer_id, kind FROM now_there EXCEPT SELECT reviewee_id, reviewer_id, kind FROM rehearsed) c
		), changes AS (
			SELECT reviewee_id, kind, gone.reviewer_id AS was, come.reviewer_id AS is_now
			FROM gone
			FULL JOIN come USING (reviewee_id, kind, n)
		), page AS (
			SELECT reviewee.name AS reviewee, changes.kind, coalesce(was.name, '') AS was, coalesce(is_now.name, '') AS is_now
			FROM changes
			JOIN people reviewee ON reviewee.tenant_id = @tenant AND reviewee.id = changes.reviewee_id
			LEFT JOIN people was ON was.tenant_id = @tenant AND was.id = changes.was
			LEFT JOIN people is_now ON is_now.tenant_id = @tenant AND is_now.id = changes.is_now
			ORDER BY reviewee.name COLLATE "pt-BR-x-icu", reviewee.id, changes.kind, was.name, is_now.name
			LIMIT @limit OFFSET @offset
		)
		SELECT reviewee, kind, was, is_now, 0, 0, 0
		FROM page
		UNION ALL
		SELECT NULL, '', '', '', count(*) FILTER (WHERE was IS NULL), count(*) FILTER (WHERE is_now IS NULL),
		       count(*) FILTER (WHERE was IS NOT NULL AND is_now IS NOT NULL)
		FROM changes`, args)
	if err != nil {
		return nil, fmt.Errorf("compare with the last rehearsal of cycle %d: %w", cycle, err)
	}
	var reviewee *string
	var change appraisal.PairChange
	var added, removed, changed int
	_, err = pgx.ForEachRow(rows, []any{&reviewee, &change.Kind, &change.Was, &change.Now, &added, &removed, &changed}, func() error {
		if reviewee == nil {
			last.Added, last.Removed, last.Changed = added, removed, changed
			return nil
		}
		change.Reviewee = *reviewee
		last.Changes = append(last.Changes, change)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("compare with the last rehearsal of cycle %d: %w", cycle, err)
	}
	return &last, nil
}
