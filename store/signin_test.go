package store_test

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/store"
	"ciclo/store/storetest"
)

func TestGuessesAtOnceAreCountedTogether(t *testing.T) {
	t.Parallel()
	pool := storetest.Pool(t)
	s, err := store.New(pool)
	if err != nil {
		t.Fatal(err)
	}
	kinds := make([]fault.Kind, 20)
	var all sync.WaitGroup
	for i := range kinds {
		all.Go(func() {
			_, err := s.SignIn(t.Context(), "ninguem@example.test", "a guess", netip.MustParseAddr("192.0.2.7"))
			kinds[i] = fault.KindOf(err)
		})
	}
	all.Wait()
	count := map[fault.Kind]int{}
	for _, k := range kinds {
		count[k]++
	}
	if count[fault.TooMany] != len(kinds)-store.SignInTries || count[fault.TooMany]+count[fault.Invalid]+count[fault.Busy] != len(kinds) {
		t.Errorf("twenty guesses at once: %v", count)
	}
}

func TestPasswordLinkIsUsedOnce(t *testing.T) {
	t.Parallel()
	pool := storetest.Pool(t)
	s, err := store.New(pool)
	if err != nil {
		t.Fatal(err)
	}
	company := storetest.NewCompany(t, pool, "Aroeira", 3)
	token, err := s.CreateOneTimeLink(t.Context(), company.Tenant, company.HR.PersonID, "password")
	if err != nil {
		t.Fatal(err)
	}
	kinds := make([]fault.Kind, 4)
	var all sync.WaitGroup
	for i := range kinds {
		all.Go(func() { kinds[i] = fault.KindOf(s.SetPassword(t.Context(), token, "uma frase bem longa")) })
	}
	all.Wait()
	set := 0
	for _, k := range kinds {
		switch k {
		case fault.None:
			set++
		case fault.NotFound, fault.Busy:
		default:
			t.Errorf("a second use ends as %v", k)
		}
	}
	if set != 1 {
		t.Errorf("the link was used %d times", set)
	}
	if n := storetest.One[int](t, pool, `
		SELECT count(*)
		FROM audit_entries
		WHERE act = 'password.set'
		  AND object_id = @id`, pgx.NamedArgs{"id": company.HR.PersonID}); n != 1 {
		t.Errorf("%d audit entries", n)
	}
}
