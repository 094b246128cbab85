package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/store"
	"ciclo/store/storetest"
)

// D16: the link stays while every attempt was refused, and goes when one may
// have arrived.
func TestCorrectedAddressKeepsTheLinkOnlyIfNobodyCanHaveIt(t *testing.T) {
	for _, tt := range []struct {
		name    string
		before  func(*testing.T, *store.Store, *pgxpool.Pool, storetest.Company, int64)
		newLink bool
		row     string
	}{
		{"every attempt refused for good", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			try(t, s, pool, c, id, noMailbox)
		}, false, "pending 1/6 mail"},
		{"put off, then refused", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			try(t, s, pool, c, id, later)
			try(t, s, pool, c, id, noMailbox)
		}, false, "pending 2/7 mail"},
		{"no answer, then refused", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			try(t, s, pool, c, id, noAnswer)
			try(t, s, pool, c, id, noMailbox)
		}, true, "pending 2/7 mail"},
		{"a worker lost, then refused", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			e := claimID(t, s, pool, c, id)
			if _, err := s.Letter(t.Context(), e, "k1"); err != nil {
				t.Fatal(err)
			}
			storetest.Exec(t, pool, `UPDATE outbox_events SET available_at = now() - interval '1 second' WHERE id = $1`, id)
			if _, err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			try(t, s, pool, c, id, noMailbox)
		}, true, "pending 2/7 mail"},
		{"accepted", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			e := claimID(t, s, pool, c, id)
			if _, err := s.Letter(t.Context(), e, "k1"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.SettleDelivered(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}, true, "pending 1/6 mail"},
		{"opened by somebody", func(t *testing.T, s *store.Store, pool *pgxpool.Pool, c storetest.Company, id int64) {
			try(t, s, pool, c, id, noMailbox)
			storetest.Exec(t, pool, `UPDATE review_links SET opened_at = now()`)
		}, true, "pending 1/6 mail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, pool, c := open(t, 6)
			cycle, events := asked(t, s, pool, c, "Ciclo", 4)
			id, person := events[3], c.People[3]
			tt.before(t, s, pool, c, id)
			link := storetest.One[int64](t, pool, `SELECT id FROM review_links WHERE person_id = $1`, person)
			d, err := s.Message(t.Context(), c.HR, id)
			if err != nil || d.Link.Arrived != tt.newLink {
				t.Errorf("beforehand the page says arrived %v (%v), want %v", d.Link.Arrived, err, tt.newLink)
			}
			storetest.Exec(t, pool, `INSERT INTO sessions (token_hash, tenant_id, person_id, cycle_id, expires_at) VALUES (sha256('x'), $1, $2, $3, now() + interval '1 hour')`, c.Tenant, person, cycle)
			before := drains(t, pool)

			got, err := s.CorrectAddress(t.Context(), c.HR, id, " certo@example.test ")
			if err != nil || got != (outbox.Correction{Person: d.Person, Changed: true, NewLink: tt.newLink}) {
				t.Fatalf("CorrectAddress() = %+v, %v", got, err)
			}
			if got := row(t, pool, id); got != tt.row {
				t.Errorf("the row is %q, want %q", got, tt.row)
			}
			if got := storetest.One[string](t, pool, `SELECT email::text FROM people WHERE id = $1`, person); got != "certo@example.test" {
				t.Errorf("on file is %q", got)
			}
			if got := storetest.One[bool](t, pool, `SELECT revoked_at IS NOT NULL FROM review_links WHERE id = $1`, link); got != tt.newLink {
				t.Errorf("the old link is revoked: %v, want %v", got, tt.newLink)
			}
			if got := storetest.One[int](t, pool, `SELECT count(*) FROM sessions WHERE person_id = $1`, person) == 0; got != tt.newLink {
				t.Errorf("the session of the old link ended: %v, want %v", got, tt.newLink)
			}
			if n := drains(t, pool) - before; n != 2 { // one for the old address's notice
				t.Errorf("%d drains were woken", n)
			}
			// the relay's next attempt carries the same link, or a new one
			inv, err := s.Letter(t.Context(), claimID(t, s, pool, c, id), "k1")
			if err != nil || inv.Email != "certo@example.test" || (inv.Link.ID != link) != tt.newLink {
				t.Errorf("the next attempt goes to %q by link %d (was %d), %v", inv.Email, inv.Link.ID, link, err)
			}
			if n := storetest.One[int](t, pool, `SELECT count(*) FROM audit_entries WHERE act = 'person.address_corrected' AND object_id = $1`, person); n != 1 {
				t.Errorf("%d audit entries on the person, want 1", n)
			}
		})
	}
}

// A sender that is about to read an address which is being corrected waits for
// the new one: else it would send a link that stays good to the old one.
func TestASenderWaitsForTheAddressBeingCorrected(t *testing.T) {
	s, pool, c := open(t, 6)
	_, events := asked(t, s, pool, c, "Ciclo", 4)
	e := claimID(t, s, pool, c, events[3])
	if _, err := s.Letter(t.Context(), e, "k1"); err != nil {
		t.Fatal(err)
	}
	correcting, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = correcting.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := correcting.Exec(t.Context(), `UPDATE people SET email = 'certo@example.test' WHERE id = $1`, c.People[3]); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		store.Outgoing
		err error
	}
	read := make(chan answer, 1)
	go func() {
		inv, err := s.Letter(t.Context(), e, "k1")
		read <- answer{inv, err}
	}()
	waitFor(t, pool, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
	if err := correcting.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got.err != nil || got.Email != "certo@example.test" || !got.Ours {
		t.Errorf("the sender read %q, ours %v, %v", got.Email, got.Ours, got.err)
	}
}

func TestCorrectionRefused(t *testing.T) {
	s, pool, c := open(t, 8)
	_, events := asked(t, s, pool, c, "Ciclo", 5)
	id, person := events[3], c.People[3]
	try(t, s, pool, c, id, noMailbox)
	taken := storetest.One[string](t, pool, `SELECT email::text FROM people WHERE id = $1`, c.People[4])
	for _, tt := range []struct {
		name, email, key string
	}{
		{"empty", "", "fault.required"},
		{"no address", "certo.example.test", "message.address_wrong"},
		{"two", "a@b.test; c@d.test", "message.address_wrong"},
		{"a colleague's", strings.ToUpper(taken), "message.address_taken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.CorrectAddress(t.Context(), c.HR, id, tt.email)
			if f := fault.As(err); f == nil || f.Kind != fault.Invalid || f.Fields["email"].Key != tt.key {
				t.Errorf("refused with %v, want %s", err, tt.key)
			}
			if got := row(t, pool, id); got != "failed 1/5 mail" {
				t.Errorf("the row became %q", got)
			}
		})
	}
	// a role holder's address opens their account: only an admin, or they, may change it
	try(t, s, pool, c, events[0], noMailbox)
	if _, err := s.CorrectAddress(t.Context(), c.HR, events[0], "meu@example.test"); fault.As(err) == nil || fault.As(err).Fields["email"].Key != "message.address_of_role_holder" {
		t.Errorf("an HR manager changed the admin's address: %v", err)
	}
	if _, err := s.CorrectAddress(t.Context(), c.Admin, events[0], "ana@example.test"); err != nil {
		t.Errorf("the admin could not: %v", err)
	}
	claimID(t, s, pool, c, events[2])
	_, err := s.CorrectAddress(t.Context(), c.HR, events[2], "x@example.test")
	expect(t, "while it is being sent", err, fault.Conflict)
	// the same address only sends again, and keeps the link
	got, err := s.CorrectAddress(t.Context(), c.HR, id, storetest.One[string](t, pool, `SELECT email::text FROM people WHERE id = $1`, person))
	if err != nil || got.Changed || got.NewLink {
		t.Errorf("the same address: %+v, %v", got, err)
	}
	if got := row(t, pool, id); got != "pending 1/6 mail" {
		t.Errorf("the row is %q", got)
	}
}

func TestEightCorrectionsAreOne(t *testing.T) {
	s, pool, c := open(t, 6)
	_, events := asked(t, s, pool, c, "Ciclo", 4)
	try(t, s, pool, c, events[3], noMailbox)
	before := drains(t, pool)
	if won, lost := race(8, func() error {
		_, err := s.CorrectAddress(t.Context(), c.HR, events[3], "certo@example.test")
		return err
	}); won != 1 || lost != 7 {
		t.Errorf("%d corrected and %d met a conflict, want 1 and 7", won, lost)
	}
	if got := row(t, pool, events[3]); got != "pending 1/6 mail" || drains(t, pool)-before != 2 { // one for the old address's notice
		t.Errorf("the row is %q, %d drains woken", got, drains(t, pool)-before)
	}
	if diff := cmp.Diff([]string{"message.address_corrected"}, deeds(t, pool, events[3])); diff != "" {
		t.Error(diff)
	}
}
