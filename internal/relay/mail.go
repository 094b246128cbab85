package relay

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"

	"ciclo/internal/i18n"
	"ciclo/internal/links"
	smtp "ciclo/internal/mail"
	"ciclo/internal/outbox"
	"ciclo/store"
	"ciclo/views"
)

// Mail delivers events by e-mail. It is a Deliverer.
type Mail struct {
	Store   *store.Store
	Pool    *smtp.Pool
	From    mail.Address // the address; the organisation's name stands beside it
	BaseURL string       // links come from here, never from a request
	Keys    links.Ring
}

// Open takes a connection that is open and signed in.
func (m *Mail) Open(ctx context.Context) (Carrier, error) {
	conn, err := m.Pool.Get(ctx)
	if err != nil {
		if refused, ok := errors.AsType[*smtp.ConnectError](err); ok {
			// the server's words may name our account, never its password
			return nil, fmt.Errorf("%s: %s", refused.Outcome.Phase, refused.Outcome.Err)
		}
		return nil, err
	}
	return &mailCarrier{mail: m, conn: conn}, nil
}

type mailCarrier struct {
	mail *Mail
	conn *smtp.Conn
}

func (c *mailCarrier) Alive() bool { return c.conn.Alive() }
func (c *mailCarrier) Close()      { c.conn.Release() }

// Deliver reads what the message is about now, and sends it unless it must not
// leave any more.
func (c *mailCarrier) Deliver(ctx context.Context, e outbox.Event) Result {
	message, result, ok := c.mail.compose(ctx, e)
	if !ok {
		return result
	}
	return resultOf(message.To, c.conn.Send(ctx, message))
}

// compose builds the message of an event; ok is false when nothing is to be
// sent, and result then says why.
func (m *Mail) compose(ctx context.Context, e outbox.Event) (message smtp.Message, result Result, ok bool) {
	letter, err := m.Store.Letter(ctx, e, m.Keys.SigningKey())
	if err != nil {
		return message, failed(outbox.Unavailable, outbox.CauseUnreachable, "", "the database did not answer: "+err.Error()), false
	}
	if result, ok := mayLeave(letter); !ok {
		return message, result, false
	}
	if letter.Link != nil {
		token, err := m.Keys.Token(*letter.Link)
		if err != nil {
			return message, failed(outbox.Unavailable, outbox.CauseOther, letter.Email, err.Error()), false
		}
		letter.Path = "/r/" + token
	}
	message, err = m.write(ctx, e, letter.Letter)
	if err != nil {
		return message, failed(outbox.Permanent, outbox.CauseOther, letter.Email, err.Error()), false
	}
	return message, Result{}, true
}

// mayLeave is the last look before a message leaves.
func mayLeave(l store.Outgoing) (Result, bool) {
	switch {
	case !l.Ours:
		return Result{Lost: true}, false
	case l.CancelRequested:
		return Result{Cancelled: outbox.ReasonAsked}, false
	case l.Over() != "":
		return Result{Cancelled: l.Over()}, false
	case l.Left && l.To == "":
		return failed(outbox.Permanent, outbox.CauseNoAddress, l.Email, "the person has left the company"), false
	case l.Email == "":
		return failed(outbox.Permanent, outbox.CauseNoAddress, "", "the person has no e-mail address any more"), false
	}
	return Result{}, true
}

// write puts a letter into words, in its reader's language.
func (m *Mail) write(ctx context.Context, e outbox.Event, letter outbox.Letter) (smtp.Message, error) {
	locale, _ := i18n.Parse(letter.Locale)
	said, ok := views.MailOf(locale, letter, m.BaseURL)
	if !ok {
		return smtp.Message{}, fmt.Errorf("no message is known for %s", e.Type)
	}
	var html strings.Builder
	if err := said.HTML(locale).Render(i18n.With(ctx, locale), &html); err != nil {
		return smtp.Message{}, fmt.Errorf("write the message: %w", err)
	}
	return smtp.Message{
		ID: e.ID, From: m.From.Address, FromName: letter.Organisation, To: letter.Email, ToName: letter.Person, ReplyTo: letter.Contact,
		Subject: said.Subject, Text: said.Text(locale), HTML: html.String(),
		Headers: map[string]string{"Content-Language": string(locale)},
	}, nil
}

// resultOf reads the server's answer as the outbox understands it.
func resultOf(to string, o smtp.Outcome) Result {
	class := outbox.Class(o.Kind) // the mail room's kinds are the outbox's classes, but for success
	if o.Kind == smtp.Delivered {
		return Result{}
	}
	words := o.Err
	if o.Kind == smtp.Unknown {
		words = "outcome unknown: " + words
	}
	if words == "" {
		words = string(class)
	}
	return Result{Failed: &outbox.Attempt{Class: class, Cause: outbox.CauseOf(class, o.Code, o.Enhanced), Phase: string(o.Phase),
		Address: to, Error: words, Took: o.Took}}
}

func failed(class outbox.Class, cause outbox.Cause, address, words string) Result {
	return Result{Failed: &outbox.Attempt{Class: class, Cause: cause, Address: address, Error: words}}
}
