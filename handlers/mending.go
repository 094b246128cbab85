package handlers

import (
	"net/http"
	"net/url"
	"slices"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/store"
	"ciclo/views"
)

// mostChosen is how many rows one form may name; more are meant by their kind.
const mostChosen = 1000

// mendingOf reads which rows are meant and what is to be done about them.
func mendingOf(values url.Values) (store.Mending, bool) {
	m := store.Mending{Act: appraisal.MendAct(values.Get("act")), Blockers: values["blocker"], All: appraisal.BlockerKind(values.Get("all"))}
	for _, typed := range values["person"] {
		id, ok := parseID(typed)
		if !ok {
			return m, false
		}
		m.People = append(m.People, id)
	}
	acts := []appraisal.MendAct{appraisal.MendExclude, appraisal.MendReplace, appraisal.MendManager, appraisal.MendKeep}
	known := m.All == "" || slices.ContainsFunc(views.MendableKinds(), func(k appraisal.BlockerKind) bool { return k == m.All })
	return m, slices.Contains(acts, m.Act) && known && len(m.Blockers)+len(m.People) <= mostChosen && len(m.Blockers)+len(m.People)+len(m.All) > 0
}

// showMending answers GET /cycles/{id}/mending: what the act would touch.
func (h *Handlers) showMending(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	query := r.URL.Query()
	m, ok := mendingOf(query)
	if !ok { // nothing is chosen
		head, err := h.store.Cycle(r.Context(), actor(r), id)
		if err != nil {
			return err
		}
		h.flash(r, views.Flash{Bad: true, Text: views.T(r.Context(), "mend.none_chosen")})
		return h.redirect(w, r, comeBackTo(query.Get("next"), head.ID))
	}
	return h.mendingPage(w, r, id, m, views.Filled("next", query.Get("next")), nil)
}

// comeBackTo is comeBack for a query.
func comeBackTo(next string, cycle int64) string {
	return comeBack(&form{values: url.Values{"next": {next}}, faults: map[string]fault.Message{}}, cycle, cycleURL(cycle, "rehearsal"))
}

func (h *Handlers) mendingPage(w http.ResponseWriter, r *http.Request, id int64, m store.Mending, f views.Form, refusal error) error {
	plan, err := h.store.PlanMending(r.Context(), actor(r), id, m)
	if err != nil {
		return err
	}
	shown := views.Mending{MendPlan: plan, Blockers: m.Blockers, All: m.All, People: m.People, Back: comeBackTo(f.Value("next"), id)}
	if refusal != nil {
		return h.refuse(w, r, refusal, views.MendingPage(shown, f), nil)
	}
	return h.show(w, r, views.MendingPage(shown, f), nil)
}

// mend answers POST /cycles/{id}/mending.
func (h *Handlers) mend(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	m, ok := mendingOf(in.values)
	m.Reason, m.Reviewer, m.Skip = in.Text("reason", 500), in.Line("reviewer", 254), in.Ticked("skip")
	if !ok {
		return fault.Invalidf("mend.none_chosen")
	}
	var n int
	if err = in.Faults(); err == nil {
		n, err = h.store.Mend(r.Context(), actor(r), id, m)
	}
	if f, mendable := in.Refused(err); mendable {
		return h.mendingPage(w, r, id, m, f, err)
	}
	if err != nil {
		return err
	}
	h.flash(r, views.Flash{Text: views.N(r.Context(), "mend.done."+string(m.Act), n)})
	return h.redirect(w, r, comeBack(in, id, cycleURL(id, "rehearsal")))
}
