package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// NewDeadline is how long reviewers are to have: a day and a time of the clock
// in the cycle's zone, for everybody or for those named.
type NewDeadline struct {
	Wall   time.Time
	People []int64 // nil means all
	Reason string
}

// openChange holds an active cycle for a named change of its roster. Changes
// follow one another: what one of them decides by is not changed by another.
func openChange(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) (appraisal.Cycle, time.Time, error) {
	c, now, err := lockCycle(ctx, tx, by.TenantID, id)
	if err != nil {
		return c, now, err
	}
	if err := policy.Can(by, policy.EditCycle, ofCycle(c)); err != nil {
		return c, now, err
	}
	return c, now, c.Change()
}

// nameChange writes the row that a change of a running cycle is known by.
func nameChange(ctx context.Context, tx pgx.Tx, by policy.Actor, cycle int64, kind, reason string) (id int64, err error) {
	if len([]rune(reason)) > maxReason {
		return 0, fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("fault.text_long", "max", maxReason)})
	}
	err = tx.QueryRow(ctx, `
		INSERT INTO roster_changes (tenant_id, cycle_id, kind, reason, actor_id)
		VALUES (@tenant, @cycle, @kind, @reason, @actor)
		RETURNING id`,
		pgx.NamedArgs{"tenant": by.TenantID, "cycle": cycle, "kind": kind, "reason": reason, "actor": by.PersonID}).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("name a change of cycle %d: %w", cycle, err)
	}
	return id, nil
}

// ExtendDeadline moves the deadline of an active cycle, for everybody or for
// the reviewers named, to a later instant; each unfinished reviewer whose
// deadline moves is told, once for this change. Whoever has longer already
// keeps what they have when everybody is given more.
func (s *Store) ExtendDeadline(ctx context.Context, by policy.Actor, id int64, to NewDeadline) (done appraisal.Extended, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, now, err := openChange(ctx, tx, by, id)
		if err != nil {
			return err
		}
		until := c.EndOfMinute(to.Wall)
		if err := c.Extend(now, until); err != nil {
			return err
		}
		done, err = s.extend(ctx, tx, by, c, until, to.People, to.Reason, true)
		return err
	})
	return done, err
}

// extend writes the change, tells whom it concerns when tell is set, and moves
// the deadlines; in this order, as the message says what the deadline was.
func (s *Store) extend(ctx context.Context, tx pgx.Tx, by policy.Actor, c appraisal.Cycle, until time.Time, people []int64, reason string, tell bool) (done appraisal.Extended, err error) {
	done.Until = until.In(c.Due().Location())
	if err := notLaterAlready(ctx, tx, c, until, people); err != nil {
		return done, err
	}
	change, err := nameChange(ctx, tx, by, c.ID, "extend", reason)
	if err != nil {
		return done, err
	}
	if err := s.tellExtended(ctx, tx, c, change, until, people, reason, tell, &done); err != nil {
		return done, err
	}
	if err := moveDeadline(ctx, tx, c, change, until, people); err != nil {
		return done, err
	}
	if tell { // more time for somebody who asks for it is an answer
		if _, err := tx.Exec(ctx, `
			UPDATE extension_requests
			SET answered_at = now(), answered_by = @actor, granted = true, until = @until
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND answered_at IS NULL
			  AND (@people::bigint[] IS NULL OR person_id = ANY (@people))`,
			pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "actor": by.PersonID, "until": until, "people": people}); err != nil {
			return done, fmt.Errorf("answer requests of cycle %d: %w", c.ID, err)
		}
	}
	return done, audit(ctx, tx, by, "cycle.extended", "cycle", c.ID, map[string]any{
		"due_before": c.DueAt, "until": until, "people": people, "reason": reason, "change": change, "told": done.Told,
	})
}

// notLaterAlready refuses a date that would be no later for somebody named, and
// people who are no reviewers of the cycle.
func notLaterAlready(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, until time.Time, people []int64) error {
	if people == nil {
		return nil
	}
	var here, longer int
	err := tx.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE deadline_of(@tenant, @cycle, p.id) >= @until)
		FROM people p
		WHERE p.tenant_id = @tenant
		  AND p.id = ANY (@people)
		  AND EXISTS (
			SELECT FROM evaluations e
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND e.reviewer_id = p.id
			  AND e.state IN ('pending', 'in_progress', 'reopened'))`,
		pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "until": until, "people": people}).Scan(&here, &longer)
	switch {
	case err != nil:
		return fmt.Errorf("read deadlines of cycle %d: %w", c.ID, err)
	case here == 0:
		return fault.Conflictf("extension.nobody")
	case longer > 0:
		return fault.Fieldsf(map[string]fault.Message{"day": fault.Msg("extension.longer_already", "n", longer)})
	}
	return nil
}

// tellExtended counts whom the change concerns, and owes each a message.
func (s *Store) tellExtended(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, change int64, until time.Time, people []int64, reason string, tell bool, done *appraisal.Extended) error {
	err := tx.QueryRow(ctx, `
		WITH concerned AS (
			SELECT p.id, p.email IS NOT NULL AND NOT has_left(p.left_on, t.zone) AS reachable, deadline_of(@tenant, @cycle, p.id) AS was_due
			FROM people p
			JOIN tenants t ON t.id = p.tenant_id
			WHERE p.tenant_id = @tenant
			  AND (@people::bigint[] IS NULL OR p.id = ANY (@people))
			  AND p.id IN (
				SELECT e.reviewer_id
				FROM evaluations e
				WHERE e.tenant_id = @tenant
				  AND e.cycle_id = @cycle
				  AND e.state IN ('pending', 'in_progress', 'reopened'))
		), written AS (
			INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, traceparent)
			SELECT @tenant, @mail, @kind, @change,
			       jsonb_strip_nulls(jsonb_build_object('reviewer_id', id, 'cycle_id', @cycle::bigint, 'was_due', was_due, 'until', @until::timestamptz,
			           'reason', nullif(@reason::text, ''))),
			       nullif(@traceparent, '')
			FROM concerned
			WHERE @tell::boolean
			  AND reachable
			  AND was_due < @until::timestamptz
			ORDER BY id
			ON CONFLICT (tenant_id, event_type, aggregate_id, (payload ->> 'reviewer_id'))
			    WHERE event_type IN ('evaluation.extended', 'evaluation.reassigned', 'evaluation.withdrawn', 'evaluation.received', 'cycle.cancelled')
			    DO NOTHING
			RETURNING id
		)
		SELECT count(*), count(*) FILTER (WHERE NOT reachable), (SELECT count(*) FROM written)
		FROM concerned
		WHERE was_due < @until::timestamptz`,
		pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "change": change, "until": until, "people": people, "reason": reason, "tell": tell,
			"kind": outbox.EvaluationExtended, "mail": outbox.QueueOf(outbox.EvaluationExtended), "traceparent": traceparent(ctx)}).
		Scan(&done.Reviewers, &done.Silent, &done.Told)
	if err != nil {
		return fmt.Errorf("tell reviewers of cycle %d of their deadline: %w", c.ID, err)
	}
	return s.dispatch(ctx, tx, c.TenantID, outbox.QueueOf(outbox.EvaluationExtended), done.Told)
}

// moveDeadline is where a deadline changes: the cycle's, or that of some people.
func moveDeadline(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, change int64, until time.Time, people []int64) error {
	args := pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "change": change, "until": until, "people": people}
	sql := `
		UPDATE cycles
		SET due_at = @until, updated_at = now()
		WHERE tenant_id = @tenant
		  AND id = @cycle`
	if people != nil {
		sql = `
		INSERT INTO deadline_extensions (tenant_id, cycle_id, person_id, until, roster_change_id)
		SELECT p.tenant_id, @cycle, p.id, @until, @change
		FROM people p
		WHERE p.tenant_id = @tenant
		  AND p.id = ANY (@people)
		  AND EXISTS (
			SELECT FROM evaluations e
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND e.reviewer_id = p.id)
		ON CONFLICT (tenant_id, cycle_id, person_id) DO UPDATE
		SET until = excluded.until, roster_change_id = excluded.roster_change_id`
	}
	if _, err := tx.Exec(ctx, sql, args); err != nil {
		return fmt.Errorf("move the deadline of cycle %d: %w", c.ID, err)
	}
	return nil
}

// Unfinished names those of the people who still owe reviews in the cycle; nil
// asks how many there are at all.
func (s *Store) Unfinished(ctx context.Context, by policy.Actor, id int64, people []int64) (head appraisal.CycleHead, names []string, all int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		if err := policy.Can(by, policy.EditCycle, ofCycle(head.Cycle)); err != nil {
			return err
		}
		if err := head.Change(); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			WITH owing AS (
				SELECT DISTINCT e.reviewer_id
				FROM evaluations e
				WHERE e.tenant_id = @tenant
				  AND e.cycle_id = @cycle
				  AND e.state IN ('pending', 'in_progress', 'reopened')
			)
			SELECT (SELECT count(*) FROM owing), ARRAY(
				SELECT p.name
				FROM owing
				JOIN people p ON p.tenant_id = @tenant AND p.id = owing.reviewer_id
				WHERE p.id = ANY (@people)
				ORDER BY p.name COLLATE "pt-BR-x-icu", p.id)`,
			pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "people": people}).Scan(&all, &names)
		if err != nil {
			return fmt.Errorf("read who is unfinished in cycle %d: %w", id, err)
		}
		return nil
	})
	return head, names, all, err
}

// AskForTime puts a reviewer's wish for more time on HR's list and tells the
// cycle's owner. One wish stands at a time.
func (s *Store) AskForTime(ctx context.Context, by policy.Actor, evaluation int64, note string) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		cycle, err := cycleOfEvaluation(ctx, tx, by, evaluation, policy.WriteEvaluation)
		if err != nil {
			return err
		}
		if _, _, err := shareCycle(ctx, tx, by.TenantID, cycle); err != nil {
			return err
		}
		c, now, err := readCycleFor(ctx, tx, by.TenantID, cycle, by.PersonID)
		if err != nil {
			return err
		}
		r, err := readReview(ctx, tx, c, now, evaluation)
		if err != nil {
			return err
		}
		if _, err := r.SaveDraft(c); err != nil { // it takes no text any more: time would not help
			return err
		}
		if note == "" {
			return fault.Fieldsf(map[string]fault.Message{"note": fault.Msg("request.note_required")})
		}
		if len([]rune(note)) > maxReason {
			return fault.Fieldsf(map[string]fault.Message{"note": fault.Msg("fault.text_long", "max", maxReason)})
		}
		var request int64
		err = tx.QueryRow(ctx, `
			INSERT INTO extension_requests (tenant_id, cycle_id, person_id, note)
			VALUES (@tenant, @cycle, @person, @note)
			ON CONFLICT (tenant_id, cycle_id, person_id) WHERE answered_at IS NULL DO NOTHING
			RETURNING id`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": cycle, "person": by.PersonID, "note": note}).Scan(&request)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.Conflictf("request.stands")
		}
		if err != nil {
			return fmt.Errorf("ask for time in cycle %d: %w", cycle, err)
		}
		if err := s.owe(ctx, tx, by.TenantID, outbox.ExtensionAsked, request, map[string]any{
			"person_id": c.OwnerID, "cycle_id": cycle, "actor_id": by.PersonID, "reason": note}); err != nil {
			return err
		}
		return audit(ctx, tx, by, "extension.asked", "cycle", cycle, map[string]any{"request": request})
	})
}

// ExtensionRequests lists who asked for more time: first those who wait for an
// answer, in the order they asked.
func (s *Store) ExtensionRequests(ctx context.Context, by policy.Actor, id int64) (head appraisal.CycleHead, requests []appraisal.ExtensionRequest, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		requests, err = readRequests(ctx, tx, head.Cycle, 0, 0)
		return err
	})
	return head, requests, err
}

// ExtensionRequest answers one of them.
func (s *Store) ExtensionRequest(ctx context.Context, by policy.Actor, id, request int64) (head appraisal.CycleHead, r appraisal.ExtensionRequest, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		all, err := readRequests(ctx, tx, head.Cycle, request, 0)
		if err == nil && len(all) == 0 {
			err = fault.NotFoundf("fault.not_found")
		}
		if err == nil {
			r = all[0]
		}
		return err
	})
	return head, r, err
}

// readRequests reads a cycle's requests; one of them, or one person's, unless nought.
func readRequests(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, request, person int64) ([]appraisal.ExtensionRequest, error) {
	rows, err := tx.Query(ctx, `
		SELECT x.id, x.person_id, p.name, p.department, x.note, x.asked_at, deadline_of(x.tenant_id, x.cycle_id, x.person_id),
		       count(e.id) FILTER (WHERE e.state IN ('pending', 'in_progress', 'reopened')),
		       count(e.id) FILTER (WHERE e.state IN ('in_progress', 'reopened')),
		       x.answered_at, coalesce(hr.name, ''), coalesce(x.granted, false), x.until, x.answer
		FROM extension_requests x
		JOIN people p ON p.tenant_id = x.tenant_id AND p.id = x.person_id
		LEFT JOIN people hr ON hr.tenant_id = x.tenant_id AND hr.id = x.answered_by
		LEFT JOIN evaluations e ON e.tenant_id = x.tenant_id AND e.cycle_id = x.cycle_id AND e.reviewer_id = x.person_id
		WHERE x.tenant_id = @tenant
		  AND x.cycle_id = @cycle
		  AND (@request::bigint = 0 OR x.id = @request)
		  AND (@person::bigint = 0 OR x.person_id = @person)
		GROUP BY x.id, p.id, hr.id
		ORDER BY x.answered_at IS NOT NULL, CASE WHEN x.answered_at IS NULL THEN x.id END, x.answered_at DESC, x.id DESC
		LIMIT 500`, pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "request": request, "person": person})
	if err != nil {
		return nil, fmt.Errorf("list requests of cycle %d: %w", c.ID, err)
	}
	requests, err := pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.ExtensionRequest])
	if err != nil {
		return nil, fmt.Errorf("list requests of cycle %d: %w", c.ID, err)
	}
	zone := c.Due().Location()
	for i := range requests {
		requests[i].Due, requests[i].AskedAt = requests[i].Due.In(zone), requests[i].AskedAt.In(zone)
		if u := requests[i].Until; u != nil {
			in := u.In(zone)
			requests[i].Until = &in
		}
	}
	return requests, nil
}

// ExtensionAnswer is what HR says to a request: until when, or why not.
type ExtensionAnswer struct {
	Grant bool
	Wall  time.Time
	Words string
}

// AnswerRequest grants a request, which extends that one reviewer's deadline,
// or refuses it with words; either way the reviewer is told, once.
func (s *Store) AnswerRequest(ctx context.Context, by policy.Actor, id, request int64, a ExtensionAnswer) (person string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, now, err := openChange(ctx, tx, by, id)
		if err != nil {
			return err
		}
		all, err := readRequests(ctx, tx, c, request, 0)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fault.NotFoundf("fault.not_found")
		}
		r := all[0]
		person = r.Person
		if r.AnsweredAt != nil {
			return fault.Conflictf("request.answered", "who", r.AnsweredBy, "when", r.AnsweredAt.In(c.Due().Location()))
		}
		until, err := s.decide(ctx, tx, by, c, now, r, a)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			UPDATE extension_requests
			SET answered_at = now(), answered_by = @actor, granted = @granted, until = @until, answer = @words
			WHERE tenant_id = @tenant
			  AND id = @request`,
			pgx.NamedArgs{"tenant": by.TenantID, "request": request, "actor": by.PersonID, "granted": a.Grant, "until": until, "words": a.Words}); err != nil {
			return fmt.Errorf("answer request %d: %w", request, err)
		}
		return s.tellAnswer(ctx, tx, by, c, r, until, a)
	})
	return person, err
}

// decide checks the answer and, when it is yes, moves the deadline.
func (s *Store) decide(ctx context.Context, tx pgx.Tx, by policy.Actor, c appraisal.Cycle, now time.Time, r appraisal.ExtensionRequest, a ExtensionAnswer) (*time.Time, error) {
	switch {
	case len([]rune(a.Words)) > maxReason:
		return nil, fault.Fieldsf(map[string]fault.Message{"words": fault.Msg("fault.text_long", "max", maxReason)})
	case !a.Grant && a.Words == "":
		return nil, fault.Fieldsf(map[string]fault.Message{"words": fault.Msg("request.words_required")})
	case !a.Grant:
		return nil, nil //nolint:nilnil // no deadline: that is the answer
	}
	until := c.EndOfMinute(a.Wall)
	if err := c.Extend(now, until); err != nil {
		return nil, err
	}
	_, err := s.extend(ctx, tx, by, c, until, []int64{r.PersonID}, a.Words, false)
	return &until, err
}

func (s *Store) tellAnswer(ctx context.Context, tx pgx.Tx, by policy.Actor, c appraisal.Cycle, r appraisal.ExtensionRequest, until *time.Time, a ExtensionAnswer) error {
	var reachable bool
	err := tx.QueryRow(ctx, `
		SELECT p.email IS NOT NULL AND NOT has_left(p.left_on, t.zone)
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		WHERE p.tenant_id = @tenant
		  AND p.id = @person`, pgx.NamedArgs{"tenant": by.TenantID, "person": r.PersonID}).Scan(&reachable)
	if err != nil {
		return fmt.Errorf("read person %d: %w", r.PersonID, err)
	}
	if reachable {
		payload := map[string]any{"reviewer_id": r.PersonID, "cycle_id": c.ID, "granted": a.Grant, "reason": a.Words, "was_due": r.Due}
		if until != nil {
			payload["until"] = *until
		}
		if err := s.owe(ctx, tx, by.TenantID, outbox.ExtensionAnswered, r.ID, payload); err != nil {
			return err
		}
	}
	return audit(ctx, tx, by, "extension.answered", "cycle", c.ID, map[string]any{"request": r.ID, "person": r.PersonID, "granted": a.Grant})
}
