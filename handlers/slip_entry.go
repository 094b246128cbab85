package handlers

import (
	"net/http"

	"ciclo/store"
	"ciclo/views"
)

// showSlipEntry answers GET /acesso: for who holds a printed slip.
func (h *Handlers) showSlipEntry(w http.ResponseWriter, r *http.Request) error {
	return h.show(w, r, views.SlipEntryPage(views.Form{}), nil)
}

// trySlip answers POST /acesso. A right code leads to the question whether this
// is the person; until they say so, nothing is opened.
func (h *Handlers) trySlip(w http.ResponseWriter, r *http.Request) error {
	in, err := readForm(r)
	if err != nil {
		return err
	}
	employee, code := in.Line("employee", 64), in.Line("code", 60)
	in.Require("employee", "code")
	var owner store.LinkOwner
	if err = in.Faults(); err == nil {
		owner, err = h.store.TrySlip(r.Context(), h.keys, employee, code, h.clientIP(r))
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuse(w, r, err, views.SlipEntryPage(form), nil)
	}
	if err != nil {
		return err
	}
	ss, err := h.link(r)
	if err != nil {
		return err
	}
	ss.Values[slipValue] = owner.LinkID
	if err := ss.Save(r, w); err != nil {
		return err
	}
	return h.redirect(w, r, "/acesso/pessoa")
}

// slip is the link whose slip's code this browser has given; nought for none.
func (h *Handlers) slip(r *http.Request) (int64, error) {
	ss, err := h.link(r)
	if err != nil {
		return 0, err
	}
	id, _ := ss.Values[slipValue].(int64)
	return id, nil
}

// showSlipOwner answers GET /acesso/pessoa: "Is this you?"
func (h *Handlers) showSlipOwner(w http.ResponseWriter, r *http.Request) error {
	id, err := h.slip(r)
	if err != nil {
		return err
	}
	if id == 0 {
		return h.redirect(w, r, "/acesso")
	}
	owner, err := h.store.SlipOwner(r.Context(), id)
	r = readAs(r, owner)
	if err != nil {
		h.fail(w, r, err)
		return nil
	}
	return h.show(w, r, views.SlipOwnerPage(views.LinkLanding{
		Person: owner.Person, Organisation: owner.Organisation, Cycle: owner.Cycle, Due: owner.Due, Open: owner.Open,
	}), nil)
}

// openSlip answers POST /acesso/pessoa: the person said who they are.
func (h *Handlers) openSlip(w http.ResponseWriter, r *http.Request) error {
	id, err := h.slip(r)
	if err != nil {
		return err
	}
	if id == 0 {
		return h.redirect(w, r, "/acesso")
	}
	owner, err := h.store.OpenSlip(r.Context(), id)
	if err == nil {
		err = h.beginLink(w, r, store.Session{TenantID: owner.TenantID, PersonID: owner.PersonID, CycleID: owner.CycleID, Slip: true})
	}
	if err != nil {
		h.fail(w, readAs(r, owner), err)
		return nil
	}
	return h.redirect(w, r, "/reviews")
}
