package views

import (
	"strings"
	"testing"

	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

// Every kind that the database takes can be written, and is named on the pages.
func TestEveryKindHasItsWords(t *testing.T) {
	for _, kind := range outbox.Kinds {
		if _, ok := letters[kind]; !ok {
			t.Errorf("nobody knows how to write %s", kind)
		}
		for _, l := range i18n.Locales {
			for _, key := range []string{"message.kind." + kind, "message.title." + kind} {
				if said := l.T(key, "person", "Ana"); strings.Contains(said, "«") {
					t.Errorf("%s has no words in %s: %s", key, l, said)
				}
			}
		}
	}
}
