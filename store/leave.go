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

// Leaves lists when a person is or was away, the latest first.
func (s *Store) Leaves(ctx context.Context, by policy.Actor, person int64) (leaves []appraisal.Leave, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.SeePeople, policy.Of(by)); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT id, starts_on, ends_on, kind
			FROM absences
			WHERE tenant_id = @tenant
			  AND person_id = @person
			ORDER BY starts_on DESC`, pgx.NamedArgs{"tenant": by.TenantID, "person": person})
		if err != nil {
			return fmt.Errorf("list when person %d is away: %w", person, err)
		}
		if leaves, err = pgx.CollectRows(rows, pgx.RowToStructByPos[appraisal.Leave]); err != nil {
			return fmt.Errorf("list when person %d is away: %w", person, err)
		}
		return nil
	})
	return leaves, err
}

// NoteLeave records when a person is away, first and last day included.
func (s *Store) NoteLeave(ctx context.Context, by policy.Actor, person int64, leave appraisal.Leave) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if err := knowPerson(ctx, tx, by, person); err != nil {
			return err
		}
		var id int64
		err := tx.QueryRow(ctx, `
			INSERT INTO absences (tenant_id, person_id, starts_on, ends_on, kind, noted_by)
			VALUES (@tenant, @person, @from, @until, @kind, @actor)
			RETURNING id`,
			pgx.NamedArgs{"tenant": by.TenantID, "person": person, "from": leave.From, "until": leave.Until, "kind": leave.Kind, "actor": by.PersonID}).Scan(&id)
		if err != nil {
			return fmt.Errorf("note when person %d is away: %w", person, err)
		}
		return audit(ctx, tx, by, "leave.noted", "person", person, map[string]any{"leave": id, "from": day(leave.From), "until": day(leave.Until), "kind": leave.Kind})
	})
}

// RemoveLeave takes a record of NoteLeave back.
func (s *Store) RemoveLeave(ctx context.Context, by policy.Actor, person, id int64) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if err := knowPerson(ctx, tx, by, person); err != nil {
			return err
		}
		var from, until time.Time
		err := tx.QueryRow(ctx, `
			DELETE FROM absences
			WHERE tenant_id = @tenant
			  AND person_id = @person
			  AND id = @id
			RETURNING starts_on, ends_on`, pgx.NamedArgs{"tenant": by.TenantID, "person": person, "id": id}).Scan(&from, &until)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("leave.gone")
		}
		if err != nil {
			return fmt.Errorf("remove leave %d: %w", id, err)
		}
		return audit(ctx, tx, by, "leave.removed", "person", person, map[string]any{"leave": id, "from": day(from), "until": day(until)})
	})
}

// knowPerson refuses who may not note a leave, and a person of no organisation of theirs.
func knowPerson(ctx context.Context, tx pgx.Tx, by policy.Actor, person int64) error {
	if err := policy.Can(by, policy.NoteLeave, policy.Of(by)); err != nil {
		return err
	}
	var found bool
	err := tx.QueryRow(ctx, `
		SELECT true
		FROM people
		WHERE tenant_id = @tenant
		  AND id = @person`, pgx.NamedArgs{"tenant": by.TenantID, "person": person}).Scan(&found)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.NotFoundf("fault.not_found")
	}
	if err != nil {
		return fmt.Errorf("read person %d: %w", person, err)
	}
	return nil
}

// day writes a date as the trail keeps it.
func day(t time.Time) string { return t.Format(time.DateOnly) }
