package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/fault"
	"ciclo/store"
	"ciclo/store/storetest"
)

// A person is gone from their last day's date on, by the organisation's own
// calendar, wherever somebody asks.
func TestALastDayMeansTheSameEverywhere(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   int // days from today
		gone bool
	}{
		{"somebody who leaves today is gone", 0, true},
		{"somebody who leaves tomorrow is here", 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, pool, c := companyOf(t, 12)
			// where it is another day than in UTC for most of every day
			storetest.Exec(t, pool, `UPDATE tenants SET zone = 'Pacific/Kiritimati' WHERE id = $1`, c.Tenant)
			who := c.Actor(4)
			ss, err := s.BeginSession(t.Context(), store.Session{TenantID: c.Tenant, PersonID: who.PersonID})
			if err != nil {
				t.Fatal(err)
			}
			draft := c.Draft(t, "Rascunho", 12, 6)
			token, err := s.CreateOneTimeLink(t.Context(), c.Tenant, who.PersonID, "password")
			if err != nil {
				t.Fatal(err)
			}
			storetest.Exec(t, pool, `
				UPDATE people
				SET left_on = (now() AT TIME ZONE 'Pacific/Kiritimati')::date + $2::int
				WHERE id = $1`, who.PersonID, tt.in)
			p, err := s.Person(t.Context(), c.HR, who.PersonID)
			if err != nil || p.Left != tt.gone {
				t.Errorf("the directory says left = %v (%v)", p.Left, err)
			}
			if _, err = s.PasswordLink(t.Context(), token); (fault.KindOf(err) == fault.NotFound) != tt.gone {
				t.Errorf("the link to set a password: %v", err)
			}
			r, err := s.Rehearse(t.Context(), c.HR, draft, store.Page{Limit: 50})
			if err != nil || (r.Total > 0) != tt.gone {
				t.Errorf("the rehearsal has %d blockers (%v)", r.Total, err)
			}
			home, err := s.NeedsMe(t.Context(), c.HR)
			if err != nil || len(home.Cycles) != 1 || home.Cycles[0].Blockers != r.Total {
				t.Errorf("home counts %+v and the rehearsal %d (%v)", home.Cycles, r.Total, err)
			}
			if _, err = s.ResumeSession(t.Context(), ss.Token); errors.Is(err, store.ErrNoSession) != tt.gone {
				t.Errorf("the session: %v", err)
			}
		})
	}
}

// companyOf is a store on a database of its own, with an organisation of n.
func companyOf(t *testing.T, n int) (*store.Store, *pgxpool.Pool, storetest.Company) {
	t.Helper()
	pool := storetest.Pool(t)
	s, err := store.New(pool)
	if err != nil {
		t.Fatal(err)
	}
	return s, pool, storetest.NewCompany(t, pool, "Aroeira", n)
}

// The day is compared in one place, in the database: has_left.
func TestNobodyComparesLastDaysOnTheirOwn(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`left_on\s*(<|>)`)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") && own.Match(b) {
			t.Errorf("%s compares left_on itself: ask has_left", name)
		}
	}
}
