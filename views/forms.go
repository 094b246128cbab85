package views

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"golang.org/x/text/unicode/norm"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/i18n"
)

// FormDraft is a form while somebody edits it: what was typed, as it was typed,
// and what is wrong with it. It travels in the page alone; the store knows
// finished versions only.
type FormDraft struct {
	FormID             int64 // 0 while the form is new
	Based              int   // the version it started from
	Title, Intro       appraisal.Text
	ScaleMin, ScaleMax string
	Labels             []appraisal.Text
	Questions          []QuestionDraft
	Faults             map[string]fault.Message // by the names of FormContent.Validate
	Problem            *fault.Message
	focus              string // the field that was just added or moved
	drawn              *Form  // form, made once for a page
}

// QuestionDraft is a question whose weight is still what was typed.
type QuestionDraft struct {
	appraisal.Question
	Percent string
}

// DraftOf starts a draft from finished content.
func DraftOf(formID int64, based int, c appraisal.FormContent) FormDraft {
	d := FormDraft{
		FormID: formID, Based: based, Title: c.Title, Intro: c.Intro,
		ScaleMin: strconv.Itoa(c.Scale.Min), ScaleMax: strconv.Itoa(c.Scale.Max), Labels: c.Scale.Labels,
	}
	if len(c.Scale.Labels) == 0 {
		d.ScaleMin, d.ScaleMax, d.Labels = "1", "5", make([]appraisal.Text, 5)
	}
	for _, q := range c.Questions {
		d.Questions = append(d.Questions, QuestionDraft{q, strconv.Itoa(q.Weight)})
	}
	return d
}

// ReadFormDraft reads what the editor's page sent.
func ReadFormDraft(formID int64, sent url.Values) FormDraft {
	d := FormDraft{FormID: formID, ScaleMin: sent.Get("scale.min"), ScaleMax: sent.Get("scale.max")}
	d.Based, _ = strconv.Atoi(sent.Get("based"))
	text := func(name string) appraisal.Text {
		return appraisal.Text{PT: typedText(sent.Get(name + ".pt")), EN: typedText(sent.Get(name + ".en"))}
	}
	d.Title, d.Intro = text("title"), text("intro")
	for i := 0; i < appraisal.MaxSteps && sent.Has(fmt.Sprintf("scale.labels.%d.pt", i)); i++ {
		d.Labels = append(d.Labels, text(fmt.Sprintf("scale.labels.%d", i)))
	}
	for i := 0; i <= appraisal.MaxQuestions && sent.Has(fmt.Sprintf("questions.%d.id", i)); i++ {
		at := fmt.Sprintf("questions.%d.", i)
		q := QuestionDraft{Percent: sent.Get(at + "weight")}
		q.ID, q.Kind = sent.Get(at+"id"), appraisal.QuestionKind(sent.Get(at+"kind"))
		q.Text, q.Help, q.Section = text(at+"text"), text(at+"help"), text(at+"section")
		q.Required, q.Comment, q.AllowNA = sent.Has(at+"required"), sent.Has(at+"comment"), sent.Has(at+"allow_na")
		for j := 0; j <= appraisal.MaxOptions && sent.Has(fmt.Sprintf("%soptions.%d.id", at, j)); j++ {
			here := fmt.Sprintf("%soptions.%d", at, j)
			q.Options = append(q.Options, appraisal.Option{ID: sent.Get(here + ".id"), Text: text(here + ".text")})
		}
		d.Questions = append(d.Questions, q)
	}
	return d
}

// typedText takes away what browsers and keyboards add to a text.
func typedText(s string) string {
	return strings.TrimSpace(norm.NFC.String(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")))
}

// Content answers the finished form, or what is wrong with the draft.
func (d *FormDraft) Content() (appraisal.FormContent, error) {
	c := appraisal.FormContent{Title: d.Title, Intro: d.Intro}
	bad := map[string]fault.Message{}
	number := func(field, typed, key string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(typed), "%"))
		if err != nil && strings.TrimSpace(typed) != "" {
			bad[field] = fault.Msg(key, "value", shown(typed))
		}
		return n
	}
	for i, q := range d.Questions {
		if q.Kind == appraisal.QuestionRating {
			q.Weight = number(fmt.Sprintf("questions.%d.weight", i), q.Percent, "form.weight_number")
		} else {
			q.Weight = 0
		}
		c.Questions = append(c.Questions, q.Question)
	}
	if c.Rated() {
		c.Scale.Min = number("scale.min", d.ScaleMin, "form.scale_number")
		c.Scale.Max = number("scale.max", d.ScaleMax, "form.scale_number")
		c.Scale.Labels = d.Labels
	}
	weighed := len(bad) == 0 // an unreadable weight has no sum
	if f := fault.As(c.Validate()); f != nil {
		for field, m := range f.Fields {
			if _, blamed := bad[field]; !blamed && (weighed || field != "weights") {
				bad[field] = m
			}
		}
	}
	if len(bad) == 0 {
		return c, nil
	}
	d.fitLabels() // so that the words for a new scale can be written at once
	return c, fault.Fieldsf(bad)
}

// Refuse puts what is wrong into the draft, to be drawn again.
func (d *FormDraft) Refuse(err error) {
	if f := fault.As(err); f != nil {
		if d.Faults = f.Fields; len(f.Fields) == 0 {
			d.Problem = &f.Message
		}
	}
}

// Do changes the draft's shape as one of the editor's buttons asks: add.rating,
// up.2, down.2, remove.2, option.2, unoption.2.0, steps. It answers false when
// the button is none of these: then the form is to be saved.
func (d *FormDraft) Do(button string) bool {
	act, rest, _ := strings.Cut(button, ".")
	first, second, _ := strings.Cut(rest, ".")
	i, _ := strconv.Atoi(first)
	there := i >= 0 && i < len(d.Questions)
	switch act {
	case "add":
		d.add(appraisal.QuestionKind(rest))
	case "up":
		d.swap(i, i-1, "up")
	case "down":
		d.swap(i, i+1, "down")
	case "remove":
		if there {
			d.Questions = append(d.Questions[:i:i], d.Questions[i+1:]...)
			d.focus = "questions"
		}
	case "option":
		if there && len(d.Questions[i].Options) <= appraisal.MaxOptions {
			q := &d.Questions[i]
			q.Options = append(q.Options, appraisal.Option{ID: newID("o")})
			d.focus = fmt.Sprintf("questions.%d.options.%d.text.pt", i, len(q.Options)-1)
		}
	case "unoption":
		if j, err := strconv.Atoi(second); there && err == nil && j >= 0 && j < len(d.Questions[i].Options) {
			q := &d.Questions[i]
			q.Options = append(q.Options[:j:j], q.Options[j+1:]...)
			d.focus = fmt.Sprintf("questions.%d.options", i)
		}
	case "steps":
		d.fitLabels()
		d.focus = "scale.labels.0.pt"
	default:
		return false
	}
	return true
}

func (d *FormDraft) add(kind appraisal.QuestionKind) {
	if len(d.Questions) >= appraisal.MaxQuestions {
		d.Faults = map[string]fault.Message{"questions": fault.Msg("form.many_questions", "n", len(d.Questions)+1, "max", appraisal.MaxQuestions)}
		return
	}
	q := QuestionDraft{Percent: "0"}
	q.ID, q.Kind, q.Required = newID("q"), kind, true
	switch kind {
	case appraisal.QuestionRating:
		q.Comment, q.AllowNA = true, true
	case appraisal.QuestionChoice:
		q.Options = []appraisal.Option{{ID: newID("o")}, {ID: newID("o")}}
	case appraisal.QuestionText:
	default:
		return
	}
	d.Questions = append(d.Questions, q)
	d.focus = fmt.Sprintf("questions.%d.text.pt", len(d.Questions)-1)
}

func (d *FormDraft) swap(i, j int, button string) {
	if i < 0 || j < 0 || i >= len(d.Questions) || j >= len(d.Questions) {
		return
	}
	d.Questions[i], d.Questions[j] = d.Questions[j], d.Questions[i]
	d.focus = fmt.Sprintf("%s.%d", button, j)
	if j == 0 || j == len(d.Questions)-1 { // that button is gone at the end of the list
		d.focus = fmt.Sprintf("questions.%d.text.pt", j)
	}
}

// fitLabels makes as many labels as the scale has steps, if it is a scale.
func (d *FormDraft) fitLabels() {
	min, err1 := strconv.Atoi(strings.TrimSpace(d.ScaleMin))
	max, err2 := strconv.Atoi(strings.TrimSpace(d.ScaleMax))
	steps := max - min + 1
	if err1 != nil || err2 != nil || min < 0 || min > 100 || steps < 2 || steps > appraisal.MaxSteps {
		return
	}
	labels := make([]appraisal.Text, steps)
	copy(labels, d.Labels)
	d.Labels = labels
}

// newID names a question or an option for good: random, so that a new one never
// takes the name, and with it the answers, of one that was removed.
func newID(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()[:10]) }

// ready is the draft with its form made, as every field of the page asks for it.
func (d FormDraft) ready() FormDraft {
	f := d.form()
	d.drawn = &f
	return d
}

// form is the draft as the shared fields draw it.
func (d FormDraft) form() Form {
	if d.drawn != nil {
		return *d.drawn
	}
	f := Form{Values: map[string][]string{}, Faults: d.Faults, Problem: d.Problem}
	put := func(name, v string) {
		f.Values[name] = []string{shown(v)}
		f.Order = append(f.Order, name)
	}
	text := func(name string, t appraisal.Text) {
		put(name+".pt", t.PT)
		put(name+".en", t.EN)
	}
	tick := func(name string, on bool) {
		if on {
			put(name, "on")
		}
	}
	text("title", d.Title)
	text("intro", d.Intro)
	put("scale.min", d.ScaleMin)
	put("scale.max", d.ScaleMax)
	for i, l := range d.Labels {
		text(fmt.Sprintf("scale.labels.%d", i), l)
	}
	f.Order = append(f.Order, "questions", "weights")
	for i, q := range d.Questions {
		at := questionAt(i)
		f.Order = append(f.Order, at+"id", at+"kind")
		text(at+"text", q.Text)
		text(at+"help", q.Help)
		text(at+"section", q.Section)
		f.Order = append(f.Order, at+"options")
		for j, o := range q.Options {
			f.Order = append(f.Order, fmt.Sprintf("%soptions.%d.id", at, j))
			text(fmt.Sprintf("%soptions.%d.text", at, j), o.Text)
		}
		put(at+"weight", q.Percent)
		tick(at+"required", q.Required)
		tick(at+"comment", q.Comment)
		tick(at+"allow_na", q.AllowNA)
	}
	return f
}

// rated reports whether the scale matters.
func (d FormDraft) rated() bool {
	for _, q := range d.Questions {
		if q.Kind == appraisal.QuestionRating {
			return true
		}
	}
	return false
}

// weightSum adds up the weights that can be read.
func (d FormDraft) weightSum() int {
	sum := 0
	for _, q := range d.Questions {
		if q.Kind == appraisal.QuestionRating {
			n, _ := strconv.Atoi(strings.TrimSpace(q.Percent))
			sum += n
		}
	}
	return sum
}

// place says which part of the page a field belongs to, for the summary.
func (d FormDraft) place(ctx context.Context, field string) string {
	parts := strings.Split(field, ".")
	switch parts[0] {
	case "questions":
		if len(parts) > 1 {
			if i, err := strconv.Atoi(parts[1]); err == nil {
				return T(ctx, "form.question_n", "n", i+1)
			}
		}
		return T(ctx, "form.questions")
	case "weights":
		return T(ctx, "form.weights")
	case "scale":
		return T(ctx, "form.scale")
	case "intro":
		return T(ctx, "form.intro")
	}
	return T(ctx, "form.title")
}

// action is where the editor's page sends itself.
func (d FormDraft) action() string {
	if d.FormID == 0 {
		return "/forms/draft"
	}
	return fmt.Sprintf("/forms/%d/draft", d.FormID)
}

func (d FormDraft) title(ctx context.Context) string {
	if d.FormID == 0 {
		return T(ctx, "form.new")
	}
	return T(ctx, "form.editing", "title", d.named(ctx))
}

// named is the draft's title in the reader's language, or in the other one.
func (d FormDraft) named(ctx context.Context) string {
	for _, s := range []string{Local(ctx, d.Title), d.Title.PT, d.Title.EN} {
		if s = strings.TrimSpace(shown(s)); s != "" {
			return s
		}
	}
	return T(ctx, "form.untitled")
}

// stepValue is the rating that the i-th label belongs to.
func (d FormDraft) stepValue(i int) string {
	n, err := strconv.Atoi(strings.TrimSpace(d.ScaleMin))
	if err != nil {
		return strconv.Itoa(i + 1)
	}
	return strconv.Itoa(n + i)
}

// shown makes a value fit for a page whatever was sent.
func shown(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func questionAt(i int) string { return fmt.Sprintf("questions.%d.", i) }

func formURL(f appraisal.Form) string { return fmt.Sprintf("/forms/%d", f.ID) }

// formMoment says who saved a version and when.
func formMoment(ctx context.Context, v appraisal.FormVersion) string {
	if v.CreatedBy == "" {
		return T(ctx, "form.came_along", "when", i18n.From(ctx).Date(ViewerFrom(ctx).In(v.CreatedAt)))
	}
	return T(ctx, "form.saved_by", "who", v.CreatedBy, "when", DateTime(ctx, v.CreatedAt))
}

// side is the field of one language.
func (d FormDraft) side(ctx context.Context, b both, l i18n.Locale) Field {
	name, in := b.name+".pt", "form.in_pt"
	if l == i18n.EN {
		name, in = b.name+".en", "form.in_en"
	}
	attrs := templ.Attributes{"lang": string(l), "maxlength": strconv.Itoa(b.max)}
	if d.focus == name {
		attrs["autofocus"] = true
	}
	return Field{Name: name, Label: T(ctx, in, "label", b.label), Help: b.help, Optional: b.optional, Attrs: attrs}
}

// focused lets the browser go on where the button left the page.
func (d FormDraft) focused(name string) templ.Attributes {
	if d.focus != name {
		return nil
	}
	return templ.Attributes{"autofocus": true}
}

func (d FormDraft) crumbs(ctx context.Context) []Crumb {
	crumbs := []Crumb{{T(ctx, "nav.forms"), "/forms"}}
	if d.FormID != 0 {
		crumbs = append(crumbs, Crumb{d.named(ctx), d.back()})
	}
	return crumbs
}

func (d FormDraft) back() string {
	if d.FormID == 0 {
		return "/forms"
	}
	return fmt.Sprintf("/forms/%d", d.FormID)
}

func (d FormDraft) saveWord(ctx context.Context) string {
	if d.FormID == 0 {
		return T(ctx, "form.create")
	}
	return T(ctx, "form.save_version", "n", d.Based+1)
}

func (d FormDraft) kindWord(ctx context.Context, i int) string {
	switch k := d.Questions[i].Kind; k {
	case appraisal.QuestionRating, appraisal.QuestionChoice, appraisal.QuestionText:
		return T(ctx, "form.kind."+string(k))
	}
	return "?"
}

// unfolds reports whether the folded part of a question must be seen: something
// in it is wrong.
func (d FormDraft) unfolds(i int) bool {
	for field := range d.Faults {
		if strings.HasPrefix(field, questionAt(i)+"help") || strings.HasPrefix(field, questionAt(i)+"section") {
			return true
		}
	}
	return false
}
