package views

import (
	"strings"

	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// aboutAccount fills what every message about somebody's own account has in
// common; kind is the beginning of its words' keys.
func aboutAccount(l i18n.Locale, d outbox.Letter, link, kind string) Mail {
	m := Mail{
		Organisation: d.Organisation, Link: link,
		Subject: l.T(kind+".subject", "organisation", d.Organisation),
		Label:   l.T(kind + ".label"),
		Heading: l.T(kind+".heading", "name", firstName(d.Person), "organisation", d.Organisation),
		Foot:    []string{reply(l, d)},
	}
	if link != "" {
		m.Button = l.T(kind + ".button")
	}
	return m
}

// memberInvitation invites somebody to set a password.
func memberInvitation(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutAccount(l, d, link, "member")
	days := int(d.Valid.Hours()) / 24
	m.Preview = l.N("member.preview", days)
	m.Lead = []string{l.T("member.lead", "organisation", d.Organisation)}
	if d.Actor != "" {
		m.Lead[0] = l.T("member.lead_by", "actor", d.Actor, "organisation", d.Organisation)
	}
	m.Keep = l.N("member.keep", days)
	m.Foot = append(m.Foot, l.T("member.why", "organisation", d.Organisation))
	return m
}

// passwordReset carries the link that somebody asked for on the sign-in page.
func passwordReset(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutAccount(l, d, link, "reset")
	m.Preview = l.T("reset.preview", "n", int(d.Valid.Minutes()))
	m.Lead = []string{l.T("reset.lead"), l.T("reset.not_you")}
	m.Keep = l.T("reset.keep", "n", int(d.Valid.Minutes()))
	m.Foot = append(m.Foot, l.T("reset.why"))
	return m
}

// addressChanged tells the old address, or HR, that a record has another one.
func addressChanged(l i18n.Locale, d outbox.Letter, link string) Mail {
	switch {
	case d.To != "":
		m := aboutAccount(l, d, link, "moved")
		m.Preview = l.T("moved.preview")
		m.Lead = []string{l.T("moved.lead", "organisation", d.Organisation), l.T("moved.not_you")}
		m.Foot = append(m.Foot, l.T("moved.why", "organisation", d.Organisation))
		return m
	case d.Number > 0:
		m := aboutAccount(l, d, link, "moved_many")
		m.Preview = l.T("moved_hr.preview")
		m.Lead = []string{l.N("moved_many.lead", d.Number, "actor", actorOr(l, d)), l.T("moved_hr.text")}
		m.Foot = append(m.Foot, l.T("moved_hr.why"))
		return m
	}
	m := aboutAccount(l, d, link, "moved_hr")
	m.Subject = l.T("moved_hr.subject", "person", d.Colleague)
	m.Heading = l.T("moved_hr.heading", "person", d.Colleague)
	m.Preview = l.T("moved_hr.preview")
	m.Lead = []string{l.T("moved_hr.lead", "actor", actorOr(l, d), "person", d.Colleague, "address", maskedAddress(d.NewAddress)), l.T("moved_hr.text")}
	m.Foot = append(m.Foot, l.T("moved_hr.why"))
	return m
}

// testMessage shows whoever asked for it that sending works.
func testMessage(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := aboutAccount(l, d, link, "test_message")
	m.Preview = l.T("test_message.preview")
	m.Lead = []string{l.T("test_message.lead", "organisation", d.Organisation)}
	m.Foot = append(m.Foot, l.T("test_message.why"))
	return m
}

func actorOr(l i18n.Locale, d outbox.Letter) string {
	if d.Actor == "" {
		return l.T("moved_hr.operator")
	}
	return d.Actor
}

// maskedAddress shows enough of an address to recognise it.
func maskedAddress(address string) string {
	local, domain, ok := strings.Cut(address, "@")
	if !ok {
		return address
	}
	first := []rune(local)[:1]
	return string(first) + "…@" + domain
}
