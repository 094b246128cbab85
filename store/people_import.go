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

// How far a staged file has come.
const (
	ImportUploaded  = "uploaded"
	ImportCompared  = "compared"
	ImportConfirmed = "confirmed"
)

// StagePeople keeps a people file for a day, with the columns as far as they
// are known by their names, and changes nothing else.
func (s *Store) StagePeople(ctx context.Context, by policy.Actor, fileName string, body []byte) (id int64, err error) {
	if err := policy.Can(by, policy.ImportPeople, policy.Of(by)); err != nil {
		return 0, err // before the work of reading
	}
	sheet, err := ReadFile(ctx, fileName, body, intake.PeopleColumns)
	if err != nil {
		return 0, err
	}
	mapping := intake.PeopleColumns.Guess(sheet.Headers)
	order := intake.DateOrder(sheet, mapping)
	dates := slices.Contains(mapping, intake.HiredOn) || slices.Contains(mapping, intake.LeftOn)
	if order == intake.OrderOpen || !dates { // another column may turn out to hold dates
		order = ""
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.ImportPeople, policy.Of(by)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			DELETE FROM imports
			WHERE tenant_id = @tenant
			  AND expires_at < now()`, pgx.NamedArgs{"tenant": by.TenantID}); err != nil {
			return fmt.Errorf("forget old files: %w", err)
		}
		if err := tx.QueryRow(ctx, `
			INSERT INTO imports (tenant_id, kind, uploaded_by, file_name, encoding, separator, tab, headers, mapping, date_order, lines)
			VALUES (@tenant, 'people', @actor, @name, @encoding, @separator, @tab, @headers, @mapping, @order, @lines)
			RETURNING id`,
			pgx.NamedArgs{"tenant": by.TenantID, "actor": by.PersonID, "name": sheet.Name, "encoding": sheet.Encoding, "separator": sheet.Separator, "tab": sheet.Tab,
				"headers": sheet.Headers, "mapping": mapping, "order": order, "lines": len(sheet.Rows)}).Scan(&id); err != nil {
			return fmt.Errorf("stage people: %w", err)
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"import_lines"}, []string{"tenant_id", "import_id", "line", "cells"},
			pgx.CopyFromSlice(len(sheet.Rows), func(i int) ([]any, error) {
				return []any{by.TenantID, id, sheet.Rows[i].Line, sheet.Rows[i].Cells}, nil
			}))
		if err != nil {
			return fmt.Errorf("stage lines of import %d: %w", id, err)
		}
		return nil
	})
	return id, err
}

// PeopleFile is a staged people file: how it was understood and how far it is.
type PeopleFile struct {
	ID          int64
	FileName    string
	Encoding    string
	Separator   string
	Tab         string // the sheet of a workbook
	Headers     []string
	Mapping     intake.Mapping
	DateOrder   intake.Order // "" while it is open
	State       string
	Lines       int
	ExpiresAt   time.Time
	ConfirmedAt *time.Time
}

// columns names the fields as the file does.
func (f PeopleFile) columns() map[intake.Field]string {
	names := map[intake.Field]string{}
	for i, field := range f.Mapping {
		if field != intake.Unmapped && field != intake.Ignored && i < len(f.Headers) {
			names[field] = f.Headers[i]
		}
	}
	return names
}

// readPeopleFile reads a file that its importer alone may see, and only for a day.
func readPeopleFile(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64, lock bool) (f PeopleFile, err error) {
	if err := policy.Can(by, policy.ImportPeople, policy.Of(by)); err != nil {
		return f, err
	}
	args := pgx.NamedArgs{"tenant": by.TenantID, "actor": by.PersonID, "id": id}
	if lock {
		if err := takeImportTurn(ctx, tx, by.TenantID); err != nil {
			return f, err
		}
	}
	err = tx.QueryRow(ctx, `
		SELECT id, file_name, encoding, separator, tab, headers, mapping, date_order, state, lines, expires_at, confirmed_at
		FROM imports
		WHERE tenant_id = @tenant
		  AND id = @id
		  AND kind = 'people'
		  AND uploaded_by = @actor
		  AND expires_at > now()`, args).
		Scan(&f.ID, &f.FileName, &f.Encoding, &f.Separator, &f.Tab, &f.Headers, &f.Mapping, &f.DateOrder, &f.State, &f.Lines, &f.ExpiresAt, &f.ConfirmedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return f, fault.NotFoundf("people.import_gone")
	}
	if err != nil {
		return f, fmt.Errorf("read import %d: %w", id, err)
	}
	return f, nil
}

// takeImportTurn serves the imports of one organisation one after the other,
// until each has committed.
func takeImportTurn(ctx context.Context, tx pgx.Tx, tenant int64) error {
	if _, err := tx.Exec(ctx, `
		SELECT pg_advisory_xact_lock(hashtextextended('people import', @tenant::bigint))`, pgx.NamedArgs{"tenant": tenant}); err != nil {
		return fmt.Errorf("wait for other imports: %w", err)
	}
	return nil
}

// readSheet reads the staged cells back; limit 0 reads all of them.
func readSheet(ctx context.Context, tx pgx.Tx, tenant int64, f PeopleFile, limit int) (*intake.Sheet, error) {
	rows, err := tx.Query(ctx, `
		SELECT line, cells
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @id
		ORDER BY line
		LIMIT nullif(@limit::bigint, 0)`, pgx.NamedArgs{"tenant": tenant, "id": f.ID, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("read lines of import %d: %w", f.ID, err)
	}
	sheet := &intake.Sheet{Name: f.FileName, Encoding: f.Encoding, Separator: f.Separator, Tab: f.Tab, Headers: f.Headers}
	sheet.Rows, err = pgx.CollectRows(rows, pgx.RowToStructByPos[intake.Row])
	if err != nil {
		return nil, fmt.Errorf("read lines of import %d: %w", f.ID, err)
	}
	return sheet, nil
}

// PeopleColumns is a staged file before it is compared: what each column holds.
type PeopleColumns struct {
	PeopleFile
	Samples [][]string // the first values of each column
	// Example is a date of the file, and the day each order makes of it.
	Example string
	Days    map[intake.Order]time.Time
}

// sampled is how many lines are looked at for samples.
const sampled = 1000

// PeopleColumns answers what a person needs to know to say what the columns mean.
func (s *Store) PeopleColumns(ctx context.Context, by policy.Actor, id int64) (c PeopleColumns, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if c.PeopleFile, err = readPeopleFile(ctx, tx, by, id, false); err != nil {
			return err
		}
		sheet, err := readSheet(ctx, tx, by.TenantID, c.PeopleFile, sampled)
		if err != nil {
			return err
		}
		c.Samples = make([][]string, len(c.Headers))
		for i := range c.Headers {
			c.Samples[i] = sheet.Sample(i, 3)
		}
		c.exampleDate(sheet)
		return nil
	})
	return c, err
}

// exampleDate picks a date that the orders read as different days, if there is
// one.
func (c *PeopleColumns) exampleDate(sheet *intake.Sheet) {
	c.Days = map[intake.Order]time.Time{}
	dmy, mdy := intake.ReadPeople(sheet, c.Mapping, intake.OrderDMY), intake.ReadPeople(sheet, c.Mapping, intake.OrderMDY)
	for _, field := range []intake.Field{intake.HiredOn, intake.LeftOn} {
		at := slices.Index(c.Mapping, field)
		for i, row := range sheet.Rows {
			if at < 0 || at >= len(row.Cells) || strings.TrimSpace(row.Cells[at]) == "" {
				continue
			}
			a, b := dateOf(dmy[i], field), dateOf(mdy[i], field)
			open := a != nil && b != nil && !a.Equal(*b)
			if c.Example != "" && !open {
				continue
			}
			c.Example = strings.TrimSpace(row.Cells[at])
			clear(c.Days)
			for order, day := range map[intake.Order]*time.Time{intake.OrderDMY: a, intake.OrderMDY: b} {
				if day != nil {
					c.Days[order] = *day
				}
			}
			if open {
				return
			}
		}
	}
}

func dateOf(row intake.PersonRow, f intake.Field) *time.Time {
	if f == intake.LeftOn {
		return row.LeftOn
	}
	return row.HiredOn
}

// ComparePeople reads a staged file as the mapping says and compares it with
// the records, line by line; an earlier comparison is forgotten. Nothing else
// changes. An empty order is found out, and asked for when the file is open.
func (s *Store) ComparePeople(ctx context.Context, by policy.Actor, id int64, mapping intake.Mapping, order intake.Order) error {
	giveBack, err := takeParse(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	return s.inTx(ctx, func(tx pgx.Tx) error {
		f, err := readPeopleFile(ctx, tx, by, id, true)
		if err != nil {
			return err
		}
		if err := f.open(); err != nil {
			return err
		}
		sheet, err := readSheet(ctx, tx, by.TenantID, f, 0)
		if err != nil {
			return err
		}
		if err := intake.PeopleColumns.Check(sheet, mapping); err != nil {
			return err
		}
		if order == "" {
			order = intake.DateOrder(sheet, mapping)
		}
		if !slices.Contains(intake.Orders, order) {
			return fault.Fieldsf(map[string]fault.Message{"date_order": fault.Msg("people.date_order_required")})
		}
		f.Mapping, f.DateOrder = mapping, order
		return comparePeopleFile(ctx, tx, by, f, sheet)
	})
}

// open refuses what has been imported already.
func (f PeopleFile) open() error {
	if f.State == ImportConfirmed {
		return fault.Conflictf("people.import_done", "file", f.FileName, "when", *f.ConfirmedAt)
	}
	return nil
}

// comparePeopleFile judges the lines against the records as they are now, and
// keeps the verdicts.
func comparePeopleFile(ctx context.Context, tx pgx.Tx, by policy.Actor, f PeopleFile, sheet *intake.Sheet) error {
	known, err := readKnownPeople(ctx, tx, by.TenantID)
	if err != nil {
		return err
	}
	choices, err := readChoices(ctx, tx, by.TenantID, f.ID)
	if err != nil {
		return err
	}
	rows := intake.ReadPeople(sheet, f.Mapping, f.DateOrder)
	lines := comparePeople(rows, choices, f.columns(), known, importerOf(by))
	if err := keepPeopleLines(ctx, tx, by.TenantID, f.ID, lines); err != nil {
		return fmt.Errorf("keep the comparison of import %d: %w", f.ID, err)
	}
	_, err = tx.Exec(ctx, `
		UPDATE imports
		SET state = 'compared', mapping = @mapping, date_order = @order
		WHERE tenant_id = @tenant
		  AND id = @id`,
		pgx.NamedArgs{"tenant": by.TenantID, "id": f.ID, "mapping": f.Mapping, "order": f.DateOrder})
	if err != nil {
		return fmt.Errorf("note the comparison of import %d: %w", f.ID, err)
	}
	return nil
}

func importerOf(by policy.Actor) importer {
	return importer{PersonID: by.PersonID, GrantsRole: by.PersonID == 0 || policy.May(by, policy.GrantRoles)}
}

// readKnownPeople reads everybody in the records as an import sees them.
func readKnownPeople(ctx context.Context, tx pgx.Tx, tenant int64) ([]knownPerson, error) {
	rows, err := tx.Query(ctx, `
		SELECT p.id, p.code, p.name, coalesce(p.email::text, ''), p.department, p.unit, p.cost_centre, p.title,
		       coalesce(p.manager_id, 0), p.hired_on, p.left_on, coalesce(p.locale, ''), p.attributes,
		       ARRAY(SELECT g.role FROM grants g WHERE g.tenant_id = p.tenant_id AND g.person_id = p.id AND g.scope = 'organisation' ORDER BY g.role),
		       EXISTS (SELECT FROM grants g WHERE g.tenant_id = p.tenant_id AND g.person_id = p.id)
		FROM people p
		WHERE p.tenant_id = @tenant
		ORDER BY p.id`, pgx.NamedArgs{"tenant": tenant})
	if err != nil {
		return nil, fmt.Errorf("read the records: %w", err)
	}
	known, err := pgx.CollectRows(rows, pgx.RowToStructByPos[knownPerson])
	if err != nil {
		return nil, fmt.Errorf("read the records: %w", err)
	}
	return known, nil
}

// stagedPerson is what a line says, and whom it is about, as it is kept.
type stagedPerson struct {
	intake.PersonRow
	PersonID  int64  `json:"person_id,omitempty"`
	Boss      string `json:"boss,omitempty"`
	ManagedBy string `json:"managed_by,omitempty"`
	// Settled are the answers that counted, so that the confirmation asks no more.
	Settled map[string]string `json:"settled,omitempty"`
}

// keepPeopleLines writes the verdicts beside the staged cells.
func keepPeopleLines(ctx context.Context, tx pgx.Tx, tenant, id int64, lines []*PeopleLine) error {
	type kept struct {
		Line      int              `json:"line"`
		Verdict   string           `json:"verdict"`
		Title     string           `json:"title"`
		Row       stagedPerson     `json:"row"`
		Changes   []PersonChange   `json:"changes"`
		Problems  []intake.Problem `json:"problems"`
		Notes     []string         `json:"notes"`
		Questions []Question       `json:"questions"`
	}
	all := make([]kept, len(lines))
	for i, l := range lines {
		all[i] = kept{
			Line: l.Row.Line, Verdict: l.Verdict, Title: strings.Join([]string{l.Row.Name, said(l.Row.Email), l.Row.Code}, " "),
			Row:     stagedPerson{l.Row, l.PersonID, l.Manager, l.managedBy, l.settled},
			Changes: append([]PersonChange{}, l.Changes...), Problems: append([]intake.Problem{}, l.Problems...), Notes: append([]string{}, l.Notes...),
			Questions: append([]Question{}, l.Questions...),
		}
	}
	_, err := tx.Exec(ctx, `
		UPDATE import_lines l
		SET verdict = k.verdict, title = k.title, row = k.row, changes = k.changes, problems = k.problems, questions = k.questions,
		    notes = ARRAY(SELECT jsonb_array_elements_text(k.notes))
		FROM jsonb_to_recordset(@lines::jsonb) AS k(line int, verdict text, title text, row jsonb, changes jsonb, problems jsonb, notes jsonb, questions jsonb)
		WHERE l.tenant_id = @tenant
		  AND l.import_id = @id
		  AND l.line = k.line`, pgx.NamedArgs{"tenant": tenant, "id": id, "lines": all})
	return err
}

// PeopleLinesQuery narrows the preview. "changes" is every verdict but unchanged.
type PeopleLinesQuery struct {
	Q       string
	Verdict string
	Note    string
	Sort    string // line or name, with a minus for descending; faults first when empty
	Limit   int
	Offset  int
}

// LinesDecided asks for the lines that wait for a decision or have had one.
const LinesDecided = "decided"

// PeopleImport is a staged file with one page of its lines.
type PeopleImport struct {
	PeopleFile
	Verdicts  map[string]int
	Notes     map[string]int
	Untouched int // people who are not in the file
	Decided   int // lines about which a person has said something
	OpenZeros int // open lines that ask about zeros
	// RolesLeftOut says that the file has roles and that the importer may not grant any.
	RolesLeftOut bool
	Page         []PeopleLine
	Total        int
}

// Accepted is how many people the confirmation would write.
func (p PeopleImport) Accepted() int { return p.Verdicts[LineCreates] + p.Verdicts[LineUpdates] }

// PeopleImport reads the preview of a staged people file.
func (s *Store) PeopleImport(ctx context.Context, by policy.Actor, id int64, q PeopleLinesQuery) (p PeopleImport, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if p.PeopleFile, err = readPeopleFile(ctx, tx, by, id, false); err != nil {
			return err
		}
		p.RolesLeftOut = slices.Contains(p.Mapping, intake.Role) && !importerOf(by).GrantsRole
		if err := countPeopleLines(ctx, tx, by.TenantID, &p); err != nil {
			return fmt.Errorf("count lines of import %d: %w", id, err)
		}
		if err := listPeopleLines(ctx, tx, by.TenantID, q, &p); err != nil {
			return fmt.Errorf("list lines of import %d: %w", id, err)
		}
		return nil
	})
	return p, err
}

func countPeopleLines(ctx context.Context, tx pgx.Tx, tenant int64, p *PeopleImport) error {
	return tx.QueryRow(ctx, `
		SELECT coalesce((
		           SELECT jsonb_object_agg(verdict, n)
		           FROM (
		               SELECT verdict, count(*) AS n
		               FROM import_lines
		               WHERE tenant_id = @tenant
		                 AND import_id = @id
		                 AND verdict IS NOT NULL
		               GROUP BY verdict
		           ) verdicts
		       ), '{}'),
		       coalesce((
		           SELECT jsonb_object_agg(note, n)
		           FROM (
		               SELECT note, count(*) AS n
		               FROM import_lines, unnest(notes) note
		               WHERE tenant_id = @tenant
		                 AND import_id = @id
		               GROUP BY note
		           ) notes
		       ), '{}'),
		       (
		           SELECT count(*)
		           FROM people
		           WHERE tenant_id = @tenant
		       ) - (
		           SELECT count(DISTINCT row ->> 'person_id')
		           FROM import_lines
		           WHERE tenant_id = @tenant
		             AND import_id = @id
		       ),
		       (
		           SELECT count(*)
		           FROM import_lines
		           WHERE tenant_id = @tenant
		             AND import_id = @id
		             AND choices <> '{}'
		       ),
		       (
		           SELECT count(*)
		           FROM import_lines
		           WHERE tenant_id = @tenant
		             AND import_id = @id
		             AND verdict = 'decide'
		             AND questions @> '[{"kind": "zeros"}]'
		       )`, pgx.NamedArgs{"tenant": tenant, "id": p.ID}).Scan(&p.Verdicts, &p.Notes, &p.Untouched, &p.Decided, &p.OpenZeros)
}

func listPeopleLines(ctx context.Context, tx pgx.Tx, tenant int64, q PeopleLinesQuery, p *PeopleImport) error {
	args := pgx.NamedArgs{"tenant": tenant, "id": p.ID, "q": strings.TrimSpace(q.Q), "words": strings.Fields(q.Q), "verdict": q.Verdict,
		"note": q.Note, "sort": q.Sort, "limit": q.Limit, "offset": q.Offset}
	err := tx.QueryRow(ctx, `
		SELECT count(*)
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @id
		  AND (@verdict = '' OR verdict = @verdict OR @verdict = 'changes' AND verdict <> 'unchanged'
		    OR @verdict = 'decided' AND (verdict = 'decide' OR choices <> '{}'))
		  AND (@note = '' OR @note = ANY (notes))
		  AND (line::text = @q OR NOT EXISTS (SELECT FROM unnest(@words::text[]) word WHERE strpos(fold(title), fold(word)) = 0))`, args).Scan(&p.Total)
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `
		SELECT coalesce(verdict, ''), row, coalesce(changes, '[]'), coalesce(problems, '[]'), notes, questions, choices
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @id
		  AND verdict IS NOT NULL
		  AND (@verdict = '' OR verdict = @verdict OR @verdict = 'changes' AND verdict <> 'unchanged'
		    OR @verdict = 'decided' AND (verdict = 'decide' OR choices <> '{}'))
		  AND (@note = '' OR @note = ANY (notes))
		  AND (line::text = @q OR NOT EXISTS (SELECT FROM unnest(@words::text[]) word WHERE strpos(fold(title), fold(word)) = 0))
		ORDER BY CASE @sort WHEN 'line' THEN line END,
		         CASE @sort WHEN '-line' THEN line END DESC,
		         CASE @sort WHEN 'name' THEN row ->> 'name' COLLATE "pt-BR-x-icu" END,
		         CASE @sort WHEN '-name' THEN row ->> 'name' COLLATE "pt-BR-x-icu" END DESC,
		         array_position(ARRAY['decide', 'reject', 'update', 'create', 'unchanged'], verdict), line
		LIMIT @limit OFFSET @offset`, args)
	if err != nil {
		return err
	}
	p.Page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (l PeopleLine, err error) {
		var staged stagedPerson
		if err = row.Scan(&l.Verdict, &staged, &l.Changes, &l.Problems, &l.Notes, &l.Questions, &l.Choices); err != nil {
			return l, err
		}
		l.Row, l.PersonID, l.Manager, l.managedBy = staged.PersonRow, staged.PersonID, staged.Boss, staged.ManagedBy
		return l, nil
	})
	return err
}

// RejectedPeople answers the rejected lines of a compared file as they stand in
// it, and why each was rejected.
func (s *Store) RejectedPeople(ctx context.Context, by policy.Actor, id int64) (sheet *intake.Sheet, why map[int][]intake.Problem, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		f, err := readPeopleFile(ctx, tx, by, id, false)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT line, cells, problems
			FROM import_lines
			WHERE tenant_id = @tenant
			  AND import_id = @id
			  AND verdict = 'reject'
			ORDER BY line`, pgx.NamedArgs{"tenant": by.TenantID, "id": id})
		if err != nil {
			return fmt.Errorf("list rejected lines of import %d: %w", id, err)
		}
		sheet, why = &intake.Sheet{Name: f.FileName, Headers: f.Headers}, map[int][]intake.Problem{}
		var line int
		var cells []string
		var problems []intake.Problem
		if _, err := pgx.ForEachRow(rows, []any{&line, &cells, &problems}, func() error {
			sheet.Rows = append(sheet.Rows, intake.Row{Line: line, Cells: slices.Clone(cells)})
			why[line] = slices.Clone(problems)
			cells, problems = nil, nil
			return nil
		}); err != nil {
			return fmt.Errorf("list rejected lines of import %d: %w", id, err)
		}
		return nil
	})
	return sheet, why, err
}
