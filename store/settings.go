package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/internal/appraisal"
	"ciclo/internal/calendar"
	"ciclo/internal/fault"
	"ciclo/internal/intake"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// MostHold is the longest hold of an activation, in minutes.
const MostHold = 24 * 60

// Settings are what an organisation decides about itself.
type Settings struct {
	Name        string
	Zone        string
	Locale      string
	Contact     string // whom people ask; stands in messages where a cycle names nobody
	ReplyTo     string // where replies go; empty means to the contact
	HoldMinutes int
	Calendar    calendar.Calendar
	Now         time.Time
}

// Settings reads them, for who may change them.
func (s *Store) Settings(ctx context.Context, by policy.Actor) (in Settings, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := policy.Can(by, policy.ManageSettings, policy.Of(by)); err != nil {
			return err
		}
		if in, err = readSettings(ctx, tx, by.TenantID); err != nil {
			return err
		}
		in.Calendar.Own, err = readHolidays(ctx, tx, by.TenantID)
		return err
	})
	return in, err
}

func readSettings(ctx context.Context, tx pgx.Tx, tenant int64) (in Settings, err error) {
	err = tx.QueryRow(ctx, `
		SELECT name, zone, locale, coalesce(contact_email::text, ''), coalesce(reply_to::text, ''), hold_minutes,
		       working_days::int[], national_holidays, optional_holidays, now()
		FROM tenants
		WHERE id = @tenant`, pgx.NamedArgs{"tenant": tenant}).
		Scan(&in.Name, &in.Zone, &in.Locale, &in.Contact, &in.ReplyTo, &in.HoldMinutes,
			&in.Calendar.WorkingDays, &in.Calendar.National, &in.Calendar.Optional, &in.Now)
	if err != nil {
		return in, fmt.Errorf("read the settings: %w", err)
	}
	return in, nil
}

func readHolidays(ctx context.Context, tx pgx.Tx, tenant int64) ([]calendar.Holiday, error) {
	rows, err := tx.Query(ctx, `
		SELECT day, '', name
		FROM holidays
		WHERE tenant_id = @tenant
		ORDER BY day`, pgx.NamedArgs{"tenant": tenant})
	if err != nil {
		return nil, fmt.Errorf("read holidays: %w", err)
	}
	days, err := pgx.CollectRows(rows, pgx.RowToStructByPos[calendar.Holiday])
	if err != nil {
		return nil, fmt.Errorf("read holidays: %w", err)
	}
	return days, nil
}

// ChangeSettings stores everything but the calendar.
func (s *Store) ChangeSettings(ctx context.Context, by policy.Actor, in Settings) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		was, err := lockSettings(ctx, tx, by)
		if err != nil {
			return err
		}
		if err := in.check(); err != nil {
			return err
		}
		if err := checkZone(ctx, tx, in.Zone, fault.Fieldsf(map[string]fault.Message{"zone": fault.Msg("tenant.zone_unknown", "zone", in.Zone)})); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			UPDATE tenants
			SET name = @name, zone = @zone, locale = @locale, contact_email = nullif(@contact, '')::citext,
			    reply_to = nullif(@reply_to, '')::citext, hold_minutes = @hold
			WHERE id = @tenant`,
			pgx.NamedArgs{"tenant": by.TenantID, "name": in.Name, "zone": in.Zone, "locale": in.Locale, "contact": in.Contact,
				"reply_to": in.ReplyTo, "hold": in.HoldMinutes}); err != nil {
			return fmt.Errorf("change the settings: %w", err)
		}
		return audit(ctx, tx, by, "settings.changed", "tenant", by.TenantID, in.since(was))
	})
}

func lockSettings(ctx context.Context, tx pgx.Tx, by policy.Actor) (was Settings, err error) {
	if err := policy.Can(by, policy.ManageSettings, policy.Of(by)); err != nil {
		return was, err
	}
	if err := lockRoles(ctx, tx, by.TenantID); err != nil {
		return was, err
	}
	return readSettings(ctx, tx, by.TenantID)
}

func (in Settings) check() error {
	bad := map[string]fault.Message{}
	if in.Name == "" || len([]rune(in.Name)) > 200 {
		bad["name"] = fault.Msg("tenant.name_length", "max", 200)
	} else if why, right := intake.CheckLine(in.Name); !right {
		bad["name"] = why
	}
	if !slices.Contains([]string{"pt-BR", "en"}, in.Locale) {
		bad["locale"] = fault.Msg("intake.locale_unknown")
	}
	if _, known := appraisal.Zone(in.Zone); !known {
		bad["zone"] = fault.Msg("tenant.zone_unknown", "zone", in.Zone)
	}
	for field, address := range map[string]string{"contact": in.Contact, "reply_to": in.ReplyTo} {
		if address == "" {
			continue
		}
		if why, right := intake.CheckEmail(address); !right {
			bad[field] = why
		}
	}
	if in.HoldMinutes < 0 || in.HoldMinutes > MostHold {
		bad["hold"] = fault.Msg("fault.number", "min", 0, "max", MostHold)
	}
	if len(bad) > 0 {
		return fault.Fieldsf(bad)
	}
	return nil
}

// since answers what is different, for the audit.
func (in Settings) since(was Settings) map[string]any {
	changes := map[string]any{}
	for name, v := range map[string][2]any{"name": {was.Name, in.Name}, "zone": {was.Zone, in.Zone}, "locale": {was.Locale, in.Locale},
		"contact": {was.Contact, in.Contact}, "reply_to": {was.ReplyTo, in.ReplyTo}, "hold": {was.HoldMinutes, in.HoldMinutes}} {
		if v[0] != v[1] {
			changes[name] = fmt.Sprintf("%v → %v", v[0], v[1])
		}
	}
	return changes
}

// ChangeWorkingDays stores which weekdays are worked, and whether the computed
// holidays are days off.
func (s *Store) ChangeWorkingDays(ctx context.Context, by policy.Actor, c calendar.Calendar) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := lockSettings(ctx, tx, by); err != nil {
			return err
		}
		if len(c.WorkingDays) == 0 {
			return fault.Fieldsf(map[string]fault.Message{"day": fault.Msg("calendar.no_day")})
		}
		slices.Sort(c.WorkingDays)
		if _, err := tx.Exec(ctx, `
			UPDATE tenants
			SET working_days = @days::smallint[], national_holidays = @national, optional_holidays = @optional
			WHERE id = @tenant`,
			pgx.NamedArgs{"tenant": by.TenantID, "days": slices.Compact(c.WorkingDays), "national": c.National, "optional": c.Optional}); err != nil {
			return fmt.Errorf("change the working days: %w", err)
		}
		return audit(ctx, tx, by, "calendar.changed", "tenant", by.TenantID,
			map[string]any{"days": c.WorkingDays, "national": c.National, "optional": c.Optional})
	})
}

// mostHolidays is how many days of its own an organisation may list.
const mostHolidays = 500

// AddHoliday makes a day one off; a day that is one already gets the new name.
func (s *Store) AddHoliday(ctx context.Context, by policy.Actor, day time.Time, name string) error {
	name = strings.TrimSpace(name)
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := lockSettings(ctx, tx, by); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO holidays (tenant_id, day, name)
			SELECT @tenant, @day::date, @name
			WHERE (SELECT count(*) FROM holidays WHERE tenant_id = @tenant) < @most
			ON CONFLICT (tenant_id, day) DO UPDATE SET name = @name`,
			pgx.NamedArgs{"tenant": by.TenantID, "day": day, "name": name, "most": mostHolidays})
		if err != nil {
			return fmt.Errorf("add a holiday: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return fault.Conflictf("calendar.full", "max", mostHolidays)
		}
		return audit(ctx, tx, by, "holiday.added", "tenant", by.TenantID, map[string]any{"day": day.Format(time.DateOnly), "name": name})
	})
}

// RemoveHoliday makes a day one like any other.
func (s *Store) RemoveHoliday(ctx context.Context, by policy.Actor, day time.Time) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := lockSettings(ctx, tx, by); err != nil {
			return err
		}
		var name string
		err := tx.QueryRow(ctx, `
			DELETE FROM holidays
			WHERE tenant_id = @tenant
			  AND day = @day::date
			RETURNING name`, pgx.NamedArgs{"tenant": by.TenantID, "day": day}).Scan(&name)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.NotFoundf("calendar.gone")
		}
		if err != nil {
			return fmt.Errorf("remove a holiday: %w", err)
		}
		return audit(ctx, tx, by, "holiday.removed", "tenant", by.TenantID, map[string]any{"day": day.Format(time.DateOnly), "name": name})
	})
}

// SendTest owes the actor a message that shows how messages arrive.
func (s *Store) SendTest(ctx context.Context, by policy.Actor) (to string, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := lockSettings(ctx, tx, by); err != nil {
			return err
		}
		var underway bool
		err := tx.QueryRow(ctx, `
			SELECT coalesce(p.email::text, ''),
			       EXISTS (
				SELECT FROM outbox_events e
				WHERE e.tenant_id = @tenant
				  AND e.queue = @queue
				  AND e.status IN ('pending', 'processing')
				  AND e.event_type = @kind
				  AND e.aggregate_id = p.id)
			FROM people p
			WHERE p.tenant_id = @tenant
			  AND p.id = @actor`,
			pgx.NamedArgs{"tenant": by.TenantID, "actor": by.PersonID, "queue": outbox.QueueMailNow, "kind": outbox.TestMessage}).Scan(&to, &underway)
		switch {
		case err != nil:
			return fmt.Errorf("read the address of person %d: %w", by.PersonID, err)
		case to == "":
			return fault.Conflictf("settings.no_own_address")
		case underway:
			return fault.Conflictf("settings.test_underway")
		}
		if err := s.owe(ctx, tx, by.TenantID, outbox.TestMessage, by.PersonID, map[string]any{"person_id": by.PersonID}); err != nil {
			return err
		}
		return audit(ctx, tx, by, "message.test_sent", "person", by.PersonID, nil)
	})
	return to, err
}
