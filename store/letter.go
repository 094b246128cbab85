package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/links"
	"ciclo/internal/outbox"
)

// Outgoing is the letter of a claimed event, with the last look before it
// leaves.
type Outgoing struct {
	outbox.Letter
	Link            *links.Link // the review link that it carries, if any
	Ours            bool        // the claim still holds
	CancelRequested bool
}

// Letter reads what a claimed event says, as things are now. A review link is
// made now, under keyID, unless a live one is there. The address and the link
// belong together: a correction of the address waits for us and sees that the
// link may leave, or we wait for it and see the new one.
func (s *Store) Letter(ctx context.Context, e outbox.Event, keyID string) (out Outgoing, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		out = Outgoing{} // a deadlock runs this twice
		err := tx.QueryRow(ctx, `
			SELECT e.person_id, coalesce(e.cycle_id, 0), e.cancel_requested, e.status = 'processing' AND e.attempts = @attempts
			FROM outbox_events e
			JOIN people p ON p.tenant_id = e.tenant_id AND p.id = e.person_id
			WHERE e.tenant_id = @tenant
			  AND e.id = @id
			FOR KEY SHARE OF p`,
			pgx.NamedArgs{"tenant": e.TenantID, "id": e.ID, "attempts": e.Attempts}).
			Scan(&out.PersonID, &out.CycleID, &out.CancelRequested, &out.Ours)
		if err != nil {
			return fmt.Errorf("read event %d: %w", e.ID, err)
		}
		out.Kind, out.Path = e.Type, outbox.PathOf(e.Type, out.CycleID)
		if err := json.Unmarshal(e.Payload, &out.Facts); err != nil {
			return fmt.Errorf("read the facts of event %d: %w", e.ID, err)
		}
		if out.Letter, err = readLetter(ctx, tx, e.TenantID, out.Letter); err != nil {
			return err
		}
		if outbox.CarriesOneTimeLink(e.Type) {
			return addOneTimeLink(ctx, tx, e.TenantID, &out)
		}
		if !outbox.CarriesLink(e.Type) || out.Over() != "" {
			return nil
		}
		link, err := ensureReviewLink(ctx, tx, e.TenantID, out.CycleID, out.PersonID, keyID)
		out.Link = &link
		return err
	})
	return out, err
}

// addOneTimeLink makes the link that the letter carries, where it may leave at
// all: its token is in no row, so that each try to send makes its own.
func addOneTimeLink(ctx context.Context, tx pgx.Tx, tenant int64, out *Outgoing) error {
	if !out.Ours || out.CancelRequested || out.Left || out.Email == "" {
		return nil
	}
	out.Valid = linkLife(out.Kind)
	token, err := makeOneTimeLink(ctx, tx, tenant, out.PersonID, "password", out.Valid)
	out.Path = "/password/" + token
	return err
}

// readLetter fills in what l.PersonID, l.CycleID and l.Facts name; the
// rehearsal shows the same.
func readLetter(ctx context.Context, tx pgx.Tx, tenant int64, l outbox.Letter) (outbox.Letter, error) {
	err := tx.QueryRow(ctx, `
		SELECT t.name, coalesce(t.reply_to, t.contact_email, ''), p.name, coalesce(p.email, ''), coalesce(p.locale, t.locale),
		       has_left(p.left_on, t.zone),
		       coalesce(colleague.name, ''), coalesce(reviewee.name, ''), coalesce(actor.name, '')
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		LEFT JOIN people colleague ON colleague.tenant_id = p.tenant_id AND colleague.id = @colleague
		LEFT JOIN people reviewee ON reviewee.tenant_id = p.tenant_id AND reviewee.id = @reviewee
		LEFT JOIN people actor ON actor.tenant_id = p.tenant_id AND actor.id = @actor
		WHERE p.tenant_id = @tenant
		  AND p.id = @person`,
		pgx.NamedArgs{"tenant": tenant, "person": l.PersonID, "colleague": l.ColleagueID, "reviewee": l.RevieweeID, "actor": l.ActorID}).
		Scan(&l.Organisation, &l.Contact, &l.Person, &l.Email, &l.Locale, &l.Left, &l.Colleague, &l.Reviewee, &l.Actor)
	if err != nil {
		return l, fmt.Errorf("read who a letter to person %d is for: %w", l.PersonID, err)
	}
	if l.To != "" { // an address that is not theirs any more
		l.Email = l.To
	}
	if l.CycleID == 0 {
		return l, nil
	}
	return readCycleOfLetter(ctx, tx, tenant, l)
}

// readCycleOfLetter adds the cycle and what is left to submit.
func readCycleOfLetter(ctx context.Context, tx pgx.Tx, tenant int64, l outbox.Letter) (outbox.Letter, error) {
	c, now, err := readCycleFor(ctx, tx, tenant, l.CycleID, l.PersonID)
	if err != nil {
		return l, err
	}
	l.Late = now.After(c.DueAt)
	l.Cycle, l.CycleState = c.Name, string(c.State)
	l.Due = c.Due()
	l.WasDue = inZone(l.WasDue, c)
	l.Until = inZone(l.Until, c)
	if c.ContactEmail != "" {
		l.Contact = c.ContactEmail
	}
	reviewer := l.PersonID
	if l.Kind == outbox.InvitationSample { // what the colleague would be asked for
		reviewer = l.ColleagueID
	}
	rows, err := tx.Query(ctx, `
		SELECT p.name, p.title, e.kind
		FROM evaluations e
		JOIN people p ON p.tenant_id = e.tenant_id AND p.id = e.reviewee_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND e.reviewer_id = @reviewer
		  AND e.state IN ('planned', 'pending', 'in_progress', 'reopened')
		ORDER BY e.kind = 'self', array_position(ARRAY['manager', 'peer', 'report'], e.kind), p.name COLLATE "pt-BR-x-icu", e.id`,
		pgx.NamedArgs{"tenant": tenant, "cycle": l.CycleID, "reviewer": reviewer})
	if err != nil {
		return l, fmt.Errorf("list the reviews of person %d: %w", l.PersonID, err)
	}
	l.Reviews, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r outbox.LetterReview, err error) {
		return r, row.Scan(&r.Name, &r.Title, &r.As)
	})
	if err != nil {
		return l, fmt.Errorf("list the reviews of person %d: %w", l.PersonID, err)
	}
	return l, nil
}

// inZone shows an instant in the cycle's zone, as its deadline is shown.
func inZone(t time.Time, c appraisal.Cycle) time.Time {
	if t.IsZero() {
		return t
	}
	return t.In(c.Due().Location())
}

// owe writes one event and wakes a drain for it. The facts must name whom it is
// for, as reviewer_id or person_id.
func (s *Store) owe(ctx context.Context, tx pgx.Tx, tenant int64, kind string, aggregate int64, payload map[string]any) error {
	queue := outbox.QueueOf(kind)
	tag, err := tx.Exec(ctx, `
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, traceparent)
		VALUES (@tenant, @queue, @kind, @aggregate, @payload, nullif(@traceparent, ''))
		ON CONFLICT DO NOTHING`,
		pgx.NamedArgs{"tenant": tenant, "queue": queue, "kind": kind, "aggregate": aggregate, "payload": payload, "traceparent": traceparent(ctx)})
	if err != nil {
		return fmt.Errorf("owe %s of %d: %w", kind, aggregate, err)
	}
	return s.dispatch(ctx, tx, tenant, queue, int(tag.RowsAffected()))
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
