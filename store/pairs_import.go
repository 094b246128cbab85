package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/intake"
	"ciclo/internal/policy"
)

// The modes of a roster file, and what can become of one of its lines.
const (
	MergePairs   = "merge"   // what the file names is added, nothing goes
	ReplacePairs = "replace" // the roster becomes what the file says

	VerdictCreate    = "create"
	VerdictUpdate    = "update" // replace only: another reviewer for the same review
	VerdictUnchanged = "unchanged"
	VerdictReject    = "reject"
	VerdictRemove    = "remove" // replace only: in the roster, not in the file
)

// StagePairs keeps what a roster file says for a day, compared with the roster,
// and changes nothing else. The file's own faults and what the records say
// against a line stand beside it.
func (s *Store) StagePairs(ctx context.Context, by policy.Actor, id int64, sheet *intake.Sheet, mode string) (importID int64, err error) {
	giveBack, err := takeParse(ctx)
	if err != nil {
		return 0, err
	}
	defer giveBack()
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := openDraft(ctx, tx, by, id, shareCycle)
		if err != nil {
			return err
		}
		if mode != MergePairs && mode != ReplacePairs {
			return fault.Fieldsf(map[string]fault.Message{"mode": fault.Msg("pairs.mode_required")})
		}
		mapping := intake.PairColumns.Guess(sheet.Headers)
		if err := intake.PairColumns.Check(sheet, mapping); err != nil {
			return fileFault(err)
		}
		err = tx.QueryRow(ctx, `
			INSERT INTO imports (tenant_id, kind, cycle_id, uploaded_by, file_name, encoding, separator, tab, headers, mapping, mode, state, lines)
			VALUES (@tenant, 'pairs', @cycle, @actor, @name, @encoding, @separator, @tab, @headers, @mapping, @mode, 'compared', @lines)
			RETURNING id`,
			pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "actor": by.PersonID, "name": sheet.Name, "encoding": sheet.Encoding,
				"separator": sheet.Separator, "tab": sheet.Tab, "headers": sheet.Headers, "mapping": mapping, "mode": mode, "lines": len(sheet.Rows)}).Scan(&importID)
		if err != nil {
			return fmt.Errorf("stage pairs for cycle %d: %w", id, err)
		}
		rows := intake.ReadPairs(sheet, mapping)
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"import_lines"}, []string{"tenant_id", "import_id", "line", "cells", "row"},
			pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
				return []any{by.TenantID, importID, rows[i].Line, sheet.Rows[i].Cells, stagedPair{Said: &rows[i]}}, nil
			}))
		if err != nil {
			return fmt.Errorf("stage lines of import %d: %w", importID, err)
		}
		_, err = comparePairs(ctx, tx, c, importID, mode)
		return err
	})
	return importID, err
}

// fileFault puts what is wrong with the columns of a file beside the file.
func fileFault(err error) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	for _, m := range f.Fields {
		return fault.Fieldsf(map[string]fault.Message{"file": m})
	}
	return fault.Fieldsf(map[string]fault.Message{"file": f.Message})
}

// pairKey is what makes a pair this pair; slot is the same review by anybody.
type (
	pairKey struct {
		reviewee, reviewer int64
		kind               appraisal.Kind
	}
	pairSlot struct {
		reviewee int64
		kind     appraisal.Kind
	}
)

// PairsImport is a staged roster file as its preview shows it.
type PairsImport struct {
	Head      appraisal.CycleHead
	ID        int64
	FileName  string
	Encoding  string
	Separator string
	Tab       string // the sheet of a workbook
	Mode      string
	Lines     int
	Confirmed *time.Time
	Expires   time.Time
	Counts    map[string]int
	Page      []PairLine
	Total     int
}

// Changes is how many pairs confirming would create, update or remove.
func (p PairsImport) Changes() int {
	return p.Counts[VerdictCreate] + p.Counts[VerdictUpdate] + p.Counts[VerdictRemove]
}

// PairLine is one line of the preview.
type PairLine struct {
	Line     int // nought for a pair that only the roster has
	Verdict  string
	Reviewee string
	Reviewer string
	Kind     appraisal.Kind
	From     string // the reviewer before
	Problems []intake.Problem
}

// PairsQuery narrows the preview; "changes" is every verdict but unchanged.
type PairsQuery struct {
	Page
	Verdict string
}

// PairsImport reads the preview of a staged roster file.
func (s *Store) PairsImport(ctx context.Context, by policy.Actor, id, importID int64, q PairsQuery) (p PairsImport, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if p.Head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		if err := policy.Can(by, policy.EditCycle, ofCycle(p.Head.Cycle)); err != nil {
			return err
		}
		if err := readPairsImport(ctx, tx, by.TenantID, id, importID, &p); err != nil {
			return err
		}
		return readPairLines(ctx, tx, by.TenantID, importID, q, &p)
	})
	return p, err
}

func readPairsImport(ctx context.Context, tx pgx.Tx, tenant, cycle, importID int64, p *PairsImport) error {
	err := tx.QueryRow(ctx, `
		SELECT id, file_name, encoding, separator, tab, mode, lines, confirmed_at, expires_at
		FROM imports
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND id = @import
		  AND kind = 'pairs'
		  AND expires_at > now()`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "import": importID}).
		Scan(&p.ID, &p.FileName, &p.Encoding, &p.Separator, &p.Tab, &p.Mode, &p.Lines, &p.Confirmed, &p.Expires)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.NotFoundf("pairs.import_gone")
	}
	if err != nil {
		return fmt.Errorf("read import %d: %w", importID, err)
	}
	return nil
}

func readPairLines(ctx context.Context, tx pgx.Tx, tenant, importID int64, q PairsQuery, p *PairsImport) error {
	args := pgx.NamedArgs{"tenant": tenant, "import": importID, "verdict": q.Verdict, "words": searchWords(q.Q), "limit": q.Limit, "offset": q.Offset}
	rows, err := tx.Query(ctx, `
		SELECT verdict, count(*),
		       count(*) FILTER (WHERE (@verdict = '' OR verdict = @verdict OR @verdict = 'changes' AND verdict <> 'unchanged')
		                          AND fold(title) LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w)))
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @import
		GROUP BY verdict`, args)
	if err != nil {
		return fmt.Errorf("count lines of import %d: %w", importID, err)
	}
	p.Counts = map[string]int{}
	var verdict string
	var n, matching int
	if _, err = pgx.ForEachRow(rows, []any{&verdict, &n, &matching}, func() error {
		p.Counts[verdict] = n
		p.Total += matching
		return nil
	}); err != nil {
		return fmt.Errorf("count lines of import %d: %w", importID, err)
	}
	rows, err = tx.Query(ctx, `
		SELECT line, verdict, row, coalesce(problems, '[]')
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @import
		  AND (@verdict = '' OR verdict = @verdict OR @verdict = 'changes' AND verdict <> 'unchanged')
		  AND fold(title) LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
		ORDER BY array_position(ARRAY['reject', 'remove', 'update', 'create', 'unchanged'], verdict), abs(line)
		LIMIT @limit OFFSET @offset`, args)
	if err != nil {
		return fmt.Errorf("list lines of import %d: %w", importID, err)
	}
	p.Page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (PairLine, error) {
		var line int
		var verdict string
		var staged stagedPair
		var problems []intake.Problem
		err := row.Scan(&line, &verdict, &staged, &problems)
		return PairLine{max(line, 0), verdict, staged.Reviewee, staged.Reviewer, staged.Kind, staged.From, problems}, err
	})
	if err != nil {
		return fmt.Errorf("list lines of import %d: %w", importID, err)
	}
	return nil
}

// RejectedLine is a line of a file that stays out, as it stood in the file.
type RejectedLine struct {
	Line     int
	Cells    []string
	Problems []intake.Problem
}

// RejectedPairs answers the rejected lines of a staged roster file for download.
func (s *Store) RejectedPairs(ctx context.Context, by policy.Actor, id, importID int64) (headers []string, lines []RejectedLine, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := readCycle(ctx, tx, by.TenantID, id)
		if err != nil {
			return err
		}
		if err := policy.Can(by, policy.EditCycle, ofCycle(c)); err != nil {
			return err
		}
		var p PairsImport
		if err := readPairsImport(ctx, tx, by.TenantID, id, importID, &p); err != nil {
			return err
		}
		args := pgx.NamedArgs{"tenant": by.TenantID, "import": importID}
		if err := tx.QueryRow(ctx, `
			SELECT headers
			FROM imports
			WHERE tenant_id = @tenant
			  AND id = @import`, args).Scan(&headers); err != nil {
			return fmt.Errorf("read headers of import %d: %w", importID, err)
		}
		rows, err := tx.Query(ctx, `
			SELECT line, cells, coalesce(problems, '[]')
			FROM import_lines
			WHERE tenant_id = @tenant
			  AND import_id = @import
			  AND verdict = 'reject'
			ORDER BY line`, args)
		if err != nil {
			return fmt.Errorf("list rejected lines of import %d: %w", importID, err)
		}
		if lines, err = pgx.CollectRows(rows, pgx.RowToStructByPos[RejectedLine]); err != nil {
			return fmt.Errorf("list rejected lines of import %d: %w", importID, err)
		}
		return nil
	})
	return headers, lines, err
}
