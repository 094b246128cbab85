package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

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
		c, err := openDraftPart(ctx, tx, by, id)
		if err != nil {
			return err
		}
		if added, err = findPair(ctx, tx, by, c, p); err != nil {
			return err
		}
		if err := coverPerson(ctx, tx, by, policy.EditRosterPart, added.RevieweeID); err != nil {
			if fault.KindOf(err) == fault.NotFound {
				err = fault.Fieldsf(map[string]fault.Message{"reviewee": fault.Msg("roster.out_of_scope", "person", added.Reviewee)})
			}
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
func findPair(ctx context.Context, tx pgx.Tx, by policy.Actor, c appraisal.Cycle, p NewPair) (found appraisal.Pair, err error) {
	found.Kind = p.Kind
	if !knownKind(p.Kind) {
		return found, fault.Fieldsf(map[string]fault.Message{"kind": fault.Msg("roster.kind_required")})
	}
	if p.Kind == appraisal.Self && p.Reviewer == "" {
		p.Reviewer = p.Reviewee
	}
	people, err := findPeople(ctx, tx, by, c, []mention{{"reviewee", p.Reviewee}, {"reviewer", p.Reviewer}})
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
// beside the field. A partner finds by name only whom they cover: the fault names
// people, and would list the others.
func findPeople(ctx context.Context, tx pgx.Tx, by policy.Actor, c appraisal.Cycle, mentions []mention) (map[string]foundPerson, error) {
	found := map[string]foundPerson{}
	wrong := map[string]fault.Message{}
	for _, m := range mentions {
		if m.text == "" {
			wrong[m.field] = fault.Msg("fault.required")
			continue
		}
		candidates, err := findPerson(ctx, tx, by, c, m.text)
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
	for _, p := range people[:min(len(people), mostCandidates)] {
		names = append(names, p.name+" ("+p.code+")")
	}
	if len(people) > mostCandidates {
		return strings.Join(names, ", ") + "…"
	}
	return strings.Join(names, ", ")
}

func findPerson(ctx context.Context, tx pgx.Tx, by policy.Actor, c appraisal.Cycle, text string) ([]foundPerson, error) {
	args := pgx.NamedArgs{"tenant": c.TenantID, "text": text, "words": searchWords(text), "limit": mostCandidates + 1}
	covered(by, args)
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
			  AND is_covered(unit, department, manager_id, @units, @departments, @team_of)
			  AND search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
		)
		SELECT id, name, code, CASE WHEN has_left(left_on, (SELECT zone FROM tenants WHERE id = @tenant)) THEN left_on END
		FROM matching
		ORDER BY name COLLATE "pt-BR-x-icu", id
		LIMIT @limit`, args)
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
		if err := policy.Can(by, policy.EditRosterPart, ofCycle(c)); err != nil || text == "" {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "words": searchWords(text)}
		covered(by, args)
		rows, err := tx.Query(ctx, `
			SELECT code, name, department
			FROM people
			WHERE tenant_id = @tenant
			  AND NOT has_left(left_on, (SELECT zone FROM tenants WHERE id = @tenant))
			  AND is_covered(unit, department, manager_id, @units, @departments, @team_of)
			  AND search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
			ORDER BY name COLLATE "pt-BR-x-icu", id
			LIMIT 10`, args)
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
		if head, err = readHeadPart(ctx, tx, by, id); err != nil {
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
		return coverPerson(ctx, tx, by, policy.SeeCyclePart, person)
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
		if _, err := openDraftPart(ctx, tx, by, id); err != nil {
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
		if err := coverPerson(ctx, tx, by, policy.EditRosterPart, removed.RevieweeID); err != nil {
			return err
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
		if head, err = readHeadPart(ctx, tx, by, id); err != nil {
			return err
		}
		if p, err = readPair(ctx, tx, by.TenantID, id, pair); err != nil {
			return err
		}
		return coverPerson(ctx, tx, by, policy.SeeCyclePart, p.RevieweeID)
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
		c, err := openDraftPart(ctx, tx, by, id)
		if err != nil {
			return err
		}
		old, err := readPair(ctx, tx, by.TenantID, id, pair)
		if err != nil {
			return err
		}
		if err := coverPerson(ctx, tx, by, policy.EditRosterPart, old.RevieweeID); err != nil {
			return err
		}
		found, err := findPeople(ctx, tx, by, c, []mention{{"reviewer", reviewer}})
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
