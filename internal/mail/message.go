package mail

import (
	"bytes"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"
)

// Message is one mail to one person, owed by one outbox event.
type Message struct {
	ID           int64 // the outbox event's; it makes the Message-ID
	From         string
	FromName     string
	To           string
	ToName       string
	ReplyTo      string // empty: replies go to From
	EnvelopeFrom string // where bounces go; empty: From
	Subject      string
	Text         string
	HTML         string // empty: the message has only its text
	// Headers are further headers, such as Content-Language. The ones that this
	// package writes itself cannot be set here.
	Headers map[string]string
}

// MessageID is the event's, at the sender's domain: the same on every try, so
// that receivers can drop a repeat.
func (m Message) MessageID() string { return "<" + m.messageID() + ">" }

func (m Message) messageID() string {
	domain := "localhost"
	if from, err := readAddress(m.From); err == nil {
		domain = strings.ToLower(from.ascii[strings.LastIndexByte(from.ascii, '@')+1:])
	}
	return fmt.Sprintf("outbox-%d@%s", m.ID, domain)
}

// letter is a message ready to be handed over.
type letter struct {
	from, to string // for MAIL FROM and RCPT TO, without the angle brackets
	// international says that an address has letters outside ASCII before its @,
	// so that only a server with SMTPUTF8 can take the message.
	international, ourAddressIs bool
	raw                         []byte
}

// How long the names that people gave may get in a header. A line of a message
// may have 998 bytes, and a name is folded only at its spaces.
const (
	maxName    = 200
	maxSubject = 400
)

// compose builds the message, or says whose fault it is that it cannot: a wrong
// sender is ours (SenderRefused), anything else is this message's (Permanent).
func compose(m Message) (letter, *Outcome) {
	refuse := func(kind Kind, format string, args ...any) (letter, *Outcome) {
		return letter{}, &Outcome{Kind: kind, Phase: PhaseMessage, Err: clip(oneLine(fmt.Sprintf(format, args...)), maxWords)}
	}
	from, err := readAddress(m.From)
	if err != nil {
		return refuse(SenderRefused, "sender's address: %v", err)
	}
	bounce := from
	if m.EnvelopeFrom != "" {
		if bounce, err = readAddress(m.EnvelopeFrom); err != nil {
			return refuse(SenderRefused, "address for bounces: %v", err)
		}
	}
	to, err := readAddress(m.To)
	if err != nil {
		return refuse(Permanent, "recipient's address: %v", err)
	}

	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithEncoding(gomail.EncodingQP))
	msg.FromMailAddress(from.named(m.FromName))
	msg.ToMailAddress(to.named(m.ToName))
	international := to.international
	if m.ReplyTo != "" {
		reply, err := readAddress(m.ReplyTo)
		if err != nil {
			return refuse(Permanent, "address for replies: %v", err)
		}
		msg.ReplyToMailAddress(reply.named(""))
		international = international || reply.international
	}
	msg.Subject(clip(oneLine(m.Subject), maxSubject))
	msg.SetMessageIDWithValue(m.messageID())
	msg.SetGenHeader("X-Ciclo-Event", fmt.Sprint(m.ID))
	// No out-of-office answers to a machine: RFC 3834, and Exchange's own word.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader(gomail.HeaderXAutoResponseSuppress, "OOF, AutoReply")
	for name, value := range m.Headers {
		if err := allowHeader(name); err != nil {
			return refuse(Permanent, "%v", err)
		}
		msg.SetGenHeader(gomail.Header(name), clip(oneLine(value), maxSubject))
	}
	if strings.TrimSpace(m.Text) == "" {
		return refuse(Permanent, "the message has no text")
	}
	msg.SetBodyString(gomail.TypeTextPlain, strings.ToValidUTF8(m.Text, "\uFFFD"))
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, strings.ToValidUTF8(m.HTML, "\uFFFD"))
	}

	var raw bytes.Buffer
	if _, err := msg.WriteTo(&raw); err != nil {
		return refuse(Permanent, "build the message: %v", err)
	}
	ours := from.international || bounce.international
	return letter{
		from: bounce.ascii, to: to.ascii, raw: raw.Bytes(),
		international: international || ours, ourAddressIs: ours,
	}, nil
}

// address is an address in the form that most servers take: its domain in ASCII.
type address struct {
	ascii         string
	international bool // letters outside ASCII before the @ remain
}

// named pairs the address with a person's name, neutralised.
func (a address) named(name string) *netmail.Address {
	return &netmail.Address{Name: clip(oneLine(name), maxName), Address: a.ascii}
}

// readAddress accepts a plain address (no name, no comment, no quotes) and
// nothing that could end a header or an SMTP command. Its errors do not repeat it.
func readAddress(s string) (address, error) {
	if strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) >= 0 {
		return address{}, errors.New("it contains a space, a line end or a control character")
	}
	parsed, err := netmail.ParseAddress(s)
	if err != nil || parsed.Address != s || parsed.Name != "" {
		return address{}, errors.New("it is not a plain e-mail address")
	}
	at := strings.LastIndexByte(s, '@')
	local, domain := s[:at], s[at+1:]
	if !isASCII(domain) {
		if domain, err = idna.Lookup.ToASCII(domain); err != nil {
			return address{}, errors.New("its domain is not a valid name")
		}
	}
	if len(local) > 64 || len(domain) > 253 {
		return address{}, errors.New("it is too long")
	}
	return address{ascii: local + "@" + domain, international: !isASCII(local)}, nil
}

// allowHeader refuses names that would break the message apart or take the
// place of what this package promises about it.
func allowHeader(name string) error {
	if name == "" || strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
	}) >= 0 {
		return errors.New("a further header has a name with other characters than letters, digits and hyphens")
	}
	lower := strings.ToLower(name)
	switch lower {
	case "from", "sender", "to", "cc", "bcc", "reply-to", "return-path", "subject", "date", "message-id",
		"mime-version", "auto-submitted", "x-ciclo-event", "received", "dkim-signature", "envelopefrom":
		return fmt.Errorf("the header %s cannot be set from outside", name)
	}
	if strings.HasPrefix(lower, "content-") && lower != "content-language" {
		return fmt.Errorf("the header %s cannot be set from outside", name)
	}
	return nil
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}
