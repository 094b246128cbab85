package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/intake"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

// draft makes an empty draft cycle of the HR manager's through the store.
func draft(t *testing.T, s *store.Store, company storetest.Company, name string) int64 {
	t.Helper()
	id, err := s.CreateCycle(t.Context(), company.HR, terms(company, name))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func terms(company storetest.Company, name string) appraisal.Terms {
	return appraisal.Terms{Name: name, FormVersionID: company.Form, DueAt: time.Now().Add(30 * 24 * time.Hour), DueZone: "America/Sao_Paulo", Grace: 15 * time.Minute}
}

func roster(t *testing.T, s *store.Store, by policy.Actor, cycle int64) appraisal.Roster {
	t.Helper()
	r, err := s.Roster(t.Context(), by, cycle, store.RosterQuery{Page: store.Page{Limit: 10_000}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// C5: an exclusion survives the rule, and who was hired on the very day stays
// out, with the reason.
func TestTheRuleKeepsExclusionsAndItsDate(t *testing.T) {
	s, pool, company := open(t, 12)
	cycle := draft(t, s, company, "2026.2")
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rule := appraisal.Rule{Departments: []string{"Logística"}, HiredBefore: &day, Self: true, Manager: true}
	done, err := s.ApplyRule(t.Context(), company.HR, cycle, rule)
	if err != nil {
		t.Fatal(err)
	}
	if want := (appraisal.RuleOutcome{Matched: 6, Added: 12}); done != want {
		t.Fatalf("first run: %+v, want %+v", done, want)
	}
	if _, err := s.ExcludePerson(t.Context(), company.HR, cycle, company.People[3], "licença até março"); err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, pool, `INSERT INTO people (tenant_id, code, name, department, hired_on) VALUES ($1, '000900', 'Nova Pessoa', 'Logística', '2026-01-01')`, company.Tenant)
	if _, err := s.AddPair(t.Context(), company.HR, cycle, store.NewPair{Reviewee: "000006", Reviewer: "000005", Kind: appraisal.Peer}); err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, pool, `UPDATE people SET department = 'Operações' WHERE id = $1`, company.People[7])
	done, err = s.ApplyRule(t.Context(), company.HR, cycle, rule)
	if err != nil {
		t.Fatal(err)
	}
	if want := (appraisal.RuleOutcome{Matched: 4, KeptOut: 1, Removed: 2, Left: 1}); done != want {
		t.Errorf("second run: %+v, want %+v", done, want)
	}
	r := roster(t, s, company.HR, cycle)
	if r.Total != 9 || r.Head.Participants != 4 || r.Head.Excluded != 1 {
		t.Errorf("%d pairs, %d participants, %d out; want 9, 4, 1", r.Total, r.Head.Participants, r.Head.Excluded)
	}
	a, err := s.Absences(t.Context(), company.HR, cycle, store.AbsenceQuery{Page: store.Page{Limit: 50}})
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, p := range a.People {
		why[p.Code] = p.Why + ":" + p.Reason
	}
	if a.Total != 9 || why["000004"] != "excluded:licença até março" || why["000900"] != "hired:" || why["000001"] != "department:" {
		t.Errorf("who is out: %d, %v", a.Total, why)
	}
}

// People who left are not taken in, nor asked as managers.
func TestTheRuleLeavesOutWhoLeft(t *testing.T) {
	s, pool, company := open(t, 6)
	cycle := draft(t, s, company, "2026.2")
	storetest.Exec(t, pool, `UPDATE people SET left_on = current_date - 1 WHERE id = $1`, company.People[0])
	done, err := s.ApplyRule(t.Context(), company.HR, cycle, appraisal.Rule{Self: true, Manager: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := (appraisal.RuleOutcome{Matched: 5, Added: 5, WithoutManager: 5}); done != want {
		t.Errorf("%+v, want %+v", done, want)
	}
}

func sheet(t *testing.T, body []byte) *intake.Sheet {
	t.Helper()
	read, err := intake.Read("pares.csv", body, intake.PairColumns)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func stage(t *testing.T, s *store.Store, by policy.Actor, cycle int64, body []byte, mode string) (int64, map[string]int) {
	t.Helper()
	id, err := s.StagePairs(t.Context(), by, cycle, sheet(t, body), mode)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.PairsImport(t.Context(), by, cycle, id, store.PairsQuery{Page: store.Page{Limit: 25}})
	if err != nil {
		t.Fatal(err)
	}
	return id, p.Counts
}

func export(t *testing.T, s *store.Store, by policy.Actor, cycle int64) [][]string {
	t.Helper()
	_, lines, err := s.RosterLines(t.Context(), by, cycle)
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]string{{"avaliado", "avaliador", "tipo"}}
	for _, l := range lines {
		rows = append(rows, []string{l.Reviewee, l.Reviewer, l.Kind})
	}
	return rows
}

func csvOf(t *testing.T, rows [][]string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := intake.WriteCSV(&b, rows); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// C4: an export imports as nothing to do; one changed reviewer is one update,
// and the old pair goes in the same step.
func TestAnExportedRosterImportsUnchanged(t *testing.T) {
	s, pool, company := open(t, 12)
	storetest.Exec(t, pool, `UPDATE people SET email = NULL WHERE id = $1`, company.People[4])
	cycle := company.Draft(t, "2026.2", 30, 10)
	rows := export(t, s, company.HR, cycle)
	for _, mode := range []string{store.MergePairs, store.ReplacePairs} {
		if _, counts := stage(t, s, company.HR, cycle, csvOf(t, rows), mode); len(counts) != 1 || counts[store.VerdictUnchanged] != 30 {
			t.Errorf("%s: %v, want 30 unchanged", mode, counts)
		}
	}
	rows[1][1] = "000012" // reviews nobody yet
	id, counts := stage(t, s, company.HR, cycle, csvOf(t, rows), store.ReplacePairs)
	if counts[store.VerdictUnchanged] != 29 || counts[store.VerdictUpdate] != 1 || len(counts) != 2 {
		t.Fatalf("one changed reviewer: %v", counts)
	}
	done, err := s.ConfirmPairs(t.Context(), company.HR, cycle, id)
	if err != nil {
		t.Fatal(err)
	}
	if want := (store.PairsOutcome{Updated: 1}); done != want {
		t.Errorf("confirmed: %+v, want %+v", done, want)
	}
	after := export(t, s, company.HR, cycle)
	if len(after) != 31 {
		t.Errorf("%d pairs, want 30", len(after)-1)
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM evaluations WHERE cycle_id = $1 AND reviewer_id = $2`, cycle, company.People[11]); n != 1 {
		t.Errorf("the new reviewer has %d pairs, want 1", n)
	}
	if _, err := s.ConfirmPairs(t.Context(), company.HR, cycle, id); fault.KindOf(err) != fault.Conflict {
		t.Errorf("confirming twice: %v, want a conflict", err)
	}
}

// What the file leaves out goes when the roster is replaced, and stays when it
// is merged.
func TestReplacingRemovesWhatTheFileLeavesOut(t *testing.T) {
	s, _, company := open(t, 12)
	cycle := company.Draft(t, "2026.2", 20, 10)
	rows := export(t, s, company.HR, cycle)
	if _, counts := stage(t, s, company.HR, cycle, csvOf(t, rows[:11]), store.MergePairs); counts[store.VerdictRemove] != 0 {
		t.Errorf("merge: %v", counts)
	}
	id, counts := stage(t, s, company.HR, cycle, csvOf(t, rows[:11]), store.ReplacePairs)
	if counts[store.VerdictRemove] != 10 || counts[store.VerdictUnchanged] != 10 {
		t.Fatalf("replace: %v", counts)
	}
	if _, err := s.ConfirmPairs(t.Context(), company.HR, cycle, id); err != nil {
		t.Fatal(err)
	}
	if r := roster(t, s, company.HR, cycle); r.Total != 10 || r.Head.Blockers != 0 {
		t.Errorf("%d pairs and %d blockers, want 10 and 0", r.Total, r.Head.Blockers)
	}
}

// Each fault of a line is said beside its column, and the rest still goes in.
func TestALineOfARosterFileIsRefusedWithItsReason(t *testing.T) {
	s, pool, company := open(t, 12)
	cycle := draft(t, s, company, "2026.2")
	if _, err := s.ExcludePerson(t.Context(), company.HR, cycle, company.People[3], "licença"); err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, pool, `UPDATE people SET left_on = current_date - 1 WHERE id = $1`, company.People[4])
	p := func(n int) string { return fmt.Sprintf("p%d@%d.example.test", n, company.Tenant) }
	id, counts := stage(t, s, company.HR, cycle, csvOf(t, [][]string{
		{"avaliado", "avaliador", "tipo"},
		{p(6), p(7), "par"},
		{"000006", "000007", "peer"},          // the same pair, by code
		{"000006", p(6), "gestor"},            // oneself as a manager
		{"000006", p(7), "autoavaliação"},     // somebody else's self-review
		{p(6), "ninguem@example.test", "par"}, // unknown
		{p(4), p(6), "par"},                   // left out
		{p(6), p(5), "par"},                   // left
		{p(6), p(7), "primo"},                 // no such kind
	}), store.MergePairs)
	if counts[store.VerdictCreate] != 1 || counts[store.VerdictReject] != 7 {
		t.Fatalf("counts %v", counts)
	}
	preview, err := s.PairsImport(t.Context(), company.HR, cycle, id, store.PairsQuery{Page: store.Page{Limit: 25}, Verdict: store.VerdictReject})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]string{3: "intake.pair_twice", 4: "intake.other_of_one", 5: "intake.self_of_two", 6: "pairs.person_unknown", 7: "pairs.person_is_out", 8: "pairs.person_left", 9: "intake.kind_unknown"}
	for _, l := range preview.Page {
		if len(l.Problems) != 1 || l.Problems[0].Why.Key != want[l.Line] || l.Problems[0].Column == "" {
			t.Errorf("line %d: %+v, want %s", l.Line, l.Problems, want[l.Line])
		}
	}
	done, err := s.ConfirmPairs(t.Context(), company.HR, cycle, id)
	if err != nil || done.Created != 1 || done.Rejected != 7 {
		t.Errorf("confirmed %+v, %v", done, err)
	}
}

// C14: what was accepted in the preview and cannot be stored any more stores
// nothing; the message names line, column, value and why.
func TestAConfirmedFileThatNoLongerFitsStoresNothing(t *testing.T) {
	s, pool, company := open(t, 12)
	cycle := draft(t, s, company, "2026.2")
	id, _ := stage(t, s, company.HR, cycle, csvOf(t, [][]string{{"avaliado", "avaliador", "tipo"}, {"000006", "000007", "par"}, {"000008", "000009", "par"}}), store.MergePairs)
	storetest.Exec(t, pool, `UPDATE people SET code = '000999' WHERE id = $1`, company.People[8])
	_, err := s.ConfirmPairs(t.Context(), company.HR, cycle, id)
	f := fault.As(err)
	if f == nil || f.Kind != fault.Conflict || f.Key != "pairs.line_changed" {
		t.Fatalf("confirming: %v", err)
	}
	if r := roster(t, s, company.HR, cycle); r.Total != 0 {
		t.Errorf("%d pairs were stored", r.Total)
	}
	preview, err := s.PairsImport(t.Context(), company.HR, cycle, id, store.PairsQuery{Page: store.Page{Limit: 25}})
	if err != nil || preview.Counts[store.VerdictReject] != 1 {
		t.Errorf("the preview says %v, %v", preview.Counts, err)
	}
	if done, err := s.ConfirmPairs(t.Context(), company.HR, cycle, id); err != nil || done.Created != 1 {
		t.Errorf("after the preview was read again: %+v, %v", done, err)
	}
}

// A code that has become another person's does what nobody saw: nothing is
// stored until somebody has looked again.
func TestAConfirmedFileThatNowNamesAnotherPersonStoresNothing(t *testing.T) {
	s, pool, company := open(t, 12)
	cycle := draft(t, s, company, "2026.2")
	id, _ := stage(t, s, company.HR, cycle, csvOf(t, [][]string{{"avaliado", "avaliador", "tipo"}, {"000006", "000007", "par"}}), store.MergePairs)
	storetest.Exec(t, pool, `UPDATE people SET code = 'x' || code WHERE code = '000007'`)
	storetest.Exec(t, pool, `UPDATE people SET code = '000007' WHERE code = '000009'`)
	if _, err := s.ConfirmPairs(t.Context(), company.HR, cycle, id); fault.KindOf(err) != fault.Conflict {
		t.Fatalf("confirming: %v, want a conflict", err)
	}
	if r := roster(t, s, company.HR, cycle); r.Total != 0 {
		t.Errorf("%d pairs were stored", r.Total)
	}
	if done, err := s.ConfirmPairs(t.Context(), company.HR, cycle, id); err != nil || done.Created != 1 {
		t.Errorf("after the preview was read again: %+v, %v", done, err)
	}
}

// C6: an emptied roster stays empty, and activation says so.
func TestAnEmptyRosterStaysEmpty(t *testing.T) {
	s, _, company := open(t, 12)
	cycle := company.Draft(t, "2026.2", 20, 10)
	if n, err := s.ClearRoster(t.Context(), company.HR, cycle); err != nil || n != 20 {
		t.Fatalf("cleared %d, %v", n, err)
	}
	if r := roster(t, s, company.HR, cycle); r.Total != 0 || r.Head.Participants != 0 || r.Head.Blockers != 1 {
		t.Errorf("%d pairs, %d participants, %d blockers; want 0, 0, 1", r.Total, r.Head.Participants, r.Head.Blockers)
	}
	if _, err := s.ActivateCycle(t.Context(), company.HR, cycle); fault.KindOf(err) != fault.Conflict {
		t.Errorf("activation: %v, want a conflict", err)
	}
}

// C2: who is in two open cycles is named with both.
func TestTheRehearsalNamesBothCycles(t *testing.T) {
	s, _, company := open(t, 12)
	first := company.Draft(t, "Experiência", 10, 10)
	if _, err := s.ActivateCycle(t.Context(), company.HR, first); err != nil {
		t.Fatal(err)
	}
	second := company.Draft(t, "2026.2", 10, 10)
	r, err := s.Rehearse(t.Context(), company.HR, second, store.Page{Limit: 25})
	if err != nil {
		t.Fatal(err)
	}
	if r.Total != 0 || r.Warnings.Elsewhere != 10 || len(r.Elsewhere) != 1 || r.Elsewhere[0].Name != "Experiência" || r.Elsewhere[0].N != 10 {
		t.Errorf("rehearsal: %d blockers, %+v, %+v", r.Total, r.Warnings, r.Elsewhere)
	}
	c, err := s.Concerns(t.Context(), company.HR, second, appraisal.AboutElsewhere, store.Page{Limit: 3})
	if err != nil || c.Total != 10 || len(c.People) != 3 || c.People[0].Cycle != "Experiência" {
		t.Errorf("concerns: %+v, %v", c, err)
	}
	for _, about := range []string{appraisal.AboutAddress, appraisal.AboutManager} {
		c, err := s.Concerns(t.Context(), company.HR, second, about, store.Page{Limit: 3})
		if err != nil || (about == appraisal.AboutManager) != (c.Total == 10) {
			t.Errorf("%s: %d, %v", about, c.Total, err)
		}
	}
	one, err := s.SampleInvitation(t.Context(), company.HR, second, 0)
	if err != nil || one.Place != 1 || one.Reviewers != 10 || one.Previous != 0 || len(one.Reviews) != 1 {
		t.Fatalf("sample: %+v, %v", one, err)
	}
	two, err := s.SampleInvitation(t.Context(), company.HR, second, one.Next)
	if err != nil || two.Place != 2 || two.Previous != one.PersonID {
		t.Errorf("the next sample: %+v, %v", two, err)
	}
}

// The fixture of the house: 1,265 pairs by 307 reviewers.
func TestTheRosterFixtureImportsUntouched(t *testing.T) {
	s, pool, company := open(t, 2)
	people, err := os.ReadFile("../testdata/pessoas.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range sheet(t, people).Rows {
		storetest.Exec(t, pool, `INSERT INTO people (tenant_id, code, name, email, department) VALUES ($1, $2, $3, nullif($4, ''), $5)`,
			company.Tenant, "x"+row.Cells[0], row.Cells[1], row.Cells[2], row.Cells[3])
	}
	pairs, err := os.ReadFile("../testdata/pares.csv")
	if err != nil {
		t.Fatal(err)
	}
	cycle := draft(t, s, company, "2026.2")
	id, counts := stage(t, s, company.HR, cycle, pairs, store.ReplacePairs)
	if counts[store.VerdictCreate] != 1265 || len(counts) != 1 {
		t.Fatalf("counts %v, want 1265 to create", counts)
	}
	if done, err := s.ConfirmPairs(t.Context(), company.HR, cycle, id); err != nil || done.Created != 1265 {
		t.Fatalf("confirmed %+v, %v", done, err)
	}
	receipt, err := s.ActivateCycle(t.Context(), company.HR, cycle)
	if err != nil || receipt.Events != 307 || receipt.Pairs != 1265 {
		t.Errorf("receipt %+v, %v", receipt, err)
	}
}

// Closing expires what was not submitted, cancelling cancels it; both take the
// waiting messages back in the same transaction.
func TestTheEndOfACycle(t *testing.T) {
	for _, tt := range []struct {
		name  string
		end   func(context.Context, *store.Store, policy.Actor, int64) error
		cycle string
		state string
	}{
		{"closing", func(ctx context.Context, s *store.Store, by policy.Actor, id int64) error {
			_, err := s.CloseCycle(ctx, by, id)
			return err
		}, "closed", "expired"},
		{"cancelling", func(ctx context.Context, s *store.Store, by policy.Actor, id int64) error {
			_, err := s.CancelCycle(ctx, by, id, "reorganização")
			return err
		}, "cancelled", "cancelled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, pool, company := open(t, 12)
			cycle := company.Draft(t, "2026.2", 20, 10)
			if _, err := s.ActivateCycle(t.Context(), company.HR, cycle); err != nil {
				t.Fatal(err)
			}
			storetest.Exec(t, pool, `UPDATE evaluations SET state = 'submitted', started_at = now(), submitted_at = now(), submitted_via = 'link' WHERE id = (SELECT min(id) FROM evaluations)`)
			ends := atOnce(t, 8, func() error { return tt.end(context.WithoutCancel(t.Context()), s, company.HR, cycle) })
			if ends != 1 {
				t.Errorf("%d ended it, want 1", ends)
			}
			got := storetest.One[string](t, pool, `SELECT state FROM cycles WHERE id = $1`, cycle)
			if got != tt.cycle {
				t.Errorf("the cycle is %s", got)
			}
			if n := storetest.One[int](t, pool, `SELECT count(*) FROM evaluations WHERE state = $1`, tt.state); n != 19 {
				t.Errorf("%d evaluations are %s, want 19", n, tt.state)
			}
			if n := storetest.One[int](t, pool, `SELECT count(*) FROM outbox_events WHERE status = 'cancelled' AND status_reason <> ''`); n != 10 {
				t.Errorf("%d messages are cancelled, want 10", n)
			}
			receipt, err := s.Receipt(t.Context(), company.HR, cycle)
			if err != nil || receipt.Messages.Known() != receipt.Did.Events || receipt.Listed != 20 {
				t.Errorf("receipt %+v, %v", receipt, err)
			}
			p, err := s.Progress(t.Context(), company.HR, cycle, store.MissingQuery{Page: store.Page{Limit: 25}})
			if err != nil || p.Total != 0 || p.MissingAll != 0 {
				t.Errorf("progress %+v, %v", p, err)
			}
		})
	}
}

// atOnce runs do that many times at once and answers how many succeeded; the
// others must be conflicts.
func atOnce(t *testing.T, times int, do func() error) (won int) {
	t.Helper()
	errs := make(chan error, times)
	for range times {
		go func() { errs <- do() }()
	}
	for range times {
		switch err := <-errs; fault.KindOf(err) {
		case fault.None:
			won++
		case fault.Conflict:
		default:
			t.Errorf("a loser was told %v", err)
		}
	}
	return won
}

// Closing and submitting cannot cross: each review is either submitted, and its
// reviewer was told so, or expired, and its reviewer was told that.
func TestClosingAndSubmittingDoNotCross(t *testing.T) {
	s, pool, company := open(t, 12)
	cycle := company.Draft(t, "2026.2", 10, 10)
	if _, err := s.ActivateCycle(t.Context(), company.HR, cycle); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	ids := storetest.One[[]int64](t, pool, `SELECT array_agg(id ORDER BY reviewer_id) FROM evaluations WHERE cycle_id = $1`, cycle)
	said := func(appraisal.FormContent) appraisal.Answers { return appraisal.Answers{"q1": {Text: "Foi bem."}} }
	told := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { _, told[i] = s.SubmitEvaluation(ctx, company.Actor(i), id, 0, said) })
		if i == len(ids)/2 {
			wg.Go(func() {
				if _, err := s.CloseCycle(ctx, company.HR, cycle); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
	}
	wg.Wait()
	for i, id := range ids {
		want := "submitted"
		if told[i] != nil {
			want = "expired"
			if fault.KindOf(told[i]) != fault.Conflict {
				t.Errorf("reviewer %d was told %v", i, told[i])
			}
		}
		if got := storetest.One[string](t, pool, `SELECT state FROM evaluations WHERE id = $1`, id); got != want {
			t.Errorf("reviewer %d was told %v, and the review is %s", i, told[i], got)
		}
	}
}
