package views

import (
	"strings"
	"testing"
	"time"

	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// TestTheMailsOfARunningCycleReadAsReviewed holds every kind that follows an
// invitation, in both languages, to the words that were read and approved.
func TestTheMailsOfARunningCycleReadAsReviewed(t *testing.T) {
	of := func(kind string, change func(*outbox.Letter)) outbox.Letter {
		d := aroeira(t)
		d.Kind = kind
		if !outbox.CarriesLink(kind) {
			d.Path = outbox.PathOf(kind, 7)
		}
		if change != nil {
			change(&d)
		}
		return d
	}
	was := aroeira(t).Due.AddDate(0, 0, -2)
	for _, tt := range []struct {
		name string
		data outbox.Letter
	}{
		{"reminder", of(outbox.EvaluationReminder, nil)},
		{"extended", of(outbox.EvaluationExtended, func(d *outbox.Letter) { d.WasDue, d.Reason = was, "Chuvas na BR-163." })},
		{"reassigned", of(outbox.EvaluationReassigned, func(d *outbox.Letter) {
			d.RevieweeID, d.Reviewee, d.Reviews = 9, "Ubirajara Höfling D’Ávila", d.Reviews[1:2]
		})},
		{"reassigned-with-draft", of(outbox.EvaluationReassigned, func(d *outbox.Letter) {
			d.RevieweeID, d.Reviewee, d.Colleague = 9, "Ubirajara Höfling D’Ávila", "Olívia Queirós Uchôa"
		})},
		{"withdrawn", of(outbox.EvaluationWithdrawn, func(d *outbox.Letter) { d.Reviewee = "Ubirajara Höfling D’Ávila" })},
		{"received", of(outbox.EvaluationReceived, func(d *outbox.Letter) { d.Reviews = nil })},
		{"cycle-cancelled", of(outbox.CycleCancelled, func(d *outbox.Letter) { d.Reason = "Reestruturação das unidades." })},
		{"link-again", of(outbox.LinkAgain, func(d *outbox.Letter) { d.Reviews = d.Reviews[:1] })},
		{"extension-asked", of(outbox.ExtensionAsked, func(d *outbox.Letter) {
			d.Actor, d.Reason = "João Guilherme Albuquerque de Souza Montenegro", "Estive na estrada até ontem."
		})},
		{"extension-granted", of(outbox.ExtensionAnswered, func(d *outbox.Letter) {
			d.Granted, d.Until, d.Reason = true, d.Due, "Bom descanso antes."
		})},
		{"extension-refused", of(outbox.ExtensionAnswered, func(d *outbox.Letter) { d.Reason = "O comitê se reúne amanhã cedo." })},
	} {
		for _, l := range i18n.Locales {
			t.Run(tt.name+" in "+string(l), func(t *testing.T) {
				subject, text, html := invitationOf(t, l, tt.data)
				stem := tt.name + "." + string(l)
				golden(t, stem+".txt", subject+"\n\n"+text)
				golden(t, stem+".html", html)
				for _, part := range []string{subject, text, html} {
					if strings.Contains(part, "«") || strings.Contains(part, "{") && !strings.Contains(part, "<style>") {
						t.Errorf("a key or a fact without words: %s", part)
					}
				}
			})
		}
	}
}

// Every kind of message can be said, or somebody waits for one that never comes.
func TestEveryKindHasItsLetter(t *testing.T) {
	for _, kind := range outbox.Kinds {
		d := aroeira(t)
		d.Kind, d.WasDue = kind, time.Now()
		if _, ok := MailOf(i18n.PT, d, "https://ciclo.transportes.example"); !ok {
			t.Errorf("nobody knows how to say %s", kind)
		}
		if !outbox.AboutCycle(kind) {
			continue
		}
		for _, key := range []string{"message.kind." + kind, "message.title." + kind} {
			if !i18n.Has(key) {
				t.Errorf("%s has no words", key)
			}
		}
	}
}
