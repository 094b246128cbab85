package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/intake"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// ChangedAddress is what correcting an address on somebody's record did.
type ChangedAddress struct {
	Person  string
	NewLink bool // a link that may have reached the old address works no more
	Again   int  // messages that go to the new address now
}

// ChangeAddress puts another address on somebody's record, tells the old one
// and HR, and in the same transaction takes back what may have reached the old
// one and sends again what the person still waits for.
func (s *Store) ChangeAddress(ctx context.Context, by policy.Actor, person int64, email string) (c ChangedAddress, err error) {
	email = strings.TrimSpace(email)
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		c = ChangedAddress{}
		old, err := lockAddress(ctx, tx, by, person, &c)
		if err != nil {
			return err
		}
		if err := checkAddress(ctx, tx, by, person, old, email); err != nil {
			return err
		}
		if err := saveAddress(ctx, tx, by.TenantID, person, email); err != nil {
			return err
		}
		cycles, err := takeBackLinks(ctx, tx, by.TenantID, []int64{person})
		if err != nil {
			return err
		}
		c.NewLink = len(cycles) > 0
		if c.Again, err = s.sendAgain(ctx, tx, by.TenantID, []int64{person}); err != nil {
			return err
		}
		if err := s.tellOfAddress(ctx, tx, by, person, old, email); err != nil {
			return err
		}
		return audit(ctx, tx, by, "person.address_corrected", "person", person,
			map[string]any{"old": old, "new": email, "links_revoked": len(cycles), "sent_again": c.Again})
	})
	if f := fault.As(err); f != nil && f.Key == "person.email_taken" {
		return c, s.addressTaken(ctx, by, email, err)
	}
	return c, err
}

// lockAddress holds somebody's row against whoever is about to send to the old
// address, and answers that address.
func lockAddress(ctx context.Context, tx pgx.Tx, by policy.Actor, person int64, c *ChangedAddress) (old string, err error) {
	o := policy.Object{TenantID: by.TenantID, SubjectID: person}
	err = tx.QueryRow(ctx, `
		SELECT name, coalesce(email::text, ''), unit, department, coalesce(manager_id, 0)
		FROM people
		WHERE tenant_id = @tenant
		  AND id = @person
		FOR UPDATE`, pgx.NamedArgs{"tenant": by.TenantID, "person": person}).Scan(&c.Person, &old, &o.Unit, &o.Department, &o.ManagerID)
	if errors.Is(err, pgx.ErrNoRows) {
		err = policy.Can(by, policy.CorrectAddress, policy.Of(by)) // who may not is told so, whatever the number
		if err == nil {
			err = fault.NotFoundf("fault.not_found")
		}
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("lock person %d: %w", person, err)
	}
	return old, policy.Can(by, policy.CorrectAddress, o)
}

// checkAddress refuses what is no address, is none but the old one, or signs
// somebody in whom the actor may not take over.
func checkAddress(ctx context.Context, tx pgx.Tx, by policy.Actor, person int64, old, email string) error {
	if email == "" {
		return fault.Fieldsf(map[string]fault.Message{"email": fault.Msg("fault.required")})
	}
	if why, ok := intake.CheckEmail(email); !ok {
		return fault.Fieldsf(map[string]fault.Message{"email": fault.Msg("message.address_wrong", "typed", email, "why", why)})
	}
	if strings.EqualFold(old, email) {
		return fault.Fieldsf(map[string]fault.Message{"email": fault.Msg("person.address_same")})
	}
	if err := mayTakeOver(ctx, tx, by, person); err != nil {
		return err
	}
	return notBeingSent(ctx, tx, by.TenantID, []int64{person}, "message.being_sent")
}

// notBeingSent refuses while a message to one of the people is being sent: it
// would arrive at the old address with a link that has just ended, and count as
// delivered.
func notBeingSent(ctx context.Context, tx pgx.Tx, tenant int64, people []int64, key string) error {
	var sending bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM outbox_events
			WHERE tenant_id = @tenant
			  AND person_id = ANY (@people)
			  AND status = 'processing'
			  AND event_type <> @told)`, pgx.NamedArgs{"tenant": tenant, "people": people, "told": outbox.AddressChanged}).Scan(&sending)
	if err != nil {
		return fmt.Errorf("look for messages that are being sent: %w", err)
	}
	if sending {
		return fault.Conflictf(key)
	}
	return nil
}

// mayTakeOver lets only an admin change the address of somebody else who has a
// role: whoever reads the mails of an account can sign in to it.
func mayTakeOver(ctx context.Context, tx pgx.Tx, by policy.Actor, person int64) error {
	if by.Is(policy.Admin) || by.PersonID == person {
		return nil
	}
	var holdsRole bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM grants
			WHERE tenant_id = @tenant
			  AND person_id = @person)`, pgx.NamedArgs{"tenant": by.TenantID, "person": person}).Scan(&holdsRole)
	if err != nil {
		return fmt.Errorf("read the roles of person %d: %w", person, err)
	}
	if holdsRole {
		return fault.Fieldsf(map[string]fault.Message{"email": fault.Msg("message.address_of_role_holder")})
	}
	return nil
}

func saveAddress(ctx context.Context, tx pgx.Tx, tenant, person int64, email string) error {
	if _, err := tx.Exec(ctx, `
		UPDATE people
		SET email = @email, updated_at = now()
		WHERE tenant_id = @tenant
		  AND id = @person`, pgx.NamedArgs{"tenant": tenant, "person": person, "email": email}); err != nil {
		return fmt.Errorf("correct the address of person %d: %w", person, err)
	}
	return nil
}

// takeBackLinks ends what may have reached the old addresses of people: their
// live review links that somebody may have, the sessions that these opened, and
// every unused link to set a password. It answers the cycles whose links ended.
func takeBackLinks(ctx context.Context, tx pgx.Tx, tenant int64, people []int64) ([]int64, error) {
	owners, cycles, err := arrivedLinks(ctx, tx, tenant, people)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `
		WITH unused AS (
			UPDATE one_time_links
			SET used_at = now()
			WHERE tenant_id = @tenant
			  AND person_id = ANY (@people)
			  AND used_at IS NULL
		), ended AS (
			DELETE FROM sessions
			WHERE tenant_id = @tenant
			  AND (person_id, cycle_id) IN (SELECT person, cycle FROM unnest(@owners::bigint[], @cycles::bigint[]) AS arrived (person, cycle))
		)
		UPDATE review_links
		SET revoked_at = now()
		WHERE tenant_id = @tenant
		  AND (person_id, cycle_id) IN (SELECT person, cycle FROM unnest(@owners::bigint[], @cycles::bigint[]) AS arrived (person, cycle))
		  AND revoked_at IS NULL`,
		pgx.NamedArgs{"tenant": tenant, "people": people, "owners": owners, "cycles": cycles}); err != nil {
		return nil, fmt.Errorf("take back links: %w", err)
	}
	return cycles, nil
}

// arrivedLinks lists, as owner and cycle, the live links of people that may have
// reached somebody: one that was opened, whose message was accepted or is being
// sent, or of which an attempt since it was made ended without an answer. A
// refusal, for good or for now, proves that nobody has it.
func arrivedLinks(ctx context.Context, tx pgx.Tx, tenant int64, people []int64) (owners, cycles []int64, err error) {
	err = tx.QueryRow(ctx, `
		SELECT coalesce(array_agg(l.person_id ORDER BY l.id), '{}'), coalesce(array_agg(l.cycle_id ORDER BY l.id), '{}')
		FROM review_links l
		WHERE l.tenant_id = @tenant
		  AND l.person_id = ANY (@people)
		  AND l.revoked_at IS NULL
		  AND (l.opened_at IS NOT NULL
		    OR EXISTS (
			SELECT FROM outbox_events e
			WHERE e.tenant_id = l.tenant_id
			  AND e.cycle_id = l.cycle_id
			  AND e.person_id = l.person_id
			  AND (e.status = 'processing'
			    OR e.status = 'delivered' AND e.delivered_at >= l.created_at
			    OR EXISTS (
				SELECT FROM delivery_attempts a
				WHERE a.tenant_id = e.tenant_id
				  AND a.event_id = e.id
				  AND a.class IN ('unknown', 'lost')
				  AND a.at >= l.created_at))))`, pgx.NamedArgs{"tenant": tenant, "people": people}).Scan(&owners, &cycles)
	if err != nil {
		return nil, nil, fmt.Errorf("find links that may have arrived: %w", err)
	}
	return owners, cycles, nil
}

// sendAgain makes due now what people still wait for and what went, or would
// have gone, elsewhere: the request for reviews while there is something left
// to submit, and whatever failed. A hand-out goes by mail from here.
func (s *Store) sendAgain(ctx context.Context, tx pgx.Tx, tenant int64, people []int64) (n int, err error) {
	rows, err := tx.Query(ctx, `
		UPDATE outbox_events o
		SET status = 'pending', queue = CASE WHEN queue = @handout THEN @mail ELSE queue END, max_attempts = attempts + @grant,
		    available_at = now(), cancel_requested = false, status_reason = NULL, delivered_at = NULL, updated_at = now()
		WHERE o.tenant_id = @tenant
		  AND o.person_id = ANY (@people)
		  AND CASE
		        WHEN o.event_type = @assigned THEN
		          (o.status IN ('failed', 'delivered') OR o.status = 'pending' AND o.queue = @handout)
		          AND EXISTS (
			SELECT FROM cycles c
			JOIN evaluations e ON e.tenant_id = c.tenant_id AND e.cycle_id = c.id AND e.reviewer_id = o.person_id
			WHERE c.tenant_id = o.tenant_id
			  AND c.id = o.cycle_id
			  AND c.state = 'active'
			  AND e.state IN ('pending', 'in_progress', 'reopened'))
		        ELSE o.status = 'failed' AND o.event_type <> @told
		      END
		RETURNING queue`,
		pgx.NamedArgs{"tenant": tenant, "people": people, "handout": outbox.QueueHandout, "mail": outbox.QueueMail, "grant": outbox.MaxAttempts,
			"assigned": outbox.EvaluationAssigned, "told": outbox.AddressChanged})
	if err != nil {
		return 0, fmt.Errorf("send again: %w", err)
	}
	queues, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("send again: %w", err)
	}
	count := map[string]int{}
	for _, q := range queues {
		count[q]++
	}
	for _, q := range []string{outbox.QueueMail, outbox.QueueMailNow} {
		if count[q] > 0 {
			if err := s.wakeNow(ctx, tx, tenant, q, count[q]); err != nil {
				return 0, err
			}
		}
	}
	return len(queues), nil
}

// tellOfAddress owes a message to the old address, if there was one, and one to
// everybody in HR but the actor: an address that somebody changed for their own
// ends is noticed.
func (s *Store) tellOfAddress(ctx context.Context, tx pgx.Tx, by policy.Actor, person int64, old, email string) error {
	if old != "" {
		if err := s.owe(ctx, tx, by.TenantID, outbox.AddressChanged, person, map[string]any{
			"person_id": person, "to": old, "actor_id": by.PersonID}); err != nil {
			return err
		}
	}
	return s.tellHR(ctx, tx, by, person, map[string]any{"colleague_id": person, "new_address": email, "actor_id": by.PersonID})
}

// tellHR owes one message to each HR manager, but the actor and the person it
// is about.
func (s *Store) tellHR(ctx context.Context, tx pgx.Tx, by policy.Actor, person int64, facts map[string]any) error {
	tag, err := tx.Exec(ctx, `
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, traceparent)
		SELECT @tenant::bigint, @queue, @kind, CASE @person::bigint WHEN 0 THEN p.id ELSE @person END,
		       @facts::jsonb || jsonb_build_object('person_id', p.id), nullif(@traceparent, '')
		FROM people p
		JOIN tenants t ON t.id = p.tenant_id
		WHERE p.tenant_id = @tenant
		  AND p.id NOT IN (@actor, @person)
		  AND p.email IS NOT NULL
		  AND NOT has_left(p.left_on, t.zone)
		  AND EXISTS (
			SELECT FROM grants g
			WHERE g.tenant_id = p.tenant_id
			  AND g.person_id = p.id
			  AND g.role = 'hr_manager')`,
		pgx.NamedArgs{"tenant": by.TenantID, "queue": outbox.QueueOf(outbox.AddressChanged), "kind": outbox.AddressChanged, "person": person,
			"actor": by.PersonID, "facts": facts, "traceparent": traceparent(ctx)})
	if err != nil {
		return fmt.Errorf("tell HR of a changed address: %w", err)
	}
	return s.dispatch(ctx, tx, by.TenantID, outbox.QueueOf(outbox.AddressChanged), int(tag.RowsAffected()))
}

// oldAddress is one whose person has another now.
type oldAddress struct {
	Person int64  `json:"person"`
	Old    string `json:"old"`
}

// rotateImported does for every address that a file has changed what
// ChangeAddress does for one, but tells HR once how many there were, and puts
// the notices behind what people wait for.
func (s *Store) rotateImported(ctx context.Context, tx pgx.Tx, by policy.Actor, changed []oldAddress) error {
	if len(changed) == 0 {
		return nil
	}
	people := make([]int64, len(changed))
	for i, c := range changed {
		people[i] = c.Person
	}
	if err := notBeingSent(ctx, tx, by.TenantID, people, "people.import_being_sent"); err != nil {
		return err
	}
	if _, err := takeBackLinks(ctx, tx, by.TenantID, people); err != nil {
		return err
	}
	if _, err := s.sendAgain(ctx, tx, by.TenantID, people); err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO outbox_events (tenant_id, queue, event_type, aggregate_id, payload, traceparent)
		SELECT @tenant::bigint, @queue, @kind, person, jsonb_strip_nulls(jsonb_build_object('person_id', person, 'to', old, 'actor_id', nullif(@actor::bigint, 0))),
		       nullif(@traceparent, '')
		FROM jsonb_to_recordset(@changed::jsonb) AS c (person bigint, old text)
		WHERE old <> ''`,
		pgx.NamedArgs{"tenant": by.TenantID, "queue": outbox.QueueMail, "kind": outbox.AddressChanged, "actor": by.PersonID, "changed": changed, "traceparent": traceparent(ctx)})
	if err != nil {
		return fmt.Errorf("tell old addresses: %w", err)
	}
	if err := s.dispatch(ctx, tx, by.TenantID, outbox.QueueMail, int(tag.RowsAffected())); err != nil {
		return err
	}
	return s.tellHR(ctx, tx, by, 0, map[string]any{"number": len(changed), "actor_id": by.PersonID})
}

// AddressOf reads a record's address for whoever may correct it.
func (s *Store) AddressOf(ctx context.Context, by policy.Actor, person int64) (name, email string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		o := policy.Object{TenantID: by.TenantID, SubjectID: person}
		err := tx.QueryRow(ctx, `
			SELECT name, coalesce(email::text, ''), unit, department, coalesce(manager_id, 0)
			FROM people
			WHERE tenant_id = @tenant
			  AND id = @person`, pgx.NamedArgs{"tenant": by.TenantID, "person": person}).Scan(&name, &email, &o.Unit, &o.Department, &o.ManagerID)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("fault.not_found")
		}
		if err != nil {
			return fmt.Errorf("read person %d: %w", person, err)
		}
		return policy.Can(by, policy.CorrectAddress, o)
	})
	return name, email, err
}
