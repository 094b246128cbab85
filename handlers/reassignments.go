package handlers

import (
	"net/http"

	"ciclo/internal/appraisal"
	"ciclo/store"
	"ciclo/views"
)

// showCycleReviewer answers GET /cycles/{id}/reviewers/{person}.
func (h *Handlers) showCycleReviewer(w http.ResponseWriter, r *http.Request) error {
	id, person, err := twoIDs(r, "person")
	if err != nil {
		return err
	}
	reviewer, err := h.store.CycleReviewer(r.Context(), actor(r), id, person)
	if err != nil {
		return err
	}
	return h.show(w, r, views.CycleReviewerPage(reviewer), nil)
}

// showReassignment answers GET /cycles/{id}/evaluations/{evaluation}/reviewer.
func (h *Handlers) showReassignment(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	return h.reassignmentPage(w, r, nil, views.Filled("next", q.Get("next"), "reviewer", q.Get("to")))
}

// reassignEvaluation answers POST /cycles/{id}/evaluations/{evaluation}/reviewer.
func (h *Handlers) reassignEvaluation(w http.ResponseWriter, r *http.Request) error {
	id, evaluation, err := twoIDs(r, "evaluation")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	to := store.NewReviewer{Reviewer: in.Line("reviewer", 254), HandOver: in.Ticked("hand_over"), Reason: in.Text("reason", 500)}
	var done appraisal.Reassigned
	if err = in.Faults(); err == nil {
		done, err = h.store.ReassignEvaluation(r.Context(), actor(r), id, evaluation, to)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.reassignmentPage(w, r, err, form)
	}
	if err != nil {
		return err
	}
	h.say(r, reassignedKey(done), "reviewee", done.Reviewee, "from", done.From, "to", done.To)
	return h.redirect(w, r, comeBack(in, id, cycleURL(id, "progress")))
}

func reassignedKey(done appraisal.Reassigned) string {
	switch {
	case done.Handout:
		return "reassignment.done_handout"
	case done.Revived:
		return "reassignment.done_revived"
	}
	return "reassignment.done"
}

func (h *Handlers) reassignmentPage(w http.ResponseWriter, r *http.Request, refusal error, form views.Form) error {
	act, err := h.evaluationAct(r)
	if err != nil {
		return err
	}
	if err := (appraisal.Evaluation{Kind: act.Pair.Kind, State: act.Pair.State}).Reassign(); err != nil && refusal == nil {
		return err
	}
	return h.refuse(w, r, refusal, views.ReassignmentPage(act, form), nil)
}

// evaluationAct reads what the pages about one evaluation of a running cycle show.
func (h *Handlers) evaluationAct(r *http.Request) (a views.EvaluationAct, err error) {
	id, evaluation, err := twoIDs(r, "evaluation")
	if err != nil {
		return a, err
	}
	a.Head, a.Pair, a.Draft, err = h.store.Reassignable(r.Context(), actor(r), id, evaluation)
	return a, err
}

// showCallOff answers GET /cycles/{id}/evaluations/{evaluation}/cancellation.
func (h *Handlers) showCallOff(w http.ResponseWriter, r *http.Request) error {
	return h.callOffPage(w, r, nil, views.Filled("next", r.URL.Query().Get("next")))
}

// callOffEvaluation answers POST /cycles/{id}/evaluations/{evaluation}/cancellation.
func (h *Handlers) callOffEvaluation(w http.ResponseWriter, r *http.Request) error {
	id, evaluation, err := twoIDs(r, "evaluation")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	reason := in.Text("reason", 500)
	var names appraisal.Pair
	if err = in.Faults(); err == nil {
		names, err = h.store.CallOffEvaluation(r.Context(), actor(r), id, evaluation, reason)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.callOffPage(w, r, err, form)
	}
	if err != nil {
		return err
	}
	h.say(r, "calloff.done", "reviewee", names.Reviewee, "reviewer", names.Reviewer)
	return h.redirect(w, r, comeBack(in, id, cycleURL(id, "progress")))
}

func (h *Handlers) callOffPage(w http.ResponseWriter, r *http.Request, refusal error, form views.Form) error {
	act, err := h.evaluationAct(r)
	if err != nil {
		return err
	}
	if err := (appraisal.Evaluation{Kind: act.Pair.Kind, State: act.Pair.State}).CallOff(); err != nil && refusal == nil {
		return err
	}
	return h.refuse(w, r, refusal, views.CallOffPage(act, form), nil)
}

// newJoiner answers GET /cycles/{id}/joiners/new.
func (h *Handlers) newJoiner(w http.ResponseWriter, r *http.Request) error {
	return h.joinerPage(w, r, nil, views.Form{})
}

// addJoiner answers POST /cycles/{id}/joiners.
func (h *Handlers) addJoiner(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	pair := store.NewPair{Reviewee: in.Line("reviewee", 254), Kind: appraisal.Kind(in.Choice("kind", "self", "manager", "peer", "report")), Reviewer: in.Line("reviewer", 254)}
	reason := in.Text("reason", 500)
	var added appraisal.Pair
	if err = in.Faults(); err == nil {
		added, err = h.store.AddLateJoiner(r.Context(), actor(r), id, pair, reason)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.joinerPage(w, r, err, form)
	}
	if err != nil {
		return err
	}
	h.say(r, "joiner.done", "reviewee", added.Reviewee, "reviewer", added.Reviewer)
	return h.redirect(w, r, cycleURL(id, "roster"))
}

func (h *Handlers) joinerPage(w http.ResponseWriter, r *http.Request, refusal error, form views.Form) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	head, err := h.store.Cycle(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	if err := head.Change(); err != nil {
		return err
	}
	return h.refuse(w, r, refusal, views.JoinerPage(head, form), nil)
}

// listDecisions answers GET /cycles/{id}/decisions.
func (h *Handlers) listDecisions(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	head, list, err := h.store.Decisions(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	return h.show(w, r, views.DecisionsPage(head, list), nil)
}
