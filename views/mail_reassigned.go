package views

import (
	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// reassigned asks a reviewer for one review more than before. Who wrote about
// the person until now is named only where their draft came along.
func reassigned(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutCycle(l, d, link).withDue(l, d).withReviews(l, d)
	m.Subject = l.T("mail.reassigned.subject", "day", l.DayMonth(d.Due))
	m.Label = l.T("mail.reassigned.label")
	m.Preview = l.T("mail.reassigned.preview", "when", l.DateTimeZone(d.Due))
	m.Heading = l.T("mail.reassigned.heading", "name", firstName(d.Person), "reviewee", d.Reviewee)
	if d.RevieweeID == d.PersonID {
		m.Heading = l.T("mail.reassigned.self", "name", firstName(d.Person))
	}
	m.Lead = []string{l.T("mail.reassigned.lead", "cycle", d.Cycle)}
	if d.Colleague != "" {
		m.Lead = append(m.Lead, l.T("mail.reassigned.draft", "colleague", d.Colleague))
	}
	return m
}

// withdrawn tells a reviewer that a review is not theirs any more, and what is.
func withdrawn(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutCycle(l, d, link)
	m.Subject = l.T("mail.withdrawn.subject", "reviewee", d.Reviewee)
	m.Label = l.T("mail.withdrawn.label")
	m.Preview = l.T("mail.withdrawn.preview", "cycle", d.Cycle)
	m.Heading = l.T("mail.withdrawn.heading", "name", firstName(d.Person))
	m.Lead = []string{l.T("mail.withdrawn.lead", "cycle", d.Cycle, "reviewee", d.Reviewee), l.N("mail.withdrawn.rest", len(d.Reviews))}
	return m
}
