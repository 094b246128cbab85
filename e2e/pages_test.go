package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/handlers"
	"ciclo/internal/demo"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
	"ciclo/store"
)

// look is one page as somebody sees it.
type look struct {
	who  string // an address to sign in with, "nobody", or "by link"
	path string
	act  string // what is done there before looking, as an expression
	gets int    // the status that this leads to, when the console will speak of it
	// first of its route: looked at on a phone in the dark, and in the other language
	first bool
}

const (
	nobody = "nobody"
	byLink = "by link"
)

// send presses the button of the page's own form.
const send = `[...document.querySelectorAll("main form[method=post]")].find((f) => f.offsetParent && !/language|theme|logout/.test(f.action)).requestSubmit()`

// noPage are the routes that answer no page, and why.
var noPage = map[string]string{
	"/static/{file}":              "a file",
	"/favicon.ico":                "a file",
	"/healthz":                    "for machines",
	"/readyz":                     "for machines",
	"/dev/mail.json":              "for machines",
	"/people/import/template":     "a file",
	"/people/import/{id}/rejects": "a file",
	"/cycles/{id}/roster.csv":     "a file",
	"/cycles/{id}/imports/{import}/rejected.csv": "a file",
	"/cycles/{id}":                "leads to a part of the cycle",
	"/cycles/{id}/people":         "a fragment for the field that is being typed in",
	"/cycles/{id}/standing":       "a fragment of the progress page",
	"/deliveries/{id}/{act}":      "leads to the message",
	"/dev/mail/{id}/html":         "the mail itself, inside the frame of its page",
	"/cycles/{id}/rehearsal/mail": "the mail itself, inside the frame of the rehearsal",
}

// pages is every route that answers a page, with something on it.
func (w *world) pages() map[string][]look {
	cycle := func(id int64, part string) string { return fmt.Sprintf("/cycles/%d%s", id, part) }
	hr := func(paths ...string) (looks []look) {
		for _, p := range paths {
			looks = append(looks, look{who: hrManager, path: p})
		}
		return looks
	}
	refused := func(who, path, act string) look {
		return look{who: who, path: path, act: act, gets: http.StatusUnprocessableEntity}
	}
	review := fmt.Sprintf("/reviews/%d", w.review)
	return map[string][]look{
		"/login":              {{who: nobody, path: "/login"}, refused(nobody, "/login", send), {who: nobody, path: "/login?next=/nada"}},
		"/login/organisation": {{who: nobody, path: "/login", act: w.twoOrganisations}},
		"/password/lost":      {{who: nobody, path: "/password/lost"}, refused(nobody, "/password/lost", send)},
		"/password/{token}":   {{who: nobody, path: "/password/" + w.passwordToken}, {who: nobody, path: "/password/nada", gets: 404}},
		"/r/lost":             {{who: nobody, path: "/r/lost"}, refused(nobody, "/r/lost", send)},
		"/acesso":             {{who: nobody, path: "/acesso"}, refused(nobody, "/acesso", send)},
		"/acesso/pessoa":      {{who: nobody, path: "/acesso", act: w.bySlip}},
		"/r/{token}":          {{who: nobody, path: w.link}, {who: nobody, path: "/r/nada", gets: 404}},

		"/": append(hr("/"), look{who: admin, path: "/"}, look{who: reviewer, path: "/"}, look{who: hrManager, path: "/nada", gets: 404}, look{who: reviewer, path: "/cycles", gets: 403}),

		"/people":                          hr("/people", "/people?q=ningu%C3%A9m", "/people?situation=left"),
		"/people/import":                   append(hr("/people/import"), refused(hrManager, "/people/import", send)),
		"/people/import/{id}":              hr(w.peopleImport, w.peopleImport+"?r=reject"),
		"/people/import/{id}/columns":      append(hr(w.peopleImport+"/columns"), refused(hrManager, w.peopleImport+"/columns", `document.querySelector("[name=column-1]").value = "", `+send)),
		"/people/import/{id}/decisions":    append(hr(w.undecided+"/decisions"), refused(hrManager, w.undecided+"/decisions", `document.querySelectorAll("main input[type=radio]").forEach((i) => { i.checked = false }), document.querySelector(".stack--page button[type=submit]").click()`)),
		"/people/import/{id}/confirmation": hr(w.peopleImport + "/confirmation"),
		"/people/{id}":                     append(hr(fmt.Sprintf("/people/%d", w.person)), look{who: admin, path: fmt.Sprintf("/people/%d", w.person)}),
		"/people/{id}/address":             append(hr(fmt.Sprintf("/people/%d/address", w.person)), refused(hrManager, fmt.Sprintf("/people/%d/address", w.person), send)),
		"/people/{id}/roles":               {{who: admin, path: fmt.Sprintf("/people/%d/roles", w.person)}, refused(admin, fmt.Sprintf("/people/%d/roles", w.person), send)},
		"/team":                            {{who: reviewer, path: "/team"}},
		"/settings":                        {{who: admin, path: "/settings"}, refused(admin, "/settings", `document.querySelector("[name=name]").value = "", `+send)},
		"/settings/calendar":               {{who: admin, path: "/settings/calendar"}, refused(admin, "/settings/calendar", send)},
		"/settings/roles":                  {{who: admin, path: "/settings/roles"}, {who: admin, path: "/settings/roles?q=ningu%C3%A9m"}},
		"/settings/audit":                  {{who: admin, path: "/settings/audit"}, {who: admin, path: "/settings/audit?q=ningu%C3%A9m"}},
		"/account":                         {{who: reviewer, path: "/account"}},

		"/forms":            append(hr("/forms"), look{who: admin, path: "/forms"}),
		"/forms/draft":      append(hr("/forms/draft"), hr("/forms/draft?from=blank")[0]),
		"/forms/{id}":       hr(fmt.Sprintf("/forms/%d", w.form)),
		"/forms/{id}/draft": append(hr(fmt.Sprintf("/forms/%d/draft", w.form)), refused(hrManager, fmt.Sprintf("/forms/%d/draft", w.form), `document.querySelectorAll("main input[type=text], main textarea").forEach((i) => { i.value = "" }), document.querySelector("main button[value=save]")?.click()`)),

		"/cycles":            hr("/cycles", "/cycles?q=nenhum"),
		"/cycles/new":        append(hr("/cycles/new"), refused(hrManager, "/cycles/new", send)),
		"/cycles/{id}/terms": hr(cycle(w.draft, "/terms")),
		"/cycles/{id}/roster": hr(cycle(w.draft, "/roster"), cycle(w.active, "/roster"), cycle(w.empty, "/roster"),
			cycle(w.draft, "/roster?q=ningu%C3%A9m")),
		"/cycles/{id}/roster/removal":                hr(cycle(w.draft, "/roster/removal")),
		"/cycles/{id}/rule":                          append(hr(cycle(w.draft, "/rule")), refused(hrManager, cycle(w.draft, "/rule"), `document.querySelectorAll("main [name=self], main [name=manager]").forEach((b) => { b.checked = false }), `+send)),
		"/cycles/{id}/imports/new":                   append(hr(cycle(w.draft, "/imports/new")), refused(hrManager, cycle(w.draft, "/imports/new"), send)),
		"/cycles/{id}/imports/{import}":              hr(w.pairsImport),
		"/cycles/{id}/imports/{import}/confirmation": hr(w.pairsImport + "/confirmation"),
		"/cycles/{id}/pairs/new":                     append(hr(cycle(w.draft, "/pairs/new")), refused(hrManager, cycle(w.draft, "/pairs/new"), send)),
		"/cycles/{id}/pairs/{pair}/reviewer":         hr(cycle(w.draft, fmt.Sprintf("/pairs/%d/reviewer", w.pair))),
		"/cycles/{id}/absences":                      hr(cycle(w.draft, "/absences")),
		"/cycles/{id}/exclusions/{person}":           append(hr(cycle(w.draft, fmt.Sprintf("/exclusions/%d", w.participant))), refused(hrManager, cycle(w.draft, fmt.Sprintf("/exclusions/%d", w.participant)), send)),
		"/cycles/{id}/rehearsal":                     hr(cycle(w.draft, "/rehearsal"), cycle(w.empty, "/rehearsal"), cycle(w.draft, "/rehearsal?format=text&lang=en")),
		"/cycles/{id}/rehearsal/{about}":             hr(cycle(w.draft, "/rehearsal/elsewhere"), cycle(w.draft, "/rehearsal/leave"), cycle(w.draft, "/rehearsal/manager")),
		"/cycles/{id}/rehearsal/changes":             hr(cycle(w.draft, "/rehearsal/changes")),
		"/cycles/{id}/mending":                       append(hr(cycle(w.draft, fmt.Sprintf("/mending?act=exclude&person=%d", w.participant))), refused(hrManager, cycle(w.draft, fmt.Sprintf("/mending?act=exclude&person=%d", w.participant)), send)),
		"/cycles/{id}/slips":                         hr(cycle(w.active, "/slips"), cycle(w.active, "/slips?q=ningu%C3%A9m")),
		"/cycles/{id}/slips/sheet":                   hr(cycle(w.active, "/slips/sheet?manager=all")),
		"/cycles/{id}/slips/handover":                hr(cycle(w.active, "/slips/handover?manager=all")),
		"/cycles/{id}/activation":                    hr(cycle(w.draft, "/activation"), cycle(w.empty, "/activation")),
		"/cycles/{id}/activation/undo":               hr(cycle(w.held, "/activation/undo")),
		"/cycles/{id}/receipt":                       hr(cycle(w.active, "/receipt"), cycle(w.held, "/receipt")),
		"/cycles/{id}/progress":                      hr(cycle(w.active, "/progress")),
		"/cycles/{id}/extension": append(hr(cycle(w.active, "/extension"), cycle(w.active, fmt.Sprintf("/extension?id=%d", w.owing))),
			refused(hrManager, cycle(w.active, "/extension"), `document.querySelector("main [name=day]").value = "2020-01-01", `+send)),
		"/cycles/{id}/reminders":          hr(cycle(w.active, "/reminders")),
		"/cycles/{id}/reviewers/{person}": hr(cycle(w.active, fmt.Sprintf("/reviewers/%d", w.owing)), cycle(w.active, fmt.Sprintf("/reviewers/%d", w.asking))),
		"/cycles/{id}/evaluations/{evaluation}/reviewer": append(hr(cycle(w.active, fmt.Sprintf("/evaluations/%d/reviewer", w.owed))),
			refused(hrManager, cycle(w.active, fmt.Sprintf("/evaluations/%d/reviewer", w.owed)), send)),
		"/cycles/{id}/evaluations/{evaluation}/cancellation": append(hr(cycle(w.active, fmt.Sprintf("/evaluations/%d/cancellation", w.owed))),
			refused(hrManager, cycle(w.active, fmt.Sprintf("/evaluations/%d/cancellation", w.owed)), send)),
		"/cycles/{id}/joiners/new":        append(hr(cycle(w.active, "/joiners/new")), refused(hrManager, cycle(w.active, "/joiners/new"), send)),
		"/cycles/{id}/decisions":          hr(cycle(w.active, "/decisions")),
		"/cycles/{id}/requests":           hr(cycle(w.active, "/requests")),
		"/cycles/{id}/requests/{request}": append(hr(cycle(w.active, fmt.Sprintf("/requests/%d", w.request))), refused(hrManager, cycle(w.active, fmt.Sprintf("/requests/%d", w.request)), `document.querySelector("main [name=decision]").value = "refuse", `+send)),
		"/cycles/{id}/results": append(hr(cycle(w.draft, "/results"), cycle(w.active, "/results"), cycle(w.closed, "/results")),
			refused(hrManager, cycle(w.draft, "/results"), `document.querySelector("[name=weight-self]").value = "x", `+send)),
		"/cycles/{id}/closure":      hr(cycle(w.active, "/closure")),
		"/cycles/{id}/cancellation": append(hr(cycle(w.active, "/cancellation")), refused(hrManager, cycle(w.active, "/cancellation"), send)),

		"/deliveries":                   append(hr("/deliveries", "/deliveries?state=accepted", "/deliveries?state=handout", "/deliveries?q=ningu%C3%A9m"), look{who: admin, path: "/deliveries"}),
		"/deliveries/retry":             hr("/deliveries/retry"),
		"/deliveries/pause":             append(hr("/deliveries/pause"), refused(hrManager, "/deliveries/pause?queue=mail_now", send)),
		"/deliveries/{id}":              append(hr(fmt.Sprintf("/deliveries/%d", w.failed), fmt.Sprintf("/deliveries/%d", w.delivered), fmt.Sprintf("/deliveries/%d", w.handout)), look{who: hrManager, path: "/deliveries/99999999", gets: 404}),
		"/deliveries/{id}/cancellation": hr(fmt.Sprintf("/deliveries/%d/cancellation", w.failed)),

		"/reviews":                 {{who: reviewer, path: "/reviews"}, {who: byLink, path: "/reviews"}},
		"/reviews/{id}":            {{who: byLink, path: review}, {who: byLink, path: fmt.Sprintf("/reviews/%d", w.submitted)}, refused(byLink, review, `document.querySelector("[name=then]").click()`)},
		"/reviews/{id}/submission": {{who: byLink, path: fmt.Sprintf("/reviews/%d/submission", w.complete)}, refused(byLink, review+"/submission", "")},
		"/reviews/{id}/extension":  {{who: byLink, path: review + "/extension"}, refused(byLink, review+"/extension", send)},

		"/dev/mail":      {{who: nobody, path: "/dev/mail"}, {who: nobody, path: "/dev/mail?q=ningu%C3%A9m"}},
		"/dev/mail/{id}": {{who: nobody, path: fmt.Sprintf("/dev/mail/%d", w.mail)}, {who: nobody, path: "/dev/mail/99999999", gets: 404}},
	}
}

// world is what the demo holds for each page to show.
type world struct {
	active, draft, empty        int64 // cycles
	held, closed                int64
	pair, participant           int64 // of the draft
	failed, delivered, handout  int64 // messages
	review, submitted, complete int64 // of who came by the link
	person, form, mail          int64
	owing, owed                 int64 // a reviewer of the active cycle, and an evaluation of theirs
	asking, request             int64 // one who asks for more time
	link, passwordToken         string
	peopleImport, pairsImport   string // addresses
	undecided                   string // the address of a people file with open lines
	twoOrganisations            string // the expression that signs in to them
	bySlip                      string // the expression that gives a slip's code
}

// newWorld finds in the demo what there is, and makes the rest.
func newWorld(t *testing.T, p *product) *world {
	t.Helper()
	db := p.database(t)
	w := &world{}
	const running, drafted = "Avaliação de Desempenho 2026.2", "Avaliação de Experiência, turma de novembro"
	w.active = one[int64](t, db, `SELECT id FROM cycles WHERE name = $1`, running)
	w.draft = one[int64](t, db, `SELECT id FROM cycles WHERE name = $1`, drafted)
	w.pair = one[int64](t, db, `SELECT min(id) FROM evaluations WHERE cycle_id = $1 AND reviewer_id <> reviewee_id`, w.draft)
	w.participant = one[int64](t, db, `SELECT min(person_id) FROM participants WHERE cycle_id = $1`, w.draft)
	w.failed = one[int64](t, db, `SELECT min(id) FROM outbox_events WHERE status = 'failed'`)
	w.delivered = one[int64](t, db, `SELECT min(id) FROM outbox_events WHERE status = 'delivered'`)
	w.handout = one[int64](t, db, `SELECT min(id) FROM outbox_events WHERE queue = 'handout'`)
	w.asking = one[int64](t, db, `SELECT person_id FROM extension_requests WHERE cycle_id = $1`, w.active)
	w.request = one[int64](t, db, `SELECT id FROM extension_requests WHERE cycle_id = $1`, w.active)
	w.owed = one[int64](t, db, `
		SELECT max(e.id)
		FROM evaluations e
		JOIN people p ON p.id = e.reviewer_id
		WHERE e.cycle_id = $1
		  AND e.state = 'in_progress'
		  AND e.kind <> 'self'
		  AND p.email IS NOT NULL`, w.active)
	w.owing = one[int64](t, db, `SELECT reviewer_id FROM evaluations WHERE id = $1`, w.owed)
	// somebody leaves whom nobody else here is about
	one[int64](t, db, `
		UPDATE people
		SET left_on = (now() AT TIME ZONE 'America/Sao_Paulo')::date - 1
		WHERE id = (
			SELECT max(e.reviewer_id)
			FROM evaluations e
			JOIN people p ON p.id = e.reviewer_id
			WHERE e.cycle_id = $1
			  AND e.state IN ('pending', 'in_progress')
			  AND p.department = 'Manutenção'
			  AND p.title LIKE 'Mecânico%')
		RETURNING id`, w.active)
	w.person = one[int64](t, db, `SELECT id FROM people WHERE email = $1`, reviewer)
	w.form = one[int64](t, db, `SELECT min(id) FROM forms`)

	// Somebody of the cycle under way comes by link, sends two and leaves one ready.
	l, link := invitation(t, p.url, "joao.montenegro@demo.example", running)
	w.mail, w.link = l.ID, link
	who := newPlain(t, p.url)
	who.open(link).press("Sou eu, abrir avaliações")
	todo := openReviews(who)
	if len(todo) < 3 {
		t.Fatalf("João has %d reviews to do, want 3", len(todo))
	}
	for _, path := range todo[1:3] {
		radio, text := answers(who.open(path))
		who.press("Revisar e enviar", append(radio, text...)...)
	}
	who.press("Enviar avaliação").sees("enviada")
	for i, id := range []*int64{&w.review, &w.complete, &w.submitted} {
		if _, err := fmt.Sscanf(todo[i], "/reviews/%d", id); err != nil {
			t.Fatal(err)
		}
	}

	hr := newPlain(t, p.url).signIn(hrManager)
	if _, err := fmt.Sscanf(hr.newCycle("Vazio"), "/cycles/%d", &w.empty); err != nil {
		t.Fatal(err)
	}
	hr.open(fmt.Sprintf("/cycles/%d/imports/new", w.draft)).press("Ler o arquivo", "file", "@../e2e/testdata/pares-da-demo.csv")
	w.pairsImport = hr.at.Path
	hr.open("/people/import").press("Enviar arquivo", "file", "@pessoas-com-erros.csv")
	hr.press("Conferir as linhas")
	w.peopleImport = hr.at.Path
	if hr.status != http.StatusOK || strings.HasSuffix(w.peopleImport, "/columns") {
		t.Fatalf("the file with faults leads to %s (%d):\n%s", w.peopleImport, hr.status, hr.text())
	}
	hr.open("/people/import").press("Enviar arquivo", "file", "@../e2e/testdata/pessoas-a-decidir-da-demo.csv")
	hr.press("Conferir as linhas")
	w.undecided = hr.at.Path

	hr.open(fmt.Sprintf("/cycles/%d/slips", w.active)).press("Imprimir todos")
	employee, code := slipOn(t, hr.text())
	w.bySlip = `(() => { const f = document.querySelector("form[action='/acesso']"); f.employee.value = ` + quoted(employee) + `; f.code.value = ` + quoted(code) + `; f.requestSubmit() })()`
	w.signInTwice(t, p)
	w.hold(t, p)
	return w
}

// hold activates a cycle whose messages are held and one that ends, and pauses a lane.
func (w *world) hold(t *testing.T, p *product) {
	t.Helper()
	db := p.database(t)
	pool, err := pgxpool.New(t.Context(), db.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, err := store.New(pool)
	if err != nil {
		t.Fatal(err)
	}
	by := policy.Actor{TenantID: one[int64](t, db, `SELECT min(id) FROM tenants`), PersonID: one[int64](t, db, `SELECT id FROM people WHERE email = $1`, hrManager), Roles: []policy.Role{policy.HRManager}}
	if _, err := db.Exec(t.Context(), `UPDATE tenants SET hold_minutes = 60 WHERE id = $1`, by.TenantID); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]*int64{"Ciclo retido": &w.held, "Ciclo encerrado": &w.closed} {
		*id = one[int64](t, db, `
			INSERT INTO cycles (tenant_id, name, form_version_id, due_at, due_zone, owner_id)
			SELECT tenant_id, $2, form_version_id, due_at, due_zone, owner_id
			FROM cycles
			WHERE id = $1
			RETURNING id`, w.draft, name)
		for _, sql := range []string{
			`INSERT INTO participants (tenant_id, cycle_id, person_id, source) VALUES ($1, $2, $3, 'page')`,
			`INSERT INTO evaluations (tenant_id, cycle_id, reviewee_id, reviewer_id, kind, source) VALUES ($1, $2, $3, $3, 'self', 'page')`,
		} {
			if _, err := db.Exec(t.Context(), sql, by.TenantID, *id, w.participant); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.ActivateCycle(t.Context(), by, *id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.CloseCycle(t.Context(), by, w.closed); err != nil {
		t.Fatal(err)
	}
	if err := s.PauseSending(t.Context(), by, outbox.QueueMail, "conferindo os endereços"); err != nil {
		t.Fatal(err)
	}
}

// signInTwice makes somebody with the same address in two organisations.
func (w *world) signInTwice(t *testing.T, p *product) {
	t.Helper()
	db := p.database(t)
	pool, err := pgxpool.New(t.Context(), db.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, err := store.New(pool)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	link := func(tenant int64, code string) string {
		id, err := s.CreatePerson(ctx, tenant, store.PersonInput{Code: code, Name: "Duas Casas", Email: "duas@demo.example"}, "")
		if err != nil {
			t.Fatal(err)
		}
		token, err := s.CreateOneTimeLink(ctx, tenant, id, "password")
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	other, err := s.CreateTenant(ctx, "Cooperativa Aroeira", "pt-BR", "America/Sao_Paulo", "rh@demo.example")
	if err != nil {
		t.Fatal(err)
	}
	first := one[int64](t, db, `SELECT min(id) FROM tenants`)
	for tenant, code := range map[int64]string{first: "990001", other: "990001"} {
		if err := s.SetPassword(ctx, link(tenant, code), demo.Password); err != nil {
			t.Fatal(err)
		}
	}
	w.passwordToken, err = s.CreateOneTimeLink(ctx, first, w.person, "password")
	if err != nil {
		t.Fatal(err)
	}
	w.twoOrganisations = `(() => { const f = document.querySelector("form[action='/login']"); f.email.value = "duas@demo.example"; f.password.value = ` + quoted(demo.Password) + `; f.requestSubmit() })()`
}

// TestEveryPageIsLookedAt keeps pages and noPage equal to the routes.
func TestEveryPageIsLookedAt(t *testing.T) {
	pool, err := pgxpool.New(context.Background(), "postgres://nobody@127.0.0.1:1/none") // never asked
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s, err := store.New(pool)
	if err != nil {
		t.Fatal(err)
	}
	catcher, err := demo.StartCatcher(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer catcher.Close()
	h, err := handlers.New(handlers.Options{Store: s, BaseURL: "http://127.0.0.1", More: catcher.Routes})
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]bool{}
	err = chi.Walk(h.Routes().(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method == http.MethodGet {
			routes[route] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	looked := (&world{}).pages()
	for route := range routes {
		_, page := looked[route]
		if _, none := noPage[route]; page == none {
			t.Errorf("%s must stand either among the pages or, with its reason, among noPage", route)
		}
	}
	for _, route := range slices.Concat(slices.Collect(maps.Keys(looked)), slices.Collect(maps.Keys(noPage))) {
		if !routes[route] {
			t.Errorf("%s is no route any more", route)
		}
	}
}
