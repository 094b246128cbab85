package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/intake"
	"ciclo/internal/policy"
)

// PeopleQuery narrows, orders and cuts the directory.
type PeopleQuery struct {
	Q          string
	Department string
	Situation  string // active, left or no_address; everybody when empty
	Sort       string // name, code, department or hired, with a minus for descending
	Limit      int
	Offset     int
}

// ListedPerson is one row of the directory.
type ListedPerson struct {
	ID         int64
	Code       string
	Name       string
	Email      string
	Department string
	Title      string
	ManagerID  int64
	Manager    string
	HiredOn    *time.Time
	LeftOn     *time.Time
	Left       bool
}

// Directory is one page of the people of an organisation.
type Directory struct {
	People      []ListedPerson
	Total       int // that match
	All         int
	Departments []string
}

// People answers one page of the directory. The search looks into name, address
// and employee code, without case and accents, for every word of it.
func (s *Store) People(ctx context.Context, by policy.Actor, q PeopleQuery) (d Directory, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.SeePeople, policy.Of(by)); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "words": strings.Fields(q.Q), "department": q.Department,
			"situation": q.Situation, "sort": q.Sort, "limit": q.Limit, "offset": q.Offset}
		covered(by, args)
		if err := countPeople(ctx, tx, args, &d); err != nil {
			return fmt.Errorf("count people: %w", err)
		}
		if d.People, err = listPeople(ctx, tx, args); err != nil {
			return fmt.Errorf("list people: %w", err)
		}
		return nil
	})
	return d, err
}

func countPeople(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs, d *Directory) error {
	return tx.QueryRow(ctx, `
		SELECT count(*),
		       count(*) FILTER (WHERE (@department = '' OR department = @department)
		                          AND CASE @situation
		                                WHEN 'active' THEN NOT away
		                                WHEN 'left' THEN away
		                                WHEN 'no_address' THEN NOT away AND email IS NULL
		                                ELSE true
		                              END
		                          AND NOT EXISTS (SELECT FROM unnest(@words::text[]) word WHERE strpos(search, fold(word)) = 0)),
		       ARRAY(
			SELECT DISTINCT department
			FROM people
			WHERE tenant_id = @tenant
			  AND department <> ''
			  AND is_covered(unit, department, manager_id, @units, @departments, @team_of)
			ORDER BY department)
		FROM (
			SELECT p.department, p.email, p.search, has_left(p.left_on, t.zone) AS away
			FROM people p
			JOIN tenants t ON t.id = p.tenant_id
			WHERE p.tenant_id = @tenant
			  AND is_covered(p.unit, p.department, p.manager_id, @units, @departments, @team_of)
		) known`, args).Scan(&d.All, &d.Total, &d.Departments)
}

func listPeople(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) ([]ListedPerson, error) {
	rows, err := tx.Query(ctx, `
		SELECT id, code, name, email, department, title, manager_id, manager, hired_on, left_on, away
		FROM (
			SELECT p.id, p.code, p.name, coalesce(p.email::text, '') AS email, p.department, p.title, p.search,
			       coalesce(p.manager_id, 0) AS manager_id, coalesce(m.name, '') AS manager, p.hired_on, p.left_on,
			       has_left(p.left_on, t.zone) AS away
			FROM people p
			JOIN tenants t ON t.id = p.tenant_id
			LEFT JOIN people m ON m.tenant_id = p.tenant_id AND m.id = p.manager_id
			WHERE p.tenant_id = @tenant
			  AND is_covered(p.unit, p.department, p.manager_id, @units, @departments, @team_of)
		) known
		WHERE (@department = '' OR department = @department)
		  AND CASE @situation
		        WHEN 'active' THEN NOT away
		        WHEN 'left' THEN away
		        WHEN 'no_address' THEN NOT away AND email = ''
		        ELSE true
		      END
		  AND NOT EXISTS (SELECT FROM unnest(@words::text[]) word WHERE strpos(search, fold(word)) = 0)
		ORDER BY CASE @sort WHEN 'code' THEN code END,
		         CASE @sort WHEN '-code' THEN code END DESC,
		         CASE @sort WHEN 'department' THEN department COLLATE "pt-BR-x-icu" END,
		         CASE @sort WHEN '-department' THEN department COLLATE "pt-BR-x-icu" END DESC,
		         CASE @sort WHEN 'hired' THEN hired_on END,
		         CASE @sort WHEN '-hired' THEN hired_on END DESC NULLS LAST,
		         CASE @sort WHEN '-name' THEN name COLLATE "pt-BR-x-icu" END DESC,
		         name COLLATE "pt-BR-x-icu", id
		LIMIT @limit OFFSET @offset`, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[ListedPerson])
}

// Person is the record of one person, with whom they report to and who reports
// to them.
type Person struct {
	ListedPerson
	Unit       string
	CostCentre string
	Locale     string // "" when it was never said
	Attributes map[string]string
	Roles      []policy.Role
	Reports    []ListedPerson
	Access     *Access // for who manages accounts
}

// Access is how somebody gets in.
type Access struct {
	HasPassword bool
	SignedInAt  *time.Time
	InvitedAt   *time.Time // the latest invitation that was asked for
	Sessions    int
}

// covered adds to args whom the actor's roles reach: everybody, or the parts
// that a partner's grants name.
func covered(by policy.Actor, args pgx.NamedArgs) {
	var units, departments []string
	var team int64
	if !by.Everywhere() {
		units, departments = append([]string{}, by.Scope.Units...), append([]string{}, by.Scope.Departments...)
		if by.Scope.OwnTeam {
			team = by.PersonID
		}
	}
	args["units"], args["departments"], args["team_of"] = units, departments, team
}

// Person answers one record. A person of another organisation does not exist.
func (s *Store) Person(ctx context.Context, by policy.Actor, id int64) (p Person, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.SeePeople, policy.Of(by)); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "id": id}
		covered(by, args)
		err := tx.QueryRow(ctx, `
			SELECT p.id, p.code, p.name, coalesce(p.email::text, ''), p.department, p.title,
			       coalesce(p.manager_id, 0), coalesce(m.name, ''), p.hired_on, p.left_on,
			       has_left(p.left_on, t.zone),
			       p.unit, p.cost_centre, coalesce(p.locale, ''), p.attributes,
			       ARRAY(SELECT DISTINCT g.role FROM grants g WHERE g.tenant_id = p.tenant_id AND g.person_id = p.id ORDER BY g.role)
			FROM people p
			JOIN tenants t ON t.id = p.tenant_id
			LEFT JOIN people m ON m.tenant_id = p.tenant_id AND m.id = p.manager_id
			WHERE p.tenant_id = @tenant
			  AND p.id = @id`, args).Scan(&p.ID, &p.Code, &p.Name, &p.Email, &p.Department, &p.Title,
			&p.ManagerID, &p.Manager, &p.HiredOn, &p.LeftOn, &p.Left, &p.Unit, &p.CostCentre, &p.Locale, &p.Attributes, &p.Roles)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("fault.not_found")
		}
		if err != nil {
			return fmt.Errorf("read person %d: %w", id, err)
		}
		o := policy.Object{TenantID: by.TenantID, SubjectID: id, Unit: p.Unit, Department: p.Department, ManagerID: p.ManagerID}
		if err := policy.Can(by, policy.SeePeople, o); err != nil {
			return err
		}
		if policy.May(by, policy.ManageAccounts) {
			if p.Access, err = readAccess(ctx, tx, args); err != nil {
				return fmt.Errorf("read the account of person %d: %w", id, err)
			}
		}
		if p.Reports, err = readReports(ctx, tx, args); err != nil {
			return fmt.Errorf("list reports of person %d: %w", id, err)
		}
		return nil
	})
	return p, err
}

func readAccess(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (*Access, error) {
	var a Access
	err := tx.QueryRow(ctx, `
		SELECT p.password_hash IS NOT NULL,
		       (SELECT max(e.at)
		        FROM audit_entries e
		        WHERE e.tenant_id = @tenant AND e.object_type = 'person' AND e.object_id = @id AND e.act = 'sign_in'),
		       (SELECT max(e.at)
		        FROM audit_entries e
		        WHERE e.tenant_id = @tenant AND e.object_type = 'person' AND e.object_id = @id AND e.act = 'person.invited'),
		       (SELECT count(*)
		        FROM sessions s
		        WHERE s.tenant_id = @tenant AND s.person_id = @id AND s.cycle_id IS NULL AND s.expires_at > now())
		FROM people p
		WHERE p.tenant_id = @tenant
		  AND p.id = @id`, args).Scan(&a.HasPassword, &a.SignedInAt, &a.InvitedAt, &a.Sessions)
	return &a, err
}

func readReports(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) ([]ListedPerson, error) {
	rows, err := tx.Query(ctx, `
		SELECT p.id, p.code, p.name, coalesce(p.email::text, ''), p.department, p.title, 0::bigint, '', p.hired_on, p.left_on,
		       has_left(p.left_on, t.zone)
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		WHERE p.tenant_id = @tenant
		  AND p.manager_id = @id
		  AND is_covered(p.unit, p.department, p.manager_id, @units, @departments, @team_of)
		ORDER BY p.name COLLATE "pt-BR-x-icu", p.id`, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[ListedPerson])
}

// CreateTenant makes an organisation with the ready forms. It is for the operator at the command
// line; contact may be empty.
func (s *Store) CreateTenant(ctx context.Context, name, locale, zone, contact string) (id int64, err error) {
	bad := map[string]fault.Message{}
	if name = strings.TrimSpace(name); name == "" || len([]rune(name)) > 200 {
		bad["name"] = fault.Msg("tenant.name_length", "max", 200)
	} else if why, right := intake.CheckLine(name); !right { // every message comes in this name
		bad["name"] = why
	}
	if locale != "pt-BR" && locale != "en" {
		bad["locale"] = fault.Msg("intake.locale_unknown")
	}
	if _, known := appraisal.Zone(zone); !known {
		bad["zone"] = fault.Msg("tenant.zone_unknown", "zone", zone)
	}
	if contact != "" {
		if why, right := intake.CheckEmail(contact); !right {
			bad["contact"] = why
		}
	}
	if len(bad) > 0 {
		return 0, fault.Fieldsf(bad)
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		unknown := fault.Fieldsf(map[string]fault.Message{"zone": fault.Msg("tenant.zone_unknown", "zone", zone)})
		if err := checkZone(ctx, tx, zone, unknown); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `
			INSERT INTO tenants (name, locale, zone, contact_email)
			VALUES (@name, @locale, @zone, nullif(@contact, '')::citext)
			RETURNING id`, pgx.NamedArgs{"name": name, "locale": locale, "zone": zone, "contact": contact}).Scan(&id); err != nil {
			return fmt.Errorf("create organisation: %w", err)
		}
		if err := ensureReadyForms(ctx, tx, id); err != nil {
			return err
		}
		return audit(ctx, tx, policy.Actor{TenantID: id}, "tenant.created", "tenant", id, nil)
	})
	return id, err
}

// PersonInput is a person as the operator describes them at the command line.
type PersonInput struct {
	Code       string
	Name       string
	Email      string
	Department string
	Unit       string
	CostCentre string
	Title      string
	HiredOn    *time.Time
	Locale     string
}

// CreatePerson adds a person to an organisation, with a role or, when it is
// empty, none. It is for the operator at the command line: the first admin of
// an organisation can come from nowhere else.
func (s *Store) CreatePerson(ctx context.Context, tenantID int64, in PersonInput, role policy.Role) (id int64, err error) {
	if err := in.check(role); err != nil {
		return 0, err
	}
	operator := policy.Actor{TenantID: tenantID}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"tenant": tenantID, "code": in.Code, "name": in.Name, "email": in.Email, "department": in.Department,
			"unit": in.Unit, "cost_centre": in.CostCentre, "title": in.Title, "hired_on": in.HiredOn, "locale": in.Locale, "role": role}
		err := tx.QueryRow(ctx, `
			INSERT INTO people (tenant_id, code, name, email, department, unit, cost_centre, title, hired_on, locale)
			SELECT id, @code, @name, nullif(@email, '')::citext, @department, @unit, @cost_centre, @title, @hired_on::date, nullif(@locale, '')
			FROM tenants
			WHERE id = @tenant
			RETURNING id`, args).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("tenant.unknown", "id", tenantID)
		}
		if err != nil {
			return fmt.Errorf("create person: %w", err)
		}
		if role != "" {
			args["id"] = id
			if _, err := tx.Exec(ctx, `
				INSERT INTO grants (tenant_id, person_id, role)
				VALUES (@tenant, @id, @role)`, args); err != nil {
				return fmt.Errorf("grant %s to person %d: %w", role, id, err)
			}
		}
		return audit(ctx, tx, operator, "person.created", "person", id, map[string]any{"role": role})
	})
	return id, err
}

// check judges the input as if it were a line of a file, so that there is one
// set of rules for what a person may be called.
func (in *PersonInput) check(role policy.Role) error {
	sheet := &intake.Sheet{Rows: []intake.Row{{Line: 1}}}
	var mapping intake.Mapping
	for _, c := range []struct {
		field intake.Field
		value string
	}{
		{intake.EmployeeCode, in.Code}, {intake.Name, in.Name}, {intake.Email, in.Email}, {intake.Department, in.Department},
		{intake.Unit, in.Unit}, {intake.CostCentre, in.CostCentre}, {intake.JobTitle, in.Title}, {intake.Locale, in.Locale},
	} {
		mapping = append(mapping, c.field)
		sheet.Headers = append(sheet.Headers, string(c.field))
		sheet.Rows[0].Cells = append(sheet.Rows[0].Cells, c.value)
	}
	bad := map[string]fault.Message{}
	row := intake.ReadPeople(sheet, mapping, intake.OrderDMY)[0]
	for _, p := range row.Problems {
		bad[string(p.Field)] = p.Why
	}
	if role != "" && !slices.Contains([]policy.Role{policy.Admin, policy.HRManager}, role) {
		bad["role"] = fault.Msg("intake.role_unknown")
	}
	if len(bad) > 0 {
		return fault.Fieldsf(bad)
	}
	in.Code, in.Name, in.Email, in.Locale = row.Code, row.Name, said(row.Email), said(row.Locale)
	in.Department, in.Unit, in.CostCentre, in.Title = said(row.Department), said(row.Unit), said(row.CostCentre), said(row.JobTitle)
	return nil
}

// said is what a line says, or nothing.
func said(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}
