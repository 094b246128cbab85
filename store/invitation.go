package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/links"
	"ciclo/internal/outbox"
)

// Invitation is what the message that asks a reviewer needs to know, read at
// the moment it is sent: people leave, submit and change address meanwhile.
type Invitation struct {
	Organisation string
	Cycle        string
	CycleID      int64
	State        appraisal.CycleState
	Due          time.Time // in the cycle's zone
	Contact      string    // Reply-To
	ReviewerID   int64
	Reviewer     string
	Email        string // empty when the person has none
	Locale       string
	Left         bool
	Reviews      []InvitedReview // not submitted yet
	Link         links.Link
	// Ours and CancelRequested are read with the rest: the last look before the message leaves.
	Ours            bool
	CancelRequested bool
}

// InvitedReview is one line of the invitation.
type InvitedReview struct {
	Reviewee string
	Title    string
	Kind     appraisal.Kind
}

// Invitation reads what a claimed evaluation.assigned event is about. The
// reviewer's link is made now, under keyID, unless a live one is there. The
// address and the link belong together: a correction of the address waits for
// us and sees that the link may leave, or we wait for it and see the new one.
func (s *Store) Invitation(ctx context.Context, e outbox.Event, keyID string) (inv Invitation, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			SELECT e.reviewer_id, e.cancel_requested, e.status = 'processing' AND e.attempts = @attempts
			FROM outbox_events e
			JOIN people p ON p.tenant_id = e.tenant_id AND p.id = e.reviewer_id
			WHERE e.tenant_id = @tenant
			  AND e.id = @id
			FOR KEY SHARE OF p`,
			pgx.NamedArgs{"tenant": e.TenantID, "id": e.ID, "attempts": e.Attempts}).Scan(&inv.ReviewerID, &inv.CancelRequested, &inv.Ours)
		if err != nil {
			return fmt.Errorf("read event %d: %w", e.ID, err)
		}
		if inv, err = readInvitation(ctx, tx, e.TenantID, e.AggregateID, inv); err != nil {
			return err
		}
		inv.Link, err = ensureReviewLink(ctx, tx, e.TenantID, e.AggregateID, inv.ReviewerID, keyID)
		return err
	})
	return inv, err
}

// readInvitation fills inv for inv.ReviewerID; the rehearsal shows the same.
func readInvitation(ctx context.Context, tx pgx.Tx, tenant, cycle int64, inv Invitation) (Invitation, error) {
	var zone string
	err := tx.QueryRow(ctx, `
		SELECT t.name, c.id, c.name, c.state, c.due_at, c.due_zone, coalesce(c.contact_email, t.contact_email, ''),
		       p.name, coalesce(p.email, ''), coalesce(p.locale, t.locale),
		       coalesce(p.left_on <= (now() AT TIME ZONE c.due_zone)::date, false)
		FROM cycles c
		JOIN tenants t ON t.id = c.tenant_id
		JOIN people p ON p.tenant_id = c.tenant_id AND p.id = @reviewer
		WHERE c.tenant_id = @tenant
		  AND c.id = @cycle`,
		pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "reviewer": inv.ReviewerID}).
		Scan(&inv.Organisation, &inv.CycleID, &inv.Cycle, &inv.State, &inv.Due, &zone, &inv.Contact, &inv.Reviewer, &inv.Email, &inv.Locale, &inv.Left)
	if err != nil {
		return inv, fmt.Errorf("read the invitation of person %d to cycle %d: %w", inv.ReviewerID, cycle, err)
	}
	inv.Due = appraisal.Cycle{DueAt: inv.Due, DueZone: zone}.Due()
	rows, err := tx.Query(ctx, `
		SELECT p.name, p.title, e.kind
		FROM evaluations e
		JOIN people p ON p.tenant_id = e.tenant_id AND p.id = e.reviewee_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND e.reviewer_id = @reviewer
		  AND e.state IN ('planned', 'pending', 'in_progress', 'reopened')
		ORDER BY e.kind = 'self', array_position(ARRAY['manager', 'peer', 'report'], e.kind), p.name COLLATE "pt-BR-x-icu", e.id`,
		pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "reviewer": inv.ReviewerID})
	if err != nil {
		return inv, fmt.Errorf("list the reviews of person %d: %w", inv.ReviewerID, err)
	}
	inv.Reviews, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r InvitedReview, err error) {
		return r, row.Scan(&r.Reviewee, &r.Title, &r.Kind)
	})
	if err != nil {
		return inv, fmt.Errorf("list the reviews of person %d: %w", inv.ReviewerID, err)
	}
	return inv, nil
}

// ensureReviewLink returns the person's live link to the cycle, making it when
// there is none; two senders at once get the same one.
func ensureReviewLink(ctx context.Context, tx pgx.Tx, tenant, cycle, person int64, keyID string) (links.Link, error) {
	nonce := make([]byte, 16)
	rand.Read(nonce) // never fails since Go 1.24
	l := links.Link{TenantID: tenant, CycleID: cycle, PersonID: person}
	err := tx.QueryRow(ctx, `
		WITH made AS (
			INSERT INTO review_links (tenant_id, cycle_id, person_id, kid, nonce)
			VALUES (@tenant, @cycle, @person, @kid, @nonce)
			ON CONFLICT (tenant_id, cycle_id, person_id) WHERE revoked_at IS NULL DO NOTHING
			RETURNING id, kid, nonce
		)
		SELECT id, kid, nonce
		FROM made
		UNION ALL
		SELECT id, kid, nonce
		FROM review_links
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND person_id = @person
		  AND revoked_at IS NULL
		LIMIT 1`,
		pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "person": person, "kid": keyID, "nonce": nonce}).
		Scan(&l.ID, &l.KeyID, &l.Nonce)
	if errors.Is(err, pgx.ErrNoRows) { // another transaction made it just now: this statement's snapshot is older
		err = tx.QueryRow(ctx, `
			SELECT id, kid, nonce
			FROM review_links
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND person_id = @person
			  AND revoked_at IS NULL`,
			pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "person": person}).Scan(&l.ID, &l.KeyID, &l.Nonce)
	}
	if err != nil {
		return l, fmt.Errorf("make the review link of person %d for cycle %d: %w", person, cycle, err)
	}
	return l, nil
}
