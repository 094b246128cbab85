package relay

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"

	"ciclo/internal/appraisal"
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
	if e.Type != outbox.EvaluationAssigned {
		return message, failed(outbox.Permanent, outbox.CauseOther, "", "no message is known for "+e.Type), false
	}
	inv, err := m.Store.Invitation(ctx, e, m.Keys.SigningKey())
	if err != nil {
		return message, failed(outbox.Unavailable, outbox.CauseUnreachable, "", "the database did not answer: "+err.Error()), false
	}
	if result, ok := mayLeave(inv); !ok {
		return message, result, false
	}
	token, err := m.Keys.Token(inv.Link)
	if err != nil {
		return message, failed(outbox.Unavailable, outbox.CauseOther, inv.Email, err.Error()), false
	}
	message, err = m.invitation(ctx, e, inv, token)
	if err != nil {
		return message, failed(outbox.Permanent, outbox.CauseOther, inv.Email, err.Error()), false
	}
	return message, Result{}, true
}

// mayLeave is the last look before a message leaves: audience and state as they
// are now, not as they were when it was owed.
func mayLeave(inv store.Invitation) (Result, bool) {
	switch {
	case !inv.Ours:
		return Result{Lost: true}, false
	case inv.CancelRequested:
		return Result{Cancelled: outbox.ReasonAsked}, false
	case inv.State == appraisal.CycleCancelled:
		return Result{Cancelled: outbox.ReasonCycleCancelled}, false
	case inv.State != appraisal.CycleActive:
		return Result{Cancelled: outbox.ReasonCycleClosed}, false
	case len(inv.Reviews) == 0:
		return Result{Cancelled: outbox.ReasonNothingLeft}, false
	case inv.Left:
		return failed(outbox.Permanent, outbox.CauseNoAddress, inv.Email, "the reviewer has left the company"), false
	case inv.Email == "":
		return failed(outbox.Permanent, outbox.CauseNoAddress, "", "the reviewer has no e-mail address any more"), false
	}
	return Result{}, true
}

func (m *Mail) invitation(ctx context.Context, e outbox.Event, inv store.Invitation, token string) (smtp.Message, error) {
	locale, _ := i18n.Parse(inv.Locale)
	subject, text, html := views.InvitationMail(locale, invitationData(inv, strings.TrimSuffix(m.BaseURL, "/")+"/r/"+token))
	var body strings.Builder
	if err := html.Render(i18n.With(ctx, locale), &body); err != nil {
		return smtp.Message{}, fmt.Errorf("write the message: %w", err)
	}
	return smtp.Message{
		ID: e.ID, From: m.From.Address, FromName: inv.Organisation, To: inv.Email, ToName: inv.Reviewer, ReplyTo: inv.Contact,
		Subject: subject, Text: text, HTML: body.String(),
		Headers: map[string]string{"Content-Language": string(locale)},
	}, nil
}

// invitationData turns what the store read into what the view shows.
func invitationData(inv store.Invitation, link string) views.InvitationData {
	d := views.InvitationData{Organisation: inv.Organisation, Cycle: inv.Cycle, ReviewerName: inv.Reviewer, Due: inv.Due, Link: link, Contact: inv.Contact}
	for _, r := range inv.Reviews {
		d.Reviews = append(d.Reviews, views.InvitedReview{Name: r.Reviewee, Title: r.Title, Kind: r.Kind})
	}
	return d
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
