package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// Sign-in to an account slows down after so many failures from one place, and
// for so long. Who guesses from elsewhere does not keep the account's owner out,
// nor does one account's trouble reach the colleagues behind the same address;
// only guesses from many places at once make an account wait everywhere.
const (
	SignInTries      = 5
	SignInTriesInAll = 50
	SignInWait       = 15 * time.Minute
)

// Account is a person's place in one organisation, after the password matched.
type Account struct {
	TenantID int64
	PersonID int64
	Name     string
	Org      string
}

// SignIn answers the accounts whose address and password match: one for each
// organisation that has both. An address that nobody has takes as long and gets
// the same fault as a wrong password. A try is counted before the password is
// looked at, so that guesses made at once do not pass together. From is the
// network address that asks, as far as it can be believed.
func (s *Store) SignIn(ctx context.Context, email, password string, from netip.Addr) ([]Account, error) {
	here := "sign in " + email + " from " + network(from)
	if err := s.takeTry(ctx, here, SignInTries, SignInWait); err != nil {
		return nil, err
	}
	if err := s.takeTry(ctx, "sign in "+email, SignInTriesInAll, SignInWait); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, `
		SELECT p.tenant_id, p.id, p.name, t.name, p.password_hash
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		WHERE p.email = @email::citext
		  AND p.password_hash IS NOT NULL
		  AND NOT has_left(p.left_on, t.zone)
		ORDER BY t.name, p.id
		LIMIT 20`,
		pgx.NamedArgs{"email": email})
	if err != nil {
		return nil, fmt.Errorf("find accounts: %w", err)
	}
	type candidate struct {
		Account
		hash string
	}
	candidates, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c candidate, err error) {
		return c, row.Scan(&c.TenantID, &c.PersonID, &c.Name, &c.Org, &c.hash)
	})
	if err != nil {
		return nil, fmt.Errorf("find accounts: %w", err)
	}
	if len(candidates) == 0 {
		candidates = []candidate{{hash: nobodysHash()}}
	}
	var matched []Account
	for _, c := range candidates {
		ok, err := passwordMatches(ctx, password, c.hash)
		if err != nil {
			return nil, err
		}
		if ok && c.PersonID != 0 {
			matched = append(matched, c.Account)
		}
	}
	if len(matched) == 0 {
		if err := s.noteFailure(ctx, email, here); err != nil {
			return nil, err
		}
		return nil, fault.Invalidf("sign_in.wrong", "tries", SignInTries, "minutes", int(SignInWait.Minutes()))
	}
	return matched, s.forgetTries(ctx, here, "sign in "+email)
}

// network is the address, or for IPv6 the part that one customer has.
func network(from netip.Addr) string {
	if from.Is6() && !from.Is4In6() {
		if p, err := from.Prefix(64); err == nil {
			return p.String()
		}
	}
	return from.Unmap().String()
}

// takeTry counts a try of what, or answers that it must wait. Whatever what
// names need not exist, and only a hash is kept.
func (s *Store) takeTry(ctx context.Context, what string, tries int, wait time.Duration) error {
	var failures int
	err := s.pool.QueryRow(ctx, `
		INSERT INTO sign_in_attempts AS a (address_hash, failures)
		VALUES (@hash, 1)
		ON CONFLICT (address_hash) DO UPDATE
		SET failures = CASE WHEN a.last_failed_at < now() - make_interval(secs => @wait) THEN 1 ELSE a.failures + 1 END,
		    last_failed_at = now()
		WHERE a.failures < @tries
		   OR a.last_failed_at < now() - make_interval(secs => @wait)
		RETURNING failures`,
		pgx.NamedArgs{"hash": addressHash(what), "tries": tries, "wait": wait.Seconds()}).Scan(&failures)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.TooMany, "sign_in.wait", "tries", tries, "minutes", int(wait.Minutes()))
	}
	if err != nil {
		return fmt.Errorf("count a try: %w", err)
	}
	return nil
}

// noteFailure audits a failed sign-in in every organisation that has somebody
// with the address, by its hash. It writes in any case, so that an unknown
// address takes as long as a known one.
func (s *Store) noteFailure(ctx context.Context, email, here string) error {
	hash := addressHash(email)
	if _, err := s.pool.Exec(ctx, `
		WITH counted AS (
			UPDATE sign_in_attempts
			SET last_failed_at = now()
			WHERE address_hash = @here
		)
		INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id, detail)
		SELECT tenant_id, NULL, 'sign_in.failed', 'person', id, jsonb_build_object('address_hash', @short::text)
		FROM people
		WHERE email = @email::citext
		LIMIT 20`,
		pgx.NamedArgs{"here": addressHash(here), "email": email, "short": hex.EncodeToString(hash[:6])}); err != nil {
		return fmt.Errorf("note a failed sign-in: %w", err)
	}
	return nil
}

func (s *Store) forgetTries(ctx context.Context, what ...string) error {
	hashes := make([][]byte, len(what))
	for i, w := range what {
		hashes[i] = addressHash(w)
	}
	if _, err := s.pool.Exec(ctx, `
		DELETE FROM sign_in_attempts
		WHERE address_hash = ANY (@hashes)`,
		pgx.NamedArgs{"hashes": hashes}); err != nil {
		return fmt.Errorf("forget sign-in tries: %w", err)
	}
	return nil
}

func addressHash(email string) []byte {
	sum := sha256.Sum256([]byte(strings.ToLower(email)))
	return sum[:]
}

// PasswordLink answers whose password a link sets. Looking uses nothing up.
func (s *Store) PasswordLink(ctx context.Context, token string) (Account, error) {
	var a Account
	err := s.pool.QueryRow(ctx, `
		SELECT l.tenant_id, l.person_id, p.name, t.name
		FROM one_time_links l
		JOIN people p ON p.tenant_id = l.tenant_id AND p.id = l.person_id
		JOIN tenants t ON t.id = l.tenant_id
		WHERE l.token_hash = @hash
		  AND l.purpose = 'password'
		  AND l.used_at IS NULL
		  AND l.expires_at > now()
		  AND NOT has_left(p.left_on, t.zone)`,
		pgx.NamedArgs{"hash": tokenHash(token)}).Scan(&a.TenantID, &a.PersonID, &a.Name, &a.Org)
	if errors.Is(err, pgx.ErrNoRows) {
		return Account{}, fault.NotFoundf("password.link_gone")
	}
	if err != nil {
		return Account{}, fmt.Errorf("read password link: %w", err)
	}
	return a, nil
}

// SetPassword uses a link up: the password is set, every session of the person
// ends and so does every other link to set it.
func (s *Store) SetPassword(ctx context.Context, token, password string) error {
	if _, err := s.PasswordLink(ctx, token); err != nil {
		return err // before the work of hashing
	}
	hash, err := hashPassword(ctx, password)
	if err != nil {
		return err
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		var by policy.Actor
		err := tx.QueryRow(ctx, `
			UPDATE one_time_links
			SET used_at = now()
			WHERE token_hash = @hash
			  AND purpose = 'password'
			  AND used_at IS NULL
			  AND expires_at > now()
			RETURNING tenant_id, person_id`,
			pgx.NamedArgs{"hash": tokenHash(token)}).Scan(&by.TenantID, &by.PersonID)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("password.link_gone")
		}
		if err != nil {
			return fmt.Errorf("use password link: %w", err)
		}
		return setPassword(ctx, tx, by, hash)
	})
}

// setPassword stores the hash and ends whatever the old password had opened.
func setPassword(ctx context.Context, tx pgx.Tx, by policy.Actor, hash string) error {
	args := pgx.NamedArgs{"tenant": by.TenantID, "person": by.PersonID, "password": hash}
	if _, err := tx.Exec(ctx, `
		UPDATE people
		SET password_hash = @password, updated_at = now()
		WHERE tenant_id = @tenant
		  AND id = @person`, args); err != nil {
		return fmt.Errorf("set password: %w", err)
	}
	if _, err := tx.Exec(ctx, `
		UPDATE one_time_links
		SET used_at = now()
		WHERE tenant_id = @tenant
		  AND person_id = @person
		  AND purpose = 'password'
		  AND used_at IS NULL`, args); err != nil {
		return fmt.Errorf("end password links: %w", err)
	}
	if _, err := endSessions(ctx, tx, by.TenantID, by.PersonID); err != nil {
		return err
	}
	return audit(ctx, tx, by, "password.set", "person", by.PersonID, nil)
}
