package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/links"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// EveryManager asks for the slips of all managers at once; nought is a manager
// too: nobody's.
const EveryManager int64 = -1

// Slip is the paper for one reviewer without an address.
type Slip struct {
	Person     string
	Code       string // the employee code
	Title      string
	Department string
	ManagerID  int64
	Manager    string
	Reviews    int // asked for
	Handed     bool
	Link       links.Link // its code is derived from it; no id while it is not prepared
}

// SlipSheet is what is printed: the slips of one manager, or of all.
type SlipSheet struct {
	Head         appraisal.CycleHead
	Organisation string
	Slips        []Slip
	Unprepared   int
}

// Slips lists the managers whose people get their invitation on paper.
func (s *Store) Slips(ctx context.Context, by policy.Actor, id int64, page Page) (list appraisal.Slips, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if list.Head, err = headOfSlips(ctx, tx, by, id); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			WITH teams AS (
				SELECT coalesce(manager.id, 0) AS id, coalesce(manager.name, '') AS name, coalesce(manager.search, '') AS search,
				       count(*) FILTER (WHERE o.status = 'pending') AS waiting, count(*) FILTER (WHERE o.status = 'delivered') AS handed
				FROM outbox_events o
				JOIN people p ON p.tenant_id = o.tenant_id AND p.id = o.person_id
				LEFT JOIN people manager ON manager.tenant_id = p.tenant_id AND manager.id = p.manager_id
				WHERE o.tenant_id = @tenant
				  AND o.cycle_id = @cycle
				  AND o.queue = @handout
				  AND o.event_type = @kind
				  AND o.status IN ('pending', 'delivered')
				GROUP BY manager.tenant_id, manager.id
			), matching AS (
				SELECT id, name, waiting, handed
				FROM teams
				WHERE search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
			), page AS (
				SELECT id, name, waiting, handed
				FROM matching
				ORDER BY id = 0, name COLLATE "pt-BR-x-icu", id
				LIMIT @limit OFFSET @offset
			)
			SELECT id, name, waiting, handed, false
			FROM page
			UNION ALL
			SELECT (SELECT count(*) FROM matching), '', coalesce(sum(waiting), 0), coalesce(sum(handed), 0), true
			FROM teams`,
			pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "handout": outbox.QueueHandout, "kind": outbox.EvaluationAssigned,
				"words": searchWords(page.Q), "limit": page.Limit, "offset": page.Offset})
		if err != nil {
			return fmt.Errorf("list the slips of cycle %d: %w", id, err)
		}
		var team appraisal.SlipTeam
		var sums bool
		_, err = pgx.ForEachRow(rows, []any{&team.ManagerID, &team.Manager, &team.Waiting, &team.Handed, &sums}, func() error {
			if sums {
				list.Total, list.Waiting, list.Handed = int(team.ManagerID), team.Waiting, team.Handed
			} else {
				list.Teams = append(list.Teams, team)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("list the slips of cycle %d: %w", id, err)
		}
		return nil
	})
	return list, err
}

// headOfSlips reads the cycle for somebody who may see its slips.
func headOfSlips(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) (appraisal.CycleHead, error) {
	h, err := readHead(ctx, tx, by, id)
	if err != nil {
		return h, err
	}
	return h, policy.Can(by, policy.PrintSlips, ofCycle(h.Cycle))
}

// PrepareSlips makes what the slips of a manager are derived from, for those
// that have none yet, and notes who is about to print them. The codes are made
// when the sheet is drawn and are kept nowhere.
func (s *Store) PrepareSlips(ctx context.Context, by policy.Actor, id, manager int64, keyID string) (n int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := openSlips(ctx, tx, by, id); err != nil {
			return err
		}
		var made int
		err := tx.QueryRow(ctx, `
			WITH slips AS (
				SELECT o.person_id
				FROM outbox_events o
				JOIN people p ON p.tenant_id = o.tenant_id AND p.id = o.person_id
				WHERE o.tenant_id = @tenant
				  AND o.cycle_id = @cycle
				  AND o.queue = @handout
				  AND o.event_type = @kind
				  AND o.status IN ('pending', 'delivered')
				  AND @manager::bigint IN (@every, coalesce(p.manager_id, 0))
			), made AS (
				INSERT INTO review_links (tenant_id, cycle_id, person_id, kid, nonce)
				SELECT @tenant, @cycle, person_id, @kid, uuid_send(gen_random_uuid())
				FROM slips
				WHERE NOT EXISTS (
					SELECT FROM review_links l
					WHERE l.tenant_id = @tenant
					  AND l.cycle_id = @cycle
					  AND l.person_id = slips.person_id
					  AND l.revoked_at IS NULL)
				ORDER BY person_id
				ON CONFLICT (tenant_id, cycle_id, person_id) WHERE revoked_at IS NULL DO NOTHING
				RETURNING id
			)
			SELECT (SELECT count(*) FROM slips), (SELECT count(*) FROM made)`,
			ofTeam(by, id, manager, pgx.NamedArgs{"kid": keyID})).Scan(&n, &made)
		if err != nil {
			return fmt.Errorf("prepare the slips of cycle %d: %w", id, err)
		}
		if n == 0 {
			return fault.Conflictf("slip.none_to_print")
		}
		return audit(ctx, tx, by, "slips.printed", "cycle", id, map[string]any{"manager": max(manager, 0), "all": manager == EveryManager, "slips": n, "made": made})
	})
	return n, err
}

// openSlips holds the cycle and refuses unless its slips open something.
func openSlips(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) error {
	c, _, err := shareCycle(ctx, tx, by.TenantID, id)
	if err != nil {
		return err
	}
	if err := policy.Can(by, policy.PrintSlips, ofCycle(c)); err != nil {
		return err
	}
	if c.State != appraisal.CycleActive {
		return fault.Conflictf("slip.cycle_not_active", "cycle", c.Name, "state", fault.Msg("cycle.state."+string(c.State)))
	}
	return nil
}

func ofTeam(by policy.Actor, cycle, manager int64, args pgx.NamedArgs) pgx.NamedArgs {
	args["tenant"], args["cycle"], args["manager"], args["every"] = by.TenantID, cycle, manager, EveryManager
	args["handout"], args["kind"] = outbox.QueueHandout, outbox.EvaluationAssigned
	return args
}

// SlipSheet reads the slips of one manager, or of all, by manager and name.
func (s *Store) SlipSheet(ctx context.Context, by policy.Actor, id, manager int64) (sheet SlipSheet, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if sheet.Head, err = headOfSlips(ctx, tx, by, id); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			WITH asked AS (
				SELECT reviewer_id, count(*) AS reviews
				FROM evaluations
				WHERE tenant_id = @tenant
				  AND cycle_id = @cycle
				  AND state IN ('pending', 'in_progress', 'reopened', 'submitted')
				GROUP BY reviewer_id
			)
			SELECT p.id, p.name, p.code, p.title, p.department, coalesce(manager.id, 0), coalesce(manager.name, ''), coalesce(asked.reviews, 0),
			       o.status = 'delivered', coalesce(l.id, 0), coalesce(l.kid, ''), l.nonce, t.name
			FROM outbox_events o
			JOIN people p ON p.tenant_id = o.tenant_id AND p.id = o.person_id
			JOIN tenants t ON t.id = o.tenant_id
			LEFT JOIN people manager ON manager.tenant_id = p.tenant_id AND manager.id = p.manager_id
			LEFT JOIN asked ON asked.reviewer_id = p.id
			LEFT JOIN review_links l ON l.tenant_id = o.tenant_id AND l.cycle_id = o.cycle_id AND l.person_id = p.id AND l.revoked_at IS NULL
			WHERE o.tenant_id = @tenant
			  AND o.cycle_id = @cycle
			  AND o.queue = @handout
			  AND o.event_type = @kind
			  AND o.status IN ('pending', 'delivered')
			  AND @manager::bigint IN (@every, coalesce(p.manager_id, 0))
			ORDER BY manager.id IS NULL, manager.name COLLATE "pt-BR-x-icu", manager.id, p.name COLLATE "pt-BR-x-icu", p.id`,
			ofTeam(by, id, manager, pgx.NamedArgs{}))
		if err != nil {
			return fmt.Errorf("read the slips of cycle %d: %w", id, err)
		}
		sheet.Slips, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Slip, err error) {
			p.Link.TenantID, p.Link.CycleID = by.TenantID, id
			return p, row.Scan(&p.Link.PersonID, &p.Person, &p.Code, &p.Title, &p.Department, &p.ManagerID, &p.Manager, &p.Reviews,
				&p.Handed, &p.Link.ID, &p.Link.KeyID, &p.Link.Nonce, &sheet.Organisation)
		})
		if err != nil {
			return fmt.Errorf("read the slips of cycle %d: %w", id, err)
		}
		for _, p := range sheet.Slips {
			if p.Link.ID == 0 {
				sheet.Unprepared++
			}
		}
		return nil
	})
	return sheet, err
}

// HandOverSlips records that the slips of one manager, or of all, have reached
// their people's hands: those that still wait, each once, in a constant number
// of statements.
func (s *Store) HandOverSlips(ctx context.Context, by policy.Actor, id, manager int64) (n int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := openSlips(ctx, tx, by, id); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			WITH waiting AS (
				SELECT o.id
				FROM outbox_events o
				JOIN people p ON p.tenant_id = o.tenant_id AND p.id = o.person_id
				WHERE o.tenant_id = @tenant
				  AND o.cycle_id = @cycle
				  AND o.queue = @handout
				  AND o.event_type = @kind
				  AND o.status = 'pending'
				  AND @manager::bigint IN (@every, coalesce(p.manager_id, 0))
				ORDER BY o.id
				FOR NO KEY UPDATE OF o
			), settled AS (
				UPDATE outbox_events o
				SET status = 'delivered', delivered_at = now(), updated_at = now()
				FROM waiting
				WHERE o.tenant_id = @tenant
				  AND o.id = waiting.id
				RETURNING o.id
			), noted AS (
				INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id)
				SELECT @tenant, @actor, 'message.handed_over', 'message', id
				FROM settled
			)
			SELECT count(*)
			FROM settled`, ofTeam(by, id, manager, pgx.NamedArgs{"actor": by.PersonID})).Scan(&n)
		if err != nil {
			return fmt.Errorf("hand over the slips of cycle %d: %w", id, err)
		}
		if n == 0 {
			return fault.Conflictf("slip.none_to_hand_over")
		}
		return audit(ctx, tx, by, "slips.handed_over", "cycle", id, map[string]any{"manager": max(manager, 0), "all": manager == EveryManager, "slips": n})
	})
	return n, err
}

// settleHandout records the first use of a slip: whoever uses it holds it. One
// that was handed over before stays as it was.
func settleHandout(ctx context.Context, tx pgx.Tx, owner LinkOwner) error {
	_, err := tx.Exec(ctx, `
		WITH settled AS (
			UPDATE outbox_events
			SET status = 'delivered', delivered_at = now(), updated_at = now()
			WHERE tenant_id = @tenant
			  AND cycle_id = @cycle
			  AND person_id = @person
			  AND queue = @handout
			  AND event_type = @kind
			  AND status = 'pending'
			RETURNING id
		)
		INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id)
		SELECT @tenant, @person, 'message.first_used', 'message', id
		FROM settled`,
		pgx.NamedArgs{"tenant": owner.TenantID, "cycle": owner.CycleID, "person": owner.PersonID,
			"handout": outbox.QueueHandout, "kind": outbox.EvaluationAssigned})
	if err != nil {
		return fmt.Errorf("settle the slip of person %d: %w", owner.PersonID, err)
	}
	return nil
}
