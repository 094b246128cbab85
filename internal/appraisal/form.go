package appraisal

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ciclo/internal/fault"
)

// Text is what a form says, in both languages of the product.
type Text struct {
	PT string `json:"pt"`
	EN string `json:"en"`
}

// In answers the text for a locale: "en", and Portuguese for any other.
func (t Text) In(locale string) string {
	if locale == "en" {
		return t.EN
	}
	return t.PT
}

func (t Text) blank() bool { return t.PT == "" && t.EN == "" }

// FormContent is one immutable version of a form: what reviewers are asked.
type FormContent struct {
	Title     Text       `json:"title"`
	Intro     Text       `json:"intro"`
	Scale     Scale      `json:"scale"`
	Questions []Question `json:"questions"`
}

// Scale is the steps of every rating of a form, with a word for each step.
type Scale struct {
	Min    int    `json:"min"`
	Max    int    `json:"max"`
	Labels []Text `json:"labels"`
}

// Step is one rating a reviewer may give.
type Step struct {
	Value int
	Label Text
}

// Steps lists the ratings from the lowest to the highest.
func (s Scale) Steps() []Step {
	var steps []Step
	for v := s.Min; v <= s.Max && len(steps) <= MaxSteps; v++ {
		step := Step{Value: v}
		if i := v - s.Min; i < len(s.Labels) {
			step.Label = s.Labels[i]
		}
		steps = append(steps, step)
	}
	return steps
}

// QuestionKind says how a question is answered.
type QuestionKind string

// The kinds of question.
const (
	QuestionRating QuestionKind = "rating"
	QuestionChoice QuestionKind = "choice"
	QuestionText   QuestionKind = "text"
)

// QuestionKinds lists the kinds in the order they are offered.
var QuestionKinds = []QuestionKind{QuestionRating, QuestionChoice, QuestionText}

// Question is one thing a reviewer is asked. Its ID stays the same from version
// to version, so that answers can be compared.
type Question struct {
	ID       string       `json:"id"`
	Kind     QuestionKind `json:"kind"`
	Section  Text         `json:"section"` // what the question belongs to; may be blank
	Text     Text         `json:"text"`
	Help     Text         `json:"help"`
	Required bool         `json:"required"`
	Weight   int          `json:"weight"`  // percent; ratings only
	Comment  bool         `json:"comment"` // a comment may stand beside the answer
	AllowNA  bool         `json:"allow_na"`
	Options  []Option     `json:"options"` // choices only
}

// Option is one answer of a choice.
type Option struct {
	ID   string `json:"id"`
	Text Text   `json:"text"`
}

// What a form may be at most.
const (
	MaxQuestions = 60
	MaxOptions   = 12
	MaxSteps     = 11
	MaxAnswer    = 10_000
)

var identifier = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// Weighted reports whether ratings count by weight; otherwise all count alike.
func (c FormContent) Weighted() bool {
	for _, q := range c.Questions {
		if q.Kind == QuestionRating && q.Weight != 0 {
			return true
		}
	}
	return false
}

// Rated reports whether any question is a rating, so that the scale matters.
func (c FormContent) Rated() bool {
	for _, q := range c.Questions {
		if q.Kind == QuestionRating {
			return true
		}
	}
	return false
}

// Validate refuses a form that could not be asked, with everything that is
// wrong at once. Fields are named by where they stand: title.en,
// scale.labels.0.pt, questions.2.text.pt, questions.2.options.1.text.en,
// questions.2.weight; questions for their number and weights for their sum.
func (c FormContent) Validate() error {
	p := problems{}
	p.text("title", c.Title, 120, true, false)
	p.text("intro", c.Intro, 2000, false, true)
	if c.Rated() {
		p.scale(c.Scale)
	}
	switch n := len(c.Questions); {
	case n == 0:
		p.add("questions", fault.Msg("form.no_questions"))
	case n > MaxQuestions:
		p.add("questions", fault.Msg("form.many_questions", "n", n, "max", MaxQuestions))
	}
	seen := map[string]int{}
	for i, q := range c.Questions {
		at := fmt.Sprintf("questions.%d.", i)
		if first, twice := seen[q.ID]; twice {
			p.add(at+"id", fault.Msg("form.question_id_twice", "id", q.ID, "n", first+1))
		} else if !identifier.MatchString(q.ID) {
			p.add(at+"id", fault.Msg("form.id_shape", "id", q.ID))
		} else {
			seen[q.ID] = i
		}
		p.question(at, q)
	}
	if sum := c.weightSum(); sum != 100 && c.Weighted() {
		p.add("weights", fault.Msg("form.weights_sum", "sum", sum))
	}
	return p.fault()
}

func (c FormContent) weightSum() int {
	sum := 0
	for _, q := range c.Questions {
		if q.Kind == QuestionRating {
			sum += q.Weight
		}
	}
	return sum
}

// problems collects what is wrong, by field.
type problems map[string]fault.Message

func (p problems) add(field string, m fault.Message) {
	if _, taken := p[field]; !taken {
		p[field] = m
	}
}

func (p problems) fault() error {
	if len(p) == 0 {
		return nil
	}
	return fault.Fieldsf(p)
}

// text checks both languages; a text in one language only is half a text.
func (p problems) text(at string, t Text, max int, required, lines bool) {
	for _, side := range []struct{ name, here, other string }{{"pt", t.PT, t.EN}, {"en", t.EN, t.PT}} {
		field := at + "." + side.name
		if strings.TrimSpace(side.here) == "" {
			switch {
			case required && t.blank():
				p.add(field, fault.Msg("fault.required"))
			case required, strings.TrimSpace(side.other) != "":
				p.add(field, fault.Msg("form.one_language."+side.name))
			}
			continue
		}
		if why, bad := unwritable(side.here, max, lines); bad {
			p.add(field, why)
		}
	}
}

func (p problems) scale(s Scale) {
	switch steps := s.Max - s.Min + 1; {
	case s.Min < 0 || s.Min > 100:
		p.add("scale.min", fault.Msg("form.scale_min"))
	case steps < 2:
		p.add("scale.max", fault.Msg("form.scale_short", "min", s.Min))
	case steps > MaxSteps:
		p.add("scale.max", fault.Msg("form.scale_long", "max", MaxSteps))
	case len(s.Labels) != steps:
		p.add("scale.max", fault.Msg("form.scale_labels", "n", len(s.Labels), "steps", steps))
	}
	for i, l := range s.Labels {
		ends := i == 0 || i == len(s.Labels)-1 // the steps between may go without a word
		p.text(fmt.Sprintf("scale.labels.%d", i), l, 60, ends, false)
	}
}

func (p problems) question(at string, q Question) {
	p.text(at+"text", q.Text, 500, true, false)
	p.text(at+"help", q.Help, 1000, false, true)
	p.text(at+"section", q.Section, 80, false, false)
	switch {
	case q.Kind != QuestionRating && q.Kind != QuestionChoice && q.Kind != QuestionText:
		p.add(at+"kind", fault.Msg("form.kind_unknown"))
	case q.Kind == QuestionRating && (q.Weight < 0 || q.Weight > 100):
		p.add(at+"weight", fault.Msg("form.weight_range"))
	case q.Kind != QuestionRating && q.Weight != 0:
		p.add(at+"weight", fault.Msg("form.weight_of_rating"))
	case q.Kind != QuestionChoice && len(q.Options) > 0:
		p.add(at+"options", fault.Msg("form.options_of_choice"))
	case q.Kind == QuestionChoice && len(q.Options) < 2:
		p.add(at+"options", fault.Msg("form.few_options"))
	case len(q.Options) > MaxOptions:
		p.add(at+"options", fault.Msg("form.many_options", "max", MaxOptions))
	}
	seen := map[string]bool{}
	for i, o := range q.Options {
		here := fmt.Sprintf("%soptions.%d.", at, i)
		switch {
		case !identifier.MatchString(o.ID):
			p.add(here+"id", fault.Msg("form.id_shape", "id", o.ID))
		case seen[o.ID]:
			p.add(here+"id", fault.Msg("form.option_id_twice", "id", o.ID))
		}
		seen[o.ID] = true
		p.text(here+"text", o.Text, 200, true, false)
	}
}

// unwritable answers why a text cannot be kept.
func unwritable(s string, max int, lines bool) (fault.Message, bool) {
	switch n := utf8.RuneCountInString(s); {
	case strings.ContainsRune(s, 0):
		return fault.Msg("fault.text_nul"), true
	case !utf8.ValidString(s):
		return fault.Msg("fault.text_utf8"), true
	case n > max:
		return fault.Msg("fault.text_long", "n", n, "max", max), true
	}
	for _, r := range s {
		if lines && (r == '\n' || r == '\r' || r == '\t') {
			continue
		}
		if unicode.IsControl(r) || turnsText(r) {
			return fault.Msg("fault.text_controls"), true
		}
	}
	return fault.Message{}, false
}

// turnsText reports whether r turns the direction of the text after it. Marks
// that people do type, such as the joiner inside an emoji, pass.
func turnsText(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// Form is a form of an organisation: a code and its versions, newest first.
type Form struct {
	ID        int64
	Code      string
	CreatedAt time.Time
	Versions  []FormVersion
}

// Latest is the version that new cycles choose; zero when there is none.
func (f Form) Latest() FormVersion {
	if len(f.Versions) == 0 {
		return FormVersion{}
	}
	return f.Versions[0]
}

// FormVersion is a form's content as it was saved once, for good.
type FormVersion struct {
	ID        int64
	FormID    int64
	Number    int
	Content   FormContent
	CreatedBy string // the person's name; empty where the product brought the form
	CreatedAt time.Time
	Cycles    int // how many cycles ask it
}
