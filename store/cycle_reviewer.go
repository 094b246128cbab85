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

// CycleReviewer answers what one reviewer owes in a cycle, and what has been
// changed about it. None of their text is in it.
func (s *Store) CycleReviewer(ctx context.Context, by policy.Actor, id, person int64) (r appraisal.ReviewerHere, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		head, err := readHead(ctx, tx, by, id)
		if err != nil {
			return err
		}
		if r, err = readReviewerHere(ctx, tx, head.Cycle, person); err != nil {
			return err
		}
		r.Head = head
		requests, err := readRequests(ctx, tx, head.Cycle, 0, person)
		if err != nil {
			return err
		}
		if len(requests) > 0 && requests[0].AnsweredAt == nil {
			r.Request = &requests[0]
		}
		r.Changes, err = readChanges(ctx, tx, head.Cycle, person)
		return err
	})
	return r, err
}

// readReviewerHere reads the person and their reviews; who reviews nobody in the
// cycle is not found.
func readReviewerHere(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, person int64) (r appraisal.ReviewerHere, err error) {
	args := pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "person": person, "zone": c.DueZone}
	err = tx.QueryRow(ctx, `
		SELECT p.id, p.name, p.code, coalesce(p.email, ''), p.department, CASE WHEN has_left(p.left_on, @zone) THEN p.left_on END,
		       deadline_of(@tenant, @cycle, p.id)
		FROM people p
		WHERE p.tenant_id = @tenant
		  AND p.id = @person`, args).
		Scan(&r.PersonID, &r.Name, &r.Code, &r.Email, &r.Department, &r.LeftOn, &r.Due)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, fault.NotFoundf("fault.not_found")
	}
	if err != nil {
		return r, fmt.Errorf("read person %d: %w", person, err)
	}
	r.Own = r.Due.After(c.DueAt)
	r.Due = r.Due.In(c.Due().Location())
	rows, err := tx.Query(ctx, `
		SELECT e.id, e.kind, e.state, coalesce(e.state_reason, ''), reviewee.id, reviewee.name, reviewee.code, e.submitted_at, a.saved_at,
		       coalesce(other.name, ''), coalesce(heir.id, 0), coalesce(heir.state IN ('pending', 'in_progress', 'reopened'), false)
		FROM evaluations e
		JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
		LEFT JOIN answers a ON a.tenant_id = e.tenant_id AND a.evaluation_id = e.id
		LEFT JOIN evaluations heir ON heir.tenant_id = e.tenant_id AND heir.cycle_id = e.cycle_id AND heir.reviewee_id = e.reviewee_id
		      AND heir.roster_change_id = e.roster_change_id AND heir.id <> e.id AND e.state_reason = 'reassigned'
		LEFT JOIN people other ON other.tenant_id = heir.tenant_id AND other.id = heir.reviewer_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND e.reviewer_id = @person
		ORDER BY array_position(ARRAY['in_progress', 'reopened', 'pending', 'planned', 'submitted'], e.state),
		         reviewee.name COLLATE "pt-BR-x-icu", e.id`, args)
	if err != nil {
		return r, fmt.Errorf("list the reviews of person %d: %w", person, err)
	}
	if r.Reviews, err = pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.ReviewHere]); err != nil {
		return r, fmt.Errorf("list the reviews of person %d: %w", person, err)
	}
	if len(r.Reviews) == 0 {
		return r, fault.NotFoundf("fault.not_found")
	}
	return r, nil
}

// readChanges reads the named changes that touched the person: by their
// evaluations and by their deadline, the latest first.
func readChanges(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, person int64) ([]appraisal.ChangeHere, error) {
	rows, err := tx.Query(ctx, `
		SELECT ch.kind, ch.at, author.name, ch.reason, coalesce(reviewee.name, '')
		FROM audit_entries a
		JOIN roster_changes ch ON ch.tenant_id = a.tenant_id AND ch.id::text = a.detail ->> 'change'
		JOIN people author ON author.tenant_id = ch.tenant_id AND author.id = ch.actor_id
		LEFT JOIN people reviewee ON reviewee.tenant_id = a.tenant_id AND reviewee.id::text = a.detail ->> 'reviewee'
		WHERE a.tenant_id = @tenant
		  AND ch.cycle_id = @cycle
		  AND a.act IN ('evaluation.reassigned', 'evaluation.called_off', 'roster.late_joiner', 'cycle.extended')
		  AND (a.detail ->> 'reviewer' = @person::bigint::text
		    OR a.detail ->> 'reviewer_before' = @person::bigint::text
		    OR a.act = 'cycle.extended' AND (jsonb_typeof(a.detail -> 'people') IS DISTINCT FROM 'array' OR a.detail -> 'people' @> to_jsonb(@person::bigint)))
		  AND (a.object_type, a.object_id) IN (
			SELECT 'cycle', @cycle::bigint
			UNION ALL
			SELECT 'evaluation', e.id
			FROM evaluations e
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND e.roster_change_id IS NOT NULL)
		ORDER BY ch.id DESC
		LIMIT 100`, pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "person": person})
	if err != nil {
		return nil, fmt.Errorf("list changes of person %d: %w", person, err)
	}
	changes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.ChangeHere])
	if err != nil {
		return nil, fmt.Errorf("list changes of person %d: %w", person, err)
	}
	zone := c.Due().Location()
	for i := range changes {
		changes[i].At = changes[i].At.In(zone)
	}
	return changes, nil
}
