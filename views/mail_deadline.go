package views

import (
	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// reminder names what is left to submit, and until when.
func reminder(l i18n.Locale, d outbox.Letter, link string) Mail {
	n := len(d.Reviews)
	m := aboutCycle(l, d, link).withDue(l, d).withReviews(l, d)
	m.Subject = l.N("mail.reminder.subject", n, "day", l.DayMonth(d.Due))
	m.Label = l.T("mail.reminder.label")
	m.Preview = l.T("mail.reminder.preview", "when", l.DateTimeZone(d.Due))
	m.Heading = l.N("mail.reminder.heading", n, "name", firstName(d.Person))
	m.Lead = []string{l.T("mail.reminder.lead", "cycle", d.Cycle)}
	return m
}

// extended says that the deadline has moved, and from when.
func extended(l i18n.Locale, d outbox.Letter, link string) Mail {
	was := l.DateTimeZone(d.WasDue)
	m := aboutCycle(l, d, link).withDue(l, d).withReviews(l, d)
	m.Subject = l.T("mail.extended.subject", "day", l.DayMonth(d.Due))
	m.Label = l.T("mail.extended.label")
	m.Preview = l.T("mail.extended.preview", "was", was, "when", l.DateTimeZone(d.Due))
	m.Heading = l.T("mail.extended.heading", "name", firstName(d.Person))
	m.Lead = []string{l.T("mail.extended.lead", "cycle", d.Cycle, "was", was)}
	if d.Reason != "" {
		m.Lead = append(m.Lead, l.T("mail.reason", "reason", d.Reason))
	}
	return m
}

// extensionAsked tells the cycle's owner who wants more time, and why.
func extensionAsked(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := Mail{Organisation: d.Organisation, Link: link, Foot: []string{l.T("mail.asked.why", "cycle", d.Cycle)}}
	m.Button = l.T("mail.asked.button")
	m.Subject = l.T("mail.asked.subject", "who", d.Actor)
	m.Label = l.T("mail.asked.label")
	m.Preview = l.T("mail.asked.preview", "cycle", d.Cycle)
	m.Heading = l.T("mail.asked.heading", "who", d.Actor)
	m.Lead = []string{l.T("mail.asked.lead", "cycle", d.Cycle, "who", d.Actor), l.T("mail.asked.words", "note", d.Reason), l.T("mail.asked.answer")}
	return m
}

// extensionAnswered tells the reviewer what HR decided.
func extensionAnswered(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutCycle(l, d, link)
	answer := "no"
	if d.Granted {
		answer = "yes"
		m = m.withDue(l, d).withReviews(l, d)
	}
	m.Subject = l.T("mail.answered.subject_"+answer, "day", l.DayMonth(d.Due))
	m.Label = l.T("mail.answered.label")
	m.Preview = l.T("mail.answered.preview", "cycle", d.Cycle)
	m.Heading = l.T("mail.answered.heading_"+answer, "name", firstName(d.Person))
	m.Lead = []string{l.T("mail.answered.lead_"+answer, "cycle", d.Cycle)}
	if d.Reason != "" {
		m.Lead = append(m.Lead, l.T("mail.answered.words", "words", d.Reason))
	}
	return m
}
