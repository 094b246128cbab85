package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/policy"
)

// AuditQuery narrows what is read of the audit. The search looks for who did it
// and, where it was done to a person, for whom.
type AuditQuery struct {
	Page
	Act  string
	From time.Time // a day of the organisation's zone; zero for the first
	To   time.Time // likewise, that day included
}

// AuditEntry is one thing that was done.
type AuditEntry struct {
	ID         int64
	At         time.Time
	ActorID    int64 // nought: nobody who was signed in
	Actor      string
	Act        string
	ObjectType string
	ObjectID   int64
	Object     string // the name of a person or a cycle
	Detail     map[string]any
}

// MostAudited is how far back the pages of the audit go; older entries are found
// by date.
const MostAudited = 10_000

// Audit reads one page of the audit, the newest first, and counts what matches
// up to MostAudited.
func (s *Store) Audit(ctx context.Context, by policy.Actor, q AuditQuery) (list []AuditEntry, total int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.SeeAudit, policy.Of(by)); err != nil {
			return err
		}
		args := auditArgs(by.TenantID, q)
		if err := tx.QueryRow(ctx, countAuditSQL, args).Scan(&total); err != nil {
			return fmt.Errorf("count the audit: %w", err)
		}
		rows, err := tx.Query(ctx, listAuditSQL, args)
		if err != nil {
			return fmt.Errorf("read the audit: %w", err)
		}
		if list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[AuditEntry]); err != nil {
			return fmt.Errorf("read the audit: %w", err)
		}
		return nil
	})
	return list, total, err
}

func auditArgs(tenant int64, q AuditQuery) pgx.NamedArgs {
	var from, to *time.Time
	if !q.From.IsZero() {
		from = &q.From
	}
	if !q.To.IsZero() {
		day := q.To.AddDate(0, 0, 1)
		to = &day
	}
	return pgx.NamedArgs{"tenant": tenant, "act": q.Act, "from": from, "to": to, "words": searchWords(q.Q),
		"limit": q.Limit, "offset": q.Offset, "most": MostAudited}
}

// The two statements ask the same of an entry. Where nothing is asked, the
// newest are read from the index until the page is full.
const (
	countAuditSQL = `
		WITH meant AS MATERIALIZED (
			SELECT id
			FROM people
			WHERE tenant_id = @tenant
			  AND cardinality(@words::text[]) > 0
			  AND search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
		)
		SELECT count(*)
		FROM (
			SELECT
			FROM audit_entries a
			WHERE a.tenant_id = @tenant
			  AND (@act = '' OR a.act = @act)
			  AND (@from::date IS NULL OR a.at >= (@from::date::timestamp AT TIME ZONE (SELECT zone FROM tenants WHERE id = @tenant)))
			  AND (@to::date IS NULL OR a.at < (@to::date::timestamp AT TIME ZONE (SELECT zone FROM tenants WHERE id = @tenant)))
			  AND (cardinality(@words::text[]) = 0
			    OR a.actor_id IN (SELECT id FROM meant)
			    OR a.object_type = 'person' AND a.object_id IN (SELECT id FROM meant))
			LIMIT @most
		) found`
	listAuditSQL = `
		WITH meant AS MATERIALIZED (
			SELECT id
			FROM people
			WHERE tenant_id = @tenant
			  AND cardinality(@words::text[]) > 0
			  AND search LIKE ALL (ARRAY(SELECT fold(w) FROM unnest(@words::text[]) w))
		), page AS (
			SELECT a.id, a.at, a.actor_id, a.act, a.object_type, a.object_id, a.detail
			FROM audit_entries a
			WHERE a.tenant_id = @tenant
			  AND (@act = '' OR a.act = @act)
			  AND (@from::date IS NULL OR a.at >= (@from::date::timestamp AT TIME ZONE (SELECT zone FROM tenants WHERE id = @tenant)))
			  AND (@to::date IS NULL OR a.at < (@to::date::timestamp AT TIME ZONE (SELECT zone FROM tenants WHERE id = @tenant)))
			  AND (cardinality(@words::text[]) = 0
			    OR a.actor_id IN (SELECT id FROM meant)
			    OR a.object_type = 'person' AND a.object_id IN (SELECT id FROM meant))
			ORDER BY a.id DESC
			LIMIT @limit OFFSET @offset
		)
		SELECT page.id, page.at, coalesce(page.actor_id, 0), coalesce(actor.name, ''), page.act, page.object_type, page.object_id,
		       coalesce(person.name, cycle.name, ''), page.detail
		FROM page
		LEFT JOIN people actor ON actor.tenant_id = @tenant AND actor.id = page.actor_id
		LEFT JOIN people person ON page.object_type = 'person' AND person.tenant_id = @tenant AND person.id = page.object_id
		LEFT JOIN cycles cycle ON page.object_type = 'cycle' AND cycle.tenant_id = @tenant AND cycle.id = page.object_id
		ORDER BY page.id DESC`
)
