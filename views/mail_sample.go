package views

import (
	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// sample is the invitation of a colleague as they would read it, to whoever
// rehearses; it says so first, and its link opens nothing.
func sample(l i18n.Locale, d outbox.Letter, link string) Mail {
	asked := d
	asked.Person = d.Colleague
	m := invitation(l, asked, link)
	m.Subject = l.T("sample.subject", "subject", m.Subject)
	m.Label = l.T("sample.label")
	m.Lead = append([]string{l.T("sample.lead", "person", d.Colleague)}, m.Lead...)
	m.Foot = []string{l.T("sample.why", "cycle", d.Cycle)}
	return m
}
