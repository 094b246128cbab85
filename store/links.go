package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/links"
	"ciclo/internal/policy"
)

// LinkOwner is who a review link was sent to, and for what.
type LinkOwner struct {
	LinkID       int64
	TenantID     int64
	PersonID     int64
	CycleID      int64
	Organisation string
	Person       string
	Code         string // the employee code
	Locale       string // the person's; empty when they never chose
	Zone         string // the organisation's
	Cycle        string
	Due          time.Time // in the cycle's zone
	Open         int       // reviews that are still to be submitted
}

// ReviewLink answers whose a link is. Looking changes nothing, however often.
// A token that is no link of ours is NotFound whatever is wrong with it; a link
// that worked once is a Conflict that says why it does not any more, together
// with its owner.
func (s *Store) ReviewLink(ctx context.Context, ring links.Ring, token string) (LinkOwner, error) {
	var owner LinkOwner
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		id, _ := links.ID(token)
		owner, err = readReviewLink(ctx, tx, id, func(l links.Link) bool { return ring.Verify(token, l) })
		return err
	})
	return owner, err
}

// OpenReviewLink is ReviewLink for the person who said "this is me": it notes
// the first time.
func (s *Store) OpenReviewLink(ctx context.Context, ring links.Ring, token string) (LinkOwner, error) {
	var owner LinkOwner
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		id, _ := links.ID(token)
		var err error
		if owner, err = readReviewLink(ctx, tx, id, func(l links.Link) bool { return ring.Verify(token, l) }); err != nil {
			return err
		}
		return noteOpened(ctx, tx, owner, false)
	})
	return owner, err
}

// noteOpened keeps the first time that a link was opened, by its token or by
// the code of its slip.
func noteOpened(ctx context.Context, tx pgx.Tx, owner LinkOwner, slip bool) error {
	if _, err := tx.Exec(ctx, `
		UPDATE review_links
		SET opened_at = coalesce(opened_at, now())
		WHERE tenant_id = @tenant
		  AND id = @id`, pgx.NamedArgs{"tenant": owner.TenantID, "id": owner.LinkID}); err != nil {
		return fmt.Errorf("note that link %d was opened: %w", owner.LinkID, err)
	}
	by := policy.Actor{TenantID: owner.TenantID, PersonID: owner.PersonID, CycleID: owner.CycleID, Slip: slip}
	return audit(ctx, tx, by, "review_link.open", "review_link", owner.LinkID, map[string]any{"cycle": owner.CycleID, "via": by.Channel()})
}

// readReviewLink looks a link up by the id inside a token or a code, which
// nobody needs to know to ask: only the key proves it, and until proves has said
// so, nothing of the row is told.
func readReviewLink(ctx context.Context, tx pgx.Tx, id int64, proves func(links.Link) bool) (LinkOwner, error) {
	unknown := fault.NotFoundf("review_link.unknown")
	owner := LinkOwner{LinkID: id}
	var revoked, left bool
	link := links.Link{ID: id}
	err := tx.QueryRow(ctx, `
		SELECT l.tenant_id, l.cycle_id, l.person_id, l.kid, l.nonce, l.revoked_at IS NOT NULL,
		       t.name, t.zone, p.name, p.code, coalesce(p.locale, ''), has_left(p.left_on, t.zone),
		       (SELECT count(*)
		        FROM evaluations e
		        WHERE e.tenant_id = l.tenant_id
		          AND e.cycle_id = l.cycle_id
		          AND e.reviewer_id = l.person_id
		          AND e.state IN ('pending', 'in_progress', 'reopened'))
		FROM review_links l
		JOIN tenants t ON t.id = l.tenant_id
		JOIN people p ON p.tenant_id = l.tenant_id AND p.id = l.person_id
		WHERE l.id = @id`, pgx.NamedArgs{"id": id}).
		Scan(&link.TenantID, &link.CycleID, &link.PersonID, &link.KeyID, &link.Nonce, &revoked,
			&owner.Organisation, &owner.Zone, &owner.Person, &owner.Code, &owner.Locale, &left, &owner.Open)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return LinkOwner{}, unknown
	case err != nil:
		return LinkOwner{}, fmt.Errorf("read link %d: %w", id, err)
	case !proves(link):
		return LinkOwner{}, unknown
	}
	owner.TenantID, owner.PersonID, owner.CycleID = link.TenantID, link.PersonID, link.CycleID
	c, _, err := readCycleFor(ctx, tx, link.TenantID, link.CycleID, link.PersonID)
	if err != nil {
		return LinkOwner{}, err
	}
	owner.Cycle, owner.Due = c.Name, c.Due()
	switch {
	case revoked:
		err = fault.Conflictf("review_link.revoked")
	case left:
		err = fault.Conflictf("review_link.left")
	default: // the cycle must be one that takes answers
		_, err = appraisal.Evaluation{State: appraisal.Pending}.SaveDraft(c)
	}
	return owner, err
}
