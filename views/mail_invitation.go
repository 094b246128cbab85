package views

import (
	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// invitation asks a reviewer for their reviews of a cycle.
func invitation(l i18n.Locale, d outbox.Letter, link string) Mail {
	n := len(d.Reviews)
	m := aboutCycle(l, d, link).withDue(l, d).withReviews(l, d)
	m.Subject = l.N("invitation.subject", n, "day", l.DayMonth(d.Due))
	m.Label = l.T("invitation.label")
	m.Preview = l.T("invitation.preview", "when", l.DateTimeZone(d.Due))
	m.Heading = l.N("invitation.heading", n, "name", firstName(d.Person))
	m.Lead = []string{l.N("invitation.lead", n, "cycle", d.Cycle)}
	return m
}
