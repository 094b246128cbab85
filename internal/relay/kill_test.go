package relay_test

import (
	"bufio"
	"context"
	"fmt"
	"net/mail"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	smtp "ciclo/internal/mail"
	"ciclo/internal/mail/mailtest"
	"ciclo/internal/outbox"
	"ciclo/internal/relay"
	"ciclo/store"
	"ciclo/store/storetest"
)

// The worker of these tests is a process of its own, so that it can be killed
// as a power cut kills it: between two instructions, with nothing tidied up.
// The binary starts itself again with these variables set.
const (
	childDatabase = "RELAY_CHILD_DATABASE"
	childServer   = "RELAY_CHILD_SMTP"
	childKillsAt  = "RELAY_CHILD_KILLS_AT" // "before" or "after" the message is sent
	childVictim   = "RELAY_CHILD_VICTIM"   // the recipient at whom it dies; empty: the first
)

func TestMain(m *testing.M) {
	if os.Getenv(childDatabase) != "" {
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child runs a relay until it is killed, or its standard input is closed.
func child() error {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(os.Getenv(childDatabase))
	if err != nil {
		return err
	}
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	s, err := store.New(pool)
	if err != nil {
		return err
	}
	server, err := smtp.ParseURL(os.Getenv(childServer))
	if err != nil {
		return err
	}
	ring, err := testKeys()
	if err != nil {
		return err
	}
	d := &lethal{&relay.Mail{Store: s, Pool: smtp.NewPool(server, smtp.Options{}), From: mail.Address{Address: "ciclo@example.test"},
		BaseURL: "https://ciclo.example.test", Keys: ring}, pool}
	r, err := relay.New(relay.Options{Store: s, Deliverers: map[string]relay.Deliverer{outbox.QueueMail: d, outbox.QueueAlone: d}})
	if err != nil {
		return err
	}
	if err := r.Start(ctx); err != nil {
		return err
	}
	fmt.Println("working")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return r.Stop(ctx)
}

// lethal kills its own process at a chosen message.
type lethal struct {
	relay.Deliverer
	pool *pgxpool.Pool
}

func (l *lethal) Open(ctx context.Context) (relay.Carrier, error) {
	c, err := l.Deliverer.Open(ctx)
	return &lethalCarrier{c, l.pool}, err
}

type lethalCarrier struct {
	relay.Carrier
	pool *pgxpool.Pool
}

func (c *lethalCarrier) Deliver(ctx context.Context, e outbox.Event) relay.Result {
	c.dieAt("before", e)
	result := c.Carrier.Deliver(ctx, e)
	c.dieAt("after", e)
	return result
}

func (c *lethalCarrier) dieAt(point string, e outbox.Event) {
	if os.Getenv(childKillsAt) != point {
		return
	}
	if victim := os.Getenv(childVictim); victim != "" {
		var to string
		if err := c.pool.QueryRow(context.Background(), `SELECT p.email FROM outbox_events e JOIN people p ON p.id = e.person_id WHERE e.id = $1`, e.ID).Scan(&to); err != nil || to != victim {
			return
		}
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // nothing of this process runs on
}

// worker starts a child; dead ends when it has died or was stopped.
type worker struct {
	cmd   *exec.Cmd
	stdin interface{ Close() error }
	dead  chan error
}

func (o *office) worker(env ...string) *worker {
	o.t.Helper()
	self, err := os.Executable()
	if err != nil {
		o.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), append(env, childDatabase+"="+o.pool.Config().ConnString(), childServer+"="+o.server.URL())...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		o.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		o.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	w := &worker{cmd: cmd, stdin: stdin, dead: make(chan error, 1)}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || strings.TrimSpace(line) != "working" {
		o.t.Fatalf("the worker did not start: %q, %v", line, err)
	}
	go func() { w.dead <- cmd.Wait() }()
	o.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return w
}

func (w *worker) waitDead(t *testing.T) {
	t.Helper()
	select {
	case <-w.dead:
	case <-time.After(time.Minute):
		t.Fatal("the worker lives on")
	}
}

// leaseEnds lets the leases of a dead worker end now and sweeps, as the next
// process would after lease and sweep interval.
func (o *office) leaseEnds() store.Swept {
	o.t.Helper()
	storetest.Exec(o.t, o.pool, `UPDATE outbox_events SET available_at = now() - interval '1 second' WHERE status = 'processing'`)
	storetest.Exec(o.t, o.pool, `UPDATE outbox_events SET available_at = available_at - interval '1 minute' WHERE status = 'pending'`)
	storetest.Exec(o.t, o.pool, `UPDATE river_job SET attempted_at = attempted_at - interval '1 minute' WHERE state = 'running'`)
	swept, err := o.store.Sweep(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	return swept
}

// journalled makes an office whose mail server is a process of its own.
func journalled(t *testing.T, reviewers int) *office {
	o := newOffice(t, reviewers, mailtest.Script{})
	o.server = mailtest.StartProcess(t, mailtest.Script{})
	return o
}

// D5: killed after the claim, before anything was sent.
func TestKilledBetweenClaimAndSend(t *testing.T) {
	o := journalled(t, 3)
	o.worker(childKillsAt+"=before", childVictim+"="+o.address(1)).waitDead(t)
	if n := storetest.One[int](t, o.pool, `SELECT count(*) FROM outbox_events WHERE status = 'processing'`); n == 0 {
		t.Fatal("nothing was in hand when the worker died")
	}
	if swept := o.leaseEnds(); swept.Reclaimed == 0 {
		t.Fatalf("the sweep found %+v", swept)
	}
	o.worker()
	o.waitFor(allSettled)
	if got := storetest.One[string](t, o.pool, `SELECT status || ' ' || attempts FROM outbox_events WHERE person_id = $1`, o.company.People[1]); got != "delivered 2" {
		t.Errorf("the row in hand is %s, want delivered 2", got)
	}
	o.invariants(0)
}

// D6: killed after the server's 250, before the settle.
func TestKilledBetweenAcceptanceAndSettle(t *testing.T) {
	o := journalled(t, 3)
	o.worker(childKillsAt+"=after", childVictim+"="+o.address(1)).waitDead(t)
	o.leaseEnds()
	o.worker()
	o.waitFor(allSettled)
	if got := storetest.One[string](t, o.pool, `SELECT status || ' ' || attempts FROM outbox_events WHERE person_id = $1`, o.company.People[1]); got != "delivered 2" {
		t.Errorf("the row in hand is %s, want delivered 2", got)
	}
	copies := map[string]int{}
	for _, m := range o.server.Messages() {
		if strings.Contains(strings.Join(m.To, " "), o.address(1)) {
			copies[m.MessageID]++
		}
	}
	if len(copies) != 1 {
		t.Errorf("the repeat has another Message-ID: %v", copies)
	}
	for id, n := range copies {
		if n != 2 {
			t.Errorf("%s stands %d times in the journal, want twice", id, n)
		}
	}
	o.invariants(3)
}

// D7: one message kills its worker every time, with eight drains live: it alone
// fails, after five attempts; every other one is delivered.
func TestAMessageThatKillsItsWorkerEveryTime(t *testing.T) {
	o := journalled(t, 120)
	victim := o.address(60)
	storetest.Exec(t, o.pool, `
		INSERT INTO river_job (kind, queue, args, max_attempts, state, priority)
		SELECT kind, queue, args, max_attempts, 'available', priority FROM river_job CROSS JOIN generate_series(1, 6) WHERE kind = 'outbox_drain' AND state = 'available'`)
	deaths := 0
	for storetest.One[string](t, o.pool, `SELECT status FROM outbox_events WHERE person_id = $1`, o.company.People[60]) != "failed" {
		w := o.worker(childKillsAt+"=before", childVictim+"="+victim)
		w.waitDead(t)
		o.leaseEnds()
		if deaths++; deaths > 8 {
			t.Fatal("the message is never given up")
		}
	}
	o.worker()
	o.waitFor(allSettled)
	if deaths != 5 {
		t.Errorf("the worker died %d times, want 5", deaths)
	}
	if got := storetest.One[string](t, o.pool, `SELECT string_agg(attempts || ' ' || last_error, ', ') FROM outbox_events WHERE status = 'failed'`); got != "5 worker lost" {
		t.Errorf("failed: %s; want the one message, 5 worker lost", got)
	}
	if n := storetest.One[int](t, o.pool, `SELECT max(attempts) FROM outbox_events WHERE status = 'delivered'`); n > 3 {
		t.Errorf("a neighbour was taken along %d times", n-1)
	}
	o.invariants(8 * deaths)
}
