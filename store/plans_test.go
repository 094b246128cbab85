package store_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/outbox"
	"ciclo/store"
	"ciclo/store/storetest"
)

// askedSQL keeps what the store asks, to have it explained afterwards.
type askedSQL struct {
	mu    sync.Mutex
	asked []pgx.TraceQueryStartData
}

func (s *askedSQL) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, data)
	return ctx
}

func (s *askedSQL) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *askedSQL) take() []pgx.TraceQueryStartData {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// readsAll are whole tables read from one end to the other, that only grow.
var readsAll = regexp.MustCompile(`Seq Scan on (evaluations|outbox_events|answers|audit_entries|delivery_attempts|review_links)\b`)

// TestPagesReadTheirCycleAlone explains what the pages of one cycle ask, in a
// database with forty others: none reads a growing table as a whole.
func TestPagesReadTheirCycleAlone(t *testing.T) {
	t.Parallel()
	plain := storetest.Pool(t)
	seen := &askedSQL{}
	config := plain.Config()
	config.ConnConfig.Tracer = seen
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, err := store.New(pool)
	if err != nil {
		t.Fatal(err)
	}
	company := storetest.NewCompany(t, plain, "Aroeira", 300)
	cycles := make([]int64, 40)
	for i := range cycles {
		cycles[i] = company.Draft(t, fmt.Sprintf("Ciclo %02d", i), 900, 300)
		if i > 0 {
			if _, err := s.ActivateCycle(t.Context(), company.HR, cycles[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	draft, active, closed := cycles[0], cycles[1], cycles[2]
	if _, err := s.CloseCycle(t.Context(), company.HR, closed); err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, plain, `INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id) SELECT $1, $2, 'message.retried', 'message', i FROM generate_series(1, 20000) i`, company.Tenant, company.HR.PersonID)
	for _, sql := range []string{
		`INSERT INTO answers (evaluation_id, tenant_id, content) SELECT id, tenant_id, '{"q1": {"text": "Bem."}}' FROM evaluations`,
		`INSERT INTO review_links (tenant_id, cycle_id, person_id, kid, nonce) SELECT tenant_id, cycle_id, person_id, 'k1', decode(md5(id::text), 'hex') FROM outbox_events`,
		`INSERT INTO delivery_attempts (tenant_id, event_id, attempt, class, cause, error) SELECT tenant_id, id, 1, 'temporary', 'slow', '450' FROM outbox_events`,
		`VACUUM ANALYZE`,
	} {
		storetest.Exec(t, plain, sql)
	}
	ctx, hr := t.Context(), company.HR
	page := store.Page{Limit: 25}
	reviewer := company.Actor(7)
	event := storetest.One[int64](t, plain, `SELECT min(id) FROM outbox_events WHERE cycle_id = $1`, active)
	review := storetest.One[int64](t, plain, `SELECT min(id) FROM evaluations WHERE cycle_id = $1 AND reviewer_id = $2`, active, reviewer.PersonID)
	for what, ask := range map[string]func() error{
		"roster":    func() error { _, err := s.Roster(ctx, hr, draft, store.RosterQuery{Page: page}); return err },
		"rehearsal": func() error { _, err := s.Rehearse(ctx, hr, draft, page); return err },
		"progress":  func() error { _, err := s.Progress(ctx, hr, active, store.MissingQuery{Page: page}); return err },
		"record":    func() error { _, err := s.Receipt(ctx, hr, active); return err },
		"results":   func() error { _, err := s.Results(ctx, hr, closed, store.ResultsQuery{Page: page}); return err },
		"slips":     func() error { _, err := s.Slips(ctx, hr, active, page); return err },
		"decisions": func() error { _, _, err := s.Decisions(ctx, hr, active); return err },
		"requests":  func() error { _, _, err := s.ExtensionRequests(ctx, hr, active); return err },
		"messages":  func() error { _, err := s.Messages(ctx, hr, outbox.Filter{CycleID: active}); return err },
		"message":   func() error { _, err := s.Message(ctx, hr, event); return err },
		"reviews":   func() error { _, err := s.Reviews(ctx, reviewer); return err },
		"review":    func() error { _, err := s.Review(ctx, reviewer, review); return err },
		"waiting":   func() error { _, err := s.WaitingFor(ctx, reviewer); return err },
		"sending":   func() error { _, err := s.Sending(ctx, hr); return err },
	} {
		seen.take()
		if err := ask(); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for _, q := range seen.take() {
			head := strings.ToUpper(strings.TrimSpace(q.SQL))
			if !strings.HasPrefix(head, "SELECT") && !strings.HasPrefix(head, "WITH") {
				continue
			}
			rows, err := plain.Query(ctx, "EXPLAIN "+q.SQL, q.Args...)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatalf("%s: %v\n%s", what, err, q.SQL)
			}
			if plan := strings.Join(lines, "\n"); readsAll.MatchString(plan) {
				t.Errorf("%s reads a whole table:\n%s\n%s", what, q.SQL, plan)
			}
		}
	}
}
