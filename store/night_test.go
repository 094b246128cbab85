package store_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/store"
	"ciclo/store/storetest"
)

// night is a running cycle in which people[0..5] review one or two others each.
type night struct {
	*store.Store
	pool    *pgxpool.Pool
	company storetest.Company
	cycle   int64
	t       *testing.T
}

func newNight(t *testing.T) *night {
	t.Helper()
	s, pool, company := open(t, 12)
	n := &night{s, pool, company, company.Draft(t, "Ciclo 2026.2", 9, 6), t}
	if _, err := s.ActivateCycle(t.Context(), company.HR, n.cycle); err != nil {
		t.Fatal(err)
	}
	return n
}

// events lists whom messages of a kind are for, in order.
func (n *night) events(kind string) []int64 {
	n.t.Helper()
	return storetest.One[[]int64](n.t, n.pool, `
		SELECT coalesce(array_agg(person_id ORDER BY person_id, id), '{}')
		FROM outbox_events
		WHERE event_type = $1`, kind)
}

func (n *night) reviews(person int) []int64 {
	n.t.Helper()
	return storetest.One[[]int64](n.t, n.pool, `
		SELECT coalesce(array_agg(id ORDER BY id), '{}')
		FROM evaluations
		WHERE cycle_id = $1
		  AND reviewer_id = $2`, n.cycle, n.company.People[person])
}

func (n *night) state(id int64) string {
	n.t.Helper()
	return storetest.One[string](n.t, n.pool, `SELECT state || coalesce(' ' || state_reason, '') FROM evaluations WHERE id = $1`, id)
}

func (n *night) saying(text string) store.Said {
	return func(appraisal.FormContent) appraisal.Answers { return appraisal.Answers{"q1": {Text: text}} }
}

func (n *night) write(person int, id int64, text string) {
	n.t.Helper()
	if _, err := n.SaveDraft(n.t.Context(), n.company.Actor(person), id, 0, n.saying(text)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *night) submit(person int, id int64) error {
	n.t.Helper()
	_, err := n.SubmitEvaluation(n.t.Context(), n.company.Actor(person), id, 0, n.saying("Vai bem."))
	return err
}

func (n *night) due(at time.Time) {
	n.t.Helper()
	storetest.Exec(n.t, n.pool, `UPDATE cycles SET due_at = $2 WHERE id = $1`, n.cycle, at)
}

// wall is an instant as somebody in São Paulo writes it.
func wall(at time.Time) time.Time {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		panic(err)
	}
	return at.In(zone)
}

func (n *night) letter(kind string, person int) store.Outgoing {
	n.t.Helper()
	e := outbox.Event{TenantID: n.company.Tenant, Type: kind}
	err := n.pool.QueryRow(n.t.Context(), `
		SELECT id, payload
		FROM outbox_events
		WHERE event_type = $1
		  AND person_id = $2
		ORDER BY id DESC
		LIMIT 1`, kind, n.company.People[person]).Scan(&e.ID, &e.Payload)
	if err != nil {
		n.t.Fatal(err)
	}
	out, err := n.Letter(n.t.Context(), e, "k1")
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

// eight does the same at once eight times, and answers how often it worked.
func eight(t *testing.T, act func() error) (worked int) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 8 {
		wg.Go(func() {
			err := act()
			mu.Lock()
			defer mu.Unlock()
			switch fault.KindOf(err) {
			case fault.None:
				worked++
			case fault.Conflict, fault.Invalid, fault.NotFound:
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return worked
}

func TestTheLastReviewIsThankedForOnce(t *testing.T) {
	n := newNight(t)
	mine := n.reviews(0)
	if len(mine) != 2 {
		t.Fatalf("%d reviews", len(mine))
	}
	var wg sync.WaitGroup
	for _, id := range mine { // two windows, the last two at once
		wg.Go(func() {
			if err := n.submit(0, id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := n.events(outbox.EvaluationReceived); !slices.Equal(got, n.company.People[0:1]) {
		t.Errorf("thanked %v", got)
	}
}

// Case C8, below the screens: what is held never leaves; who was asked is told.
func TestACancelledCycleTellsThoseAlreadyAsked(t *testing.T) {
	n := newNight(t)
	ctx := t.Context()
	storetest.Exec(t, n.pool, `
		UPDATE outbox_events
		SET status = 'delivered', delivered_at = now()
		WHERE person_id = ANY ($1)`, n.company.People[0:2])
	if _, err := n.CancelCycle(ctx, n.company.HR, n.cycle, "reestruturação"); err != nil {
		t.Fatal(err)
	}
	if got := n.events(outbox.CycleCancelled); !slices.Equal(got, n.company.People[0:2]) {
		t.Errorf("told %v", got)
	}
	if l := n.letter(outbox.CycleCancelled, 0); l.Over() != "" || l.Reason != "reestruturação" || l.Link != nil {
		t.Errorf("the letter: %+v", l)
	}
	if held := storetest.One[int](t, n.pool, `SELECT count(*)::int FROM outbox_events WHERE event_type = 'evaluation.assigned' AND status = 'cancelled'`); held != 4 {
		t.Errorf("%d held messages are cancelled", held)
	}
}
