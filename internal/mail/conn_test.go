package mail_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ciclo/internal/mail"
	"ciclo/internal/mail/mailtest"
)

// patience bounds every wait for a signal; nothing here takes that long.
const patience = 20 * time.Second

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// pool connects to the server as its URL says.
func pool(t *testing.T, s *mailtest.Server, change ...func(*mail.Options)) *mail.Pool {
	t.Helper()
	server, err := mail.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	options := mail.Options{RootCAs: s.RootCAs(), SendTimeout: 10 * time.Second}
	for _, c := range change {
		c(&options)
	}
	p := mail.NewPool(server, options)
	t.Cleanup(p.Close)
	return p
}

func take(t *testing.T, p *mail.Pool) *mail.Conn {
	t.Helper()
	conn, err := p.Get(soon(t))
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	t.Cleanup(conn.Release)
	return conn
}

func invitation(id int64) mail.Message {
	return mail.Message{
		ID: id, From: "rh@acme.example", FromName: "Acme", To: "bruno@acme.example", ToName: "Bruno Sá",
		Subject: "Avaliação", Text: "Olá, Bruno.\n", HTML: "<p>Olá, Bruno.</p>",
	}
}

func briefly(o *mail.Options) { o.SendTimeout = 300 * time.Millisecond }

func TestOneMessage(t *testing.T) {
	t.Parallel()
	type rules = []mailtest.Rule
	for _, tt := range []struct {
		name     string
		rules    rules
		options  func(*mail.Options)
		kind     mail.Kind
		phase    mail.Phase
		code     int
		enhanced string
		words    string
		taken    int
		alive    bool // the connection may be used again
	}{
		{"an ordinary message is delivered", nil, nil,
			mail.Delivered, mail.PhaseEnd, 250, "", "", 1, true},

		{"a sender refused is our fault", rules{{Phase: mailtest.Mail, Reply: "550 5.7.1 Sender denied"}}, nil,
			mail.SenderRefused, mail.PhaseMail, 550, "5.7.1", "550 5.7.1 Sender denied", 0, false},
		{"a sender put off is our fault", rules{{Phase: mailtest.Mail, Reply: "451 4.3.2 Later"}}, nil,
			mail.Unavailable, mail.PhaseMail, 451, "4.3.2", "451 4.3.2 Later", 0, false},
		{"421 at the sender of a new connection is our fault", rules{{Phase: mailtest.Mail, Reply: "421 4.3.2 Closing"}}, nil,
			mail.Unavailable, mail.PhaseMail, 421, "4.3.2", "421 4.3.2 Closing", 0, false},
		{"a connection that breaks at the sender is our fault", rules{{Phase: mailtest.Mail, Act: mailtest.Drop}}, nil,
			mail.Unavailable, mail.PhaseMail, 0, "", "the mail server closed the connection", 0, false},
		{"silence at the sender is our fault", rules{{Phase: mailtest.Mail, Act: mailtest.Stall}}, briefly,
			mail.Unavailable, mail.PhaseMail, 0, "", "no answer from the mail server in time", 0, false},

		{"greylisting is temporary", rules{{Phase: mailtest.Rcpt, Reply: "450 4.7.1 Greylisted"}}, nil,
			mail.Temporary, mail.PhaseRcpt, 450, "4.7.1", "450 4.7.1 Greylisted", 0, false},
		{"421 at the recipient is temporary", rules{{Phase: mailtest.Rcpt, Reply: "421 4.7.0 Slow down"}}, nil,
			mail.Temporary, mail.PhaseRcpt, 421, "4.7.0", "421 4.7.0 Slow down", 0, false},
		{"an unknown recipient is permanent", rules{{Phase: mailtest.Rcpt, Reply: "550 5.1.1 No such\nuser here"}}, nil,
			mail.Permanent, mail.PhaseRcpt, 550, "5.1.1", "550 5.1.1 No such user here", 0, false},
		{"a reply without an enhanced code", rules{{Phase: mailtest.Rcpt, Reply: "553 Not here"}}, nil,
			mail.Permanent, mail.PhaseRcpt, 553, "", "553 Not here", 0, false},
		{"a connection that breaks at the recipient is temporary", rules{{Phase: mailtest.Rcpt, Act: mailtest.Drop}}, nil,
			mail.Temporary, mail.PhaseRcpt, 0, "", "the mail server closed the connection", 0, false},
		{"silence at the recipient is temporary", rules{{Phase: mailtest.Rcpt, Act: mailtest.Stall}}, briefly,
			mail.Temporary, mail.PhaseRcpt, 0, "", "no answer from the mail server in time", 0, false},

		{"DATA put off is temporary", rules{{Phase: mailtest.Data, Reply: "452 4.3.1 Disk full"}}, nil,
			mail.Temporary, mail.PhaseData, 452, "4.3.1", "452 4.3.1 Disk full", 0, false},
		{"DATA refused is permanent", rules{{Phase: mailtest.Data, Reply: "554 5.5.1 No"}}, nil,
			mail.Permanent, mail.PhaseData, 554, "5.5.1", "554 5.5.1 No", 0, false},
		{"the whole message put off is temporary", rules{{Phase: mailtest.End, Reply: "451 4.7.1 Try again"}}, nil,
			mail.Temporary, mail.PhaseEnd, 451, "4.7.1", "451 4.7.1 Try again", 0, false},
		{"the whole message refused is permanent", rules{{Phase: mailtest.End, Reply: "554 5.7.1 Spam"}}, nil,
			mail.Permanent, mail.PhaseEnd, 554, "5.7.1", "554 5.7.1 Spam", 0, false},

		{"a drop after the full stop is unknown", rules{{Phase: mailtest.End, Act: mailtest.Drop}}, nil,
			mail.Unknown, mail.PhaseEnd, 0, "", "the mail server closed the connection", 0, false},
		{"a message taken, then a drop before the 250, is unknown", rules{{Phase: mailtest.End, Act: mailtest.AcceptDrop}}, nil,
			mail.Unknown, mail.PhaseEnd, 0, "", "the mail server closed the connection", 1, false},
		{"silence after the full stop is unknown", rules{{Phase: mailtest.End, Act: mailtest.Stall}}, briefly,
			mail.Unknown, mail.PhaseEnd, 0, "", "no answer from the mail server in time", 0, false},

		{"250, then RSET refused, is delivered", rules{{Phase: mailtest.Rset, Reply: "421 4.3.0 Enough"}}, nil,
			mail.Delivered, mail.PhaseEnd, 250, "", "", 1, false},
		{"250, then a drop, is delivered", rules{{Phase: mailtest.Rset, Act: mailtest.Drop}}, nil,
			mail.Delivered, mail.PhaseEnd, 250, "", "", 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := mailtest.Start(t, mailtest.Script{Rules: tt.rules})
			p := pool(t, s)
			if tt.options != nil {
				p = pool(t, s, tt.options)
			}
			conn := take(t, p)
			out := conn.Send(soon(t), invitation(7))
			if out.Took <= 0 || out.Took > patience {
				t.Errorf("Took = %s", out.Took)
			}
			out.Took = 0
			want := mail.Outcome{Kind: tt.kind, Phase: tt.phase, Code: tt.code, Enhanced: tt.enhanced, Err: tt.words}
			if out != want {
				t.Errorf("Send() = %+v, want %+v", out, want)
			}
			if got := len(s.Messages()); got != tt.taken {
				t.Errorf("the server took %d messages, want %d", got, tt.taken)
			}
			if conn.Alive() != tt.alive {
				t.Errorf("Alive() = %t, want %t", conn.Alive(), tt.alive)
			}
		})
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	type rules = []mailtest.Rule
	users := map[string]string{"ciclo": "s3cret-word"}
	for _, tt := range []struct {
		name   string
		script mailtest.Script
		kind   mail.Kind
		phase  mail.Phase
		code   int
		words  string
	}{
		{"421 in the place of a greeting", mailtest.Script{Rules: rules{{Phase: mailtest.Connect, Reply: "421 4.3.2 Down"}}},
			mail.Unavailable, mail.PhaseConnect, 421, "421 4.3.2 Down"},
		{"554 in the place of a greeting", mailtest.Script{Rules: rules{{Phase: mailtest.Connect, Reply: "554 5.7.1 Blocked"}}},
			mail.Unavailable, mail.PhaseConnect, 554, "554 5.7.1 Blocked"},
		{"closed at once", mailtest.Script{Rules: rules{{Phase: mailtest.Connect, Act: mailtest.Drop}}},
			mail.Unavailable, mail.PhaseConnect, 0, "the mail server closed the connection"},
		{"no greeting", mailtest.Script{Rules: rules{{Phase: mailtest.Connect, Act: mailtest.Stall}}},
			mail.Unavailable, mail.PhaseConnect, 0, "no answer from the mail server in time"},
		{"EHLO put off", mailtest.Script{Rules: rules{{Phase: mailtest.Ehlo, Reply: "421 4.3.2 Busy"}}},
			mail.Unavailable, mail.PhaseConnect, 421, "421 4.3.2 Busy"},
		{"STARTTLS put off", mailtest.Script{TLS: "starttls", Rules: rules{{Phase: mailtest.StartTLS, Reply: "454 4.7.0 No TLS now"}}},
			mail.Unavailable, mail.PhaseTLS, 454, "454 4.7.0 No TLS now"},
		{"sign-in refused", mailtest.Script{Users: users, Rules: rules{{Phase: mailtest.Auth, Reply: "535 5.7.8 Bad credentials"}}},
			mail.SenderRefused, mail.PhaseAuth, 535, "535 5.7.8 Bad credentials"},
		{"sign-in refused by a server that repeats the password", mailtest.Script{Users: users, Rules: rules{{Phase: mailtest.Auth, Reply: "535 5.7.8 s3cret-word AGNpY2xvAHMzY3JldC13b3Jk"}}},
			mail.SenderRefused, mail.PhaseAuth, 535, "535 5.7.8 *** ***"},
		{"sign-in put off", mailtest.Script{Users: users, Rules: rules{{Phase: mailtest.Auth, Reply: "454 4.7.0 Directory down"}}},
			mail.Unavailable, mail.PhaseAuth, 454, "454 4.7.0 Directory down"},
		{"a way of signing in that we do not know", mailtest.Script{Users: users, Mechanisms: []string{"GSSAPI"}},
			mail.Unavailable, mail.PhaseAuth, 0, "the mail server offers no way of signing in that we know"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := mailtest.Start(t, tt.script)
			p := pool(t, s, func(o *mail.Options) { o.ConnectTimeout = time.Second })
			_, err := p.Get(soon(t))
			failed, ok := err.(*mail.ConnectError)
			if !ok {
				t.Fatalf("Get() = %v, want a *ConnectError", err)
			}
			want := mail.Outcome{Kind: tt.kind, Phase: tt.phase, Code: tt.code, Enhanced: failed.Outcome.Enhanced, Err: tt.words}
			if failed.Outcome != want {
				t.Errorf("outcome = %+v, want %+v", failed.Outcome, want)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, failed.Outcome), "s3cret") {
				t.Error("the password is in the error")
			}
			if got := len(s.Messages()); got != 0 {
				t.Errorf("the server took %d messages", got)
			}
		})
	}
}

func TestAServerThatIsDown(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{})
	p := pool(t, s)
	s.Stop()
	_, err := p.Get(soon(t))
	failed, ok := err.(*mail.ConnectError)
	if !ok || failed.Outcome.Kind != mail.Unavailable || failed.Outcome.Phase != mail.PhaseConnect {
		t.Fatalf("Get() = %v, want unavailable at connect", err)
	}
}

// A reused connection may have died in the meantime. That costs the message
// nothing, as long as its sender was not yet accepted.
func TestAReusedConnectionThatDied(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		rule  mailtest.Rule
		kind  mail.Kind
		conns int
	}{
		{"421 dials again", mailtest.Rule{Phase: mailtest.Mail, Times: 1, Reply: "421 4.4.2 Idle"}, mail.Delivered, 2},
		{"end of file dials again", mailtest.Rule{Phase: mailtest.Mail, Times: 1, Act: mailtest.Drop}, mail.Delivered, 2},
		{"only once", mailtest.Rule{Phase: mailtest.Mail, Reply: "421 4.4.2 Idle"}, mail.Unavailable, 2},
		{"another 4xx does not", mailtest.Rule{Phase: mailtest.Mail, Reply: "451 4.3.0 Later"}, mail.Unavailable, 1},
		{"a refusal does not", mailtest.Rule{Phase: mailtest.Mail, Reply: "550 5.7.1 No"}, mail.SenderRefused, 1},
		{"a drop after the sender does not", mailtest.Rule{Phase: mailtest.Rcpt, Act: mailtest.Drop}, mail.Temporary, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := mailtest.Start(t, mailtest.Script{})
			conn := take(t, pool(t, s))
			if out := conn.Send(soon(t), invitation(1)); out.Kind != mail.Delivered {
				t.Fatalf("first message: %+v", out)
			}
			s.SetRules(t, tt.rule)
			out := conn.Send(soon(t), invitation(2))
			if out.Kind != tt.kind {
				t.Errorf("second message: %+v, want %s", out, tt.kind)
			}
			if got := s.Connections(); got != tt.conns {
				t.Errorf("%d connections, want %d", got, tt.conns)
			}
			want := 1
			if tt.kind == mail.Delivered {
				want = 2
			}
			if got := len(s.Messages()); got != want {
				t.Errorf("the server took %d messages, want %d", got, want)
			}
		})
	}
}

func TestARedialThatFails(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{})
	conn := take(t, pool(t, s))
	conn.Send(soon(t), invitation(1))
	s.SetRules(t,
		mailtest.Rule{Phase: mailtest.Mail, Reply: "421 4.4.2 Idle"},
		mailtest.Rule{Phase: mailtest.Connect, Reply: "421 4.3.2 Down"})
	out := conn.Send(soon(t), invitation(2))
	if out.Kind != mail.Unavailable || out.Phase != mail.PhaseConnect || out.Code != 421 {
		t.Errorf("Send() = %+v, want unavailable at connect", out)
	}
	s.SetRules(t)
	if out := conn.Send(soon(t), invitation(2)); out.Kind != mail.Delivered {
		t.Errorf("Send() after the outage = %+v, want delivered", out)
	}
}

// A message bigger than what fits between us and a server that hangs up in the
// middle of it: it was never taken, so it is not unknown.
func TestAServerThatHangsUpInTheBody(t *testing.T) {
	t.Parallel()
	big := invitation(1)
	big.Text = strings.Repeat("Uma linha de texto que se repete.\n", 1<<16)
	s := mailtest.Start(t, mailtest.Script{Rules: []mailtest.Rule{{Phase: mailtest.Body, Act: mailtest.Drop}}})
	narrow := func(o *mail.Options) {
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := s.Dial(ctx, network, addr)
			if err == nil {
				err = conn.(*net.TCPConn).SetWriteBuffer(4096)
			}
			return conn, err
		}
	}
	out := take(t, pool(t, s, narrow)).Send(soon(t), big)
	if out.Kind != mail.Temporary || out.Phase != mail.PhaseData {
		t.Errorf("Send() = %+v, want temporary at data", out)
	}
}

func TestStoppingInTime(t *testing.T) {
	t.Parallel()
	t.Run("before the sender is accepted, nothing is handed over", func(t *testing.T) {
		t.Parallel()
		s := mailtest.Start(t, mailtest.Script{Rules: []mailtest.Rule{{Phase: mailtest.Mail, Act: mailtest.Stall}}})
		conn := take(t, pool(t, s))
		ctx, cancel := context.WithCancel(soon(t))
		outcome := make(chan mail.Outcome, 1)
		go func() { outcome <- conn.Send(ctx, invitation(1)) }()
		if err := s.WaitVerb(soon(t), "MAIL", 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		if out := <-outcome; out.Kind != mail.Unavailable || out.Err != "context canceled" {
			t.Errorf("Send() = %+v, want unavailable", out)
		}
	})
	t.Run("afterwards, the message is let run to its end", func(t *testing.T) {
		t.Parallel()
		s := mailtest.Start(t, mailtest.Script{Latency: 200 * time.Millisecond})
		conn := take(t, pool(t, s))
		ctx, cancel := context.WithCancel(soon(t))
		outcome := make(chan mail.Outcome, 1)
		go func() { outcome <- conn.Send(ctx, invitation(1)) }()
		if _, err := s.WaitFor(soon(t), 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		if out := <-outcome; out.Kind != mail.Delivered {
			t.Errorf("Send() = %+v, want delivered", out)
		}
	})
}

func TestLongWordsFromTheServer(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{Rules: []mailtest.Rule{{Phase: mailtest.Rcpt, Reply: "550 5.1.1 " + strings.Repeat("não\x00\xff ", 1000)}}})
	out := take(t, pool(t, s)).Send(soon(t), invitation(1))
	if out.Kind != mail.Permanent || len(out.Err) > 2000 || strings.ContainsAny(out.Err, "\x00\r\n") || !utf8.ValidString(out.Err) {
		t.Errorf("Send() = %s, %d bytes of words", out.Kind, len(out.Err))
	}
}
