package views

import (
	"strings"
	"unicode"

	"github.com/a-h/templ"

	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// Mail is one message as every mail of ours is laid out. Both parts say the
// same, so that neither needs the other. An empty field leaves its part out.
type Mail struct {
	Subject      string
	Label        string // what the message is, for those who hear it
	Preview      string // what the inbox shows after the subject
	Organisation string
	Heading      string
	Lead         []string // paragraphs
	Due          string   // the instant that matters, in a box of its own
	Zone         string   // below it
	Button       string
	Link         string // absolute
	ListTitle    string
	List         []MailItem
	More         string // what List leaves out, counted
	Keep         string // what to beware of
	Foot         []string
}

// MailItem is one line of a mail's list.
type MailItem struct{ Name, About string }

// letters writes each kind of message.
var letters = map[string]func(i18n.Locale, outbox.Letter, string) Mail{
	outbox.InvitationSample:     sample,
	outbox.EvaluationAssigned:   invitation,
	outbox.EvaluationReminder:   reminder,
	outbox.EvaluationExtended:   extended,
	outbox.EvaluationReassigned: reassigned,
	outbox.EvaluationWithdrawn:  withdrawn,
	outbox.EvaluationReceived:   received,
	outbox.CycleCancelled:       cycleCancelled,
	outbox.LinkAgain:            linkAgain,
	outbox.ExtensionAsked:       extensionAsked,
	outbox.ExtensionAnswered:    extensionAnswered,
	outbox.MessagesFailed:       messagesFailed,
	outbox.SendingStopped:       sendingStopped,
	outbox.PersonInvited:        memberInvitation,
	outbox.PasswordReset:        passwordReset,
	outbox.AddressChanged:       addressChanged,
	outbox.TestMessage:          testMessage,
}

// MailOf writes a letter in a language; base is the address that links begin
// with. False means that nobody knows how to say it. Names are cut to one line
// without characters that turn or hide text: they reach a subject.
func MailOf(l i18n.Locale, letter outbox.Letter, base string) (m Mail, ok bool) {
	write, ok := letters[letter.Kind]
	if !ok {
		return Mail{}, false
	}
	link := ""
	if letter.Path != "" {
		link = strings.TrimSuffix(base, "/") + letter.Path
	}
	return write(l, tidy(letter), oneLine(link)), true
}

// tidy makes what people wrote safe for lines of their own.
func tidy(d outbox.Letter) outbox.Letter {
	for _, s := range []*string{&d.Organisation, &d.Cycle, &d.Person, &d.Contact, &d.Reason, &d.Colleague, &d.Reviewee, &d.Actor, &d.NewAddress} {
		*s = oneLine(*s)
	}
	reviews := make([]outbox.LetterReview, len(d.Reviews))
	for i, r := range d.Reviews {
		reviews[i] = outbox.LetterReview{Name: oneLine(r.Name), Title: oneLine(r.Title), As: r.As}
	}
	d.Reviews = reviews
	return d
}

// Text is the part for those who read without HTML.
func (m Mail) Text(l i18n.Locale) string {
	var b strings.Builder
	line := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(p)
		}
		b.WriteByte('\n')
	}
	line(m.Organisation, " · ", l.T("mail.sender"))
	line()
	line(m.Heading)
	for _, p := range m.Lead {
		line()
		line(p)
	}
	if m.Due != "" {
		line()
		line(m.Due)
		line(m.Zone)
	}
	if m.Link != "" {
		line()
		line(l.T("mail.open"))
		line(m.Link)
	}
	if len(m.List) > 0 {
		line()
		line(m.ListTitle)
	}
	for _, item := range m.List {
		line("- ", item.Name)
		if item.About != "" {
			line("  ", item.About)
		}
	}
	if m.More != "" {
		line("- ", m.More)
	}
	if m.Keep != "" {
		line()
		line(m.Keep)
	}
	line()
	line("-- ") // what follows is the signature, as mail readers know it
	for _, p := range m.Foot {
		line(p)
	}
	return b.String()
}

// HTML is the part for everybody else.
func (m Mail) HTML(l i18n.Locale) templ.Component { return mailHTML(l, m) }

// mostListed is how many reviews a mail lists; the rest is counted.
const mostListed = 50

// reviewList lists reviews, and counts those that it leaves out.
func reviewList(l i18n.Locale, reviews []outbox.LetterReview) (items []MailItem, more string) {
	if n := len(reviews) - mostListed; n > 0 {
		more = l.N("mail.more", n)
		reviews = reviews[:mostListed]
	}
	for _, r := range reviews {
		items = append(items, MailItem{r.Name, reviewAs(l, r)})
	}
	return items, more
}

// reviewAs says what the reviewer is to the person, after the person's title.
func reviewAs(l i18n.Locale, r outbox.LetterReview) string {
	as := l.T("mail.as." + r.As)
	if r.Title == "" || r.As == "self" {
		return as
	}
	return r.Title + " · " + as
}

// mailZone names the zone of an instant as people say it, and as machines do.
func mailZone(l i18n.Locale, d outbox.Letter) string {
	name, offset := l.Zone(d.Due), l.Offset(d.Due)
	if name == offset {
		return offset
	}
	return l.T("mail.zone", "zone", name, "offset", offset)
}

// reply says where questions go.
func reply(l i18n.Locale, d outbox.Letter) string {
	if d.Contact == "" {
		return l.T("mail.reply")
	}
	return l.T("mail.reply_to", "contact", d.Contact)
}

// aboutCycle fills what every message about a reviewer's cycle has in common.
func aboutCycle(l i18n.Locale, d outbox.Letter, link string) Mail {
	m := Mail{Organisation: d.Organisation, Link: link, Foot: []string{reply(l, d), l.T("mail.why_cycle", "cycle", d.Cycle)}}
	if link != "" {
		m.Button = l.N("mail.open_reviews", max(1, len(d.Reviews)))
		m.Keep = l.T("mail.keep_link")
	}
	return m
}

// withDue shows the deadline in the box.
func (m Mail) withDue(l i18n.Locale, d outbox.Letter) Mail {
	m.Due = l.T("mail.due", "day", l.LongDate(d.Due), "time", l.Clock(d.Due))
	m.Zone = mailZone(l, d)
	return m
}

// withReviews lists what is left to submit.
func (m Mail) withReviews(l i18n.Locale, d outbox.Letter) Mail {
	m.ListTitle = l.T("mail.whom")
	m.List, m.More = reviewList(l, d.Reviews)
	return m
}

// firstName is how a mail addresses its reader.
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
