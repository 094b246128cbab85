package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// Review is one evaluation as its reviewer sees it: whom it is about, what is
// asked and what has been said so far. Nobody else is handed one.
type Review struct {
	appraisal.Evaluation
	Cycle      appraisal.Cycle
	Now        time.Time // the database's, when this was read
	Reviewee   string
	Title      string
	Department string
	Reviewer   string
	Form       appraisal.FormContent
	Answers    appraisal.Answers
	Version    int        // counts saves; 0 while nothing is saved
	SavedAt    *time.Time // of the last save
	Via        string     // how it was submitted: session, link or slip
	Unsaved    bool       // Answers are what was sent, and were not kept
	Owed       int        // reviews of this cycle the reviewer has, this one included
	Sent       int        // and has submitted
}

// Ready answers nil when what is saved may be submitted now.
func (r Review) Ready() error {
	if _, err := r.Submit(r.Cycle, r.Now); err != nil {
		return err
	}
	return appraisal.CheckSubmission(r.Form, r.Answers)
}

// ReviewLine is one review in its reviewer's list.
type ReviewLine struct {
	ID          int64
	CycleID     int64
	Cycle       string
	CycleState  appraisal.CycleState
	Due         time.Time // in the cycle's zone
	Late        bool      // the deadline is over, the cycle is not
	Reviewee    string
	Title       string
	Kind        appraisal.Kind
	State       appraisal.State
	SavedAt     *time.Time
	SubmittedAt *time.Time
}

// Reviews lists what a reviewer was asked for: in every cycle they were asked
// in, or by link in that cycle alone. What needs them comes first.
func (s *Store) Reviews(ctx context.Context, by policy.Actor) ([]ReviewLine, error) {
	mine := policy.Object{TenantID: by.TenantID, CycleID: by.CycleID, OwnerID: by.PersonID}
	if err := policy.Can(by, policy.SeeEvaluation, mine); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, `
		SELECT e.id, e.cycle_id, c.name, c.state, deadline_of(c.tenant_id, c.id, @reviewer), c.due_zone,
		       c.state = 'active' AND deadline_of(c.tenant_id, c.id, @reviewer) < now(), p.name, p.title, e.kind, e.state, a.saved_at, e.submitted_at
		FROM evaluations e
		JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
		JOIN people p ON p.tenant_id = e.tenant_id AND p.id = e.reviewee_id
		LEFT JOIN answers a ON a.tenant_id = e.tenant_id AND a.evaluation_id = e.id
		WHERE e.tenant_id = @tenant
		  AND e.reviewer_id = @reviewer
		  AND (@cycle::bigint = 0 OR e.cycle_id = @cycle)
		  AND c.activated_at IS NOT NULL
		  AND e.state <> 'planned'
		ORDER BY c.state <> 'active', c.due_at, c.id,
		         array_position(ARRAY['in_progress', 'reopened', 'pending', 'submitted'], e.state),
		         e.kind = 'self', p.name COLLATE "pt-BR-x-icu", e.id
		LIMIT 1000`,
		pgx.NamedArgs{"tenant": by.TenantID, "reviewer": by.PersonID, "cycle": by.CycleID})
	if err != nil {
		return nil, fmt.Errorf("list the reviews of person %d: %w", by.PersonID, err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l ReviewLine, err error) {
		var zone string
		err = row.Scan(&l.ID, &l.CycleID, &l.Cycle, &l.CycleState, &l.Due, &zone, &l.Late, &l.Reviewee, &l.Title, &l.Kind, &l.State, &l.SavedAt, &l.SubmittedAt)
		l.Due = appraisal.Cycle{DueAt: l.Due, DueZone: zone}.Due()
		return l, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the reviews of person %d: %w", by.PersonID, err)
	}
	return lines, nil
}

// Review answers one review to its reviewer. To anybody else, and in another
// cycle than the link's, there is none.
func (s *Store) Review(ctx context.Context, by policy.Actor, id int64) (r Review, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		cycle, err := cycleOfEvaluation(ctx, tx, by, id, policy.SeeEvaluation)
		if err != nil {
			return err
		}
		c, now, err := readCycleFor(ctx, tx, by.TenantID, cycle, by.PersonID)
		if err != nil {
			return err
		}
		r, err = readReview(ctx, tx, c, now, id)
		return err
	})
	return r, err
}

// Said reads what a reviewer sent, which takes the form they were asked.
type Said func(appraisal.FormContent) appraisal.Answers

// SaveDraft keeps what a reviewer has written so far. version is the one their
// page was made from: when another window has saved something else meanwhile,
// nothing is overwritten and the fault says so. The same text again is no
// conflict, so that a save whose answer was lost can be repeated. With a fault
// the review comes back holding what was sent, to be shown again.
func (s *Store) SaveDraft(ctx context.Context, by policy.Actor, id int64, version int, said Said) (r Review, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if r, err = lockReview(ctx, tx, by, id); err != nil {
			return err
		}
		return saveDraft(ctx, tx, &r, version, said(r.Form))
	})
	return r, err
}

// SubmitEvaluation submits a review, once. With answers it keeps them first, as
// SaveDraft does; with a nil Said it submits the draft of that version. A
// refusal by the deadline or the form still keeps the text; every refusal by
// rule is audited. The review comes back as it is then.
func (s *Store) SubmitEvaluation(ctx context.Context, by policy.Actor, id int64, version int, said Said) (r Review, err error) {
	var refused error
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		refused = nil // a deadlock runs this twice
		r, err = lockForSubmission(ctx, tx, by, id)
		if err == nil {
			err = s.submit(ctx, tx, by, &r, version, said)
		}
		if fault.As(err) == nil {
			return err
		}
		refused = err // the text and the audit entry stay
		return auditRefusal(ctx, tx, by, id, err)
	})
	if err == nil {
		err = refused
	}
	return r, err
}

func (s *Store) submit(ctx context.Context, tx pgx.Tx, by policy.Actor, r *Review, version int, said Said) error {
	if said != nil {
		if err := saveDraft(ctx, tx, r, version, said(r.Form)); err != nil {
			return err
		}
	}
	next, err := r.Submit(r.Cycle, r.Now)
	if err != nil {
		return err
	}
	if said == nil && version != r.Version {
		return staleVersion(*r)
	}
	if err := appraisal.CheckSubmission(r.Form, r.Answers); err != nil {
		return err
	}
	r.State, r.SubmittedAt, r.Via = next, &r.Now, by.Channel()
	if _, err := tx.Exec(ctx, `
		UPDATE evaluations
		SET state = @state, submitted_at = @now, submitted_via = @via, started_at = coalesce(started_at, @now)
		WHERE tenant_id = @tenant
		  AND id = @id`,
		pgx.NamedArgs{"tenant": r.TenantID, "id": r.ID, "state": next, "now": r.Now, "via": r.Via}); err != nil {
		return fmt.Errorf("submit evaluation %d: %w", r.ID, err)
	}
	if err := s.thankWhenDone(ctx, tx, *r); err != nil {
		return err
	}
	return audit(ctx, tx, by, "evaluation.submit", "evaluation", r.ID, map[string]any{"cycle": r.CycleID, "via": r.Via, "version": r.Version})
}

// thankWhenDone owes the reviewer the message that everything of the cycle is
// in, when the review just submitted was the last. The reviewer's others are
// locked, so that of two windows that submit the last two, one sees it.
func (s *Store) thankWhenDone(ctx context.Context, tx pgx.Tx, r Review) error {
	var done bool
	err := tx.QueryRow(ctx, `
		SELECT p.email IS NOT NULL AND NOT EXISTS (
			SELECT FROM evaluations e
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND e.reviewer_id = @reviewer
			  AND e.state IN ('pending', 'in_progress', 'reopened'))
		FROM people p
		WHERE p.tenant_id = @tenant
		  AND p.id = @reviewer`, pgx.NamedArgs{"tenant": r.TenantID, "cycle": r.CycleID, "reviewer": r.ReviewerID}).Scan(&done)
	if err != nil {
		return fmt.Errorf("look whether person %d is done with cycle %d: %w", r.ReviewerID, r.CycleID, err)
	}
	if !done {
		return nil
	}
	return s.owe(ctx, tx, r.TenantID, outbox.EvaluationReceived, r.ID, map[string]any{"reviewer_id": r.ReviewerID, "cycle_id": r.CycleID})
}

// auditRefusal notes that a submission was refused by rule, also to who has no
// business with it. What is only missing from the form is no refusal.
func auditRefusal(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64, refusal error) error {
	f := fault.As(refusal)
	if by.TenantID == 0 || f.Kind == fault.Invalid {
		return nil
	}
	return audit(ctx, tx, by, "evaluation.submit_refused", "evaluation", id, map[string]any{"why": f.Key, "via": by.Channel()})
}

// cycleOfEvaluation finds the cycle of an evaluation, for the reviewer alone.
func cycleOfEvaluation(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64, act policy.Act) (cycle int64, err error) {
	o := policy.Object{TenantID: by.TenantID}
	err = tx.QueryRow(ctx, `
		SELECT cycle_id, reviewer_id, reviewee_id
		FROM evaluations
		WHERE tenant_id = @tenant
		  AND id = @id`, pgx.NamedArgs{"tenant": by.TenantID, "id": id}).Scan(&o.CycleID, &o.OwnerID, &o.SubjectID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, fault.NotFoundf("fault.not_found")
	case err != nil:
		return 0, fmt.Errorf("find evaluation %d: %w", id, err)
	}
	return o.CycleID, policy.Can(by, act, o)
}

// lockForSubmission holds the cycle, so that closing and submitting cannot
// cross, and then the reviewer's evaluations in it, in one order for everybody:
// which of them is the last one must be seen by one submission alone.
func lockForSubmission(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) (Review, error) {
	cycle, err := cycleOfEvaluation(ctx, tx, by, id, policy.WriteEvaluation)
	if err != nil {
		return Review{}, err
	}
	if _, _, err := shareCycle(ctx, tx, by.TenantID, cycle); err != nil {
		return Review{}, err
	}
	if _, err := tx.Exec(ctx, `
		SELECT FROM evaluations
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND reviewer_id = @reviewer
		ORDER BY id
		FOR UPDATE`, pgx.NamedArgs{"tenant": by.TenantID, "cycle": cycle, "reviewer": by.PersonID}); err != nil {
		return Review{}, fmt.Errorf("lock the reviews of person %d: %w", by.PersonID, err)
	}
	return lockReview(ctx, tx, by, id)
}

// lockReview holds the evaluation and reads it, with its cycle, after the lock.
// A draft needs no more: who closes or cancels a cycle writes its evaluations,
// and hundreds of people saving at once must not queue for one cycle's row.
func lockReview(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) (Review, error) {
	if _, err := tx.Exec(ctx, `
		SELECT FROM evaluations
		WHERE tenant_id = @tenant
		  AND id = @id
		  AND reviewer_id = @reviewer
		FOR UPDATE`, pgx.NamedArgs{"tenant": by.TenantID, "id": id, "reviewer": by.PersonID}); err != nil {
		return Review{}, fmt.Errorf("lock evaluation %d: %w", id, err)
	}
	cycle, err := cycleOfEvaluation(ctx, tx, by, id, policy.WriteEvaluation)
	if err != nil {
		return Review{}, err
	}
	c, now, err := readCycleFor(ctx, tx, by.TenantID, cycle, by.PersonID)
	if err != nil {
		return Review{}, err
	}
	return readReview(ctx, tx, c, now, id)
}

func readReview(ctx context.Context, tx pgx.Tx, c appraisal.Cycle, now time.Time, id int64) (Review, error) {
	r := Review{Cycle: c, Now: now, Answers: appraisal.Answers{}}
	var form, content []byte
	err := tx.QueryRow(ctx, `
		SELECT e.id, e.tenant_id, e.cycle_id, e.reviewee_id, e.reviewer_id, e.kind, e.state, e.started_at, e.submitted_at,
		       coalesce(e.submitted_via, ''), p.name, p.title, p.department, reviewer.name, f.content,
		       coalesce(a.content, '{}'), coalesce(a.version, 0), a.saved_at,
		       count(*) FILTER (WHERE o.state IN ('pending', 'in_progress', 'reopened', 'submitted')),
		       count(*) FILTER (WHERE o.state = 'submitted')
		FROM evaluations e
		JOIN people p ON p.tenant_id = e.tenant_id AND p.id = e.reviewee_id
		JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
		JOIN form_versions f ON f.tenant_id = e.tenant_id AND f.id = @form
		JOIN evaluations o ON o.tenant_id = e.tenant_id AND o.cycle_id = e.cycle_id AND o.reviewer_id = e.reviewer_id
		LEFT JOIN answers a ON a.tenant_id = e.tenant_id AND a.evaluation_id = e.id
		WHERE e.tenant_id = @tenant
		  AND e.id = @id
		GROUP BY e.id, p.id, reviewer.id, f.id, a.evaluation_id`,
		pgx.NamedArgs{"tenant": c.TenantID, "id": id, "form": c.FormVersionID}).
		Scan(&r.ID, &r.TenantID, &r.CycleID, &r.RevieweeID, &r.ReviewerID, &r.Kind, &r.State, &r.StartedAt, &r.SubmittedAt,
			&r.Via, &r.Reviewee, &r.Title, &r.Department, &r.Reviewer, &form, &content, &r.Version, &r.SavedAt, &r.Owed, &r.Sent)
	if err != nil {
		return r, fmt.Errorf("read evaluation %d: %w", id, err)
	}
	if err := json.Unmarshal(form, &r.Form); err != nil {
		return r, fmt.Errorf("read the form of evaluation %d: %w", id, err)
	}
	if err := json.Unmarshal(content, &r.Answers); err != nil {
		return r, fmt.Errorf("read the answers of evaluation %d: %w", id, err)
	}
	return r, nil
}

// saveDraft keeps answers on a locked review.
func saveDraft(ctx context.Context, tx pgx.Tx, r *Review, version int, answers appraisal.Answers) error {
	next, err := r.SaveDraft(r.Cycle)
	if err != nil {
		return err
	}
	kept := r.Answers
	r.Answers, r.Unsaved = answers, true
	if err := appraisal.CheckDraft(r.Form, answers); err != nil {
		return err
	}
	same, err := equalAnswers(answers, kept)
	switch {
	case err != nil:
		return err
	case same: // said again, or an untouched page: there is nothing to keep
		r.Unsaved = false
		return nil
	case version != r.Version:
		return staleVersion(*r)
	}
	if err := tx.QueryRow(ctx, `
		INSERT INTO answers (evaluation_id, tenant_id, content, saved_at)
		VALUES (@id, @tenant, @content, @now)
		ON CONFLICT (evaluation_id) DO UPDATE
		SET content = @content, version = answers.version + 1, saved_at = @now
		RETURNING version`,
		pgx.NamedArgs{"id": r.ID, "tenant": r.TenantID, "content": answers, "now": r.Now}).Scan(&r.Version); err != nil {
		return fmt.Errorf("save evaluation %d: %w", r.ID, err)
	}
	r.SavedAt, r.Unsaved = &r.Now, false
	if next == r.State {
		return nil
	}
	r.State = next
	if r.StartedAt == nil {
		r.StartedAt = &r.Now
	}
	if _, err := tx.Exec(ctx, `
		UPDATE evaluations
		SET state = @state, started_at = @started
		WHERE tenant_id = @tenant
		  AND id = @id`,
		pgx.NamedArgs{"tenant": r.TenantID, "id": r.ID, "state": r.State, "started": *r.StartedAt}); err != nil {
		return fmt.Errorf("start evaluation %d: %w", r.ID, err)
	}
	return nil
}

// staleVersion says when the other window saved.
func staleVersion(r Review) error {
	if r.SavedAt == nil {
		return fault.Invalidf("fault.bad_request")
	}
	saved := *r.SavedAt
	if loc, err := time.LoadLocation(r.Cycle.DueZone); err == nil {
		saved = saved.In(loc)
	}
	return fault.Conflictf("evaluation.stale", "when", saved)
}

// equalAnswers compares as stored: a rating behind a pointer is its number.
func equalAnswers(a, b appraisal.Answers) (bool, error) {
	one, err := json.Marshal(a)
	if err != nil {
		return false, fmt.Errorf("compare answers: %w", err)
	}
	other, err := json.Marshal(b)
	if err != nil {
		return false, fmt.Errorf("compare answers: %w", err)
	}
	return string(one) == string(other), nil
}
