package handlers

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"ciclo/internal/calendar"
	"ciclo/internal/fault"
	"ciclo/store"
	"ciclo/views"
)

// showSettings answers GET /settings.
func (h *Handlers) showSettings(w http.ResponseWriter, r *http.Request) error {
	in, err := h.store.Settings(r.Context(), actor(r))
	if err != nil {
		return err
	}
	form := views.Filled("name", in.Name, "zone", in.Zone, "locale", in.Locale, "contact", in.Contact, "reply_to", in.ReplyTo, "hold", strconv.Itoa(in.HoldMinutes))
	return h.show(w, r, views.SettingsPage(zonesWith(in.Zone), form), nil)
}

// zonesWith are the zones offered, with the one in force.
func zonesWith(zone string) []string {
	if zone == "" || slices.Contains(zonesOffered, zone) {
		return zonesOffered
	}
	return append(slices.Clone(zonesOffered), zone)
}

// changeSettings answers POST /settings.
func (h *Handlers) changeSettings(w http.ResponseWriter, r *http.Request) error {
	was, err := h.store.Settings(r.Context(), actor(r))
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	wanted := store.Settings{Name: in.Line("name", 200), Zone: in.Line("zone", 64), Locale: in.Choice("locale", "pt-BR", "en"),
		Contact: in.Line("contact", 254), ReplyTo: in.Line("reply_to", 254), HoldMinutes: in.Int("hold", 0, store.MostHold)}
	in.Require("name", "zone")
	if err = in.Faults(); err == nil {
		err = h.store.ChangeSettings(r.Context(), actor(r), wanted)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuse(w, r, err, views.SettingsPage(zonesWith(was.Zone), form), nil)
	}
	if err != nil {
		return err
	}
	h.say(r, "settings.saved")
	return h.redirect(w, r, "/settings")
}

// sendTest answers POST /settings/test.
func (h *Handlers) sendTest(w http.ResponseWriter, r *http.Request) error {
	to, err := h.store.SendTest(r.Context(), actor(r))
	if err != nil {
		return err
	}
	h.say(r, "settings.test_sent", "address", to)
	return h.redirect(w, r, "/settings")
}

// showCalendar answers GET /settings/calendar.
func (h *Handlers) showCalendar(w http.ResponseWriter, r *http.Request) error {
	c, err := h.calendarShown(r)
	if err != nil {
		return err
	}
	return h.show(w, r, views.CalendarPage(c, daysForm(c.Calendar), views.Form{}), nil)
}

func (h *Handlers) calendarShown(r *http.Request) (views.CalendarShown, error) {
	in, err := h.store.Settings(r.Context(), actor(r))
	if err != nil {
		return views.CalendarShown{}, err
	}
	year := views.ViewerFrom(r.Context()).In(in.Now).Year()
	if y, err := strconv.Atoi(r.URL.Query().Get("year")); err == nil && y >= 2000 && y <= 2200 {
		year = y
	}
	return views.CalendarShown{Calendar: in.Calendar, Year: year}, nil
}

// daysForm is the form of the working days as they are.
func daysForm(c calendar.Calendar) views.Form {
	f := views.Form{Values: map[string][]string{}}
	for _, d := range c.WorkingDays {
		f.Values["day"] = append(f.Values["day"], strconv.Itoa(d))
	}
	if c.National {
		f.Values["national"] = []string{"on"}
	}
	if c.Optional {
		f.Values["optional"] = []string{"on"}
	}
	return f
}

// changeCalendar answers POST /settings/calendar.
func (h *Handlers) changeCalendar(w http.ResponseWriter, r *http.Request) error {
	shown, err := h.calendarShown(r)
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	c := calendar.Calendar{National: in.Ticked("national"), Optional: in.Ticked("optional")}
	for _, d := range in.IDs("day") {
		if d > 7 {
			in.Fault("day", "fault.choice")
		}
		c.WorkingDays = append(c.WorkingDays, int(d))
	}
	if err = in.Faults(); err == nil {
		err = h.store.ChangeWorkingDays(r.Context(), actor(r), c)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuse(w, r, err, views.CalendarPage(shown, form, views.Form{}), nil)
	}
	if err != nil {
		return err
	}
	h.say(r, "calendar.saved")
	return h.redirect(w, r, "/settings/calendar")
}

// addHoliday answers POST /settings/holidays.
func (h *Handlers) addHoliday(w http.ResponseWriter, r *http.Request) error {
	shown, err := h.calendarShown(r)
	if err != nil {
		return err
	}
	in, err := readForm(r)
	if err != nil {
		return err
	}
	day, name := in.Date("date"), in.Line("holiday", 120)
	in.Require("date", "holiday")
	if err = in.Faults(); err == nil {
		err = h.store.AddHoliday(r.Context(), actor(r), day, name)
	}
	if form, mendable := in.Refused(err); mendable {
		return h.refuse(w, r, err, views.CalendarPage(shown, daysForm(shown.Calendar), form), nil)
	}
	if err != nil {
		return err
	}
	h.say(r, "calendar.added", "name", name)
	return h.redirect(w, r, "/settings/calendar?year="+strconv.Itoa(day.Year()))
}

// removeHoliday answers POST /settings/holidays/{day}/removal.
func (h *Handlers) removeHoliday(w http.ResponseWriter, r *http.Request) error {
	day, err := time.Parse(time.DateOnly, chi.URLParam(r, "day"))
	if err != nil {
		return fault.NotFoundf("fault.not_found")
	}
	if err := h.store.RemoveHoliday(r.Context(), actor(r), day); err != nil {
		return err
	}
	h.say(r, "calendar.removed")
	return h.redirect(w, r, "/settings/calendar?year="+strconv.Itoa(day.Year()))
}

// listRoles answers GET /settings/roles.
func (h *Handlers) listRoles(w http.ResponseWriter, r *http.Request) error {
	l, err := listQuery(r)
	if err != nil {
		return err
	}
	l.Target = views.RolesPanelID
	holders, total, err := h.store.RoleHolders(r.Context(), actor(r), store.Page{Q: l.Q, Limit: l.Size, Offset: l.Offset()})
	if err != nil {
		return err
	}
	l.Total = total
	shown := make([]views.RoleHolder, len(holders))
	for i, one := range holders {
		shown[i] = views.RoleHolder{Grant: views.Grant(one.Grant), PersonID: one.PersonID, Name: one.Name, Email: one.Email, Left: one.Left}
	}
	return h.showList(w, r, l, views.RoleListPage(l, shown), views.RoleListPanel(l, shown))
}

// listAudit answers GET /settings/audit.
func (h *Handlers) listAudit(w http.ResponseWriter, r *http.Request) error {
	l, err := listQuery(r)
	if err != nil {
		return err
	}
	l.Target = views.AuditPanelID
	q := store.AuditQuery{Page: store.Page{Q: l.Q, Limit: l.Size, Offset: l.Offset()}, Act: l.Get("act"), From: dayOf(l, "from"), To: dayOf(l, "to")}
	entries, total, err := h.store.Audit(r.Context(), actor(r), q)
	if err != nil {
		return err
	}
	l.Total = total
	shown := make([]views.AuditEntry, len(entries))
	for i, e := range entries {
		shown[i] = views.AuditEntry(e)
	}
	return h.showList(w, r, l, views.AuditPage(l, shown), views.AuditPanel(l, shown))
}

// dayOf reads a day of a list's address; what is none narrows nothing.
func dayOf(l views.List, name string) time.Time {
	t, err := time.Parse(time.DateOnly, l.Get(name))
	if err != nil || t.Year() < 1900 || t.Year() > 2200 {
		return time.Time{}
	}
	return t
}
