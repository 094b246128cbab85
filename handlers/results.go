package handlers

import (
	"net/http"

	"ciclo/internal/appraisal"
	"ciclo/store"
	"ciclo/views"
)

// showResults answers GET /cycles/{id}/results.
func (h *Handlers) showResults(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	l, err := listQuery(r, "name", "department")
	if err != nil {
		return err
	}
	l.Target = views.ResultsPanelID
	results, err := h.store.Results(r.Context(), actor(r), id, store.ResultsQuery{Page: pageOf(l), Department: department(l.Get("department"))})
	if err != nil {
		return err
	}
	l.Total = results.Total
	return h.showList(w, r, l, views.ResultsPage(l, results, views.FormOfScoring(results.Scoring)), views.ResultsPanel(l, results))
}

// setScoring answers POST /cycles/{id}/results: how the result comes from the
// perspectives.
func (h *Handlers) setScoring(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	sc := appraisal.Scoring{Weights: map[appraisal.Kind]int{}, Missing: appraisal.MissingPart(in.Line("missing", 20))}
	for _, k := range appraisal.Kinds {
		in.Require("weight-" + string(k))
		sc.Weights[k] = in.Int("weight-"+string(k), 0, 100)
	}
	if err = in.Faults(); err == nil {
		err = h.store.SetScoring(r.Context(), actor(r), id, sc)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuseScoring(w, r, err, form, id)
	}
	if err != nil {
		return err
	}
	h.say(r, "results.weights_saved")
	return h.redirect(w, r, cycleURL(id, "results"))
}

func (h *Handlers) refuseScoring(w http.ResponseWriter, r *http.Request, refusal error, form views.Form, id int64) error {
	results, err := h.store.Results(r.Context(), actor(r), id, store.ResultsQuery{Page: store.Page{Limit: pageSize}})
	if err != nil {
		return err
	}
	return h.refuse(w, r, refusal, views.ResultsPage(views.List{}, results, form), nil)
}
