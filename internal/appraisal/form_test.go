package appraisal_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/i18n"
)

func TestReadyFormsCanBeAsked(t *testing.T) {
	for _, f := range appraisal.ReadyForms() {
		if err := f.Content.Validate(); err != nil {
			t.Errorf("%s: %v", f.Code, err)
		}
		body, err := json.Marshal(f.Content)
		if err != nil {
			t.Fatal(err)
		}
		var again appraisal.FormContent
		if err := json.Unmarshal(body, &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f.Content, again); d != "" {
			t.Errorf("%s changes on its way through JSON (-was +is):\n%s", f.Code, d)
		}
	}
}

func ready() appraisal.FormContent { return appraisal.ReadyForms()[0].Content }

func fields(err error) []string {
	if f := fault.As(err); f != nil {
		return slices.Sorted(maps.Keys(f.Fields))
	}
	return nil
}

func TestValidateNamesTheField(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*appraisal.FormContent)
		want  []string
	}{
		{"a ready form stands", func(*appraisal.FormContent) {}, nil},
		{"no title", func(c *appraisal.FormContent) { c.Title = appraisal.Text{} }, []string{"title.en", "title.pt"}},
		{"half a title", func(c *appraisal.FormContent) { c.Title.EN = " " }, []string{"title.en"}},
		{"half an introduction", func(c *appraisal.FormContent) { c.Intro.PT = "" }, []string{"intro.pt"}},
		{"no introduction", func(c *appraisal.FormContent) { c.Intro = appraisal.Text{} }, nil},
		{"no questions", func(c *appraisal.FormContent) { c.Questions = nil }, []string{"questions"}},
		{"too many questions", func(c *appraisal.FormContent) {
			q := c.Questions[5]
			for i := range 60 {
				q.ID = "q" + strings.Repeat("x", i%30) + string(rune('a'+i/30))
				c.Questions = append(c.Questions, q)
			}
		}, []string{"questions"}},
		{"one identifier twice", func(c *appraisal.FormContent) { c.Questions[1].ID = "qualidade" }, []string{"questions.1.id"}},
		{"an identifier that is none", func(c *appraisal.FormContent) { c.Questions[1].ID = "Não!" }, []string{"questions.1.id"}},
		{"a question without its text", func(c *appraisal.FormContent) { c.Questions[2].Text.PT = "" }, []string{"questions.2.text.pt"}},
		{"a text too long", func(c *appraisal.FormContent) { c.Questions[2].Text.PT = strings.Repeat("é", 501) }, []string{"questions.2.text.pt"}},
		{"a line end in a question", func(c *appraisal.FormContent) { c.Questions[2].Text.PT = "a\nb" }, []string{"questions.2.text.pt"}},
		{"a line end in its help", func(c *appraisal.FormContent) { c.Questions[2].Help.PT = "a\nb" }, nil},
		{"a direction override", func(c *appraisal.FormContent) { c.Questions[2].Help.EN = "a\u202eb" }, []string{"questions.2.help.en"}},
		{"a null character", func(c *appraisal.FormContent) { c.Questions[2].Help.EN = "a\x00b" }, []string{"questions.2.help.en"}},
		{"broken UTF-8", func(c *appraisal.FormContent) { c.Intro.EN = "\xff" }, []string{"intro.en"}},
		{"weights of 90", func(c *appraisal.FormContent) { c.Questions[0].Weight = 15 }, []string{"weights"}},
		{"no weights", func(c *appraisal.FormContent) {
			for i := range c.Questions {
				c.Questions[i].Weight = 0
			}
		}, nil},
		{"a negative weight", func(c *appraisal.FormContent) { c.Questions[0].Weight, c.Questions[1].Weight = -10, 60 }, []string{"questions.0.weight"}},
		{"a weight on a text", func(c *appraisal.FormContent) { c.Questions[5].Weight = 10 }, []string{"questions.5.weight"}},
		{"one option", func(c *appraisal.FormContent) { c.Questions[4].Options = c.Questions[4].Options[:1] }, []string{"questions.4.options"}},
		{"options on a text", func(c *appraisal.FormContent) { c.Questions[5].Options = c.Questions[4].Options }, []string{"questions.5.options"}},
		{"an option twice", func(c *appraisal.FormContent) { c.Questions[4].Options[1].ID = "aprofundar" }, []string{"questions.4.options.1.id"}},
		{"an option without text", func(c *appraisal.FormContent) { c.Questions[4].Options[1].Text.EN = "" }, []string{"questions.4.options.1.text.en"}},
		{"a kind nobody knows", func(c *appraisal.FormContent) { c.Questions[5].Kind = "essay" }, []string{"questions.5.kind"}},
		{"a scale of one step", func(c *appraisal.FormContent) { c.Scale.Max, c.Scale.Labels = 1, c.Scale.Labels[:1] }, []string{"scale.max"}},
		{"a scale of a thousand", func(c *appraisal.FormContent) { c.Scale.Max = 1000 }, []string{"scale.max"}},
		{"labels for other steps", func(c *appraisal.FormContent) { c.Scale.Max = 4 }, []string{"scale.max"}},
		{"a step between without a word", func(c *appraisal.FormContent) { c.Scale.Labels[1] = appraisal.Text{} }, nil},
		{"an end without a word", func(c *appraisal.FormContent) { c.Scale.Labels[4] = appraisal.Text{} }, []string{"scale.labels.4.en", "scale.labels.4.pt"}},
		{"no ratings, no scale", func(c *appraisal.FormContent) { c.Questions, c.Scale = c.Questions[4:], appraisal.Scale{} }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := ready()
			tt.spoil(&c)
			if d := cmp.Diff(tt.want, fields(c.Validate())); d != "" {
				t.Errorf("fields (-want +got):\n%s", d)
			}
		})
	}
}

func rating(n int) appraisal.Answer { return appraisal.Answer{Rating: &n} }

func TestCheckDraftRefusesWhatCouldNeverBeKept(t *testing.T) {
	for _, tt := range []struct {
		name string
		id   string
		a    appraisal.Answer
		want string // key, or nothing
	}{
		{"nothing", "qualidade", appraisal.Answer{}, ""},
		{"a rating", "qualidade", rating(1), ""},
		{"a rating below the scale", "qualidade", rating(0), "form.answer_off_scale"},
		{"a rating above it", "qualidade", rating(6), "form.answer_off_scale"},
		{"a rating where a text belongs", "comentario", rating(3), "form.answer_kind.text"},
		{"a text where a rating belongs", "qualidade", appraisal.Answer{Text: "bom"}, "form.answer_kind.rating"},
		{"an option", "proximo-passo", appraisal.Answer{Choice: "apoio"}, ""},
		{"an option nobody offers", "proximo-passo", appraisal.Answer{Choice: "demitir"}, "form.answer_no_option"},
		{"not able to judge", "qualidade", appraisal.Answer{NA: true, Comment: "não convivo"}, ""},
		{"not able to judge a text", "comentario", appraisal.Answer{NA: true}, "form.answer_no_na"},
		{"a rating and not able to judge", "qualidade", appraisal.Answer{NA: true, Rating: new(int)}, "form.answer_both"},
		{"a comment where none is taken", "proximo-passo", appraisal.Answer{Choice: "apoio", Comment: "x"}, "form.answer_no_comment"},
		{"ten thousand characters", "comentario", appraisal.Answer{Text: strings.Repeat("ã", 10_000)}, ""},
		{"one more", "comentario", appraisal.Answer{Text: strings.Repeat("ã", 10_001)}, "fault.text_long"},
		{"a null character in a comment", "qualidade", appraisal.Answer{Comment: "\x00"}, "fault.text_nul"},
		{"a family emoji", "comentario", appraisal.Answer{Text: "👩‍👧 obrigado"}, ""},
		{"an unknown question", "salario", appraisal.Answer{Text: "x"}, "form.answer_unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := appraisal.CheckDraft(ready(), appraisal.Answers{tt.id: tt.a})
			got := ""
			if f := fault.As(err); f != nil {
				got = f.Fields[tt.id].Key
			}
			if got != tt.want {
				t.Errorf("CheckDraft() says %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCheckSubmissionWantsTheRequiredAnswers(t *testing.T) {
	c := ready()
	answers := appraisal.Answers{"qualidade": rating(3), "comunicacao": {NA: true}, "comentario": {Text: "  "}}
	want := []string{"colaboracao", "metas", "proximo-passo"}
	if d := cmp.Diff(want, fields(appraisal.CheckSubmission(c, answers))); d != "" {
		t.Errorf("missing (-want +got):\n%s", d)
	}
	if n, of := appraisal.Answered(c, answers); n != 2 || of != 6 {
		t.Errorf("Answered() = %d of %d, want 2 of 6", n, of)
	}
	answers["colaboracao"], answers["metas"], answers["proximo-passo"] = rating(1), rating(5), appraisal.Answer{Choice: "apoio"}
	if err := appraisal.CheckSubmission(c, answers); err != nil {
		t.Error(err)
	}
}

func TestZeroIsARatingWhereTheScaleHasIt(t *testing.T) {
	c := ready()
	c.Scale.Min = 0
	c.Scale.Labels = append([]appraisal.Text{{PT: "Nada", EN: "Nothing"}}, c.Scale.Labels...)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	answers := appraisal.Answers{"qualidade": rating(0)}
	if n, _ := appraisal.Answered(c, answers); n != 1 {
		t.Errorf("a rating of 0 counts as %d answers", n)
	}
	if err := appraisal.CheckDraft(c, answers); err != nil {
		t.Error(err)
	}
}

func TestFormMessagesAreInTheCatalogue(t *testing.T) {
	key := regexp.MustCompile(`"((?:form|fault)\.[a-z_.]*[a-z_])"`)
	for _, f := range []string{"form.go", "answers.go"} {
		body, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range key.FindAllStringSubmatch(string(body), -1) {
			if !i18n.Has(m[1]) {
				t.Errorf("%s uses %s, which the catalogue lacks", f, m[1])
			}
		}
	}
	for _, k := range appraisal.QuestionKinds {
		for _, prefix := range []string{"form.answer_required.", "form.answer_kind."} {
			if !i18n.Has(prefix + string(k)) {
				t.Errorf("the catalogue lacks %s%s", prefix, k)
			}
		}
	}
}

func TestReadAnswersAsAPageSendsThem(t *testing.T) {
	sent := map[string]string{"q.qualidade": "4", "c.qualidade": "ok", "q.comunicacao": "na", "q.metas": "bom", "q.proximo-passo": "apoio", "q.comentario": "texto", "q.salario": "1"}
	got := appraisal.ReadAnswers(ready(), func(f string) string { return sent[f] })
	four, off := 4, -1
	want := appraisal.Answers{
		"qualidade": {Rating: &four, Comment: "ok"}, "comunicacao": {NA: true}, "metas": {Rating: &off},
		"proximo-passo": {Choice: "apoio"}, "comentario": {Text: "texto"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := fields(appraisal.CheckDraft(ready(), got)); !slices.Equal(got, []string{"metas"}) {
		t.Errorf("CheckDraft() blames %v", got)
	}
}
