package handlers

import (
	"context"
	"net/http"
	"strings"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/intake"
	"ciclo/views"
)

// showReminders answers GET /cycles/{id}/reminders.
func (h *Handlers) showReminders(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	head, _, all, err := h.store.Unfinished(r.Context(), actor(r), id, nil)
	if err != nil {
		return err
	}
	return h.show(w, r, views.RemindersPage(head, all), nil)
}

// remindReviewers answers POST /cycles/{id}/reminders: those ticked, or all.
func (h *Handlers) remindReviewers(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	people := in.IDs("id")
	if err := in.Faults(); err != nil {
		return err
	}
	if people == nil && !in.Ticked("all") {
		h.flash(r, views.Flash{Text: views.T(r.Context(), "reminder.nobody"), Bad: true})
		return h.redirect(w, r, comeBack(in, id, cycleURL(id, "progress")))
	}
	done, err := h.store.RemindReviewers(r.Context(), actor(r), id, people)
	if err != nil {
		return err
	}
	h.flash(r, views.Flash{Text: reminded(r.Context(), done), Bad: done.Sent == 0})
	return h.redirect(w, r, comeBack(in, id, cycleURL(id, "progress")))
}

// reminded says who was reminded, and why others were not.
func reminded(ctx context.Context, done appraisal.Reminded) string {
	said := []string{views.N(ctx, "reminder.sent", done.Sent)}
	for _, left := range []struct {
		key string
		n   int
	}{{"recently", done.Recently}, {"finished", done.Finished}, {"silent", done.Silent}, {"late", done.Late}} {
		if left.n > 0 {
			said = append(said, views.N(ctx, "reminder."+left.key, left.n))
		}
	}
	return strings.Join(said, " ")
}

// sendLinkAgain answers POST /cycles/{id}/reviewers/{person}/link.
func (h *Handlers) sendLinkAgain(w http.ResponseWriter, r *http.Request) error {
	id, person, err := twoIDs(r, "person")
	if err != nil {
		return err
	}
	name, err := h.store.SendLinkAgain(r.Context(), actor(r), id, person)
	if bad := fault.As(err); bad != nil && bad.Kind == fault.Conflict {
		h.flash(r, views.Flash{Text: views.Say(r.Context(), bad.Message), Bad: true})
		return h.redirect(w, r, cycleURL(id, "reviewers/"+formatID(person)))
	}
	if err != nil {
		return err
	}
	h.say(r, "link_again.done", "person", name)
	return h.redirect(w, r, cycleURL(id, "reviewers/"+formatID(person)))
}

// showLostLink answers GET /r/lost.
func (h *Handlers) showLostLink(w http.ResponseWriter, r *http.Request) error {
	return h.show(w, r, views.LostLinkPage(views.Form{}), nil)
}

// sendLostLink answers POST /r/lost, the same to everybody and at the same time:
// who asks is unknown.
func (h *Handlers) sendLostLink(w http.ResponseWriter, r *http.Request) error {
	began := time.Now()
	in, err := readForm(r)
	if err != nil {
		return err
	}
	email := in.Line("email", 254)
	in.Require("email")
	if _, ok := intake.CheckEmail(email); !ok && email != "" {
		in.Fault("email", "lost.malformed")
	}
	if err = in.Faults(); err == nil {
		err = h.store.SendLostLinks(r.Context(), email, h.clientIP(r))
		waitUntil(r.Context(), began.Add(resetTakes))
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuse(w, r, err, views.LostLinkPage(form), nil)
	}
	if err != nil {
		return err
	}
	return h.show(w, r, views.LostLinkSentPage(email), nil)
}
