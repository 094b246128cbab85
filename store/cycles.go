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

// lockCycle holds a cycle's row and then reads it, so that two people pressing
// Activate at once are served one after the other. NO KEY lets the outbox's
// foreign keys in. The lock is a statement of its own: a joined name would be
// read from the snapshot of before the wait. The time is the database's.
func lockCycle(ctx context.Context, tx pgx.Tx, tenant, id int64) (appraisal.Cycle, time.Time, error) {
	if _, err := tx.Exec(ctx, `
		SELECT FROM cycles
		WHERE tenant_id = @tenant
		  AND id = @id
		FOR NO KEY UPDATE`, pgx.NamedArgs{"tenant": tenant, "id": id}); err != nil {
		return appraisal.Cycle{}, time.Time{}, fmt.Errorf("lock cycle %d: %w", id, err)
	}
	return readCycle(ctx, tx, tenant, id)
}

// shareCycle keeps a cycle from being activated, closed or cancelled until the
// transaction ends, and reads it; others may share it.
func shareCycle(ctx context.Context, tx pgx.Tx, tenant, id int64) (appraisal.Cycle, time.Time, error) {
	if _, err := tx.Exec(ctx, `
		SELECT FROM cycles
		WHERE tenant_id = @tenant
		  AND id = @id
		FOR SHARE`, pgx.NamedArgs{"tenant": tenant, "id": id}); err != nil {
		return appraisal.Cycle{}, time.Time{}, fmt.Errorf("share cycle %d: %w", id, err)
	}
	return readCycle(ctx, tx, tenant, id)
}

// readCycle reads a cycle and the database's time, or answers NotFound.
func readCycle(ctx context.Context, tx pgx.Tx, tenant, id int64) (c appraisal.Cycle, now time.Time, err error) {
	var grace int
	err = tx.QueryRow(ctx, `
		SELECT c.id, c.tenant_id, c.name, c.state, c.form_version_id, c.due_at, c.due_zone, c.grace_minutes,
		       coalesce(c.contact_email, ''), c.owner_id, c.created_at,
		       c.activated_at, coalesce(activator.name, ''), c.closed_at, coalesce(closer.name, ''),
		       c.cancelled_at, coalesce(canceller.name, ''), coalesce(c.cancel_reason, ''), now()
		FROM cycles c
		LEFT JOIN people activator ON activator.tenant_id = c.tenant_id AND activator.id = c.activated_by
		LEFT JOIN people closer ON closer.tenant_id = c.tenant_id AND closer.id = c.closed_by
		LEFT JOIN people canceller ON canceller.tenant_id = c.tenant_id AND canceller.id = c.cancelled_by
		WHERE c.tenant_id = @tenant
		  AND c.id = @id`, pgx.NamedArgs{"tenant": tenant, "id": id}).
		Scan(&c.ID, &c.TenantID, &c.Name, &c.State, &c.FormVersionID, &c.DueAt, &c.DueZone, &grace,
			&c.ContactEmail, &c.OwnerID, &c.CreatedAt, &c.ActivatedAt, &c.ActivatedBy, &c.ClosedAt, &c.ClosedBy,
			&c.CancelledAt, &c.CancelledBy, &c.CancelReason, &now)
	c.Grace = time.Duration(grace) * time.Minute
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = fault.NotFoundf("fault.not_found")
	case err != nil:
		err = fmt.Errorf("read cycle %d: %w", id, err)
	}
	return c, now, err
}

// ofCycle is the object that policy decides about.
func ofCycle(c appraisal.Cycle) policy.Object {
	return policy.Object{TenantID: c.TenantID, CycleID: c.ID, OwnerID: c.OwnerID}
}
