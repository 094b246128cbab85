package handlers

import (
	"cmp"
	"net/http"
	"strings"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/store"
	"ciclo/views"
)

// listSlips answers GET /cycles/{id}/slips: who hands out paper, and how far.
func (h *Handlers) listSlips(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	l, err := listQuery(r)
	if err != nil {
		return err
	}
	l.Target = views.SlipsPanelID
	slips, err := h.store.Slips(r.Context(), actor(r), id, pageOf(l))
	if err != nil {
		return err
	}
	if slips.Head.State == appraisal.CycleDraft { // nobody was asked yet
		return h.redirect(w, r, cycleURL(id, ""))
	}
	l.Total = slips.Total
	return h.showList(w, r, l, views.SlipsPage(l, slips), views.SlipsPanel(l, slips))
}

// team reads which manager's slips are meant: a number, 0 for people without a
// manager, or all of them.
func team(typed string) (int64, error) {
	switch typed {
	case views.EveryTeam:
		return store.EveryManager, nil
	case "0":
		return 0, nil
	}
	if id, ok := parseID(typed); ok {
		return id, nil
	}
	return 0, fault.Invalidf("fault.bad_request")
}

// prepareSlips answers POST /cycles/{id}/slips and leads to the sheet.
func (h *Handlers) prepareSlips(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	manager, err := team(in.first("manager"))
	if err != nil {
		return err
	}
	if _, err := h.store.PrepareSlips(r.Context(), actor(r), id, manager, h.keys.SigningKey()); err != nil {
		return err
	}
	return h.redirect(w, r, cycleURL(id, "slips/sheet?manager="+in.first("manager")))
}

// showSlipSheet answers GET /cycles/{id}/slips/sheet: what is printed.
func (h *Handlers) showSlipSheet(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	asked := cmp.Or(r.URL.Query().Get("manager"), views.EveryTeam)
	manager, err := team(asked)
	if err != nil {
		return h.redirect(w, r, cycleURL(id, "slips"))
	}
	sheet, err := h.store.SlipSheet(r.Context(), actor(r), id, manager)
	if err != nil {
		return err
	}
	shown, err := h.drawSlips(sheet)
	if err != nil {
		return err
	}
	shown.Team = asked
	return h.show(w, r, views.SlipSheetPage(shown), nil)
}

// drawSlips derives the codes. One stands behind the # of the address that the
// QR leads to: no browser sends that part to a server or names it in a Referer.
func (h *Handlers) drawSlips(sheet store.SlipSheet) (views.SlipSheet, error) {
	address := h.URL("/acesso")
	_, short, _ := strings.Cut(address, "://")
	shown := views.SlipSheet{Head: sheet.Head, Organisation: sheet.Organisation, Address: short, Unprepared: sheet.Unprepared}
	for _, s := range sheet.Slips {
		slip := views.Slip{Person: s.Person, Employee: s.Code, Title: s.Title, Department: s.Department, Reviews: s.Reviews, Handed: s.Handed}
		if s.Link.ID != 0 {
			var err error
			if slip.Code, err = h.keys.SlipCode(s.Link); err != nil {
				return shown, err
			}
			if slip.QR, err = views.DrawQR(address + "#" + slip.Code); err != nil {
				return shown, err
			}
		}
		shown.Add(s.ManagerID, s.Manager, slip)
	}
	return shown, nil
}

// askHandOverSlips answers GET /cycles/{id}/slips/handover.
func (h *Handlers) askHandOverSlips(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	asked := cmp.Or(r.URL.Query().Get("manager"), views.EveryTeam)
	manager, err := team(asked)
	if err != nil {
		return h.redirect(w, r, cycleURL(id, "slips"))
	}
	sheet, err := h.store.SlipSheet(r.Context(), actor(r), id, manager)
	if err != nil {
		return err
	}
	ask := views.SlipHandover{Head: sheet.Head, Team: asked}
	for _, s := range sheet.Slips {
		ask.Manager = s.Manager
		if !s.Handed {
			ask.Waiting++
		}
	}
	return h.show(w, r, views.SlipHandoverPage(ask), nil)
}

// handOverSlips answers POST /cycles/{id}/slips/handover.
func (h *Handlers) handOverSlips(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	manager, err := team(in.first("manager"))
	if err != nil {
		return err
	}
	n, err := h.store.HandOverSlips(r.Context(), actor(r), id, manager)
	if err != nil {
		return err
	}
	h.flash(r, views.Flash{Text: views.N(r.Context(), "slip.handed_over", n)})
	return h.redirect(w, r, cycleURL(id, "slips"))
}
