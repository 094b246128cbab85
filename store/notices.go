package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/outbox"
)

// TellOfFailed owes a mail to everybody who can mend messages that have failed
// since they were told last: the admins, and who owns the cycle. Nobody is told
// more than once an hour, and never of such a mail itself. It answers how many
// mails that makes.
func (s *Store) TellOfFailed(ctx context.Context) (n int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		n = 0
		// two leaders, while one takes over from the other, tell one after the other
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('ciclo.tell_of_failed'))`); err != nil {
			return fmt.Errorf("wait for the turn to tell: %w", err)
		}
		rows, err := tx.Query(ctx, `
			WITH failed AS (
				SELECT e.tenant_id, c.owner_id, e.updated_at
				FROM outbox_events e
				LEFT JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
				WHERE e.status = 'failed'
				  AND e.event_type <> @kind
				  AND e.updated_at < now() - interval '2 minutes' -- those of one bad moment are told together
			), told AS (
				SELECT tenant_id, person_id, max(created_at) AS at
				FROM outbox_events
				WHERE event_type = @kind
				GROUP BY tenant_id, person_id
			), telling AS (
				SELECT p.tenant_id, p.id, count(*) AS n
				FROM failed f
				JOIN people p ON p.tenant_id = f.tenant_id
				JOIN tenants t ON t.id = p.tenant_id
				LEFT JOIN told ON told.tenant_id = p.tenant_id AND told.person_id = p.id
				WHERE p.email IS NOT NULL
				  AND NOT has_left(p.left_on, t.zone)
				  AND (p.id = f.owner_id OR EXISTS (
					SELECT FROM grants g
					WHERE g.tenant_id = p.tenant_id
					  AND g.person_id = p.id
					  AND g.role = 'admin'))
				  AND (told.at IS NULL OR told.at < f.updated_at AND told.at < now() - interval '1 hour')
				GROUP BY p.tenant_id, p.id
			), written AS (
				INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload)
				SELECT tenant_id, @now, @kind, id, jsonb_build_object('person_id', id, 'number', n)
				FROM telling
				RETURNING tenant_id
			)
			SELECT tenant_id, count(*)
			FROM written
			GROUP BY tenant_id`, pgx.NamedArgs{"kind": outbox.MessagesFailed, "now": outbox.QueueMailNow})
		if err != nil {
			return fmt.Errorf("tell of failed messages: %w", err)
		}
		told := map[int64]int{}
		var tenant int64
		var k int
		if _, err := pgx.ForEachRow(rows, []any{&tenant, &k}, func() error { told[tenant] = k; n += k; return nil }); err != nil {
			return fmt.Errorf("tell of failed messages: %w", err)
		}
		for tenant, k := range told {
			if err := s.dispatch(ctx, tx, tenant, outbox.QueueMailNow, k); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
