package store_test

import (
	"fmt"
	"sync"
	"testing"

	"ciclo/internal/fault"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

// Two admins take each other's role at the same moment, again and again: one
// admin stays, whoever was first.
func TestTheLastAdminStaysWhoeverIsFirst(t *testing.T) {
	t.Parallel()
	s, pool, c := companyOf(t, 4)
	for round := range 5 {
		storetest.Exec(t, pool, `
			INSERT INTO grants (tenant_id, person_id, role)
			SELECT $1, id, 'admin'
			FROM people
			WHERE id = ANY ($2)
			ON CONFLICT DO NOTHING`, c.Tenant, []int64{c.People[0], c.People[2]})
		grantOf := func(i int) int64 {
			return storetest.One[int64](t, pool, `SELECT id FROM grants WHERE person_id = $1 AND role = 'admin'`, c.People[i])
		}
		grants := [2]int64{grantOf(0), grantOf(2)}
		errs := [2]error{}
		var both sync.WaitGroup
		both.Go(func() { _, errs[0] = s.TakeRole(t.Context(), c.Actor(0, policy.Admin), c.People[2], grants[1]) })
		both.Go(func() { _, errs[1] = s.TakeRole(t.Context(), c.Actor(2, policy.Admin), c.People[0], grants[0]) })
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("round %d: %v and %v", round, errs[0], errs[1])
		}
		if n := storetest.One[int](t, pool, `SELECT count(*) FROM grants WHERE role = 'admin'`); n != 1 {
			t.Fatalf("round %d leaves %d admins", round, n)
		}
	}
}

func TestRolesAreGivenAndTakenByAdminsToOthers(t *testing.T) {
	t.Parallel()
	s, pool, c := companyOf(t, 6)
	admin, who := c.Admin, c.People[4]
	partner := store.GrantInput{Role: policy.HRPartner, Scope: store.ScopeDepartment, Value: "Logística"}
	for _, tt := range []struct {
		name   string
		by     policy.Actor
		person int64
		in     store.GrantInput
		want   fault.Kind
	}{
		{"an HR manager may not", c.HR, who, partner, fault.Forbidden},
		{"an employee may not", c.Actor(3), who, partner, fault.Forbidden},
		{"nobody gives to themself", admin, admin.PersonID, store.GrantInput{Role: policy.HRManager}, fault.Forbidden},
		{"who claims to be an admin and is none", c.Actor(3, policy.Admin), who, partner, fault.Forbidden},
		{"a role that is none", admin, who, store.GrantInput{Role: "king"}, fault.Invalid},
		{"a partner needs a scope", admin, who, store.GrantInput{Role: policy.HRPartner}, fault.Invalid},
		{"a scope needs its value", admin, who, store.GrantInput{Role: policy.HRPartner, Scope: store.ScopeUnit}, fault.Invalid},
		{"a department that nobody is in", admin, who, store.GrantInput{Role: policy.HRPartner, Scope: store.ScopeDepartment, Value: "Lojistica"}, fault.Invalid},
		{"somebody who is nobody", admin, 999999, partner, fault.NotFound},
		{"a department", admin, who, partner, fault.None},
		{"the same again", admin, who, partner, fault.Conflict},
		{"the own team", admin, who, store.GrantInput{Role: policy.HRPartner, Scope: store.ScopeOwnTeam, Value: "is left out"}, fault.None},
		{"a whole role keeps no scope", admin, who, store.GrantInput{Role: policy.HRManager, Scope: store.ScopeUnit, Value: "x"}, fault.None},
	} {
		ss, err := s.BeginSession(t.Context(), store.Session{TenantID: c.Tenant, PersonID: who})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.GiveRole(t.Context(), tt.by, tt.person, tt.in)
		if got := fault.KindOf(err); got != tt.want {
			t.Errorf("%s: %v, want kind %v", tt.name, err, tt.want)
		}
		if _, err = s.ResumeSession(t.Context(), ss.Token); (err != nil) != (tt.want == fault.None) {
			t.Errorf("%s: the session of who is given a role: %v", tt.name, err)
		}
	}
	ss, err := s.BeginSession(t.Context(), store.Session{TenantID: c.Tenant, PersonID: who})
	if err != nil {
		t.Fatal(err)
	}
	if ss, err = s.ResumeSession(t.Context(), ss.Token); err != nil || fmt.Sprint(ss.Roles, ss.Scope) != "[hr_manager hr_partner] {[] [Logística] true}" {
		t.Errorf("the session knows %v %v (%v)", ss.Roles, ss.Scope, err)
	}
	if n := storetest.One[int](t, pool, `SELECT count(*) FROM audit_entries WHERE act = 'role.given' AND object_id = $1`, who); n != 3 {
		t.Errorf("%d entries of roles given", n)
	}
	g, err := s.RolesOf(t.Context(), admin, who)
	if err != nil || len(g.Grants) != 3 {
		t.Fatalf("%+v (%v)", g, err)
	}
	if _, err = s.TakeRole(t.Context(), admin, c.People[3], g.Grants[0].ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a role of somebody else is taken: %v", err)
	}
	if _, err = s.TakeRole(t.Context(), admin, who, g.Grants[0].ID); err != nil {
		t.Error(err)
	}
}

// What policy says of one person, the database says of every one in a list.
func TestListsCoverWhomPolicyCovers(t *testing.T) {
	t.Parallel()
	s, pool, c := companyOf(t, 12)
	storetest.Exec(t, pool, `UPDATE people SET unit = CASE WHEN id % 3 = 0 THEN 'Curitiba' ELSE '' END, manager_id = CASE WHEN id % 4 = 0 THEN $2::bigint ELSE manager_id END WHERE tenant_id = $1 AND id <> $2`, c.Tenant, c.People[5])
	for _, scope := range []policy.Scope{
		{}, {Units: []string{"Curitiba"}}, {Departments: []string{"Logística"}}, {OwnTeam: true}, {Units: []string{""}, Departments: []string{""}},
		{Units: []string{"Curitiba"}, Departments: []string{"Logística"}, OwnTeam: true},
	} {
		by := c.Actor(5, policy.HRPartner)
		by.Scope = scope
		d, err := s.People(t.Context(), by, store.PeopleQuery{Sort: "name", Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		listed := map[int64]bool{}
		for _, p := range d.People {
			listed[p.ID] = true
		}
		if d.All != len(listed) || d.Total != len(listed) {
			t.Errorf("%+v: counts %d and %d of %d", scope, d.All, d.Total, len(listed))
		}
		for _, id := range c.People {
			_, err := s.Person(t.Context(), by, id)
			if listed[id] != (err == nil) || err != nil && fault.KindOf(err) != fault.NotFound {
				t.Errorf("%+v: person %d is listed %v and read with %v", scope, id, listed[id], err)
			}
		}
	}
}
