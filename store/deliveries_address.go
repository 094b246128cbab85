package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/intake"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// CorrectAddress puts the right address on the person's record and sends the
// message again, in one transaction: due now, with five more attempts. Links
// that may have reached the old address stop working, with the sessions they
// opened, and the relay makes a new one; a link of which every attempt was
// refused has been seen by nobody and stays. A hand-out goes by mail from here.
//
// An address that is not new leaves the record and the links as they are, and
// sends again only what is stopped: the same form sent twice changes nothing.
func (s *Store) CorrectAddress(ctx context.Context, by policy.Actor, id int64, email string) (c outbox.Correction, err error) {
	email = strings.TrimSpace(email)
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		m, err := lockMessage(ctx, tx, by, id)
		if err != nil {
			return err
		}
		c = outbox.Correction{Person: m.Person, Changed: !strings.EqualFold(m.Email, email)}
		if err := checkCorrection(ctx, tx, by, m, email, c.Changed); err != nil {
			return err
		}
		if c.Changed {
			if c.NewLink, err = changeAddress(ctx, tx, by, m, email); err != nil {
				return err
			}
		}
		return s.sendTo(ctx, tx, by, m, email, c)
	})
	if f := fault.As(err); f != nil && f.Key == "person.email_taken" {
		return c, s.addressTaken(ctx, by, email, err)
	}
	return c, err
}

// arrivedLinks lists the cycles whose live link to the person may have reached
// somebody: it was opened, its message was accepted, is being sent, or an
// attempt since it was made ended without an answer. A refusal, for good or for
// now, proves that nobody has it.
func arrivedLinks(ctx context.Context, tx pgx.Tx, tenant, person int64) ([]int64, error) {
	rows, err := tx.Query(ctx, `
		SELECT l.cycle_id
		FROM review_links l
		WHERE l.tenant_id = @tenant
		  AND l.person_id = @person
		  AND l.revoked_at IS NULL
		  AND (l.opened_at IS NOT NULL
		    OR EXISTS (
			SELECT FROM outbox_events e
			WHERE e.tenant_id = l.tenant_id
			  AND e.cycle_id = l.cycle_id
			  AND e.person_id = l.person_id
			  AND (e.status = 'processing'
			    OR e.status = 'delivered' AND e.delivered_at >= l.created_at
			    OR EXISTS (
				SELECT FROM delivery_attempts a
				WHERE a.tenant_id = e.tenant_id
				  AND a.event_id = e.id
				  AND a.class IN ('unknown', 'lost')
				  AND a.at >= l.created_at))))`,
		pgx.NamedArgs{"tenant": tenant, "person": person})
	if err != nil {
		return nil, fmt.Errorf("find links of person %d that may have arrived: %w", person, err)
	}
	cycles, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("find links of person %d that may have arrived: %w", person, err)
	}
	return cycles, nil
}

// checkCorrection refuses a correction that cannot be: the message is in no
// state for it, the address is none, or it signs somebody in whom the actor may
// not take over.
func checkCorrection(ctx context.Context, tx pgx.Tx, by policy.Actor, m outbox.MessageDetail, email string, changed bool) error {
	switch {
	case m.Status == outbox.Processing:
		return fault.Conflictf("message.being_sent")
	case !m.CanCorrect():
		return fault.Conflictf("message.not_correctable", "state", fault.Msg("message.state."+string(m.State())))
	}
	if email == "" {
		return fault.Fieldsf(map[string]fault.Message{"email": fault.Msg("fault.required")})
	}
	if why, ok := intake.CheckEmail(email); !ok {
		return fault.Fieldsf(map[string]fault.Message{"email": fault.Msg("message.address_wrong", "typed", email, "why", why)})
	}
	switch {
	case changed:
	case m.Status == outbox.Delivered && m.DeliveredAt != nil:
		return fault.Fieldsf(map[string]fault.Message{"email": fault.Msg("message.address_same", "when", *m.DeliveredAt)})
	case m.Status == outbox.Pending && !m.Handout(): // the form was sent twice
		return notFailed(m)
	default:
		return nil
	}
	if by.Is(policy.Admin) || by.PersonID == m.PersonID {
		return nil
	}
	var holdsRole bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM grants
			WHERE tenant_id = @tenant
			  AND person_id = @person)`, pgx.NamedArgs{"tenant": by.TenantID, "person": m.PersonID}).Scan(&holdsRole)
	if err != nil {
		return fmt.Errorf("read the roles of person %d: %w", m.PersonID, err)
	}
	if holdsRole {
		return fault.Fieldsf(map[string]fault.Message{"email": fault.Msg("message.address_of_role_holder")})
	}
	return nil
}

// changeAddress corrects the person's record and takes back every live link
// that may have reached the old address; newLink is for the message's cycle.
func changeAddress(ctx context.Context, tx pgx.Tx, by policy.Actor, m outbox.MessageDetail, email string) (newLink bool, err error) {
	if _, err := tx.Exec(ctx, `
		UPDATE people
		SET email = @email, updated_at = now()
		WHERE tenant_id = @tenant
		  AND id = @person`,
		pgx.NamedArgs{"tenant": by.TenantID, "person": m.PersonID, "email": email}); err != nil {
		return false, fmt.Errorf("correct the address of person %d: %w", m.PersonID, err)
	}
	cycles, err := arrivedLinks(ctx, tx, by.TenantID, m.PersonID)
	if err != nil {
		return false, err
	}
	for _, cycle := range cycles {
		newLink = newLink || cycle == m.CycleID
	}
	if _, err := tx.Exec(ctx, `
		WITH ended AS (
			DELETE FROM sessions
			WHERE tenant_id = @tenant
			  AND person_id = @person
			  AND cycle_id = ANY (@cycles)
		)
		UPDATE review_links
		SET revoked_at = now()
		WHERE tenant_id = @tenant
		  AND person_id = @person
		  AND cycle_id = ANY (@cycles)
		  AND revoked_at IS NULL`,
		pgx.NamedArgs{"tenant": by.TenantID, "person": m.PersonID, "cycles": cycles}); err != nil {
		return false, fmt.Errorf("take back the links of person %d: %w", m.PersonID, err)
	}
	return newLink, audit(ctx, tx, by, "person.address_corrected", "person", m.PersonID,
		map[string]any{"old": m.Email, "new": email, "message": m.ID, "links_revoked": len(cycles)})
}

// sendTo makes the message due now by mail, with five more attempts.
func (s *Store) sendTo(ctx context.Context, tx pgx.Tx, by policy.Actor, m outbox.MessageDetail, email string, c outbox.Correction) error {
	var queue string
	err := tx.QueryRow(ctx, `
		UPDATE outbox_events
		SET status = 'pending', queue = CASE WHEN queue = @handout THEN @mail ELSE queue END, max_attempts = attempts + @grant,
		    available_at = now(), cancel_requested = false, status_reason = NULL, delivered_at = NULL, updated_at = now()
		WHERE tenant_id = @tenant
		  AND id = @id
		RETURNING queue`,
		pgx.NamedArgs{"tenant": by.TenantID, "id": m.ID, "handout": outbox.QueueHandout, "mail": outbox.QueueMail, "grant": outbox.MaxAttempts}).
		Scan(&queue)
	if err != nil {
		return fmt.Errorf("send message %d again: %w", m.ID, err)
	}
	detail := map[string]any{"old": m.Email, "new": email, "new_link": c.NewLink, "attempts": m.Attempts}
	if m.DeliveredAt != nil {
		detail["was_accepted_at"] = m.DeliveredAt.Format(time.RFC3339)
	}
	act := "message.address_corrected"
	if !c.Changed {
		act = "message.retried"
	}
	if err := audit(ctx, tx, by, act, "message", m.ID, detail); err != nil {
		return err
	}
	return s.wakeNow(ctx, tx, by.TenantID, queue, 1)
}

// addressTaken says whose address it is. The constraint has already refused it;
// this only finds the name for the sentence.
func (s *Store) addressTaken(ctx context.Context, by policy.Actor, email string, refused error) error {
	var name string
	err := s.pool.QueryRow(ctx, `
		SELECT name
		FROM people
		WHERE tenant_id = @tenant
		  AND email = @email`, pgx.NamedArgs{"tenant": by.TenantID, "email": email}).Scan(&name)
	if err != nil {
		return refused // given up between the two looks: the plain sentence is true enough
	}
	return fault.Fieldsf(map[string]fault.Message{"email": fault.Msg("message.address_taken", "who", name)})
}
