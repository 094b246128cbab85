package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// How long a link to set a password opens: one that somebody has just asked for,
// and one that an admin sends to somebody who does not expect it.
const (
	LinkForPassword   = 60 * time.Minute
	LinkForInvitation = 72 * time.Hour
)

// Reset links go to one address so often, and no more until so much later.
const (
	ResetTries = 3
	ResetWait  = time.Hour
)

// InvitePerson owes somebody a link to set their first password, or another one
// when the first was not used. The link is made when the message is sent.
func (s *Store) InvitePerson(ctx context.Context, by policy.Actor, id int64) (name string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		p, err := lockAccount(ctx, tx, by, id)
		if err != nil {
			return err
		}
		name = p.name
		switch {
		case p.left:
			return fault.Conflictf("account.has_left", "name", p.name)
		case p.email == "":
			return fault.Conflictf("account.no_address", "name", p.name)
		case p.underway:
			return fault.Conflictf("account.invitation_underway", "name", p.name)
		}
		if err := s.owe(ctx, tx, by.TenantID, outbox.PersonInvited, id, map[string]any{"person_id": id, "actor_id": by.PersonID}); err != nil {
			return err
		}
		return audit(ctx, tx, by, "person.invited", "person", id, nil)
	})
	return name, err
}

// accountRow is what decides about somebody's account.
type accountRow struct {
	name, email    string
	left, underway bool // an invitation is on its way
}

// lockAccount holds a person's row for a change of their account by an admin.
func lockAccount(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) (p accountRow, err error) {
	if err := policy.Can(by, policy.ManageAccounts, policy.Of(by)); err != nil {
		return p, err
	}
	err = tx.QueryRow(ctx, `
		SELECT p.name, coalesce(p.email::text, ''), has_left(p.left_on, t.zone)
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		WHERE p.tenant_id = @tenant
		  AND p.id = @id
		FOR NO KEY UPDATE OF p`, pgx.NamedArgs{"tenant": by.TenantID, "id": id}).Scan(&p.name, &p.email, &p.left)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, fault.NotFoundf("fault.not_found")
	}
	if err != nil {
		return p, fmt.Errorf("lock person %d: %w", id, err)
	}
	err = tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM outbox_events
			WHERE tenant_id = @tenant
			  AND queue = @queue
			  AND status IN ('pending', 'processing')
			  AND event_type = @kind
			  AND aggregate_id = @id)`,
		pgx.NamedArgs{"tenant": by.TenantID, "queue": outbox.QueueMailNow, "kind": outbox.PersonInvited, "id": id}).Scan(&p.underway)
	if err != nil {
		return p, fmt.Errorf("look for an invitation of person %d: %w", id, err)
	}
	return p, nil
}

// AskReset owes a link to set a new password to everybody with that address who
// has an account: a password, or an invitation that was sent. It answers
// nothing, so that nobody learns which addresses are known; beyond the limit it
// does nothing more, which is not told either.
func (s *Store) AskReset(ctx context.Context, email string) error {
	if err := s.takeTry(ctx, "reset "+email, ResetTries, ResetWait); err != nil {
		if fault.KindOf(err) == fault.TooMany {
			return nil
		}
		return err
	}
	rows, err := s.pool.Query(ctx, `
		SELECT p.tenant_id, p.id
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		WHERE p.email = @email::citext
		  AND NOT has_left(p.left_on, t.zone)
		  AND (p.password_hash IS NOT NULL
		    OR EXISTS (SELECT FROM one_time_links l WHERE l.tenant_id = p.tenant_id AND l.person_id = p.id))
		ORDER BY p.tenant_id, p.id
		LIMIT 20`, pgx.NamedArgs{"email": email})
	if err != nil {
		return fmt.Errorf("find accounts: %w", err)
	}
	accounts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a policy.Actor, err error) {
		return a, row.Scan(&a.TenantID, &a.PersonID)
	})
	if err != nil {
		return fmt.Errorf("find accounts: %w", err)
	}
	for _, a := range accounts {
		err := s.inTx(ctx, func(tx pgx.Tx) error {
			if err := s.owe(ctx, tx, a.TenantID, outbox.PasswordReset, a.PersonID, map[string]any{"person_id": a.PersonID}); err != nil {
				return err
			}
			return audit(ctx, tx, policy.Actor{TenantID: a.TenantID}, "password.reset_asked", "person", a.PersonID, nil)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// linkLife is how long the link opens that a kind of message carries.
func linkLife(kind string) time.Duration {
	if kind == outbox.PersonInvited {
		return LinkForInvitation
	}
	return LinkForPassword
}

// CreateOneTimeLink makes a link that lets a person do one thing once, and
// answers its token, which is kept nowhere. Purpose is "password".
func (s *Store) CreateOneTimeLink(ctx context.Context, tenantID, personID int64, purpose string) (token string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		token, err = makeOneTimeLink(ctx, tx, tenantID, personID, purpose, LinkForPassword)
		return err
	})
	return token, err
}

func makeOneTimeLink(ctx context.Context, tx pgx.Tx, tenant, person int64, purpose string, life time.Duration) (string, error) {
	token := rand.Text()
	if _, err := tx.Exec(ctx, `
		INSERT INTO one_time_links (tenant_id, person_id, purpose, token_hash, expires_at)
		VALUES (@tenant, @person, @purpose, @hash, now() + make_interval(secs => @life))`,
		pgx.NamedArgs{"tenant": tenant, "person": person, "purpose": purpose, "hash": tokenHash(token), "life": life.Seconds()}); err != nil {
		return "", fmt.Errorf("create one-time link: %w", err)
	}
	return token, nil
}

// SignOutEverywhere ends every session of the actor, this one as well, and
// answers how many there were.
func (s *Store) SignOutEverywhere(ctx context.Context, by policy.Actor) (n int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if n, err = endSessions(ctx, tx, by.TenantID, by.PersonID); err != nil {
			return err
		}
		return audit(ctx, tx, by, "sign_out.everywhere", "person", by.PersonID, map[string]any{"sessions": n})
	})
	return n, err
}

// EndSessionsOf ends every session of somebody, for an admin: a lost phone.
func (s *Store) EndSessionsOf(ctx context.Context, by policy.Actor, id int64) (name string, n int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		p, err := lockAccount(ctx, tx, by, id)
		if err != nil {
			return err
		}
		name = p.name
		if n, err = endSessions(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		return audit(ctx, tx, by, "sessions.ended", "person", id, map[string]any{"sessions": n})
	})
	return name, n, err
}

func endSessions(ctx context.Context, tx pgx.Tx, tenant, person int64) (int, error) {
	tag, err := tx.Exec(ctx, `
		DELETE FROM sessions
		WHERE tenant_id = @tenant
		  AND person_id = @person`, pgx.NamedArgs{"tenant": tenant, "person": person})
	if err != nil {
		return 0, fmt.Errorf("end the sessions of person %d: %w", person, err)
	}
	return int(tag.RowsAffected()), nil
}

// OwnAccount is what somebody reads of their own account.
type OwnAccount struct {
	Email    string
	Sessions []OpenSession
}

// OpenSession is one browser in which somebody is signed in.
type OpenSession struct {
	BeganAt time.Time
	SeenAt  time.Time
	ByLink  bool
}

// Account answers the actor's own account.
func (s *Store) Account(ctx context.Context, by policy.Actor) (a OwnAccount, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"tenant": by.TenantID, "person": by.PersonID, "idle": AccountIdle.Seconds(), "link_idle": LinkIdle.Seconds()}
		if err := tx.QueryRow(ctx, `
			SELECT coalesce(email::text, '')
			FROM people
			WHERE tenant_id = @tenant
			  AND id = @person`, args).Scan(&a.Email); err != nil {
			return fmt.Errorf("read the account of person %d: %w", by.PersonID, err)
		}
		rows, err := tx.Query(ctx, `
			SELECT created_at, seen_at, cycle_id IS NOT NULL
			FROM sessions
			WHERE tenant_id = @tenant
			  AND person_id = @person
			  AND expires_at > now()
			  AND seen_at > now() - make_interval(secs => CASE WHEN cycle_id IS NULL THEN @idle::float8 ELSE @link_idle::float8 END)
			ORDER BY seen_at DESC
			LIMIT 50`, args)
		if err != nil {
			return fmt.Errorf("list the sessions of person %d: %w", by.PersonID, err)
		}
		a.Sessions, err = pgx.CollectRows(rows, pgx.RowToStructByPos[OpenSession])
		if err != nil {
			return fmt.Errorf("list the sessions of person %d: %w", by.PersonID, err)
		}
		return nil
	})
	return a, err
}
