package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
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
		if r.Head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		if r.Rule, err = readRule(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		r.HasRule = r.Rule.Self || r.Rule.Manager
		if err := readPairs(ctx, tx, by.TenantID, id, q, &r); err != nil {
			return err
		}
		return readDepartments(ctx, tx, by.TenantID, id, &r)
	})
	return r, err
}

func readPairs(ctx context.Context, tx pgx.Tx, tenant, cycle int64, q RosterQuery, r *appraisal.Roster) error {
	args := pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "kind": string(q.Kind), "state": string(q.State), "department": q.Department,
		"words": searchWords(q.Q), "sort": q.Sort, "limit": q.Limit, "offset": q.Offset}
	err := tx.QueryRow(ctx, `
		SELECT count(*)
		FROM evaluations e
		JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
		JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND (@kind = '' OR e.kind = @kind)
		  AND (@state = '' OR e.state = @state)
		  AND (@department::text IS NULL OR reviewee.department = @department)
		  AND (reviewee.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
		    OR reviewer.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w)))`, args).Scan(&r.Total)
	if err != nil {
		return fmt.Errorf("count pairs of cycle %d: %w", cycle, err)
	}
	rows, err := tx.Query(ctx, `
		SELECT e.id, e.kind, e.source, e.state,
		       reviewee.id, reviewee.name, reviewee.code, reviewee.department,
		       reviewer.id, reviewer.name, reviewer.code, reviewer.department, coalesce(reviewer.email, ''), reviewer.left_on
		FROM evaluations e
		JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
		JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND (@kind = '' OR e.kind = @kind)
		  AND (@state = '' OR e.state = @state)
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

func readDepartments(ctx context.Context, tx pgx.Tx, tenant, cycle int64, r *appraisal.Roster) error {
	rows, err := tx.Query(ctx, `
		SELECT p.department, count(*) FILTER (WHERE p.left_on IS NULL OR p.left_on > (now() AT TIME ZONE @zone)::date) AS working,
		       bool_or(taking.person_id IS NOT NULL) AS in_the_roster
		FROM people p
		LEFT JOIN participants taking ON taking.tenant_id = p.tenant_id AND taking.cycle_id = @cycle AND taking.person_id = p.id AND taking.excluded_at IS NULL
		WHERE p.tenant_id = @tenant
		GROUP BY p.department
		ORDER BY p.department COLLATE "pt-BR-x-icu"`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "zone": r.Head.DueZone})
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

// ApplyRule builds the rule's part of the roster anew: pairs the rule no longer
// makes are taken out and missing ones put in. Pairs that came from a file or
// the page stay, and so does everybody who was left out with a reason. People
// who left the company are not taken in, nor asked as managers.
func (s *Store) ApplyRule(ctx context.Context, by policy.Actor, id int64, rule appraisal.Rule) (done appraisal.RuleOutcome, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := openDraft(ctx, tx, by, id, lockCycle) // the rule is written on the cycle's own row
		if err != nil {
			return err
		}
		if err := rule.Check(); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "rule": rule, "departments": rule.Departments,
			"hired_before": rule.HiredBefore, "self": rule.Self, "manager": rule.Manager, "zone": c.DueZone}
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
		     AND (manager.left_on IS NULL OR manager.left_on > (now() AT TIME ZONE @zone)::date)
		LEFT JOIN participants out ON out.tenant_id = p.tenant_id AND out.cycle_id = @cycle AND out.person_id = p.id AND out.excluded_at IS NOT NULL
		WHERE p.tenant_id = @tenant
		  AND (p.left_on IS NULL OR p.left_on > (now() AT TIME ZONE @zone)::date)
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
	c, now, err := lock(ctx, tx, by.TenantID, id)
	if err != nil {
		return c, now, err
	}
	if err := policy.Can(by, policy.EditCycle, ofCycle(c)); err != nil {
		return c, now, err
	}
	return c, now, c.Edit()
}

// NewPair names a pair to be added by hand: people by address, employee code, or
// words of their name.
type NewPair struct {
	Reviewee string
	Reviewer string
	Kind     appraisal.Kind
}

// AddPair puts one pair into the roster of a draft. The reviewee takes part
// from then on; someone who was left out with a reason must be included first.
func (s *Store) AddPair(ctx context.Context, by policy.Actor, id int64, p NewPair) (added appraisal.Pair, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := openDraft(ctx, tx, by, id, shareCycle)
		if err != nil {
			return err
		}
		if added, err = findPair(ctx, tx, c, p); err != nil {
			return err
		}
		var reason *string
		err = tx.QueryRow(ctx, `
			INSERT INTO participants (tenant_id, cycle_id, person_id, source)
			VALUES (@tenant, @cycle, @person, 'page')
			ON CONFLICT (tenant_id, cycle_id, person_id) DO UPDATE SET source = participants.source
			RETURNING exclusion_reason`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "person": added.RevieweeID}).Scan(&reason)
		if err != nil {
			return fmt.Errorf("add participant %d: %w", added.RevieweeID, err)
		}
		if reason != nil {
			return fault.Fieldsf(map[string]fault.Message{"reviewee": fault.Msg("roster.person_is_out", "person", added.Reviewee, "reason", *reason)})
		}
		err = tx.QueryRow(ctx, `
			INSERT INTO evaluations (tenant_id, cycle_id, reviewee_id, reviewer_id, kind, source)
			VALUES (@tenant, @cycle, @reviewee, @reviewer, @kind, 'page')
			RETURNING id`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "reviewee": added.RevieweeID, "reviewer": added.ReviewerID, "kind": p.Kind}).Scan(&added.ID)
		if err != nil {
			return fmt.Errorf("add pair to cycle %d: %w", id, err)
		}
		return audit(ctx, tx, by, "roster.pair_added", "cycle", id, map[string]any{"reviewee": added.RevieweeID, "reviewer": added.ReviewerID, "kind": p.Kind})
	})
	return added, err
}

// findPair finds both people of a pair, and says beside its field who is
// nobody, or has left.
func findPair(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, p NewPair) (found appraisal.Pair, err error) {
	found.Kind = p.Kind
	if !knownKind(p.Kind) {
		return found, fault.Fieldsf(map[string]fault.Message{"kind": fault.Msg("roster.kind_required")})
	}
	if p.Kind == appraisal.Self && p.Reviewer == "" {
		p.Reviewer = p.Reviewee
	}
	people, err := findPeople(ctx, tx, c, []mention{{"reviewee", p.Reviewee}, {"reviewer", p.Reviewer}})
	if err != nil {
		return found, err
	}
	found.RevieweeID, found.Reviewee = people["reviewee"].id, people["reviewee"].name
	found.ReviewerID, found.Reviewer = people["reviewer"].id, people["reviewer"].name
	if (p.Kind == appraisal.Self) != (found.RevieweeID == found.ReviewerID) {
		return found, fault.Fieldsf(map[string]fault.Message{"kind": fault.Msg("roster.self_is_oneself")})
	}
	return found, nil
}

// mention is how somebody was named in a field of a form.
type mention struct{ field, text string }

// findPeople finds who was named: by code or address, or by words of the name
// where they fit one person only. Who is nobody, several or gone is a fault
// beside the field.
func findPeople(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, mentions []mention) (map[string]foundPerson, error) {
	found := map[string]foundPerson{}
	wrong := map[string]fault.Message{}
	for _, m := range mentions {
		if m.text == "" {
			wrong[m.field] = fault.Msg("fault.required")
			continue
		}
		candidates, err := findPerson(ctx, tx, c, m.text)
		switch {
		case err != nil:
			return nil, err
		case len(candidates) == 0:
			wrong[m.field] = fault.Msg("roster.person_unknown", "value", m.text)
		case len(candidates) > 1:
			wrong[m.field] = fault.Msg("roster.person_several", "value", m.text, "people", listNames(candidates))
		case candidates[0].leftOn != nil:
			wrong[m.field] = fault.Msg("roster.person_left", "person", candidates[0].name, "day", candidates[0].leftOn.Format("02/01/2006"))
		default:
			found[m.field] = candidates[0]
		}
	}
	if len(wrong) > 0 {
		return nil, fault.Fieldsf(wrong)
	}
	return found, nil
}

// mostCandidates is how many people a message names.
const mostCandidates = 5

func listNames(people []foundPerson) string {
	names := make([]string, 0, mostCandidates)
	for i, p := range people {
		if i == mostCandidates {
			names = append(names, "…")
			break
		}
		names = append(names, p.name+" ("+p.code+")")
	}
	return strings.Join(names, ", ")
}

func findPerson(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, text string) ([]foundPerson, error) {
	rows, err := tx.Query(ctx, `
		WITH exact AS (
			SELECT id, name, code, left_on
			FROM people
			WHERE tenant_id = @tenant
			  AND (code = @text OR email = @text)
		), matching AS (
			SELECT id, name, code, left_on
			FROM exact
			UNION ALL
			SELECT id, name, code, left_on
			FROM people
			WHERE tenant_id = @tenant
			  AND NOT EXISTS (SELECT FROM exact)
			  AND search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
		)
		SELECT id, name, code, CASE WHEN left_on <= (now() AT TIME ZONE @zone)::date THEN left_on END
		FROM matching
		ORDER BY name COLLATE "pt-BR-x-icu", id
		LIMIT @limit`,
		pgx.NamedArgs{"tenant": c.TenantID, "text": text, "words": searchWords(text), "zone": c.DueZone, "limit": mostCandidates + 1})
	if err != nil {
		return nil, fmt.Errorf("find person: %w", err)
	}
	people, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p foundPerson, err error) {
		return p, row.Scan(&p.id, &p.name, &p.code, &p.leftOn)
	})
	if err != nil {
		return nil, fmt.Errorf("find person: %w", err)
	}
	return people, nil
}

// PersonChoice is somebody who can be put into a roster.
type PersonChoice struct{ Code, Name, Department string }

// PeopleLike lists a few of those who work here and match what is being typed;
// nobody while nothing is.
func (s *Store) PeopleLike(ctx context.Context, by policy.Actor, id int64, text string) (people []PersonChoice, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := readCycle(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := policy.Can(by, policy.EditCycle, ofCycle(c)); err != nil || text == "" {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT code, name, department
			FROM people
			WHERE tenant_id = @tenant
			  AND (left_on IS NULL OR left_on > (now() AT TIME ZONE @zone)::date)
			  AND search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
			ORDER BY name COLLATE "pt-BR-x-icu", id
			LIMIT 10`, pgx.NamedArgs{"tenant": by.TenantID, "zone": c.DueZone, "words": searchWords(text)})
		if err != nil {
			return fmt.Errorf("find people: %w", err)
		}
		if people, err = pgx.CollectRows(rows, pgx.RowToStructByPos[PersonChoice]); err != nil {
			return fmt.Errorf("find people: %w", err)
		}
		return nil
	})
	return people, err
}

// PersonOf reads the name and code of somebody of the organisation, beside the
// head of a cycle.
func (s *Store) PersonOf(ctx context.Context, by policy.Actor, id, person int64) (head appraisal.CycleHead, p PersonChoice, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			SELECT code, name, department
			FROM people
			WHERE tenant_id = @tenant
			  AND id = @person`, pgx.NamedArgs{"tenant": by.TenantID, "person": person}).Scan(&p.Code, &p.Name, &p.Department)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("fault.not_found")
		}
		if err != nil {
			return fmt.Errorf("read person %d: %w", person, err)
		}
		return nil
	})
	return head, p, err
}

func knownKind(kind appraisal.Kind) bool {
	for _, k := range appraisal.Kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// RemovePair takes one pair out of a draft's roster. The person under review
// stays in the cycle and is listed as a blocker when nobody else reviews them,
// so that nobody drops out of it unseen; only who came in by hand leaves with
// their last pair.
func (s *Store) RemovePair(ctx context.Context, by policy.Actor, id, pair int64) (removed appraisal.Pair, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, _, err := openDraft(ctx, tx, by, id, shareCycle); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			WITH gone AS (
				DELETE FROM evaluations
				WHERE tenant_id = @tenant
				  AND cycle_id = @cycle
				  AND id = @pair
				RETURNING id, reviewee_id, reviewer_id, kind
			)
			SELECT gone.id, gone.kind, reviewee.id, reviewee.name, reviewer.id, reviewer.name
			FROM gone
			JOIN people reviewee ON reviewee.tenant_id = @tenant AND reviewee.id = gone.reviewee_id
			JOIN people reviewer ON reviewer.tenant_id = @tenant AND reviewer.id = gone.reviewer_id`,
			pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "pair": pair}).
			Scan(&removed.ID, &removed.Kind, &removed.RevieweeID, &removed.Reviewee, &removed.ReviewerID, &removed.Reviewer)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("roster.pair_gone")
		}
		if err != nil {
			return fmt.Errorf("remove pair %d: %w", pair, err)
		}
		_, err = tx.Exec(ctx, `
			DELETE FROM participants p
			WHERE p.tenant_id = @tenant
			  AND p.cycle_id = @cycle
			  AND p.person_id = @person
			  AND p.source = 'page'
			  AND p.excluded_at IS NULL
			  AND NOT EXISTS (
				SELECT FROM evaluations e
				WHERE e.tenant_id = p.tenant_id
				  AND e.cycle_id = p.cycle_id
				  AND e.reviewee_id = p.person_id)`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "person": removed.RevieweeID})
		if err != nil {
			return fmt.Errorf("remove participant %d: %w", removed.RevieweeID, err)
		}
		return audit(ctx, tx, by, "roster.pair_removed", "cycle", id, map[string]any{"reviewee": removed.RevieweeID, "reviewer": removed.ReviewerID, "kind": removed.Kind})
	})
	return removed, err
}

// Pair reads one pair of the roster.
func (s *Store) Pair(ctx context.Context, by policy.Actor, id, pair int64) (head appraisal.CycleHead, p appraisal.Pair, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		p, err = readPair(ctx, tx, by.TenantID, id, pair)
		return err
	})
	return head, p, err
}

func readPair(ctx context.Context, tx pgx.Tx, tenant, cycle, pair int64) (p appraisal.Pair, err error) {
	err = tx.QueryRow(ctx, `
		SELECT e.id, e.kind, reviewee.id, reviewee.name, reviewee.code, reviewer.id, reviewer.name, reviewer.code
		FROM evaluations e
		JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
		JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND e.id = @pair`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "pair": pair}).
		Scan(&p.ID, &p.Kind, &p.RevieweeID, &p.Reviewee, &p.RevieweeCode, &p.ReviewerID, &p.Reviewer, &p.ReviewerCode)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, fault.NotFoundf("roster.pair_gone")
	}
	if err != nil {
		return p, fmt.Errorf("read pair %d: %w", pair, err)
	}
	return p, nil
}

// ReplaceReviewer gives one pair of a draft another reviewer.
func (s *Store) ReplaceReviewer(ctx context.Context, by policy.Actor, id, pair int64, reviewer string) (now appraisal.Pair, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := openDraft(ctx, tx, by, id, shareCycle)
		if err != nil {
			return err
		}
		old, err := readPair(ctx, tx, by.TenantID, id, pair)
		if err != nil {
			return err
		}
		found, err := findPeople(ctx, tx, c, []mention{{"reviewer", reviewer}})
		if err != nil {
			return err
		}
		now = old
		now.ReviewerID, now.Reviewer = found["reviewer"].id, found["reviewer"].name
		if (old.Kind == appraisal.Self) != (now.RevieweeID == now.ReviewerID) {
			return fault.Fieldsf(map[string]fault.Message{"reviewer": fault.Msg("roster.self_is_oneself")})
		}
		_, err = tx.Exec(ctx, `
			UPDATE evaluations
			SET reviewer_id = @reviewer, source = 'page'
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND id = @pair`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "pair": pair, "reviewer": now.ReviewerID})
		if err != nil {
			return fmt.Errorf("replace the reviewer of pair %d: %w", pair, err)
		}
		return audit(ctx, tx, by, "roster.reviewer_replaced", "cycle", id, map[string]any{
			"reviewee": old.RevieweeID, "kind": old.Kind, "reviewer_before": old.ReviewerID, "reviewer": now.ReviewerID,
		})
	})
	return now, err
}

// ClearRoster takes every pair out of a draft, and everybody with them; who was
// left out with a reason stays out.
func (s *Store) ClearRoster(ctx context.Context, by policy.Actor, id int64) (pairs int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, _, err := openDraft(ctx, tx, by, id, lockCycle); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": id}
		tag, err := tx.Exec(ctx, `
			DELETE FROM evaluations
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle`, args)
		if err != nil {
			return fmt.Errorf("clear the roster of cycle %d: %w", id, err)
		}
		pairs = int(tag.RowsAffected())
		if _, err = tx.Exec(ctx, `
			DELETE FROM participants
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND excluded_at IS NULL`, args); err != nil {
			return fmt.Errorf("clear the participants of cycle %d: %w", id, err)
		}
		return audit(ctx, tx, by, "roster.cleared", "cycle", id, map[string]any{"pairs": pairs})
	})
	return pairs, err
}

// maxReason is how long a reason may be.
const maxReason = 500

// ExcludePerson leaves someone out of a draft, with a reason: the pairs in
// which they are reviewed go, those in which they review others stay.
func (s *Store) ExcludePerson(ctx context.Context, by policy.Actor, id, person int64, reason string) (name string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, _, err := openDraft(ctx, tx, by, id, shareCycle); err != nil {
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
		if _, _, err := openDraft(ctx, tx, by, id, shareCycle); err != nil {
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
		if a.Head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		if a.Rule, err = readRule(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			WITH away AS (
				SELECT p.id, p.name, p.code, p.department, p.hired_on, p.left_on, p.search,
				       CASE WHEN x.excluded_at IS NOT NULL THEN 'excluded'
				            WHEN p.left_on <= (now() AT TIME ZONE @zone)::date THEN 'left'
				            WHEN NOT @has_rule THEN 'not_asked'
				            WHEN coalesce(cardinality(@departments::text[]), 0) > 0 AND p.department <> ALL (@departments) THEN 'department'
				            WHEN @hired_before::date IS NOT NULL AND p.hired_on IS NULL THEN 'not_hired'
				            WHEN p.hired_on >= @hired_before::date THEN 'hired'
				            ELSE 'not_asked' END AS why,
				       coalesce(x.exclusion_reason, '') AS reason, coalesce(author.name, '') AS author, x.excluded_at
				FROM people p
				LEFT JOIN participants x ON x.tenant_id = p.tenant_id AND x.cycle_id = @cycle AND x.person_id = p.id
				LEFT JOIN people author ON author.tenant_id = x.tenant_id AND author.id = x.excluded_by
				WHERE p.tenant_id = @tenant
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
			pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "zone": a.Head.DueZone, "has_rule": a.Rule.Self || a.Rule.Manager,
				"departments": a.Rule.Departments, "hired_before": a.Rule.HiredBefore, "why": q.Why, "words": searchWords(q.Q),
				"sort": q.Sort, "limit": q.Limit, "offset": q.Offset})
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

// RosterLines answers the whole reviewer map for export; the file imports again
// unchanged.
func (s *Store) RosterLines(ctx context.Context, by policy.Actor, id int64) (head appraisal.CycleHead, lines []appraisal.RosterLine, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT coalesce(reviewee.email::text, reviewee.code), coalesce(reviewer.email::text, reviewer.code), e.kind
			FROM evaluations e
			JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
			JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			ORDER BY reviewee.name COLLATE "pt-BR-x-icu", reviewee.id,
			         array_position(ARRAY['self', 'manager', 'peer', 'report'], e.kind), reviewer.name COLLATE "pt-BR-x-icu", e.id`,
			pgx.NamedArgs{"tenant": by.TenantID, "cycle": id})
		if err != nil {
			return fmt.Errorf("export the roster of cycle %d: %w", id, err)
		}
		lines, err = pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.RosterLine])
		if err != nil {
			return fmt.Errorf("export the roster of cycle %d: %w", id, err)
		}
		return nil
	})
	return head, lines, err
}
