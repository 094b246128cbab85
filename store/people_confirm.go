package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/intake"
	"ciclo/internal/policy"
)

// PeopleImported is what a people file did to the records.
type PeopleImported struct {
	Created, Updated, Unchanged, Rejected int
}

// ConfirmPeople stores what the preview of a file has shown, whole or not at
// all: lines shown as rejected stay out. Every accepted line is judged again at
// this moment; when one would now turn out otherwise, nothing is stored, the
// preview is brought up to date, and the answer is a Conflict that names the
// line, the column, the value and what would be right. A second confirmation
// is told that the first has happened. While lines wait for a decision it is
// refused, unless the person says that those stay out.
func (s *Store) ConfirmPeople(ctx context.Context, by policy.Actor, id int64, leaveOut bool) (done PeopleImported, err error) {
	// Somebody else may take a code between our look and our insert. They have
	// committed by the time we are refused, so the next look sees them.
	for range 3 {
		if done, err = s.confirmPeople(ctx, by, id, leaveOut); !taken(err) {
			break
		}
	}
	return done, err
}

// taken reports whether a code or an address was no longer free.
func taken(err error) bool {
	f := fault.As(err)
	return f != nil && (f.Key == "person.code_taken" || f.Key == "person.email_taken")
}

func (s *Store) confirmPeople(ctx context.Context, by policy.Actor, id int64, leaveOut bool) (done PeopleImported, err error) {
	var stale error
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		done, stale = PeopleImported{}, nil
		f, err := readPeopleFile(ctx, tx, by, id, true)
		if err != nil {
			return err
		}
		accepted, err := f.accepted(ctx, tx, by.TenantID)
		if err != nil {
			return err
		}
		if accepted, stale, err = settleOpen(ctx, tx, by, f, accepted, leaveOut); err != nil || stale != nil {
			return err
		}
		lines, err := judgeAgain(ctx, tx, by, f, accepted)
		if err != nil {
			return err
		}
		if stale = staleLine(f.columns(), accepted, lines); stale != nil {
			sheet, err := readSheet(ctx, tx, by.TenantID, f, 0)
			if err != nil {
				return err
			}
			return comparePeopleFile(ctx, tx, by, f, sheet) // the preview as it is now; no person changes
		}
		if err := s.storePeople(ctx, tx, by, id, lines); err != nil {
			return err
		}
		done, err = noteImported(ctx, tx, by, f)
		return err
	})
	if err == nil && stale != nil {
		return PeopleImported{}, stale
	}
	return done, err
}

// acceptedLine is a line that the preview showed as new or changed.
type acceptedLine struct {
	stagedPerson
	Verdict string
	Changes []PersonChange
}

// accepted reads the lines that a confirmation stands for.
func (f PeopleFile) accepted(ctx context.Context, tx pgx.Tx, tenant int64) ([]acceptedLine, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	if f.State != ImportCompared {
		return nil, fault.Conflictf("people.import_not_compared", "file", f.FileName)
	}
	rows, err := tx.Query(ctx, `
		SELECT row, verdict, changes
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @id
		  AND verdict IN ('create', 'update')
		ORDER BY line`, pgx.NamedArgs{"tenant": tenant, "id": f.ID})
	if err != nil {
		return nil, fmt.Errorf("read accepted lines of import %d: %w", f.ID, err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l acceptedLine, err error) {
		return l, row.Scan(&l.stagedPerson, &l.Verdict, &l.Changes)
	})
	if err != nil {
		return nil, fmt.Errorf("read accepted lines of import %d: %w", f.ID, err)
	}
	if len(lines) == 0 {
		return nil, fault.Conflictf("people.import_nothing", "file", f.FileName)
	}
	return lines, nil
}

// settleOpen leaves out the lines that nobody has decided about, if the person
// says so. Where others fall with them, that is a Conflict, and the preview
// shows it.
func settleOpen(ctx context.Context, tx pgx.Tx, by policy.Actor, f PeopleFile, accepted []acceptedLine, leaveOut bool) (now []acceptedLine, stale, err error) {
	var open int
	if err := tx.QueryRow(ctx, `
		SELECT count(*)
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @id
		  AND verdict = 'decide'`, pgx.NamedArgs{"tenant": by.TenantID, "id": f.ID}).Scan(&open); err != nil {
		return nil, nil, fmt.Errorf("count open lines of import %d: %w", f.ID, err)
	}
	if open == 0 {
		return accepted, nil, nil
	}
	if !leaveOut {
		return nil, nil, fault.Conflictf("people.decisions_open", "n", open)
	}
	if _, err := decideAbout(ctx, tx, by.TenantID, f.ID, Decisions{All: AllOut}); err != nil {
		return nil, nil, err
	}
	sheet, err := readSheet(ctx, tx, by.TenantID, f, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := comparePeopleFile(ctx, tx, by, f, sheet); err != nil {
		return nil, nil, err
	}
	if now, err = f.accepted(ctx, tx, by.TenantID); fault.KindOf(err) == fault.Conflict || err == nil && len(now) != len(accepted) {
		return nil, fault.Conflictf("people.others_fall", "n", len(accepted)-len(now)), nil
	}
	return now, nil, err
}

// judgeAgain compares the accepted lines with the records of this moment. Of a
// line that updates, only what the preview showed as changed counts.
func judgeAgain(ctx context.Context, tx pgx.Tx, by policy.Actor, f PeopleFile, accepted []acceptedLine) ([]*PeopleLine, error) {
	var ids []int64
	choices := map[int]map[string]string{}
	for _, l := range accepted {
		choices[l.Line] = l.Settled
		if l.PersonID != 0 {
			ids = append(ids, l.PersonID)
		}
	}
	// In the order of their numbers, so that two who lock people never wait for each other.
	if _, err := tx.Exec(ctx, `
		SELECT id
		FROM people
		WHERE tenant_id = @tenant
		  AND id = ANY (@ids)
		ORDER BY id
		FOR NO KEY UPDATE`, pgx.NamedArgs{"tenant": by.TenantID, "ids": ids}); err != nil {
		return nil, fmt.Errorf("lock the people of import %d: %w", f.ID, err)
	}
	known, err := readKnownPeople(ctx, tx, by.TenantID)
	if err != nil {
		return nil, err
	}
	names := make(map[int64]string, len(known))
	for _, p := range known {
		names[p.ID] = p.Name
	}
	rows := make([]intake.PersonRow, len(accepted))
	for i, l := range accepted {
		rows[i] = l.PersonRow
		if l.Verdict == LineUpdates {
			rows[i] = l.onlyChanges(names[l.PersonID])
		}
	}
	return comparePeople(rows, choices, f.columns(), known, importerOf(by)), nil
}

// onlyChanges is the line with nothing in it but what was shown as changed.
func (l acceptedLine) onlyChanges(name string) intake.PersonRow {
	row := intake.PersonRow{Line: l.Line, Code: l.Code, Name: name}
	for _, c := range l.Changes {
		switch c.Field {
		case intake.EmployeeCode: // recognised by the address
			row.Email = l.Email
		case intake.Name:
			row.Name = l.Name
		case intake.Email:
			row.Email = l.Email
		case intake.Department:
			row.Department = l.Department
		case intake.Unit:
			row.Unit = l.Unit
		case intake.CostCentre:
			row.CostCentre = l.CostCentre
		case intake.JobTitle:
			row.JobTitle = l.JobTitle
		case intake.Manager:
			row.Manager = l.Manager
		case intake.HiredOn:
			row.HiredOn = l.HiredOn
		case intake.LeftOn:
			row.LeftOn = l.LeftOn
		case intake.Locale:
			row.Locale = l.Locale
		case intake.Role:
			row.Role = l.Role
		case intake.Unmapped:
			if row.Attributes == nil {
				row.Attributes = map[string]string{}
			}
			row.Attributes[c.Attribute] = l.Attributes[c.Attribute]
		}
	}
	return row
}

// staleLine answers the first line that would no longer do what the preview
// showed, as a Conflict; nil when all still would.
func staleLine(column map[intake.Field]string, accepted []acceptedLine, lines []*PeopleLine) error {
	c := comparison{column: column}
	for i, l := range lines {
		was := accepted[i]
		switch {
		case len(l.Problems) > 0:
		case len(l.open) > 0:
			l.Problems = append(l.Problems, l.openProblem())
		case was.PersonID == 0 && l.PersonID != 0:
			c.refuse(l, intake.EmployeeCode, l.Row.Code, "people.code_taken_meanwhile", "name", l.nameNow)
		case was.PersonID != l.PersonID:
			c.refuse(l, intake.EmployeeCode, l.Row.Code, "people.code_gone_meanwhile")
		case l.Row.Manager != nil && was.ManagedBy != l.managedBy:
			c.refuse(l, intake.Manager, l.Row.Manager.Text, "people.manager_changed_meanwhile", "then", was.Boss, "now", l.Manager)
		default:
			continue
		}
		return fault.Conflictf("people.import_stale", "line", l.Row.Line, "what", l.Problems[0].Message())
	}
	return nil
}

// storedPerson is one line on its way into the records; null leaves a fact as
// it is.
type storedPerson struct {
	ID         int64             `json:"id"`
	Code       string            `json:"code"`
	Name       string            `json:"name"`
	Email      *string           `json:"email"`
	Department *string           `json:"department"`
	Unit       *string           `json:"unit"`
	CostCentre *string           `json:"cost_centre"`
	Title      *string           `json:"title"`
	HiredOn    *time.Time        `json:"hired_on"`
	LeftOn     *time.Time        `json:"left_on"`
	Locale     *string           `json:"locale"`
	Attributes map[string]string `json:"attributes"`
	Manager    *string           `json:"manager"`
	Role       *string           `json:"role"`
	Act        string            `json:"act"`
	Detail     map[string]any    `json:"detail"`
}

func (l *PeopleLine) stored(importID int64) storedPerson {
	r := l.Row
	p := storedPerson{ID: l.PersonID, Code: r.Code, Name: r.Name, Email: r.Email, Department: r.Department, Unit: r.Unit, CostCentre: r.CostCentre,
		Title: r.JobTitle, HiredOn: r.HiredOn, LeftOn: r.LeftOn, Locale: r.Locale, Attributes: r.Attributes, Role: r.Role,
		Act: "person.created", Detail: map[string]any{"line": r.Line}}
	if importID != 0 {
		p.Detail["import"] = importID
	}
	if l.PersonID != 0 {
		p.Act, p.Detail["changes"] = "person.updated", l.Changes
		if !strings.HasPrefix(l.settled[AskAddress], answerSame) { // a code that differs by case or zeros stays as it is
			p.Code = l.knownAs
		} else if !slices.ContainsFunc(l.Changes, func(c PersonChange) bool { return c.Field == intake.Email }) {
			p.Email = nil // it told who they are, and differs at most by case
		}
	}
	if r.Manager != nil {
		p.Manager = &l.managedBy
	}
	return p
}

// storePeople writes the lines that create or update somebody: as many
// statements for three thousand as for three.
func (s *Store) storePeople(ctx context.Context, tx pgx.Tx, by policy.Actor, importID int64, lines []*PeopleLine) error {
	created, updated, managed, granted := []storedPerson{}, []storedPerson{}, []storedPerson{}, []storedPerson{}
	for _, l := range lines {
		p := l.stored(importID)
		if l.Verdict == LineCreates {
			created = append(created, p)
		} else if l.Verdict == LineUpdates {
			updated = append(updated, p)
		} else {
			continue
		}
		if p.Manager != nil {
			managed = append(managed, p)
		}
		if p.Role != nil {
			granted = append(granted, p)
		}
	}
	if err := lockRoles(ctx, tx, by.TenantID); err != nil {
		return err
	}
	had, err := hasAdmin(ctx, tx, by.TenantID)
	if err != nil {
		return err
	}
	moved, err := movedAddresses(ctx, tx, by.TenantID, updated)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		what  string
		lines []storedPerson
		do    func(context.Context, pgx.Tx, pgx.NamedArgs) (int64, error)
	}{
		{"create people", created, insertPeople},
		{"update people", updated, updatePeople},
		{"say who manages whom", managed, assignManagers},
		{"grant roles", granted, grantRoles},
		{"audit people", append(created, updated...), auditPeople},
	} {
		if len(step.lines) == 0 {
			continue
		}
		n, err := step.do(ctx, tx, pgx.NamedArgs{"tenant": by.TenantID, "actor": by.PersonID, "lines": step.lines})
		if err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if n != int64(len(step.lines)) {
			return fmt.Errorf("%s: %d of %d lines were stored", step.what, n, len(step.lines))
		}
	}
	has, err := hasAdmin(ctx, tx, by.TenantID)
	switch {
	case err != nil:
		return err
	case had && !has:
		return fault.Conflictf("people.last_admin")
	}
	return s.rotateImported(ctx, tx, by, moved)
}

// movedAddresses are the addresses that the lines are about to replace.
func movedAddresses(ctx context.Context, tx pgx.Tx, tenant int64, updated []storedPerson) ([]oldAddress, error) {
	rows, err := tx.Query(ctx, `
		SELECT p.id, coalesce(p.email::text, '')
		FROM jsonb_to_recordset(@lines::jsonb) AS line (id bigint, email citext)
		JOIN people p ON p.tenant_id = @tenant AND p.id = line.id
		WHERE line.email IS NOT NULL
		  AND line.email IS DISTINCT FROM p.email
		ORDER BY p.id`, pgx.NamedArgs{"tenant": tenant, "lines": updated})
	if err != nil {
		return nil, fmt.Errorf("find addresses that change: %w", err)
	}
	moved, err := pgx.CollectRows(rows, pgx.RowToStructByPos[oldAddress])
	if err != nil {
		return nil, fmt.Errorf("find addresses that change: %w", err)
	}
	return moved, nil
}

func insertPeople(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (int64, error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO people (tenant_id, code, name, email, department, unit, cost_centre, title, hired_on, left_on, locale, attributes)
		SELECT @tenant::bigint, code, name, email, coalesce(department, ''), coalesce(unit, ''), coalesce(cost_centre, ''), coalesce(title, ''),
		       hired_on, left_on, locale, coalesce(attributes, '{}')
		FROM jsonb_to_recordset(@lines::jsonb) AS line (code text, name text, email citext, department text, unit text, cost_centre text, title text,
		       hired_on date, left_on date, locale text, attributes jsonb)`, args)
	return tag.RowsAffected(), err
}

func updatePeople(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (int64, error) {
	tag, err := tx.Exec(ctx, `
		UPDATE people p
		SET code = line.code, name = line.name, email = coalesce(line.email, p.email), department = coalesce(line.department, p.department),
		    unit = coalesce(line.unit, p.unit), cost_centre = coalesce(line.cost_centre, p.cost_centre), title = coalesce(line.title, p.title),
		    hired_on = coalesce(line.hired_on, p.hired_on), left_on = coalesce(line.left_on, p.left_on), locale = coalesce(line.locale, p.locale),
		    attributes = p.attributes || coalesce(line.attributes, '{}'), updated_at = now()
		FROM jsonb_to_recordset(@lines::jsonb) AS line (id bigint, code text, name text, email citext, department text, unit text, cost_centre text, title text,
		       hired_on date, left_on date, locale text, attributes jsonb)
		WHERE p.tenant_id = @tenant
		  AND p.id = line.id`, args)
	return tag.RowsAffected(), err
}

// assignManagers comes after everybody is there: a manager may be in the same file.
func assignManagers(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (int64, error) {
	tag, err := tx.Exec(ctx, `
		UPDATE people p
		SET manager_id = manager.id
		FROM jsonb_to_recordset(@lines::jsonb) AS line (code text, manager text)
		JOIN people manager ON manager.tenant_id = @tenant AND manager.code = line.manager
		WHERE p.tenant_id = @tenant
		  AND p.code = line.code`, args)
	return tag.RowsAffected(), err
}

// grantRoles gives each person exactly the role that their line says. What they
// were signed in to ends: rights are read when a session begins.
func grantRoles(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (n int64, err error) {
	err = tx.QueryRow(ctx, `
		WITH line AS (
			SELECT p.id, line.role
			FROM jsonb_to_recordset(@lines::jsonb) AS line (code text, role text)
			JOIN people p ON p.tenant_id = @tenant AND p.code = line.code
		), revoked AS (
			DELETE FROM grants g
			USING line
			WHERE g.tenant_id = @tenant
			  AND g.person_id = line.id
			  AND g.scope = 'organisation'
			  AND g.role <> line.role -- a partner's scopes are given and taken on the page alone
		), granted AS (
			INSERT INTO grants (tenant_id, person_id, role)
			SELECT @tenant::bigint, id, role
			FROM line
			WHERE role <> 'employee'
			ON CONFLICT ON CONSTRAINT grants_key DO NOTHING
		), ended AS (
			DELETE FROM sessions s
			USING line
			WHERE s.tenant_id = @tenant
			  AND s.person_id = line.id
			  AND s.cycle_id IS NULL
		)
		SELECT count(*)
		FROM line`, args).Scan(&n)
	return n, err
}

func auditPeople(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (int64, error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id, detail)
		SELECT @tenant::bigint, nullif(@actor::bigint, 0), line.act, 'person', p.id, line.detail
		FROM jsonb_to_recordset(@lines::jsonb) AS line (code text, act text, detail jsonb)
		JOIN people p ON p.tenant_id = @tenant AND p.code = line.code`, args)
	return tag.RowsAffected(), err
}

// hasAdmin reports whether an organisation has an admin who has not left.
func hasAdmin(ctx context.Context, tx pgx.Tx, tenant int64) (there bool, err error) {
	err = tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT
			FROM grants g
			JOIN people p ON p.tenant_id = g.tenant_id AND p.id = g.person_id
			JOIN tenants t ON t.id = g.tenant_id
			WHERE g.tenant_id = @tenant
			  AND g.role = 'admin'
			  AND NOT has_left(p.left_on, t.zone)
		)`, pgx.NamedArgs{"tenant": tenant}).Scan(&there)
	if err != nil {
		return false, fmt.Errorf("look for an admin: %w", err)
	}
	return there, nil
}

// noteImported marks the file as confirmed and says what it did.
func noteImported(ctx context.Context, tx pgx.Tx, by policy.Actor, f PeopleFile) (done PeopleImported, err error) {
	args := pgx.NamedArgs{"tenant": by.TenantID, "id": f.ID}
	if _, err := tx.Exec(ctx, `
		UPDATE imports
		SET state = 'confirmed', confirmed_at = now()
		WHERE tenant_id = @tenant
		  AND id = @id`, args); err != nil {
		return done, fmt.Errorf("confirm import %d: %w", f.ID, err)
	}
	if err := tx.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE verdict = 'create'), count(*) FILTER (WHERE verdict = 'update'),
		       count(*) FILTER (WHERE verdict = 'unchanged'), count(*) FILTER (WHERE verdict = 'reject')
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @id`, args).Scan(&done.Created, &done.Updated, &done.Unchanged, &done.Rejected); err != nil {
		return done, fmt.Errorf("count import %d: %w", f.ID, err)
	}
	return done, audit(ctx, tx, by, "people.imported", "import", f.ID, done.detail(f.FileName))
}

func (p PeopleImported) detail(file string) map[string]any {
	return map[string]any{"file": file, "created": p.Created, "updated": p.Updated, "unchanged": p.Unchanged, "rejected": p.Rejected}
}

// PeopleFileOptions say how the operator wants a file read.
type PeopleFileOptions struct {
	// DateOrder is needed only where the file leaves it open.
	DateOrder intake.Order
	// DryRun compares and stores nothing.
	DryRun bool
}

// ImportPeopleFile reads, compares and stores a people file in one go, for the
// operator at the command line: the columns are known by their names, roles
// count, and rejected lines stay out and come back with the reason.
func (s *Store) ImportPeopleFile(ctx context.Context, tenantID int64, name string, body []byte, o PeopleFileOptions) (done PeopleImported, rejected []PeopleLine, err error) {
	sheet, err := ReadFile(ctx, name, body, intake.PeopleColumns)
	if err != nil {
		return done, nil, err
	}
	f := PeopleFile{FileName: sheet.Name, Headers: sheet.Headers, Mapping: intake.PeopleColumns.Guess(sheet.Headers), DateOrder: o.DateOrder}
	if err := intake.PeopleColumns.Check(sheet, f.Mapping); err != nil {
		return done, nil, err
	}
	if f.DateOrder == "" {
		f.DateOrder = intake.DateOrder(sheet, f.Mapping)
	}
	if !slices.Contains(intake.Orders, f.DateOrder) {
		return done, nil, fault.Invalidf("people.date_order_required")
	}
	rows := intake.ReadPeople(sheet, f.Mapping, f.DateOrder)
	for range 3 {
		if done, rejected, err = s.importPeople(ctx, tenantID, f, rows, o.DryRun); !taken(err) {
			break
		}
	}
	return done, rejected, err
}

func (s *Store) importPeople(ctx context.Context, tenantID int64, f PeopleFile, rows []intake.PersonRow, dry bool) (done PeopleImported, rejected []PeopleLine, err error) {
	operator := policy.Actor{TenantID: tenantID}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		done, rejected = PeopleImported{}, nil
		var there int64
		err := tx.QueryRow(ctx, `
			SELECT id
			FROM tenants
			WHERE id = @tenant`, pgx.NamedArgs{"tenant": tenantID}).Scan(&there)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("tenant.unknown", "id", tenantID)
		}
		if err != nil {
			return fmt.Errorf("find organisation %d: %w", tenantID, err)
		}
		if err := takeImportTurn(ctx, tx, tenantID); err != nil {
			return err
		}
		known, err := readKnownPeople(ctx, tx, tenantID)
		if err != nil {
			return err
		}
		nobody := importerOf(operator)
		nobody.Absent = true
		lines := comparePeople(rows, nil, f.columns(), known, nobody)
		for _, l := range lines {
			switch l.Verdict {
			case LineCreates:
				done.Created++
			case LineUpdates:
				done.Updated++
			case LineUnchanged:
				done.Unchanged++
			case LineRejected:
				done.Rejected++
				rejected = append(rejected, *l)
			}
		}
		if dry || done.Created+done.Updated == 0 {
			return nil
		}
		if err := s.storePeople(ctx, tx, operator, 0, lines); err != nil {
			return err
		}
		return audit(ctx, tx, operator, "people.imported", "tenant", tenantID, done.detail(f.FileName))
	})
	return done, rejected, err
}
