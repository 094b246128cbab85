package handlers

import (
	"net/http"
	"strconv"
	"strings"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/store"
	"ciclo/views"
)

// showPeopleDecisions answers GET /people/import/{id}/decisions: the lines that
// wait for a person to say whom they mean.
func (h *Handlers) showPeopleDecisions(w http.ResponseWriter, r *http.Request) error {
	return h.peopleDecisions(w, r, nil, views.Form{})
}

func (h *Handlers) peopleDecisions(w http.ResponseWriter, r *http.Request, refusal error, form views.Form) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	l, err := listQuery(r)
	if err != nil {
		return err
	}
	p, err := h.store.PeopleImport(r.Context(), actor(r), id, store.PeopleLinesQuery{Verdict: store.LinesDecided, Limit: l.Size, Offset: l.Offset()})
	if err != nil {
		return err
	}
	if p.State != store.ImportCompared {
		return h.redirect(w, r, importURL(id))
	}
	l.Path, l.Total = importURL(id)+"/decisions", p.Total
	return h.refuse(w, r, refusal, views.PeopleDecisionsPage(l, importView(p), form), nil)
}

// decidePeople answers POST /people/import/{id}/decisions.
func (h *Handlers) decidePeople(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	said, open := decisionsOf(in), 0
	if err = in.Faults(); err == nil {
		open, err = h.store.DecidePeople(r.Context(), actor(r), id, said)
	}
	if form, mendable := in.Refused(err); mendable && fault.KindOf(err) == fault.Invalid {
		return h.peopleDecisions(w, r, err, form)
	}
	if err != nil {
		return err
	}
	h.flash(r, views.Flash{Text: i18n.N(r.Context(), "people.decisions_left", open)})
	if open == 0 && said.All != store.AllAgain {
		return h.redirect(w, r, importURL(id))
	}
	return h.redirect(w, r, importURL(id)+"/decisions")
}

// decisionsOf reads what is said of all lines, or else of each by its number and
// question.
func decisionsOf(in *form) store.Decisions {
	d := store.Decisions{All: in.Choice("all", "", store.AllZeros, store.AllOut, store.AllAgain), Lines: map[int]map[string]string{}}
	if d.All != "" {
		return d
	}
	for name := range in.values {
		number, question, named := strings.Cut(strings.TrimPrefix(name, "line-"), "-")
		line, err := strconv.Atoi(number)
		answer := in.Line(name, 100)
		if err != nil || !named || answer == "" {
			continue
		}
		if d.Lines[line] == nil {
			d.Lines[line] = map[string]string{}
		}
		d.Lines[line][question] = answer
	}
	return d
}
