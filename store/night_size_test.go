package store_test

import (
	"testing"
	"time"

	"ciclo/store"
	"ciclo/store/storetest"
)

// What HR does to three thousand reviewers at once is a few statements that read
// each table once: a plan that looks the cycle's messages through for every one
// of them would take minutes.
func TestThreeThousandAreRemindedAndExtendedAtOnce(t *testing.T) {
	s, pool, company := open(t, 3000)
	ctx, hr := t.Context(), company.HR
	cycle := company.Draft(t, "Ciclo grande", 12000, 3000)
	if _, err := s.ActivateCycle(ctx, hr, cycle); err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, pool, `UPDATE outbox_events SET created_at = now() - interval '20 days', status = 'delivered', delivered_at = now()`)
	storetest.Exec(t, pool, `UPDATE cycles SET due_at = now() + interval '2 days' WHERE id = $1`, cycle)
	for _, act := range []struct {
		name string
		do   func() (int, error)
		want int
	}{
		{"the rule", func() (int, error) { return s.RemindByRule(ctx) }, 3000},
		{"the rule again", func() (int, error) { return s.RemindByRule(ctx) }, 0},
		{"by hand", func() (int, error) { d, err := s.RemindReviewers(ctx, hr, cycle, nil); return d.Recently, err }, 3000},
		{"extend", func() (int, error) {
			d, err := s.ExtendDeadline(ctx, hr, cycle, store.NewDeadline{Wall: wall(time.Now().Add(90 * time.Hour))})
			return d.Told, err
		}, 3000},
		{"progress", func() (int, error) {
			p, err := s.Progress(ctx, hr, cycle, store.MissingQuery{Page: store.Page{Limit: 25}})
			return p.MissingAll, err
		}, 3000},
		{"link again", func() (int, error) { _, err := s.SendLinkAgain(ctx, hr, cycle, company.People[1500]); return 1, err }, 1},
		{"one reviewer", func() (int, error) {
			r, err := s.CycleReviewer(ctx, hr, cycle, company.People[1500])
			return len(r.Reviews), err
		}, 4},
		{"reassign", func() (int, error) {
			r, err := s.CycleReviewer(ctx, hr, cycle, company.People[1500])
			if err != nil {
				return 0, err
			}
			_, err = s.ReassignEvaluation(ctx, hr, cycle, r.Reviews[0].ID, store.NewReviewer{Reviewer: "000002"})
			return 1, err
		}, 1},
		{"cancel", func() (int, error) { return s.CancelCycle(ctx, hr, cycle, "fim") }, 12000},
	} {
		began := time.Now()
		n, err := act.do()
		if err != nil || n != act.want {
			t.Errorf("%s: %d, want %d (%v)", act.name, n, act.want, err)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s took %s", act.name, took)
		}
	}
}
