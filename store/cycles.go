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
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// lockCycle holds a cycle's row and then reads it, so that two people pressing
// Activate at once are served one after the other. NO KEY lets the outbox's
// foreign keys in. The lock is a statement of its own: a joined name would be
// read from the snapshot of before the wait. The time is the database's.
func lockCycle(ctx context.Context, tx pgx.Tx, tenant, id int64) (appraisal.Cycle, time.Time, error) {
	if _, err := tx.Exec(ctx, `
		SELECT FROM cycles
		WHERE tenant_id = @tenant
		  AND id = @id
		FOR NO KEY UPDATE`, pgx.NamedArgs{"tenant": tenant, "id": id}); err != nil {
		return appraisal.Cycle{}, time.Time{}, fmt.Errorf("lock cycle %d: %w", id, err)
	}
	return readCycle(ctx, tx, tenant, id)
}

// shareCycle keeps a cycle from being activated, closed or cancelled until the
// transaction ends, and reads it; others may share it.
func shareCycle(ctx context.Context, tx pgx.Tx, tenant, id int64) (appraisal.Cycle, time.Time, error) {
	if _, err := tx.Exec(ctx, `
		SELECT FROM cycles
		WHERE tenant_id = @tenant
		  AND id = @id
		FOR SHARE`, pgx.NamedArgs{"tenant": tenant, "id": id}); err != nil {
		return appraisal.Cycle{}, time.Time{}, fmt.Errorf("share cycle %d: %w", id, err)
	}
	return readCycle(ctx, tx, tenant, id)
}

// readCycle reads a cycle and the database's time, or answers NotFound.
func readCycle(ctx context.Context, tx pgx.Tx, tenant, id int64) (appraisal.Cycle, time.Time, error) {
	return readCycleFor(ctx, tx, tenant, id, 0)
}

// readCycleFor is readCycle as one reviewer meets it: due when their own
// deadline is, which may have been extended for them alone.
func readCycleFor(ctx context.Context, tx pgx.Tx, tenant, id, reviewer int64) (c appraisal.Cycle, now time.Time, err error) {
	var grace int
	err = tx.QueryRow(ctx, `
		SELECT c.id, c.tenant_id, c.name, c.state, c.form_version_id, deadline_of(c.tenant_id, c.id, @reviewer), c.due_zone, c.grace_minutes,
		       c.reminds, coalesce(c.contact_email, ''), c.owner_id, c.created_at,
		       c.activated_at, coalesce(activator.name, ''), c.closed_at, coalesce(closer.name, ''),
		       c.cancelled_at, coalesce(canceller.name, ''), coalesce(c.cancel_reason, ''), now()
		FROM cycles c
		LEFT JOIN people activator ON activator.tenant_id = c.tenant_id AND activator.id = c.activated_by
		LEFT JOIN people closer ON closer.tenant_id = c.tenant_id AND closer.id = c.closed_by
		LEFT JOIN people canceller ON canceller.tenant_id = c.tenant_id AND canceller.id = c.cancelled_by
		WHERE c.tenant_id = @tenant
		  AND c.id = @id`, pgx.NamedArgs{"tenant": tenant, "id": id, "reviewer": reviewer}).
		Scan(&c.ID, &c.TenantID, &c.Name, &c.State, &c.FormVersionID, &c.DueAt, &c.DueZone, &grace,
			&c.Reminds, &c.ContactEmail, &c.OwnerID, &c.CreatedAt, &c.ActivatedAt, &c.ActivatedBy, &c.ClosedAt, &c.ClosedBy,
			&c.CancelledAt, &c.CancelledBy, &c.CancelReason, &now)
	c.Grace = time.Duration(grace) * time.Minute
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = fault.NotFoundf("fault.not_found")
	case err != nil:
		err = fmt.Errorf("read cycle %d: %w", id, err)
	}
	return c, now, err
}

// ofCycle is the object that policy decides about.
func ofCycle(c appraisal.Cycle) policy.Object {
	return policy.Object{TenantID: c.TenantID, CycleID: c.ID, OwnerID: c.OwnerID}
}

// readRule reads the roster rule a cycle keeps.
func readRule(ctx context.Context, tx pgx.Tx, tenant, cycle int64) (rule appraisal.Rule, err error) {
	err = tx.QueryRow(ctx, `
		SELECT rule
		FROM cycles
		WHERE tenant_id = @tenant
		  AND id = @cycle`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle}).Scan(&rule)
	if err != nil {
		return rule, fmt.Errorf("read the rule of cycle %d: %w", cycle, err)
	}
	return rule, nil
}

// CycleTerms are what the page that creates or edits a cycle starts from.
type CycleTerms struct {
	appraisal.Terms
	CycleID int64 // nought for a new one
	Forms   []appraisal.FormChoice
	Now     time.Time
	Contact string // the organisation's, used when the cycle names none
}

// NewCycle answers the forms a cycle can use, and the organisation's zone and contact.
func (s *Store) NewCycle(ctx context.Context, by policy.Actor) (t CycleTerms, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.EditCycle, policy.Of(by)); err != nil {
			return err
		}
		t.Grace, t.Reminds = 15*time.Minute, true
		return readCycleChoices(ctx, tx, by.TenantID, &t)
	})
	return t, err
}

// CycleTerms answers what a draft is set up with, for editing.
func (s *Store) CycleTerms(ctx context.Context, by policy.Actor, id int64) (t CycleTerms, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := readCycle(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := policy.Can(by, policy.EditCycle, ofCycle(c)); err != nil {
			return err
		}
		if err := c.Edit(); err != nil {
			return err
		}
		if err := readCycleChoices(ctx, tx, by.TenantID, &t); err != nil {
			return err
		}
		t.CycleID = id
		t.Terms = appraisal.Terms{Name: c.Name, FormVersionID: c.FormVersionID, DueAt: c.DueAt, DueZone: c.DueZone, Grace: c.Grace, Reminds: c.Reminds, ContactEmail: c.ContactEmail}
		return nil
	})
	return t, err
}

// readCycleChoices fills in the latest version of each form and the organisation's defaults.
func readCycleChoices(ctx context.Context, tx pgx.Tx, tenant int64, t *CycleTerms) error {
	err := tx.QueryRow(ctx, `
		SELECT zone, coalesce(contact_email, ''), now()
		FROM tenants
		WHERE id = @tenant`, pgx.NamedArgs{"tenant": tenant}).Scan(&t.DueZone, &t.Contact, &t.Now)
	if err != nil {
		return fmt.Errorf("read organisation %d: %w", tenant, err)
	}
	rows, err := tx.Query(ctx, `
		SELECT DISTINCT ON (f.id) v.id, f.code, v.number, coalesce(v.content -> 'title', '{}')
		FROM forms f
		JOIN form_versions v ON v.tenant_id = f.tenant_id AND v.form_id = f.id
		WHERE f.tenant_id = @tenant
		ORDER BY f.id, v.number DESC`, pgx.NamedArgs{"tenant": tenant})
	if err != nil {
		return fmt.Errorf("list forms of organisation %d: %w", tenant, err)
	}
	t.Forms, err = pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.FormChoice])
	if err != nil {
		return fmt.Errorf("list forms of organisation %d: %w", tenant, err)
	}
	return nil
}

// CreateCycle starts a draft on these terms; its owner is who creates it.
func (s *Store) CreateCycle(ctx context.Context, by policy.Actor, t appraisal.Terms) (id int64, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.EditCycle, policy.Of(by)); err != nil {
			return err
		}
		now, err := databaseNow(ctx, tx)
		if err != nil {
			return err
		}
		if err := checkTerms(ctx, tx, t, now); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `
			INSERT INTO cycles (tenant_id, name, form_version_id, due_at, due_zone, grace_minutes, reminds, contact_email, owner_id)
			VALUES (@tenant, @name, @form, @due, @zone, @grace, @reminds, nullif(@contact, ''), @owner)
			RETURNING id`, termArgs(by, 0, t)).Scan(&id)
		if err != nil {
			return fmt.Errorf("create cycle: %w", err)
		}
		return audit(ctx, tx, by, "cycle.created", "cycle", id, map[string]any{"name": t.Name, "due": t.DueAt})
	})
	return id, err
}

// ChangeCycle gives a draft other terms; a cycle that has started keeps its own.
func (s *Store) ChangeCycle(ctx context.Context, by policy.Actor, id int64, t appraisal.Terms) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		c, now, err := lockCycle(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := policy.Can(by, policy.EditCycle, ofCycle(c)); err != nil {
			return err
		}
		if err := c.Edit(); err != nil {
			return err
		}
		if err := checkTerms(ctx, tx, t, now); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE cycles
			SET name = @name, form_version_id = @form, due_at = @due, due_zone = @zone, grace_minutes = @grace, reminds = @reminds,
			    contact_email = nullif(@contact, ''), updated_at = now()
			WHERE tenant_id = @tenant
			  AND id = @id`, termArgs(by, id, t))
		if err != nil {
			return fmt.Errorf("change cycle %d: %w", id, err)
		}
		return audit(ctx, tx, by, "cycle.changed", "cycle", id, map[string]any{
			"name": t.Name, "due": t.DueAt, "name_before": c.Name, "due_before": c.DueAt,
		})
	})
}

func checkTerms(ctx context.Context, tx pgx.Tx, t appraisal.Terms, now time.Time) error {
	if err := t.Check(now); err != nil {
		return err
	}
	return checkZone(ctx, tx, t.DueZone, fault.Fieldsf(map[string]fault.Message{"zone": fault.Msg("cycle.zone_unknown")}))
}

func termArgs(by policy.Actor, id int64, t appraisal.Terms) pgx.NamedArgs {
	return pgx.NamedArgs{"tenant": by.TenantID, "id": id, "name": t.Name, "form": t.FormVersionID, "due": t.DueAt, "zone": t.DueZone,
		"grace": int(t.Grace / time.Minute), "reminds": t.Reminds, "contact": t.ContactEmail, "owner": by.PersonID}
}

// Page is where a list stands: how it is narrowed, ordered and cut.
type Page struct {
	Q      string
	Sort   string // a column, with a leading - for descending
	Offset int
	Limit  int
}

// CycleQuery narrows the list of cycles.
type CycleQuery struct {
	Page
	State appraisal.CycleState // empty means all
}

// Cycles lists the organisation's cycles.
func (s *Store) Cycles(ctx context.Context, by policy.Actor, q CycleQuery) (list []appraisal.CycleRow, total int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.SeeCyclePart, policy.Of(by)); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "state": string(q.State), "words": searchWords(q.Q), "sort": q.Sort, "limit": q.Limit, "offset": q.Offset}
		covered(by, args)
		err := tx.QueryRow(ctx, `
			SELECT count(*)
			FROM cycles
			WHERE tenant_id = @tenant
			  AND (@state = '' OR state = @state)
			  AND fold(name) LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))`, args).Scan(&total)
		if err != nil {
			return fmt.Errorf("count cycles: %w", err)
		}
		rows, err := tx.Query(ctx, `
			WITH page AS (
				SELECT tenant_id, id, name, state, due_at, due_zone,
				       row_number() OVER (ORDER BY
				           CASE WHEN @sort = 'name' THEN name END COLLATE "pt-BR-x-icu",
				           CASE WHEN @sort = '-name' THEN name END COLLATE "pt-BR-x-icu" DESC,
				           CASE WHEN @sort = 'due' THEN due_at END,
				           CASE WHEN @sort = '-due' THEN due_at END DESC,
				           array_position(ARRAY['active', 'draft', 'closed', 'cancelled'], state), due_at DESC, id DESC) AS place
				FROM cycles
				WHERE tenant_id = @tenant
				  AND (@state = '' OR state = @state)
				  AND fold(name) LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
				ORDER BY place
				LIMIT @limit OFFSET @offset
			)
			SELECT page.id, page.name, page.state, page.due_at, page.due_zone,
			       (SELECT count(*)
			        FROM participants p
			        WHERE p.tenant_id = page.tenant_id AND p.cycle_id = page.id AND p.excluded_at IS NULL
			          AND (@units::text[] IS NULL OR EXISTS (
			            SELECT FROM people r
			            WHERE r.tenant_id = @tenant AND r.id = p.person_id
			              AND is_covered(r.unit, r.department, r.manager_id, @units, @departments, @team_of)))),
			       sums.pairs, sums.submitted,
			       (SELECT count(*) FROM outbox_events o WHERE o.tenant_id = page.tenant_id AND o.cycle_id = page.id AND o.status = 'failed' AND @units::text[] IS NULL)
			FROM page
			CROSS JOIN LATERAL (
				SELECT count(*) AS pairs, count(*) FILTER (WHERE e.state = 'submitted') AS submitted
				FROM evaluations e
				WHERE e.tenant_id = page.tenant_id
				  AND e.cycle_id = page.id
				  AND (@units::text[] IS NULL OR EXISTS (
				    SELECT FROM people r
				    WHERE r.tenant_id = @tenant AND r.id = e.reviewee_id
				      AND is_covered(r.unit, r.department, r.manager_id, @units, @departments, @team_of)))
				  AND (e.state_reason IS NULL OR e.state_reason NOT IN ('reassigned', 'called_off'))
			) sums
			ORDER BY page.place`, args)
		if err != nil {
			return fmt.Errorf("list cycles: %w", err)
		}
		if list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.CycleRow]); err != nil {
			return fmt.Errorf("list cycles: %w", err)
		}
		return nil
	})
	return list, total, err
}

// searchWords are the patterns a text must match, every one: so "joão
// montenegro" finds João Guilherme Albuquerque de Souza Montenegro. The
// database folds them, as it folds what they are compared to.
func searchWords(q string) []string {
	words := strings.Fields(q)
	for i, w := range words {
		words[i] = "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(w) + "%"
	}
	return words
}

// CyclePart is Cycle for who may see a part of it: its counts are of that part.
func (s *Store) CyclePart(ctx context.Context, by policy.Actor, id int64) (head appraisal.CycleHead, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		head, err = readHeadPart(ctx, tx, by, id)
		return err
	})
	return head, err
}

// Cycle answers what stands on top of every page of a cycle.
func (s *Store) Cycle(ctx context.Context, by policy.Actor, id int64) (head appraisal.CycleHead, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		head, err = readHead(ctx, tx, by, id)
		return err
	})
	return head, err
}

// readHead reads a cycle for someone who may see it.
func readHead(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) (appraisal.CycleHead, error) {
	return readHeadFor(ctx, tx, by, id, policy.SeeCycles)
}

// readHeadPart reads it for who may see a part: the rows about people in scope.
func readHeadPart(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) (appraisal.CycleHead, error) {
	return readHeadFor(ctx, tx, by, id, policy.SeeCyclePart)
}

func readHeadFor(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64, act policy.Act) (h appraisal.CycleHead, err error) {
	if h.Cycle, h.Now, err = readCycle(ctx, tx, by.TenantID, id); err != nil {
		return h, err
	}
	if err := policy.Can(by, act, ofCycle(h.Cycle)); err != nil {
		return h, err
	}
	args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "form": h.FormVersionID, "contact": noneIfEmpty(h.ContactEmail)}
	covered(by, args)
	err = tx.QueryRow(ctx, `
		SELECT v.id, f.code, v.number, coalesce(v.content -> 'title', '{}'), coalesce(@contact, t.contact_email, ''),
		       sums.pairs, sums.reviewers, sums.submitted, people.taking_part, people.excluded,
		       (SELECT count(*) FROM outbox_events o WHERE o.tenant_id = @tenant AND o.cycle_id = @cycle AND o.status = 'failed' AND @units::text[] IS NULL)
		FROM form_versions v
		JOIN forms f ON f.tenant_id = v.tenant_id AND f.id = v.form_id
		JOIN tenants t ON t.id = v.tenant_id
		CROSS JOIN (
			SELECT count(*) AS pairs, count(DISTINCT reviewer_id) AS reviewers, count(*) FILTER (WHERE state = 'submitted') AS submitted
			FROM evaluations
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND (state_reason IS NULL OR state_reason NOT IN ('reassigned', 'called_off'))
			  AND (@units::text[] IS NULL OR EXISTS (
			    SELECT FROM people r
			    WHERE r.tenant_id = @tenant AND r.id = reviewee_id
			      AND is_covered(r.unit, r.department, r.manager_id, @units, @departments, @team_of)))
		) sums
		CROSS JOIN (
			SELECT count(*) FILTER (WHERE excluded_at IS NULL) AS taking_part, count(*) FILTER (WHERE excluded_at IS NOT NULL) AS excluded
			FROM participants
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND (@units::text[] IS NULL OR EXISTS (
			    SELECT FROM people r
			    WHERE r.tenant_id = @tenant AND r.id = person_id
			      AND is_covered(r.unit, r.department, r.manager_id, @units, @departments, @team_of)))
		) people
		WHERE v.tenant_id = @tenant
		  AND v.id = @form`, args).
		Scan(&h.Form.VersionID, &h.Form.Code, &h.Form.Number, &h.Form.Title, &h.Contact,
			&h.Pairs, &h.Reviewers, &h.Submitted, &h.Participants, &h.Excluded, &h.Failed)
	if err != nil {
		return h, fmt.Errorf("read the head of cycle %d: %w", id, err)
	}
	if h.State == appraisal.CycleDraft && by.Everywhere() { // only who can rehearse is told what stands against it
		blockers, err := rosterBlockers(ctx, tx, h.Cycle)
		if err != nil {
			return h, err
		}
		h.Blockers = len(blockers)
	}
	return h, nil
}

func noneIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// CloseCycle ends an active cycle: what was not submitted expires, and nothing
// more can be. Messages that still wait are cancelled with it. Submissions take
// the cycle's row FOR SHARE, so that closing and submitting cannot cross.
func (s *Store) CloseCycle(ctx context.Context, by policy.Actor, id int64) (expired int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := lockCycle(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := policy.Can(by, policy.CloseCycle, ofCycle(c)); err != nil {
			return err
		}
		if err := c.Close(); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE cycles
			SET state = 'closed', closed_at = now(), closed_by = @actor, updated_at = now()
			WHERE tenant_id = @tenant
			  AND id = @cycle`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "actor": by.PersonID})
		if err != nil {
			return fmt.Errorf("close cycle %d: %w", id, err)
		}
		if expired, err = endEvaluations(ctx, tx, by.TenantID, id, appraisal.Close, ""); err != nil {
			return err
		}
		messages, err := cancelMessages(ctx, tx, by.TenantID, id, outbox.ReasonCycleClosed)
		if err != nil {
			return err
		}
		return audit(ctx, tx, by, "cycle.closed", "cycle", id, map[string]any{"expired": expired, "messages_cancelled": messages})
	})
	return expired, err
}

// CancelCycle calls a draft or active cycle off, with a reason that reviewers
// read: what was not submitted is cancelled, waiting messages with it. Text
// stays where it is, and so does what was submitted.
func (s *Store) CancelCycle(ctx context.Context, by policy.Actor, id int64, reason string) (cancelled int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := lockCycle(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := policy.Can(by, policy.CloseCycle, ofCycle(c)); err != nil {
			return err
		}
		if err := c.Cancel(); err != nil {
			return err
		}
		if err := appraisal.CheckCancelReason(reason); err != nil {
			return err
		}
		if len([]rune(reason)) > maxReason { // it also stands on every message taken back
			return fault.Fieldsf(map[string]fault.Message{"reason": fault.Msg("fault.text_long", "max", maxReason)})
		}
		_, err = tx.Exec(ctx, `
			UPDATE cycles
			SET state = 'cancelled', cancelled_at = now(), cancelled_by = @actor, cancel_reason = @reason, updated_at = now()
			WHERE tenant_id = @tenant
			  AND id = @cycle`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "actor": by.PersonID, "reason": reason})
		if err != nil {
			return fmt.Errorf("cancel cycle %d: %w", id, err)
		}
		if cancelled, err = endEvaluations(ctx, tx, by.TenantID, id, appraisal.CallOff, "cycle_cancelled"); err != nil {
			return err
		}
		messages, err := cancelMessages(ctx, tx, by.TenantID, id, reason)
		if err != nil {
			return err
		}
		told, err := s.tellCancelled(ctx, tx, by.TenantID, id, reason)
		if err != nil {
			return err
		}
		return audit(ctx, tx, by, "cycle.cancelled", "cycle", id, map[string]any{
			"reason": reason, "evaluations": cancelled, "messages_cancelled": messages, "told": told,
		})
	})
	return cancelled, err
}

// tellCancelled owes those who were already asked a message that the cycle was
// called off: whose invitation has left, or is being sent as we speak. Who was
// never asked is told nothing.
func (s *Store) tellCancelled(ctx context.Context, tx pgx.Tx, tenant, cycle int64, reason string) (int, error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, traceparent)
		SELECT p.tenant_id, @mail, @kind, @cycle, jsonb_build_object('reviewer_id', p.id, 'cycle_id', @cycle::bigint, 'reason', @reason::text),
		       nullif(@traceparent, '')
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		WHERE p.tenant_id = @tenant
		  AND p.email IS NOT NULL
		  AND NOT has_left(p.left_on, t.zone)
		  AND p.id IN (
			SELECT o.person_id
			FROM outbox_events o
			WHERE o.tenant_id = @tenant
			  AND o.cycle_id = @cycle
			  AND o.event_type IN ('evaluation.assigned', 'evaluation.reassigned')
			  AND o.status IN ('delivered', 'processing'))
		ORDER BY p.id
		ON CONFLICT DO NOTHING`,
		pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "reason": reason, "kind": outbox.CycleCancelled,
			"mail": outbox.QueueOf(outbox.CycleCancelled), "traceparent": traceparent(ctx)})
	if err != nil {
		return 0, fmt.Errorf("tell reviewers that cycle %d is cancelled: %w", cycle, err)
	}
	n := int(tag.RowsAffected())
	return n, s.dispatch(ctx, tx, tenant, outbox.QueueOf(outbox.CycleCancelled), n)
}

// endEvaluations moves every evaluation that the act ends to where the act
// leads, by the table of evaluation lives.
func endEvaluations(ctx context.Context, tx pgx.Tx, tenant, cycle int64, act appraisal.Act, reason string) (int, error) {
	var from []string
	var to appraisal.State
	for _, state := range appraisal.States {
		if next, err := appraisal.EvaluationLife.Next(state, act); err == nil {
			from, to = append(from, string(state)), next
		}
	}
	tag, err := tx.Exec(ctx, `
		UPDATE evaluations
		SET state = @to, state_reason = nullif(@reason, '')
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND state = ANY (@from)`,
		pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "to": to, "reason": reason, "from": from})
	if err != nil {
		return 0, fmt.Errorf("end evaluations of cycle %d: %w", cycle, err)
	}
	return int(tag.RowsAffected()), nil
}

// cancelMessages takes the cycle's waiting messages back; the reason is what HR
// typed, or a key of the catalogue. One that is being
// sent is asked to stop, which is honoured until it leaves.
func cancelMessages(ctx context.Context, tx pgx.Tx, tenant, cycle int64, reason string) (int, error) {
	tag, err := tx.Exec(ctx, `
		UPDATE outbox_events
		SET status = CASE WHEN status = 'pending' THEN 'cancelled' ELSE status END,
		    cancel_requested = cancel_requested OR status = 'processing',
		    status_reason = @reason, updated_at = now()
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND status IN ('pending', 'processing')`,
		pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "reason": reason})
	if err != nil {
		return 0, fmt.Errorf("cancel messages of cycle %d: %w", cycle, err)
	}
	return int(tag.RowsAffected()), nil
}
