package store

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// Decisions are what a person says about the lines that wait for it.
type Decisions struct {
	// Lines are answers by line and question.
	Lines map[int]map[string]string
	// All is said of every line at once, instead.
	All string
}

// What can be said of all lines at once.
const (
	AllZeros = "zeros" // a spreadsheet ate the zeros: each is the one person it can be
	AllOut   = "out"   // what is open stays out
	AllAgain = "again" // everything that was decided is open again
)

// DecidePeople keeps what a person says about open lines of a compared file and
// compares it anew, as one answer may bring or settle another question. It
// answers how many lines are still open.
func (s *Store) DecidePeople(ctx context.Context, by policy.Actor, id int64, d Decisions) (open int, err error) {
	giveBack, err := takeParse(ctx)
	if err != nil {
		return 0, err
	}
	defer giveBack()
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		f, err := readPeopleFile(ctx, tx, by, id, true)
		if err != nil {
			return err
		}
		if err := f.open(); err != nil {
			return err
		}
		if f.State != ImportCompared {
			return fault.Conflictf("people.import_not_compared", "file", f.FileName)
		}
		n, err := decideAbout(ctx, tx, by.TenantID, id, d)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.Invalidf("people.choice_none")
		}
		sheet, err := readSheet(ctx, tx, by.TenantID, f, 0)
		if err != nil {
			return err
		}
		if err := comparePeopleFile(ctx, tx, by, f, sheet); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			SELECT count(*)
			FROM import_lines
			WHERE tenant_id = @tenant
			  AND import_id = @id
			  AND verdict = 'decide'`, pgx.NamedArgs{"tenant": by.TenantID, "id": id}).Scan(&open)
	})
	return open, err
}

// decideAbout keeps the answers beside their lines and says how many lines have
// a new one. An answer that was not offered is refused.
func decideAbout(ctx context.Context, tx pgx.Tx, tenant, id int64, d Decisions) (n int, err error) {
	rows, err := tx.Query(ctx, `
		SELECT line, verdict = 'decide', questions, choices
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @id
		  AND (verdict = 'decide' OR choices <> '{}')
		ORDER BY line`, pgx.NamedArgs{"tenant": tenant, "id": id})
	if err != nil {
		return 0, fmt.Errorf("read open lines of import %d: %w", id, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByPos[askedLine])
	if err != nil {
		return 0, fmt.Errorf("read open lines of import %d: %w", id, err)
	}
	said := map[int]map[string]string{}
	for _, l := range lines {
		if answers := l.answered(d); !maps.Equal(answers, l.Choices) {
			said[l.Line] = answers
		}
	}
	for line, answers := range d.Lines {
		if !offered(lines, line, answers) {
			return 0, fault.Invalidf("people.choice_unknown", "line", line)
		}
	}
	type kept struct {
		Line    int               `json:"line"`
		Choices map[string]string `json:"choices"`
	}
	all := []kept{}
	for line, answers := range said {
		all = append(all, kept{line, answers})
	}
	tag, err := tx.Exec(ctx, `
		UPDATE import_lines l
		SET choices = k.choices
		FROM jsonb_to_recordset(@lines::jsonb) AS k(line int, choices jsonb)
		WHERE l.tenant_id = @tenant
		  AND l.import_id = @id
		  AND l.line = k.line`, pgx.NamedArgs{"tenant": tenant, "id": id, "lines": all})
	if err != nil {
		return 0, fmt.Errorf("keep decisions on import %d: %w", id, err)
	}
	return int(tag.RowsAffected()), nil
}

// askedLine is a line that waits for a decision, or has had one.
type askedLine struct {
	Line      int
	Open      bool
	Questions []Question
	Choices   map[string]string
}

// answered is what holds for the line once d is said.
func (l askedLine) answered(d Decisions) map[string]string {
	answers := map[string]string{}
	if d.All != AllAgain {
		maps.Copy(answers, l.Choices)
	}
	maps.Copy(answers, d.Lines[l.Line])
	for _, q := range l.Questions {
		if !l.Open || q.allows(answers[q.Kind]) {
			continue
		}
		switch d.All {
		case AllOut:
			answers[q.Kind] = AnswerOut
		case AllZeros:
			if only := q.onlyPerson(); q.Kind == AskZeros && only != "" {
				answers[q.Kind] = only
			}
		}
	}
	return answers
}

// onlyPerson is the answer that names somebody, where one does.
func (q Question) onlyPerson() (only string) {
	for _, a := range q.Answers {
		if !strings.HasPrefix(a.Value, answerSame) {
			continue
		}
		if only != "" {
			return ""
		}
		only = a.Value
	}
	return only
}

// offered reports whether each answer was one of its question's.
func offered(lines []askedLine, line int, answers map[string]string) bool {
	for _, l := range lines {
		if l.Line != line {
			continue
		}
		for kind, value := range answers {
			there := false
			for _, q := range l.Questions {
				there = there || q.Kind == kind && q.allows(value)
			}
			if !there {
				return false
			}
		}
		return true
	}
	return false
}

// readChoices reads what was decided about the lines of a file.
func readChoices(ctx context.Context, tx pgx.Tx, tenant, id int64) (map[int]map[string]string, error) {
	rows, err := tx.Query(ctx, `
		SELECT line, choices
		FROM import_lines
		WHERE tenant_id = @tenant
		  AND import_id = @id
		  AND choices <> '{}'`, pgx.NamedArgs{"tenant": tenant, "id": id})
	if err != nil {
		return nil, fmt.Errorf("read decisions on import %d: %w", id, err)
	}
	choices := map[int]map[string]string{}
	var line int
	var said map[string]string
	if _, err := pgx.ForEachRow(rows, []any{&line, &said}, func() error {
		choices[line], said = said, nil
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read decisions on import %d: %w", id, err)
	}
	return choices, nil
}
