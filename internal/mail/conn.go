package mail

import (
	"context"
	"errors"
	"net"
	"net/textproto"
	"time"
)

// Conn is a connection on loan from a Pool: one Get, as many Sends as there are
// rows, one Release. It belongs to one goroutine.
type Conn struct {
	pool     *Pool
	session  *session // nil once the connection had to be closed
	released bool
}

// Send hands one message over and says what came of it, within the pool's hard
// deadline (and ctx's, when that is earlier).
//
// Cancelling ctx stops a message only until the server has accepted MAIL FROM;
// from then on it is let run to its end, because stopping in the middle would
// leave a message of which nobody knows whether it was taken.
//
// The connection is closed after anything but a plain delivery: a server counts
// refusals per connection and grows slower with each. The next Send, or the next
// Get, dials a new one.
func (c *Conn) Send(ctx context.Context, m Message) Outcome {
	started := time.Now()
	out := c.send(ctx, m, started.Add(c.pool.options.SendTimeout))
	if out.Kind != Delivered {
		out.Err = c.pool.server.scrub(out.Err)
	}
	out.Took = time.Since(started)
	return out
}

// Alive reports whether the connection can take another message without dialling.
func (c *Conn) Alive() bool { return !c.released && c.session != nil }

// Release gives the connection back. Further calls do nothing.
func (c *Conn) Release() {
	if c.released {
		return
	}
	c.released = true
	c.pool.put(c.session)
	c.session = nil
}

func (c *Conn) send(ctx context.Context, m Message, deadline time.Time) Outcome {
	if c.released {
		return Outcome{Kind: Unavailable, Phase: PhaseConnect, Err: "the connection was already given back"}
	}
	letter, refusal := compose(m)
	if refusal != nil {
		return *refusal
	}
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if c.session == nil {
		if out, ok := c.redial(ctx, deadline); !ok {
			return out
		}
	}
	out, again := c.try(ctx, letter, deadline)
	if again {
		// A server may close a connection that lay unused whenever it likes. That
		// is no fault of the message, and costs it no try.
		if out, ok := c.redial(ctx, deadline); !ok {
			return out
		}
		out, _ = c.try(ctx, letter, deadline)
	}
	return out
}

// redial replaces the connection within the message's own deadline.
func (c *Conn) redial(ctx context.Context, deadline time.Time) (Outcome, bool) {
	within, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	s, err := c.pool.dial(within)
	if err != nil {
		var failed *ConnectError
		if errors.As(err, &failed) {
			return failed.Outcome, false
		}
		return judge(PhaseConnect, err), false
	}
	c.session = s
	return Outcome{}, true
}

// try speaks one mail transaction and leaves the connection either ready for the
// next one or closed. again says that a reused connection turned out to be gone
// before anything was accepted, so that the message may have a new one.
func (c *Conn) try(ctx context.Context, l letter, deadline time.Time) (out Outcome, again bool) {
	s := c.session
	client := s.client
	utf8, _ := client.Extension("SMTPUTF8")
	if l.international && !utf8 {
		return refuseInternational(l), false
	}
	client.SkipSMTPUTF8(!l.international)

	_ = s.raw.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _ = s.raw.SetDeadline(longAgo) })
	err := client.Mail("<" + l.from + ">")
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		out = judge(PhaseMail, err)
		c.hangUp(out.Code != 0)
		return out, s.reused && ctx.Err() == nil && goneQuietly(err)
	}
	s.reused = true

	if err := client.Rcpt("<" + l.to + ">"); err != nil {
		out = judge(PhaseRcpt, err)
		c.hangUp(out.Code != 0)
		return out, false
	}
	body, err := client.Data()
	if err != nil {
		out = judge(PhaseData, err)
		c.hangUp(out.Code != 0)
		return out, false
	}
	if _, err := body.Write(l.raw); err != nil {
		// The full stop was not sent, so nothing was taken. A server that had
		// enough of it in the middle may have said why.
		out = judge(PhaseData, s.lastWords(err))
		c.hangUp(false)
		return out, false
	}
	if err := body.Close(); err != nil && !accepted(err) {
		out = judge(PhaseEnd, err)
		c.hangUp(out.Code != 0)
		return out, false
	}

	// Delivered, whatever comes now. RSET is not needed for the next message, but
	// a server that has had enough of this connection says so here, before
	// another row is claimed for it.
	s.sent++
	_ = s.raw.SetDeadline(time.Now().Add(probeTimeout))
	if err := client.Reset(); err != nil {
		c.hangUp(false)
	}
	return Outcome{Kind: Delivered, Phase: PhaseEnd, Code: 250}, false
}

// hangUp closes the connection, politely where the server is still listening.
func (c *Conn) hangUp(politely bool) {
	if politely {
		c.session.quit()
	} else {
		c.session.drop()
	}
	c.session = nil
}

// lastWords reads what the server said before it stopped reading, or keeps the
// network's error.
func (s *session) lastWords(instead error) error {
	_ = s.raw.SetDeadline(time.Now().Add(farewellDelay))
	_, _, err := s.client.Text.ReadResponse(250)
	var reply *textproto.Error
	if errors.As(err, &reply) && reply.Code/100 >= 4 {
		return err
	}
	return instead
}

// goneQuietly reports whether the server had closed the connection: 421, an end
// of file or a reset. A server that is silent is another matter.
func goneQuietly(err error) bool {
	var reply *textproto.Error
	if errors.As(err, &reply) {
		return reply.Code == 421
	}
	var network net.Error
	return !errors.As(err, &network) || !network.Timeout()
}

// accepted reports a success that is not spelt 250.
func accepted(err error) bool {
	var reply *textproto.Error
	return errors.As(err, &reply) && reply.Code/100 == 2
}

// refuseInternational says, in the place of the server, that an address cannot
// be served here. RFC 6531 has the code for it.
func refuseInternational(l letter) Outcome {
	out := Outcome{Kind: Permanent, Phase: PhaseRcpt, Enhanced: "5.6.7",
		Err: "the mail server does not take addresses with letters outside ASCII before the @ (it lacks SMTPUTF8)"}
	if l.ourAddressIs {
		out.Kind, out.Phase = SenderRefused, PhaseMail
	}
	return out
}
