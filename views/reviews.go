package views

import (
	"context"
	"fmt"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/i18n"
)

// Review is one review as its reviewer meets it.
type Review struct {
	ID          int64
	Kind        appraisal.Kind
	State       appraisal.State
	Reviewee    string
	Title       string
	Department  string
	Reviewer    string
	Due         time.Time // all times in the cycle's zone
	Until       time.Time // with the grace
	Now         time.Time
	Form        appraisal.FormContent
	Answers     appraisal.Answers
	Version     int // that this page was made from
	SavedAt     *time.Time
	SubmittedAt *time.Time
	Owed, Sent  int
	// Closed says why it takes no more answers; NoSubmit why what is written
	// cannot be submitted.
	Closed, NoSubmit *fault.Message
	// Wrong is what is wrong with the answers, by question; Problem with the whole.
	Wrong   map[string]fault.Message
	Problem *fault.Message
	// Missing is set when answers are wrong only because they are not there.
	Missing bool
	// Stale is set when another window has saved something newer.
	Stale bool
}

// ReviewLine is one review in the reviewer's list.
type ReviewLine struct {
	ID       int64
	Reviewee string
	Title    string
	Kind     appraisal.Kind
	State    appraisal.State
	SavedAt  *time.Time
	SentAt   *time.Time
}

// ReviewCycle is what the reviewer was asked for in one cycle.
type ReviewCycle struct {
	ID    int64
	Name  string
	State appraisal.CycleState
	Due   time.Time // in the cycle's zone
	Late  bool
	Lines []ReviewLine
}

// LinkLanding is what a review link shows before anybody has said who they are.
type LinkLanding struct {
	Token        string
	Person       string
	Organisation string
	Cycle        string
	Due          time.Time
	Open         int
}

func reviewURL(id int64) string      { return fmt.Sprintf("/reviews/%d", id) }
func draftURL(id int64) string       { return reviewURL(id) + "/draft" }
func submissionURL(id int64) string  { return reviewURL(id) + "/submission" }
func (l LinkLanding) action() string { return "/r/" + l.Token }

func (r Review) heading(ctx context.Context) string {
	if r.Kind == appraisal.Self {
		return T(ctx, "review.title_self")
	}
	return r.Reviewee
}

func (r Review) title(ctx context.Context) string {
	if r.Kind == appraisal.Self {
		return T(ctx, "review.title_self")
	}
	return T(ctx, "review.title", "name", r.Reviewee)
}

func (r Review) head(ctx context.Context) Head {
	h := Head{
		Crumbs: []Crumb{{N(ctx, "review.crumb", r.Owed, "sent", r.Sent), "/reviews"}},
		Title:  r.heading(ctx),
	}
	facts := []string{r.Title, r.Department}
	if r.Kind != appraisal.Self {
		facts = append(facts, T(ctx, "review.as."+string(r.Kind)))
	}
	for _, f := range facts {
		if f != "" {
			h.Meta = append(h.Meta, Fact(f))
		}
	}
	return h
}

// inGrace reports whether the deadline is over but the grace is not.
func (r Review) inGrace() bool { return r.NoSubmit == nil && r.Now.After(r.Due) }

// form is what is wrong, for the error summary: each line names its question,
// or ten of them would all say the same.
func (r Review) form(ctx context.Context) Form {
	f := Form{Faults: map[string]fault.Message{}, Problem: r.Problem}
	for i, q := range r.Form.Questions {
		f.Order = append(f.Order, q.Field())
		if m, bad := r.Wrong[q.ID]; bad {
			f.Faults[q.Field()] = fault.Msg("review.wrong_at", "n", i+1, "question", Local(ctx, q.Text), "wrong", m)
		}
	}
	if f.Problem == nil && len(r.Wrong) > 0 {
		m := fault.Msg("review.not_possible", "n", len(r.Wrong))
		if r.Missing {
			m = fault.Msg("review.missing", "n", len(r.Wrong))
		}
		f.Problem = &m
	}
	return f
}

func (r Review) refused() bool { return r.Problem != nil || len(r.Wrong) > 0 }

func (r Review) asked(ctx context.Context, i int) Asked {
	q := r.Form.Questions[i]
	a := Asked{Form: r.Form, Index: i, Answer: r.Answers[q.ID]}
	if m, bad := r.Wrong[q.ID]; bad {
		a.Wrong = Say(ctx, m)
	}
	return a
}

func (r Review) answered() int {
	n, _ := appraisal.Answered(r.Form, r.Answers)
	return n
}

// SavedWords says when the draft was last saved: by the clock today, with the
// day before that.
func SavedWords(ctx context.Context, at *time.Time, now time.Time) string {
	l := i18n.From(ctx)
	switch {
	case at == nil:
		return T(ctx, "review.not_saved")
	case at.Format(time.DateOnly) == now.Format(time.DateOnly):
		return T(ctx, "review.saved_at", "time", l.Clock(*at))
	}
	return T(ctx, "review.saved_at", "time", l.Clock(*at)+", "+l.Date(*at))
}

func (r Review) savedState() string {
	if r.SavedAt == nil {
		return "none"
	}
	return "saved"
}

// OfflineWords says since when nothing reached us.
func OfflineWords(ctx context.Context, saved *time.Time) string {
	if saved == nil {
		return T(ctx, "review.offline_new")
	}
	return T(ctx, "review.offline", "time", i18n.From(ctx).Clock(*saved))
}

// said puts an answer into words; nothing when there is none.
func (r Review) said(ctx context.Context, q appraisal.Question) string {
	a := r.Answers[q.ID]
	switch {
	case a.NA:
		return T(ctx, "form.cannot_judge")
	case a.Rating != nil:
		for _, s := range r.Form.Scale.Steps() {
			if s.Value == *a.Rating {
				return stepName(ctx, s) + Local(ctx, s.Label)
			}
		}
		return Int(ctx, *a.Rating)
	case a.Choice != "":
		for _, o := range q.Options {
			if o.ID == a.Choice {
				return Local(ctx, o.Text)
			}
		}
	}
	return a.Text
}

// reviewGroup is the part of a list that stands alike.
type reviewGroup struct {
	key   string
	lines []ReviewLine
}

// groups puts what is to do first.
func (c ReviewCycle) groups() []reviewGroup {
	groups := []reviewGroup{{key: "review.group.todo"}, {key: "review.group.started"}, {key: "review.group.sent"}, {key: "review.group.over"}}
	for _, l := range c.Lines {
		i := 3
		switch l.State {
		case appraisal.Pending:
			i = 0
		case appraisal.InProgress, appraisal.Reopened:
			i = 1
		case appraisal.Submitted:
			i = 2
		}
		groups[i].lines = append(groups[i].lines, l)
	}
	full := groups[:0]
	for _, g := range groups {
		if len(g.lines) > 0 {
			full = append(full, g)
		}
	}
	return full
}

// owed counts what the reviewer has to submit in the cycle, and what was.
func (c ReviewCycle) owed() (sent, owed int) {
	for _, l := range c.Lines {
		switch l.State {
		case appraisal.Submitted:
			sent++
			owed++
		case appraisal.Pending, appraisal.InProgress, appraisal.Reopened:
			owed++
		}
	}
	return sent, owed
}

func (l ReviewLine) open() bool {
	return l.State == appraisal.Pending || l.State == appraisal.InProgress || l.State == appraisal.Reopened
}

func (l ReviewLine) name(ctx context.Context) string {
	if l.Kind == appraisal.Self {
		return T(ctx, "review.title_self")
	}
	return l.Reviewee
}

// sub says what the reviewer is to the person, and how far the text is.
func (l ReviewLine) sub(ctx context.Context) string {
	s := l.Title
	add := func(more string) {
		if s != "" {
			s += " · "
		}
		s += more
	}
	if l.Kind != appraisal.Self {
		add(T(ctx, "review.as."+string(l.Kind)))
	}
	switch {
	case l.SentAt != nil && l.State == appraisal.Submitted:
		add(T(ctx, "review.sent_on", "when", i18n.From(ctx).DateTime(*l.SentAt)))
	case l.SavedAt != nil && l.open():
		add(T(ctx, "review.saved_on", "when", i18n.From(ctx).DateTime(*l.SavedAt)))
	}
	return s
}

// stateChip says how to show where a review stands.
func stateChip(ctx context.Context, s appraisal.State, late bool) (Tone, string, string) {
	word := T(ctx, "evaluation.state."+string(s))
	switch s {
	case appraisal.Submitted:
		return OK, "circle-check", word
	case appraisal.Pending, appraisal.InProgress, appraisal.Reopened:
		if late {
			return Warn, "clock-alert", T(ctx, "review.late")
		}
		if s == appraisal.Pending {
			return Quiet, "circle-dashed", word
		}
		return Active, "circle-dot", word
	}
	return Quiet, "circle-slash", word
}
