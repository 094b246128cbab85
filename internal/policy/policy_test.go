package policy

import (
	"testing"

	"ciclo/internal/fault"
)

// Every act, for every kind of actor, in words: who may.
func TestWhoMayDoWhat(t *testing.T) {
	const tenant, mine, theirs, cycle = 1, 10, 11, 5
	actors := map[string]Actor{
		"employee":       {TenantID: tenant, PersonID: mine},
		"admin":          {TenantID: tenant, PersonID: mine, Roles: []Role{Admin}},
		"HR manager":     {TenantID: tenant, PersonID: mine, Roles: []Role{HRManager}},
		"link":           {TenantID: tenant, PersonID: mine, CycleID: cycle},
		"HR by link":     {TenantID: tenant, PersonID: mine, Roles: []Role{HRManager}, CycleID: cycle},
		"nobody":         {},
		"another tenant": {TenantID: 2, PersonID: mine, Roles: []Role{Admin, HRManager}},
	}
	for _, tt := range []struct {
		act     Act
		owner   int64
		allowed []string
		hidden  bool // refused as if it did not exist
	}{
		{SeePeople, 0, []string{"admin", "HR manager"}, false},
		{ImportPeople, 0, []string{"admin", "HR manager"}, false},
		{GrantRoles, 0, []string{"admin"}, false},
		{SeeForms, 0, []string{"admin", "HR manager"}, false},
		{EditForms, 0, []string{"HR manager"}, false},
		{SeeCycles, 0, []string{"HR manager"}, false},
		{EditCycle, mine, []string{"HR manager"}, false},
		{ActivateCycle, theirs, []string{"HR manager"}, false},
		{CloseCycle, mine, []string{"HR manager"}, false},
		{SeeMessages, mine, []string{"admin", "HR manager"}, false},
		{SeeMessages, theirs, []string{"admin"}, false},
		{PauseSending, 0, []string{"admin", "HR manager"}, false},
		{MendMessages, theirs, []string{"admin"}, false},
		{WriteEvaluation, mine, []string{"employee", "admin", "HR manager", "link", "HR by link"}, false},
		{WriteEvaluation, theirs, nil, true},
		{SeeEvaluation, theirs, nil, true},
		{"an act nobody has thought of", mine, nil, false},
	} {
		for name, actor := range actors {
			want := fault.Forbidden
			switch {
			case contains(tt.allowed, name):
				want = fault.None
			case name == "nobody" || name == "another tenant":
				want = fault.NotFound
			case tt.hidden:
				want = fault.NotFound
			}
			err := Can(actor, tt.act, Object{TenantID: tenant, CycleID: cycle, OwnerID: tt.owner})
			if got := fault.KindOf(err); got != want {
				t.Errorf("%s, %s of %d: kind %v, want %v", name, tt.act, tt.owner, got, want)
			}
		}
	}
	link := actors["link"]
	if err := Can(link, WriteEvaluation, Object{TenantID: tenant, CycleID: cycle + 1, OwnerID: mine}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a link reaches another cycle: %v", err)
	}
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}
