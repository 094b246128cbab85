// Package policy answers one question: may this actor do this to that object?
//
// Can denies unless the table allows. Two rules stand above every role: an
// object of another organisation does not exist for the actor, and an object
// about the actor (their own answers, score, approval) is closed to them where
// the act would let them judge or read themself, or raise themself. Handlers
// hand the Actor to the store; each store method asks Can inside its
// transaction, on the row it read.
//
// A role holds for the whole organisation, but for the HR partner's: their
// grants cover units, departments or their own team, and a person outside of
// these does not exist for them. Lists leave such people out in the database,
// by the same rule as Covers.
package policy

import (
	"slices"

	"ciclo/internal/fault"
)

// Role is what a grant gives a person over their organisation, or a part of it.
type Role string

// The roles; everybody is an employee, which needs no grant.
const (
	Admin     Role = "admin"
	HRManager Role = "hr_manager"
	HRPartner Role = "hr_partner" // of what Scope covers
)

// Roles lists them.
var Roles = []Role{Admin, HRManager, HRPartner}

// Scope is the part of the organisation that a partner's grants cover.
type Scope struct {
	Units       []string
	Departments []string
	OwnTeam     bool // who reports to the partner
}

// Actor is who asks. The zero Actor may do nothing.
type Actor struct {
	TenantID int64
	PersonID int64
	Name     string
	Roles    []Role
	Scope    Scope // of the HR partner's role; every other role is over everybody
	// CycleID is set for a session that came from a review link: it may act on
	// that person's reviews of that cycle and on nothing else.
	CycleID int64
	// Slip is set when such a session was opened by the code of a printed slip.
	Slip bool
}

// Is reports whether the actor holds the role.
func (a Actor) Is(role Role) bool {
	for _, r := range a.Roles {
		if r == role {
			return true
		}
	}
	return false
}

// Everywhere reports whether the actor's roles reach people without regard to Scope.
func (a Actor) Everywhere() bool { return a.Is(Admin) || a.Is(HRManager) }

// Covers reports whether the object is about somebody in the actor's scope.
func (a Actor) Covers(o Object) bool {
	return o.Unit != "" && slices.Contains(a.Scope.Units, o.Unit) ||
		o.Department != "" && slices.Contains(a.Scope.Departments, o.Department) ||
		a.Scope.OwnTeam && o.ManagerID != 0 && o.ManagerID == a.PersonID
}

// ByLink reports whether the actor came by a review link.
func (a Actor) ByLink() bool { return a.CycleID != 0 }

// Channel is how the actor came in, as a submission records it.
func (a Actor) Channel() string {
	switch {
	case a.Slip:
		return "slip"
	case a.ByLink():
		return "link"
	}
	return "session"
}

// Act is one thing that can be done.
type Act string

// The acts, by the noun they belong to.
const (
	SeePeople       Act = "people.see"
	ImportPeople    Act = "people.import"
	NoteLeave       Act = "people.leave"
	GrantRoles      Act = "people.grant"
	ManageAccounts  Act = "people.accounts" // invite, end sessions
	CorrectAddress  Act = "people.address"  // on the person's record
	ManageSettings  Act = "settings.manage" // of the organisation
	SeeAudit        Act = "audit.see"
	SeeTeam         Act = "team.see" // counts of who reports to the actor
	SeeForms        Act = "forms.see"
	EditForms       Act = "forms.edit"
	SeeCycles       Act = "cycles.see"     // and everything in them but answers
	SeeCyclePart    Act = "cycle.see_part" // the rows about people in scope
	EditRosterPart  Act = "roster.edit_part"
	EditCycle       Act = "cycle.edit" // create, roster, rehearse
	ActivateCycle   Act = "cycle.activate"
	CloseCycle      Act = "cycle.close" // close and cancel
	PrintSlips      Act = "slips.print" // their codes open reviews: the IT admin never reads answers
	SeeResult       Act = "result.see"  // somebody's figures, before they are released
	SeeMessages     Act = "messages.see"
	PauseSending    Act = "sending.pause" // and resume
	MendMessages    Act = "messages.mend" // retry, cancel, correct the address, hand over
	WriteEvaluation Act = "evaluation.write"
	SeeEvaluation   Act = "evaluation.see" // the reviewer's own page
)

// Object is what the act is about, as far as the decision needs it.
type Object struct {
	TenantID int64
	// CycleID is the cycle the object belongs to, if any.
	CycleID int64
	// OwnerID is whose work it is: the reviewer of an evaluation, the owner of a cycle.
	OwnerID int64

	// SubjectID is whom the object is about: the person of a record, the person
	// under review. Zero means the list, not one of its rows.
	SubjectID  int64
	Unit       string // the subject's
	Department string
	ManagerID  int64
}

// Of is an object that is the organisation itself.
func Of(a Actor) Object { return Object{TenantID: a.TenantID} }

// rule answers for an actor and an object that are already known to share a tenant.
type rule func(Actor, Object) bool

func roles(allowed ...Role) rule {
	return func(a Actor, _ Object) bool {
		for _, r := range allowed {
			if a.Is(r) {
				return true
			}
		}
		return false
	}
}

// within is roles, and the partner for whom they cover. The list itself is open
// to a partner: its rows are filtered where they are read.
func within(allowed ...Role) rule {
	everywhere := roles(allowed...)
	return func(a Actor, o Object) bool {
		return everywhere(a, o) || a.Is(HRPartner) && (o.SubjectID == 0 || a.Covers(o))
	}
}

// team allows who the object's people report to.
func team(a Actor, o Object) bool { return o.ManagerID == a.PersonID }

// own allows the person whose work the object is.
func own(a Actor, o Object) bool { return o.OwnerID != 0 && o.OwnerID == a.PersonID }

// messages: an admin sees every message, an HR manager those of their own cycles.
func messages(a Actor, o Object) bool {
	return a.Is(Admin) || a.Is(HRManager) && (o.OwnerID == 0 || own(a, o))
}

var table = map[Act]rule{
	SeePeople:       within(Admin, HRManager),
	ImportPeople:    roles(Admin, HRManager),
	NoteLeave:       roles(Admin, HRManager),
	GrantRoles:      roles(Admin),
	ManageAccounts:  roles(Admin),
	CorrectAddress:  within(Admin, HRManager),
	ManageSettings:  roles(Admin),
	SeeAudit:        roles(Admin),
	SeeTeam:         team,
	SeeForms:        roles(Admin, HRManager, HRPartner),
	EditForms:       roles(HRManager),
	SeeCycles:       roles(HRManager),
	SeeCyclePart:    within(HRManager),
	EditRosterPart:  within(HRManager),
	EditCycle:       roles(HRManager),
	ActivateCycle:   roles(HRManager),
	CloseCycle:      roles(HRManager),
	PrintSlips:      roles(HRManager),
	SeeResult:       roles(HRManager),
	SeeMessages:     messages,
	PauseSending:    roles(Admin, HRManager),
	MendMessages:    messages,
	WriteEvaluation: own,
	SeeEvaluation:   own,
}

// byLink lists what a session from a review link may do at all.
var byLink = map[Act]bool{WriteEvaluation: true, SeeEvaluation: true}

// aboutOneself lists what nobody may do where the object is about them, unless
// it is their own work (a self-review): no role opens it.
var aboutOneself = map[Act]bool{SeeEvaluation: true, WriteEvaluation: true, GrantRoles: true, SeeResult: true}

// hides lists the acts whose object does not exist for who may not: a review
// that is another's, a person out of scope.
func hides(act Act, a Actor, o Object) bool {
	switch act {
	case WriteEvaluation, SeeEvaluation:
		return true
	case SeePeople, CorrectAddress, SeeCyclePart, EditRosterPart:
		return a.Is(HRPartner) && o.SubjectID != 0
	}
	return false
}

// Can answers nil when the actor may, a NotFound fault when the object is not
// of their organisation or session, and a Forbidden fault otherwise.
func Can(a Actor, act Act, o Object) error {
	if a.TenantID == 0 || a.PersonID == 0 || o.TenantID != a.TenantID {
		return fault.NotFoundf("fault.not_found")
	}
	if a.ByLink() {
		if !byLink[act] {
			return fault.Forbiddenf("fault.forbidden")
		}
		if o.CycleID != a.CycleID {
			return fault.NotFoundf("fault.not_found")
		}
	}
	themself := aboutOneself[act] && o.SubjectID == a.PersonID && o.OwnerID != a.PersonID
	if allowed, known := table[act]; known && allowed(a, o) && !themself {
		return nil
	}
	if hides(act, a, o) {
		return fault.NotFoundf("fault.not_found")
	}
	return fault.Forbiddenf("fault.forbidden")
}

// May is Can for pages that show or hide a button.
func May(a Actor, act Act) bool { return Can(a, act, Of(a)) == nil }
