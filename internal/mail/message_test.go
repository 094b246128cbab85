package mail_test

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"testing"

	"ciclo/internal/mail"
	"ciclo/internal/mail/mailtest"
)

// post sends the message to a real server and returns what arrived.
func post(t *testing.T, script mailtest.Script, m mail.Message) (mail.Outcome, []mailtest.Message) {
	t.Helper()
	s := mailtest.Start(t, script)
	out := take(t, pool(t, s)).Send(soon(t), m)
	return out, s.Messages()
}

func TestWhatArrives(t *testing.T) {
	t.Parallel()
	m := invitation(42)
	m.FromName = "Acme Indústria, S.A."
	m.ReplyTo = "ana@acme.example"
	m.EnvelopeFrom = "bounce+42@acme.example"
	m.Subject = "Você foi convidado a avaliar João “Jô” Ávila: " + strings.Repeat("avaliação ", 12)
	m.Text = "Olá!\n.\n..pontos\nPrazo: 31/10 às 18:00 (GMT−3)\n" + strings.Repeat("palavra ", 300)
	m.HTML = "<p>Olá! <a href=\"https://acme.example/a?b=c&amp;d=e\">Avaliar</a></p>"
	m.Headers = map[string]string{"Content-Language": "pt-BR"}
	out, arrived := post(t, mailtest.Script{}, m)
	if out.Kind != mail.Delivered || len(arrived) != 1 {
		t.Fatalf("Send() = %+v, %d arrived", out, len(arrived))
	}
	got := arrived[0]
	if got.From != "bounce+42@acme.example" || len(got.To) != 1 || got.To[0] != "bruno@acme.example" {
		t.Errorf("envelope %s → %v", got.From, got.To)
	}
	for _, line := range bytes.Split(got.Raw, []byte("\n")) {
		if len(line) > 998 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	msg, err := netmail.ReadMessage(bytes.NewReader(got.Raw))
	if err != nil {
		t.Fatal(err)
	}
	decode := new(mime.WordDecoder).DecodeHeader
	subject, _ := decode(msg.Header.Get("Subject"))
	for _, tt := range []struct{ name, got, want string }{
		{"Message-ID", msg.Header.Get("Message-ID"), "<outbox-42@acme.example>"},
		{"MessageID()", m.MessageID(), "<outbox-42@acme.example>"},
		{"X-Ciclo-Event", msg.Header.Get("X-Ciclo-Event"), "42"},
		{"Auto-Submitted", msg.Header.Get("Auto-Submitted"), "auto-generated"},
		{"Content-Language", msg.Header.Get("Content-Language"), "pt-BR"},
		{"Subject", subject, strings.TrimSpace(m.Subject)},
		{"User-Agent", msg.Header.Get("User-Agent"), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	for name, want := range map[string]netmail.Address{
		"From": {Name: m.FromName, Address: m.From}, "To": {Name: m.ToName, Address: m.To}, "Reply-To": {Address: m.ReplyTo},
	} {
		list, err := msg.Header.AddressList(name)
		if err != nil || len(list) != 1 || *list[0] != want {
			t.Errorf("%s = %v (%v), want %v", name, list, err, want)
		}
	}
	if _, err := msg.Header.Date(); err != nil {
		t.Errorf("Date: %v", err)
	}

	kind, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("Content-Type = %q (%v)", kind, err)
	}
	parts := multipart.NewReader(msg.Body, params["boundary"])
	for _, want := range []struct{ kind, body string }{{"text/plain; charset=UTF-8", m.Text}, {"text/html; charset=UTF-8", m.HTML}} {
		part, err := parts.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(string(body), "\r\n", "\n"); got != want.body || part.Header.Get("Content-Type") != want.kind {
			t.Errorf("%s: %q, want %s: %q", part.Header.Get("Content-Type"), got, want.kind, want.body)
		}
	}
	if _, err := parts.NextRawPart(); err != io.EOF {
		t.Errorf("there is a third part (%v)", err)
	}
}

func TestTheMessageIDIsTheSameOnEveryTry(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{Rules: []mailtest.Rule{{Phase: mailtest.End, Times: 1, Act: mailtest.AcceptDrop}}})
	p := pool(t, s)
	first := take(t, p).Send(soon(t), invitation(9))
	second := take(t, p).Send(soon(t), invitation(9))
	if first.Kind != mail.Unknown || second.Kind != mail.Delivered {
		t.Fatalf("%s, then %s; want unknown, then delivered", first.Kind, second.Kind)
	}
	messages := s.Messages()
	if len(messages) != 2 || messages[0].MessageID != messages[1].MessageID || messages[0].MessageID != "<outbox-9@acme.example>" {
		t.Errorf("journal = %+v", messages)
	}
}

// hostile values for everything that ends up in a header.
var hostile = []string{
	"x\r\nBcc: victim@example.net", "x\nBcc: victim@example.net", "x\rBcc: victim@example.net",
	"x\x00y", "x\x0b\x1b[2Jy", "x\u2028Bcc: victim@example.net", "x\u0085Bcc: v@example.net",
	"x\r\n\r\n<script>alert(1)</script>", "\u202Etxet", "\xff\xfe", `x" <victim@example.net>, "y`, "=?utf-8?q?x=0D=0ABcc:_v@example.net?=",
}

func TestNamesCannotBreakOutOfAHeader(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{})
	conn := take(t, pool(t, s))
	for i, evil := range hostile {
		m := invitation(int64(i + 1))
		m.FromName, m.ToName, m.Subject = evil, evil, evil
		m.Headers = map[string]string{"X-Reason": evil}
		if out := conn.Send(soon(t), m); out.Kind != mail.Delivered {
			t.Errorf("%q: Send() = %+v", evil, out)
		}
	}
	messages := s.Messages()
	if len(messages) != len(hostile) {
		t.Fatalf("%d arrived, want %d", len(messages), len(hostile))
	}
	for i, got := range messages {
		header := got.Header()
		if header.Get("Bcc") != "" || len(header["Subject"]) != 1 || len(got.To) != 1 {
			t.Errorf("%q: header %v", hostile[i], header)
		}
		for _, name := range []string{"From", "To"} {
			list, err := header.AddressList(name)
			if err != nil || len(list) != 1 || strings.Contains(list[0].Address, "victim") || strings.ContainsAny(list[0].Name, "\r\n\x00\x1b\u202E") {
				t.Errorf("%q: %s = %q (%v)", hostile[i], name, list, err)
			}
		}
		if _, body, _ := bytes.Cut(got.Raw, []byte("\n\n")); bytes.Contains(body, []byte("<script>")) {
			t.Errorf("%q reached the body", hostile[i])
		}
	}
}

func TestWhatIsRefusedBeforeTheServerHearsOfIt(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{})
	conn := take(t, pool(t, s))
	set := func(change func(*mail.Message)) mail.Message {
		m := invitation(1)
		change(&m)
		return m
	}
	for _, tt := range []struct {
		name string
		m    mail.Message
		kind mail.Kind
	}{
		{"a line end in the recipient", set(func(m *mail.Message) { m.To = "a@b.example>\r\nRCPT TO:<c@d.example" }), mail.Permanent},
		{"NUL in the recipient", set(func(m *mail.Message) { m.To = "a\x00@b.example" }), mail.Permanent},
		{"two recipients", set(func(m *mail.Message) { m.To = "a@b.example,c@d.example" }), mail.Permanent},
		{"a name in the recipient", set(func(m *mail.Message) { m.To = "Ana <a@b.example>" }), mail.Permanent},
		{"no recipient", set(func(m *mail.Message) { m.To = "" }), mail.Permanent},
		{"a recipient without a domain", set(func(m *mail.Message) { m.To = "ana" }), mail.Permanent},
		{"a quoted recipient", set(func(m *mail.Message) { m.To = `"a b"@c.example` }), mail.Permanent},
		{"a recipient that is too long", set(func(m *mail.Message) { m.To = strings.Repeat("a", 65) + "@b.example" }), mail.Permanent},
		{"a domain that is no name", set(func(m *mail.Message) { m.To = "a@\u00adé..example" }), mail.Permanent},
		{"a line end in the address for replies", set(func(m *mail.Message) { m.ReplyTo = "a@b.example\nBcc: c@d.example" }), mail.Permanent},
		{"no sender", set(func(m *mail.Message) { m.From = "" }), mail.SenderRefused},
		{"a line end in the sender", set(func(m *mail.Message) { m.From = "a@b.example\r\n" }), mail.SenderRefused},
		{"a line end in the address for bounces", set(func(m *mail.Message) { m.EnvelopeFrom = "a@b.example>\nRCPT" }), mail.SenderRefused},
		{"a header of ours", set(func(m *mail.Message) { m.Headers = map[string]string{"message-id": "<x@y>"} }), mail.Permanent},
		{"a header that makes another message", set(func(m *mail.Message) { m.Headers = map[string]string{"Content-Type": "text/html"} }), mail.Permanent},
		{"a header whose name has a line end", set(func(m *mail.Message) { m.Headers = map[string]string{"X\r\nBcc": "c@d.example"} }), mail.Permanent},
		{"no text", set(func(m *mail.Message) { m.Text = " \n" }), mail.Permanent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := conn.Send(soon(t), tt.m)
			if out.Kind != tt.kind || out.Phase != mail.PhaseMessage || out.Err == "" || out.Code != 0 {
				t.Errorf("Send() = %+v, want %s", out, tt.kind)
			}
		})
	}
	if !conn.Alive() {
		t.Error("the connection was closed over messages that never reached it")
	}
	for _, verb := range s.Verbs() {
		if verb == "MAIL" {
			t.Error("the server heard MAIL")
		}
	}
}

func TestInternationalAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		change   func(*mail.Message)
		noUTF8   bool
		kind     mail.Kind
		phase    mail.Phase
		enhanced string
		to       string
		asked    bool // for SMTPUTF8
	}{
		{"plain addresses do not ask for SMTPUTF8", func(m *mail.Message) {}, false, mail.Delivered, mail.PhaseEnd, "", "bruno@acme.example", false},
		{"a domain is sent in ASCII", func(m *mail.Message) { m.To = "bruno@ação.example" }, true, mail.Delivered, mail.PhaseEnd, "", "bruno@xn--ao-siap.example", false},
		{"a name before the @ needs SMTPUTF8", func(m *mail.Message) { m.To = "joão@acme.example" }, false, mail.Delivered, mail.PhaseEnd, "", "joão@acme.example", true},
		{"without it the recipient is refused for good", func(m *mail.Message) { m.To = "joão@acme.example" }, true, mail.Permanent, mail.PhaseRcpt, "5.6.7", "", false},
		{"without it our own address is our fault", func(m *mail.Message) { m.From = "avaliação@acme.example" }, true, mail.SenderRefused, mail.PhaseMail, "5.6.7", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := invitation(1)
			tt.change(&m)
			out, arrived := post(t, mailtest.Script{NoSMTPUTF8: tt.noUTF8}, m)
			if out.Kind != tt.kind || out.Phase != tt.phase || out.Enhanced != tt.enhanced {
				t.Fatalf("Send() = %+v", out)
			}
			if tt.kind != mail.Delivered {
				if len(arrived) != 0 || !strings.Contains(out.Err, "SMTPUTF8") {
					t.Errorf("%d arrived, words %q", len(arrived), out.Err)
				}
				return
			}
			if arrived[0].To[0] != tt.to || arrived[0].UTF8 != tt.asked {
				t.Errorf("arrived for %q, SMTPUTF8 %t; want %q, %t", arrived[0].To[0], arrived[0].UTF8, tt.to, tt.asked)
			}
		})
	}
}
