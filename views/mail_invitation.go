package views

import (
	"strings"
	"time"
	"unicode"

	"github.com/a-h/templ"

	"ciclo/internal/appraisal"
	"ciclo/internal/i18n"
)

// InvitationData is what the mail that asks a reviewer says.
type InvitationData struct {
	Organisation string
	Cycle        string
	ReviewerName string
	Due          time.Time // in the cycle's zone
	Reviews      []InvitedReview
	Link         string // absolute, with the token
	Contact      string // where replies go; empty when the cycle names nobody
}

// InvitedReview is one review that is asked for.
type InvitedReview struct {
	Name  string // of the person under review
	Title string
	Kind  appraisal.Kind
}

// mostInvited is how many reviews the mail lists; the rest is counted.
const mostInvited = 50

// InvitationMail writes the message that asks a reviewer, in their language.
// Both parts say the same, so that neither needs the other. Names are cut to
// one line without characters that turn or hide text: they reach a subject.
func InvitationMail(l i18n.Locale, d InvitationData) (subject, text string, html templ.Component) {
	d = d.tidy()
	subject = l.N("invitation.subject", len(d.Reviews), "day", l.DayMonth(d.Due))
	return subject, d.text(l), invitationHTML(l, subject, d)
}

func (d InvitationData) tidy() InvitationData {
	d.Organisation, d.Cycle, d.ReviewerName = oneLine(d.Organisation), oneLine(d.Cycle), oneLine(d.ReviewerName)
	d.Link, d.Contact = oneLine(d.Link), oneLine(d.Contact)
	reviews := make([]InvitedReview, len(d.Reviews))
	for i, r := range d.Reviews {
		reviews[i] = InvitedReview{Name: oneLine(r.Name), Title: oneLine(r.Title), Kind: r.Kind}
	}
	d.Reviews = reviews
	return d
}

// listed are the reviews the mail names, and how many it only counts.
func (d InvitationData) listed() ([]InvitedReview, int) {
	if len(d.Reviews) <= mostInvited {
		return d.Reviews, 0
	}
	return d.Reviews[:mostInvited], len(d.Reviews) - mostInvited
}

func (d InvitationData) heading(l i18n.Locale) string {
	return l.N("invitation.heading", len(d.Reviews), "name", firstName(d.ReviewerName))
}

func (d InvitationData) lead(l i18n.Locale) string {
	return l.N("invitation.lead", len(d.Reviews), "cycle", d.Cycle)
}

func (d InvitationData) due(l i18n.Locale) string {
	return l.T("invitation.due", "day", l.LongDate(d.Due), "time", l.Clock(d.Due))
}

// zone names the deadline's zone as people say it, and as machines do.
func (d InvitationData) zone(l i18n.Locale) string {
	name, offset := l.Zone(d.Due), l.Offset(d.Due)
	if name == offset {
		return offset
	}
	return l.T("invitation.zone", "zone", name, "offset", offset)
}

func (d InvitationData) reply(l i18n.Locale) string {
	if d.Contact == "" {
		return l.T("invitation.reply")
	}
	return l.T("invitation.reply_to", "contact", d.Contact)
}

// as says what the reviewer is to the person, after the person's title.
func (r InvitedReview) as(l i18n.Locale) string {
	as := l.T("invitation.as." + string(r.Kind))
	if r.Title == "" || r.Kind == appraisal.Self {
		return as
	}
	return r.Title + " · " + as
}

func (d InvitationData) text(l i18n.Locale) string {
	var b strings.Builder
	line := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(p)
		}
		b.WriteByte('\n')
	}
	line(d.Organisation, " · ", l.T("invitation.sender"))
	line()
	line(d.heading(l))
	line()
	line(d.lead(l))
	line()
	line(d.due(l))
	line(d.zone(l))
	line()
	line(l.T("invitation.open"))
	line(d.Link)
	line()
	line(l.T("invitation.whom"))
	listed, more := d.listed()
	for _, r := range listed {
		line("- ", r.Name)
		line("  ", r.as(l))
	}
	if more > 0 {
		line("- ", l.N("invitation.more", more))
	}
	line()
	line(l.T("invitation.keep"))
	line()
	line("-- ") // what follows is the signature, as mail readers know it
	line(d.reply(l))
	line(l.T("invitation.why", "cycle", d.Cycle))
	return b.String()
}

// firstName is how the mail addresses its reader.
func firstName(name string) string {
	first, _, _ := strings.Cut(name, " ")
	return first
}

// oneLine makes a name safe for a line of its own: every run of space, line
// ends included, is one space, and characters that are invisible or change the
// direction of what follows are dropped.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r) && r != '\u200d': // joined letters stay joined
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}
