package views

import (
	"strings"
	"testing"
	"time"

	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

func TestAccountMailsReadAsReviewed(t *testing.T) {
	base := outbox.Letter{Organisation: "Transportes Aroeira", Person: "João Guilherme Albuquerque de Souza Montenegro", Contact: "rh@transportes.example"}
	letter := func(kind string, change func(*outbox.Letter)) outbox.Letter {
		d := base
		d.Kind = kind
		change(&d)
		return d
	}
	const link = "/password/AAAAAAAAAAEkX2vQ7mB0tLrkX2"
	for _, tt := range []struct {
		name string
		data outbox.Letter
	}{
		{"member", letter(outbox.PersonInvited, func(d *outbox.Letter) {
			d.Path, d.Valid, d.Actor = link, 72*time.Hour, "Ubirajara Höfling D’Ávila"
		})},
		{"reset", letter(outbox.PasswordReset, func(d *outbox.Letter) { d.Path, d.Valid = link, time.Hour })},
		{"moved", letter(outbox.AddressChanged, func(d *outbox.Letter) { d.To, d.Actor = "joao@demo.exemple", "Renata Tavares" })},
		{"moved-hr", letter(outbox.AddressChanged, func(d *outbox.Letter) {
			d.Colleague, d.NewAddress, d.Actor = "Olívia Queirós Uchôa", "olivia@demo.example", "Ubirajara Höfling D’Ávila"
		})},
		{"moved-many", letter(outbox.AddressChanged, func(d *outbox.Letter) { d.Number, d.Actor = 12, "Ubirajara Höfling D’Ávila" })},
		{"test-message", letter(outbox.TestMessage, func(*outbox.Letter) {})},
	} {
		for _, l := range i18n.Locales {
			t.Run(tt.name+" in "+string(l), func(t *testing.T) {
				subject, text, html := invitationOf(t, l, tt.data)
				if strings.Contains(subject+text+html, "«") || strings.Contains(subject+text+html, "{") && strings.Contains(text, "{") {
					t.Errorf("a key or a hole without words:\n%s\n%s", subject, text)
				}
				if strings.Contains(text+html, "olivia@demo.example") {
					t.Error("the whole of a new address is told")
				}
				stem := "account-" + tt.name + "." + string(l)
				golden(t, stem+".txt", subject+"\n\n"+text)
				golden(t, stem+".html", html)
			})
		}
	}
}
