package views

import (
	"context"
	"strings"
	"time"

	"ciclo/internal/policy"
)

// Grant is a role that somebody holds, and over whom.
type Grant struct {
	ID        int64
	Role      policy.Role
	Scope     string
	Value     string
	CreatedAt time.Time
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

// RoleHolder is a role in the list of all of them.
type RoleHolder struct {
	Grant
	PersonID int64
	Name     string
	Email    string
	Left     bool
}

// rolesOf says roles that stand side by side.
func rolesOf(ctx context.Context, roles []policy.Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = T(ctx, "people.role."+string(r))
	}
	return strings.Join(words, ", ")
}

// over says whom a grant covers.
func (g Grant) over(ctx context.Context) string { return scopeWords(ctx, g.Scope, g.Value) }

func scopeWords(ctx context.Context, scope, value string) string {
	switch scope {
	case "unit", "department":
		return T(ctx, "roles.over."+scope, "name", value)
	case "own_team":
		return T(ctx, "roles.over.own_team")
	}
	return T(ctx, "roles.over.organisation")
}

func roleOptions(ctx context.Context) []Option {
	options := []Option{{"", T(ctx, "roles.choose")}}
	for _, r := range policy.Roles {
		options = append(options, Option{string(r), T(ctx, "people.role."+string(r))})
	}
	return options
}

func scopeOptions(ctx context.Context) []Option {
	options := []Option{{"", T(ctx, "roles.scope_none")}}
	for _, s := range []string{"unit", "department", "own_team"} {
		options = append(options, Option{s, T(ctx, "roles.scope."+s)})
	}
	return options
}

func namedOptions(ctx context.Context, names []string) []Option {
	options := []Option{{"", T(ctx, "roles.scope_none")}}
	for _, n := range names {
		options = append(options, Option{n, n})
	}
	return options
}

func roleField(ctx context.Context) Field {
	return Field{Name: "role", Label: T(ctx, "intake.field.role"), Options: roleOptions(ctx)}
}

func scopeField(ctx context.Context) Field {
	return Field{Name: "scope", Label: T(ctx, "roles.scope"), Help: T(ctx, "roles.scope_help"), Options: scopeOptions(ctx), Optional: true}
}

func unitField(ctx context.Context, g Granted) Field {
	return Field{Name: "unit", Label: T(ctx, "roles.scope.unit"), Options: namedOptions(ctx, g.Units), Optional: true}
}

func departmentField(ctx context.Context, g Granted) Field {
	return Field{Name: "department", Label: T(ctx, "roles.scope.department"), Options: namedOptions(ctx, g.Departments), Optional: true}
}
