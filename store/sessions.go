package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/policy"
)

// How long a browser stays known: since it was last seen, and at most.
const (
	AccountIdle = 8 * time.Hour
	AccountLife = 7 * 24 * time.Hour
	LinkIdle    = 30 * time.Minute // a shared phone
	LinkLife    = 12 * time.Hour
	NobodyLife  = 30 * time.Minute // before sign-in: a notice, a choice to make
)

// Session is what we remember of one browser. PersonID is 0 before sign-in;
// CycleID is set when a review link opened it.
type Session struct {
	Token    string
	TenantID int64
	PersonID int64
	CycleID  int64
	Slip     bool // the code of a printed slip opened it
	Data     []byte

	// Who that is, read along.
	Name   string
	Locale string // "" when the person never chose
	Roles  []policy.Role
	Scope  policy.Scope
	Org    string
	Zone   string
}

// Actor is the session's person as policy knows them.
func (s Session) Actor() policy.Actor {
	return policy.Actor{TenantID: s.TenantID, PersonID: s.PersonID, Name: s.Name, Roles: s.Roles, Scope: s.Scope, CycleID: s.CycleID, Slip: s.Slip}
}

// ErrNoSession says that a token opens nothing: never issued, ended or run out.
var ErrNoSession = errors.New("no such session")

// ResumeSession answers the session behind a token and notes that it was seen.
// A session of a person who has left ends here. ErrNoSession means signed out;
// any other error means that we cannot know.
func (s *Store) ResumeSession(ctx context.Context, token string) (Session, error) {
	ss := Session{Token: token}
	var stale, left bool
	err := s.pool.QueryRow(ctx, `
		SELECT coalesce(s.tenant_id, 0), coalesce(s.person_id, 0), coalesce(s.cycle_id, 0), s.slip, s.data,
		       coalesce(p.name, ''), coalesce(p.locale, ''), coalesce(t.name, ''), coalesce(t.zone, ''),
		       held.roles, held.units, held.departments, held.own_team,
		       s.seen_at < now() - interval '1 minute',
		       has_left(p.left_on, t.zone)
		FROM sessions s
		LEFT JOIN people p ON p.tenant_id = s.tenant_id AND p.id = s.person_id
		LEFT JOIN tenants t ON t.id = s.tenant_id
		CROSS JOIN LATERAL (
			SELECT coalesce(array_agg(DISTINCT g.role), '{}') AS roles,
			       coalesce(array_agg(g.scope_value) FILTER (WHERE g.scope = 'unit'), '{}') AS units,
			       coalesce(array_agg(g.scope_value) FILTER (WHERE g.scope = 'department'), '{}') AS departments,
			       coalesce(bool_or(g.scope = 'own_team'), false) AS own_team
			FROM grants g
			WHERE g.tenant_id = s.tenant_id
			  AND g.person_id = s.person_id
		) held
		WHERE s.token_hash = @hash
		  AND s.expires_at > now()
		  AND s.seen_at > now() - make_interval(secs => CASE WHEN s.cycle_id IS NULL THEN @idle::float8 ELSE @link_idle::float8 END)`,
		pgx.NamedArgs{"hash": tokenHash(token), "idle": AccountIdle.Seconds(), "link_idle": LinkIdle.Seconds()},
	).Scan(&ss.TenantID, &ss.PersonID, &ss.CycleID, &ss.Slip, &ss.Data, &ss.Name, &ss.Locale, &ss.Org, &ss.Zone,
		&ss.Roles, &ss.Scope.Units, &ss.Scope.Departments, &ss.Scope.OwnTeam, &stale, &left)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Session{}, ErrNoSession
	case err != nil:
		return Session{}, fmt.Errorf("resume session: %w", err)
	case left:
		if err := s.EndSession(ctx, token); err != nil {
			return Session{}, err
		}
		return Session{}, ErrNoSession
	case stale:
		if _, err := s.pool.Exec(ctx, `
			UPDATE sessions
			SET seen_at = now()
			WHERE token_hash = @hash`,
			pgx.NamedArgs{"hash": tokenHash(token)}); err != nil {
			return Session{}, fmt.Errorf("note session: %w", err)
		}
	}
	if ss.CycleID != 0 {
		ss.Roles, ss.Scope = nil, policy.Scope{} // a link gives the rights of a reviewer, whatever else the person may do
	}
	return ss, nil
}

// BeginSession opens a session for a person, or for nobody yet, and answers it
// with its new token. CycleID makes it a session of a review link.
func (s *Store) BeginSession(ctx context.Context, ss Session) (Session, error) {
	ss.Token = rand.Text()
	life := AccountLife
	switch {
	case ss.CycleID != 0:
		life = LinkLife
	case ss.PersonID == 0:
		life = NobodyLife
	}
	if ss.Data == nil {
		ss.Data = []byte{}
	}
	_, err := s.pool.Exec(ctx, `
		WITH begun AS (
			INSERT INTO sessions (token_hash, tenant_id, person_id, cycle_id, slip, data, expires_at)
			VALUES (@hash, nullif(@tenant::bigint, 0), nullif(@person::bigint, 0), nullif(@cycle::bigint, 0), @slip, @data, now() + make_interval(secs => @life))
			RETURNING tenant_id, person_id, cycle_id
		)
		INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id)
		SELECT tenant_id, person_id, 'sign_in', 'person', person_id
		FROM begun
		WHERE person_id IS NOT NULL
		  AND cycle_id IS NULL`,
		pgx.NamedArgs{"hash": tokenHash(ss.Token), "tenant": ss.TenantID, "person": ss.PersonID, "cycle": ss.CycleID, "slip": ss.Slip, "data": ss.Data, "life": life.Seconds()})
	if err != nil {
		return Session{}, fmt.Errorf("begin session: %w", err)
	}
	return ss, nil
}

// KeepSessionData stores what a session carries between requests. A session
// that has ended meanwhile stays ended.
func (s *Store) KeepSessionData(ctx context.Context, token string, data []byte) error {
	if _, err := s.pool.Exec(ctx, `
		UPDATE sessions
		SET data = @data
		WHERE token_hash = @hash`,
		pgx.NamedArgs{"hash": tokenHash(token), "data": data}); err != nil {
		return fmt.Errorf("keep session data: %w", err)
	}
	return nil
}

// EndSession signs one browser out; ending what has ended is no error.
func (s *Store) EndSession(ctx context.Context, token string) error {
	if _, err := s.pool.Exec(ctx, `
		WITH ended AS (
			DELETE FROM sessions
			WHERE token_hash = @hash
			RETURNING tenant_id, person_id, cycle_id
		)
		INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id)
		SELECT tenant_id, person_id, CASE WHEN cycle_id IS NULL THEN 'sign_out' ELSE 'review_link.sign_out' END, 'person', person_id
		FROM ended
		WHERE person_id IS NOT NULL`,
		pgx.NamedArgs{"hash": tokenHash(token)}); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// ChooseLocale makes l the language in which a person reads pages and mails.
func (s *Store) ChooseLocale(ctx context.Context, by policy.Actor, locale string) error {
	if _, err := s.pool.Exec(ctx, `
		UPDATE people
		SET locale = @locale, updated_at = now()
		WHERE tenant_id = @tenant
		  AND id = @person
		  AND locale IS DISTINCT FROM @locale`,
		pgx.NamedArgs{"tenant": by.TenantID, "person": by.PersonID, "locale": locale}); err != nil {
		return fmt.Errorf("choose locale: %w", err)
	}
	return nil
}

// tokenHash is all that is kept of a token.
func tokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
