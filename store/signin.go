package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// Sign-in slows down for an address after so many failures, and for so long.
const (
	SignInTries = 5
	SignInWait  = 15 * time.Minute
	// LinkForPassword is how long a link to set a password opens.
	LinkForPassword = 60 * time.Minute
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
// looked at, so that guesses made at once do not pass together.
func (s *Store) SignIn(ctx context.Context, email, password string) ([]Account, error) {
	if err := s.takeTry(ctx, email); err != nil {
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
		return nil, fault.Invalidf("sign_in.wrong", "tries", SignInTries, "minutes", int(SignInWait.Minutes()))
	}
	return matched, s.forgetTries(ctx, email)
}

// takeTry counts a try for an address, or answers that it must wait. The
// address need not exist, and only its hash is kept.
func (s *Store) takeTry(ctx context.Context, email string) error {
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
		pgx.NamedArgs{"hash": addressHash(email), "tries": SignInTries, "wait": SignInWait.Seconds()}).Scan(&failures)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.TooMany, "sign_in.wait", "tries", SignInTries, "minutes", int(SignInWait.Minutes()))
	}
	if err != nil {
		return fmt.Errorf("count a sign-in: %w", err)
	}
	return nil
}

func (s *Store) forgetTries(ctx context.Context, email string) error {
	if _, err := s.pool.Exec(ctx, `
		DELETE FROM sign_in_attempts
		WHERE address_hash = @hash`,
		pgx.NamedArgs{"hash": addressHash(email)}); err != nil {
		return fmt.Errorf("forget sign-in tries: %w", err)
	}
	return nil
}

func addressHash(email string) []byte {
	sum := sha256.Sum256([]byte(strings.ToLower(email)))
	return sum[:]
}

// CreateOneTimeLink makes a link that lets a person do one thing once, and
// answers its token, which is kept nowhere. Purpose is "password".
func (s *Store) CreateOneTimeLink(ctx context.Context, tenantID, personID int64, purpose string) (string, error) {
	token := rand.Text()
	if _, err := s.pool.Exec(ctx, `
		INSERT INTO one_time_links (tenant_id, person_id, purpose, token_hash, expires_at)
		VALUES (@tenant, @person, @purpose, @hash, now() + make_interval(secs => @life))`,
		pgx.NamedArgs{"tenant": tenantID, "person": personID, "purpose": purpose, "hash": tokenHash(token), "life": LinkForPassword.Seconds()}); err != nil {
		return "", fmt.Errorf("create one-time link: %w", err)
	}
	return token, nil
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
	if _, err := tx.Exec(ctx, `
		DELETE FROM sessions
		WHERE tenant_id = @tenant
		  AND person_id = @person`, args); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return audit(ctx, tx, by, "password.set", "person", by.PersonID, nil)
}
