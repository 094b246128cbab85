package mail_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ciclo/internal/mail"
	"ciclo/internal/mail/mailtest"
)

func deliver(t *testing.T, p *mail.Pool, id int64) {
	t.Helper()
	conn, err := p.Get(soon(t))
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	defer conn.Release()
	if out := conn.Send(soon(t), invitation(id)); out.Kind != mail.Delivered {
		t.Fatalf("Send() = %+v", out)
	}
}

func TestAConnectionIsKept(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{})
	p := pool(t, s)
	for id := range int64(20) {
		deliver(t, p, id+1)
	}
	if got := s.Connections(); got != 1 {
		t.Errorf("%d connections for 20 messages, want 1", got)
	}
}

func TestAConnectionCarriesSoManyMessages(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{})
	p := pool(t, s)
	for id := range int64(201) {
		deliver(t, p, id+1)
	}
	if got := s.Connections(); got != 3 {
		t.Errorf("%d connections for 201 messages, want 3", got)
	}
	if err := s.WaitClosed(soon(t), 2); err != nil {
		t.Error(err)
	}
}

func TestAServerThatClosesAfterSoManyMessages(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{MaxPerConnection: 3})
	p := pool(t, s)
	for id := range int64(10) {
		deliver(t, p, id+1)
	}
	if got := s.Connections(); got != 4 {
		t.Errorf("%d connections for 10 messages at 3 each, want 4", got)
	}
}

func TestAnIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{})
	p := pool(t, s, func(o *mail.Options) { o.IdleTimeout = 50 * time.Millisecond })
	deliver(t, p, 1)
	if err := s.WaitVerb(soon(t), "QUIT", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitClosed(soon(t), 1); err != nil {
		t.Fatal(err)
	}
	deliver(t, p, 2)
	if got := s.Connections(); got != 2 {
		t.Errorf("%d connections, want 2", got)
	}
}

// D18: delivered once, and the next message does not meet the broken connection.
func TestAfterAFailedResetTheNextMessageHasANewConnection(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{Rules: []mailtest.Rule{{Phase: mailtest.Rset, Times: 1, Act: mailtest.Drop}}})
	p := pool(t, s)
	deliver(t, p, 1)
	deliver(t, p, 2)
	messages := s.Messages()
	if len(messages) != 2 || messages[0].Conn != 1 || messages[1].Conn != 2 {
		t.Errorf("journal = %+v, want one message on each of two connections", messages)
	}
}

// A connection that the server closed while nobody used it is noticed before a
// row is claimed for it.
func TestGetNoticesAServerThatWentAway(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{})
	p := pool(t, s)
	deliver(t, p, 1)
	s.Stop()
	mail.Age(p, time.Minute)
	_, err := p.Get(soon(t))
	if failed, ok := err.(*mail.ConnectError); !ok || failed.Outcome.Kind != mail.Unavailable {
		t.Errorf("Get() = %v, want unavailable", err)
	}
}

func TestNoMoreConnectionsThanAllowed(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{MaxConnections: 3, Latency: time.Millisecond})
	p := pool(t, s, func(o *mail.Options) { o.MaxConnections, o.MaxMessages = 3, 7 })
	var wg sync.WaitGroup
	for worker := range int64(12) {
		wg.Go(func() {
			for n := range int64(10) {
				conn, err := p.Get(soon(t))
				if err != nil {
					t.Errorf("Get: %v", err)
					return
				}
				if out := conn.Send(soon(t), invitation(worker*10+n+1)); out.Kind != mail.Delivered {
					t.Errorf("Send() = %+v", out)
				}
				conn.Release()
			}
		})
	}
	wg.Wait()
	if got := len(s.Messages()); got != 120 {
		t.Errorf("the server took %d messages, want 120", got)
	}
}

func TestWaitingForAConnectionEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{})
	p := pool(t, s, func(o *mail.Options) { o.MaxConnections = 1 })
	held := take(t, p)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Get() = %v, want context canceled", err)
	}
	held.Release()
	held.Release() // a second time changes nothing
	deliver(t, p, 1)
	if out := held.Send(soon(t), invitation(2)); out.Kind != mail.Unavailable {
		t.Errorf("Send() on a released connection = %+v", out)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Script{})
	p := pool(t, s)
	busy := take(t, p)
	deliver(t, p, 1)
	p.Close()
	if out := busy.Send(soon(t), invitation(2)); out.Kind != mail.Delivered {
		t.Errorf("Send() during Close = %+v: what is in flight ends", out)
	}
	busy.Release()
	if err := s.WaitClosed(soon(t), 2); err != nil {
		t.Error(err)
	}
	if _, err := p.Get(soon(t)); !errors.Is(err, mail.ErrPoolClosed) {
		t.Errorf("Get() after Close = %v", err)
	}
}

func TestEncryptionAndSignIn(t *testing.T) {
	t.Parallel()
	users := map[string]string{"ciclo": "s3cret-word"}
	for _, tt := range []struct {
		name   string
		script mailtest.Script
	}{
		{"STARTTLS and PLAIN", mailtest.Script{TLS: "starttls", Users: users}},
		{"TLS from the start and LOGIN", mailtest.Script{TLS: "implicit", Users: users, Mechanisms: []string{"LOGIN"}}},
		{"TLS from the start", mailtest.Script{TLS: "implicit"}},
		{"sign-in on loopback", mailtest.Script{Users: users}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := mailtest.Start(t, tt.script)
			deliver(t, pool(t, s), 1)
			m := s.Messages()[0]
			if m.TLS != (tt.script.TLS != "") {
				t.Errorf("encrypted = %t", m.TLS)
			}
			if m.User != "" != (len(users) > 0 && tt.script.Users != nil) {
				t.Errorf("signed in as %q", m.User)
			}
		})
	}
	t.Run("a certificate that nobody vouches for is refused", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []string{"starttls", "implicit"} {
			s := mailtest.Start(t, mailtest.Script{TLS: kind})
			p := pool(t, s, func(o *mail.Options) { o.RootCAs = nil })
			_, err := p.Get(soon(t))
			if failed, ok := err.(*mail.ConnectError); !ok || failed.Outcome.Phase != mail.PhaseTLS || failed.Outcome.Kind != mail.Unavailable {
				t.Errorf("%s: Get() = %v, want unavailable at TLS", kind, err)
			}
		}
	})
}

// Other machines: the test server under a name that is not loopback.
func TestAnotherMachineIsSpokenToOnlyEncrypted(t *testing.T) {
	t.Parallel()
	elsewhere := func(t *testing.T, s *mailtest.Server, url string) *mail.Pool {
		server, err := mail.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		p := mail.NewPool(server, mail.Options{RootCAs: s.RootCAs(), Dial: s.Dial})
		t.Cleanup(p.Close)
		return p
	}
	url := fmt.Sprintf("smtp://ciclo:s3cret-word@%s:587", mailtest.Host)
	users := map[string]string{"ciclo": "s3cret-word"}

	t.Run("without STARTTLS nothing is said", func(t *testing.T) {
		t.Parallel()
		s := mailtest.Start(t, mailtest.Script{Users: users})
		_, err := elsewhere(t, s, url).Get(soon(t))
		if failed, ok := err.(*mail.ConnectError); !ok || failed.Outcome.Phase != mail.PhaseTLS {
			t.Errorf("Get() = %v, want a refusal at TLS", err)
		}
		if verbs := strings.Join(s.Verbs(), " "); strings.Contains(verbs, "AUTH") || strings.Contains(verbs, "MAIL") {
			t.Errorf("the server heard %s", verbs)
		}
	})
	t.Run("with STARTTLS it is", func(t *testing.T) {
		t.Parallel()
		s := mailtest.Start(t, mailtest.Script{TLS: "starttls", Users: users})
		deliver(t, elsewhere(t, s, url), 1)
		if m := s.Messages()[0]; !m.TLS || m.User != "ciclo" {
			t.Errorf("encrypted = %t, user %q", m.TLS, m.User)
		}
	})
	t.Run("a certificate for another name is refused", func(t *testing.T) {
		t.Parallel()
		s := mailtest.Start(t, mailtest.Script{TLS: "starttls"})
		_, err := elsewhere(t, s, "smtp://relay.example.test").Get(soon(t))
		if failed, ok := err.(*mail.ConnectError); !ok || failed.Outcome.Phase != mail.PhaseTLS {
			t.Errorf("Get() = %v, want a refusal at TLS", err)
		}
	})
}
