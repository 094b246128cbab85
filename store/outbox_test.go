package store_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/outbox"
	"ciclo/store"
	"ciclo/store/storetest"
)

// owe writes n due mail events of one activation, all with one available_at.
func owe(t *testing.T, pool *pgxpool.Pool, company storetest.Company, n int) {
	t.Helper()
	cycle := storetest.One[int64](t, pool, `
		INSERT INTO cycles (tenant_id, name, form_version_id, due_at, owner_id, state, activated_at, activated_by)
		VALUES ($1, 'c' || random(), $2, now() + interval '9 days', $3, 'active', now(), $3)
		RETURNING id`, company.Tenant, company.Form, company.HR.PersonID)
	storetest.Exec(t, pool, `
		WITH more AS (
			INSERT INTO people (tenant_id, code, name, email)
			SELECT $1, 'x' || $2::bigint || '-' || i, 'Extra ' || i, 'x' || $2::bigint || '-' || i || '@example.test'
			FROM generate_series(1, $3::int) i
			RETURNING id
		)
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload)
		SELECT $1, 'mail', 'evaluation.assigned', $2::bigint, jsonb_build_object('reviewer_id', id)
		FROM more`, company.Tenant, cycle, n)
	storetest.Exec(t, pool, `ANALYZE outbox_events`)
}

func claimOne(t *testing.T, s *store.Store, tenant int64) outbox.Event {
	t.Helper()
	claim, err := s.ClaimNext(t.Context(), outbox.QueueMail, tenant, outbox.Event{})
	if err != nil || !claim.Found {
		t.Fatalf("ClaimNext() = %+v, %v", claim, err)
	}
	return claim.Event
}

func statusOf(t *testing.T, pool *pgxpool.Pool, e outbox.Event) string {
	t.Helper()
	return storetest.One[string](t, pool, `SELECT status || ' ' || attempts || '/' || max_attempts FROM outbox_events WHERE id = $1`, e.ID)
}

func TestClaimCountsLeasesAndSettlesThePrevious(t *testing.T) {
	s, pool, company := open(t, 3)
	owe(t, pool, company, 2)
	first := claimOne(t, s, company.Tenant)
	if first.Attempts != 1 || first.MaxAttempts != 5 || first.Type != outbox.EvaluationAssigned {
		t.Errorf("claimed %+v", first)
	}
	lease := storetest.One[float64](t, pool, `SELECT extract(epoch FROM available_at - updated_at)::float8 FROM outbox_events WHERE id = $1`, first.ID)
	if lease != outbox.Lease.Seconds() {
		t.Errorf("lease of %v s, want %v", lease, outbox.Lease)
	}
	second, err := s.ClaimNext(t.Context(), outbox.QueueMail, company.Tenant, first)
	if err != nil || !second.PrevSettled || !second.Found || second.Event.ID == first.ID {
		t.Fatalf("the second claim: %+v, %v", second, err)
	}
	if got := statusOf(t, pool, first); got != "delivered 1/5" {
		t.Errorf("the first is %s", got)
	}
	// nothing is due any more: the settle still happens, and is told
	last, err := s.ClaimNext(t.Context(), outbox.QueueMail, company.Tenant, second.Event)
	if err != nil || !last.PrevSettled || last.Found {
		t.Errorf("the last claim: %+v, %v", last, err)
	}
	if got := statusOf(t, pool, second.Event); got != "delivered 1/5" {
		t.Errorf("the second is %s", got)
	}
}

func TestClaimStaysInItsTenantAndQueue(t *testing.T) {
	s, pool, company := open(t, 3)
	other := storetest.NewCompany(t, pool, "Peroba", 3)
	owe(t, pool, company, 1)
	for queue, tenant := range map[string]int64{outbox.QueueMail: other.Tenant, outbox.QueueMailNow: company.Tenant} {
		if claim, err := s.ClaimNext(t.Context(), queue, tenant, outbox.Event{}); err != nil || claim.Found {
			t.Errorf("claimed %+v, %v from %s of %d", claim, err, queue, tenant)
		}
	}
}

// D17 at the store: a settle after the lease was lost changes nothing.
func TestLateSettlesAreFenced(t *testing.T) {
	s, pool, company := open(t, 3)
	owe(t, pool, company, 1)
	late := claimOne(t, s, company.Tenant)
	storetest.Exec(t, pool, `UPDATE outbox_events SET available_at = now() - interval '1 second' WHERE id = $1`, late.ID)
	if swept, err := s.Sweep(t.Context()); err != nil || swept.Reclaimed != 1 {
		t.Fatalf("Sweep() = %+v, %v", swept, err)
	}
	current := claimOne(t, s, company.Tenant)
	for name, settle := range map[string]func() (bool, error){
		"delivered": func() (bool, error) { return s.SettleDelivered(t.Context(), late) },
		"cancelled": func() (bool, error) { return s.SettleCancelled(t.Context(), late, "no") },
		"failed": func() (bool, error) {
			_, ours, err := s.SettleFailed(t.Context(), late, outbox.Attempt{Class: outbox.Permanent, Cause: outbox.CauseAddress, Error: "550"})
			return ours, err
		},
		"with a claim": func() (bool, error) {
			c, err := s.ClaimNext(t.Context(), outbox.QueueMail, company.Tenant, late)
			return c.PrevSettled, err
		},
	} {
		if ours, err := settle(); err != nil || ours {
			t.Errorf("the late settle %s: ours %v, %v", name, ours, err)
		}
		if got := statusOf(t, pool, late); got != "processing 2/5" {
			t.Errorf("after the late settle %s the row is %s", name, got)
		}
	}
	if ours, err := s.SettleDelivered(t.Context(), current); err != nil || !ours {
		t.Errorf("the current settle: %v, %v", ours, err)
	}
	if ours, err := s.SettleDelivered(t.Context(), current); err != nil || !ours {
		t.Errorf("settled twice at the same attempt: %v, %v", ours, err)
	}
}

func TestFiveAttemptsThenFailed(t *testing.T) {
	s, pool, company := open(t, 3)
	owe(t, pool, company, 1)
	attempt := outbox.Attempt{Class: outbox.Temporary, Cause: outbox.CauseSlow, Phase: "rcpt", Address: "x@example.test", Error: "450 4.7.1 later", Took: time.Second}
	var e outbox.Event
	var waits []float64
	for n := 1; n <= 5; n++ {
		e = claimOne(t, s, company.Tenant)
		status, ours, err := s.SettleFailed(t.Context(), e, attempt)
		if err != nil || !ours || e.Attempts != n {
			t.Fatalf("attempt %d: %v, %v, %v", n, e.Attempts, ours, err)
		}
		if want := map[bool]outbox.Status{true: outbox.Pending, false: outbox.Failed}[n < 5]; status != want {
			t.Errorf("after attempt %d: %s, want %s", n, status, want)
		}
		if n < 5 {
			waits = append(waits, storetest.One[float64](t, pool, `SELECT extract(epoch FROM available_at - updated_at)::float8 FROM outbox_events WHERE id = $1`, e.ID))
			if n := storetest.One[int](t, pool, `SELECT count(*) FROM river_job WHERE kind = 'outbox_drain' AND state = 'scheduled' AND scheduled_at > (SELECT available_at FROM outbox_events WHERE id = $1) AND scheduled_at <= (SELECT available_at + interval '5 seconds' FROM outbox_events WHERE id = $1)`, e.ID); n != 1 {
				t.Errorf("%d wakes for the retry, want 1", n)
			}
		}
		storetest.Exec(t, pool, `UPDATE outbox_events SET available_at = now() WHERE id = $1`, e.ID)
	}
	for i, want := range []float64{15, 60, 240, 300} {
		if waits[i] < want || waits[i] > min(300, want*1.1) {
			t.Errorf("wait %d is %v s, want %v to %v", i+1, waits[i], want, min(300, want*1.1))
		}
	}
	if got := storetest.One[string](t, pool, `SELECT last_error || ', ' || cause FROM outbox_events WHERE id = $1`, e.ID); got != "450 4.7.1 later, slow" {
		t.Errorf("the row says %q", got)
	}
	if n := storetest.One[int](t, pool, `SELECT count(DISTINCT attempt) FROM delivery_attempts WHERE event_id = $1`, e.ID); n != 5 {
		t.Errorf("%d attempt rows, want 5", n)
	}
	if claim, err := s.ClaimNext(t.Context(), outbox.QueueMail, company.Tenant, outbox.Event{}); err != nil || claim.Found {
		t.Errorf("a failed row is claimed again: %+v, %v", claim, err)
	}
}

func TestWhatAFailureMeans(t *testing.T) {
	for _, tt := range []struct {
		class      outbox.Class
		cancel     bool
		wantStatus string
	}{
		{outbox.Permanent, false, "failed 1/5"},
		{outbox.Temporary, false, "pending 1/5"},
		{outbox.Temporary, true, "cancelled 1/5"},
		{outbox.Unknown, false, "pending 1/5"},
		{outbox.Unavailable, false, "pending 1/6"},
		{outbox.SenderRefused, false, "pending 1/6"},
	} {
		t.Run(fmt.Sprint(tt.class, tt.cancel), func(t *testing.T) {
			s, pool, company := open(t, 3)
			owe(t, pool, company, 1)
			e := claimOne(t, s, company.Tenant)
			storetest.Exec(t, pool, `UPDATE outbox_events SET cancel_requested = $2 WHERE id = $1`, e.ID, tt.cancel)
			if _, ours, err := s.SettleFailed(t.Context(), e, outbox.Attempt{Class: tt.class, Cause: outbox.CauseOf(tt.class, 550, "5.1.1"), Error: "no"}); err != nil || !ours {
				t.Fatal(ours, err)
			}
			if got := statusOf(t, pool, e); got != tt.wantStatus {
				t.Errorf("the row is %s, want %s", got, tt.wantStatus)
			}
		})
	}
}

// The sweep gives a lost row back at once, alone from the second loss on, and
// ends it after the fifth; each loss is on the trail, and the tenant is woken.
func TestSweepOfAMessageThatKillsItsWorker(t *testing.T) {
	s, pool, company := open(t, 3)
	owe(t, pool, company, 1)
	queue := outbox.QueueMail
	for n := 1; n <= 5; n++ {
		claim, err := s.ClaimNext(t.Context(), queue, company.Tenant, outbox.Event{})
		if err != nil || !claim.Found {
			t.Fatalf("loss %d: claim from %s: %+v, %v", n, queue, claim, err)
		}
		storetest.Exec(t, pool, `UPDATE outbox_events SET available_at = now() - interval '1 second' WHERE id = $1`, claim.Event.ID)
		storetest.Exec(t, pool, `DELETE FROM river_job`)
		swept, err := s.Sweep(t.Context())
		if err != nil || swept.Reclaimed != 1 {
			t.Fatalf("loss %d: Sweep() = %+v, %v", n, swept, err)
		}
		if n >= 2 {
			queue = outbox.QueueAlone
		}
		got := storetest.One[string](t, pool, `SELECT status || ' ' || queue || ' ' || last_error FROM outbox_events`)
		want := "pending " + queue + " worker lost"
		if n == 5 {
			want = "failed mail_alone worker lost"
		}
		if got != want {
			t.Errorf("after loss %d: %s, want %s", n, got, want)
		}
		wakes := storetest.One[int](t, pool, `SELECT count(*) FROM river_job WHERE kind = 'outbox_drain' AND queue = $1`, queue)
		if want := map[bool]int{true: 1, false: 0}[n < 5]; wakes != want {
			t.Errorf("after loss %d: %d wakes, want %d", n, wakes, want)
		}
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM delivery_attempts WHERE class = 'lost'`); n != 5 {
		t.Errorf("%d losses on the trail, want 5", n)
	}
}

func TestSweepWakesWhatIsOverdueAndNothingElse(t *testing.T) {
	s, pool, company := open(t, 3)
	other := storetest.NewCompany(t, pool, "Peroba", 3)
	handed := storetest.NewCompany(t, pool, "Ipê", 3)
	owe(t, pool, company, 250)
	owe(t, pool, other, 5)
	owe(t, pool, handed, 5)
	storetest.Exec(t, pool, `UPDATE outbox_events SET available_at = now() - interval '11 seconds' WHERE tenant_id <> $1`, other.Tenant)
	storetest.Exec(t, pool, `UPDATE outbox_events SET queue = 'handout' WHERE tenant_id = $1`, handed.Tenant)
	storetest.Exec(t, pool, `DELETE FROM river_job`)
	for round, want := range []int{3, 0} { // the second sweep finds its drains still waiting
		swept, err := s.Sweep(t.Context())
		if err != nil || swept.Woken != want {
			t.Errorf("sweep %d: %+v, %v; want %d woken", round+1, swept, err, want)
		}
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM river_job WHERE queue = 'mail' AND (args->>'tenant')::bigint = $1`, company.Tenant); n != 3 {
		t.Errorf("%d drains for 250 overdue rows, want 3", n)
	}
}

// The same message may be owed once, however its reviewer is spelled.
func TestADuplicateIsImpossible(t *testing.T) {
	_, pool, company := open(t, 3)
	cycle := company.Draft(t, "2026.2", 2, 2)
	write := func(payload string) error {
		_, err := pool.Exec(t.Context(), `INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload) VALUES ($1, 'mail', 'evaluation.assigned', $2, $3::text::jsonb)`,
			company.Tenant, cycle, payload)
		return err
	}
	id := company.People[2]
	if err := write(fmt.Sprintf(`{"reviewer_id": %d}`, id)); err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{
		fmt.Sprintf(`{"reviewer_id": %d}`, id), fmt.Sprintf(`{"reviewer_id": "%d"}`, id), fmt.Sprintf(`{"reviewer_id": %d.0}`, id),
		fmt.Sprintf(`{"reviewer_id": "0%d"}`, id), `{"reviewer_id": null}`, `{}`, `{"reviewer_id": "x"}`, `{"reviewer_id": -1}`,
		`{"reviewer_id": 99999999999999999999}`, `{"reviewer_id": 999999}`, `[]`,
	} {
		if err := write(payload); err == nil {
			t.Errorf("payload %s is accepted", payload)
		} else if !strings.Contains(err.Error(), "23") { // an integrity constraint, never a cast error
			t.Errorf("payload %s: %v", payload, err)
		}
	}
	stranger := storetest.NewCompany(t, pool, "Peroba", 2)
	if err := write(fmt.Sprintf(`{"reviewer_id": %d}`, stranger.People[0])); err == nil {
		t.Error("an event can name a person of another organisation")
	}
}

// The claim reads the claim index and stops at the first row: no sort, no row
// filter, at most eight buffers. With a generic plan too, and still so while an
// old snapshot keeps ten thousand claimed rows of one activation from being
// cleaned: their dead entries all share one available_at.
func TestTheClaimsPlan(t *testing.T) {
	s, pool, company := open(t, 3)
	owe(t, pool, company, 10_200)
	snapshot, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = snapshot.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := snapshot.Exec(t.Context(), `SELECT count(*) FROM outbox_events`); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			plan := explainClaim(t, pool, s, company.Tenant, mode)
			due := plan[strings.Index(plan, "CTE due"):strings.Index(plan, "CTE claimed")]
			if !strings.Contains(due, "Index Scan using outbox_events_claim_idx") {
				t.Errorf("%s, %s: not by the claim index\n%s", when, mode, due)
			}
			if strings.Contains(due, "Sort") || strings.Contains(strings.ReplaceAll(due, "One-Time Filter", ""), "Filter:") {
				t.Errorf("%s, %s: sorts or filters\n%s", when, mode, due)
			}
			if n := buffersOf(due); n < 1 || n > 8 {
				t.Errorf("%s, %s: %d buffers, want at most 8\n%s", when, mode, n, due)
			}
		}
	}
	check("at first")
	prev := outbox.Event{}
	for range 10_000 {
		claim, err := s.ClaimNext(t.Context(), outbox.QueueMail, company.Tenant, prev)
		if err != nil || !claim.Found {
			t.Fatal(claim, err)
		}
		prev = claim.Event
	}
	check("after 10,000 claims under an old snapshot")
}

// explainClaim runs the claim as the store would next, and takes it back.
func explainClaim(t *testing.T, pool *pgxpool.Pool, s *store.Store, tenant int64, mode string) string {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `SELECT set_config('plan_cache_mode', $1, true)`, mode); err != nil {
		t.Fatal(err)
	}
	rows, err := tx.Query(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) `+store.ClaimSQL, s.ClaimArgs(outbox.QueueMail, tenant))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

var sharedBuffers = regexp.MustCompile(`Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?`)

// buffersOf is the count of a plan's topmost node.
func buffersOf(plan string) (n int) {
	m := sharedBuffers.FindStringSubmatch(plan)
	for i := 1; i < len(m); i++ {
		var k int
		fmt.Sscan(m[i], &k)
		n += k
	}
	return n
}

// D24 in its short form: sixteen workers, no deadlock, no row claimed twice.
func TestSixteenWorkersRepeatNothing(t *testing.T) {
	rows := int64(4000)
	if os.Getenv("CICLO_TEST_LONG") != "" { // make faults
		rows = 100_000
	}
	pool := storetest.Pool(t)
	config := pool.Config()
	config.MaxConns = 20
	wide, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wide.Close)
	s, err := store.New(wide)
	if err != nil {
		t.Fatal(err)
	}
	company := storetest.NewCompany(t, pool, "Aroeira", 3)
	owe(t, pool, company, int(rows))
	var claimed sync.Map
	var repeats, settled atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			prev := outbox.Event{}
			for {
				claim, err := s.ClaimNext(t.Context(), outbox.QueueMail, company.Tenant, prev)
				if err != nil {
					t.Error(err)
					return
				}
				if claim.PrevSettled {
					settled.Add(1)
				}
				if !claim.Found {
					return
				}
				if _, again := claimed.LoadOrStore(claim.Event.ID, true); again {
					repeats.Add(1)
				}
				prev = claim.Event
			}
		})
	}
	wg.Wait()
	if settled.Load() != rows || repeats.Load() != 0 {
		t.Errorf("%d settled and %d repeats, want %d and 0", settled.Load(), repeats.Load(), rows)
	}
	got := storetest.One[string](t, pool, `SELECT string_agg(DISTINCT status || ' ' || attempts, ', ') FROM outbox_events`)
	if got != "delivered 1" {
		t.Errorf("rows are %s", got)
	}
	if n := storetest.One[int64](t, pool, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

func TestDrainsGoOnOnlyAsTheBacklogIsWorth(t *testing.T) {
	s, pool, company := open(t, 3)
	owe(t, pool, company, 150) // worth two drains
	storetest.Exec(t, pool, `DELETE FROM river_job`)
	args := outbox.DrainArgs{Queue: outbox.QueueMail, Tenant: company.Tenant}
	waiting := func() int {
		return storetest.One[int](t, pool, `SELECT count(*) FROM river_job WHERE kind = 'outbox_drain'`)
	}
	var got []int
	for range 4 { // a dispatch's drain always puts itself back
		if err := s.Continue(t.Context(), args); err != nil {
			t.Fatal(err)
		}
		got = append(got, waiting())
	}
	args.Woken = true
	for range 2 { // four are live: a woken one steps aside
		if err := s.Continue(t.Context(), args); err != nil {
			t.Fatal(err)
		}
		got = append(got, waiting())
	}
	storetest.Exec(t, pool, `DELETE FROM river_job WHERE id NOT IN (SELECT min(id) FROM river_job)`)
	if err := s.Continue(t.Context(), args); err != nil { // only itself is live
		t.Fatal(err)
	}
	got = append(got, waiting())
	if want := []int{1, 2, 3, 4, 4, 4, 2}; !slices.Equal(got, want) {
		t.Errorf("live drains: %v, want %v", got, want)
	}
}
