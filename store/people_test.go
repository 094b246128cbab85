package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

func TestTheDirectoryFindsPeople(t *testing.T) {
	s, pool, company := openApart(t, 10)
	storetest.Exec(t, pool, `UPDATE people SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date - 1 WHERE code = 'RH-000003'`)
	storetest.Exec(t, pool, `UPDATE people SET email = NULL WHERE code IN ('RH-000003', 'RH-000004')`)
	storetest.NewCompany(t, pool, "Outra", 3)
	for _, tt := range []struct {
		name  string
		q     store.PeopleQuery
		total int
		first string
	}{
		{"everybody, by name", store.PeopleQuery{}, 10, "Ana 1"},
		{"without accents", store.PeopleQuery{Q: "erica"}, 1, "Érica 5"},
		{"with accents in capitals", store.PeopleQuery{Q: "ÉRICA"}, 1, "Érica 5"},
		{"every word of it", store.PeopleQuery{Q: "005 éri"}, 1, "Érica 5"},
		{"by address", store.PeopleQuery{Q: "p2@"}, 1, "Bruno 2"},
		{"by code", store.PeopleQuery{Q: "rh-000010"}, 1, "João 10"},
		{"a percent sign is only itself", store.PeopleQuery{Q: "%"}, 0, ""},
		{"a department", store.PeopleQuery{Department: "Logística"}, 5, "Bruno 2"},
		{"who is here", store.PeopleQuery{Situation: "active"}, 9, "Ana 1"},
		{"who left", store.PeopleQuery{Situation: "left"}, 1, "Carla 3"},
		{"who is here without an address", store.PeopleQuery{Situation: "no_address"}, 1, "Diego 4"},
		{"by code, descending", store.PeopleQuery{Sort: "-code"}, 10, "João 10"},
		{"by hire date, latest first", store.PeopleQuery{Sort: "-hired"}, 10, "João 10"},
		{"beyond the last page", store.PeopleQuery{Offset: 100}, 10, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.q.Limit = 25
			d, err := s.People(t.Context(), company.HR, tt.q)
			if err != nil {
				t.Fatal(err)
			}
			first := ""
			if len(d.People) > 0 {
				first = d.People[0].Name
			}
			if d.Total != tt.total || first != tt.first || d.All != 10 {
				t.Errorf("%d of %d, first %q; want %d, first %q", d.Total, d.All, first, tt.total, tt.first)
			}
			if diff := cmp.Diff([]string{"Logística", "Operações"}, d.Departments); diff != "" {
				t.Errorf("departments (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := s.People(t.Context(), company.Actor(5), store.PeopleQuery{}); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("a reviewer: %v", err)
	}
}

func TestARecordIsItsOrganisations(t *testing.T) {
	s, pool, company := openApart(t, 4)
	p, err := s.Person(t.Context(), company.HR, company.People[0])
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "Ana 1" || len(p.Reports) != 3 || p.ManagerID != 0 || len(p.Roles) != 1 {
		t.Errorf("Ana is %+v", p)
	}
	other := storetest.NewCompany(t, pool, "Outra", 2)
	if _, err := s.Person(t.Context(), other.Admin, p.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("from another organisation: %v", err)
	}
}

func TestTheOperatorMakesTheFirstAdmin(t *testing.T) {
	s, pool, _ := openApart(t, 2)
	tenant, err := s.CreateTenant(t.Context(), "Nova", "pt-BR", "America/Sao_Paulo", "rh@nova.example")
	if err != nil {
		t.Fatal(err)
	}
	input := store.PersonInput{Code: "1", Name: " Márcia  Leão ", Email: "marcia@nova.example"}
	id, err := s.CreatePerson(t.Context(), tenant, input, policy.Admin)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Person(t.Context(), policy.Actor{TenantID: tenant, PersonID: id, Roles: []policy.Role{policy.Admin}}, id)
	if err != nil || p.Name != "Márcia Leão" || p.Roles[0] != policy.Admin {
		t.Errorf("Person() = %+v, %v", p, err)
	}
	for _, tt := range []struct {
		name  string
		in    store.PersonInput
		role  policy.Role
		field string
	}{
		{"the same code", store.PersonInput{Code: "1", Name: "X"}, "", "code"},
		{"the same address", store.PersonInput{Code: "2", Name: "X", Email: "Marcia@nova.example"}, "", "email"},
		{"no name", store.PersonInput{Code: "2"}, "", "name"},
		{"a direction mark in the name", store.PersonInput{Code: "2", Name: "A\u202eB"}, "", "name"},
		{"no address at all", store.PersonInput{Code: "2", Name: "X", Email: "x"}, "", "email"},
		{"a role nobody knows", store.PersonInput{Code: "2", Name: "X"}, "dona", "role"},
	} {
		_, err := s.CreatePerson(t.Context(), tenant, tt.in, tt.role)
		if f := fault.As(err); f == nil || f.Fields[tt.field].Key == "" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := s.CreatePerson(t.Context(), 4711, input, ""); fault.KindOf(err) != fault.NotFound {
		t.Errorf("in no organisation: %v", err)
	}
	for _, tt := range []struct{ name, locale, zone, contact, field string }{
		{"", "pt-BR", "UTC", "", "name"}, {"A", "xx", "UTC", "", "locale"}, {"A", "en", "Mars/Olympus", "", "zone"},
		{"A", "en", "UTC", "x", "contact"}, {"Nova", "en", "UTC", "", "name"},
		{"No\u202eva", "en", "UTC", "", "name"}, {"Nova\r\nBcc: x@y.example", "en", "UTC", "", "name"}, {"\u3164", "en", "UTC", "", "name"},
		{"A", "en", "./UTC", "", "zone"}, {"A", "en", "localtime", "", "zone"},
	} {
		_, err := s.CreateTenant(t.Context(), tt.name, tt.locale, tt.zone, tt.contact)
		if f := fault.As(err); f == nil || f.Fields[tt.field].Key == "" {
			t.Errorf("CreateTenant(%+v) = %v", tt, err)
		}
	}
	// our list of zones may be newer than the database's
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		refusal := fault.Invalidf("tenant.zone_unknown", "zone", "Atlantis/Poseidonis")
		if got := store.CheckZone(t.Context(), tx, "Atlantis/Poseidonis", refusal); got != refusal {
			t.Errorf("CheckZone of a zone nobody knows = %v", got)
		}
		return store.CheckZone(t.Context(), tx, "America/Sao_Paulo", refusal) // the transaction goes on
	})
	if err != nil {
		t.Error(err)
	}
	if n := howMany(t, pool, `SELECT count(*) FROM people WHERE tenant_id = $1`, tenant); n != 1 {
		t.Errorf("%d people, want the admin alone", n)
	}
}
