package handlers

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/store"
	"ciclo/views"
)

// showExtension answers GET /cycles/{id}/extension, for everybody or for those
// whose id is in the address.
func (h *Handlers) showExtension(w http.ResponseWriter, r *http.Request) error {
	chosen := &form{values: r.URL.Query(), faults: map[string]fault.Message{}}
	ids := chosen.IDs("id")
	if err := chosen.Faults(); err != nil {
		return err
	}
	return h.extensionPage(w, r, nil, ids, nil)
}

// extendDeadline answers POST /cycles/{id}/extension.
func (h *Handlers) extendDeadline(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	to := store.NewDeadline{Wall: in.Wall("day", "time"), People: in.IDs("id"), Reason: in.Text("why", 500)}
	var done appraisal.Extended
	if err = in.Faults(); err == nil {
		done, err = h.store.ExtendDeadline(r.Context(), actor(r), id, to)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.extensionPage(w, r, err, to.People, &form)
	}
	if err != nil {
		return err
	}
	said := views.N(r.Context(), "extension.done", done.Told, "when", done.Until)
	if done.Silent > 0 {
		said += " " + views.N(r.Context(), "extension.done_silent", done.Silent)
	}
	h.flash(r, views.Flash{Text: said})
	return h.redirect(w, r, cycleURL(id, "progress"))
}

func (h *Handlers) extensionPage(w http.ResponseWriter, r *http.Request, refusal error, ids []int64, form *views.Form) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	head, names, all, err := h.store.Unfinished(r.Context(), actor(r), id, ids)
	if err != nil {
		return err
	}
	if form == nil {
		f := views.NextDeadline(head)
		form = &f
	}
	return h.refuse(w, r, refusal, views.ExtensionPage(views.Extension{Head: head, IDs: ids, Names: names, All: all}, *form), nil)
}

// Wall reads a day and a time of the clock, which a zone makes an instant of.
func (f *form) Wall(day, clock string) time.Time {
	d := f.Date(day)
	f.Require(day, clock)
	s := strings.TrimSpace(f.first(clock))
	for _, layout := range []string{"15:04", "15:04:05"} {
		if at, err := time.Parse(layout, s); err == nil {
			return time.Date(d.Year(), d.Month(), d.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
		}
	}
	shown, m := cleanLine(s, 20)
	if m != nil {
		shown = "…"
	}
	f.Fault(clock, "extension.clock", "value", shown)
	return d
}

// listRequests answers GET /cycles/{id}/requests.
func (h *Handlers) listRequests(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	head, requests, err := h.store.ExtensionRequests(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	return h.show(w, r, views.RequestsPage(head, requests), nil)
}

// showRequest answers GET /cycles/{id}/requests/{request}.
func (h *Handlers) showRequest(w http.ResponseWriter, r *http.Request) error {
	return h.requestPage(w, r, nil, nil)
}

// answerRequest answers POST /cycles/{id}/requests/{request}.
func (h *Handlers) answerRequest(w http.ResponseWriter, r *http.Request) error {
	id, request, err := twoIDs(r, "request")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	answer := store.ExtensionAnswer{Grant: in.Choice("decision", "grant", "refuse") == "grant", Words: in.Text("words", 500)}
	if answer.Grant {
		answer.Wall = in.Wall("day", "time")
	}
	var person string
	if err = in.Faults(); err == nil {
		person, err = h.store.AnswerRequest(r.Context(), actor(r), id, request, answer)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.requestPage(w, r, err, &form)
	}
	if err != nil {
		return err
	}
	h.say(r, "request.done", "person", person)
	return h.redirect(w, r, cycleURL(id, "requests"))
}

func (h *Handlers) requestPage(w http.ResponseWriter, r *http.Request, refusal error, form *views.Form) error {
	id, request, err := twoIDs(r, "request")
	if err != nil {
		return err
	}
	head, asked, err := h.store.ExtensionRequest(r.Context(), actor(r), id, request)
	if err != nil {
		return err
	}
	if refusal == nil && asked.AnsweredAt != nil {
		return h.redirect(w, r, cycleURL(id, "requests"))
	}
	if form == nil {
		f := views.NextFor(head, asked)
		form = &f
	}
	return h.refuse(w, r, refusal, views.RequestPage(head, asked, *form), nil)
}

// twoIDs are the cycle's number and that of something in it.
func twoIDs(r *http.Request, name string) (cycle, id int64, err error) {
	if cycle, err = pathID(r, "id"); err != nil {
		return 0, 0, err
	}
	id, err = pathID(r, name)
	return cycle, id, err
}

// showAskTime answers GET /reviews/{id}/extension.
func (h *Handlers) showAskTime(w http.ResponseWriter, r *http.Request) error {
	return h.askTimePage(w, r, nil, views.Form{})
}

// askForTime answers POST /reviews/{id}/extension.
func (h *Handlers) askForTime(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	note := in.Text("note", 500)
	if err = in.Faults(); err == nil {
		err = h.store.AskForTime(r.Context(), actor(r), id, note)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.askTimePage(w, r, err, form)
	}
	if err != nil {
		return err
	}
	h.say(r, "ask_time.done")
	return h.redirect(w, r, fmt.Sprintf("/reviews/%d", id))
}

func (h *Handlers) askTimePage(w http.ResponseWriter, r *http.Request, refusal error, form views.Form) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	review, err := h.store.Review(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	return h.refuse(w, r, refusal, views.AskTimePage(reviewOf(review), form), nil)
}
