package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// PairsOutcome is what a confirmed roster file changed.
type PairsOutcome struct{ Created, Updated, Removed, Rejected int }

// ConfirmPairs puts a previewed file into the roster, whole or not at all. The
// comparison is made again under the cycle's lock: where anything would now
// turn out otherwise than the preview said, nothing is stored, the preview is
// brought up to date, and the answer is a Conflict that names the first line.
func (s *Store) ConfirmPairs(ctx context.Context, by policy.Actor, id, importID int64) (done PairsOutcome, err error) {
	var stale error
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		done, stale = PairsOutcome{}, nil
		c, _, err := openDraft(ctx, tx, by, id, lockCycle)
		if err != nil {
			return err
		}
		var p PairsImport
		if err := readPairsImport(ctx, tx, by.TenantID, id, importID, &p); err != nil {
			return err
		}
		if p.Confirmed != nil {
			return fault.Conflictf("pairs.already_confirmed", "when", *p.Confirmed)
		}
		changed, err := comparePairs(ctx, tx, c, importID, p.Mode)
		if err != nil {
			return err
		}
		if len(changed) > 0 {
			stale = staleFault(changed)
			return nil // the fresh comparison is kept
		}
		if done, err = storePairs(ctx, tx, by, id, importID, p.Mode); err != nil {
			return err
		}
		return audit(ctx, tx, by, "roster.file_imported", "cycle", id, map[string]any{
			"file": p.FileName, "mode": p.Mode, "created": done.Created, "updated": done.Updated, "removed": done.Removed, "rejected": done.Rejected,
		})
	})
	if err == nil && stale == nil {
		s.learnSizes(ctx)
	}
	if err == nil {
		err = stale
	}
	return done, err
}

// staleFault names the first line that would now turn out otherwise.
func staleFault(changed []stagedPair) error {
	for _, l := range changed {
		if len(l.Problems) > 0 {
			return fault.Conflictf("pairs.line_changed", "line", l.Line, "why", l.Problems[0].Message())
		}
	}
	return fault.Conflictf("pairs.roster_changed")
}

// storePairs does what the verdicts say, in a constant number of statements.
func storePairs(ctx context.Context, tx pgx.Tx, by policy.Actor, cycle, importID int64, mode string) (done PairsOutcome, err error) {
	args := pgx.NamedArgs{"tenant": by.TenantID, "cycle": cycle, "import": importID, "replace": mode == ReplacePairs}
	for _, step := range []struct {
		n   *int
		sql string
	}{
		{&done.Removed, `
			DELETE FROM evaluations e
			USING import_lines l
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND l.tenant_id = @tenant
			  AND l.import_id = @import
			  AND l.verdict = 'remove'
			  AND e.id = (l.row ->> 'pair_id')::bigint`},
		{&done.Updated, `
			UPDATE evaluations e
			SET reviewer_id = (l.row ->> 'reviewer_id')::bigint, source = 'file'
			FROM import_lines l
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND l.tenant_id = @tenant
			  AND l.import_id = @import
			  AND l.verdict = 'update'
			  AND e.id = (l.row ->> 'pair_id')::bigint`},
		{nil, `
			INSERT INTO participants (tenant_id, cycle_id, person_id, source)
			SELECT DISTINCT l.tenant_id, @cycle::bigint, (l.row ->> 'reviewee_id')::bigint, 'file'
			FROM import_lines l
			WHERE l.tenant_id = @tenant
			  AND l.import_id = @import
			  AND l.verdict = 'create'
			ON CONFLICT (tenant_id, cycle_id, person_id) DO NOTHING`},
		{&done.Created, `
			INSERT INTO evaluations (tenant_id, cycle_id, reviewee_id, reviewer_id, kind, source)
			SELECT l.tenant_id, @cycle, (l.row ->> 'reviewee_id')::bigint, (l.row ->> 'reviewer_id')::bigint, l.row ->> 'kind', 'file'
			FROM import_lines l
			WHERE l.tenant_id = @tenant
			  AND l.import_id = @import
			  AND l.verdict = 'create'
			ORDER BY l.line`},
		{nil, `
			DELETE FROM participants p
			WHERE @replace
			  AND p.tenant_id = @tenant
			  AND p.cycle_id = @cycle
			  AND p.excluded_at IS NULL
			  AND NOT EXISTS (
				SELECT FROM evaluations e
				WHERE e.tenant_id = p.tenant_id
				  AND e.cycle_id = p.cycle_id
				  AND e.reviewee_id = p.person_id)`},
		{nil, `
			UPDATE imports
			SET state = 'confirmed', confirmed_at = now()
			WHERE tenant_id = @tenant
			  AND id = @import`},
	} {
		tag, err := tx.Exec(ctx, step.sql, args)
		if err != nil {
			return done, fmt.Errorf("store pairs of import %d: %w", importID, err)
		}
		if step.n != nil {
			*step.n = int(tag.RowsAffected())
		}
	}
	err = tx.QueryRow(ctx, `
		SELECT count(*)
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @import
		  AND verdict = 'reject'`, args).Scan(&done.Rejected)
	if err != nil {
		return done, fmt.Errorf("count rejected lines of import %d: %w", importID, err)
	}
	return done, nil
}
