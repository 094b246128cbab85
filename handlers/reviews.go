package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/store"
	"ciclo/views"
)

// listReviews answers GET /reviews: what the viewer was asked for.
func (h *Handlers) listReviews(w http.ResponseWriter, r *http.Request) error {
	lines, err := h.store.Reviews(r.Context(), actor(r))
	if err != nil {
		return err
	}
	return h.show(w, r, views.ReviewsPage(byCycle(lines)), nil)
}

// showReview answers GET /reviews/{id}: the form, or what became of it.
func (h *Handlers) showReview(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	review, err := h.store.Review(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	return h.show(w, r, views.ReviewPage(reviewOf(review)), nil)
}

// saveDraft answers POST /reviews/{id}/draft: the page's own saving, which asks
// for JSON, and the buttons of the form, which do not.
func (h *Handlers) saveDraft(w http.ResponseWriter, r *http.Request) error {
	id, sent, err := readReview(r)
	var review store.Review
	if err == nil {
		review, err = h.store.SaveDraft(r.Context(), actor(r), id, sent.version, sent.Said())
	}
	switch {
	case r.Header.Get("Accept") == "application/json":
		return h.answerDraft(w, r, review, err)
	case err != nil:
		return h.refuseReview(w, r, review, sent, err)
	case sent.in.first("then") != "submission":
		h.say(r, "review.draft_saved")
		return h.redirect(w, r, fmt.Sprintf("/reviews/%d", id))
	}
	if err := review.Ready(); err != nil {
		return h.refuseReview(w, r, review, sent, err)
	}
	return h.redirect(w, r, fmt.Sprintf("/reviews/%d/submission", id))
}

// checkSubmission answers GET /reviews/{id}/submission: everything once more,
// before the act that cannot be taken back.
func (h *Handlers) checkSubmission(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	review, err := h.store.Review(r.Context(), actor(r), id)
	if err != nil {
		return err
	}
	if err := review.Ready(); err != nil {
		return h.refuseReview(w, r, review, sentReview{}, err)
	}
	return h.show(w, r, views.SubmissionPage(reviewOf(review)), nil)
}

// submitEvaluation answers POST /reviews/{id}/submission. The page that asks
// sends no answers, only the version it showed; a form that sends them has them
// kept first.
func (h *Handlers) submitEvaluation(w http.ResponseWriter, r *http.Request) error {
	id, sent, err := readReview(r)
	if err != nil {
		return err
	}
	var said store.Said
	if sent.any() {
		said = sent.Said()
	}
	review, err := h.store.SubmitEvaluation(r.Context(), actor(r), id, sent.version, said)
	if err != nil {
		return h.refuseReview(w, r, review, sent, err)
	}
	h.say(r, "review.submitted", "name", review.Reviewee)
	return h.redirect(w, r, "/reviews")
}

// sentReview is what a page sent of a review.
type sentReview struct {
	in      *form
	version int // the one the page was made from
}

func readReview(r *http.Request) (id int64, sent sentReview, err error) {
	if id, err = pathID(r, "id"); err != nil {
		return 0, sent, err
	}
	if sent.in, err = readForm(r); err != nil {
		return 0, sent, err
	}
	sent.version, err = strconv.Atoi(sent.in.first("version"))
	if err != nil || sent.version < 0 {
		return 0, sent, fault.Invalidf("review.no_version")
	}
	return id, sent, nil
}

// any reports whether the page sent answers at all.
func (s sentReview) any() bool {
	for field := range s.in.values {
		if strings.HasPrefix(field, "q.") || strings.HasPrefix(field, "c.") {
			return true
		}
	}
	return false
}

// Said reads the answers by the form that was asked. Browsers send line ends as
// CRLF; they are kept as \n, so that a length is the same everywhere.
func (s sentReview) Said() store.Said {
	return func(c appraisal.FormContent) appraisal.Answers {
		return appraisal.ReadAnswers(c, func(field string) string {
			return strings.ReplaceAll(s.in.values.Get(field), "\r\n", "\n")
		})
	}
}

// refuseReview draws the review again with what is wrong and what was sent.
// What is not the reviewer's to see or mend stays an error.
func (h *Handlers) refuseReview(w http.ResponseWriter, r *http.Request, review store.Review, sent sentReview, err error) error {
	bad := fault.As(err)
	if bad == nil || review.ID == 0 || bad.Kind != fault.Invalid && bad.Kind != fault.Conflict {
		return err
	}
	v := reviewOf(review)
	v.Wrong = bad.Fields
	v.Missing = len(bad.Fields) > 0 && !review.Unsaved
	if len(bad.Fields) == 0 {
		v.Problem = &bad.Message
	}
	if review.Unsaved {
		v.Version = sent.version // the page stays as old as it was: sending it again overwrites nothing
		v.Stale = bad.Kind == fault.Conflict
	}
	return h.refuse(w, r, err, views.ReviewPage(v), nil)
}

// draftAnswer is what the page's own saving is told, in the reader's words.
type draftAnswer struct {
	Version       int    `json:"version"`
	Saved         string `json:"saved,omitempty"`
	Offline       string `json:"offline,omitempty"`
	Answered      int    `json:"answered"`
	AnsweredWords string `json:"answered_words,omitempty"`
	Problem       string `json:"problem,omitempty"`
}

func (h *Handlers) answerDraft(w http.ResponseWriter, r *http.Request, review store.Review, err error) error {
	a, status := draftAnswer{}, http.StatusOK
	switch {
	case fault.KindOf(err) == fault.Internal:
		return err
	case err != nil:
		status, a.Problem = statusOf(err), problemWords(r.Context(), err)
	default:
		v := reviewOf(review)
		n, of := appraisal.Answered(review.Form, review.Answers)
		a = draftAnswer{Version: review.Version, Answered: n}
		a.AnsweredWords = views.T(r.Context(), "review.n_of", "n", n, "of", of)
		a.Saved = views.SavedWords(r.Context(), v.SavedAt, v.Now)
		a.Offline = views.OfflineWords(r.Context(), v.SavedAt)
	}
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("answer a draft: %w", err)
	}
	return h.answer(w, status, "application/json", body)
}

// reviewOf is a review as its page draws it, with every time in the cycle's zone.
func reviewOf(r store.Review) views.Review {
	due := r.Cycle.Due()
	in := func(t *time.Time) *time.Time {
		if t == nil {
			return nil
		}
		here := t.In(due.Location())
		return &here
	}
	v := views.Review{
		ID: r.ID, Kind: r.Kind, State: r.State,
		Reviewee: r.Reviewee, Title: r.Title, Department: r.Department, Reviewer: r.Reviewer,
		Due: due, Until: due.Add(r.Cycle.Grace), Now: r.Now.In(due.Location()),
		Form: r.Form, Answers: r.Answers, Version: r.Version,
		SavedAt: in(r.SavedAt), SubmittedAt: in(r.SubmittedAt), Owed: r.Owed, Sent: r.Sent,
	}
	if r.Unsaved {
		v.Answers = shown(r.Answers)
	}
	if _, err := r.Evaluation.SaveDraft(r.Cycle); err != nil {
		v.Closed = &fault.As(err).Message
	}
	if _, err := r.Evaluation.Submit(r.Cycle, r.Now); err != nil {
		v.NoSubmit = &fault.As(err).Message
	}
	return v
}

// shown is what was sent as far as a page can show it.
func shown(answers appraisal.Answers) appraisal.Answers {
	clean := func(s string) string {
		return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	}
	out := make(appraisal.Answers, len(answers))
	for id, a := range answers {
		a.Text, a.Comment, a.Choice = clean(a.Text), clean(a.Comment), clean(a.Choice)
		out[id] = a
	}
	return out
}

// byCycle puts the lines, which come in the cycles' order, under their cycles.
func byCycle(lines []store.ReviewLine) []views.ReviewCycle {
	var cycles []views.ReviewCycle
	for _, l := range lines {
		if n := len(cycles); n == 0 || cycles[n-1].ID != l.CycleID {
			cycles = append(cycles, views.ReviewCycle{ID: l.CycleID, Name: l.Cycle, State: l.CycleState, Due: l.Due, Late: l.Late})
		}
		in := func(t *time.Time) *time.Time {
			if t == nil {
				return nil
			}
			here := t.In(l.Due.Location())
			return &here
		}
		c := &cycles[len(cycles)-1]
		c.Lines = append(c.Lines, views.ReviewLine{
			ID: l.ID, Reviewee: l.Reviewee, Title: l.Title, Kind: l.Kind, State: l.State,
			SavedAt: in(l.SavedAt), SentAt: in(l.SubmittedAt),
		})
	}
	return cycles
}
