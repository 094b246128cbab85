package handlers

import (
	"context"
	"net/http"
	"time"

	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/views"
)

// showLostPassword answers GET /password/lost.
func (h *Handlers) showLostPassword(w http.ResponseWriter, r *http.Request) error {
	return h.show(w, r, views.LostPasswordPage(views.Form{}), nil)
}

// resetTakes is how long asking for a reset, or for a lost link, takes at least:
// an address that is known costs a little more work than one that is not, and
// this hides it.
const resetTakes = 250 * time.Millisecond

// askReset answers POST /password/lost: the same, and at the same time, whether
// the address is known or not.
func (h *Handlers) askReset(w http.ResponseWriter, r *http.Request) error {
	began := time.Now()
	in, err := readForm(r)
	if err != nil {
		return err
	}
	email := in.Line("email", 254)
	in.Require("email")
	if err = in.Faults(); err == nil {
		err = h.store.AskReset(r.Context(), email)
		waitUntil(r.Context(), began.Add(resetTakes))
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuse(w, r, err, views.LostPasswordPage(form), nil)
	}
	if err != nil {
		return err
	}
	h.say(r, "lost_password.sent", "minutes", int(store.LinkForPassword.Minutes()))
	return h.redirect(w, r, "/login")
}

func waitUntil(ctx context.Context, t time.Time) {
	select {
	case <-time.After(time.Until(t)):
	case <-ctx.Done():
	}
}

// showAccount answers GET /account.
func (h *Handlers) showAccount(w http.ResponseWriter, r *http.Request) error {
	a, err := h.store.Account(r.Context(), actor(r))
	if err != nil {
		return err
	}
	shown := views.OwnAccount{Email: a.Email}
	for _, s := range a.Sessions {
		shown.Sessions = append(shown.Sessions, views.OpenSession(s))
	}
	return h.show(w, r, views.AccountPage(shown), nil)
}

// signOutEverywhere answers POST /account/sessions/removal.
func (h *Handlers) signOutEverywhere(w http.ResponseWriter, r *http.Request) error {
	n, err := h.store.SignOutEverywhere(r.Context(), actor(r))
	if err != nil {
		return err
	}
	if err := h.endAccount(w, r); err != nil {
		return err
	}
	if err := h.endLink(w, r); err != nil {
		return err
	}
	w.Header().Set("Clear-Site-Data", `"cache"`)
	h.flash(r, views.Flash{Text: views.N(r.Context(), "account.out_everywhere", n)})
	return h.redirect(w, r, "/login")
}

// invitePerson answers POST /people/{id}/invitation.
func (h *Handlers) invitePerson(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	name, err := h.store.InvitePerson(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	h.say(r, "account.invited", "name", name)
	return h.redirect(w, r, "/people/"+formatID(id))
}

// endSessions answers POST /people/{id}/sessions/removal.
func (h *Handlers) endSessions(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	name, n, err := h.store.EndSessionsOf(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	h.flash(r, views.Flash{Text: views.N(r.Context(), "account.ended", n, "name", name)})
	return h.redirect(w, r, "/people/"+formatID(id))
}

// showAddress answers GET /people/{id}/address.
func (h *Handlers) showAddress(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	name, email, err := h.store.AddressOf(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	return h.show(w, r, views.AddressPage(id, name, views.Filled("email", email)), nil)
}

// changeAddress answers POST /people/{id}/address.
func (h *Handlers) changeAddress(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	name, _, err := h.store.AddressOf(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	email := in.Line("email", 254)
	var done store.ChangedAddress
	if err = in.Faults(); err == nil {
		done, err = h.store.ChangeAddress(r.Context(), actor(r), id, email)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuse(w, r, err, views.AddressPage(id, name, form), nil)
	}
	if err != nil {
		return err
	}
	h.flash(r, views.Flash{Text: views.N(r.Context(), "address.changed", done.Again, "name", name)})
	return h.redirect(w, r, "/people/"+formatID(id))
}

// showRoles answers GET /people/{id}/roles.
func (h *Handlers) showRoles(w http.ResponseWriter, r *http.Request) error {
	g, err := h.rolesOf(r)
	if err != nil {
		return err
	}
	return h.show(w, r, views.RolesPage(g, views.Form{}), nil)
}

func (h *Handlers) rolesOf(r *http.Request) (shown views.Granted, err error) {
	id, err := pathID(r, "id")
	if err != nil {
		return shown, err
	}
	g, err := h.store.RolesOf(r.Context(), actor(r), id)
	shown = views.Granted{Person: g.Person, PersonID: g.PersonID, Left: g.Left, Units: g.Units, Departments: g.Departments}
	for _, one := range g.Grants {
		shown.Grants = append(shown.Grants, views.Grant(one))
	}
	return shown, err
}

// giveRole answers POST /people/{id}/roles.
func (h *Handlers) giveRole(w http.ResponseWriter, r *http.Request) error {
	g, err := h.rolesOf(r)
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	grant := readGrant(in)
	if err = in.Faults(); err == nil {
		_, err = h.store.GiveRole(r.Context(), actor(r), g.PersonID, grant)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuse(w, r, err, views.RolesPage(g, form), nil)
	}
	if err != nil {
		return err
	}
	h.say(r, "roles.given", "name", g.Person, "role", views.T(r.Context(), "people.role."+string(grant.Role)))
	return h.redirect(w, r, "/people/"+formatID(g.PersonID)+"/roles")
}

// readGrant reads a role and, for the one that has a scope, over whom.
func readGrant(in *form) store.GrantInput {
	var roles []string
	for _, role := range policy.Roles {
		roles = append(roles, string(role))
	}
	g := store.GrantInput{Role: policy.Role(in.Choice("role", roles...)), Scope: in.Choice("scope", "", store.ScopeUnit, store.ScopeDepartment, store.ScopeOwnTeam)}
	unit, department := in.Line("unit", 200), in.Line("department", 200)
	switch g.Scope {
	case store.ScopeUnit:
		g.Value = unit
	case store.ScopeDepartment:
		g.Value = department
	}
	return g
}

// takeRole answers POST /people/{id}/roles/{grant}/removal.
func (h *Handlers) takeRole(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	grant, err := pathID(r, "grant")
	if err != nil {
		return err
	}
	name, err := h.store.TakeRole(r.Context(), actor(r), id, grant)
	if err != nil {
		return err
	}
	h.say(r, "roles.taken", "name", name)
	return h.redirect(w, r, "/people/"+formatID(id)+"/roles")
}
