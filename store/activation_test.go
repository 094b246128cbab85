package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

// open returns a store on a database of its own, and a company of n people. The
// test runs beside others from here.
func open(t *testing.T, n int) (*store.Store, *pgxpool.Pool, storetest.Company) {
	t.Helper()
	t.Parallel()
	return openAlone(t, n)
}

// openAlone is open for a test that runs while no other does.
func openAlone(t *testing.T, n int) (*store.Store, *pgxpool.Pool, storetest.Company) {
	t.Helper()
	pool := storetest.Pool(t)
	s, err := store.New(pool)
	if err != nil {
		t.Fatal(err)
	}
	return s, pool, storetest.NewCompany(t, pool, "Aroeira", n)
}

// at reads where a cycle and what hangs on it stand.
type standing struct {
	Cycle                            string
	Planned, Pending, Events, Drains int
}

func at(t *testing.T, pool *pgxpool.Pool, cycle int64) (s standing) {
	t.Helper()
	err := pool.QueryRow(t.Context(), `
		SELECT (SELECT state FROM cycles WHERE id = @cycle),
		       (SELECT count(*) FROM evaluations WHERE cycle_id = @cycle AND state = 'planned'),
		       (SELECT count(*) FROM evaluations WHERE cycle_id = @cycle AND state = 'pending'),
		       (SELECT count(*) FROM outbox_events WHERE cycle_id = @cycle),
		       (SELECT count(*) FROM river_job WHERE kind = 'outbox_drain')`,
		pgx.NamedArgs{"cycle": cycle}).Scan(&s.Cycle, &s.Planned, &s.Pending, &s.Events, &s.Drains)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestActivationOpensEverythingAtOnce(t *testing.T) {
	s, pool, company := open(t, 40)
	cycle := company.Draft(t, "2026.2", 40, 25)
	receipt, err := s.ActivateCycle(t.Context(), company.HR, cycle)
	if err != nil {
		t.Fatal(err)
	}
	want := appraisal.Receipt{CycleID: cycle, Number: 1, By: company.HR.Name, At: receipt.At, Pairs: 40, Evaluations: 40, Reviewers: 25, Events: 25, Mails: 25}
	if receipt != want {
		t.Errorf("receipt = %+v, want %+v", receipt, want)
	}
	if got, want := at(t, pool, cycle), (standing{"active", 0, 40, 25, 1}); got != want {
		t.Errorf("after activation: %+v, want %+v", got, want)
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM audit_entries WHERE act = 'cycle.activated' AND object_id = $1`, cycle); n != 1 {
		t.Errorf("%d audit entries, want 1", n)
	}
}

// D2: twenty clicks at once are one activation; the others are told who and when.
func TestTwentyActivationsAreOne(t *testing.T) {
	s, pool, company := open(t, 40)
	cycle := company.Draft(t, "2026.2", 40, 25)
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() { _, errs[i] = s.ActivateCycle(context.WithoutCancel(t.Context()), company.HR, cycle) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		f := fault.As(err)
		switch {
		case err == nil:
			won++
		case f == nil || f.Kind != fault.Conflict || f.Key != "cycle.already_active":
			t.Errorf("a loser was told %v", err)
		default:
			facts := map[any]any{}
			for i := 0; i+1 < len(f.Args); i += 2 {
				facts[f.Args[i]] = f.Args[i+1]
			}
			when, _ := facts["when"].(time.Time)
			if facts["who"] != "Bruno 2" || when.IsZero() {
				t.Errorf("a loser was not told who and when: %v", facts)
			}
		}
	}
	if won != 1 {
		t.Errorf("%d activations, want 1", won)
	}
	if got, want := at(t, pool, cycle), (standing{"active", 0, 40, 25, 1}); got != want {
		t.Errorf("after twenty clicks: %+v, want %+v", got, want)
	}
}

func TestReviewerWithoutAddressIsHandedOver(t *testing.T) {
	s, pool, company := open(t, 12)
	cycle := company.Draft(t, "2026.2", 10, 10)
	storetest.Exec(t, pool, `UPDATE people SET email = NULL WHERE id = ANY($1)`, company.People[2:5])
	receipt, err := s.ActivateCycle(t.Context(), company.HR, cycle)
	if err != nil {
		t.Fatal(err)
	}
	if receipt.Mails != 7 || receipt.Handouts != 3 || receipt.Events != 10 {
		t.Errorf("mails %d, hand-outs %d, events %d; want 7, 3, 10", receipt.Mails, receipt.Handouts, receipt.Events)
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM outbox_events WHERE queue = 'handout' AND status = 'pending'`); n != 3 {
		t.Errorf("%d hand-outs wait, want 3", n)
	}
}

// C3 and C6: a blocker refuses the whole activation; nothing is locked or skipped.
func TestBlockersRefuseTheWholeActivation(t *testing.T) {
	for _, tt := range []struct {
		name, spoil, mend, blockers string
	}{
		{"a reviewer who left",
			`UPDATE people SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date - 1 WHERE id = (SELECT min(reviewer_id) FROM evaluations)`,
			`UPDATE people SET left_on = NULL`,
			`SELECT count(*) FROM (
				SELECT e.id FROM evaluations e JOIN people p ON p.id = e.reviewer_id AND p.left_on IS NOT NULL
				UNION ALL
				SELECT q.id FROM participants q JOIN people p ON p.id = q.person_id AND p.left_on IS NOT NULL) rows`},
		{"a person nobody reviews",
			`INSERT INTO participants (tenant_id, cycle_id, person_id, source) SELECT tenant_id, id, activated_by, 'page' FROM (SELECT tenant_id, id, owner_id AS activated_by FROM cycles) c`,
			`DELETE FROM participants p WHERE NOT EXISTS (SELECT FROM evaluations e WHERE e.reviewee_id = p.person_id)`, `SELECT 1`},
		{"somebody left out who is still in the map",
			`UPDATE participants SET excluded_at = now(), exclusion_reason = 'licença' WHERE person_id = (SELECT min(reviewee_id) FROM evaluations)`,
			`UPDATE participants SET excluded_at = NULL, exclusion_reason = NULL`,
			`SELECT count(*) FROM evaluations e JOIN participants p ON p.person_id = e.reviewee_id AND p.excluded_at IS NOT NULL`},
		{"no contact", `UPDATE tenants SET contact_email = NULL`, `UPDATE tenants SET contact_email = 'rh@example.test'`, `SELECT 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, pool, company := open(t, 12)
			cycle := company.Draft(t, "2026.2", 20, 10)
			storetest.Exec(t, pool, `DELETE FROM evaluations WHERE reviewee_id = $1`, company.HR.PersonID)
			storetest.Exec(t, pool, `DELETE FROM participants WHERE person_id = $1`, company.HR.PersonID)
			pairs := at(t, pool, cycle).Planned
			storetest.Exec(t, pool, tt.spoil)
			want := storetest.One[int](t, pool, tt.blockers)
			if n := blockersAtHome(t, s, company.HR); n != want {
				t.Errorf("the first page counts %d blockers, want %d", n, want)
			}
			_, err := s.ActivateCycle(t.Context(), company.HR, cycle)
			if f := fault.As(err); want == 0 || f == nil || f.Key != "cycle.has_blockers" || f.Args[3] != want {
				t.Fatalf("ActivateCycle() = %v, want %d blockers", err, want)
			}
			if got, want := at(t, pool, cycle), (standing{"draft", pairs, 0, 0, 0}); got != want {
				t.Errorf("after the refusal: %+v, want %+v", got, want)
			}
			storetest.Exec(t, pool, tt.mend)
			if _, err := s.ActivateCycle(t.Context(), company.HR, cycle); err != nil {
				t.Errorf("mended, it is still refused: %v", err)
			}
		})
	}
}

func TestEmptyRosterIsRefused(t *testing.T) {
	s, _, company := open(t, 3)
	cycle := company.Draft(t, "2026.2", 0, 1)
	_, err := s.ActivateCycle(t.Context(), company.HR, cycle)
	if f := fault.As(err); f == nil || f.Key != "cycle.has_blockers" {
		t.Errorf("ActivateCycle() = %v, want blockers", err)
	}
	if n := blockersAtHome(t, s, company.HR); n != 1 {
		t.Errorf("the first page counts %d blockers, want 1", n)
	}
}

// blockersAtHome is what the first page counts of the only draft.
func blockersAtHome(t *testing.T, s *store.Store, by policy.Actor) int {
	t.Helper()
	home, err := s.NeedsMe(t.Context(), by)
	if err != nil || len(home.Cycles) != 1 {
		t.Fatalf("NeedsMe() = %+v, %v; want one cycle", home, err)
	}
	return home.Cycles[0].Blockers
}

// A reviewer who was already asked must not be swallowed: the sums do not
// close, and everything rolls back.
func TestSwallowedConflictRollsBack(t *testing.T) {
	s, pool, company := open(t, 12)
	cycle := company.Draft(t, "2026.2", 10, 10)
	storetest.Exec(t, pool, `
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload)
		VALUES ($1, 'mail', 'evaluation.assigned', $2, jsonb_build_object('reviewer_id', $3::bigint))`, company.Tenant, cycle, company.People[0])
	if _, err := s.ActivateCycle(t.Context(), company.HR, cycle); fault.KindOf(err) != fault.Internal {
		t.Errorf("ActivateCycle() = %v, want an error of ours", err)
	}
	if got, want := at(t, pool, cycle), (standing{"draft", 10, 0, 1, 0}); got != want {
		t.Errorf("after the rollback: %+v, want %+v", got, want)
	}
}

// D1 and D3: the connection dies between moving the evaluations and COMMIT.
func TestActivationCutBeforeCommitLeavesNothing(t *testing.T) {
	s, pool, company := open(t, 40)
	cycle := company.Draft(t, "2026.2", 40, 25)
	storetest.Exec(t, pool, `
		CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM pg_terminate_backend(pg_backend_pid());
			PERFORM pg_sleep(0);
			RETURN NEW;
		END $$;
		CREATE TRIGGER cut BEFORE INSERT ON activations FOR EACH ROW EXECUTE FUNCTION cut()`)
	if _, err := s.ActivateCycle(t.Context(), company.HR, cycle); err == nil {
		t.Fatal("the cut activation claims success")
	}
	if got, want := at(t, pool, cycle), (standing{"draft", 40, 0, 0, 0}); got != want {
		t.Errorf("after the cut: %+v, want %+v", got, want)
	}
	storetest.Exec(t, pool, `DROP TRIGGER cut ON activations`)
	if _, err := s.ActivateCycle(t.Context(), company.HR, cycle); err != nil {
		t.Fatalf("the next click: %v", err)
	}
	if got, want := at(t, pool, cycle), (standing{"active", 0, 40, 25, 1}); got != want {
		t.Errorf("after the next click: %+v, want %+v", got, want)
	}
}

// D20: a stray INSERT beside an uncommitted activation waits, and is refused.
func TestStrayRosterRowsAreRefused(t *testing.T) {
	_, pool, company := open(t, 12)
	cycle := company.Draft(t, "2026.2", 10, 10)
	stray := `
		INSERT INTO evaluations (tenant_id, cycle_id, reviewee_id, reviewer_id, kind, source)
		SELECT tenant_id, cycle_id, reviewee_id, reviewee_id, 'self', 'page' FROM evaluations WHERE cycle_id = $1 LIMIT 1`
	activation, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := activation.Exec(t.Context(), `UPDATE cycles SET state = 'active', activated_at = now(), activated_by = owner_id WHERE id = $1`, cycle); err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 1)
	go func() {
		_, err := pool.Exec(context.WithoutCancel(t.Context()), stray, cycle)
		refused <- err
	}()
	waitFor(t, pool, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
	if err := activation.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-refused; err == nil {
		t.Error("a row slipped into the roster of an active cycle")
	}
	for name, sql := range map[string]string{
		"an insert": stray,
		"a delete":  `DELETE FROM evaluations WHERE cycle_id = $1`,
		"an update": `UPDATE evaluations SET reviewer_id = (SELECT max(id) FROM people) WHERE cycle_id = $1`,
	} {
		if _, err := pool.Exec(t.Context(), sql, cycle); err == nil {
			t.Errorf("%s passes the lock", name)
		}
	}
	if _, err := pool.Exec(t.Context(), `UPDATE evaluations SET state = 'pending' WHERE cycle_id = $1`, cycle); err != nil {
		t.Errorf("the lock refuses what is no roster change: %v", err)
	}
	// a named change of this very transaction passes; one of another does not
	change := storetest.One[int64](t, pool, `INSERT INTO roster_changes (tenant_id, cycle_id, kind, actor_id) VALUES ($1, $2, 'late_joiner', $3) RETURNING id`,
		company.Tenant, cycle, company.HR.PersonID)
	if _, err := pool.Exec(t.Context(), `UPDATE evaluations SET reviewer_id = (SELECT max(id) FROM people), roster_change_id = $2 WHERE cycle_id = $1 AND reviewer_id = $3`, cycle, change, company.People[0]); err == nil {
		t.Error("a change of an earlier transaction opens the lock again")
	}
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		var id int64
		if err := tx.QueryRow(t.Context(), `INSERT INTO roster_changes (tenant_id, cycle_id, kind, actor_id) VALUES ($1, $2, 'reassign', $3) RETURNING id`,
			company.Tenant, cycle, company.HR.PersonID).Scan(&id); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `UPDATE evaluations SET reviewer_id = $4, roster_change_id = $2 WHERE cycle_id = $1 AND reviewer_id = $3`, cycle, id, company.People[0], company.People[11])
		return err
	})
	if err != nil {
		t.Errorf("a named change is refused: %v", err)
	}
}

// waitFor asks until the query answers true; the test's deadline ends it.
func waitFor(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	for !storetest.One[bool](t, pool, sql, args...) {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestActivationIsForHRManagersOfTheSameOrganisation(t *testing.T) {
	s, pool, company := open(t, 12)
	other := storetest.NewCompany(t, pool, "Peroba", 3)
	cycle := company.Draft(t, "2026.2", 10, 10)
	for _, tt := range []struct {
		name string
		by   func() error
		want fault.Kind
	}{
		{"an admin", func() error { _, err := s.ActivateCycle(t.Context(), company.Admin, cycle); return err }, fault.Forbidden},
		{"a reviewer", func() error { _, err := s.ActivateCycle(t.Context(), company.Actor(3), cycle); return err }, fault.Forbidden},
		{"another organisation", func() error { _, err := s.ActivateCycle(t.Context(), other.HR, cycle); return err }, fault.NotFound},
		{"nobody", func() error { _, err := s.ActivateCycle(t.Context(), other.Actor(2), 0); return err }, fault.NotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.by(); fault.KindOf(err) != tt.want {
				t.Errorf("ActivateCycle() = %v, want kind %v", err, tt.want)
			}
		})
	}
	if got := at(t, pool, cycle).Cycle; got != "draft" {
		t.Errorf("the cycle is %s", got)
	}
}

// The statements of an activation do not grow with its roster.
func TestActivationTakesAConstantNumberOfStatements(t *testing.T) {
	counts := map[int]int{}
	for _, pairs := range []int{10, 2000} {
		config, err := pgxpool.ParseConfig(storetest.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		counter := &statementCounter{}
		config.ConnConfig.Tracer = counter
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		s, err := store.New(pool)
		if err != nil {
			t.Fatal(err)
		}
		company := storetest.NewCompany(t, pool, "Aroeira", 60)
		cycle := company.Draft(t, "2026.2", pairs, min(pairs, 50))
		counter.n = 0
		if _, err := s.ActivateCycle(t.Context(), company.HR, cycle); err != nil {
			t.Fatal(err)
		}
		counts[pairs] = counter.n
	}
	if counts[10] != counts[2000] {
		t.Errorf("statements: %v", counts)
	}
}

type statementCounter struct{ n int }

func (c *statementCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n++
	return ctx
}
func (c *statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
