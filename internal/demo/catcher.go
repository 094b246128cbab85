// Package demo is what `ciclo demo` adds to the product so that it can be tried
// with nothing else installed.
//
// The Catcher is a real SMTP server in this very process, so that the demo's mail
// takes the same way out as a company's; what it caught is shown at /dev/mail. It
// listens on loopback only, keeps everything in memory, and forgets it when the
// program stops. Only cmd imports this package.
package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// kept is how many messages the catcher remembers.
const kept = 5000

// maxMessage bounds one message; the product's own are a few kilobytes.
const maxMessage = 5 << 20

// Mail is one caught message, decoded.
type Mail struct {
	ID         int64             `json:"id"`
	To         string            `json:"to"`   // from the envelope, without a name
	From       string            `json:"from"` // from the header, with the name
	Subject    string            `json:"subject"`
	Text       string            `json:"text"`
	HTML       string            `json:"html"`
	Headers    map[string]string `json:"headers"` // as spelt in the message, decoded
	ReceivedAt time.Time         `json:"received_at"`
}

// Catcher takes every mail it is handed and delivers none.
type Catcher struct {
	server *smtp.Server
	addr   string

	mu   sync.RWMutex
	last int64
	// caught holds the oldest first; no more than kept.
	caught []Mail
}

// StartCatcher listens on a free port of 127.0.0.1 until ctx ends or Close.
func StartCatcher(ctx context.Context) (*Catcher, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for demo mail: %w", err)
	}
	c := &Catcher{addr: listener.Addr().String()}
	c.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		return &delivery{catcher: c}, nil
	}))
	c.server.Domain = "localhost"
	c.server.EnableSMTPUTF8 = true
	c.server.MaxMessageBytes = maxMessage
	c.server.MaxRecipients = 50
	c.server.ReadTimeout = 5 * time.Minute
	c.server.WriteTimeout = time.Minute
	// Its errors are clients that hang up, and may quote an address.
	c.server.ErrorLog = log.New(io.Discard, "", 0)
	go func() { _ = c.server.Serve(listener) }()
	context.AfterFunc(ctx, c.Close)
	return c, nil
}

// URL is the SMTP_URL that leads here.
func (c *Catcher) URL() string { return "smtp://" + c.addr }

// Close stops listening. What was caught stays readable.
func (c *Catcher) Close() { _ = c.server.Close() }

// Messages are the ones kept, newest first.
func (c *Catcher) Messages() []Mail {
	c.mu.RLock()
	defer c.mu.RUnlock()
	messages := make([]Mail, 0, len(c.caught))
	for i := len(c.caught) - 1; i >= 0; i-- {
		messages = append(messages, c.caught[i])
	}
	return messages
}

// find gives one message, if it is still kept.
func (c *Catcher) find(id int64) (Mail, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.caught) == 0 || id < c.caught[0].ID || id > c.last {
		return Mail{}, false
	}
	return c.caught[id-c.caught[0].ID], true
}

func (c *Catcher) keep(m Mail) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	m.ID = c.last
	if len(c.caught) == kept {
		// Copied down, not resliced: the array would keep the forgotten alive.
		copy(c.caught, c.caught[1:])
		c.caught = c.caught[:kept-1]
	}
	c.caught = append(c.caught, m)
}

// delivery is one SMTP session.
type delivery struct {
	catcher *Catcher
	to      []string
}

func (d *delivery) Reset()                               { d.to = nil }
func (d *delivery) Logout() error                        { return nil }
func (d *delivery) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt takes everybody but those at the misspelt domain, who do not exist.
func (d *delivery) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasSuffix(strings.ToLower(to), "@"+misspelt) {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1},
			Message: "<" + to + ">: Recipient address rejected: User unknown in virtual mailbox table"}
	}
	d.to = append(d.to, to)
	return nil
}

// Data keeps the message. One that cannot be read as a message is kept as text:
// what the product sent is what there is to see.
func (d *delivery) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		if errors.Is(err, smtp.ErrDataTooLarge) {
			return smtp.ErrDataTooLarge
		}
		return fmt.Errorf("read the message: %w", err)
	}
	m, err := decode(bytes.NewReader(raw))
	if err != nil {
		m = Mail{Text: strings.ToValidUTF8(string(raw), "\uFFFD"), Headers: map[string]string{}}
	}
	m.To, m.ReceivedAt = strings.Join(d.to, ", "), time.Now().UTC()
	d.catcher.keep(m)
	return nil
}
