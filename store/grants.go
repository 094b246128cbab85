package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// The scopes of a grant.
const (
	ScopeOrganisation = "organisation"
	ScopeUnit         = "unit"
	ScopeDepartment   = "department"
	ScopeOwnTeam      = "own_team"
)

// Grant is a role that somebody holds, and over whom.
type Grant struct {
	ID        int64
	Role      policy.Role
	Scope     string
	Value     string // the unit or department
	CreatedAt time.Time
}

// GrantInput is a role to be given.
type GrantInput struct {
	Role  policy.Role
	Scope string
	Value string
}

// Granted is who holds which roles, and what a scope can be.
type Granted struct {
	Person      string
	PersonID    int64
	Left        bool
	Grants      []Grant
	Units       []string
	Departments []string
}

// RolesOf reads somebody's roles, for whoever may give and take them.
func (s *Store) RolesOf(ctx context.Context, by policy.Actor, person int64) (g Granted, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.GrantRoles, policy.Of(by)); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "person": person}
		err := tx.QueryRow(ctx, `
			SELECT p.id, p.name, has_left(p.left_on, t.zone),
			       ARRAY(SELECT DISTINCT unit FROM people WHERE tenant_id = @tenant AND unit <> '' ORDER BY unit),
			       ARRAY(SELECT DISTINCT department FROM people WHERE tenant_id = @tenant AND department <> '' ORDER BY department)
			FROM people p
			JOIN tenants t ON t.id = p.tenant_id
			WHERE p.tenant_id = @tenant
			  AND p.id = @person`, args).Scan(&g.PersonID, &g.Person, &g.Left, &g.Units, &g.Departments)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("fault.not_found")
		}
		if err != nil {
			return fmt.Errorf("read person %d: %w", person, err)
		}
		g.Grants, err = readGrants(ctx, tx, args)
		return err
	})
	return g, err
}

func readGrants(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) ([]Grant, error) {
	rows, err := tx.Query(ctx, `
		SELECT id, role, scope, scope_value, created_at
		FROM grants
		WHERE tenant_id = @tenant
		  AND person_id = @person
		ORDER BY role, scope, scope_value`, args)
	if err != nil {
		return nil, fmt.Errorf("read roles: %w", err)
	}
	grants, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Grant])
	if err != nil {
		return nil, fmt.Errorf("read roles: %w", err)
	}
	return grants, nil
}

// GiveRole gives somebody a role. Their sessions end, so that the next one
// begins with the rights that they hold then. Nobody gives one to themself.
func (s *Store) GiveRole(ctx context.Context, by policy.Actor, person int64, in GrantInput) (name string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		var left bool
		if name, left, err = lockHolder(ctx, tx, by, person); err != nil {
			return err
		}
		if left {
			return fault.Conflictf("account.has_left", "name", name)
		}
		if err := checkGrant(ctx, tx, by, &in); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO grants (tenant_id, person_id, role, scope, scope_value)
			VALUES (@tenant, @person, @role, @scope, @value)
			ON CONFLICT ON CONSTRAINT grants_key DO NOTHING`,
			pgx.NamedArgs{"tenant": by.TenantID, "person": person, "role": in.Role, "scope": in.Scope, "value": in.Value})
		if err != nil {
			return fmt.Errorf("give %s to person %d: %w", in.Role, person, err)
		}
		if tag.RowsAffected() == 0 {
			return fault.Conflictf("roles.held_already", "name", name)
		}
		return noteRole(ctx, tx, by, "role.given", person, in)
	})
	return name, err
}

// TakeRole takes a role away. The last admin stays one, whoever presses what at
// the same time.
func (s *Store) TakeRole(ctx context.Context, by policy.Actor, person, grant int64) (name string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if name, _, err = lockHolder(ctx, tx, by, person); err != nil {
			return err
		}
		var taken GrantInput
		err := tx.QueryRow(ctx, `
			DELETE FROM grants
			WHERE tenant_id = @tenant
			  AND person_id = @person
			  AND id = @grant
			RETURNING role, scope, scope_value`, pgx.NamedArgs{"tenant": by.TenantID, "person": person, "grant": grant}).
			Scan(&taken.Role, &taken.Scope, &taken.Value)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("roles.gone")
		}
		if err != nil {
			return fmt.Errorf("take role %d from person %d: %w", grant, person, err)
		}
		if taken.Role == policy.Admin {
			has, err := hasAdmin(ctx, tx, by.TenantID)
			if err != nil {
				return err
			}
			if !has {
				return fault.Conflictf("people.last_admin")
			}
		}
		return noteRole(ctx, tx, by, "role.taken", person, taken)
	})
	return name, err
}

// lockRoles serves those who change roles in an organisation one after the
// other: who is the last admin is asked of all of them together.
func lockRoles(ctx context.Context, tx pgx.Tx, tenant int64) error {
	if _, err := tx.Exec(ctx, `SELECT FROM tenants WHERE id = @tenant FOR NO KEY UPDATE`, pgx.NamedArgs{"tenant": tenant}); err != nil {
		return fmt.Errorf("lock the roles: %w", err)
	}
	return nil
}

// lockHolder holds the organisation's roles for a change of somebody's. The
// actor must still be an admin by then: two who take each other's role at once
// do not both get their way.
func lockHolder(ctx context.Context, tx pgx.Tx, by policy.Actor, person int64) (name string, left bool, err error) {
	switch {
	case policy.Can(by, policy.GrantRoles, policy.Of(by)) != nil:
		return "", false, policy.Can(by, policy.GrantRoles, policy.Of(by))
	case policy.Can(by, policy.GrantRoles, policy.Object{TenantID: by.TenantID, SubjectID: person}) != nil:
		return "", false, fault.Forbiddenf("roles.never_oneself")
	}
	if err := lockRoles(ctx, tx, by.TenantID); err != nil {
		return "", false, err
	}
	var admin bool
	err = tx.QueryRow(ctx, `
		SELECT p.name, has_left(p.left_on, t.zone),
		       EXISTS (SELECT FROM grants g WHERE g.tenant_id = @tenant AND g.person_id = @actor AND g.role = 'admin')
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		WHERE p.tenant_id = @tenant
		  AND p.id = @person`, pgx.NamedArgs{"tenant": by.TenantID, "person": person, "actor": by.PersonID}).Scan(&name, &left, &admin)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", false, fault.NotFoundf("fault.not_found")
	case err != nil:
		return "", false, fmt.Errorf("read person %d: %w", person, err)
	case !admin:
		return "", false, fault.Forbiddenf("fault.forbidden")
	}
	return name, left, nil
}

// checkGrant refuses a role and scope that do not go together, and a unit or
// department that nobody is in: a slip of the pen would cover nobody, unseen.
func checkGrant(ctx context.Context, tx pgx.Tx, by policy.Actor, in *GrantInput) error {
	if !slices.Contains(policy.Roles, in.Role) {
		return fault.Fieldsf(map[string]fault.Message{"role": fault.Msg("fault.choice")})
	}
	if in.Role != policy.HRPartner {
		in.Scope, in.Value = ScopeOrganisation, ""
		return nil
	}
	switch in.Scope {
	case ScopeOwnTeam:
		in.Value = ""
		return nil
	case ScopeUnit, ScopeDepartment:
	default:
		return fault.Fieldsf(map[string]fault.Message{"scope": fault.Msg("roles.scope_required")})
	}
	var known bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM people
			WHERE tenant_id = @tenant
			  AND @value <> ''
			  AND CASE @scope WHEN 'unit' THEN unit ELSE department END = @value)`,
		pgx.NamedArgs{"tenant": by.TenantID, "scope": in.Scope, "value": in.Value}).Scan(&known)
	if err != nil {
		return fmt.Errorf("look for the %s: %w", in.Scope, err)
	}
	if !known {
		return fault.Fieldsf(map[string]fault.Message{in.Scope: fault.Msg("fault.choice")})
	}
	return nil
}

// noteRole ends what the old rights had opened, and writes down the change.
func noteRole(ctx context.Context, tx pgx.Tx, by policy.Actor, act string, person int64, g GrantInput) error {
	if _, err := endSessions(ctx, tx, by.TenantID, person); err != nil {
		return err
	}
	return audit(ctx, tx, by, act, "person", person, map[string]any{"role": g.Role, "scope": g.Scope, "value": g.Value})
}

// RoleHolder is a role in the list of all of them.
type RoleHolder struct {
	Grant
	PersonID int64
	Name     string
	Email    string
	Left     bool
}

// RoleHolders lists who holds a role in the organisation.
func (s *Store) RoleHolders(ctx context.Context, by policy.Actor, q Page) (list []RoleHolder, total int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.GrantRoles, policy.Of(by)); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "words": searchWords(q.Q), "limit": q.Limit, "offset": q.Offset}
		if err := tx.QueryRow(ctx, `
			SELECT count(*)
			FROM grants g
			JOIN people p ON p.tenant_id = g.tenant_id AND p.id = g.person_id
			WHERE g.tenant_id = @tenant
			  AND p.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))`, args).Scan(&total); err != nil {
			return fmt.Errorf("count roles: %w", err)
		}
		rows, err := tx.Query(ctx, `
			SELECT g.id, g.role, g.scope, g.scope_value, g.created_at, p.id, p.name, coalesce(p.email::text, ''), has_left(p.left_on, t.zone)
			FROM grants g
			JOIN people p ON p.tenant_id = g.tenant_id AND p.id = g.person_id
			JOIN tenants t ON t.id = g.tenant_id
			WHERE g.tenant_id = @tenant
			  AND p.search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
			ORDER BY g.role, p.name COLLATE "pt-BR-x-icu", p.id, g.scope, g.scope_value
			LIMIT @limit OFFSET @offset`, args)
		if err != nil {
			return fmt.Errorf("list roles: %w", err)
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h RoleHolder, err error) {
			return h, row.Scan(&h.ID, &h.Role, &h.Scope, &h.Value, &h.CreatedAt, &h.PersonID, &h.Name, &h.Email, &h.Left)
		})
		if err != nil {
			return fmt.Errorf("list roles: %w", err)
		}
		return nil
	})
	return list, total, err
}
