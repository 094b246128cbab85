package views

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/i18n"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func aroeira(t *testing.T) InvitationData {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	return InvitationData{
		Organisation: "Transportes Aroeira",
		Cycle:        "Avaliação de Desempenho 2026.2",
		ReviewerName: "Maria Aparecida do Nascimento Vasconcelos Figueiredo",
		Due:          time.Date(2026, 11, 30, 23, 59, 0, 0, zone),
		Link:         "https://ciclo.transportes.example/r/AAAAAAAAAAEkX2vQ7mB0tLrkX2vQ7mB0tLrkX2vQ7mB0",
		Contact:      "rh@transportes.example",
		Reviews: []InvitedReview{
			{"João Guilherme Albuquerque de Souza Montenegro", "Motorista carreteiro", appraisal.Manager},
			{"Ubirajara Höfling D’Ávila", "", appraisal.Peer},
			{"Olívia Queirós Uchôa", "Diretora", appraisal.Report},
			{"Maria Aparecida do Nascimento Vasconcelos Figueiredo", "Gerente", appraisal.Self},
		},
	}
}

func invitationOf(t *testing.T, l i18n.Locale, d InvitationData) (subject, text, html string) {
	t.Helper()
	subject, text, component := InvitationMail(l, d)
	var b strings.Builder
	if err := component.Render(t.Context(), &b); err != nil {
		t.Fatalf("draw the invitation: %v", err)
	}
	return subject, text, b.String()
}

func TestInvitationReadsAsReviewed(t *testing.T) {
	one := aroeira(t)
	one.Reviews, one.Contact = one.Reviews[:1], ""
	many := aroeira(t)
	many.Reviews = nil
	for i := range 53 {
		many.Reviews = append(many.Reviews, InvitedReview{fmt.Sprintf("Pessoa %02d", i+1), "Motorista", appraisal.Peer})
	}
	for _, tt := range []struct {
		name string
		data InvitationData
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
			for _, fact := range []string{d.Organisation, d.Cycle, d.Link, d.Contact, l.LongDate(d.Due), "23:59", l.Zone(d.Due), "UTC−3"} {
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
	d.ReviewerName = "Eva\r\nBcc:x@y.example"
	d.Organisation = "Aroeira\u202e\u2028LTDA\x00"
	d.Cycle = "<script>alert(1)</script>"
	d.Reviews = []InvitedReview{{"Zé\nda\u2066 Silva\u200b", "<b>Motorista</b>", appraisal.Peer}}
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
