package store

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// RemindReviewers owes the unfinished of the people a reminder; nil reminds
// everybody who is unfinished. Who was reminded within six hours, has no
// address, or could not submit any more is left out and counted.
func (s *Store) RemindReviewers(ctx context.Context, by policy.Actor, id int64, people []int64) (done appraisal.Reminded, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, _, err := openChange(ctx, tx, by, id); err != nil {
			return err
		}
		asked := 0
		err := tx.QueryRow(ctx, `
			WITH owing AS (
				SELECT DISTINCT e.reviewer_id
				FROM evaluations e
				WHERE e.tenant_id = @tenant
				  AND e.cycle_id = @cycle
				  AND (@people::bigint[] IS NULL OR e.reviewer_id = ANY (@people))
				  AND e.state IN ('pending', 'in_progress', 'reopened')
			), sorted AS (
				SELECT p.id,
				       CASE WHEN p.email IS NULL OR has_left(p.left_on, t.zone) THEN 'silent'
				            WHEN deadline_of(@tenant, @cycle, p.id) <= now() THEN 'late'
				            WHEN p.id IN (
				                SELECT o.person_id
				                FROM outbox_events o
				                WHERE o.tenant_id = @tenant
				                  AND o.cycle_id = @cycle
				                  AND o.event_type = @kind
				                  AND o.status <> 'cancelled'
				                  AND o.created_at > now() - make_interval(secs => @every)) THEN 'recently'
				            ELSE 'send' END AS what
				FROM owing
				JOIN people p ON p.tenant_id = @tenant AND p.id = owing.reviewer_id
				JOIN tenants t ON t.id = p.tenant_id
			), written AS (
				INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, traceparent)
				SELECT @tenant, @mail, @kind, @cycle, jsonb_build_object('reviewer_id', id, 'cycle_id', @cycle::bigint), nullif(@traceparent, '')
				FROM sorted
				WHERE what = 'send'
				ORDER BY id
				RETURNING id
			)
			SELECT count(*), (SELECT count(*) FROM written), count(*) FILTER (WHERE what = 'recently'),
			       count(*) FILTER (WHERE what = 'silent'), count(*) FILTER (WHERE what = 'late')
			FROM sorted`,
			pgx.NamedArgs{"tenant": by.TenantID, "cycle": id, "people": people, "every": appraisal.NudgeEvery.Seconds(),
				"kind": outbox.EvaluationReminder, "mail": outbox.QueueOf(outbox.EvaluationReminder), "traceparent": traceparent(ctx)}).
			Scan(&asked, &done.Sent, &done.Recently, &done.Silent, &done.Late)
		if err != nil {
			return fmt.Errorf("remind reviewers of cycle %d: %w", id, err)
		}
		done.Finished = max(0, len(people)-asked)
		if err := s.dispatch(ctx, tx, by.TenantID, outbox.QueueOf(outbox.EvaluationReminder), done.Sent); err != nil {
			return err
		}
		return audit(ctx, tx, by, "cycle.reminded", "cycle", id, map[string]any{"sent": done.Sent, "recently": done.Recently, "people": people})
	})
	return done, err
}

// RemindByRule owes the reminder "three days left" of every running cycle that
// reminds: to each unfinished reviewer whose deadline is that near, once for
// each deadline. Who has heard of the cycle within those three days knows
// already: a cycle that was activated, or a deadline that moved, yesterday. Who
// owes and who was told are put together by grouping and not by a join, which
// would look the cycle's messages through for every reviewer.
func (s *Store) RemindByRule(ctx context.Context) (owed int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		owed = 0
		rows, err := tx.Query(ctx, `
			WITH running AS (
				SELECT tenant_id, id
				FROM cycles
				WHERE state = 'active'
				  AND reminds
			), known AS (
				SELECT DISTINCT e.tenant_id, e.cycle_id, e.reviewer_id, true AS owes, NULL::timestamptz AS told
				FROM running c
				JOIN evaluations e ON e.tenant_id = c.tenant_id AND e.cycle_id = c.id
				WHERE e.state IN ('pending', 'in_progress', 'reopened')
				UNION ALL
				SELECT o.tenant_id, o.cycle_id, o.person_id, false, o.created_at
				FROM running c
				JOIN outbox_events o ON o.tenant_id = c.tenant_id AND o.cycle_id = c.id
				WHERE o.event_type IN ('evaluation.assigned', 'evaluation.reassigned', 'evaluation.extended', 'evaluation.reminder', 'extension.answered')
				  AND o.status <> 'cancelled'
			), owing AS MATERIALIZED (
				SELECT tenant_id, cycle_id, reviewer_id, max(told) AS told, deadline_of(tenant_id, cycle_id, reviewer_id) AS due
				FROM known
				GROUP BY tenant_id, cycle_id, reviewer_id
				HAVING bool_or(owes)
			), near AS (
				SELECT owing.tenant_id, owing.cycle_id, owing.reviewer_id, owing.due
				FROM owing
				JOIN people p ON p.tenant_id = owing.tenant_id AND p.id = owing.reviewer_id
				JOIN tenants t ON t.id = p.tenant_id
				WHERE owing.due > now()
				  AND owing.due <= now() + make_interval(secs => @ahead)
				  AND (owing.told IS NULL OR owing.told <= owing.due - make_interval(secs => @ahead))
				  AND p.email IS NOT NULL
				  AND NOT has_left(p.left_on, t.zone)
			), written AS (
				INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload)
				SELECT n.tenant_id, @mail, @kind, n.cycle_id,
				       jsonb_build_object('reviewer_id', n.reviewer_id, 'cycle_id', n.cycle_id, 'rule', '3_days', 'deadline', extract(epoch FROM n.due)::bigint)
				FROM near n
				ORDER BY n.tenant_id, n.cycle_id, n.reviewer_id
				ON CONFLICT (tenant_id, aggregate_id, (payload ->> 'reviewer_id'), (payload ->> 'rule'), (payload ->> 'deadline'))
				    WHERE event_type = 'evaluation.reminder' AND payload ? 'rule' DO NOTHING
				RETURNING tenant_id
			)
			SELECT tenant_id, count(*)
			FROM written
			GROUP BY tenant_id`,
			pgx.NamedArgs{"ahead": appraisal.RemindAhead.Seconds(), "kind": outbox.EvaluationReminder, "mail": outbox.QueueOf(outbox.EvaluationReminder)})
		if err != nil {
			return fmt.Errorf("remind by rule: %w", err)
		}
		by := map[int64]int{}
		var tenant int64
		var n int
		if _, err = pgx.ForEachRow(rows, []any{&tenant, &n}, func() error { by[tenant] = n; return nil }); err != nil {
			return fmt.Errorf("remind by rule: %w", err)
		}
		for tenant, n := range by {
			owed += n
			if err := s.dispatch(ctx, tx, tenant, outbox.QueueOf(outbox.EvaluationReminder), n); err != nil {
				return err
			}
		}
		return nil
	})
	return owed, err
}

// SendLinkAgain owes an unfinished reviewer their link, on the quiet lane that
// waits behind no invitations. Pressed twice it is sent once.
func (s *Store) SendLinkAgain(ctx context.Context, by policy.Actor, id, person int64) (name string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c, _, err := openChange(ctx, tx, by, id)
		if err != nil {
			return err
		}
		r, err := readReviewerHere(ctx, tx, c, person)
		if err != nil {
			return err
		}
		name = r.Name
		switch {
		case r.LeftOn != nil:
			return fault.Conflictf("link_again.left", "person", r.Name)
		case r.Email == "":
			return fault.Conflictf("link_again.no_address", "person", r.Name)
		case r.Owed() == 0:
			return fault.Conflictf("link_again.nothing_left", "person", r.Name)
		}
		n, err := s.oweLinks(ctx, tx, by.TenantID, []int64{person}, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.Conflictf("link_again.just_sent", "person", r.Name)
		}
		return audit(ctx, tx, by, "review_link.sent_again", "person", person, map[string]any{"cycle": id})
	})
	return name, err
}

// oweLinks owes people of an organisation their links, for one cycle or, with
// nought, for every running one in which something is left; not again within
// five minutes. With nought who asks is unknown: while an activation is held its
// links stay here, or anybody could end the time in which it can be undone.
func (s *Store) oweLinks(ctx context.Context, tx pgx.Tx, tenant int64, people []int64, cycle int64) (int, error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, traceparent)
		SELECT DISTINCT e.tenant_id, @queue, @kind, e.cycle_id, jsonb_build_object('reviewer_id', e.reviewer_id, 'cycle_id', e.cycle_id),
		       nullif(@traceparent, '')
		FROM evaluations e
		JOIN cycles c ON c.tenant_id = e.tenant_id AND c.id = e.cycle_id
		WHERE e.tenant_id = @tenant
		  AND e.reviewer_id = ANY (@people)
		  AND (@cycle::bigint = 0 OR e.cycle_id = @cycle)
		  AND e.state IN ('pending', 'in_progress', 'reopened')
		  AND c.state = 'active'
		  AND (@cycle <> 0 OR NOT EXISTS (
			SELECT FROM outbox_events held
			WHERE held.tenant_id = e.tenant_id
			  AND held.cycle_id = e.cycle_id
			  AND held.person_id = e.reviewer_id
			  AND held.event_type = @assigned
			  AND held.status = 'pending'
			  AND held.attempts = 0
			  AND held.available_at > now()))
		  AND NOT EXISTS (
			SELECT FROM outbox_events o
			WHERE o.tenant_id = e.tenant_id
			  AND o.cycle_id = e.cycle_id
			  AND o.person_id = e.reviewer_id
			  AND o.event_type = @kind
			  AND o.status <> 'cancelled'
			  AND o.status <> 'failed'
			  AND o.created_at > now() - make_interval(secs => @every))`,
		pgx.NamedArgs{"tenant": tenant, "people": people, "cycle": cycle, "queue": outbox.QueueOf(outbox.LinkAgain), "kind": outbox.LinkAgain,
			"every": appraisal.LinkEvery.Seconds(), "assigned": outbox.EvaluationAssigned, "traceparent": traceparent(ctx)})
	if err != nil {
		return 0, fmt.Errorf("owe links: %w", err)
	}
	n := int(tag.RowsAffected())
	return n, s.dispatch(ctx, tx, tenant, outbox.QueueOf(outbox.LinkAgain), n)
}

// How often somebody unknown may ask for lost links, for one address and from
// one place, within an hour. An office has one place for all of its people.
const (
	lostByAddress = 3
	lostFromPlace = 60
)

// SendLostLinks owes the links of all running cycles to whoever has the
// address, in whichever organisation. It answers nothing about it: who asks is
// unknown. Asked for too often, it stays quiet.
func (s *Store) SendLostLinks(ctx context.Context, email string, from netip.Addr) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		for _, limit := range []struct {
			asker string
			most  int
		}{{"place:" + network(from), lostFromPlace}, {"address:" + email, lostByAddress}} {
			n, err := countLost(ctx, tx, limit.asker)
			if err != nil || n > limit.most {
				return err
			}
		}
		rows, err := tx.Query(ctx, `
			SELECT p.tenant_id, p.id
			FROM people p
			JOIN tenants t ON t.id = p.tenant_id
			WHERE p.email = @email
			  AND NOT has_left(p.left_on, t.zone)
			ORDER BY p.tenant_id
			FOR KEY SHARE OF p`, pgx.NamedArgs{"email": email})
		if err != nil {
			return fmt.Errorf("find who lost a link: %w", err)
		}
		people, err := pgx.CollectRows(rows, pgx.RowToStructByPos[someone])
		if err != nil {
			return fmt.Errorf("find who lost a link: %w", err)
		}
		for _, p := range people {
			n, err := s.oweLinks(ctx, tx, p.Tenant, []int64{p.Person}, 0)
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			by := policy.Actor{TenantID: p.Tenant}
			if err := audit(ctx, tx, by, "review_link.lost", "person", p.Person, map[string]any{"links": n}); err != nil {
				return err
			}
		}
		return nil
	})
}

type someone struct{ Tenant, Person int64 }

// countLost counts a request of the asker's within the hour. The row is held
// until the end, so that two at once are counted one after the other.
func countLost(ctx context.Context, tx pgx.Tx, asker string) (n int, err error) {
	err = tx.QueryRow(ctx, `
		INSERT INTO lost_link_requests AS l (asker_hash)
		VALUES (@asker)
		ON CONFLICT (asker_hash) DO UPDATE
		SET asked = CASE WHEN l.since < now() - interval '1 hour' THEN 1 ELSE l.asked + 1 END,
		    since = CASE WHEN l.since < now() - interval '1 hour' THEN now() ELSE l.since END
		RETURNING asked`, pgx.NamedArgs{"asker": addressHash(asker)}).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count a lost link: %w", err)
	}
	return n, nil
}
