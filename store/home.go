package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/policy"
)

// Counts are what waits for a person, as the navigation shows it.
type Counts struct {
	Reviews int  // to do or begun, in active cycles
	Failed  int  // messages the person may mend
	Team    bool // somebody reports to the person
}

// WaitingFor counts what waits for the actor.
func (s *Store) WaitingFor(ctx context.Context, by policy.Actor) (Counts, error) {
	var c Counts
	err := s.pool.QueryRow(ctx, `
		SELECT
			(SELECT count(*)
			 FROM evaluations e
			 JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
			 WHERE e.tenant_id = @tenant
			   AND e.reviewer_id = @actor
			   AND e.state IN ('pending', 'in_progress', 'reopened')
			   AND c.state = 'active'),
			(SELECT count(*)
			 FROM outbox_events o
			 WHERE o.tenant_id = @tenant
			   AND o.status = 'failed'
			   AND @messages::boolean
			   AND (@every::boolean OR o.cycle_id IS NULL OR EXISTS (
			       SELECT FROM cycles c
			       WHERE c.tenant_id = o.tenant_id AND c.id = o.cycle_id AND c.owner_id = @actor))),
			EXISTS (
				SELECT FROM people p
				JOIN tenants t ON t.id = p.tenant_id
				WHERE p.tenant_id = @tenant
				  AND p.manager_id = @actor
				  AND NOT has_left(p.left_on, t.zone))`,
		seen(by, pgx.NamedArgs{"messages": policy.May(by, policy.SeeMessages)})).Scan(&c.Reviews, &c.Failed, &c.Team)
	if err != nil {
		return Counts{}, fmt.Errorf("count what waits: %w", err)
	}
	return c, nil
}

// DueReviews is a cycle in which the actor still owes reviews.
type DueReviews struct {
	CycleID int64
	Cycle   string
	DueAt   time.Time
	DueZone string
	Open    int
	All     int
}

// OpenCycle is a cycle in draft or under way, for those who run cycles.
type OpenCycle struct {
	ID        int64
	Name      string
	State     string
	DueAt     time.Time
	DueZone   string
	Pairs     int
	Submitted int
	Started   int
	Declined  int
	Blockers  int // of a draft: rows that would refuse its activation
	Asking    int // reviewers who ask for more time and have no answer, for those who may answer
}

// Home is what needs somebody now.
type Home struct {
	Reviews []DueReviews
	Cycles  []OpenCycle // nil for who does not run cycles
	Failed  int
	Team    []TeamCycle // in which somebody of the actor's team still owes something
	// Unset is what an admin has not settled yet: no contact, so that nothing can be activated.
	Unset bool
	Now   time.Time
}

// NeedsMe reads what needs the actor now.
func (s *Store) NeedsMe(ctx context.Context, by policy.Actor) (Home, error) {
	var home Home
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		if home.Now, err = databaseNow(ctx, tx); err != nil {
			return err
		}
		if home.Reviews, err = dueReviews(ctx, tx, by); err != nil {
			return err
		}
		if home.Team, err = readTeam(ctx, tx, by); err != nil {
			return err
		}
		home.Team = slices.DeleteFunc(home.Team, func(c TeamCycle) bool { return c.Open() == 0 })
		if policy.May(by, policy.ManageSettings) {
			in, err := readSettings(ctx, tx, by.TenantID)
			if err != nil {
				return err
			}
			home.Unset = in.Contact == ""
		}
		if policy.May(by, policy.SeeCyclePart) {
			if home.Cycles, err = openCycles(ctx, tx, by); err == nil && policy.May(by, policy.SeeCycles) {
				err = countBlockers(ctx, tx, by, home.Cycles)
			}
		}
		return err
	})
	if err != nil {
		return Home{}, err
	}
	counts, err := s.WaitingFor(ctx, by)
	home.Failed = counts.Failed
	return home, err
}

func dueReviews(ctx context.Context, tx pgx.Tx, by policy.Actor) ([]DueReviews, error) {
	rows, _ := tx.Query(ctx, `
		SELECT c.id AS cycle_id, c.name AS cycle, deadline_of(c.tenant_id, c.id, @person) AS due_at, c.due_zone,
		       count(*) FILTER (WHERE e.state IN ('pending', 'in_progress', 'reopened')) AS open,
		       count(*) FILTER (WHERE e.state <> 'cancelled') AS all
		FROM evaluations e
		JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
		WHERE e.tenant_id = @tenant
		  AND e.reviewer_id = @person
		  AND c.state = 'active'
		GROUP BY c.id
		HAVING count(*) FILTER (WHERE e.state IN ('pending', 'in_progress', 'reopened')) > 0
		ORDER BY c.due_at, c.id`,
		pgx.NamedArgs{"tenant": by.TenantID, "person": by.PersonID})
	due, err := pgx.CollectRows(rows, pgx.RowToStructByName[DueReviews])
	if err != nil {
		return nil, fmt.Errorf("read reviews due: %w", err)
	}
	return due, nil
}

func openCycles(ctx context.Context, tx pgx.Tx, by policy.Actor) ([]OpenCycle, error) {
	args := pgx.NamedArgs{"tenant": by.TenantID, "answers": policy.May(by, policy.EditCycle)}
	covered(by, args)
	rows, _ := tx.Query(ctx, `
		SELECT c.id, c.name, c.state, c.due_at, c.due_zone,
		       count(e.id) FILTER (WHERE e.state <> 'cancelled') AS pairs,
		       count(e.id) FILTER (WHERE e.state = 'submitted') AS submitted,
		       count(e.id) FILTER (WHERE e.state IN ('in_progress', 'reopened')) AS started,
		       count(e.id) FILTER (WHERE e.state = 'declined') AS declined,
		       0 AS blockers,
		       (SELECT count(*)
		        FROM extension_requests x
		        WHERE @answers::boolean
		          AND x.tenant_id = c.tenant_id
		          AND x.cycle_id = c.id
		          AND x.answered_at IS NULL) AS asking
		FROM cycles c
		LEFT JOIN evaluations e ON e.tenant_id = c.tenant_id AND e.cycle_id = c.id
		     AND (@units::text[] IS NULL OR EXISTS (
		       SELECT FROM people r
		       WHERE r.tenant_id = e.tenant_id AND r.id = e.reviewee_id
		         AND is_covered(r.unit, r.department, r.manager_id, @units, @departments, @team_of)))
		WHERE c.tenant_id = @tenant
		  AND c.state IN ('draft', 'active')
		GROUP BY c.id
		ORDER BY c.state, c.due_at, c.id
		LIMIT 20`, args)
	cycles, err := pgx.CollectRows(rows, pgx.RowToStructByName[OpenCycle])
	if err != nil {
		return nil, fmt.Errorf("read open cycles: %w", err)
	}
	return cycles, nil
}

// countBlockers counts, of all drafts in one statement, what rosterBlockers
// lists of one: a test holds the two together.
func countBlockers(ctx context.Context, tx pgx.Tx, by policy.Actor, cycles []OpenCycle) error {
	rows, err := tx.Query(ctx, `
		WITH drafts AS (
			SELECT id, due_at, contact_email
			FROM cycles
			WHERE tenant_id = @tenant
			  AND state = 'draft'
		), found AS (
			SELECT d.id
			FROM drafts d
			WHERE NOT EXISTS (SELECT FROM evaluations e WHERE e.tenant_id = @tenant AND e.cycle_id = d.id)
			UNION ALL
			SELECT d.id
			FROM drafts d
			WHERE d.due_at <= now()
			UNION ALL
			SELECT d.id
			FROM drafts d
			JOIN tenants t ON t.id = @tenant
			WHERE t.contact_email IS NULL
			  AND d.contact_email IS NULL
			UNION ALL
			SELECT d.id
			FROM drafts d
			JOIN evaluations e ON e.tenant_id = @tenant AND e.cycle_id = d.id
			JOIN people reviewer ON reviewer.tenant_id = e.tenant_id AND reviewer.id = e.reviewer_id
			WHERE has_left(reviewer.left_on, (SELECT zone FROM tenants WHERE id = @tenant))
			UNION ALL
			SELECT d.id
			FROM drafts d
			JOIN participants p ON p.tenant_id = @tenant AND p.cycle_id = d.id
			JOIN people reviewee ON reviewee.tenant_id = p.tenant_id AND reviewee.id = p.person_id
			WHERE p.excluded_at IS NULL
			  AND has_left(reviewee.left_on, (SELECT zone FROM tenants WHERE id = @tenant))
			UNION ALL
			SELECT d.id
			FROM drafts d
			JOIN participants p ON p.tenant_id = @tenant AND p.cycle_id = d.id
			WHERE p.excluded_at IS NULL
			  AND (p.cycle_id, p.person_id) NOT IN (
				SELECT e.cycle_id, e.reviewee_id
				FROM evaluations e
				WHERE e.tenant_id = @tenant
				  AND e.cycle_id = ANY (ARRAY(SELECT id FROM drafts)))
			UNION ALL
			SELECT d.id
			FROM drafts d
			JOIN evaluations e ON e.tenant_id = @tenant AND e.cycle_id = d.id
			WHERE (e.cycle_id, e.reviewee_id) IN (
				SELECT p.cycle_id, p.person_id
				FROM participants p
				WHERE p.tenant_id = @tenant
				  AND p.excluded_at IS NOT NULL)
		)
		SELECT id, count(*)
		FROM found
		GROUP BY id`, pgx.NamedArgs{"tenant": by.TenantID})
	if err != nil {
		return fmt.Errorf("count blockers of drafts: %w", err)
	}
	blockers := map[int64]int{}
	var id int64
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error { blockers[id] = n; return nil }); err != nil {
		return fmt.Errorf("count blockers of drafts: %w", err)
	}
	for i := range cycles {
		cycles[i].Blockers = blockers[cycles[i].ID]
	}
	return nil
}
