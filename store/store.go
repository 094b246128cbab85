// Package store is the only room that speaks SQL. One exported method is one
// thing the product does and one transaction: all of it commits, or none.
//
// Every method takes the actor or the tenant and binds tenant_id in every
// statement; policy is asked inside the transaction, on the row just read.
// Nothing leaves the process from here: a message owed is a row in
// outbox_events and a River job, written with the change that owes it.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"ciclo/internal/fault"
	"ciclo/internal/policy"
)

// Store remembers. It is safe for use by many goroutines.
type Store struct {
	pool   *pgxpool.Pool
	jobs   *river.Client[pgx.Tx] // inserts only
	floors *floors
}

// New returns a store on pool, whose database must be migrated.
func New(pool *pgxpool.Pool) (*Store, error) {
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	if err != nil {
		return nil, fmt.Errorf("job client: %w", err)
	}
	return &Store{pool: pool, jobs: jobs, floors: newFloors()}, nil
}

// Pool is for what works beside the store on the same database: River itself.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping answers nil when the database can be reached.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

// inTx runs do in one transaction. A deadlock is tried once more; constraints
// that are rules become faults in words.
func (s *Store) inTx(ctx context.Context, do func(tx pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, s.pool, do)
	if isCode(err, "40P01") {
		err = pgx.BeginFunc(ctx, s.pool, do)
	}
	return inWords(err)
}

// learnSizes has the planner look at the tables that a bulk change has just
// filled: until then it takes them for tiny, and the pages that follow would be
// slow. Autovacuum does the same within a minute, so a failure harms nothing.
func (s *Store) learnSizes(ctx context.Context) {
	_, _ = s.pool.Exec(ctx, `ANALYZE people, participants, evaluations`)
}

// ruleWords says, for each constraint that is a rule, what a person reads when
// it is broken, and the form field that caused it.
var ruleWords = map[string]struct {
	kind  fault.Kind
	key   string
	field string
}{
	"cycles_name_key":               {fault.Invalid, "cycle.name_taken", "name"},
	"cycles_form_fk":                {fault.Invalid, "cycle.form_required", "form"},
	"roster_is_locked":              {fault.Conflict, "roster.locked", ""},
	"people_code_key":               {fault.Invalid, "person.code_taken", "code"},
	"people_email_key":              {fault.Invalid, "person.email_taken", "email"},
	"evaluations_pair_key":          {fault.Invalid, "roster.pair_exists", "reviewer"},
	"evaluations_self_is_oneself":   {fault.Invalid, "roster.self_is_oneself", "kind"},
	"people_email_is_an_address":    {fault.Invalid, "person.email_malformed", "email"},
	"absences_do_not_overlap":       {fault.Invalid, "leave.overlaps", "from"},
	"absences_end_after_they_start": {fault.Invalid, "leave.ends_before", "until"},
	"absences_are_under_five_years": {fault.Invalid, "leave.too_long", "until"},
	"forms_code_key":                {fault.Invalid, "form.code_taken", "code"},
	"tenants_name_key":              {fault.Invalid, "tenant.name_taken", "name"},
}

// inWords translates a broken rule; every other error passes as it is.
func inWords(err error) error {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	rule, known := ruleWords[pgErr.ConstraintName]
	if !known {
		return err
	}
	f := fault.New(rule.kind, rule.key)
	if rule.field != "" {
		f.Fields = map[string]fault.Message{rule.field: fault.Msg(rule.key)}
	}
	return f
}

// isCode reports whether err is PostgreSQL's error with that SQLSTATE.
func isCode(err error, code string) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == code
}

// checkZone refuses a zone that the database does not know, whose list may be
// older than ours: every later question about that zone's day would fail.
func checkZone(ctx context.Context, tx pgx.Tx, zone string, refusal error) error {
	attempt, err := tx.Begin(ctx) // a savepoint: the refusal must not end the transaction
	if err != nil {
		return fmt.Errorf("check a time zone: %w", err)
	}
	var here time.Time
	err = attempt.QueryRow(ctx, `SELECT now() AT TIME ZONE @zone`, pgx.NamedArgs{"zone": zone}).Scan(&here)
	if err == nil {
		return attempt.Commit(ctx)
	}
	_ = attempt.Rollback(ctx)
	if isCode(err, "22023") { // invalid_parameter_value
		return refusal
	}
	return fmt.Errorf("check a time zone: %w", err)
}

// audit adds what was done, by whom, to what.
func audit(ctx context.Context, tx pgx.Tx, by policy.Actor, act, objectType string, objectID int64, detail map[string]any) error {
	if detail == nil {
		detail = map[string]any{}
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id, detail)
		VALUES (@tenant, nullif(@actor::bigint, 0), @act, @type, @id, @detail)`,
		pgx.NamedArgs{"tenant": by.TenantID, "actor": by.PersonID, "act": act, "type": objectType, "id": objectID, "detail": detail})
	if err != nil {
		return fmt.Errorf("audit %s: %w", act, err)
	}
	return nil
}

// databaseNow is the only clock of the store.
func databaseNow(ctx context.Context, tx pgx.Tx) (time.Time, error) {
	var now time.Time
	if err := tx.QueryRow(ctx, `SELECT now()`).Scan(&now); err != nil {
		return now, fmt.Errorf("read the clock: %w", err)
	}
	return now, nil
}
