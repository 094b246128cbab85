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
		"partner":        {TenantID: tenant, PersonID: mine, Roles: []Role{HRPartner}, Scope: Scope{Departments: []string{"Frota"}}},
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
		{SeePeople, 0, []string{"admin", "HR manager", "partner"}, false},
		{ImportPeople, 0, []string{"admin", "HR manager"}, false},
		{GrantRoles, 0, []string{"admin"}, false},
		{ManageAccounts, 0, []string{"admin"}, false},
		{CorrectAddress, 0, []string{"admin", "HR manager", "partner"}, false},
		{ManageSettings, 0, []string{"admin"}, false},
		{SeeAudit, 0, []string{"admin"}, false},
		{SeeForms, 0, []string{"admin", "HR manager", "partner"}, false},
		{EditForms, 0, []string{"HR manager"}, false},
		{SeeCycles, 0, []string{"HR manager"}, false},
		{SeeCyclePart, 0, []string{"HR manager", "partner"}, false},
		{EditRosterPart, 0, []string{"HR manager", "partner"}, false},
		{EditCycle, mine, []string{"HR manager"}, false},
		{ActivateCycle, theirs, []string{"HR manager"}, false},
		{CloseCycle, mine, []string{"HR manager"}, false},
		{SeeResult, 0, []string{"HR manager"}, false},
		{SeeMessages, mine, []string{"admin", "HR manager"}, false},
		{SeeMessages, theirs, []string{"admin"}, false},
		{PauseSending, 0, []string{"admin", "HR manager"}, false},
		{MendMessages, theirs, []string{"admin"}, false},
		{WriteEvaluation, mine, []string{"employee", "admin", "HR manager", "partner", "link", "HR by link"}, false},
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

// What a partner's grants cover, in words: a row each, with the answer.
func TestAPartnerReachesWhoTheyCover(t *testing.T) {
	const tenant, me = 1, 10
	partner := Actor{TenantID: tenant, PersonID: me, Roles: []Role{HRPartner}, Scope: Scope{Units: []string{"Curitiba"}, Departments: []string{"Frota"}, OwnTeam: true}}
	for _, tt := range []struct {
		name   string
		object Object
		want   fault.Kind
	}{
		{"of the unit", Object{Unit: "Curitiba", Department: "Financeiro"}, fault.None},
		{"of the department", Object{Unit: "Santos", Department: "Frota"}, fault.None},
		{"of the own team", Object{Department: "Financeiro", ManagerID: me}, fault.None},
		{"of none of them", Object{Unit: "Santos", Department: "Financeiro", ManagerID: 11}, fault.NotFound},
		{"of no unit, department or manager", Object{}, fault.NotFound},
		{"of another organisation", Object{TenantID: 2, Department: "Frota"}, fault.NotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.object.SubjectID = 20
			if tt.object.TenantID == 0 {
				tt.object.TenantID = tenant
			}
			for _, act := range []Act{SeePeople, CorrectAddress, SeeCyclePart, EditRosterPart} {
				if got := fault.KindOf(Can(partner, act, tt.object)); got != tt.want {
					t.Errorf("%s: kind %v, want %v", act, got, tt.want)
				}
			}
			for _, act := range []Act{ImportPeople, GrantRoles, ManageAccounts, ManageSettings, SeeAudit, EditForms, SeeCycles, EditCycle, ActivateCycle, CloseCycle, SeeMessages, MendMessages} {
				if Can(partner, act, tt.object) == nil {
					t.Errorf("a partner may %s", act)
				}
			}
		})
	}
	if nobody := (Actor{TenantID: tenant, PersonID: me, Roles: []Role{HRPartner}}); Can(nobody, SeePeople, Object{TenantID: tenant, SubjectID: 20}) == nil {
		t.Error("a partner without a scope reaches somebody")
	}
}

// Whatever roles somebody holds, an object about them that is not their own
// work is closed to them.
func TestWhatIsAboutOneselfIsClosedToEveryRole(t *testing.T) {
	const tenant, me, other = 1, 10, 11
	all := Actor{TenantID: tenant, PersonID: me, Roles: Roles, Scope: Scope{Departments: []string{"Frota"}}}
	about := Object{TenantID: tenant, SubjectID: me, Department: "Frota"}
	for _, tt := range []struct {
		act   Act
		owner int64
		want  fault.Kind
	}{
		{SeeEvaluation, other, fault.NotFound},
		{WriteEvaluation, other, fault.NotFound},
		{SeeEvaluation, me, fault.None}, // a self-review is one's own work
		{WriteEvaluation, me, fault.None},
		{GrantRoles, 0, fault.Forbidden},
	} {
		about.OwnerID = tt.owner
		if got := fault.KindOf(Can(all, tt.act, about)); got != tt.want {
			t.Errorf("%s of %d about oneself: kind %v, want %v", tt.act, tt.owner, got, tt.want)
		}
	}
}

// A team is its manager's, and nobody else's, whatever role they hold.
func TestATeamIsSeenByItsManager(t *testing.T) {
	team := Object{TenantID: 1, ManagerID: 10}
	if err := Can(Actor{TenantID: 1, PersonID: 10}, SeeTeam, team); err != nil {
		t.Error(err)
	}
	if Can(Actor{TenantID: 1, PersonID: 11, Roles: Roles}, SeeTeam, team) == nil {
		t.Error("somebody else sees the team")
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
