package views

import (
	"testing"

	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

func TestSendingMailsReadAsReviewed(t *testing.T) {
	for _, d := range []outbox.Letter{
		{Kind: outbox.MessagesFailed, Organisation: "Transportes Aroeira", Path: "/deliveries", Facts: outbox.Facts{Number: 3}},
		{Kind: outbox.SendingStopped, Organisation: "Transportes Aroeira", Path: "/deliveries", Actor: "Rita Quaresma", Facts: outbox.Facts{Reason: "texto\nerrado"}},
	} {
		for _, l := range i18n.Locales {
			subject, text, html := invitationOf(t, l, d)
			golden(t, d.Kind+"."+string(l)+".txt", subject+"\n\n"+text)
			golden(t, d.Kind+"."+string(l)+".html", html)
		}
	}
}
