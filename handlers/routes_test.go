package handlers_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"ciclo/handlers"
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

// employee is who is asked to review in every cycle of the town.
const employee = 2

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
