package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/fault"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// How many samples one person may ask for, and within how many minutes.
const (
	SamplesAtMost = 5
	SampleMinutes = 10
)

// SendSample owes whoever rehearses the very message that one reviewer would
// get, with a link that opens nothing. It answers the address it goes to.
func (s *Store) SendSample(ctx context.Context, by policy.Actor, id, reviewer int64) (address string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, _, err := openDraft(ctx, tx, by, id, lockCycle); err != nil {
			return err
		}
		var sent int
		var asked bool
		err := tx.QueryRow(ctx, `
			SELECT coalesce(p.email, ''),
			       (SELECT count(*)
			        FROM outbox_events o
			        WHERE o.tenant_id = p.tenant_id
			          AND o.cycle_id = @cycle
			          AND o.person_id = p.id
			          AND o.event_type = @kind
			          AND o.created_at > now() - make_interval(mins => @minutes)),
			       EXISTS (SELECT FROM evaluations e WHERE e.tenant_id = p.tenant_id AND e.cycle_id = @cycle AND e.reviewer_id = @reviewer)
			FROM people p
			WHERE p.tenant_id = @tenant
			  AND p.id = @person`,
			pgx.NamedArgs{"tenant": by.TenantID, "person": by.PersonID, "cycle": id, "kind": outbox.InvitationSample, "minutes": SampleMinutes, "reviewer": reviewer}).
			Scan(&address, &sent, &asked)
		switch {
		case err != nil:
			return fmt.Errorf("read who asks for a sample: %w", err)
		case !asked:
			return fault.NotFoundf("rehearsal.no_mail")
		case address == "":
			return fault.Conflictf("sample.no_address")
		case sent >= SamplesAtMost:
			return fault.New(fault.TooMany, "sample.wait", "n", SamplesAtMost, "minutes", SampleMinutes)
		}
		payload := map[string]any{"person_id": by.PersonID, "cycle_id": id, "colleague_id": reviewer}
		if err := s.owe(ctx, tx, by.TenantID, outbox.InvitationSample, id, payload); err != nil {
			return err
		}
		return audit(ctx, tx, by, "rehearsal.sample_sent", "cycle", id, map[string]any{"reviewer": reviewer})
	})
	return address, err
}
