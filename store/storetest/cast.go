package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/policy"
)

// Company is an organisation with people: Ana leads and is its admin, Bruno is
// its HR manager, and everybody else reports to Ana. The same people appear in
// every test.
type Company struct {
	pool   *pgxpool.Pool
	Tenant int64
	People []int64 // in the order they were made; People[0] is Ana, People[1] Bruno
	Admin  policy.Actor
	HR     policy.Actor
	Form   int64 // a form version
}

var firstNames = []string{"Ana", "Bruno", "Carla", "Diego", "Érica", "Fábio", "Gisele", "Heitor", "Íris", "João"}

// NewCompany makes an organisation of n people, each with an address.
func NewCompany(t testing.TB, pool *pgxpool.Pool, name string, n int) Company {
	t.Helper()
	c := Company{pool: pool}
	one := func(into any, sql string, args pgx.NamedArgs) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), sql, args).Scan(into); err != nil {
			t.Fatalf("make the company %s: %v", name, err)
		}
	}
	one(&c.Tenant, `
		INSERT INTO tenants (name, contact_email)
		VALUES (@name, 'rh@example.test')
		RETURNING id`, pgx.NamedArgs{"name": name})
	one(&c.People, `
		WITH made AS (
			INSERT INTO people (tenant_id, code, name, email, department, title, hired_on)
			SELECT @tenant::bigint, lpad(i::text, 6, '0'), (@names::text[])[1 + (i - 1) % 10] || ' ' || i,
			       'p' || i || '@' || @tenant::bigint || '.example.test', CASE i % 2 WHEN 0 THEN 'Logística' ELSE 'Operações' END,
			       'Analista', date '2020-01-01' + i
			FROM generate_series(1, @n::int) i
			RETURNING id
		)
		SELECT array_agg(id ORDER BY id)
		FROM made`, pgx.NamedArgs{"tenant": c.Tenant, "n": n, "names": firstNames})
	Exec(t, pool, `
		UPDATE people
		SET manager_id = @ana
		WHERE tenant_id = @tenant
		  AND id <> @ana`, pgx.NamedArgs{"tenant": c.Tenant, "ana": c.People[0]})
	c.Admin = c.actor(0, policy.Admin)
	c.HR = c.actor(1, policy.HRManager)
	Exec(t, pool, `
		INSERT INTO grants (tenant_id, person_id, role)
		VALUES (@tenant, @admin, 'admin'), (@tenant, @hr, 'hr_manager')`,
		pgx.NamedArgs{"tenant": c.Tenant, "admin": c.Admin.PersonID, "hr": c.HR.PersonID})
	one(&c.Form, `
		WITH form AS (
			INSERT INTO forms (tenant_id, code)
			VALUES (@tenant, 'teste')
			RETURNING id
		)
		INSERT INTO form_versions (tenant_id, form_id, number, content)
		SELECT @tenant, id, 1, '{"title":{"pt":"Teste","en":"Test"},"questions":[{"id":"q1","kind":"text","text":{"pt":"Como foi?","en":"How was it?"},"required":true}]}'
		FROM form
		RETURNING id`, pgx.NamedArgs{"tenant": c.Tenant})
	return c
}

// Actor is the i-th person signed in with the roles.
func (c Company) Actor(i int, roles ...policy.Role) policy.Actor { return c.actor(i, roles...) }

func (c Company) actor(i int, roles ...policy.Role) policy.Actor {
	return policy.Actor{TenantID: c.Tenant, PersonID: c.People[i], Name: fmt.Sprintf("%s %d", firstNames[i%10], i+1), Roles: roles}
}

// Draft makes a draft cycle of Bruno's, due in a month, in which the people
// after the first two review one another: pairs rows by reviewers reviewers.
func (c Company) Draft(t testing.TB, name string, pairs, reviewers int) (cycle int64) {
	t.Helper()
	err := c.pool.QueryRow(t.Context(), `
		INSERT INTO cycles (tenant_id, name, form_version_id, due_at, owner_id)
		VALUES (@tenant, @name, @form, @due, @owner)
		RETURNING id`,
		pgx.NamedArgs{"tenant": c.Tenant, "name": name, "form": c.Form, "due": time.Now().Add(30 * 24 * time.Hour), "owner": c.HR.PersonID}).Scan(&cycle)
	if err != nil {
		t.Fatalf("make the cycle %s: %v", name, err)
	}
	n := len(c.People)
	// pair k: reviewer k mod reviewers, reviewee the (k / reviewers + 1)-th after them
	Exec(t, c.pool, `
		WITH pairs AS (
			SELECT (@people::bigint[])[1 + k % @reviewers] AS reviewer_id,
			       (@people::bigint[])[1 + (k % @reviewers + k / @reviewers + 1) % @n] AS reviewee_id
			FROM generate_series(0, @pairs::int - 1) k
		), taken_in AS (
			INSERT INTO participants (tenant_id, cycle_id, person_id, source)
			SELECT DISTINCT @tenant::bigint, @cycle::bigint, reviewee_id, 'page'
			FROM pairs
		)
		INSERT INTO evaluations (tenant_id, cycle_id, reviewee_id, reviewer_id, kind, source)
		SELECT @tenant::bigint, @cycle::bigint, reviewee_id, reviewer_id, 'peer', 'page'
		FROM pairs`,
		pgx.NamedArgs{"tenant": c.Tenant, "cycle": cycle, "people": c.People, "n": n, "pairs": pairs, "reviewers": reviewers})
	return cycle
}

// Exec runs a statement that a test needs, or fails the test.
func Exec(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
}

// One reads one value that a test asks for, or fails the test.
func One[T any](t testing.TB, pool *pgxpool.Pool, sql string, args ...any) (value T) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	return value
}
