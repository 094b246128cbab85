package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

// partnerDiffers are the routes on which an HR partner for Logística is answered
// otherwise than an employee without any role. All others are closed to them in
// the same way.
var partnerDiffers = map[string]int{
	"POST /r/{token}":                         http.StatusConflict, // somebody else is signed in
	"GET /people":                             http.StatusOK,
	"GET /people/{id}":                        http.StatusNotFound, // person 5 is in Operações
	"GET /people/{id}/address":                http.StatusNotFound,
	"POST /people/{id}/address":               http.StatusNotFound,
	"POST /people/{id}/leave":                 http.StatusNotFound, // the person is out of scope, and the form is drawn with them
	"GET /forms":                              http.StatusOK,
	"GET /forms/{id}":                         http.StatusOK,
	"GET /cycles":                             http.StatusOK,
	"GET /cycles/{id}":                        http.StatusSeeOther,
	"GET /cycles/{id}/roster":                 http.StatusOK,
	"GET /cycles/{id}/roster.csv":             http.StatusOK,
	"GET /cycles/{id}/pairs/new":              http.StatusOK,
	"POST /cycles/{id}/pairs":                 http.StatusUnprocessableEntity,
	"POST /cycles/{id}/pairs/{pair}/removal":  http.StatusSeeOther, // about person 2, in Logística
	"GET /cycles/{id}/pairs/{pair}/reviewer":  http.StatusOK,
	"POST /cycles/{id}/pairs/{pair}/reviewer": http.StatusUnprocessableEntity,
	"GET /cycles/{id}/people":                 http.StatusOK,
	"GET /cycles/{id}/absences":               http.StatusOK,
	"GET /cycles/{id}/exclusions/{person}":    http.StatusOK,
	"POST /cycles/{id}/exclusions/{person}":   http.StatusUnprocessableEntity,
	"POST /cycles/{id}/inclusions/{person}":   http.StatusSeeOther,
	"GET /reviews/{id}":                       http.StatusNotFound, // another's
	"POST /reviews/{id}/draft":                http.StatusNotFound,
	"GET /reviews/{id}/submission":            http.StatusNotFound,
	"POST /reviews/{id}/submission":           http.StatusNotFound,
	"POST /reviews/{id}/extension":            http.StatusNotFound,
	"GET /reviews/{id}/extension":             http.StatusNotFound,
}

func partner(s *site, i int) policy.Actor {
	s.t.Helper()
	if _, err := s.store.GiveRole(s.t.Context(), s.company.Admin, s.company.People[i], store.GrantInput{Role: policy.HRPartner, Scope: store.ScopeDepartment, Value: "Logística"}); err != nil {
		s.t.Fatal(err)
	}
	return s.company.Actor(i)
}

func TestAPartnerIsAnsweredByScope(t *testing.T) {
	w := newTown(t)
	who := partner(w.site, 9)
	for _, a := range asks {
		method, _, _ := strings.Cut(a.route, " ")
		want, differs := partnerDiffers[a.route]
		if !differs {
			want = a.want[1]
		}
		path := w.path(a)
		b := w.as(who) // signing out everywhere is among what is asked
		var got answer
		if method == http.MethodPost {
			got = b.post(path, a.send...)
		} else {
			got = b.do(method, path, "", nil)
		}
		if got.status != want {
			t.Errorf("%s for an HR partner (%s): %d to %q, want %d", a.route, path, got.status, got.location, want)
		}
	}
}

// A partner sees and changes the rows about whom they cover, and no others.
func TestAPartnersCycleIsCutToTheirPeople(t *testing.T) {
	s := newSite(t)
	cycle := s.company.Draft(t, "Ciclo do ano", 12, 6)
	b := s.as(partner(s, 9))
	path := fmt.Sprintf("/cycles/%d", cycle)
	inside := storetest.One[int](t, s.pool, `SELECT count(*) FROM evaluations e JOIN people p ON p.id = e.reviewee_id WHERE e.cycle_id = $1 AND p.department = 'Logística'`, cycle)
	pairOf := func(department string) int64 {
		return storetest.One[int64](t, s.pool, `SELECT min(e.id) FROM evaluations e JOIN people p ON p.id = e.reviewee_id WHERE e.cycle_id = $1 AND p.department = $2`, cycle, department)
	}
	roster := b.get(path+"/roster").want(t, http.StatusOK, "Você vê as pessoas que acompanha", "Bruno 2", fmt.Sprintf("1–%d de %d", inside, inside))
	for _, hidden := range []string{"Simular", "Importar", "Operações</td>", "Apagar"} {
		if strings.Contains(roster.body, hidden) {
			t.Errorf("the roster shows %q to a partner", hidden)
		}
	}
	file := b.get(path+"/roster.csv").want(t, http.StatusOK)
	if lines := strings.Count(strings.TrimSpace(file.body), "\n"); lines != inside {
		t.Errorf("the file has %d rows, want %d", lines, inside)
	}
	out := pairOf("Operações")
	b.post(fmt.Sprintf("%s/pairs/%d/removal", path, out)).want(t, http.StatusNotFound)
	b.get(fmt.Sprintf("%s/pairs/%d/reviewer", path, out)).want(t, http.StatusNotFound)
	b.post(fmt.Sprintf("%s/pairs/%d/reviewer", path, out), "reviewer", "000012").want(t, http.StatusNotFound)
	b.post(path+"/pairs", "reviewee", "000003", "reviewer", "000012", "kind", "peer").want(t, http.StatusUnprocessableEntity, "não está entre as pessoas")
	for _, name := range []string{"a", "Carla"} { // by name, people outside are not even listed
		for _, field := range []string{"reviewee", "reviewer"} {
			sent := []string{"reviewee", "000004", "reviewer", "000004", "kind", "peer"}
			sent[map[string]int{"reviewee": 1, "reviewer": 3}[field]] = name
			if got := b.post(path+"/pairs", sent...).want(t, http.StatusUnprocessableEntity); strings.Contains(got.body, "Carla 3") {
				t.Errorf("%q as %s tells a partner of Carla", name, field)
			}
		}
	}
	b.get(fmt.Sprintf("%s/exclusions/%d", path, s.company.People[2])).want(t, http.StatusNotFound)
	b.post(fmt.Sprintf("%s/exclusions/%d", path, s.company.People[2]), "reason", "licença").want(t, http.StatusNotFound)
	if n := storetest.One[int](t, s.pool, `SELECT count(*) FROM evaluations WHERE cycle_id = $1`, cycle); n != 12 {
		t.Errorf("%d pairs are left of 12", n)
	}
	b.post(path+"/pairs", "reviewee", "000004", "reviewer", "000011", "kind", "peer").want(t, http.StatusSeeOther)
	b.post(fmt.Sprintf("%s/pairs/%d/removal", path, pairOf("Logística"))).want(t, http.StatusSeeOther)
	b.get("/").want(t, http.StatusOK, "Ciclo do ano", fmt.Sprintf("%d avaliações previstas", inside))
	b.get("/people").want(t, http.StatusOK, "6 pessoas", "Bruno 2")
	b.post(path+"/activation").want(t, http.StatusForbidden)
	b.post(path+"/cancellation", "reason", "x").want(t, http.StatusForbidden)
}

// Whatever roles somebody holds, what others write about them is closed to them.
func TestNobodyReadsWhatIsWrittenAboutThem(t *testing.T) {
	w := newTown(t)
	for i, name := range []string{"the admin", "the HR manager", "an HR partner", "a manager of the team"} {
		person := []int{0, 1, 9, 0}[i]
		if name == "an HR partner" {
			partner(w.site, person)
		}
		review := storetest.One[int64](t, w.pool, `
			WITH taken_in AS (
				INSERT INTO participants (tenant_id, cycle_id, person_id, source)
				SELECT tenant_id, id, $2, 'page'
				FROM cycles
				WHERE id = $1
				ON CONFLICT DO NOTHING
			)
			INSERT INTO evaluations (tenant_id, cycle_id, reviewee_id, reviewer_id, kind, source)
			SELECT tenant_id, id, $2, $3, 'report', 'page'
			FROM cycles
			WHERE id = $1
			RETURNING id`, w.draft(), w.company.People[person], w.company.People[11])
		b := w.as(w.company.Actor(person))
		for _, a := range asks {
			method, pattern, _ := strings.Cut(a.route, " ")
			if !strings.HasPrefix(pattern, "/reviews/{id}") {
				continue
			}
			path := strings.Replace(pattern, "{id}", idText(review), 1)
			var got answer
			if method == http.MethodPost {
				got = b.post(path, a.send...)
			} else {
				got = b.get(path)
			}
			if got.status != http.StatusNotFound {
				t.Errorf("%s reads %s %s about themself: %d", name, method, path, got.status)
			}
		}
	}
}
