package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// NewReviewer names who takes an evaluation over: by address, employee code, or
// words of their name. HandOver gives them the draft that is there; otherwise it
// stays its author's alone.
type NewReviewer struct {
	Reviewer string
	HandOver bool
	Reason   string
}

// ReassignEvaluation asks another reviewer for an evaluation of a running
// cycle. The old one is cancelled and keeps its text; reassigning back revives
// it. The new reviewer is asked and the old one is told, each once for this
// change; a new reviewer without an address is told on paper.
func (s *Store) ReassignEvaluation(ctx context.Context, by policy.Actor, id, evaluation int64, to NewReviewer) (done appraisal.Reassigned, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		done = appraisal.Reassigned{}
		c, _, err := openChange(ctx, tx, by, id)
		if err != nil {
			return err
		}
		old, names, err := holdEvaluation(ctx, tx, c, evaluation)
		if err != nil {
			return err
		}
		if err := old.Reassign(); err != nil {
			return err
		}
		found, err := findPeople(ctx, tx, by, c, []mention{{"reviewer", to.Reviewer}})
		if err != nil {
			return err
		}
		reviewer := found["reviewer"]
		done.Reviewee, done.From, done.To = names.Reviewee, names.Reviewer, reviewer.name
		if reviewer.id == old.ReviewerID || reviewer.id == old.RevieweeID {
			return fault.Fieldsf(map[string]fault.Message{"reviewer": fault.Msg("reassignment.same", "person", reviewer.name)})
		}
		change, err := nameChange(ctx, tx, by, id, "reassign", to.Reason)
		if err != nil {
			return err
		}
		if err := callOff(ctx, tx, c, evaluation, appraisal.ReasonReassigned, change); err != nil {
			return err
		}
		asked := old
		asked.ReviewerID = reviewer.id
		if done.EvaluationID, done.Revived, err = openEvaluation(ctx, tx, asked, change); err != nil {
			return err
		}
		if to.HandOver {
			if done.HandedOver, err = handOverDraft(ctx, tx, c, evaluation, done.EvaluationID); err != nil {
				return err
			}
		}
		colleague := int64(0)
		if done.HandedOver {
			colleague = old.ReviewerID
		}
		if done.Handout, err = s.askLate(ctx, tx, c, change, reviewer.id, old.RevieweeID, colleague); err != nil {
			return err
		}
		if err := s.tellWithdrawn(ctx, tx, c, change, old); err != nil {
			return err
		}
		return audit(ctx, tx, by, "evaluation.reassigned", "evaluation", evaluation, map[string]any{
			"cycle": id, "change": change, "reviewee": old.RevieweeID, "kind": old.Kind, "reviewer_before": old.ReviewerID, "reviewer": reviewer.id,
			"evaluation": done.EvaluationID, "revived": done.Revived, "handed_over": done.HandedOver, "reason": to.Reason,
		})
	})
	return done, err
}

// holdEvaluation locks an evaluation of the cycle and reads it, with the names
// of its people.
func holdEvaluation(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, id int64) (e appraisal.Evaluation, names appraisal.Pair, err error) {
	if _, err = tx.Exec(ctx, `
		SELECT FROM evaluations
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND id = @id
		FOR UPDATE`, pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "id": id}); err != nil {
		return e, names, fmt.Errorf("lock evaluation %d: %w", id, err)
	}
	if names, err = readPair(ctx, tx, c.TenantID, c.ID, id); err != nil {
		return e, names, err
	}
	err = tx.QueryRow(ctx, `
		SELECT id, tenant_id, cycle_id, reviewee_id, reviewer_id, kind, state, started_at, submitted_at
		FROM evaluations
		WHERE tenant_id = @tenant
		  AND id = @id`, pgx.NamedArgs{"tenant": c.TenantID, "id": id}).
		Scan(&e.ID, &e.TenantID, &e.CycleID, &e.RevieweeID, &e.ReviewerID, &e.Kind, &e.State, &e.StartedAt, &e.SubmittedAt)
	if err != nil {
		return e, names, fmt.Errorf("read evaluation %d: %w", id, err)
	}
	if e.SubmittedAt != nil {
		at := e.SubmittedAt.In(c.Due().Location())
		e.SubmittedAt = &at
	}
	return e, names, nil
}

// callOff cancels one evaluation by a change; its text stays.
func callOff(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, evaluation int64, why string, change int64) error {
	if _, err := tx.Exec(ctx, `
		UPDATE evaluations
		SET state = 'cancelled', state_reason = @why, roster_change_id = @change
		WHERE tenant_id = @tenant
		  AND id = @id`, pgx.NamedArgs{"tenant": c.TenantID, "id": evaluation, "why": why, "change": change}); err != nil {
		return fmt.Errorf("cancel evaluation %d: %w", evaluation, err)
	}
	return nil
}

// openEvaluation asks for an evaluation that a change brings in: a new one, or
// one that had been cancelled before, which comes back with its text.
func openEvaluation(ctx context.Context, tx pgx.Tx, e appraisal.Evaluation, change int64) (id int64, revived bool, err error) {
	args := pgx.NamedArgs{"tenant": e.TenantID, "cycle": e.CycleID, "reviewee": e.RevieweeID, "reviewer": e.ReviewerID, "kind": e.Kind, "change": change}
	err = tx.QueryRow(ctx, `
		UPDATE evaluations
		SET state = CASE WHEN started_at IS NULL THEN 'pending' ELSE 'in_progress' END, state_reason = NULL, roster_change_id = @change
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND reviewee_id = @reviewee
		  AND reviewer_id = @reviewer
		  AND kind = @kind
		  AND state = 'cancelled'
		RETURNING id`, args).Scan(&id)
	if err == nil {
		return id, true, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return 0, false, fmt.Errorf("revive an evaluation of cycle %d: %w", e.CycleID, err)
	}
	err = tx.QueryRow(ctx, `
		INSERT INTO evaluations (tenant_id, cycle_id, reviewee_id, reviewer_id, kind, source, state, roster_change_id)
		VALUES (@tenant, @cycle, @reviewee, @reviewer, @kind, 'page', 'pending', @change)
		RETURNING id`, args).Scan(&id)
	if err != nil {
		return 0, false, fmt.Errorf("ask for an evaluation of cycle %d: %w", e.CycleID, err)
	}
	return id, false, nil
}

// handOverDraft copies a draft to who goes on with it, unless they have a text
// of their own.
func handOverDraft(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, from, to int64) (bool, error) {
	tag, err := tx.Exec(ctx, `
		WITH copied AS (
			INSERT INTO answers (evaluation_id, tenant_id, content)
			SELECT @to::bigint, a.tenant_id, a.content
			FROM answers a
			WHERE a.tenant_id = @tenant
			  AND a.evaluation_id = @from
			ON CONFLICT (evaluation_id) DO NOTHING
			RETURNING evaluation_id
		)
		UPDATE evaluations e
		SET state = 'in_progress', started_at = coalesce(e.started_at, now())
		FROM copied
		WHERE e.tenant_id = @tenant
		  AND e.id = copied.evaluation_id`, pgx.NamedArgs{"tenant": c.TenantID, "from": from, "to": to})
	if err != nil {
		return false, fmt.Errorf("hand the draft of evaluation %d over: %w", from, err)
	}
	return tag.RowsAffected() == 1, nil
}

// askLate owes a reviewer the message that one more review is theirs, by mail
// or on paper. Who was never asked in this cycle finds their link in it, or gets
// a slip as the others have.
func (s *Store) askLate(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, change, reviewer, reviewee, colleague int64) (handout bool, err error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload)
		SELECT p.tenant_id, @handout, @kind, @cycle, jsonb_build_object('reviewer_id', p.id, 'cycle_id', @cycle::bigint, 'evaluations', 1)
		FROM people p
		WHERE p.tenant_id = @tenant
		  AND p.id = @reviewer
		  AND p.email IS NULL
		ON CONFLICT (tenant_id, event_type, aggregate_id, (payload ->> 'reviewer_id')) WHERE event_type = 'evaluation.assigned' DO NOTHING`,
		pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "reviewer": reviewer, "kind": outbox.EvaluationAssigned, "handout": outbox.QueueHandout})
	if err != nil {
		return false, fmt.Errorf("owe person %d a slip: %w", reviewer, err)
	}
	if tag.RowsAffected() == 1 {
		return true, nil
	}
	var queue string
	err = tx.QueryRow(ctx, `
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, traceparent)
		SELECT p.tenant_id, CASE WHEN p.email IS NULL THEN @handout ELSE @mail END, @kind, @change,
		       jsonb_strip_nulls(jsonb_build_object('reviewer_id', p.id, 'cycle_id', @cycle::bigint, 'reviewee_id', @reviewee::bigint,
		           'colleague_id', nullif(@colleague::bigint, 0), 'evaluations', 1)),
		       nullif(@traceparent, '')
		FROM people p
		WHERE p.tenant_id = @tenant
		  AND p.id = @reviewer
		RETURNING queue`,
		pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "change": change, "reviewer": reviewer, "reviewee": reviewee, "colleague": colleague,
			"kind": outbox.EvaluationReassigned, "mail": outbox.QueueOf(outbox.EvaluationReassigned), "handout": outbox.QueueHandout,
			"traceparent": traceparent(ctx)}).Scan(&queue)
	if err != nil {
		return false, fmt.Errorf("ask person %d for a review: %w", reviewer, err)
	}
	if queue == outbox.QueueHandout {
		return true, nil
	}
	return false, s.dispatch(ctx, tx, c.TenantID, queue, 1)
}

// tellWithdrawn owes the old reviewer the message that a review is not theirs
// any more, if a mail can reach them.
func (s *Store) tellWithdrawn(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, change int64, old appraisal.Evaluation) error {
	tag, err := tx.Exec(ctx, `
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, traceparent)
		SELECT p.tenant_id, @mail, @kind, @change,
		       jsonb_build_object('reviewer_id', p.id, 'cycle_id', @cycle::bigint, 'reviewee_id', @reviewee::bigint), nullif(@traceparent, '')
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		WHERE p.tenant_id = @tenant
		  AND p.id = @reviewer
		  AND p.email IS NOT NULL
		  AND NOT has_left(p.left_on, t.zone)`,
		pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "change": change, "reviewer": old.ReviewerID, "reviewee": old.RevieweeID,
			"kind": outbox.EvaluationWithdrawn, "mail": outbox.QueueOf(outbox.EvaluationWithdrawn), "traceparent": traceparent(ctx)})
	if err != nil {
		return fmt.Errorf("tell person %d that a review is withdrawn: %w", old.ReviewerID, err)
	}
	return s.dispatch(ctx, tx, c.TenantID, outbox.QueueOf(outbox.EvaluationWithdrawn), int(tag.RowsAffected()))
}

// CallOffEvaluation cancels one evaluation of a running cycle, with a reason:
// nobody will be asked for it. Its text stays, and it can be revived by adding
// the pair again. The reviewer is told.
func (s *Store) CallOffEvaluation(ctx context.Context, by policy.Actor, id, evaluation int64, reason string) (names appraisal.Pair, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := openChange(ctx, tx, by, id)
		if err != nil {
			return err
		}
		var e appraisal.Evaluation
		if e, names, err = holdEvaluation(ctx, tx, c, evaluation); err != nil {
			return err
		}
		if err := e.CallOff(); err != nil {
			return err
		}
		if reason == "" {
			return fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("calloff.reason_required")})
		}
		change, err := nameChange(ctx, tx, by, id, "cancel", reason)
		if err != nil {
			return err
		}
		if err := callOff(ctx, tx, c, evaluation, appraisal.ReasonCalledOff, change); err != nil {
			return err
		}
		if err := s.tellWithdrawn(ctx, tx, c, change, e); err != nil {
			return err
		}
		return audit(ctx, tx, by, "evaluation.called_off", "evaluation", evaluation, map[string]any{
			"cycle": id, "change": change, "reviewee": e.RevieweeID, "reviewer": e.ReviewerID, "kind": e.Kind, "reason": reason})
	})
	return names, err
}

// AddLateJoiner puts one pair into the roster of a running cycle, as a named
// change, and asks its reviewer. Their deadline must still be ahead.
func (s *Store) AddLateJoiner(ctx context.Context, by policy.Actor, id int64, p NewPair, reason string) (added appraisal.Pair, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, now, err := openChange(ctx, tx, by, id)
		if err != nil {
			return err
		}
		if added, err = findPair(ctx, tx, by, c, p); err != nil {
			return err
		}
		if theirs, _, err := readCycleFor(ctx, tx, by.TenantID, id, added.ReviewerID); err != nil {
			return err
		} else if !theirs.DueAt.After(now) {
			return fault.Conflictf("joiner.too_late", "when", theirs.Due())
		}
		var out *string
		err = tx.QueryRow(ctx, `
			INSERT INTO participants (tenant_id, cycle_id, person_id, source)
			VALUES (@tenant, @cycle, @person, 'page')
			ON CONFLICT (tenant_id, cycle_id, person_id) DO UPDATE SET source = participants.source
			RETURNING exclusion_reason`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "person": added.RevieweeID}).Scan(&out)
		if err != nil {
			return fmt.Errorf("add participant %d: %w", added.RevieweeID, err)
		}
		if out != nil {
			return fault.Fieldsf(map[string]fault.Message{"reviewee": fault.Msg("roster.person_is_out", "person", added.Reviewee, "reason", *out)})
		}
		change, err := nameChange(ctx, tx, by, id, "late_joiner", reason)
		if err != nil {
			return err
		}
		e := appraisal.Evaluation{TenantID: by.TenantID, CycleID: id, RevieweeID: added.RevieweeID, ReviewerID: added.ReviewerID, Kind: p.Kind}
		if added.ID, _, err = openEvaluation(ctx, tx, e, change); err != nil {
			return err
		}
		if _, err := s.askLate(ctx, tx, c, change, added.ReviewerID, added.RevieweeID, 0); err != nil {
			return err
		}
		return audit(ctx, tx, by, "roster.late_joiner", "cycle", id, map[string]any{
			"change": change, "evaluation": added.ID, "reviewee": added.RevieweeID, "reviewer": added.ReviewerID, "kind": p.Kind, "reason": reason})
	})
	return added, err
}

// Reassignable reads one evaluation of a running cycle for the page that asks
// who takes it over, and whether there is a draft to hand over.
func (s *Store) Reassignable(ctx context.Context, by policy.Actor, id, evaluation int64) (head appraisal.CycleHead, p appraisal.Pair, draft bool, err error) {
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
		if p, err = readPair(ctx, tx, by.TenantID, id, evaluation); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			SELECT e.state, EXISTS (SELECT FROM answers a WHERE a.tenant_id = e.tenant_id AND a.evaluation_id = e.id)
			FROM evaluations e
			WHERE e.tenant_id = @tenant
			  AND e.id = @id`, pgx.NamedArgs{"tenant": by.TenantID, "id": evaluation}).Scan(&p.State, &draft)
		if err != nil {
			return fmt.Errorf("read evaluation %d: %w", evaluation, err)
		}
		return nil
	})
	return head, p, draft, err
}

// Decisions lists the open evaluations of a running cycle that cannot go on as
// they are, because who writes them or whom they are about has left.
func (s *Store) Decisions(ctx context.Context, by policy.Actor, id int64) (head appraisal.CycleHead, list []appraisal.Decision, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT e.id, e.kind, e.state,
			       reviewee.id, reviewee.name, reviewee.code, CASE WHEN has_left(reviewee.left_on, @zone) THEN reviewee.left_on END,
			       reviewer.id, reviewer.name, reviewer.code, CASE WHEN has_left(reviewer.left_on, @zone) THEN reviewer.left_on END,
			       -- not EXISTS, for which the planner would hash the answers of every cycle
			       coalesce((SELECT true FROM answers a WHERE a.tenant_id = e.tenant_id AND a.evaluation_id = e.id), false)
			FROM evaluations e
			JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
			JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND e.state IN ('pending', 'in_progress', 'reopened')
			  AND (has_left(reviewee.left_on, @zone) OR has_left(reviewer.left_on, @zone))
			ORDER BY reviewee.name COLLATE "pt-BR-x-icu", reviewer.name COLLATE "pt-BR-x-icu", e.id`,
			pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "zone": head.DueZone})
		if err != nil {
			return fmt.Errorf("list decisions of cycle %d: %w", id, err)
		}
		if list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.Decision]); err != nil {
			return fmt.Errorf("list decisions of cycle %d: %w", id, err)
		}
		return nil
	})
	return head, list, err
}
