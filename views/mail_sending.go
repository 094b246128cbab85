package views

import (
	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// messagesFailed tells those who can mend them of messages that have failed.
func messagesFailed(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutSending(l, d, link)
	m.Subject = l.N("mail_failed.subject", d.Number)
	m.Heading = l.N("mail_failed.heading", d.Number)
	m.Lead = []string{l.T("mail_failed.lead")}
	m.Preview, m.Label, m.Button = m.Lead[0], m.Subject, l.T("mail_failed.button")
	return m
}

// sendingStopped tells that somebody has paused the organisation's messages.
func sendingStopped(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutSending(l, d, link)
	m.Subject = l.T("mail_paused.subject")
	m.Heading = l.T("mail_paused.heading", "who", d.Actor)
	m.Lead = []string{l.T("mail_paused.reason", "reason", d.Reason), l.T("mail_paused.lead")}
	m.Preview, m.Label, m.Button = m.Lead[0], m.Subject, l.T("mail_paused.button")
	return m
}

func aboutSending(l i18n.Locale, d outbox.Letter, link string) Mail {
	return Mail{Organisation: d.Organisation, Link: link, Foot: []string{l.T("mail_sending.why", "organisation", d.Organisation)}}
}
