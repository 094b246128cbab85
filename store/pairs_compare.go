package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/intake"
)

// stagedPair is a line of a roster file between upload and confirmation. Lines
// that the file does not have, of pairs that would go, count down from -1.
type stagedPair struct {
	Line       int              `json:"-"`
	Verdict    string           `json:"-"`
	Reviewee   string           `json:"reviewee"` // the name, or what the file says
	Reviewer   string           `json:"reviewer"`
	Kind       appraisal.Kind   `json:"kind"`
	RevieweeID int64            `json:"reviewee_id,omitempty"`
	ReviewerID int64            `json:"reviewer_id,omitempty"`
	PairID     int64            `json:"pair_id,omitempty"` // of the roster: unchanged, updated or removed
	From       string           `json:"from,omitempty"`    // the reviewer before an update
	Said       *intake.PairRow  `json:"said,omitempty"`
	Problems   []intake.Problem `json:"-"`
}

// comparePairs judges every line of a staged file against the records and the
// roster as they are now, and keeps the verdicts. It answers the lines that
// would have done something else before.
func comparePairs(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, importID int64, mode string) (changed []stagedPair, err error) {
	args := pgx.NamedArgs{"tenant": c.TenantID, "cycle": c.ID, "import": importID}
	found, before, err := readStagedLines(ctx, tx, args)
	if err != nil {
		return nil, fmt.Errorf("read lines of import %d: %w", importID, err)
	}
	roster, err := readRosterPairs(ctx, tx, args)
	if err != nil {
		return nil, fmt.Errorf("read the roster of cycle %d: %w", c.ID, err)
	}
	lines := judgePairs(found, roster, mode)
	if err := keepVerdicts(ctx, tx, args, lines); err != nil {
		return nil, fmt.Errorf("keep verdicts of import %d: %w", importID, err)
	}
	now := map[[3]any]bool{}
	for _, l := range lines {
		key := l.key()
		now[key] = true
		if was, known := before[key]; !known || was != l.effect() {
			changed = append(changed, l)
		}
	}
	for key := range before {
		if !now[key] {
			changed = append(changed, stagedPair{})
		}
	}
	return changed, nil
}

// key names a line across two comparisons: by its number, or, where the file
// has none, by the pair.
func (p stagedPair) key() [3]any {
	if p.Line > 0 {
		return [3]any{p.Line}
	}
	return [3]any{"pair", p.PairID}
}

// effect is what confirming a line would do, and to whom: an address or a code
// may have become another person's since.
type effect struct {
	verdict            string
	reviewee, reviewer int64
	replaced           int64 // the pair that an update gives another reviewer
}

func (p stagedPair) effect() effect {
	switch p.Verdict {
	case VerdictReject:
		return effect{verdict: p.Verdict}
	case VerdictUpdate:
		return effect{p.Verdict, p.RevieweeID, p.ReviewerID, p.PairID}
	}
	return effect{p.Verdict, p.RevieweeID, p.ReviewerID, 0}
}

// foundLine is a line with the people it names.
type foundLine struct {
	stagedPair
	reviewee, reviewer foundPerson
	columns            map[intake.Field]string // the file's own names of its columns
}

type foundPerson struct {
	id     int64
	name   string
	code   string
	leftOn *time.Time
	reason *string // they were left out of the cycle, because
}

// readStagedLines reads the lines with the people they name now, and what each
// would have done before.
func readStagedLines(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (lines []foundLine, before map[[3]any]effect, err error) {
	rows, err := tx.Query(ctx, `
		WITH known AS (
			SELECT p.id, p.name, lower(p.email::text) AS key, CASE WHEN has_left(p.left_on, (SELECT zone FROM tenants WHERE id = @tenant)) THEN p.left_on END AS left_on, x.exclusion_reason
			FROM people p
			LEFT JOIN participants x ON x.tenant_id = p.tenant_id AND x.cycle_id = @cycle AND x.person_id = p.id
			WHERE p.tenant_id = @tenant
			  AND p.email IS NOT NULL
			UNION ALL
			SELECT p.id, p.name, lower(p.code), CASE WHEN has_left(p.left_on, (SELECT zone FROM tenants WHERE id = @tenant)) THEN p.left_on END, x.exclusion_reason
			FROM people p
			LEFT JOIN participants x ON x.tenant_id = p.tenant_id AND x.cycle_id = @cycle AND x.person_id = p.id
			WHERE p.tenant_id = @tenant
			  AND position('@' IN p.code) = 0
		)
		SELECT DISTINCT ON (l.line) l.line, coalesce(l.verdict, ''), l.row, i.headers, i.mapping,
		       coalesce(reviewee.id, 0), coalesce(reviewee.name, ''), reviewee.left_on, reviewee.exclusion_reason,
		       coalesce(reviewer.id, 0), coalesce(reviewer.name, ''), reviewer.left_on, NULL::text
		FROM import_lines l
		JOIN imports i ON i.tenant_id = l.tenant_id AND i.id = l.import_id
		LEFT JOIN known reviewee ON reviewee.key = lower(l.row -> 'said' -> 'reviewee' ->> 'text')
		LEFT JOIN known reviewer ON reviewer.key = lower(l.row -> 'said' -> 'reviewer' ->> 'text')
		WHERE l.tenant_id = @tenant
		  AND l.import_id = @import
		ORDER BY l.line`, args)
	if err != nil {
		return nil, nil, err
	}
	before = map[[3]any]effect{}
	var headers []string
	var mapping intake.Mapping
	for rows.Next() {
		var l foundLine
		var line int
		var verdict string
		if err := rows.Scan(&line, &verdict, &l.stagedPair, &headers, &mapping,
			&l.reviewee.id, &l.reviewee.name, &l.reviewee.leftOn, &l.reviewee.reason,
			&l.reviewer.id, &l.reviewer.name, &l.reviewer.leftOn, &l.reviewer.reason); err != nil {
			return nil, nil, err
		}
		l.Line, l.Verdict = line, verdict
		before[l.key()] = l.effect()
		if l.Line < 0 {
			continue // of the roster, judged anew
		}
		l.columns = map[intake.Field]string{}
		for i, f := range mapping {
			l.columns[f] = headers[i]
		}
		lines = append(lines, l)
	}
	return lines, before, rows.Err()
}

// rosterPair is a pair as the roster has it now.
type rosterPair struct {
	id                 int64
	revieweeID         int64
	reviewerID         int64
	kind               appraisal.Kind
	reviewee, reviewer string
}

func readRosterPairs(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) ([]rosterPair, error) {
	rows, err := tx.Query(ctx, `
		SELECT e.id, e.reviewee_id, e.reviewer_id, e.kind, reviewee.name, reviewer.name
		FROM evaluations e
		JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
		JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		ORDER BY reviewee.name COLLATE "pt-BR-x-icu", reviewee.id, e.id`, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p rosterPair, err error) {
		return p, row.Scan(&p.id, &p.revieweeID, &p.reviewerID, &p.kind, &p.reviewee, &p.reviewer)
	})
}

// judgePairs says what would become of each line, and which pairs would go.
func judgePairs(found []foundLine, roster []rosterPair, mode string) []stagedPair {
	there := map[pairKey]rosterPair{}
	for _, p := range roster {
		there[pairKey{p.revieweeID, p.reviewerID, p.kind}] = p
	}
	lines := make([]stagedPair, 0, len(found))
	first := map[pairKey]int{}
	for _, f := range found {
		l := f.judge(there, first)
		lines = append(lines, l)
	}
	if mode != ReplacePairs {
		return lines
	}
	free := map[pairSlot][]rosterPair{} // pairs the file does not have, by the review they stand for
	for _, p := range roster {
		if _, named := first[pairKey{p.revieweeID, p.reviewerID, p.kind}]; !named {
			slot := pairSlot{p.revieweeID, p.kind}
			free[slot] = append(free[slot], p)
		}
	}
	for i := range lines {
		l := &lines[i]
		slot := pairSlot{l.RevieweeID, l.Kind}
		if l.Verdict != VerdictCreate || len(free[slot]) == 0 {
			continue
		}
		old := free[slot][0]
		free[slot] = free[slot][1:]
		l.Verdict, l.PairID, l.From = VerdictUpdate, old.id, old.reviewer
	}
	return append(lines, leavers(free)...)
}

// leavers are the pairs that would go, in a stable order.
func leavers(free map[pairSlot][]rosterPair) []stagedPair {
	var gone []rosterPair
	for _, pairs := range free {
		gone = append(gone, pairs...)
	}
	slices.SortFunc(gone, func(a, b rosterPair) int { return cmp.Compare(a.id, b.id) })
	lines := make([]stagedPair, len(gone))
	for i, p := range gone {
		lines[i] = stagedPair{Line: -(i + 1), Verdict: VerdictRemove, Reviewee: p.reviewee, Reviewer: p.reviewer, Kind: p.kind,
			RevieweeID: p.revieweeID, ReviewerID: p.reviewerID, PairID: p.id}
	}
	return lines
}

// judge says what would become of one line on its own.
func (f foundLine) judge(there map[pairKey]rosterPair, first map[pairKey]int) stagedPair {
	said := f.Said
	l := stagedPair{Line: f.Line, Said: said, Kind: appraisal.Kind(said.Kind), RevieweeID: f.reviewee.id, ReviewerID: f.reviewer.id,
		Reviewee: cmp.Or(f.reviewee.name, said.Reviewee.Text), Reviewer: cmp.Or(f.reviewer.name, said.Reviewer.Text)}
	l.Problems = append(l.Problems, said.Problems...)
	refuse := func(field intake.Field, value, key string, args ...any) {
		l.Problems = append(l.Problems, intake.Problem{Field: field, Column: f.columns[field], Value: value, Why: fault.Msg(key, args...)})
	}
	if len(l.Problems) == 0 {
		f.refuseUnknown(refuse)
	}
	key := pairKey{f.reviewee.id, f.reviewer.id, l.Kind}
	old, unchanged := there[key]
	if len(l.Problems) == 0 {
		f.refusePair(key, first, refuse)
	}
	if len(l.Problems) == 0 && !unchanged {
		f.refuseAway(refuse)
	}
	switch {
	case len(l.Problems) > 0:
		l.Verdict = VerdictReject
		return l
	case unchanged:
		l.Verdict, l.PairID = VerdictUnchanged, old.id
	default:
		l.Verdict = VerdictCreate
	}
	first[key] = f.Line
	return l
}

type refusal func(field intake.Field, value, key string, args ...any)

func (f foundLine) refuseUnknown(refuse refusal) {
	if f.reviewee.id == 0 {
		refuse(intake.Reviewee, f.Said.Reviewee.Text, "pairs.person_unknown")
	}
	if f.reviewer.id == 0 {
		refuse(intake.Reviewer, f.Said.Reviewer.Text, "pairs.person_unknown")
	}
}

// refusePair asks what only shows once the people are found: one person under
// an address here and a code there.
func (f foundLine) refusePair(key pairKey, first map[pairKey]int, refuse refusal) {
	same := key.reviewee == key.reviewer
	switch {
	case key.kind == appraisal.Self && !same:
		refuse(intake.Reviewer, f.Said.Reviewer.Text, "intake.self_of_two", "reviewee", f.Said.Reviewee.Text)
	case key.kind != appraisal.Self && same:
		refuse(intake.Reviewer, f.Said.Reviewer.Text, "intake.other_of_one")
	case first[key] > 0:
		refuse(intake.Reviewer, f.Said.Reviewer.Text, "intake.pair_twice", "line", first[key])
	}
}

// refuseAway keeps new pairs from naming people who cannot take part.
func (f foundLine) refuseAway(refuse refusal) {
	if f.reviewee.reason != nil {
		refuse(intake.Reviewee, f.Said.Reviewee.Text, "pairs.person_is_out", "person", f.reviewee.name, "reason", *f.reviewee.reason)
	}
	if f.reviewee.leftOn != nil {
		refuse(intake.Reviewee, f.Said.Reviewee.Text, "pairs.person_left", "person", f.reviewee.name, "day", f.reviewee.leftOn.Format("02/01/2006"))
	}
	if f.reviewer.leftOn != nil && f.reviewer.id != f.reviewee.id {
		refuse(intake.Reviewer, f.Said.Reviewer.Text, "pairs.person_left", "person", f.reviewer.name, "day", f.reviewer.leftOn.Format("02/01/2006"))
	}
}

// keepVerdicts writes what was judged, in three statements.
func keepVerdicts(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs, lines []stagedPair) error {
	if _, err := tx.Exec(ctx, `
		DELETE FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @import
		  AND line < 0`, args); err != nil {
		return err
	}
	var leave []stagedPair
	var numbers []int
	var verdicts, titles []string
	var rows, problems []any
	for _, l := range lines {
		if l.Line < 0 {
			leave = append(leave, l)
			continue
		}
		numbers, verdicts, titles = append(numbers, l.Line), append(verdicts, l.Verdict), append(titles, l.title())
		rows, problems = append(rows, l), append(problems, l.problems())
	}
	_, err := tx.Exec(ctx, `
		UPDATE import_lines l
		SET verdict = judged.verdict, title = judged.title, row = judged.row, problems = judged.problems
		FROM unnest(@lines::int[], @verdicts::text[], @titles::text[], @rows::jsonb[], @problems::jsonb[]) AS judged (line, verdict, title, row, problems)
		WHERE l.tenant_id = @tenant
		  AND l.import_id = @import
		  AND l.line = judged.line`,
		pgx.NamedArgs{"tenant": args["tenant"], "import": args["import"], "lines": numbers, "verdicts": verdicts, "titles": titles, "rows": rows, "problems": problems})
	if err != nil {
		return err
	}
	_, err = tx.CopyFrom(ctx, pgx.Identifier{"import_lines"}, []string{"tenant_id", "import_id", "line", "cells", "verdict", "title", "row"},
		pgx.CopyFromSlice(len(leave), func(i int) ([]any, error) {
			return []any{args["tenant"], args["import"], leave[i].Line, []string{}, leave[i].Verdict, leave[i].title(), leave[i]}, nil
		}))
	return err
}

// title is what a line is searched by.
func (p stagedPair) title() string { return p.Reviewee + " " + p.Reviewer }

// problems are never null in the table, so that they read back as a list.
func (p stagedPair) problems() []intake.Problem {
	if p.Problems == nil {
		return []intake.Problem{}
	}
	return p.Problems
}
