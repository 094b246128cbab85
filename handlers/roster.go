package handlers

import (
	"bytes"
	"net/http"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/i18n"
	"ciclo/internal/intake"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/views"
)

// showRoster answers GET /cycles/{id}/roster.
func (h *Handlers) showRoster(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	l, err := listQuery(r, "reviewee", "reviewer", "department")
	if err != nil {
		return err
	}
	l.Target = views.RosterPanelID
	roster, err := h.store.Roster(r.Context(), actor(r), id, store.RosterQuery{Page: pageOf(l), Kind: appraisal.Kind(l.Get("kind")),
		Department: department(l.Get("department")), State: appraisal.State(l.Get("state"))})
	if err != nil {
		return err
	}
	l.Total = roster.Total
	return h.showList(w, r, l, views.RosterPage(l, roster), views.RosterPanel(l, roster))
}

// department reads a department from an address: empty is all, "-" none.
func department(value string) *string {
	switch value {
	case "":
		return nil
	case "-":
		value = ""
	}
	return &value
}

// exportRoster answers GET /cycles/{id}/roster.csv.
func (h *Handlers) exportRoster(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	head, lines, err := h.store.RosterLines(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	t := func(key string) string { return i18n.T(r.Context(), key) }
	rows := [][]string{{t("intake.field.reviewee"), t("intake.field.reviewer"), t("intake.field.kind")}}
	for _, l := range lines {
		rows = append(rows, []string{l.Reviewee, l.Reviewer, t("kind." + l.Kind)})
	}
	var b bytes.Buffer
	if err := intake.WriteCSV(&b, rows); err != nil {
		return err
	}
	return h.download(w, head.Name+".csv", "text/csv; charset=utf-8", b.Bytes())
}

// showRosterRemoval answers GET /cycles/{id}/roster/removal.
func (h *Handlers) showRosterRemoval(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	head, err := h.store.Cycle(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	return h.show(w, r, views.RosterRemovalPage(head, views.Form{}), nil)
}

// clearRoster answers POST /cycles/{id}/roster/removal.
func (h *Handlers) clearRoster(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	pairs, err := h.store.ClearRoster(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	h.say(r, "roster.cleared", "n", pairs)
	return h.redirect(w, r, cycleURL(id, "roster"))
}

// showRule answers GET /cycles/{id}/rule.
func (h *Handlers) showRule(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	roster, err := h.store.Roster(r.Context(), actor(r), id, store.RosterQuery{})
	if err == nil { // who edits a part of the roster sees it, and applies no rule to the whole
		err = policy.Can(actor(r), policy.EditCycle, policy.Of(actor(r)))
	}
	if err != nil {
		return err
	}
	if err := roster.Head.Edit(); err != nil {
		return err
	}
	return h.show(w, r, views.RulePage(roster, formOfRule(roster)), nil)
}

func formOfRule(r appraisal.Roster) views.Form {
	f := views.Filled()
	for _, d := range r.Rule.Departments {
		f.Values["departments"] = append(f.Values["departments"], views.DepartmentValue(d))
	}
	if r.Rule.HiredBefore != nil {
		f.Values["hired_before"] = []string{r.Rule.HiredBefore.Format(time.DateOnly)}
	}
	if r.Rule.Self || !r.HasRule {
		f.Values["self"] = []string{"on"}
	}
	if r.Rule.Manager || !r.HasRule {
		f.Values["manager"] = []string{"on"}
	}
	return f
}

// applyRule answers POST /cycles/{id}/rule.
func (h *Handlers) applyRule(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	var done appraisal.RuleOutcome
	rule := ruleOf(in)
	if err = in.Faults(); err == nil {
		done, err = h.store.ApplyRule(r.Context(), actor(r), id, rule)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuseRule(w, r, err, form, id)
	}
	if err != nil {
		return err
	}
	h.flash(r, views.Flash{Text: views.Tally(r.Context(), views.N(r.Context(), "roster.rule_applied", done.Matched),
		views.Tallied{Key: "added", N: done.Added}, views.Tallied{Key: "removed", N: done.Removed}, views.Tallied{Key: "kept_out", N: done.KeptOut})})
	return h.redirect(w, r, cycleURL(id, "roster"))
}

func ruleOf(in *form) appraisal.Rule {
	rule := appraisal.Rule{Self: in.Ticked("self"), Manager: in.Ticked("manager")}
	for _, d := range in.Lines("departments", 200) {
		rule.Departments = append(rule.Departments, *department(d))
	}
	if day := in.Date("hired_before"); !day.IsZero() {
		rule.HiredBefore = &day
	}
	return rule
}

func (h *Handlers) refuseRule(w http.ResponseWriter, r *http.Request, refusal error, form views.Form, id int64) error {
	roster, err := h.store.Roster(r.Context(), actor(r), id, store.RosterQuery{})
	if err != nil {
		return err
	}
	return h.refuse(w, r, refusal, views.RulePage(roster, form), nil)
}

// newPair answers GET /cycles/{id}/pairs/new.
func (h *Handlers) newPair(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	form := views.Filled("kind", r.URL.Query().Get("kind"))
	person, named := parseID(r.URL.Query().Get("person"))
	if !named {
		head, err := h.store.CyclePart(r.Context(), actor(r), id)
		if err != nil {
			return err
		}
		return h.showPairForm(w, r, head, form)
	}
	head, p, err := h.store.PersonOf(r.Context(), actor(r), id, person)
	if err != nil {
		return err
	}
	form.Values["reviewee"] = []string{p.Code}
	return h.showPairForm(w, r, head, form)
}

func (h *Handlers) showPairForm(w http.ResponseWriter, r *http.Request, head appraisal.CycleHead, form views.Form) error {
	if err := head.Edit(); err != nil {
		return err
	}
	return h.show(w, r, views.PairPage(head, form), nil)
}

// addPair answers POST /cycles/{id}/pairs.
func (h *Handlers) addPair(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	var added appraisal.Pair
	pair := store.NewPair{Reviewee: in.Line("reviewee", 254), Kind: appraisal.Kind(in.Choice("kind", "self", "manager", "peer", "report")), Reviewer: in.Line("reviewer", 254)}
	if err = in.Faults(); err == nil {
		added, err = h.store.AddPair(r.Context(), actor(r), id, pair)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refusePair(w, r, err, form, id)
	}
	if err != nil {
		return err
	}
	h.say(r, "roster.pair_added", "reviewee", added.Reviewee, "reviewer", added.Reviewer, "kind", i18n.Word("kind."+string(added.Kind)))
	return h.redirect(w, r, cycleURL(id, "roster"))
}

func (h *Handlers) refusePair(w http.ResponseWriter, r *http.Request, refusal error, form views.Form, id int64) error {
	head, err := h.store.CyclePart(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	return h.refuse(w, r, refusal, views.PairPage(head, form), nil)
}

// removePair answers POST /cycles/{id}/pairs/{pair}/removal.
func (h *Handlers) removePair(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	pair, err := pathID(r, "pair")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	removed, err := h.store.RemovePair(r.Context(), actor(r), id, pair)
	if err != nil {
		return err
	}
	h.say(r, "roster.pair_removed", "reviewee", removed.Reviewee, "reviewer", removed.Reviewer)
	return h.redirect(w, r, comeBack(in, id, cycleURL(id, "roster")))
}

// showReplacement answers GET /cycles/{id}/pairs/{pair}/reviewer.
func (h *Handlers) showReplacement(w http.ResponseWriter, r *http.Request) error {
	return h.replacementPage(w, r, nil, views.Filled("next", r.URL.Query().Get("next")))
}

// replaceReviewer answers POST /cycles/{id}/pairs/{pair}/reviewer.
func (h *Handlers) replaceReviewer(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	pair, err := pathID(r, "pair")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	now, err := h.store.ReplaceReviewer(r.Context(), actor(r), id, pair, in.Line("reviewer", 254))
	if form, mendable := in.Refused(err); mendable {
		return h.replacementPage(w, r, err, form)
	}
	if err != nil {
		return err
	}
	h.say(r, "roster.reviewer_replaced", "reviewee", now.Reviewee, "reviewer", now.Reviewer)
	return h.redirect(w, r, comeBack(in, id, cycleURL(id, "rehearsal")))
}

func (h *Handlers) replacementPage(w http.ResponseWriter, r *http.Request, refusal error, form views.Form) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	pair, err := pathID(r, "pair")
	if err != nil {
		return err
	}
	head, p, err := h.store.Pair(r.Context(), actor(r), id, pair)
	if err != nil {
		return err
	}
	return h.refuse(w, r, refusal, views.ReplaceReviewerPage(head, p, form), nil)
}

// findPeople answers GET /cycles/{id}/people: who matches what is being typed.
func (h *Handlers) findPeople(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	typed := r.URL.Query().Get(r.URL.Query().Get("field"))
	typed, bad := cleanLine(typed, 200)
	if bad != nil {
		typed = ""
	}
	people, err := h.store.PeopleLike(r.Context(), actor(r), id, typed)
	if err != nil {
		return err
	}
	choices := make([]views.PersonChoice, len(people))
	for i, p := range people {
		choices[i] = views.PersonChoice(p)
	}
	return h.show(w, r, views.PeopleOptions(choices), views.PeopleOptions(choices))
}

// listAbsences answers GET /cycles/{id}/absences: who is not in it, and why.
func (h *Handlers) listAbsences(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	l, err := listQuery(r, "", "name", "department")
	if err != nil {
		return err
	}
	l.Target = views.AbsencesPanelID
	absences, err := h.store.Absences(r.Context(), actor(r), id, store.AbsenceQuery{Page: pageOf(l), Why: l.Get("why")})
	if err != nil {
		return err
	}
	l.Total = absences.Total
	return h.showList(w, r, l, views.AbsencesPage(l, absences), views.AbsencesPanel(l, absences))
}

// showExclusion answers GET /cycles/{id}/exclusions/{person}.
func (h *Handlers) showExclusion(w http.ResponseWriter, r *http.Request) error {
	return h.exclusionPage(w, r, nil, views.Filled("next", r.URL.Query().Get("next")))
}

// excludePerson answers POST /cycles/{id}/exclusions/{person}.
func (h *Handlers) excludePerson(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	person, err := pathID(r, "person")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	var name string
	reason := in.Text("reason", 500)
	if err = in.Faults(); err == nil {
		name, err = h.store.ExcludePerson(r.Context(), actor(r), id, person, reason)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.exclusionPage(w, r, err, form)
	}
	if err != nil {
		return err
	}
	h.say(r, "roster.person_excluded", "person", name)
	return h.redirect(w, r, comeBack(in, id, cycleURL(id, "roster")))
}

func (h *Handlers) exclusionPage(w http.ResponseWriter, r *http.Request, refusal error, form views.Form) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	person, err := pathID(r, "person")
	if err != nil {
		return err
	}
	head, p, err := h.store.PersonOf(r.Context(), actor(r), id, person)
	if err != nil {
		return err
	}
	return h.refuse(w, r, refusal, views.ExclusionPage(head, person, p.Name, form), nil)
}

// includePerson answers POST /cycles/{id}/inclusions/{person}.
func (h *Handlers) includePerson(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	person, err := pathID(r, "person")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	name, err := h.store.IncludePerson(r.Context(), actor(r), id, person)
	if err != nil {
		return err
	}
	h.say(r, "roster.person_included", "person", name)
	return h.redirect(w, r, comeBack(in, id, cycleURL(id, "absences")))
}
