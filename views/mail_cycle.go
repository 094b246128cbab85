package views

import (
	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// received thanks a reviewer who has submitted everything.
func received(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutCycle(l, d, link)
	m.Subject = l.T("mail.received.subject")
	m.Label = l.T("mail.received.label")
	m.Preview = l.T("mail.received.preview", "cycle", d.Cycle)
	m.Heading = l.T("mail.received.heading", "name", firstName(d.Person))
	m.Lead = []string{l.T("mail.received.lead", "cycle", d.Cycle), l.T("mail.received.read")}
	return m
}

// cycleCancelled tells those already asked that nothing is left to do.
func cycleCancelled(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutCycle(l, d, link)
	m.Subject = l.T("mail.cancelled.subject")
	m.Label = l.T("mail.cancelled.label")
	m.Preview = l.T("mail.cancelled.preview", "cycle", d.Cycle)
	m.Heading = l.T("mail.cancelled.heading", "name", firstName(d.Person))
	m.Lead = []string{l.T("mail.cancelled.lead", "cycle", d.Cycle), l.T("mail.reason", "reason", d.Reason), l.T("mail.cancelled.keeps")}
	return m
}

// linkAgain carries the link to who has lost it.
func linkAgain(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutCycle(l, d, link).withDue(l, d).withReviews(l, d)
	m.Subject = l.T("mail.link.subject")
	m.Label = l.T("mail.link.label")
	m.Preview = l.T("mail.link.preview", "when", l.DateTimeZone(d.Due))
	m.Heading = l.T("mail.link.heading", "name", firstName(d.Person))
	m.Lead = []string{l.N("mail.link.lead", len(d.Reviews), "cycle", d.Cycle), l.T("mail.link.unasked")}
	return m
}
