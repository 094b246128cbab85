package handlers

import (
	"net/http"

	"ciclo/internal/appraisal"
	"ciclo/store"
	"ciclo/views"
)

// showReceipt answers GET /cycles/{id}/receipt.
func (h *Handlers) showReceipt(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	receipt, err := h.store.Receipt(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	return h.show(w, r, views.ReceiptPage(receipt), views.ReceiptPanel(receipt))
}

// showProgress answers GET /cycles/{id}/progress; to htmx the list of who is missing.
func (h *Handlers) showProgress(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	l, err := listQuery(r, "name", "department", "owed")
	if err != nil {
		return err
	}
	l.Target = views.MissingPanelID
	p, err := h.store.Progress(r.Context(), actor(r), id, store.MissingQuery{Page: pageOf(l), Department: department(l.Get("department")), Started: l.Get("started")})
	if err != nil {
		return err
	}
	if p.Receipt == nil { // never activated: nothing is under way
		return h.redirect(w, r, cycleURL(id, ""))
	}
	l.Total = p.Total
	return h.showList(w, r, l, views.ProgressPage(l, p), views.MissingPanel(l, p))
}

// showStanding answers GET /cycles/{id}/standing: the figures of the progress
// page alone, for as long as messages are on their way.
func (h *Handlers) showStanding(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	if !wantsFragment(r) {
		return h.redirect(w, r, cycleURL(id, "progress"))
	}
	p, err := h.store.Progress(r.Context(), actor(r), id, store.MissingQuery{Page: store.Page{Limit: 1}})
	if err != nil {
		return err
	}
	return h.show(w, r, views.StandingPanel(p), views.StandingPanel(p))
}

// showClosure answers GET /cycles/{id}/closure.
func (h *Handlers) showClosure(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	p, err := h.store.Progress(r.Context(), actor(r), id, store.MissingQuery{Page: store.Page{Limit: 1}})
	if err != nil {
		return err
	}
	if err := p.Head.Close(); err != nil {
		return err
	}
	return h.show(w, r, views.ClosurePage(p, views.Form{}), nil)
}

// closeCycle answers POST /cycles/{id}/closure.
func (h *Handlers) closeCycle(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	expired, err := h.store.CloseCycle(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	h.say(r, "closure.done", "n", expired)
	return h.redirect(w, r, cycleURL(id, "progress"))
}

// showCancellation answers GET /cycles/{id}/cancellation.
func (h *Handlers) showCancellation(w http.ResponseWriter, r *http.Request) error {
	return h.cancellationPage(w, r, nil, views.Form{})
}

// cancelCycle answers POST /cycles/{id}/cancellation.
func (h *Handlers) cancelCycle(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	reason := in.Text("reason", 500)
	if err = in.Faults(); err == nil {
		_, err = h.store.CancelCycle(r.Context(), actor(r), id, reason)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.cancellationPage(w, r, err, form)
	}
	if err != nil {
		return err
	}
	h.say(r, "cancellation.done")
	return h.redirect(w, r, cycleURL(id, ""))
}

func (h *Handlers) cancellationPage(w http.ResponseWriter, r *http.Request, refusal error, form views.Form) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	head, err := h.store.Cycle(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	if err := head.Cancel(); err != nil && refusal == nil {
		return err
	}
	if head.State != appraisal.CycleDraft && head.State != appraisal.CycleActive {
		return refusal
	}
	return h.refuse(w, r, refusal, views.CancellationPage(head, form), nil)
}
