package handlers

import (
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
	"ciclo/store"
	"ciclo/views"
)

// showRehearsal answers GET /cycles/{id}/rehearsal.
func (h *Handlers) showRehearsal(w http.ResponseWriter, r *http.Request) error {
	return h.rehearsalPage(w, r, nil)
}

// rehearsalPage shows what activation would do; a refusal of it comes first.
func (h *Handlers) rehearsalPage(w http.ResponseWriter, r *http.Request, refusal error) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	l, err := listQuery(r)
	if err != nil {
		return err
	}
	l.Path = cycleURL(id, "rehearsal")
	rehearsal, err := h.store.Rehearse(r.Context(), actor(r), id, pageOf(l))
	if err != nil {
		return err
	}
	if rehearsal.Head.State != appraisal.CycleDraft { // it has started: there is nothing to rehearse
		return h.redirect(w, r, cycleURL(id, ""))
	}
	l.Total = rehearsal.Total
	shown := views.Rehearsed{Rehearsal: rehearsal, List: l, Keys: blockerKeys(rehearsal.Blockers)}
	if f := fault.As(refusal); f != nil {
		shown.Problem = &f.Message
	}
	if shown.Mail, err = h.sampleMail(r, id, l); err != nil {
		return err
	}
	allowFrames(w)
	if refusal != nil {
		return h.refuse(w, r, refusal, views.RehearsalPage(shown), views.RehearsalPanel(shown))
	}
	return h.showList(w, r, l, views.RehearsalPage(shown), views.RehearsalPanel(shown))
}

func blockerKeys(blockers []appraisal.Blocker) []string {
	keys := make([]string, len(blockers))
	for i, b := range blockers {
		keys[i] = store.BlockerKey(b)
	}
	return keys
}

// keepRehearsal answers POST /cycles/{id}/rehearsal: the map is as it should be
// now, and what changes from here on is told.
func (h *Handlers) keepRehearsal(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	if err := h.store.KeepRehearsal(r.Context(), actor(r), id); err != nil {
		return err
	}
	h.say(r, "rehearsal.kept")
	return h.redirect(w, r, cycleURL(id, "rehearsal"))
}

// listRehearsalChanges answers GET /cycles/{id}/rehearsal/changes.
func (h *Handlers) listRehearsalChanges(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	l, err := listQuery(r)
	if err != nil {
		return err
	}
	head, last, err := h.store.RehearsalChanges(r.Context(), actor(r), id, pageOf(l))
	if err != nil {
		return err
	}
	if last != nil {
		l.Total = last.Total()
	}
	return h.showList(w, r, l, views.RehearsalChangesPage(l, head, last), nil)
}

// sendSample answers POST /cycles/{id}/rehearsal/sample.
func (h *Handlers) sendSample(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	reviewer := in.ID("reviewer")
	if err := in.Faults(); err != nil {
		return err
	}
	address, err := h.store.SendSample(r.Context(), actor(r), id, reviewer)
	if err != nil {
		return err
	}
	h.say(r, "sample.sent", "address", address)
	return h.redirect(w, r, cycleURL(id, "rehearsal")+"?reviewer="+formatID(reviewer)+"#mail-title")
}

// sampleMail heads the message that the reviewer asked for would get; nil while
// nobody would get one.
func (h *Handlers) sampleMail(r *http.Request, id int64, l views.List) (*views.SampleMail, error) {
	reviewer, _ := parseID(l.Get("reviewer"))
	inv, err := h.store.SampleInvitation(r.Context(), actor(r), id, reviewer)
	if fault.KindOf(err) == fault.NotFound && reviewer != 0 { // they are not asked any more
		inv, err = h.store.SampleInvitation(r.Context(), actor(r), id, 0)
	}
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	locale := sampleLocale(inv, l.Get("lang"))
	own, _ := i18n.Parse(inv.Locale)
	return &views.SampleMail{ReviewerID: inv.PersonID, From: inv.Organisation, To: inv.Person + " <" + inv.Email + ">", Subject: h.sampleOf(locale, inv).Subject, Locale: locale, Own: own,
		Place: inv.Place, Reviewers: inv.Reviewers, Previous: inv.Previous, Next: inv.Next, AsText: l.Get("format") == "text"}, nil
}

// sampleLocale is the language asked for, or the reviewer's own.
func sampleLocale(inv store.SampleInvitation, asked string) i18n.Locale {
	if l, ok := i18n.Parse(asked); ok {
		return l
	}
	l, _ := i18n.Parse(inv.Locale)
	return l
}

// sampleOf is what the relay would say, with a link that opens nothing.
func (h *Handlers) sampleOf(locale i18n.Locale, inv store.SampleInvitation) views.Mail {
	inv.Path = outbox.SamplePath
	m, _ := views.MailOf(locale, inv.Letter, h.URL(""))
	return m
}

// showSampleMail answers GET /cycles/{id}/rehearsal/mail: the message itself,
// for the frame.
func (h *Handlers) showSampleMail(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	reviewer, _ := parseID(r.URL.Query().Get("reviewer"))
	inv, err := h.store.SampleInvitation(r.Context(), actor(r), id, reviewer)
	if err != nil {
		return err
	}
	asFrame(w)
	locale := sampleLocale(inv, r.URL.Query().Get("lang"))
	m := h.sampleOf(locale, inv)
	if r.URL.Query().Get("format") == "text" {
		return h.answer(w, http.StatusOK, "text/plain; charset=utf-8", []byte(m.Text(locale)))
	}
	return h.show(w, r, m.HTML(locale), nil)
}

// listConcerns answers GET /cycles/{id}/rehearsal/{about}: whom a warning is about.
func (h *Handlers) listConcerns(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	about := chi.URLParam(r, "about")
	if !slices.Contains([]string{appraisal.AboutAddress, appraisal.AboutElsewhere, appraisal.AboutManager, appraisal.AboutLeave}, about) {
		return fault.NotFoundf("fault.not_found")
	}
	l, err := listQuery(r)
	if err != nil {
		return err
	}
	l.Target = views.ConcernsPanelID
	concerns, err := h.store.Concerns(r.Context(), actor(r), id, about, pageOf(l))
	if err != nil {
		return err
	}
	l.Total = concerns.Total
	return h.showList(w, r, l, views.ConcernsPage(l, about, concerns), views.ConcernsPanel(l, about, concerns))
}

// showActivation answers GET /cycles/{id}/activation: the dialog's question for
// browsers that open none.
func (h *Handlers) showActivation(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	rehearsal, err := h.store.Rehearse(r.Context(), actor(r), id, store.Page{Limit: pageSize})
	if err != nil {
		return err
	}
	if rehearsal.Head.State != appraisal.CycleDraft {
		return h.redirect(w, r, cycleURL(id, ""))
	}
	return h.show(w, r, views.ActivationPage(rehearsal, views.Form{}), nil)
}

// activateCycle answers POST /cycles/{id}/activation. A roster with blockers
// answers 409 with the rehearsal, which lists them.
func (h *Handlers) activateCycle(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	receipt, err := h.store.ActivateCycle(r.Context(), actor(r), id)
	if f := fault.As(err); f != nil && f.Kind == fault.Conflict && stillDraft(f) {
		return h.rehearsalPage(w, r, err)
	}
	if err != nil {
		return err
	}
	h.say(r, "activation.done", "evaluations", receipt.Evaluations, "messages", receipt.Events)
	if wantsFragment(r) {
		return h.showReceipt(w, r)
	}
	return h.redirect(w, r, cycleURL(id, "receipt"))
}

// stillDraft reports whether an activation was refused for what the roster or
// the deadline is, and not because the cycle has started or ended.
func stillDraft(f *fault.Fault) bool {
	return f.Key == "cycle.has_blockers" || f.Key == "cycle.due_is_past"
}
