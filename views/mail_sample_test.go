package views

import (
	"strings"
	"testing"

	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// A sample is the invitation itself, said to be a sample first.
func TestASampleIsTheInvitationOfTheColleague(t *testing.T) {
	letter := aroeira(t)
	letter.Kind, letter.Path = outbox.InvitationSample, outbox.SamplePath
	letter.Colleague, letter.Person = letter.Person, "Rita Quaresma"
	invited := aroeira(t)
	invited.Path = outbox.SamplePath
	for _, l := range i18n.Locales {
		subject, text, html := invitationOf(t, l, letter)
		theirs, _, _ := invitationOf(t, l, invited)
		if !strings.HasPrefix(subject, "[") || !strings.HasSuffix(subject, theirs) {
			t.Errorf("%s: the subject is %q for %q", l, subject, theirs)
		}
		for part, said := range map[string]string{"text": text, "html": html} {
			if !strings.Contains(said, outbox.SamplePath) || !strings.Contains(said, letter.Reviews[0].Name) || strings.Contains(said, "Rita") {
				t.Errorf("%s: the %s is not what the colleague would read", l, part)
			}
		}
	}
}
