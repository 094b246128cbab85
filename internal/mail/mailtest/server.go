package mailtest

import (
	"context"
	"crypto/x509"
	"net"
	"slices"
	"testing"
)

// Server is a running mail server, here or in a process of its own.
type Server struct {
	addr    string
	certPEM []byte
	script  Script
	journal *journal
	replace func([]Rule) error
	stop    func()
	// Path is where the journal lies on disk; empty for a server in this process.
	Path string
}

// Start runs a server in this process until the test ends.
func Start(tb testing.TB, script Script) *Server {
	tb.Helper()
	j := newJournal()
	e, err := startEngine(script, j)
	if err != nil {
		tb.Fatalf("start the mail server: %v", err)
	}
	s := &Server{
		addr: e.listener.Addr().String(), certPEM: e.certPEM, script: script, journal: j,
		replace: func(rules []Rule) error { e.rules.replace(rules); return nil },
		stop:    e.stop,
	}
	tb.Cleanup(s.Stop)
	return s
}

// Stop takes the server down with every connection.
func (s *Server) Stop() { s.stop() }

// Addr is its host and port.
func (s *Server) Addr() string { return s.addr }

// URL is an SMTP_URL for it, signed in as one of its users when it has any.
func (s *Server) URL() string {
	scheme, user, options := "smtp://", "", ""
	switch s.script.TLS {
	case "implicit":
		scheme = "smtps://"
	case "starttls":
		options = "?tls=required"
	}
	for name, password := range s.script.Users {
		user = name + ":" + password + "@"
		break
	}
	return scheme + user + s.addr + options
}

// RootCAs trusts its certificate.
func (s *Server) RootCAs() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.certPEM)
	return pool
}

// Dial reaches the server whatever name is asked for.
func (s *Server) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, s.addr)
}

// SetRules replaces the faults, with their counts, from the next command on.
func (s *Server) SetRules(tb testing.TB, rules ...Rule) {
	tb.Helper()
	if err := s.replace(rules); err != nil {
		tb.Fatalf("tell the mail server its rules: %v", err)
	}
}

// Messages are the ones taken so far, in order.
func (s *Server) Messages() []Message { return s.journal.all() }

// WaitFor waits until at least n messages were taken, and returns all of them.
func (s *Server) WaitFor(ctx context.Context, n int) ([]Message, error) {
	err := s.journal.wait(ctx, "messages", func() bool { return len(s.journal.messages) >= n })
	return s.journal.all(), err
}

// WaitClosed waits until at least n connections have ended.
func (s *Server) WaitClosed(ctx context.Context, n int) error {
	return s.journal.wait(ctx, "closed connections", func() bool { return s.journal.closed >= n })
}

// WaitVerb waits until a command was received at least n times.
func (s *Server) WaitVerb(ctx context.Context, verb string, n int) error {
	return s.journal.wait(ctx, verb, func() bool { return count(s.journal.verbs, verb) >= n })
}

// Connections is how many were opened so far.
func (s *Server) Connections() int {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return s.journal.opened
}

// Verbs are the commands received so far, over all connections, in order.
func (s *Server) Verbs() []string {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return slices.Clone(s.journal.verbs)
}

func count(list []string, want string) (n int) {
	for _, s := range list {
		if s == want {
			n++
		}
	}
	return n
}
