package mail

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// Options are the limits of a pool. The zero value is what production uses.
type Options struct {
	MaxConnections int           // SMTP_MAX_CONNECTIONS; 8 when zero
	MaxMessages    int           // on one connection; 100 when zero
	IdleTimeout    time.Duration // an unused connection is closed after it; 30 s when zero
	SendTimeout    time.Duration // the hard deadline of one message; 45 s when zero
	ConnectTimeout time.Duration // dial, TLS and AUTH together; 15 s when zero
	RootCAs        *x509.CertPool
	// Dial replaces the network's own dialler, for tests that need a server
	// under a name that is not loopback.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// ErrPoolClosed answers Get after Close.
var ErrPoolClosed = errors.New("the mail pool is closed")

// probeAfter is how long a connection may lie unused before Get asks the server
// whether it is still there. Within a slice it never does.
const probeAfter = time.Second

// Pool keeps connections to one mail server, signed in and ready, across slices.
// It never holds more than MaxConnections open, used and unused together.
type Pool struct {
	server  Server
	options Options
	slots   chan struct{}

	mu     sync.Mutex
	idle   []*session // the most recently used last
	closed bool
}

// NewPool dials nothing yet.
func NewPool(server Server, options Options) *Pool {
	if options.MaxConnections <= 0 {
		options.MaxConnections = 8
	}
	if options.MaxMessages <= 0 {
		options.MaxMessages = 100
	}
	if options.IdleTimeout <= 0 {
		options.IdleTimeout = 30 * time.Second
	}
	if options.SendTimeout <= 0 {
		options.SendTimeout = 45 * time.Second
	}
	if options.ConnectTimeout <= 0 {
		options.ConnectTimeout = 15 * time.Second
	}
	if options.Dial == nil {
		options.Dial = (&net.Dialer{}).DialContext
	}
	if server.Helo == "" {
		server.Helo = "localhost"
		if name, err := os.Hostname(); err == nil && isHostname(name) {
			server.Helo = name
		}
	}
	return &Pool{server: server, options: options, slots: make(chan struct{}, options.MaxConnections)}
}

// Get gives a connection that is open and signed in, waiting for a free one as
// long as ctx allows. It is called before a row is claimed, so that a mail
// server that is down costs no message a try. It fails with a *ConnectError, or
// with ctx's own error. Every Conn must be released.
func (p *Pool) Get(ctx context.Context) (*Conn, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a mail connection: %w", ctx.Err())
	}
	s, err := p.ready(ctx)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return &Conn{pool: p, session: s}, nil
}

// Close closes what is unused now, and what is in use once it is released.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, s := range idle {
		s.expiry.Stop()
		s.quit()
	}
}

// ready takes the most recently used connection that still answers, or dials.
func (p *Pool) ready(ctx context.Context) (*session, error) {
	for {
		s, found, err := p.take()
		switch {
		case err != nil:
			return nil, err
		case !found:
			return p.dial(ctx)
		}
		if time.Since(s.lastUsed) < probeAfter || s.probe(ctx) {
			return s, nil
		}
		s.drop()
	}
}

// take removes the most recently used connection from the idle ones, if any.
func (p *Pool) take() (s *session, found bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, ErrPoolClosed
	}
	n := len(p.idle)
	if n == 0 {
		return nil, false, nil
	}
	s = p.idle[n-1]
	p.idle = p.idle[:n-1]
	s.expiry.Stop()
	s.reused = true
	return s, true, nil
}

// put gives a connection back, or closes it when it has done its share. The slot
// goes last: while it is held, nobody dials in the connection's place.
func (p *Pool) put(s *session) {
	defer func() { <-p.slots }()
	if s == nil {
		return
	}
	s.lastUsed = time.Now()
	p.mu.Lock()
	keep := !p.closed && s.sent < p.options.MaxMessages
	if keep {
		s.expiry = time.AfterFunc(p.options.IdleTimeout, func() { p.expire(s) })
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	if !keep {
		s.quit()
	}
}

// expire closes a connection that nobody wanted for too long. If somebody took
// it at this very moment it is no longer among the idle ones, and stays.
func (p *Pool) expire(s *session) {
	p.mu.Lock()
	found := false
	for i, other := range p.idle {
		if other == s {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			found = true
			break
		}
	}
	p.mu.Unlock()
	if found {
		s.quit()
	}
}
