package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
)

// Ready answers nil when the database answers and its schema is at least as new
// as needed.
func (s *Store) Ready(ctx context.Context, needed uint) error {
	var version int64
	var dirty bool
	err := s.pool.QueryRow(ctx, `
		SELECT version, dirty
		FROM schema_migrations`).Scan(&version, &dirty)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || isCode(err, "42P01"):
		return errors.New("the database has no schema")
	case err != nil:
		return fmt.Errorf("read the schema's version: %w", err)
	case dirty:
		return fmt.Errorf("the schema's version %d is unfinished", version)
	case version < int64(needed):
		return fmt.Errorf("the schema's version is %d, %d is needed", version, needed)
	}
	return nil
}

// IsDemo reports whether the demo has marked this database as its own.
func (s *Store) IsDemo(ctx context.Context) (demo bool, err error) {
	if err = s.pool.QueryRow(ctx, `
		SELECT demo
		FROM installation`).Scan(&demo); err != nil {
		return false, fmt.Errorf("read the installation: %w", err)
	}
	return demo, nil
}

// ClaimForDemo marks an empty database as the demo's; it answers false when the
// database holds an organisation and is not the demo's.
func (s *Store) ClaimForDemo(ctx context.Context) (ours bool, err error) {
	err = s.pool.QueryRow(ctx, `
		WITH marked AS (
			UPDATE installation
			SET demo = true
			WHERE demo
			   OR NOT EXISTS (SELECT FROM tenants)
			RETURNING demo
		)
		SELECT EXISTS (SELECT FROM marked)`).Scan(&ours)
	if err != nil {
		return false, fmt.Errorf("mark the demo's database: %w", err)
	}
	return ours, nil
}

// AnyTenant reports whether an organisation exists.
func (s *Store) AnyTenant(ctx context.Context) (any bool, err error) {
	if err = s.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM tenants)`).Scan(&any); err != nil {
		return false, fmt.Errorf("look for an organisation: %w", err)
	}
	return any, nil
}

// LiveLinkKeys names the keys that links of cycles under way were made with.
func (s *Store) LiveLinkKeys(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT DISTINCT l.kid
		FROM review_links l
		JOIN cycles c ON c.tenant_id = l.tenant_id AND c.id = l.cycle_id
		WHERE l.revoked_at IS NULL
		  AND c.state = 'active'`)
	if err != nil {
		return nil, fmt.Errorf("list the keys of live links: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Tidy deletes what has expired and nobody can use any more: sessions, files
// that waited a day for a confirmation, one-time links, and counts of failed
// sign-ins. It answers how many rows went.
func (s *Store) Tidy(ctx context.Context) (gone int, err error) {
	err = s.pool.QueryRow(ctx, `
		WITH beats_gone AS (
			DELETE FROM worker_heartbeats
			WHERE beat_at < now() - interval '1 day'
			RETURNING 1
		), sessions_gone AS (
			DELETE FROM sessions
			WHERE expires_at < now()
			RETURNING 1
		), imports_gone AS (
			DELETE FROM imports
			WHERE expires_at < now()
			RETURNING 1
		), links_gone AS (
			DELETE FROM one_time_links
			WHERE expires_at < now() - interval '30 days'
			RETURNING 1
		), lost_gone AS (
			DELETE FROM lost_link_requests
			WHERE since < now() - interval '1 day'
			RETURNING 1
		), attempts_gone AS (
			DELETE FROM sign_in_attempts
			WHERE last_failed_at < now() - interval '1 day'
			RETURNING 1
		), tries_gone AS (
			DELETE FROM slip_tries
			WHERE last_at < now() - interval '2 days'
			RETURNING 1
		)
		SELECT (SELECT count(*) FROM beats_gone) + (SELECT count(*) FROM sessions_gone) + (SELECT count(*) FROM imports_gone)
		     + (SELECT count(*) FROM links_gone) + (SELECT count(*) FROM attempts_gone) + (SELECT count(*) FROM tries_gone)
		     + (SELECT count(*) FROM lost_gone)`).Scan(&gone)
	if err != nil {
		return 0, fmt.Errorf("tidy up: %w", err)
	}
	return gone, nil
}

// TenantNamed answers the organisation of that name, as the command line gives it.
func (s *Store) TenantNamed(ctx context.Context, name string) (id int64, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT id
		FROM tenants
		WHERE name = @name`, pgx.NamedArgs{"name": name}).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fault.NotFoundf("tenant.unnamed", "name", name)
	}
	if err != nil {
		return 0, fmt.Errorf("find organisation %s: %w", name, err)
	}
	return id, nil
}

// PersonWithAddress answers who of an organisation has the e-mail address, as
// the command line gives it.
func (s *Store) PersonWithAddress(ctx context.Context, tenant int64, email string) (id int64, name string, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT id, name
		FROM people
		WHERE tenant_id = @tenant
		  AND email = @email::citext`, pgx.NamedArgs{"tenant": tenant, "email": email}).Scan(&id, &name)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, "", fault.NotFoundf("tenant.nobody", "email", email)
	}
	if err != nil {
		return 0, "", fmt.Errorf("find the person with an address: %w", err)
	}
	return id, name, nil
}
