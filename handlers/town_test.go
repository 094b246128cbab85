package handlers_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ciclo/handlers"
	"ciclo/internal/links"
	"ciclo/internal/outbox"
	"ciclo/static"
	"ciclo/store/storetest"
)

// town is a site where everything that a route can name can be made: for each
// asker anew, so that what one of them does is not in the way of the next.
type town struct {
	*site
	keys  links.Ring
	cycle int64 // under way; the employee reviews in it
	token string
	other storetest.Company
	hr    *browser
	made  int // cycles and people, for their names
}

func newTown(t *testing.T) *town {
	t.Helper()
	w := &town{site: newSite(t)}
	secret := make([]byte, links.MinSecret)
	rand.Read(secret)
	w.keys = links.Ring{{ID: "k1", Secret: secret}}
	w.serve(handlers.Options{Keys: w.keys})
	w.other = storetest.NewCompany(t, w.pool, "Outra Empresa", 3)
	w.hr = w.as(w.company.HR)
	w.cycle = w.active()
	return w
}

func (w *town) active() int64 {
	w.t.Helper()
	id := w.draft()
	if _, err := w.store.ActivateCycle(w.t.Context(), w.company.HR, id); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *town) draft() int64 {
	w.made++
	return w.company.Draft(w.t, fmt.Sprintf("Ciclo %d", w.made), 12, 6)
}

// askers are browsers in the order of whoAsks.
func (w *town) askers() []*browser {
	link := w.browser()
	link.openLink(w.company.People[employee], w.cycle)
	return []*browser{w.browser(), w.as(w.company.Actor(employee)), link, w.as(w.company.Admin), w.as(w.company.HR), w.as(w.other.HR)}
}

func file(*town) []any { return []any{strings.TrimPrefix(static.Path("ciclo.css"), "/static/")} }

func passwordToken(w *town) []any {
	token, err := w.store.CreateOneTimeLink(w.t.Context(), w.company.Tenant, w.company.People[5], "password")
	if err != nil {
		w.t.Fatal(err)
	}
	return []any{token}
}

// linkToken is the employee's link to the cycle under way, as mailed.
func linkToken(w *town) []any {
	if w.token != "" { // one is live at a time
		return []any{w.token}
	}
	l := links.Link{TenantID: w.company.Tenant, CycleID: w.cycle, PersonID: w.company.People[employee], KeyID: "k1", Nonce: make([]byte, 16)}
	rand.Read(l.Nonce)
	l.ID = storetest.One[int64](w.t, w.pool, `
		INSERT INTO review_links (tenant_id, cycle_id, person_id, kid, nonce)
		VALUES (@tenant, @cycle, @person, 'k1', @nonce)
		RETURNING id`, pgx.NamedArgs{"tenant": l.TenantID, "cycle": l.CycleID, "person": l.PersonID, "nonce": l.Nonce})
	var err error
	if w.token, err = w.keys.Token(l); err != nil {
		w.t.Fatal(err)
	}
	return []any{w.token}
}

func person(w *town) []any { return []any{w.company.People[4]} }

// newcomer is somebody whom nobody has invited yet.
func newcomer(w *town) []any {
	w.made++
	return []any{storetest.One[int64](w.t, w.pool, `
		INSERT INTO people (tenant_id, code, name, email)
		VALUES ($1, $2, 'Nova Pessoa', $3)
		RETURNING id`, w.company.Tenant, fmt.Sprintf("novo-%d", w.made), fmt.Sprintf("novo-%d@example.test", w.made))}
}

// holder is a newcomer with a role.
func holder(w *town) []any {
	ids := newcomer(w)
	return append(ids, storetest.One[int64](w.t, w.pool, `
		INSERT INTO grants (tenant_id, person_id, role, scope, scope_value)
		VALUES ($1, $2, 'hr_partner', 'department', 'Logística')
		RETURNING id`, w.company.Tenant, ids[0]))
}

// dayOff is one of the organisation's own.
func dayOff(w *town) []any {
	w.made++
	day := time.Date(2030, 1, w.made, 0, 0, 0, 0, time.UTC)
	if err := w.store.AddHoliday(w.t.Context(), w.company.Admin, day, "Folga"); err != nil {
		w.t.Fatal(err)
	}
	return []any{day.Format(time.DateOnly)}
}

// leave is one that the employee's colleague is on.
func leave(w *town) []any {
	w.made++
	return []any{w.company.People[4], storetest.One[int64](w.t, w.pool, `
		INSERT INTO absences (tenant_id, person_id, starts_on, ends_on, kind)
		VALUES (@tenant, @person, date '2020-01-01' + @n::int, date '2020-01-01' + @n::int, 'other')
		RETURNING id`, pgx.NamedArgs{"tenant": w.company.Tenant, "person": w.company.People[4], "n": w.made})}
}

func form(w *town) []any {
	return []any{storetest.One[int64](w.t, w.pool, `SELECT form_id FROM form_versions WHERE id = $1`, w.company.Form)}
}

func draft(w *town) []any { return []any{w.draft()} }

func active(w *town) []any { return []any{w.active()} }

func pair(w *town) []any {
	cycle := w.draft()
	return []any{cycle, storetest.One[int64](w.t, w.pool, `SELECT min(id) FROM evaluations WHERE cycle_id = $1`, cycle)}
}

func activePair(w *town) []any {
	cycle := w.active()
	return []any{cycle, storetest.One[int64](w.t, w.pool, `SELECT min(id) FROM evaluations WHERE cycle_id = $1`, cycle)}
}

func activeReviewer(w *town) []any { return []any{w.active(), w.company.People[employee]} }

// request is one of the employee's for more time.
func request(w *town) []any {
	cycle := w.active()
	return []any{cycle, storetest.One[int64](w.t, w.pool, `
		INSERT INTO extension_requests (tenant_id, cycle_id, person_id, note)
		VALUES ($1, $2, $3, 'estive na estrada')
		RETURNING id`, w.company.Tenant, cycle, w.company.People[employee])}
}

func member(w *town) []any {
	cycle := w.draft()
	return []any{cycle, storetest.One[int64](w.t, w.pool, `SELECT min(person_id) FROM participants WHERE cycle_id = $1`, cycle)}
}

func excluded(w *town) []any {
	ids := member(w)
	if _, err := w.store.ExcludePerson(w.t.Context(), w.company.HR, ids[0].(int64), ids[1].(int64), "licença"); err != nil {
		w.t.Fatal(err)
	}
	return ids
}

func concern(w *town) []any { return []any{w.draft(), "address"} }

// message is one event of a cycle under way.
func (w *town) message() int64 {
	return storetest.One[int64](w.t, w.pool, `SELECT min(id) FROM outbox_events WHERE cycle_id = $1`, w.active())
}

func failed(w *town) []any {
	id := w.message()
	w.fail(outbox.CauseAddress, refusal, id)
	return []any{id}
}

func failedAct(w *town) []any { return append(failed(w), "resend") }

func handout(w *town) []any {
	id := w.message()
	w.become(`queue = 'handout'`, id)
	return []any{id}
}

// papered is a cycle under way whose reviewers all have their invitation on paper.
func papered(w *town) []any {
	cycle := w.active()
	storetest.Exec(w.t, w.pool, `UPDATE outbox_events SET queue = 'handout' WHERE cycle_id = $1`, cycle)
	return []any{cycle}
}

// sheet is its address with every manager's slips.
func sheet(w *town) []any { return papered(w) }

// review is one of the employee's in the cycle that their link is for.
func review(w *town) []any {
	return []any{storetest.One[int64](w.t, w.pool, `
		WITH untouched AS (
			UPDATE evaluations
			SET state = 'pending', submitted_at = NULL
			WHERE cycle_id = @cycle
			  AND reviewer_id = @person
			RETURNING id
		), forgotten AS (
			DELETE FROM answers
			WHERE evaluation_id IN (SELECT id FROM untouched)
		)
		SELECT min(id)
		FROM untouched`, pgx.NamedArgs{"cycle": w.cycle, "person": w.company.People[employee]})}
}

func answered(w *town) []any {
	ids := review(w)
	w.as(w.company.Actor(employee)).post(fmt.Sprintf("/reviews/%d/draft", ids...), "version", "0", "q.q1", "Muito bem").want(w.t, http.StatusSeeOther)
	return ids
}

// uploaded sends a file of testdata as the HR manager and answers the last of
// the ids in the address that this leads to.
func (w *town) uploaded(path, name string, body []byte, fields ...string) string {
	w.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = m.WriteField(fields[i], fields[i+1])
	}
	w.hr = w.as(w.company.HR) // whatever has ended their sessions
	part, err := m.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(body)
	}
	if err != nil || m.Close() != nil {
		w.t.Fatal(err)
	}
	got := w.hr.do(http.MethodPost, path, m.FormDataContentType(), &b).want(w.t, http.StatusSeeOther)
	ids := regexp.MustCompile(`/(\d+)`).FindAllStringSubmatch(got.location, -1)
	if ids == nil {
		w.t.Fatalf("the file leads to %s", got.location)
	}
	return ids[len(ids)-1][1]
}

// newPeopleImport is a file whose columns nobody has confirmed yet.
func newPeopleImport(w *town) []any {
	w.made++
	return []any{w.uploaded("/people/import", "pessoas.csv", fmt.Appendf(nil, "codigo qualquer;nome completo\nN%d;Nova Pessoa %d\n;\n", w.made, w.made))}
}

// peopleImport is one that waits for its confirmation, with a line it refuses.
func peopleImport(w *town) []any {
	ids := newPeopleImport(w)
	w.hr.post(fmt.Sprintf("/people/import/%v/columns", ids...), "column-0", "employee_code", "column-1", "name").want(w.t, http.StatusSeeOther)
	return ids
}

func pairsImport(w *town) []any {
	cycle := w.draft()
	body := fmt.Appendf(nil, "avaliado;avaliador;tipo\np3@%d.example.test;p9@%d.example.test;par\nninguem;nada;par\n", w.company.Tenant, w.company.Tenant)
	return []any{cycle, w.uploaded(fmt.Sprintf("/cycles/%d/imports", cycle), "pares.csv", body, "mode", "merge")}
}

var braces = regexp.MustCompile(`\{[a-z]+\}`)

// path puts what the route names into its braces.
func (w *town) path(a ask) string {
	w.t.Helper()
	_, pattern, _ := strings.Cut(a.route, " ")
	if a.of == nil {
		return pattern
	}
	values := a.of(w)
	return braces.ReplaceAllStringFunc(pattern, func(string) string {
		if len(values) == 0 {
			w.t.Fatalf("%s names more than is there", a.route)
		}
		v := fmt.Sprint(values[0])
		values = values[1:]
		return v
	})
}

// sums are the rows and a checksum of each table's contents.
func (w *town) sums() map[string]string {
	w.t.Helper()
	tables := storetest.One[[]string](w.t, w.pool, `
		SELECT array_agg(table_name::text ORDER BY table_name)
		FROM information_schema.tables
		WHERE table_schema = 'public'
		  AND table_type = 'BASE TABLE'`)
	sums := map[string]string{}
	for _, table := range tables {
		sums[table] = storetest.One[string](w.t, w.pool, `
			SELECT count(*) || ' rows, ' || coalesce(md5(string_agg((to_jsonb(t) - 'seen_at')::text, '|' ORDER BY (to_jsonb(t) - 'seen_at')::text)), '')
			FROM `+pgx.Identifier{table}.Sanitize()+` t
			WHERE coalesce(to_jsonb(t) ->> 'act', '') NOT LIKE '%.exported'`) // whoever takes a file away is written down
	}
	if len(sums) < 10 {
		w.t.Fatalf("only the tables %v", tables)
	}
	return sums
}
