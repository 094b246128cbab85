package handlers_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5"

	"ciclo/handlers"
	"ciclo/internal/links"
	"ciclo/internal/outbox"
	"ciclo/static"
	"ciclo/store/storetest"
)

// whoAsks are those who try every route, in the order of the table's columns.
// The employee and the reviewer by link are the same person. The last one is an
// HR manager too, but of another organisation, and asks with the ids of the first.
var whoAsks = []string{"nobody", "an employee", "a reviewer by link", "an admin", "the HR manager", "an HR manager elsewhere"}

// ask is one route and what each of them is answered.
type ask struct {
	route string
	of    func(*town) []any // what stands in the braces; nil for a route without any
	want  [6]int
	send  []string // of a POST: names and values
}

// Shorthands for the answers that repeat.
var (
	open      = [6]int{200, 200, 200, 200, 200, 200}
	ownLists  = [6]int{303, 403, 303, 403, 200, 200} // each HR manager sees their own
	hrReads   = [6]int{303, 403, 303, 403, 200, 404}
	hrWrites  = [6]int{303, 403, 403, 403, 303, 404}
	hrRefused = [6]int{303, 403, 403, 403, 422, 404} // the form came empty
	adminOnly = [6]int{303, 403, 303, 200, 403, 403}
	bothRead  = [6]int{303, 403, 303, 200, 200, 404}
	bothWrite = [6]int{303, 403, 403, 303, 303, 404}
	hisFile   = [6]int{303, 403, 303, 404, 200, 404} // an uploaded file is its uploader's until it is confirmed
	leadsOn   = [6]int{303, 303, 303, 303, 303, 303} // to a page that has a row of its own
)

// asks is every route of Routes(), in its order.
var asks = []ask{
	{"GET /static/{file}", file, open, nil},
	{"GET /favicon.ico", nil, open, nil},
	{"GET /healthz", nil, open, nil},
	{"GET /readyz", nil, open, nil},

	{"GET /login", nil, [6]int{200, 303, 200, 303, 303, 303}, nil},
	{"POST /login", nil, [6]int{422, 422, 422, 422, 422, 422}, nil},
	{"GET /login/organisation", nil, [6]int{303, 303, 303, 303, 303, 303}, nil},
	{"POST /login/organisation", nil, [6]int{303, 303, 303, 303, 303, 303}, nil},
	{"POST /logout", nil, [6]int{303, 303, 303, 303, 303, 303}, nil},
	{"GET /password/lost", nil, open, nil},
	{"POST /password/lost", nil, [6]int{303, 303, 303, 303, 303, 303}, []string{"email", "ninguem@example.test"}},
	{"GET /password/{token}", passwordToken, open, nil},
	{"POST /password/{token}", passwordToken, [6]int{422, 422, 422, 422, 422, 422}, nil},
	{"GET /r/lost", nil, open, nil},
	{"POST /r/lost", nil, open, []string{"email", "ninguem@example.test"}},
	{"GET /r/{token}", linkToken, open, nil},
	{"HEAD /r/{token}", linkToken, open, nil},
	{"POST /r/{token}", linkToken, [6]int{303, 303, 303, 409, 409, 409}, nil},
	{"GET /acesso", nil, open, nil},
	{"POST /acesso", nil, [6]int{422, 422, 422, 422, 422, 422}, nil},
	{"GET /acesso/pessoa", nil, leadsOn, nil},
	{"POST /acesso/pessoa", nil, [6]int{303, 303, 303, 303, 303, 303}, nil},
	{"POST /language", nil, [6]int{303, 303, 303, 303, 303, 303}, []string{"locale", "en"}},
	{"POST /theme", nil, [6]int{303, 303, 303, 303, 303, 303}, []string{"theme", "dark"}},

	{"GET /", nil, [6]int{303, 200, 303, 200, 200, 200}, nil},
	{"GET /team", nil, [6]int{303, 200, 303, 200, 200, 200}, nil},
	{"GET /account", nil, [6]int{303, 200, 303, 200, 200, 200}, nil},
	{"POST /account/sessions/removal", nil, [6]int{303, 303, 303, 303, 303, 303}, nil}, // the employee's press has ended their link's session too

	{"GET /people", nil, [6]int{303, 403, 303, 200, 200, 200}, nil},
	{"GET /people/import", nil, [6]int{303, 403, 303, 200, 200, 200}, nil},
	{"GET /people/import/template", nil, [6]int{303, 403, 303, 200, 200, 200}, nil},
	{"POST /people/import", nil, [6]int{303, 403, 403, 422, 422, 422}, nil},
	{"GET /people/import/{id}", peopleImport, hisFile, nil},
	{"GET /people/import/{id}/columns", newPeopleImport, hisFile, nil},
	{"POST /people/import/{id}/columns", newPeopleImport, [6]int{303, 403, 403, 404, 422, 404}, nil},
	{"GET /people/import/{id}/decisions", peopleImport, hisFile, nil},
	{"POST /people/import/{id}/decisions", peopleImport, [6]int{303, 403, 403, 404, 422, 404}, nil},
	{"GET /people/import/{id}/rejects", peopleImport, hisFile, nil},
	{"GET /people/import/{id}/confirmation", peopleImport, hisFile, nil},
	{"POST /people/import/{id}/confirmation", peopleImport, [6]int{303, 403, 403, 404, 303, 404}, nil},
	{"GET /people/{id}", person, bothRead, nil},
	{"GET /people/{id}/address", person, bothRead, nil},
	{"POST /people/{id}/address", person, [6]int{303, 403, 403, 422, 422, 404}, nil},
	{"POST /people/{id}/invitation", newcomer, [6]int{303, 403, 403, 303, 403, 403}, nil},
	{"POST /people/{id}/sessions/removal", person, [6]int{303, 403, 403, 303, 403, 403}, nil},
	{"GET /people/{id}/roles", person, [6]int{303, 403, 303, 200, 403, 403}, nil},
	{"POST /people/{id}/roles", person, [6]int{303, 403, 403, 422, 403, 403}, nil},
	{"POST /people/{id}/roles/{grant}/removal", holder, [6]int{303, 403, 403, 303, 403, 403}, nil},

	{"GET /settings", nil, adminOnly, nil},
	{"POST /settings", nil, [6]int{303, 403, 403, 422, 403, 403}, nil},
	{"POST /settings/test", nil, [6]int{303, 403, 403, 303, 403, 403}, nil},
	{"GET /settings/calendar", nil, adminOnly, nil},
	{"POST /settings/calendar", nil, [6]int{303, 403, 403, 422, 403, 403}, nil},
	{"POST /settings/holidays", nil, [6]int{303, 403, 403, 422, 403, 403}, nil},
	{"POST /settings/holidays/{day}/removal", dayOff, [6]int{303, 403, 403, 303, 403, 403}, nil},
	{"GET /settings/roles", nil, adminOnly, nil},
	{"GET /settings/audit", nil, adminOnly, nil},
	{"POST /people/{id}/leave", person, [6]int{303, 403, 403, 422, 422, 404}, []string{"kind", "sick"}},
	{"POST /people/{id}/leave/{leave}/removal", leave, bothWrite, nil},

	{"GET /forms", nil, [6]int{303, 403, 303, 200, 200, 200}, nil},
	{"GET /forms/draft", nil, ownLists, nil},
	{"POST /forms/draft", nil, [6]int{303, 403, 403, 403, 422, 422}, nil},
	{"GET /forms/{id}", form, bothRead, nil},
	{"GET /forms/{id}/draft", form, hrReads, nil},
	{"POST /forms/{id}/draft", form, hrRefused, nil},

	{"GET /cycles", nil, ownLists, nil},
	{"GET /cycles/new", nil, ownLists, nil},
	{"POST /cycles", nil, [6]int{303, 403, 403, 403, 422, 422}, nil},
	{"GET /cycles/{id}", draft, [6]int{303, 403, 303, 403, 303, 404}, nil},
	{"GET /cycles/{id}/terms", draft, hrReads, nil},
	{"POST /cycles/{id}/terms", draft, hrRefused, nil},
	{"GET /cycles/{id}/roster", draft, hrReads, nil},
	{"GET /cycles/{id}/roster.csv", draft, hrReads, nil},
	{"GET /cycles/{id}/roster/removal", draft, hrReads, nil},
	{"POST /cycles/{id}/roster/removal", draft, hrWrites, nil},
	{"GET /cycles/{id}/rule", draft, hrReads, nil},
	{"POST /cycles/{id}/rule", draft, hrWrites, []string{"self", "on"}},
	{"GET /cycles/{id}/imports/new", draft, hrReads, nil},
	{"POST /cycles/{id}/imports", draft, hrRefused, nil},
	{"GET /cycles/{id}/imports/{import}", pairsImport, hrReads, nil},
	{"GET /cycles/{id}/imports/{import}/rejected.csv", pairsImport, hrReads, nil},
	{"GET /cycles/{id}/imports/{import}/confirmation", pairsImport, hrReads, nil},
	{"POST /cycles/{id}/imports/{import}/confirmation", pairsImport, hrWrites, nil},
	{"GET /cycles/{id}/pairs/new", draft, hrReads, nil},
	{"POST /cycles/{id}/pairs", draft, hrRefused, nil},
	{"POST /cycles/{id}/pairs/{pair}/removal", pair, hrWrites, nil},
	{"GET /cycles/{id}/pairs/{pair}/reviewer", pair, hrReads, nil},
	{"POST /cycles/{id}/pairs/{pair}/reviewer", pair, hrRefused, nil},
	{"GET /cycles/{id}/people", draft, hrReads, nil},
	{"GET /cycles/{id}/absences", draft, hrReads, nil},
	{"GET /cycles/{id}/exclusions/{person}", member, hrReads, nil},
	{"POST /cycles/{id}/exclusions/{person}", member, hrRefused, nil},
	{"POST /cycles/{id}/inclusions/{person}", excluded, hrWrites, nil},
	{"GET /cycles/{id}/rehearsal", draft, hrReads, nil},
	{"GET /cycles/{id}/rehearsal/mail", draft, hrReads, nil},
	{"POST /cycles/{id}/rehearsal", draft, hrWrites, nil},
	{"GET /cycles/{id}/rehearsal/changes", draft, hrReads, nil},
	{"POST /cycles/{id}/rehearsal/sample", draft, [6]int{303, 403, 403, 403, 404, 404}, []string{"reviewer", "999999999"}},
	{"GET /cycles/{id}/rehearsal/{about}", concern, hrReads, nil},
	{"GET /cycles/{id}/mending", draft, [6]int{303, 403, 303, 403, 303, 404}, nil},
	{"POST /cycles/{id}/mending", draft, [6]int{303, 403, 403, 403, 422, 404}, []string{"act", "exclude", "all", "without_reviewer"}},
	{"GET /cycles/{id}/activation", draft, hrReads, nil},
	{"POST /cycles/{id}/activation", draft, hrWrites, nil},
	{"GET /cycles/{id}/activation/undo", active, hrReads, nil},
	{"POST /cycles/{id}/activation/undo", active, hrWrites, nil},
	{"GET /cycles/{id}/receipt", active, hrReads, nil},
	{"GET /cycles/{id}/slips", papered, hrReads, nil},
	{"POST /cycles/{id}/slips", papered, hrWrites, []string{"manager", "all"}},
	{"GET /cycles/{id}/slips/sheet", sheet, hrReads, nil},
	{"GET /cycles/{id}/slips/handover", sheet, hrReads, nil},
	{"POST /cycles/{id}/slips/handover", papered, hrWrites, []string{"manager", "all"}},
	{"GET /cycles/{id}/progress", active, hrReads, nil},
	{"GET /cycles/{id}/standing", active, leadsOn, nil},
	{"GET /cycles/{id}/extension", active, hrReads, nil},
	{"POST /cycles/{id}/extension", active, hrRefused, nil},
	{"GET /cycles/{id}/reminders", active, hrReads, nil},
	{"POST /cycles/{id}/reminders", active, hrWrites, []string{"all", "yes"}},
	{"GET /cycles/{id}/reviewers/{person}", activeReviewer, hrReads, nil},
	{"POST /cycles/{id}/reviewers/{person}/link", activeReviewer, hrWrites, nil},
	{"GET /cycles/{id}/evaluations/{evaluation}/reviewer", activePair, hrReads, nil},
	{"POST /cycles/{id}/evaluations/{evaluation}/reviewer", activePair, hrRefused, nil},
	{"GET /cycles/{id}/evaluations/{evaluation}/cancellation", activePair, hrReads, nil},
	{"POST /cycles/{id}/evaluations/{evaluation}/cancellation", activePair, hrRefused, nil},
	{"GET /cycles/{id}/joiners/new", active, hrReads, nil},
	{"POST /cycles/{id}/joiners", active, hrRefused, nil},
	{"GET /cycles/{id}/decisions", active, hrReads, nil},
	{"GET /cycles/{id}/requests", active, hrReads, nil},
	{"GET /cycles/{id}/requests/{request}", request, hrReads, nil},
	{"POST /cycles/{id}/requests/{request}", request, hrRefused, nil},
	{"GET /cycles/{id}/results", draft, hrReads, nil},
	{"POST /cycles/{id}/results", draft, hrRefused, nil},
	{"GET /cycles/{id}/closure", active, hrReads, nil},
	{"POST /cycles/{id}/closure", active, hrWrites, nil},
	{"GET /cycles/{id}/cancellation", active, hrReads, nil},
	{"POST /cycles/{id}/cancellation", active, hrRefused, nil},

	{"GET /deliveries", nil, [6]int{303, 403, 303, 200, 200, 200}, nil},
	{"GET /deliveries/retry", nil, [6]int{303, 403, 303, 200, 200, 200}, nil},
	{"POST /deliveries/retry", nil, [6]int{303, 403, 403, 422, 422, 422}, nil},
	{"GET /deliveries/pause", nil, [6]int{303, 403, 303, 200, 200, 200}, nil},
	{"POST /deliveries/pause", nil, [6]int{303, 403, 403, 422, 422, 422}, nil},
	{"POST /deliveries/resume", nil, [6]int{303, 403, 403, 409, 409, 409}, nil},
	{"GET /deliveries/{id}", failed, bothRead, nil},
	{"POST /deliveries/{id}/retry", failed, bothWrite, nil},
	{"POST /deliveries/{id}/resend", failed, [6]int{303, 403, 403, 422, 422, 404}, nil},
	{"GET /deliveries/{id}/cancellation", failed, bothRead, nil},
	{"POST /deliveries/{id}/cancellation", failed, [6]int{303, 403, 403, 422, 422, 404}, nil},
	{"POST /deliveries/{id}/handover", handout, bothWrite, nil},
	{"GET /deliveries/{id}/{act}", failedAct, leadsOn, nil},

	{"GET /reviews", nil, [6]int{303, 200, 200, 200, 200, 200}, nil},
	{"GET /reviews/{id}", review, [6]int{303, 200, 200, 404, 404, 404}, nil},
	{"POST /reviews/{id}/draft", review, [6]int{303, 303, 303, 404, 404, 404}, []string{"version", "0", "q.q1", "Bem"}},
	{"GET /reviews/{id}/submission", answered, [6]int{303, 200, 200, 404, 404, 404}, nil},
	{"POST /reviews/{id}/submission", answered, [6]int{303, 303, 303, 404, 404, 404}, []string{"version", "1"}},
	{"GET /reviews/{id}/extension", review, [6]int{303, 200, 200, 404, 404, 404}, nil},
	{"POST /reviews/{id}/extension", review, [6]int{303, 422, 422, 404, 404, 404}, nil},
}

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

// employee is who is asked to review in every cycle of the town.
const employee = 2

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

func draft(w *town) []any  { return []any{w.draft()} }
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

// routesOf are the routes as the router knows them.
func routesOf(t *testing.T, h *handlers.Handlers) map[string]bool {
	t.Helper()
	routes := map[string]bool{}
	err := chi.Walk(h.Routes().(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routes[method+" "+route] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return routes
}

func TestEveryRouteHasItsRow(t *testing.T) {
	s := newSite(t)
	missing, seen := routesOf(t, s.handlers), map[string]bool{}
	for _, a := range asks {
		if seen[a.route] {
			t.Errorf("%s stands twice in the table", a.route)
		}
		if !missing[a.route] && !seen[a.route] {
			t.Errorf("%s is in the table and not in Routes()", a.route)
		}
		seen[a.route] = true
		delete(missing, a.route)
	}
	for _, route := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s has no row: say there what each of %v is answered", route, whoAsks)
	}
}

func TestEveryRouteAnswersEveryRole(t *testing.T) {
	w := newTown(t)
	for _, a := range asks {
		method, _, _ := strings.Cut(a.route, " ")
		browsers := w.askers()
		for i, who := range whoAsks {
			path := w.path(a)
			var got answer
			if method == http.MethodPost {
				got = browsers[i].post(path, a.send...)
			} else {
				got = browsers[i].do(method, path, "", nil)
			}
			if got.status != a.want[i] {
				t.Errorf("%s for %s (%s): %d to %q, want %d", a.route, who, path, got.status, got.location, a.want[i])
			}
			if i == 0 && a.want[0] == http.StatusSeeOther && len(a.want) == 6 && signInFirst(a) && !strings.HasPrefix(got.location, "/login") {
				t.Errorf("%s for nobody leads to %q and not to the sign-in", a.route, got.location)
			}
		}
	}
}

// signInFirst is false for the routes that lead anybody somewhere else.
func signInFirst(a ask) bool {
	_, pattern, _ := strings.Cut(a.route, " ")
	return !slices.Contains([]string{"/logout", "/language", "/theme", "/r/{token}", "/acesso/pessoa"}, pattern)
}

// An id of no organisation, one too large, and none at all are all not found.
func TestIdsOfNothingAreNotFound(t *testing.T) {
	w := newTown(t)
	hr, admin := w.as(w.company.HR), w.as(w.company.Admin)
	for _, a := range asks {
		method, pattern, _ := strings.Cut(a.route, " ")
		if method == http.MethodHead || !strings.Contains(pattern, "{id}") || a.want == leadsOn {
			continue
		}
		for _, id := range []string{"987654321", "99999999999999999999999", "0", "-1", "abc", "1%00", url.PathEscape("1 OR 1=1"), "%F0%9F"} {
			path := strings.ReplaceAll(pattern, "{id}", id)
			path = strings.ReplaceAll(path, "{about}", "address")
			path = braces.ReplaceAllString(path, "1")
			b := hr
			if a.want[4] == http.StatusForbidden { // theirs who hold another role
				b = admin
			}
			var got answer
			if method == http.MethodPost {
				got = b.post(path, append([]string{"version", "0"}, a.send...)...)
			} else {
				got = b.get(path)
			}
			if got.status != http.StatusNotFound {
				t.Errorf("%s %s: %d to %q, want 404", method, path, got.status, got.location)
			}
		}
	}
}

// TestLookingChangesNothing sums up every table before and after all GETs by
// everybody. Only when a session was last seen may move.
func TestLookingChangesNothing(t *testing.T) {
	w := newTown(t)
	browsers := w.askers()
	var paths []string
	for _, a := range asks {
		if method, _, _ := strings.Cut(a.route, " "); method != http.MethodPost {
			paths = append(paths, w.path(a))
		}
	}
	for _, b := range browsers {
		b.get("/login") // takes what was left to say
		b.get("/reviews")
	}
	before := w.sums()
	for _, b := range browsers {
		for _, path := range paths {
			b.get(path)
			b.htmx().get(path)
			b.do(http.MethodHead, path, "", nil)
		}
	}
	after := w.sums()
	for table, sum := range before {
		if after[table] != sum {
			t.Errorf("looking changed %s: %s before, %s after", table, sum, after[table])
		}
	}
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
