package handlers

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/intake"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/views"
)

// cycleURL is the address of a cycle, or of a part of it.
func cycleURL(id int64, part string) string {
	if part == "" {
		return "/cycles/" + formatID(id)
	}
	return "/cycles/" + formatID(id) + "/" + part
}

// pageOf is where a list stands, as the store asks for it.
func pageOf(l views.List) store.Page {
	return store.Page{Q: l.Q, Sort: l.Sort, Offset: l.Offset(), Limit: l.Size}
}

// listCycles answers GET /cycles.
func (h *Handlers) listCycles(w http.ResponseWriter, r *http.Request) error {
	l, err := listQuery(r, "", "name", "due")
	if err != nil {
		return err
	}
	l.Target = views.CyclesPanelID
	cycles, total, err := h.store.Cycles(r.Context(), actor(r), store.CycleQuery{Page: pageOf(l), State: appraisal.CycleState(l.Get("state"))})
	if err != nil {
		return err
	}
	l.Total = total
	return h.showList(w, r, l, views.CyclesPage(l, cycles), views.CyclesPanel(l, cycles))
}

// newCycle answers GET /cycles/new.
func (h *Handlers) newCycle(w http.ResponseWriter, r *http.Request) error {
	t, err := h.store.NewCycle(r.Context(), actor(r))
	if err != nil {
		return err
	}
	return h.show(w, r, views.CycleFormPage(formOfTerms(t), cycleForm(t)), nil)
}

// createCycle answers POST /cycles.
func (h *Handlers) createCycle(w http.ResponseWriter, r *http.Request) error {
	in, err := readForm(r)
	if err != nil {
		return err
	}
	var id int64
	terms := termsOf(in)
	if err = in.Faults(); err == nil {
		id, err = h.store.CreateCycle(r.Context(), actor(r), terms)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuseTerms(w, r, err, form, 0)
	}
	if err != nil {
		return err
	}
	h.say(r, "cycle.created", "cycle", terms.Name)
	return h.redirect(w, r, cycleURL(id, "roster"))
}

// showTerms answers GET /cycles/{id}/terms.
func (h *Handlers) showTerms(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	t, err := h.store.CycleTerms(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	return h.show(w, r, views.CycleFormPage(formOfTerms(t), cycleForm(t)), nil)
}

// changeTerms answers POST /cycles/{id}/terms.
func (h *Handlers) changeTerms(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	terms := termsOf(in)
	if err = in.Faults(); err == nil {
		err = h.store.ChangeCycle(r.Context(), actor(r), id, terms)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuseTerms(w, r, err, form, id)
	}
	if err != nil {
		return err
	}
	h.say(r, "cycle.changed", "cycle", terms.Name)
	return h.redirect(w, r, cycleURL(id, ""))
}

// refuseTerms draws the form again; its choices are read anew.
func (h *Handlers) refuseTerms(w http.ResponseWriter, r *http.Request, refusal error, form views.Form, id int64) error {
	t, err := h.store.NewCycle(r.Context(), actor(r))
	if id != 0 {
		t, err = h.store.CycleTerms(r.Context(), actor(r), id)
	}
	if err != nil { // a foreign or started cycle is refused as such, whatever was typed
		return err
	}
	return h.refuse(w, r, refusal, views.CycleFormPage(form, cycleForm(t)), nil)
}

// termsOf reads the terms a form asks for. The deadline is the end of its day in
// the chosen zone.
func termsOf(in *form) appraisal.Terms {
	t := appraisal.Terms{Name: in.Line("name", 120), FormVersionID: in.ID("form"), ContactEmail: in.Line("contact", 254)}
	day := in.Date("due")
	in.Require("name", "due")
	t.DueZone = in.Line("zone", 64)
	if zone, known := appraisal.Zone(t.DueZone); !known {
		in.Fault("zone", "cycle.zone_unknown")
	} else if !day.IsZero() {
		t.DueAt = appraisal.EndOfDay(day, zone)
	}
	t.Grace = time.Duration(in.Int("grace", 0, int(appraisal.MaxGrace/time.Minute))) * time.Minute
	t.Reminds = in.Ticked("reminds")
	if t.ContactEmail != "" {
		if why, ok := intake.CheckEmail(t.ContactEmail); !ok {
			in.Fault("contact", "cycle.contact_wrong", "value", t.ContactEmail, "why", why)
		}
	}
	return t
}

// formOfTerms is the form that shows these terms.
func formOfTerms(t store.CycleTerms) views.Form {
	f := views.Filled("name", t.Name, "zone", t.DueZone, "grace", strconv.Itoa(int(t.Grace/time.Minute)), "contact", t.ContactEmail)
	if t.Reminds {
		f.Values["reminds"] = []string{"on"}
	}
	if t.FormVersionID != 0 {
		f.Values["form"] = []string{formatID(t.FormVersionID)}
	}
	if !t.DueAt.IsZero() {
		f.Values["due"] = []string{appraisal.Cycle{DueAt: t.DueAt, DueZone: t.DueZone}.Due().Format(time.DateOnly)}
	}
	return f
}

// zonesOffered are the zones of Brazil, in the order people look for them.
var zonesOffered = []string{"America/Sao_Paulo", "America/Bahia", "America/Fortaleza", "America/Recife", "America/Belem", "America/Manaus",
	"America/Cuiaba", "America/Porto_Velho", "America/Rio_Branco", "America/Noronha", "UTC"}

func cycleForm(t store.CycleTerms) views.CycleForm {
	zones := slices.Clone(zonesOffered)
	if t.DueZone != "" && !slices.Contains(zones, t.DueZone) {
		zones = append(zones, t.DueZone)
	}
	return views.CycleForm{ID: t.CycleID, Name: t.Name, Forms: t.Forms, Zones: zones, Contact: t.Contact, Now: t.Now}
}

// showCycle answers GET /cycles/{id}: the part of it that matters now.
func (h *Handlers) showCycle(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	c, err := h.store.CyclePart(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	switch {
	case !policy.May(actor(r), policy.SeeCycles): // a partner's part is the rows
	case c.ActivatedAt != nil:
		return h.redirect(w, r, cycleURL(id, "progress"))
	case c.State == appraisal.CycleDraft && c.Pairs > 0:
		return h.redirect(w, r, cycleURL(id, "rehearsal"))
	}
	return h.redirect(w, r, cycleURL(id, "roster"))
}

// comeBack is where a form wants to go afterwards, when that is a page of this
// cycle, and otherwise.
func comeBack(in *form, cycle int64, otherwise string) string {
	next := in.Line("next", 500)
	own := cycleURL(cycle, "")
	if rest, ok := strings.CutPrefix(next, own); ok && (rest == "" || rest[0] == '/' || rest[0] == '?') && !strings.Contains(next, "..") {
		return next
	}
	return cmp.Or(otherwise, own)
}
