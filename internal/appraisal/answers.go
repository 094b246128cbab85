package appraisal

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"ciclo/internal/fault"
)

// Answers are what a reviewer has said so far, by question ID.
type Answers map[string]Answer

// Answer is one answer. A rating of 0 is a rating; nil is none.
type Answer struct {
	Rating  *int   `json:"rating,omitempty"`
	Choice  string `json:"choice,omitempty"`
	Text    string `json:"text,omitempty"`
	Comment string `json:"comment,omitempty"`
	NA      bool   `json:"na,omitempty"` // "I cannot judge this"
}

// Empty reports whether nothing at all was said.
func (a Answer) Empty() bool { return a == Answer{} }

// Answered reports whether a says what q asks.
func (q Question) Answered(a Answer) bool {
	if q.AllowNA && a.NA {
		return true
	}
	switch q.Kind {
	case QuestionRating:
		return a.Rating != nil
	case QuestionChoice:
		return a.Choice != ""
	}
	return strings.TrimSpace(a.Text) != ""
}

// Answered counts the questions that have their answer, of all there are.
func Answered(c FormContent, answers Answers) (n, of int) {
	for _, q := range c.Questions {
		if q.Answered(answers[q.ID]) {
			n++
		}
	}
	return n, len(c.Questions)
}

// CheckDraft refuses answers that could never be kept, by question ID: to
// questions the form does not ask, of another kind, off the scale, too long.
// What is merely missing is fine in a draft.
func CheckDraft(c FormContent, answers Answers) error {
	p := problems{}
	known := make(map[string]bool, len(c.Questions))
	for _, q := range c.Questions {
		known[q.ID] = true
		if a, said := answers[q.ID]; said {
			p.answer(c, q, a)
		}
	}
	for id := range answers {
		if !known[id] {
			p.add(id, fault.Msg("form.answer_unknown"))
		}
	}
	return p.fault()
}

// CheckSubmission refuses answers that CheckDraft refuses, and those that lack
// a required one.
func CheckSubmission(c FormContent, answers Answers) error {
	p := problems{}
	if f := fault.As(CheckDraft(c, answers)); f != nil {
		p = f.Fields
	}
	for _, q := range c.Questions {
		if q.Required && !q.Answered(answers[q.ID]) {
			p.add(q.ID, fault.Msg("form.answer_required."+string(q.Kind)))
		}
	}
	return p.fault()
}

func (p problems) answer(c FormContent, q Question, a Answer) {
	switch {
	case a.NA && !q.AllowNA:
		p.add(q.ID, fault.Msg("form.answer_no_na"))
	case a.NA && (a.Rating != nil || a.Choice != ""):
		p.add(q.ID, fault.Msg("form.answer_both"))
	case a.Rating != nil && q.Kind != QuestionRating,
		a.Choice != "" && q.Kind != QuestionChoice,
		a.Text != "" && q.Kind != QuestionText:
		p.add(q.ID, fault.Msg("form.answer_kind."+string(q.Kind)))
	case a.Comment != "" && !q.Comment:
		p.add(q.ID, fault.Msg("form.answer_no_comment"))
	case a.Rating != nil && (*a.Rating < c.Scale.Min || *a.Rating > c.Scale.Max):
		p.add(q.ID, fault.Msg("form.answer_off_scale", "min", c.Scale.Min, "max", c.Scale.Max))
	case a.Choice != "" && !q.offers(a.Choice):
		p.add(q.ID, fault.Msg("form.answer_no_option"))
	}
	for _, s := range []string{a.Text, a.Comment} {
		if why, bad := unsaid(s); bad {
			p.add(q.ID, why)
		}
	}
}

// unsaid is unwritable for the reviewer's own words: what a phone's keyboard
// may put in is kept, only what cannot be stored is refused.
func unsaid(s string) (fault.Message, bool) {
	switch n := utf8.RuneCountInString(s); {
	case strings.ContainsRune(s, 0):
		return fault.Msg("fault.text_nul"), true
	case !utf8.ValidString(s):
		return fault.Msg("fault.text_utf8"), true
	case n > MaxAnswer:
		return fault.Msg("fault.text_long", "n", n, "max", MaxAnswer), true
	}
	return fault.Message{}, false
}

func (q Question) offers(id string) bool {
	for _, o := range q.Options {
		if o.ID == id {
			return true
		}
	}
	return false
}

// Field is the name under which a page sends the answer to q.
func (q Question) Field() string { return "q." + q.ID }

// CommentField is the name under which a page sends the comment beside it.
func (q Question) CommentField() string { return "c." + q.ID }

// NotApplicable is what a page sends for "I cannot judge this".
const NotApplicable = "na"

// ReadAnswers reads what a page sent, by the names of its fields. A rating that
// is no number becomes −1, which CheckDraft refuses as off the scale.
func ReadAnswers(c FormContent, sent func(field string) string) Answers {
	answers := Answers{}
	for _, q := range c.Questions {
		v := sent(q.Field())
		a := Answer{Comment: sent(q.CommentField())}
		switch {
		case q.Kind == QuestionText:
			a.Text = v
		case v == NotApplicable && q.AllowNA:
			a.NA = true
		case q.Kind == QuestionChoice:
			a.Choice = v
		case v != "":
			n, err := strconv.Atoi(v)
			if err != nil {
				n = -1
			}
			a.Rating = &n
		}
		if !a.Empty() {
			answers[q.ID] = a
		}
	}
	return answers
}
