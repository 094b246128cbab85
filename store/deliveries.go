package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// Messages reads one page of the messages that the actor may see, with the
// counts around it, all from one instant: the numbers on the page add up. The
// number of statements does not depend on how many messages there are.
func (s *Store) Messages(ctx context.Context, by policy.Actor, f outbox.Filter) (m outbox.Messages, err error) {
	f.Page = max(f.Page, 1)
	m.Filter = f
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.SeeMessages, policy.Of(by)); err != nil {
			return err
		}
		if err := oneInstant(ctx, tx); err != nil {
			return err
		}
		if m.Cycles, err = cyclesWithMessages(ctx, tx, by); err != nil {
			return err
		}
		if f.CycleID != 0 {
			if m.Cycle, err = nameOf(m.Cycles, f.CycleID); err != nil {
				return err
			}
		}
		if m.Figures, err = messageFigures(ctx, tx, by, f.CycleID); err != nil {
			return err
		}
		if m.Causes, err = failedByCause(ctx, tx, by, f.CycleID); err != nil {
			return err
		}
		if m.Matching, m.Dead, err = countMessages(ctx, tx, by, f); err != nil {
			return err
		}
		m.Page = min(f.Page, max(1, (m.Matching+outbox.PageSize-1)/outbox.PageSize))
		m.Rows, err = listMessages(ctx, tx, by, m.Filter)
		return err
	})
	return m, err
}

// Message reads one message with all that is known of it.
func (s *Store) Message(ctx context.Context, by policy.Actor, id int64) (d outbox.MessageDetail, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.SeeMessages, policy.Of(by)); err != nil {
			return err
		}
		if err := oneInstant(ctx, tx); err != nil {
			return err
		}
		if d, err = readMessage(ctx, tx, by, policy.SeeMessages, id); err != nil {
			return err
		}
		if d.Tries, err = triesOf(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		if d.Deeds, err = deedsOn(ctx, tx, by.TenantID, id); err != nil {
			return err
		}
		if d.Origin, err = originOf(ctx, tx, by.TenantID, d); err != nil {
			return err
		}
		d.Link, err = linkOf(ctx, tx, by.TenantID, d)
		return err
	})
	return d, err
}

// oneInstant makes every statement of the transaction see the same rows.
func oneInstant(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`); err != nil {
		return fmt.Errorf("read from one instant: %w", err)
	}
	return nil
}

// seen adds to args what binds a statement to the messages that the actor may
// see: every one of the organisation, or those of the cycles they own.
func seen(by policy.Actor, args pgx.NamedArgs) pgx.NamedArgs {
	anothers := policy.Object{TenantID: by.TenantID, OwnerID: -1}
	bound := pgx.NamedArgs{"tenant": by.TenantID, "actor": by.PersonID, "every": policy.Can(by, policy.SeeMessages, anothers) == nil}
	for name, value := range args {
		bound[name] = value
	}
	return bound
}

func cyclesWithMessages(ctx context.Context, tx pgx.Tx, by policy.Actor) ([]outbox.CycleRef, error) {
	rows, err := tx.Query(ctx, `
		SELECT c.id, c.name
		FROM cycles c
		WHERE c.tenant_id = @tenant
		  AND (@every OR c.owner_id = @actor)
		  AND EXISTS (
			SELECT FROM outbox_events e
			WHERE e.tenant_id = c.tenant_id
			  AND e.cycle_id = c.id)
		ORDER BY c.activated_at DESC NULLS LAST, c.id DESC`, seen(by, nil))
	if err != nil {
		return nil, fmt.Errorf("list cycles with messages: %w", err)
	}
	cycles, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c outbox.CycleRef, err error) {
		return c, row.Scan(&c.ID, &c.Name)
	})
	if err != nil {
		return nil, fmt.Errorf("list cycles with messages: %w", err)
	}
	return cycles, nil
}

func nameOf(cycles []outbox.CycleRef, id int64) (string, error) {
	for _, c := range cycles {
		if c.ID == id {
			return c.Name, nil
		}
	}
	return "", fault.NotFoundf("fault.not_found")
}

func messageFigures(ctx context.Context, tx pgx.Tx, by policy.Actor, cycle int64) (f outbox.Figures, err error) {
	f.Counts = map[outbox.State]int{}
	if f.Now, err = databaseNow(ctx, tx); err != nil {
		return f, err
	}
	rows, err := tx.Query(ctx, `
		SELECT e.status, CASE WHEN e.queue = @handout THEN e.queue ELSE @mail END, least(e.attempts, 1), count(*),
		       min(e.available_at) FILTER (WHERE e.status = 'pending' AND e.queue <> @handout AND e.available_at <= now())
		FROM outbox_events e
		LEFT JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
		WHERE e.tenant_id = @tenant
		  AND (@every OR e.cycle_id IS NULL OR c.owner_id = @actor)
		  AND (@cycle = 0 OR e.cycle_id = @cycle)
		GROUP BY 1, 2, 3`,
		seen(by, pgx.NamedArgs{"cycle": cycle, "handout": outbox.QueueHandout, "mail": outbox.QueueMail}))
	if err != nil {
		return f, fmt.Errorf("count messages: %w", err)
	}
	var status outbox.Status
	var queue string
	var attempts, n int
	var oldest *time.Time
	_, err = pgx.ForEachRow(rows, []any{&status, &queue, &attempts, &n, &oldest}, func() error {
		f.Counts[outbox.StateOf(status, queue, attempts)] += n
		if oldest != nil && (f.OldestDue == nil || oldest.Before(*f.OldestDue)) {
			f.OldestDue = new(*oldest)
		}
		return nil
	})
	if err != nil {
		return f, fmt.Errorf("count messages: %w", err)
	}
	return f, nil
}

func failedByCause(ctx context.Context, tx pgx.Tx, by policy.Actor, cycle int64) ([]outbox.CauseCount, error) {
	rows, err := tx.Query(ctx, `
		SELECT coalesce(e.cause, @other) AS cause, count(*) AS n
		FROM outbox_events e
		LEFT JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
		WHERE e.tenant_id = @tenant
		  AND e.status = 'failed'
		  AND (@every OR e.cycle_id IS NULL OR c.owner_id = @actor)
		  AND (@cycle = 0 OR e.cycle_id = @cycle)
		GROUP BY 1
		ORDER BY n DESC, cause`,
		seen(by, pgx.NamedArgs{"cycle": cycle, "other": outbox.CauseOther}))
	if err != nil {
		return nil, fmt.Errorf("count failed messages by cause: %w", err)
	}
	causes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c outbox.CauseCount, err error) {
		return c, row.Scan(&c.Cause, &c.N)
	})
	if err != nil {
		return nil, fmt.Errorf("count failed messages by cause: %w", err)
	}
	return causes, nil
}

// matching binds a statement to the rows of a filter.
func matching(by policy.Actor, f outbox.Filter) pgx.NamedArgs {
	status, handout, tried := f.State.Rows()
	return seen(by, pgx.NamedArgs{"status": status, "handout": handout, "tried": tried, "paper": outbox.QueueHandout,
		"cycle": f.CycleID, "cause": f.Cause, "except": f.Except, "q": strings.TrimSpace(f.Q), "other": outbox.CauseOther,
		"dead": outbox.CauseAddress, "sort": f.Sort, "limit": outbox.PageSize, "offset": (max(f.Page, 1) - 1) * outbox.PageSize})
}

func countMessages(ctx context.Context, tx pgx.Tx, by policy.Actor, f outbox.Filter) (n, dead int, err error) {
	err = tx.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE e.cause = @dead)
		FROM outbox_events e
		LEFT JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
		LEFT JOIN people p ON p.tenant_id = e.tenant_id AND p.id = e.person_id
		WHERE e.tenant_id = @tenant
		  AND (@every OR e.cycle_id IS NULL OR c.owner_id = @actor)
		  AND e.status = @status
		  AND (@handout::boolean IS NULL OR (e.queue = @paper) = @handout)
		  AND (@tried::boolean IS NULL OR (e.attempts > 0) = @tried)
		  AND (@cycle = 0 OR e.cycle_id = @cycle)
		  AND (@cause::text = '' OR coalesce(e.cause, @other) = @cause)
		  AND (@except::text = '' OR coalesce(e.cause, @other) <> @except)
		  AND (@q = '' OR strpos(p.search, fold(@q)) > 0)`,
		matching(by, f)).Scan(&n, &dead)
	if err != nil {
		return 0, 0, fmt.Errorf("count the messages that match: %w", err)
	}
	return n, dead, nil
}

func listMessages(ctx context.Context, tx pgx.Tx, by policy.Actor, f outbox.Filter) ([]outbox.Message, error) {
	rows, err := tx.Query(ctx, listMessagesSQL, matching(by, f))
	if err != nil {
		return nil, fmt.Errorf("list messages: %w", err)
	}
	messages, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m outbox.Message, err error) {
		err = row.Scan(&m.ID, &m.Type, &m.Queue, &m.Status, &m.CycleID, &m.Cycle, &m.PersonID, &m.Person, &m.Email, &m.Attempts, &m.MaxAttempts,
			&m.Cause, &m.LastError, &m.Reason, &m.CancelRequested, &m.DueAt, &m.CreatedAt, &m.UpdatedAt, &m.DeliveredAt)
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("list messages: %w", err)
	}
	return messages, nil
}

const listMessagesSQL = `
	SELECT e.id, e.event_type, e.queue, e.status, coalesce(e.cycle_id, 0), coalesce(c.name, ''), coalesce(p.id, 0), coalesce(p.name, ''),
	       coalesce(p.email, ''), e.attempts, e.max_attempts, coalesce(e.cause, ''), coalesce(e.last_error, ''), coalesce(e.status_reason, ''),
	       e.cancel_requested, e.available_at, e.created_at, e.updated_at, e.delivered_at
	FROM outbox_events e
	LEFT JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
	LEFT JOIN people p ON p.tenant_id = e.tenant_id AND p.id = e.person_id
	WHERE e.tenant_id = @tenant
	  AND (@every OR e.cycle_id IS NULL OR c.owner_id = @actor)
	  AND e.status = @status
	  AND (@handout::boolean IS NULL OR (e.queue = @paper) = @handout)
	  AND (@tried::boolean IS NULL OR (e.attempts > 0) = @tried)
	  AND (@cycle = 0 OR e.cycle_id = @cycle)
	  AND (@cause::text = '' OR coalesce(e.cause, @other) = @cause)
	  AND (@except::text = '' OR coalesce(e.cause, @other) <> @except)
	  AND (@q = '' OR strpos(p.search, fold(@q)) > 0)
	ORDER BY CASE WHEN @sort = 'name' THEN p.name END COLLATE "pt-BR-x-icu",
	         CASE WHEN @sort = '-name' THEN p.name END COLLATE "pt-BR-x-icu" DESC,
	         CASE WHEN @sort = 'attempts' THEN e.attempts END,
	         CASE WHEN @sort = '-attempts' THEN e.attempts END DESC,
	         CASE WHEN @sort = 'last' THEN e.updated_at END,
	         e.updated_at DESC, e.id DESC
	LIMIT @limit
	OFFSET @offset`

// readMessage reads a message and asks policy about its row: what is not the
// actor's to see does not exist for them.
func readMessage(ctx context.Context, tx pgx.Tx, by policy.Actor, act policy.Act, id int64) (d outbox.MessageDetail, err error) {
	m := &d.Message
	var owner int64
	err = tx.QueryRow(ctx, `
		SELECT e.id, e.event_type, e.queue, e.status, coalesce(e.cycle_id, 0), coalesce(c.name, ''), coalesce(p.id, 0), coalesce(p.name, ''),
		       coalesce(p.email, ''), e.attempts, e.max_attempts, coalesce(e.cause, ''), coalesce(e.last_error, ''), coalesce(e.status_reason, ''),
		       e.cancel_requested, e.available_at, e.created_at, e.updated_at, e.delivered_at,
		       coalesce(c.owner_id, 0), e.payload, coalesce(p.locale, t.locale),
		       CASE WHEN e.payload ->> 'evaluations' ~ '^[0-9]{1,6}$' THEN (e.payload ->> 'evaluations')::int ELSE 0 END,
		       coalesce((
			SELECT mode() WITHIN GROUP (ORDER BY lower(split_part(o.email::text, '@', 2)))
			FROM people o
			WHERE o.tenant_id = e.tenant_id
			  AND o.email IS NOT NULL), '')
		FROM outbox_events e
		JOIN tenants t ON t.id = e.tenant_id
		LEFT JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
		LEFT JOIN people p ON p.tenant_id = e.tenant_id AND p.id = e.person_id
		WHERE e.tenant_id = @tenant
		  AND e.id = @id`, pgx.NamedArgs{"tenant": by.TenantID, "id": id}).
		Scan(&m.ID, &m.Type, &m.Queue, &m.Status, &m.CycleID, &m.Cycle, &m.PersonID, &m.Person, &m.Email, &m.Attempts, &m.MaxAttempts,
			&m.Cause, &m.LastError, &m.Reason, &m.CancelRequested, &m.DueAt, &m.CreatedAt, &m.UpdatedAt, &m.DeliveredAt,
			&owner, &d.Payload, &d.Locale, &d.Evaluations, &d.Domain)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, fault.NotFoundf("fault.not_found")
	}
	if err != nil {
		return d, fmt.Errorf("read message %d: %w", id, err)
	}
	if policy.Can(by, act, policy.Object{TenantID: by.TenantID, CycleID: m.CycleID, OwnerID: owner}) != nil {
		return d, fault.NotFoundf("fault.not_found")
	}
	return d, nil
}

// lockMessage holds a message's row and then reads it, so that two people who
// mend it at once, or a sender that settles it meanwhile, are served one after
// the other.
func lockMessage(ctx context.Context, tx pgx.Tx, by policy.Actor, id int64) (d outbox.MessageDetail, err error) {
	if err := policy.Can(by, policy.MendMessages, policy.Of(by)); err != nil {
		return d, err
	}
	if _, err := tx.Exec(ctx, `
		SELECT FROM outbox_events
		WHERE tenant_id = @tenant
		  AND id = @id
		FOR NO KEY UPDATE`, pgx.NamedArgs{"tenant": by.TenantID, "id": id}); err != nil {
		return d, fmt.Errorf("lock message %d: %w", id, err)
	}
	return readMessage(ctx, tx, by, policy.MendMessages, id)
}

func triesOf(ctx context.Context, tx pgx.Tx, tenant, id int64) ([]outbox.Try, error) {
	rows, err := tx.Query(ctx, `
		SELECT attempt, at, class, cause, phase, coalesce(address, ''), error, took_ms
		FROM delivery_attempts
		WHERE tenant_id = @tenant
		  AND event_id = @id
		ORDER BY attempt`, pgx.NamedArgs{"tenant": tenant, "id": id})
	if err != nil {
		return nil, fmt.Errorf("list the attempts of message %d: %w", id, err)
	}
	tries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t outbox.Try, err error) {
		var took int64
		err = row.Scan(&t.Number, &t.At, &t.Class, &t.Cause, &t.Phase, &t.Address, &t.Error, &took)
		t.Took = time.Duration(took) * time.Millisecond
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the attempts of message %d: %w", id, err)
	}
	return tries, nil
}

func deedsOn(ctx context.Context, tx pgx.Tx, tenant, id int64) ([]outbox.Deed, error) {
	rows, err := tx.Query(ctx, `
		SELECT a.act, coalesce(p.name, ''), a.at, a.detail
		FROM audit_entries a
		LEFT JOIN people p ON p.tenant_id = a.tenant_id AND p.id = a.actor_id
		WHERE a.tenant_id = @tenant
		  AND a.object_type = 'message'
		  AND a.object_id = @id
		ORDER BY a.id`, pgx.NamedArgs{"tenant": tenant, "id": id})
	if err != nil {
		return nil, fmt.Errorf("list what was done to message %d: %w", id, err)
	}
	deeds, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d outbox.Deed, err error) {
		return d, row.Scan(&d.Act, &d.By, &d.At, &d.Detail)
	})
	if err != nil {
		return nil, fmt.Errorf("list what was done to message %d: %w", id, err)
	}
	return deeds, nil
}

// originOf finds the activation that wrote the message.
func originOf(ctx context.Context, tx pgx.Tx, tenant int64, d outbox.MessageDetail) (*outbox.Origin, error) {
	var r appraisal.Receipt
	err := tx.QueryRow(ctx, `
		SELECT a.number, a.at, p.name
		FROM activations a
		JOIN people p ON p.tenant_id = a.tenant_id AND p.id = a.actor_id
		WHERE a.tenant_id = @tenant
		  AND a.cycle_id = @cycle
		  AND a.at <= @created
		ORDER BY a.id DESC
		LIMIT 1`, pgx.NamedArgs{"tenant": tenant, "cycle": d.CycleID, "created": d.CreatedAt}).Scan(&r.Number, &r.At, &r.By)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // a message need not come from an activation
	}
	if err != nil {
		return nil, fmt.Errorf("find the activation of message %d: %w", d.ID, err)
	}
	return &outbox.Origin{Code: r.Code(), By: r.By, At: r.At}, nil
}

// linkOf tells how the person's newest link to the message's cycle stands.
func linkOf(ctx context.Context, tx pgx.Tx, tenant int64, d outbox.MessageDetail) (l outbox.LinkState, err error) {
	var zone string
	err = tx.QueryRow(ctx, `
		SELECT l.id IS NOT NULL, l.revoked_at IS NOT NULL, l.opened_at, c.due_at, c.due_zone, c.state <> 'active'
		FROM cycles c
		LEFT JOIN LATERAL (
			SELECT id, revoked_at, opened_at
			FROM review_links
			WHERE tenant_id = c.tenant_id
			  AND cycle_id = c.id
			  AND person_id = @person
			ORDER BY id DESC
			LIMIT 1
		) l ON true
		WHERE c.tenant_id = @tenant
		  AND c.id = @cycle`, pgx.NamedArgs{"tenant": tenant, "cycle": d.CycleID, "person": d.PersonID}).
		Scan(&l.Made, &l.Revoked, &l.OpenedAt, &l.Until, &zone, &l.Over)
	if errors.Is(err, pgx.ErrNoRows) {
		return l, nil // a message that belongs to no cycle carries no link
	}
	if err != nil {
		return l, fmt.Errorf("read the link of message %d: %w", d.ID, err)
	}
	l.Until = appraisal.Cycle{DueAt: l.Until, DueZone: zone}.Due()
	_, seenLinks, err := arrivedLinks(ctx, tx, tenant, []int64{d.PersonID})
	for _, cycle := range seenLinks {
		l.Arrived = l.Arrived || cycle == d.CycleID
	}
	return l, err
}
