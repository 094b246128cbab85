package store

import (
	"context"
	"fmt"
	"slices"
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
			if c.NewLink, err = s.correctAddress(ctx, tx, by, m, email); err != nil {
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
	return mayTakeOver(ctx, tx, by, m.PersonID)
}

// correctAddress corrects the person's record, tells the old address and HR, and
// takes back every live link that may have reached the old address; newLink is
// for the message's cycle.
func (s *Store) correctAddress(ctx context.Context, tx pgx.Tx, by policy.Actor, m outbox.MessageDetail, email string) (newLink bool, err error) {
	if err := saveAddress(ctx, tx, by.TenantID, m.PersonID, email); err != nil {
		return false, err
	}
	cycles, err := takeBackLinks(ctx, tx, by.TenantID, []int64{m.PersonID})
	if err != nil {
		return false, err
	}
	if err := s.tellOfAddress(ctx, tx, by, m.PersonID, m.Email, email); err != nil {
		return false, err
	}
	return slices.Contains(cycles, m.CycleID), audit(ctx, tx, by, "person.address_corrected", "person", m.PersonID,
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
