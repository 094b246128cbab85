package mail

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// session is one SMTP connection, greeted, encrypted and signed in.
//
// It speaks through go-mail's smtp package and not through go-mail's Client: a
// message's fate depends on the very step that failed, and Client's SendError
// reports an RSET that failed after the 250 in the same way as a refusal, sends
// RSET into a connection that has just said 421, and turns a broken connection
// into "no active connection" before MAIL FROM, without the server's words.
type session struct {
	client *smtp.Client
	// raw carries the deadlines: the client's own are set under a lock that a
	// read in progress holds.
	raw      net.Conn
	sent     int
	reused   bool // it was given back once, or has carried a message
	lastUsed time.Time
	expiry   *time.Timer
}

// How long we wait for answers that change nothing any more.
const (
	probeTimeout  = 5 * time.Second
	farewellDelay = 2 * time.Second
)

var longAgo = time.Unix(1, 0)

// dial opens a connection and brings it to where MAIL FROM may follow.
func (p *Pool) dial(ctx context.Context) (*session, error) {
	within, cancel := context.WithTimeout(ctx, p.options.ConnectTimeout)
	defer cancel()
	s, phase, err := p.open(within)
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("connect to the mail server: %w", ctx.Err())
	}
	out := judge(phase, err)
	out.Err = p.server.scrub(out.Err)
	return nil, &ConnectError{Outcome: out, cause: err}
}

// open is dial's conversation; the phase says where it stopped.
func (p *Pool) open(ctx context.Context) (_ *session, phase Phase, err error) {
	raw, err := p.options.Dial(ctx, "tcp", p.server.Addr())
	if err != nil {
		return nil, PhaseConnect, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(longAgo) })
	defer func() {
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			_ = raw.Close()
		}
	}()

	encrypted := false
	if p.server.Loopback() && !isLoopback(raw.RemoteAddr()) {
		return nil, PhaseConnect, errors.New("the name of a loopback server led to another machine")
	}
	config := &tls.Config{ServerName: p.server.Host, RootCAs: p.options.RootCAs, MinVersion: tls.VersionTLS12}
	carrier := raw
	if p.server.ImplicitTLS {
		secure := tls.Client(raw, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, PhaseTLS, err
		}
		carrier, encrypted = secure, true
	}
	client, err := smtp.NewClient(carrier, p.server.Host)
	if err != nil {
		return nil, PhaseConnect, err
	}
	if err := client.Hello(p.server.Helo); err != nil {
		return nil, PhaseConnect, err
	}
	if !encrypted && (p.server.RequireTLS || !p.server.Loopback()) {
		if offered, _ := client.Extension("STARTTLS"); !offered {
			return nil, PhaseTLS, errors.New("the mail server does not offer STARTTLS, and mail leaves this machine only encrypted")
		}
		if err := client.StartTLS(config); err != nil {
			return nil, PhaseTLS, err
		}
	}
	if err := p.server.signIn(client); err != nil {
		return nil, PhaseAuth, err
	}
	return &session{client: client, raw: raw, lastUsed: time.Now()}, "", nil
}

// signIn authenticates when SMTP_URL has a user. Without TLS we only get here
// on loopback, so the password is never in clear on a wire.
func (s Server) signIn(client *smtp.Client) error {
	if s.User == "" {
		return nil
	}
	offered, list := client.Extension("AUTH")
	if !offered {
		return errors.New("the mail server offers no sign-in, and SMTP_URL has a user")
	}
	mechanisms := strings.Fields(strings.ToUpper(list))
	for _, try := range []struct {
		name string
		auth smtp.Auth
	}{
		{"PLAIN", smtp.PlainAuth("", s.User, s.password, s.Host, true)},
		{"LOGIN", smtp.LoginAuth(s.User, s.password, s.Host, true)},
		{"SCRAM-SHA-256", smtp.ScramSHA256Auth(s.User, s.password)},
		{"SCRAM-SHA-1", smtp.ScramSHA1Auth(s.User, s.password)},
		{"CRAM-MD5", smtp.CRAMMD5Auth(s.User, s.password)},
	} {
		if slices.Contains(mechanisms, try.name) {
			return client.Auth(try.auth)
		}
	}
	return errors.New("the mail server offers no way of signing in that we know")
}

// scrub takes the password out of a server's words, should it have echoed it.
func (s Server) scrub(text string) string {
	if s.password == "" {
		return text
	}
	encode := base64.StdEncoding.EncodeToString
	return strings.NewReplacer(
		encode([]byte("\x00"+s.User+"\x00"+s.password)), "***",
		encode([]byte(s.password)), "***",
		s.password, "***",
	).Replace(text)
}

// probe asks whether the server is still there.
func (s *session) probe(ctx context.Context) bool {
	_ = s.raw.SetDeadline(time.Now().Add(probeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = s.raw.SetDeadline(longAgo) })
	defer stop()
	return s.client.Noop() == nil && ctx.Err() == nil
}

// quit says goodbye and closes; what the server answers does not matter.
func (s *session) quit() {
	_ = s.raw.SetDeadline(time.Now().Add(farewellDelay))
	_ = s.client.Quit()
	_ = s.raw.Close()
}

// drop closes a connection that cannot be trusted any more.
func (s *session) drop() { _ = s.raw.Close() }

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
