package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/policy"
)

// TeamCycle is how one cycle under way stands among those who report to a
// manager. Counts only: no answer, and nobody's name but the team's.
type TeamCycle struct {
	ID      int64
	Name    string
	DueAt   time.Time
	DueZone string
	Over    bool // the deadline has passed
	Members []TeamMember
}

// TeamMember is one direct report in a cycle.
type TeamMember struct {
	PersonID  int64
	Name      string
	Title     string
	Asked     int // reviews that they are asked for
	Submitted int
	About     int // reviews of them
	In        int // of which submitted
}

// Open is what the member still owes.
func (m TeamMember) Open() int { return m.Asked - m.Submitted }

// Late is how many of the team still owe something after the deadline.
func (c TeamCycle) Late() (n int) {
	for _, m := range c.Members {
		if c.Over && m.Open() > 0 {
			n++
		}
	}
	return n
}

// Open is how many of the team still owe something.
func (c TeamCycle) Open() (n int) {
	for _, m := range c.Members {
		if m.Open() > 0 {
			n++
		}
	}
	return n
}

// Team answers how the actor's direct reports stand in every cycle under way,
// and how many they are.
func (s *Store) Team(ctx context.Context, by policy.Actor) (cycles []TeamCycle, size int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.SeeTeam, policy.Object{TenantID: by.TenantID, ManagerID: by.PersonID}); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `
			SELECT count(*)
			FROM people p
			JOIN tenants t ON t.id = p.tenant_id
			WHERE p.tenant_id = @tenant
			  AND p.manager_id = @actor
			  AND NOT has_left(p.left_on, t.zone)`, pgx.NamedArgs{"tenant": by.TenantID, "actor": by.PersonID}).Scan(&size); err != nil {
			return fmt.Errorf("count the team of person %d: %w", by.PersonID, err)
		}
		cycles, err = readTeam(ctx, tx, by)
		return err
	})
	return cycles, size, err
}

func readTeam(ctx context.Context, tx pgx.Tx, by policy.Actor) (cycles []TeamCycle, err error) {
	rows, err := tx.Query(ctx, `
		SELECT c.id, c.name, c.due_at, c.due_zone, c.due_at < now(), p.id, p.name, p.title, owed.asked, owed.submitted, about.all, about.submitted
		FROM cycles c
		JOIN people p ON p.tenant_id = c.tenant_id
		JOIN tenants t ON t.id = p.tenant_id
		CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE e.state IN ('pending', 'in_progress', 'reopened', 'submitted')) AS asked,
			       count(*) FILTER (WHERE e.state = 'submitted') AS submitted
			FROM evaluations e
			WHERE e.tenant_id = p.tenant_id
			  AND e.cycle_id = c.id
			  AND e.reviewer_id = p.id
		) owed
		CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE e.state IN ('pending', 'in_progress', 'reopened', 'submitted')) AS all,
			       count(*) FILTER (WHERE e.state = 'submitted') AS submitted
			FROM evaluations e
			WHERE e.tenant_id = p.tenant_id
			  AND e.cycle_id = c.id
			  AND e.reviewee_id = p.id
		) about
		WHERE c.tenant_id = @tenant
		  AND c.state = 'active'
		  AND p.manager_id = @actor
		  AND NOT has_left(p.left_on, t.zone)
		  AND owed.asked + about.all > 0
		ORDER BY c.due_at, c.id, owed.asked > owed.submitted DESC, p.name COLLATE "pt-BR-x-icu", p.id`,
		pgx.NamedArgs{"tenant": by.TenantID, "actor": by.PersonID})
	if err != nil {
		return nil, fmt.Errorf("read the team of person %d: %w", by.PersonID, err)
	}
	var c TeamCycle
	var m TeamMember
	_, err = pgx.ForEachRow(rows, []any{&c.ID, &c.Name, &c.DueAt, &c.DueZone, &c.Over, &m.PersonID, &m.Name, &m.Title, &m.Asked, &m.Submitted, &m.About, &m.In}, func() error {
		if n := len(cycles); n == 0 || cycles[n-1].ID != c.ID {
			cycles = append(cycles, c)
		}
		last := &cycles[len(cycles)-1]
		last.Members = append(last.Members, m)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the team of person %d: %w", by.PersonID, err)
	}
	return cycles, nil
}
