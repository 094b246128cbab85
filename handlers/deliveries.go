package handlers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/views"
)

// listMessages answers GET /deliveries: counts by state and cause, and a page
// of the messages of one state.
func (h *Handlers) listMessages(w http.ResponseWriter, r *http.Request) error {
	l, f, err := messageQuery(r)
	if err != nil {
		return err
	}
	m, err := h.store.Messages(r.Context(), actor(r), f)
	if err != nil {
		return err
	}
	l.Total, l.Page = m.Matching, m.Page
	return h.show(w, r, views.MessagesPage(m, l), views.MessagesPanel(m, l))
}

// askRetry answers GET /deliveries/retry: the question before sending all that
// match again.
func (h *Handlers) askRetry(w http.ResponseWriter, r *http.Request) error {
	l, f, err := messageQuery(r)
	if err != nil {
		return err
	}
	l.Path, f.State = "/deliveries", outbox.StateFailed
	l.Query.Del("all")
	m, err := h.store.Messages(r.Context(), actor(r), f)
	if err != nil {
		return err
	}
	return h.show(w, r, views.RetryAllPage(m, l), nil)
}

// retryMessages answers POST /deliveries/retry: the chosen ones, or all that
// match the filter.
func (h *Handlers) retryMessages(w http.ResponseWriter, r *http.Request) error {
	in, err := readForm(r)
	if err != nil {
		return err
	}
	var n int
	if in.Ticked("all") {
		f := in.messageFilter()
		if err := in.Faults(); err != nil {
			return err
		}
		n, err = h.store.RetryMatching(r.Context(), actor(r), f)
	} else {
		ids := in.IDs("id")
		if err := in.Faults(); err != nil {
			return err
		}
		n, err = h.store.RetryMessages(r.Context(), actor(r), ids)
	}
	if err != nil {
		return err
	}
	h.say(r, "message.retried_n", "n", n)
	return h.redirect(w, r, in.backTo("/deliveries"))
}

// showMessage answers GET /deliveries/{id}.
func (h *Handlers) showMessage(w http.ResponseWriter, r *http.Request) error {
	v, err := h.message(r)
	if err != nil {
		return err
	}
	return h.show(w, r, views.MessagePage(v), views.MessagePanel(v))
}

// backToMessage answers GET for an act that is only ever posted, as a browser
// asks for it when a refused form's page is loaded again.
func (h *Handlers) backToMessage(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	return h.redirect(w, r, fmt.Sprintf("/deliveries/%d", id))
}

// retryMessage answers POST /deliveries/{id}/retry.
func (h *Handlers) retryMessage(w http.ResponseWriter, r *http.Request) error {
	id, in, err := messageForm(r)
	if err != nil {
		return err
	}
	if err := h.store.RetryMessage(r.Context(), actor(r), id); err != nil {
		return err
	}
	h.say(r, "message.retried")
	return h.redirect(w, r, in.backTo(fmt.Sprintf("/deliveries/%d", id)))
}

// correctAddress answers POST /deliveries/{id}/resend: the right address goes
// on the person's record, and the message out again.
func (h *Handlers) correctAddress(w http.ResponseWriter, r *http.Request) error {
	id, in, err := messageForm(r)
	if err != nil {
		return err
	}
	email := in.Line("email", 254)
	var done outbox.Correction
	if err = in.Faults(); err == nil {
		done, err = h.store.CorrectAddress(r.Context(), actor(r), id, email)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuseMessage(w, r, err, func(v *views.MessageView) { v.Form = form })
	}
	if err != nil {
		return err
	}
	key := "message.corrected"
	switch {
	case done.NewLink:
		key = "message.corrected_new_link"
	case !done.Changed:
		key = "message.retried"
	}
	h.say(r, key, "person", done.Person)
	return h.redirect(w, r, fmt.Sprintf("/deliveries/%d", id))
}

// askCancellation answers GET /deliveries/{id}/cancellation: the question
// before a message is cancelled.
func (h *Handlers) askCancellation(w http.ResponseWriter, r *http.Request) error {
	v, err := h.message(r)
	if err != nil {
		return err
	}
	if !v.CanCancel() {
		return h.redirect(w, r, fmt.Sprintf("/deliveries/%d", v.ID))
	}
	return h.show(w, r, views.CancelPage(v), nil)
}

// cancelMessage answers POST /deliveries/{id}/cancellation.
func (h *Handlers) cancelMessage(w http.ResponseWriter, r *http.Request) error {
	id, in, err := messageForm(r)
	if err != nil {
		return err
	}
	reason := in.Line("reason", 500)
	var m outbox.Message
	if err = in.Faults(); err == nil {
		m, err = h.store.CancelMessage(r.Context(), actor(r), id, reason)
	}
	if form, mendable := in.Refused(err); mendable && fault.KindOf(err) == fault.Invalid {
		return h.refuseMessage(w, r, err, func(v *views.MessageView) { v.Cancel = form })
	}
	if err != nil {
		return err
	}
	if m.Status == outbox.Processing {
		h.say(r, "message.cancel_asked")
	} else {
		h.say(r, "message.cancelled")
	}
	return h.redirect(w, r, fmt.Sprintf("/deliveries/%d", id))
}

// handOver answers POST /deliveries/{id}/handover.
func (h *Handlers) handOver(w http.ResponseWriter, r *http.Request) error {
	id, in, err := messageForm(r)
	if err != nil {
		return err
	}
	if err := h.store.HandOver(r.Context(), actor(r), id); err != nil {
		return err
	}
	h.say(r, "message.handed_over")
	return h.redirect(w, r, in.backTo(fmt.Sprintf("/deliveries/%d", id)))
}

// message reads the message of the path as its page shows it.
func (h *Handlers) message(r *http.Request) (v views.MessageView, err error) {
	id, err := pathID(r, "id")
	if err != nil {
		return v, err
	}
	d, err := h.store.Message(r.Context(), actor(r), id)
	if err != nil {
		return v, err
	}
	v = views.MessageView{MessageDetail: d, Now: time.Now(), Form: views.Filled("email", d.Email)}
	if h.domain != "" {
		v.MailID = fmt.Sprintf("<outbox-%d@%s>", d.ID, h.domain)
	}
	return v, nil
}

// refuseMessage draws the message's page again with a form that was refused.
func (h *Handlers) refuseMessage(w http.ResponseWriter, r *http.Request, refused error, put func(*views.MessageView)) error {
	v, err := h.message(r)
	if err != nil {
		return err
	}
	put(&v)
	page := views.MessagePage(v)
	if v.Cancel.Refused() {
		page = views.CancelPage(v)
	}
	return h.refuse(w, r, refused, page, nil)
}

// messageForm reads which message an act is about, and what came with it.
func messageForm(r *http.Request) (id int64, in *form, err error) {
	if id, err = pathID(r, "id"); err != nil {
		return 0, nil, err
	}
	in, err = readForm(r)
	return id, in, err
}

// backTo is where the form wants to return, if that is on the messages pages.
func (f *form) backTo(otherwise string) string {
	next := localPath(f.first("next"))
	if next == "/deliveries" || strings.HasPrefix(next, "/deliveries?") || strings.HasPrefix(next, "/deliveries/") {
		return next
	}
	return otherwise
}

// messageQuery reads the list and the filter from the address. A state, cause
// or cycle that there cannot be is no page.
func messageQuery(r *http.Request) (l views.List, f outbox.Filter, err error) {
	if l, err = listQuery(r, "-last", "name", "attempts", "last"); err != nil {
		return l, f, err
	}
	l.Target = views.MessagesPanelID
	f = outbox.Filter{State: outbox.State(l.Get("state")), Cause: outbox.Cause(l.Get("cause")), Q: l.Q, Sort: l.Sort, Page: l.Page}
	if f.State == "" {
		f.State = outbox.StateFailed
	}
	known := slices.Contains(outbox.States, f.State) && (f.Cause == "" || slices.Contains(outbox.Causes, f.Cause))
	if s := l.Get("cycle"); s != "" {
		id, ok := parseID(s)
		f.CycleID, known = id, known && ok
	}
	if !known {
		return l, f, fault.NotFoundf("fault.not_found")
	}
	return l, f, nil
}

// messageFilter reads the filter of an act on all that match it.
func (f *form) messageFilter() outbox.Filter {
	filter := outbox.Filter{Q: f.Line("q", 200)}
	if f.first("cycle") != "" {
		filter.CycleID = f.ID("cycle")
	}
	for field, into := range map[string]*outbox.Cause{"cause": &filter.Cause, "except": &filter.Except} {
		if *into = outbox.Cause(f.first(field)); *into != "" && !slices.Contains(outbox.Causes, *into) {
			f.Fault(field, "fault.choice")
		}
	}
	return filter
}
