package handlers

import (
	"cmp"
	"net/http"
	"slices"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/views"
)

// showPause answers GET /deliveries/pause: the question before a lane is paused.
func (h *Handlers) showPause(w http.ResponseWriter, r *http.Request) error {
	if err := policy.Can(actor(r), policy.PauseSending, policy.Of(actor(r))); err != nil {
		return err
	}
	lane := cmp.Or(r.URL.Query().Get("queue"), outbox.QueueMail)
	if !slices.Contains(outbox.Lanes, lane) {
		return fault.NotFoundf("fault.not_found")
	}
	return h.show(w, r, views.PausePage(lane, views.Form{}), nil)
}

// pauseSending answers POST /deliveries/pause.
func (h *Handlers) pauseSending(w http.ResponseWriter, r *http.Request) error {
	in, err := readForm(r)
	if err != nil {
		return err
	}
	lane, reason := cmp.Or(in.Line("queue", 20), outbox.QueueMail), in.Line("reason", 500)
	if err = in.Faults(); err == nil {
		err = h.store.PauseSending(r.Context(), actor(r), lane, reason)
	}
	if form, mendable := in.Refused(err); mendable && fault.KindOf(err) == fault.Invalid {
		return h.refuse(w, r, err, views.PausePage(lane, form), nil)
	}
	if err != nil {
		return err
	}
	h.say(r, "sending.done_paused")
	return h.redirect(w, r, "/deliveries")
}

// resumeSending answers POST /deliveries/resume.
func (h *Handlers) resumeSending(w http.ResponseWriter, r *http.Request) error {
	in, err := readForm(r)
	if err != nil {
		return err
	}
	lane := cmp.Or(in.Line("queue", 20), outbox.QueueMail)
	if err := in.Faults(); err != nil {
		return err
	}
	if err := h.store.ResumeSending(r.Context(), actor(r), lane); err != nil {
		return err
	}
	h.say(r, "sending.done_resumed")
	return h.redirect(w, r, "/deliveries")
}

// showUndo answers GET /cycles/{id}/activation/undo.
func (h *Handlers) showUndo(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	receipt, err := h.store.Receipt(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	if !receipt.Undoable {
		return h.redirect(w, r, cycleURL(id, "receipt"))
	}
	return h.show(w, r, views.UndoPage(receipt, views.Form{}), nil)
}

// undoActivation answers POST /cycles/{id}/activation/undo.
func (h *Handlers) undoActivation(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	if err := h.store.UndoActivation(r.Context(), actor(r), id); err != nil {
		return err
	}
	h.say(r, "undo.done")
	return h.redirect(w, r, cycleURL(id, "rehearsal"))
}
