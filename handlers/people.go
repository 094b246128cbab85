package handlers

import (
	"net/http"

	"ciclo/store"
	"ciclo/views"
)

// listPeople answers GET /people.
func (h *Handlers) listPeople(w http.ResponseWriter, r *http.Request) error {
	l, err := listQuery(r, "name", "code", "department", "hired")
	if err != nil {
		return err
	}
	l.Target = views.PeoplePanelID
	d, err := h.store.People(r.Context(), actor(r), store.PeopleQuery{
		Q: l.Q, Department: l.Get("department"), Situation: l.Get("situation"), Sort: l.Sort, Limit: l.Size, Offset: l.Offset()})
	if err != nil {
		return err
	}
	l.Total, l.All = d.Total, d.All
	shown := views.Directory{People: personRows(d.People), Departments: d.Departments}
	return h.showList(w, r, l, views.PeoplePage(l, shown), views.PeoplePanel(l, shown))
}

// showPerson answers GET /people/{id}.
func (h *Handlers) showPerson(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	return h.personPage(w, r, id, views.Form{}, nil)
}

// personPage shows a person; a refused form of theirs comes with what was typed.
func (h *Handlers) personPage(w http.ResponseWriter, r *http.Request, id int64, form views.Form, refusal error) error {
	p, err := h.store.Person(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	leaves, err := h.leavesOf(r, id, form)
	if err != nil {
		return err
	}
	page := views.PersonPage(views.Person{PersonRow: views.PersonRow(p.ListedPerson), Unit: p.Unit, CostCentre: p.CostCentre,
		Locale: p.Locale, Attributes: p.Attributes, Roles: p.Roles, Reports: personRows(p.Reports), Leaves: leaves, Access: accessOf(p.Access)})
	if refusal != nil {
		return h.refuse(w, r, refusal, page, nil)
	}
	return h.show(w, r, page, nil)
}

func accessOf(a *store.Access) *views.Access {
	if a == nil {
		return nil
	}
	shown := views.Access(*a)
	return &shown
}

func personRows(people []store.ListedPerson) []views.PersonRow {
	rows := make([]views.PersonRow, len(people))
	for i, p := range people {
		rows[i] = views.PersonRow(p)
	}
	return rows
}
