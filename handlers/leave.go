package handlers

import (
	"net/http"

	"ciclo/internal/appraisal"
	"ciclo/views"
)

// noteLeave answers POST /people/{id}/leave: when a person is away.
func (h *Handlers) noteLeave(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	leave := appraisal.Leave{From: in.Date("from"), Until: in.Date("until"), Kind: appraisal.LeaveKind(in.Choice("kind", "vacation", "parental", "sick", "other"))}
	in.Require("from", "until", "kind")
	if err = in.Faults(); err == nil {
		err = h.store.NoteLeave(r.Context(), actor(r), id, leave)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.personPage(w, r, id, form, err)
	}
	if err != nil {
		return err
	}
	h.say(r, "leave.noted")
	return h.redirect(w, r, "/people/"+formatID(id)+"#leave")
}

// removeLeave answers POST /people/{id}/leave/{leave}/removal.
func (h *Handlers) removeLeave(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	leave, err := pathID(r, "leave")
	if err != nil {
		return err
	}
	if err := h.store.RemoveLeave(r.Context(), actor(r), id, leave); err != nil {
		return err
	}
	h.say(r, "leave.removed")
	return h.redirect(w, r, "/people/"+formatID(id)+"#leave")
}

// leavesOf shows them with the form to add one.
func (h *Handlers) leavesOf(r *http.Request, person int64, form views.Form) (views.Leaves, error) {
	leaves, err := h.store.Leaves(r.Context(), actor(r), person)
	return views.Leaves{PersonID: person, Leaves: leaves, Form: form}, err
}
