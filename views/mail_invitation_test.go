package views

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func aroeira(t *testing.T) outbox.Letter {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	return outbox.Letter{
		Organisation: "Transportes Aroeira",
		Cycle:        "Avaliação de Desempenho 2026.2",
		Person:       "Maria Aparecida do Nascimento Vasconcelos Figueiredo",
		Due:          time.Date(2026, 11, 30, 23, 59, 0, 0, zone),
		Kind:         outbox.EvaluationAssigned,
		Path:         "/r/AAAAAAAAAAEkX2vQ7mB0tLrkX2vQ7mB0tLrkX2vQ7mB0",
		Contact:      "rh@transportes.example",
		Reviews: []outbox.LetterReview{
			{Name: "João Guilherme Albuquerque de Souza Montenegro", Title: "Motorista carreteiro", As: "manager"},
			{Name: "Ubirajara Höfling D’Ávila", Title: "", As: "peer"},
			{Name: "Olívia Queirós Uchôa", Title: "Diretora", As: "report"},
			{Name: "Maria Aparecida do Nascimento Vasconcelos Figueiredo", Title: "Gerente", As: "self"},
		},
	}
}

func invitationOf(t *testing.T, l i18n.Locale, d outbox.Letter) (subject, text, html string) {
	t.Helper()
	m, ok := MailOf(l, d, "https://ciclo.transportes.example")
	if !ok {
		t.Fatalf("nobody knows how to say %s", d.Kind)
	}
	var b strings.Builder
	if err := m.HTML(l).Render(t.Context(), &b); err != nil {
		t.Fatalf("draw the invitation: %v", err)
	}
	return m.Subject, m.Text(l), b.String()
}

func TestInvitationReadsAsReviewed(t *testing.T) {
	one := aroeira(t)
	one.Reviews, one.Contact = one.Reviews[:1], ""
	many := aroeira(t)
	many.Reviews = nil
	for i := range 53 {
		many.Reviews = append(many.Reviews, outbox.LetterReview{Name: fmt.Sprintf("Pessoa %02d", i+1), Title: "Motorista", As: "peer"})
	}
	for _, tt := range []struct {
		name string
		data outbox.Letter
	}{
		{"four", aroeira(t)},
		{"one", one},
		{"more-than-fifty", many},
	} {
		for _, l := range i18n.Locales {
			t.Run(tt.name+" in "+string(l), func(t *testing.T) {
				subject, text, html := invitationOf(t, l, tt.data)
				stem := "invitation-" + tt.name + "." + string(l)
				golden(t, stem+".txt", subject+"\n\n"+text)
				golden(t, stem+".html", html)
			})
		}
	}
}

// golden compares what people receive with what was read and approved.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update)", err)
	}
	if got != string(want) {
		t.Errorf("%s has changed: run with -update and read the difference\n%s", name, got)
	}
}

func TestInvitationKeepsBothPartsComplete(t *testing.T) {
	d := aroeira(t)
	for _, l := range i18n.Locales {
		_, text, html := invitationOf(t, l, d)
		for _, part := range []string{text, html} {
			for _, r := range d.Reviews {
				if !strings.Contains(part, r.Name) {
					t.Errorf("%s: %q is missing in a part", l, r.Name)
				}
			}
			for _, fact := range []string{d.Organisation, d.Cycle, d.Path, d.Contact, l.LongDate(d.Due), "23:59", l.Zone(d.Due), "UTC−3"} {
				if !strings.Contains(part, fact) {
					t.Errorf("%s: %q is missing in a part", l, fact)
				}
			}
			if strings.Contains(part, "«") {
				t.Errorf("%s: a key without words: %s", l, part)
			}
		}
		if strings.Contains(html, "<img") || strings.Contains(html, "<script") {
			t.Errorf("%s: the mail must work with images blocked and without script", l)
		}
	}
}

func TestInvitationNeutralisesNames(t *testing.T) {
	d := aroeira(t)
	d.Person = "Eva\r\nBcc:x@y.example"
	d.Organisation = "Aroeira\u202e\u2028LTDA\x00"
	d.Cycle = "<script>alert(1)</script>"
	d.Reviews = []outbox.LetterReview{{Name: "Zé\nda\u2066 Silva\u200b", Title: "<b>Motorista</b>", As: "peer"}}
	for _, l := range i18n.Locales {
		subject, text, html := invitationOf(t, l, d)
		if strings.ContainsAny(subject, "\r\n\x00\u202e\u2066") {
			t.Errorf("subject keeps characters that break headers: %q", subject)
		}
		for _, want := range []string{"Aroeira LTDA", "Zé da Silva"} {
			if !strings.Contains(text, want) || !strings.Contains(html, want) {
				t.Errorf("%q is not on one line:\n%s", want, text)
			}
		}
		if strings.ContainsAny(text+html, "\r\x00\u202e\u2066\u200b\u2028") {
			t.Error("a name carries invisible characters into the mail")
		}
		if strings.Contains(html, "<script>") || strings.Contains(html, "<b>Motorista") {
			t.Error("a name became markup")
		}
	}
}
