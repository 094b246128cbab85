package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestKilledInMidDrain cuts the power while three hundred invitations are on
// their way. After the next start every reviewer has one event, and it has been
// delivered; nothing else has moved.
func TestKilledInMidDrain(t *testing.T) {
	t.Parallel()
	data := filepath.Join(scratch, "killed")
	first := start(t, data)
	hr := newPlain(t, first.url).signIn(hrManager)
	hr.importPeople()
	cycle := hr.newCycle("Interrompido 2026")
	hr.importPairs(cycle)
	const ours = `FROM outbox_events e JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id WHERE c.name = 'Interrompido 2026'`
	seen := first.interrupt(t, hr, cycle, ours, first.kill)

	second := start(t, data)
	db := second.database(t)
	left := one[int](t, db, `SELECT count(*) FILTER (WHERE e.status <> 'delivered') `+ours)
	if left == 0 {
		t.Fatalf("killed after %d, yet nothing was left to send: the drain was not interrupted", seen)
	}
	before := evaluations(t, db)
	// What the dead process held is leased to it for 90 seconds. An operator who
	// knows that it is dead need not wait, and neither does this test.
	if _, err := db.Exec(t.Context(), `UPDATE outbox_events SET available_at = now() - interval '1 second' WHERE status = 'processing'`); err != nil {
		t.Fatal(err)
	}
	until(t, "everything to be delivered", 90*time.Second, func() bool {
		return one[int](t, db, `SELECT count(*) FILTER (WHERE e.status <> 'delivered') `+ours) == 0
	})
	for what, want := range map[string]string{
		`count(*)`: "307", `count(DISTINCT e.person_id)`: "307", `count(*) FILTER (WHERE e.delivered_at IS NOT NULL)`: "307",
	} {
		if got := one[string](t, db, `SELECT (`+what+`)::text `+ours); got != want {
			t.Errorf("%s is %s, want %s", what, got, want)
		}
	}
	if after := evaluations(t, db); after != before || before != "1265 pending" {
		t.Errorf("evaluations: %s before, %s after", before, after)
	}
	t.Logf("killed after %d of 307, %d were left", seen, left)

	// The people who were told before the cut and after it can all come in.
	hr = newPlain(t, second.url).signIn(hrManager)
	hr.open(cycle+"/receipt").sees("as contas fecham", "307")

	// Ctrl-C lets what is being sent end: nobody is written to twice for it.
	polite := hr.newCycle("Parado 2026")
	hr.importPairs(polite)
	const theirs = `FROM outbox_events e JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id WHERE c.name = 'Parado 2026'`
	second.interrupt(t, hr, polite, theirs, second.stop)
	db = start(t, data).database(t)
	until(t, "everything to be delivered", 90*time.Second, func() bool {
		return one[int](t, db, `SELECT count(*) FILTER (WHERE e.status <> 'delivered') `+theirs) == 0
	})
	if tries := one[string](t, db, `SELECT count(*) || ' events, ' || sum(e.attempts) || ' tries' `+theirs); tries != "307 events, 307 tries" {
		t.Errorf("stopped in mid-drain: %s", tries)
	}
}

// interrupt activates a cycle and ends the demo once twenty of its messages
// have gone out; it answers how many had.
func (p *product) interrupt(t *testing.T, hr *plain, cycle, events string, end func()) int {
	t.Helper()
	db := p.database(t)
	ended := make(chan int, 1)
	go func() { // watches from the side: the drain is over in seconds
		defer close(ended)
		for {
			var delivered int
			if err := db.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE e.status = 'delivered') `+events).Scan(&delivered); err != nil {
				return // the database went first: the test says so below
			}
			if delivered >= 20 {
				end()
				ended <- delivered
				return
			}
		}
	}()
	hr.open(cycle + "/activation")
	hr.pressUnheard("Ativar e enviar 307 e-mails") // its answer may be lost with the process
	seen, ok := <-ended
	if !ok {
		t.Fatal("the drain could not be watched")
	}
	return seen
}

func evaluations(t *testing.T, db *pgx.Conn) string {
	t.Helper()
	return one[string](t, db, `
		SELECT string_agg(n || ' ' || state, ', ')
		FROM (
			SELECT e.state, count(*) AS n
			FROM evaluations e
			JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
			WHERE c.name = 'Interrompido 2026'
			GROUP BY e.state
			ORDER BY e.state
		) counted`)
}
