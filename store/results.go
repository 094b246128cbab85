package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/policy"
)

// ResultsQuery narrows the results of a cycle.
type ResultsQuery struct {
	Page
	Department *string
}

// Results reads how a cycle's participants came out, one page of them, in a
// constant number of statements. Before the cycle is closed there are none:
// every submission would change them. What is about the actor is withheld.
func (s *Store) Results(ctx context.Context, by policy.Actor, id int64, q ResultsQuery) (r appraisal.Results, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		r = appraisal.Results{}
		if r.Head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		if err := policy.Can(by, policy.SeeResult, ofCycle(r.Head.Cycle)); err != nil {
			return err
		}
		if r.Scoring, err = readScoring(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		if r.Head.State != appraisal.CycleClosed {
			return nil
		}
		if err := readRanked(ctx, tx, by, id, q, &r); err != nil {
			return err
		}
		return readScores(ctx, tx, by.TenantID, r.Head.Cycle, &r)
	})
	return r, err
}

// SetScoring says how a draft's results will come from its perspectives.
func (s *Store) SetScoring(ctx context.Context, by policy.Actor, id int64, sc appraisal.Scoring) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := lockCycle(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := policy.Can(by, policy.EditCycle, ofCycle(c)); err != nil {
			return err
		}
		if err := c.Edit(); err != nil {
			return err
		}
		if err := sc.Check(); err != nil {
			return err
		}
		w := sc.Weights
		_, err = tx.Exec(ctx, `
			UPDATE cycles
			SET weight_self = @self, weight_manager = @manager, weight_peer = @peer, weight_report = @report, missing_part = @missing, updated_at = now()
			WHERE tenant_id = @tenant
			  AND id = @cycle`,
			pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "self": w[appraisal.Self], "manager": w[appraisal.Manager],
				"peer": w[appraisal.Peer], "report": w[appraisal.Report], "missing": sc.Missing})
		if err != nil {
			return fmt.Errorf("weigh the results of cycle %d: %w", id, err)
		}
		return audit(ctx, tx, by, "cycle.scoring_changed", "cycle", id, map[string]any{"weights": w, "missing": sc.Missing})
	})
}

func readScoring(ctx context.Context, tx pgx.Tx, tenant, cycle int64) (sc appraisal.Scoring, err error) {
	var self, manager, peer, report int
	err = tx.QueryRow(ctx, `
		SELECT weight_self, weight_manager, weight_peer, weight_report, missing_part
		FROM cycles
		WHERE tenant_id = @tenant
		  AND id = @cycle`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle}).Scan(&self, &manager, &peer, &report, &sc.Missing)
	if err != nil {
		return sc, fmt.Errorf("read the weights of cycle %d: %w", cycle, err)
	}
	sc.Weights = map[appraisal.Kind]int{appraisal.Self: self, appraisal.Manager: manager, appraisal.Peer: peer, appraisal.Report: report}
	return sc, nil
}

// readRanked lists the participants of the page, and what is said of them all.
func readRanked(ctx context.Context, tx pgx.Tx, by policy.Actor, cycle int64, q ResultsQuery, r *appraisal.Results) error {
	args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": cycle, "department": q.Department, "words": searchWords(q.Q), "sort": q.Sort,
		"limit": q.Limit, "offset": q.Offset}
	err := tx.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE (@department::text IS NULL OR p.department = @department)
		                          AND p.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))),
		       coalesce(array_agg(DISTINCT p.department ORDER BY p.department), '{}'),
		       (SELECT count(*)
		        FROM evaluations
		        WHERE tenant_id = @tenant
		          AND cycle_id = @cycle
		          AND state NOT IN ('submitted', 'cancelled'))
		FROM participants t
		JOIN people p ON p.tenant_id = t.tenant_id AND p.id = t.person_id
		WHERE t.tenant_id = @tenant
		  AND t.cycle_id = @cycle
		  AND t.excluded_at IS NULL`, args).Scan(&r.Total, &r.Departments, &r.Waiting)
	if err != nil {
		return fmt.Errorf("count the results of cycle %d: %w", cycle, err)
	}
	rows, err := tx.Query(ctx, `
		SELECT p.id, p.name, p.department
		FROM participants t
		JOIN people p ON p.tenant_id = t.tenant_id AND p.id = t.person_id
		WHERE t.tenant_id = @tenant
		  AND t.cycle_id = @cycle
		  AND t.excluded_at IS NULL
		  AND (@department::text IS NULL OR p.department = @department)
		  AND p.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
		ORDER BY CASE WHEN @sort = '-name' THEN p.name END COLLATE "pt-BR-x-icu" DESC,
		         CASE WHEN @sort = 'department' THEN p.department END COLLATE "pt-BR-x-icu",
		         CASE WHEN @sort = '-department' THEN p.department END COLLATE "pt-BR-x-icu" DESC,
		         p.name COLLATE "pt-BR-x-icu", p.id
		LIMIT @limit OFFSET @offset`, args)
	if err != nil {
		return fmt.Errorf("list the results of cycle %d: %w", cycle, err)
	}
	r.Rows, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (v appraisal.Result, err error) {
		err = row.Scan(&v.PersonID, &v.Name, &v.Department)
		object := policy.Object{TenantID: by.TenantID, SubjectID: v.PersonID}
		v.Withheld = policy.Can(by, policy.SeeResult, object) != nil
		return v, err
	})
	if err != nil {
		return fmt.Errorf("list the results of cycle %d: %w", cycle, err)
	}
	return nil
}

// readScores scores what was said of the people on the page, by the frozen form.
func readScores(ctx context.Context, tx pgx.Tx, tenant int64, c appraisal.Cycle, r *appraisal.Results) error {
	var form appraisal.FormContent
	err := tx.QueryRow(ctx, `
		SELECT content
		FROM form_versions
		WHERE tenant_id = @tenant
		  AND id = @version`, pgx.NamedArgs{"tenant": tenant, "version": c.FormVersionID}).Scan(&form)
	if err != nil {
		return fmt.Errorf("read the form of cycle %d: %w", c.ID, err)
	}
	r.Scale, r.Rated = form.Scale, form.Rated()
	place := map[int64]int{}
	var people []int64
	for i, v := range r.Rows {
		if !v.Withheld {
			place[v.PersonID] = i
			people = append(people, v.PersonID)
		}
	}
	rows, err := tx.Query(ctx, `
		SELECT e.reviewee_id, e.kind, e.state, CASE WHEN e.state = 'submitted' THEN a.content END
		FROM evaluations e
		LEFT JOIN answers a ON a.tenant_id = e.tenant_id AND a.evaluation_id = e.id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND e.reviewee_id = ANY (@people)
		  AND e.state <> 'cancelled'
		ORDER BY e.id`, pgx.NamedArgs{"tenant": tenant, "cycle": c.ID, "people": people})
	if err != nil {
		return fmt.Errorf("score cycle %d: %w", c.ID, err)
	}
	var person int64
	var kind appraisal.Kind
	var state appraisal.State
	var answers appraisal.Answers
	_, err = pgx.ForEachRow(rows, []any{&person, &kind, &state, &answers}, func() error {
		r.Rows[place[person]].Add(kind, state, appraisal.Score(form, answers))
		answers = nil
		return nil
	})
	if err != nil {
		return fmt.Errorf("score cycle %d: %w", c.ID, err)
	}
	return nil
}
