package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// Receipt reads the record of the cycle's latest activation and counts, now,
// what it wrote: messages by where they stand, evaluations by state.
func (s *Store) Receipt(ctx context.Context, by policy.Actor, id int64) (r appraisal.ReceiptToday, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if r.Head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		if r.Did, err = readActivation(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		if r.Messages, err = tallyMessages(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		if r.Now, err = databaseNow(ctx, tx); err != nil {
			return err
		}
		if r.Undoable, err = undoable(ctx, tx, by, r.Head.ID, r.Did); err != nil {
			return err
		}
		r.States, err = countStatesThen(ctx, tx, by.TenantID, id)
		for _, n := range r.States {
			r.Listed += n
		}
		return err
	})
	return r, err
}

func readActivation(ctx context.Context, tx pgx.Tx, tenant, cycle int64) (r appraisal.Receipt, err error) {
	var held *time.Time
	err = tx.QueryRow(ctx, `
		SELECT a.cycle_id, a.number, p.name, a.at, a.pairs, a.evaluations, a.reviewers, a.events, a.mails, a.handouts, a.held_until
		FROM activations a
		JOIN people p ON p.tenant_id = a.tenant_id AND p.id = a.actor_id
		WHERE a.tenant_id = @tenant
		  AND a.cycle_id = @cycle
		  AND a.undone_at IS NULL
		ORDER BY a.id DESC
		LIMIT 1`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle}).
		Scan(&r.CycleID, &r.Number, &r.By, &r.At, &r.Pairs, &r.Evaluations, &r.Reviewers, &r.Events, &r.Mails, &r.Handouts, &held)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, fault.NotFoundf("receipt.not_activated")
	}
	if err != nil {
		return r, fmt.Errorf("read the activation of cycle %d: %w", cycle, err)
	}
	if held != nil {
		r.HeldUntil = *held
	}
	return r, nil
}

func tallyMessages(ctx context.Context, tx pgx.Tx, tenant, cycle int64) (m appraisal.Messages, err error) {
	err = tx.QueryRow(ctx, `
		SELECT count(*),
		       count(*) FILTER (WHERE status = 'delivered' AND queue <> 'handout'),
		       count(*) FILTER (WHERE status = 'delivered' AND queue = 'handout'),
		       count(*) FILTER (WHERE status = 'processing' OR status = 'pending' AND queue <> 'handout' AND last_error IS NULL),
		       count(*) FILTER (WHERE status = 'pending' AND queue <> 'handout' AND last_error IS NOT NULL),
		       count(*) FILTER (WHERE status = 'pending' AND queue = 'handout'),
		       count(*) FILTER (WHERE status = 'failed'),
		       count(*) FILTER (WHERE status = 'cancelled'),
		       min(available_at) FILTER (WHERE status = 'pending' AND queue <> 'handout' AND available_at > now())
		FROM outbox_events
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND created_at <= (SELECT activated_at FROM cycles WHERE tenant_id = @tenant AND id = @cycle)
		  AND event_type = 'evaluation.assigned'`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle}).
		Scan(&m.Total, &m.Accepted, &m.Handed, &m.Queued, &m.Retrying, &m.ToHand, &m.Failed, &m.Cancelled, &m.Next)
	if err != nil {
		return m, fmt.Errorf("count messages of cycle %d: %w", cycle, err)
	}
	return m, nil
}

// countStatesThen counts the evaluations that the activation opened, wherever
// they stand now: what later changes brought is no part of its record.
func countStatesThen(ctx context.Context, tx pgx.Tx, tenant, cycle int64) (map[appraisal.State]int, error) {
	rows, err := tx.Query(ctx, `
		SELECT e.state, count(*)
		FROM evaluations e
		JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND e.created_at <= c.activated_at
		GROUP BY e.state`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle})
	return tallyStates(rows, err, cycle)
}

// countStates counts the evaluations of the roster as it is now: one that was
// reassigned or called off by itself has left it.
func countStates(ctx context.Context, tx pgx.Tx, tenant, cycle int64) (map[appraisal.State]int, error) {
	rows, err := tx.Query(ctx, `
		SELECT state, count(*)
		FROM evaluations
		WHERE tenant_id = @tenant
		  AND cycle_id = @cycle
		  AND (state_reason IS NULL OR state_reason NOT IN ('reassigned', 'called_off'))
		GROUP BY state`, pgx.NamedArgs{"tenant": tenant, "cycle": cycle})
	return tallyStates(rows, err, cycle)
}

func tallyStates(rows pgx.Rows, err error, cycle int64) (map[appraisal.State]int, error) {
	if err != nil {
		return nil, fmt.Errorf("count evaluations of cycle %d: %w", cycle, err)
	}
	states := map[appraisal.State]int{}
	var state appraisal.State
	var n int
	if _, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error { states[state] = n; return nil }); err != nil {
		return nil, fmt.Errorf("count evaluations of cycle %d: %w", cycle, err)
	}
	return states, nil
}

// MissingQuery narrows the list of who still owes reviews.
type MissingQuery struct {
	Page
	Department *string // of the reviewer; nil means all
	Started    string  // "yes", "no" or empty for all
}

// Progress reads how a cycle stands, in a constant number of statements.
func (s *Store) Progress(ctx context.Context, by policy.Actor, id int64, q MissingQuery) (p appraisal.Progress, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if p.Head, err = readHead(ctx, tx, by, id); err != nil {
			return err
		}
		did, err := readActivation(ctx, tx, by.TenantID, id)
		switch {
		case err == nil:
			p.Receipt = &did
		case fault.KindOf(err) != fault.NotFound:
			return err
		}
		if p.Messages, err = tallyMessages(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		if p.States, err = countStates(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		if p.Then, err = countStatesThen(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		if err := countWaiting(ctx, tx, &p); err != nil {
			return err
		}
		if err := readDepartmentProgress(ctx, tx, by.TenantID, id, &p); err != nil {
			return err
		}
		return readMissing(ctx, tx, by.TenantID, id, q, &p)
	})
	return p, err
}

// countWaiting counts what HR has to decide in a running cycle.
func countWaiting(ctx context.Context, tx pgx.Tx, p *appraisal.Progress) error {
	if p.Head.State != appraisal.CycleActive {
		return nil
	}
	err := tx.QueryRow(ctx, `
		SELECT (
			SELECT count(*)
			FROM evaluations e
			JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
			JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
			WHERE e.tenant_id = @tenant
			  AND e.cycle_id = @cycle
			  AND e.state IN ('pending', 'in_progress', 'reopened')
			  AND (has_left(reviewee.left_on, @zone) OR has_left(reviewer.left_on, @zone))
		), (
			SELECT count(*)
			FROM extension_requests
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND answered_at IS NULL
		), EXISTS (
			SELECT FROM outbox_events
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND queue = 'handout'
		)`, pgx.NamedArgs{"tenant": p.Head.TenantID, "cycle": p.Head.ID, "zone": p.Head.DueZone}).Scan(&p.Decisions, &p.Requests, &p.Slips)
	if err != nil {
		return fmt.Errorf("count what waits in cycle %d: %w", p.Head.ID, err)
	}
	return nil
}

func readDepartmentProgress(ctx context.Context, tx pgx.Tx, tenant, cycle int64, p *appraisal.Progress) error {
	rows, err := tx.Query(ctx, `
		SELECT reviewee.department, count(*), count(*) FILTER (WHERE e.state = 'submitted'), count(*) FILTER (WHERE e.state IN ('in_progress', 'reopened'))
		FROM evaluations e
		JOIN people reviewee ON reviewee.tenant_id = e.tenant_id AND reviewee.id = e.reviewee_id
		WHERE e.tenant_id = @tenant
		  AND e.cycle_id = @cycle
		  AND e.state <> 'cancelled'
		GROUP BY reviewee.department
		ORDER BY count(*) FILTER (WHERE e.state = 'submitted')::float / count(*), reviewee.department`,
		pgx.NamedArgs{"tenant": tenant, "cycle": cycle})
	if err != nil {
		return fmt.Errorf("count departments of cycle %d: %w", cycle, err)
	}
	if p.Departments, err = pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.DepartmentProgress]); err != nil {
		return fmt.Errorf("count departments of cycle %d: %w", cycle, err)
	}
	return nil
}

func readMissing(ctx context.Context, tx pgx.Tx, tenant, cycle int64, q MissingQuery, p *appraisal.Progress) error {
	rows, err := tx.Query(ctx, `
		WITH owing AS (
			SELECT reviewer_id, count(*) FILTER (WHERE state IN ('pending', 'in_progress', 'reopened')) AS owed,
			       count(*) FILTER (WHERE state IN ('in_progress', 'reopened')) AS started,
			       count(*) FILTER (WHERE state = 'submitted') AS submitted
			FROM evaluations
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			GROUP BY reviewer_id
			HAVING count(*) FILTER (WHERE state IN ('pending', 'in_progress', 'reopened')) > 0
		), named AS (
			SELECT r.id, r.name, coalesce(r.email::text, '') AS email, r.department, r.search, owing.owed, owing.started, owing.submitted
			FROM owing
			JOIN people r ON r.tenant_id = @tenant AND r.id = owing.reviewer_id
		), matching AS (
			SELECT id, name, email, department, owed, started, submitted
			FROM named
			WHERE (@department::text IS NULL OR department = @department)
			  AND (@started = '' OR (started > 0) = (@started = 'yes'))
			  AND search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
		), page AS (
			SELECT id, name, email, department, owed, started, submitted,
			       row_number() OVER (ORDER BY
			           CASE WHEN @sort = '-name' THEN name END COLLATE "pt-BR-x-icu" DESC,
			           CASE WHEN @sort = 'owed' THEN owed END,
			           CASE WHEN @sort = '-owed' THEN owed END DESC,
			           CASE WHEN @sort = 'department' THEN department END COLLATE "pt-BR-x-icu",
			           CASE WHEN @sort = '-department' THEN department END COLLATE "pt-BR-x-icu" DESC,
			           name COLLATE "pt-BR-x-icu", id) AS place
			FROM matching
			ORDER BY place
			LIMIT @limit OFFSET @offset
		), reminded AS (
			SELECT person_id, max(created_at) AS at
			FROM outbox_events
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND event_type = 'evaluation.reminder'
			  AND status <> 'cancelled'
			GROUP BY person_id
		)
		SELECT 'row' AS what, page.place, page.id, page.name, page.email, page.department, page.owed, page.started, page.submitted,
		       coalesce(o.status, ''), coalesce(o.id, 0), coalesce(o.queue = 'handout', false), deadline_of(@tenant, @cycle, page.id), reminded.at
		FROM page
		LEFT JOIN reminded ON reminded.person_id = page.id
		LEFT JOIN outbox_events o ON o.tenant_id = @tenant AND o.cycle_id = @cycle AND o.event_type = 'evaluation.assigned' AND o.person_id = page.id
		UNION ALL
		SELECT 'matching', 0, 0, '', '', '', count(*), 0, 0, '', 0, false, NULL, NULL
		FROM matching
		UNION ALL
		SELECT 'department', 0, 0, '', '', department, count(*), 0, 0, '', 0, false, NULL, NULL
		FROM named
		GROUP BY department
		ORDER BY what, place, department`,
		pgx.NamedArgs{"tenant": tenant, "cycle": cycle, "department": q.Department, "started": q.Started, "words": searchWords(q.Q),
			"sort": q.Sort, "limit": q.Limit, "offset": q.Offset})
	if err != nil {
		return fmt.Errorf("list who is missing in cycle %d: %w", cycle, err)
	}
	var what string
	var place int
	var m appraisal.Missing
	var due *time.Time
	_, err = pgx.ForEachRow(rows, []any{&what, &place, &m.PersonID, &m.Name, &m.Email, &m.Department, &m.Owed, &m.Started, &m.Submitted, &m.Message, &m.EventID, &m.Handout, &due, &m.RemindedAt}, func() error {
		switch what {
		case "row":
			if due.After(p.Head.DueAt) {
				in := due.In(p.Head.Due().Location())
				m.OwnDue = &in
			} else {
				m.OwnDue = nil
			}
			p.Missing = append(p.Missing, m)
		case "matching":
			p.Total = m.Owed
		default:
			p.MissingAll += m.Owed
			p.Owing = append(p.Owing, m.Department)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list who is missing in cycle %d: %w", cycle, err)
	}
	return nil
}
