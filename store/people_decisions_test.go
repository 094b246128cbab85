package store_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/fault"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

// verdicts says what became of each line, and what is asked about it.
func verdicts(p store.PeopleImport) map[int][]string {
	got := map[int][]string{}
	for _, l := range p.Page {
		said := []string{l.Verdict}
		for _, q := range l.Questions {
			said = append(said, q.Kind)
			for _, a := range q.Answers {
				said = append(said, a.Value)
			}
		}
		got[l.Row.Line] = said
	}
	return got
}

func decide(t *testing.T, s *store.Store, by policy.Actor, id int64, d store.Decisions, open int) store.PeopleImport {
	t.Helper()
	left, err := s.DecidePeople(t.Context(), by, id, d)
	if err != nil {
		t.Fatal(err)
	}
	if left != open {
		t.Errorf("%d lines are open, want %d", left, open)
	}
	return shown(t, s, by, id)
}

// one is the answer to one question of one line.
func one(line int, kind, value string) store.Decisions {
	return store.Decisions{Lines: map[int]map[string]string{line: {kind: value}}}
}

func same(company storetest.Company, n int) string { return fmt.Sprintf("same:%d", company.People[n]) }

func person(t *testing.T, pool *pgxpool.Pool, code string) string {
	t.Helper()
	return storetest.One[string](t, pool, `
		SELECT coalesce((
			SELECT p.name || '|' || coalesce(p.email::text, '') || '|' || p.department || '|' || coalesce(m.code, '')
			FROM people p
			LEFT JOIN people m ON m.id = p.manager_id
			WHERE p.code = $1), 'nobody')`, code)
}

func TestAPersonSaysWhoseZerosWereEaten(t *testing.T) {
	s, pool, company := open(t, 4)
	p := preview(t, s, company.HR, header+"3;Carla 3;;Frota;;1\n2;Outra Pessoa;outra@x.example\n000004;Diego 4;;Frota\n4;Quarta Pessoa\n")
	want := map[int][]string{
		2: {"decide", "zeros", same(company, 2), "new", "out"},
		3: {"decide", "zeros", same(company, 1), "new", "out"},
		4: {"update"},
		5: {"create"}, // 000004 has a line of their own
	}
	if d := cmp.Diff(want, verdicts(p)); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
	if a := p.Page[0].Questions[0].Answers[0]; !a.Likely || a.Name != "Carla 3" || a.Code != "000003" {
		t.Errorf("the likely answer is %+v", a)
	}
	if p.Page[1].Questions[0].Answers[0].Likely {
		t.Error("another name is called likely")
	}
	if _, err := s.ConfirmPeople(t.Context(), company.HR, p.ID, false); fault.KindOf(err) != fault.Conflict {
		t.Fatalf("confirming with open lines: %v", err)
	}
	decide(t, s, company.HR, p.ID, one(3, "zeros", "new"), 1)
	decide(t, s, company.HR, p.ID, store.Decisions{All: store.AllZeros}, 0)
	confirm(t, s, company.HR, p.ID, store.PeopleImported{Created: 2, Updated: 2})
	for code, want := range map[string]string{"000003": "Carla 3|p3@1.example.test|Frota|000001", "2": "Outra Pessoa|outra@x.example||", "4": "Quarta Pessoa|||", "3": "nobody"} {
		if got := person(t, pool, code); got != want {
			t.Errorf("%s is %q, want %q", code, got, want)
		}
	}
}

func TestAPersonSaysWhoseAddressItIs(t *testing.T) {
	s, pool, company := openApart(t, 5)
	lines := header + "X3;Carla 3;P3@1.example.test;Frota\nX4;Outra;p4@1.example.test\nRH-000005;Érica 5;p2@1.example.test\nX9;Nona;;;;RH-000003\n"
	p := preview(t, s, company.Admin, lines)
	want := map[int][]string{
		2: {"decide", "address", same(company, 2), "without", "out"},
		3: {"decide", "address", same(company, 3), "without", "out"},
		4: {"decide", "address", "without", "out"}, // somebody's own line is not somebody else's
		5: {"create"},
	}
	if d := cmp.Diff(want, verdicts(p)); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
	p = decide(t, s, company.Admin, p.ID, store.Decisions{Lines: map[int]map[string]string{
		2: {"address": same(company, 2)}, 3: {"address": "without"}, 4: {"address": "out"}}}, 0)
	if why := reasons(p)[4]; why != "E-mail “p2@1.example.test”: você deixou esta linha de fora." {
		t.Errorf("left out because %q", why)
	}
	if c := p.Page[0].Changes; len(c) != 2 || c[0] != (store.PersonChange{Field: "employee_code", Old: "RH-000003", New: "X3"}) {
		t.Errorf("the same person changes %+v", c)
	}
	confirm(t, s, company.Admin, p.ID, store.PeopleImported{Created: 2, Updated: 1, Rejected: 1})
	for code, want := range map[string]string{"X3": "Carla 3|p3@1.example.test|Frota|RH-000001", "X4": "Outra|||", "X9": "Nona|||X3", "RH-000003": "nobody"} {
		if got := person(t, pool, code); got != want {
			t.Errorf("%s is %q, want %q", code, got, want)
		}
	}
	again := preview(t, s, company.Admin, header+"X3;Carla 3;p3@1.example.test;Frota\n")
	if again.Verdicts["unchanged"] != 1 {
		t.Errorf("the second time: %v", again.Verdicts)
	}
	// A new code for somebody with a role is an admin's to give.
	p = preview(t, s, company.HR, header+"Y1;Ana 1;p1@1.example.test\n")
	p = decide(t, s, company.HR, p.ID, one(2, "address", same(company, 0)), 0)
	if why := reasons(p)[2]; why != "Matrícula “Y1”: Ana 1 tem um papel no sistema. Só um admin muda isto." {
		t.Errorf("rejected because %q", why)
	}
}

func TestAPersonSaysWhichOfTwoManagesSomebody(t *testing.T) {
	s, pool, company := openApart(t, 4)
	storetest.Exec(t, pool, `UPDATE people SET name = 'Yara Leão', department = 'Frota' WHERE code IN ('RH-000003', 'RH-000004')`)
	lines := header + "X1;Xavier;;;;Yara Leao\nX2;Yara Leão;;Oficina\nRH-000004;Yara Leão;;;;Yara Leão\n"
	p := preview(t, s, company.HR, lines)
	want := map[int][]string{
		2: {"decide", "manager", "boss:X2", "boss:RH-000004", "boss:RH-000003", "without", "out"},
		3: {"create"},
		4: {"decide", "manager", "boss:X2", "boss:RH-000003", "without", "out"}, // not oneself
	}
	if d := cmp.Diff(want, verdicts(p)); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
	decide(t, s, company.HR, p.ID, one(2, "manager", "boss:X2"), 1)
	p = decide(t, s, company.HR, p.ID, one(4, "manager", "without"), 0)
	confirm(t, s, company.HR, p.ID, store.PeopleImported{Created: 2, Unchanged: 1})
	if got := person(t, pool, "X1"); got != "Xavier|||X2" {
		t.Errorf("X1 is %q", got)
	}
	// Another of the name joins between the check and the confirmation.
	p = preview(t, s, company.HR, header+"X5;Quinto;;;;Yara Leão\n")
	decide(t, s, company.HR, p.ID, one(2, "manager", "boss:X2"), 0)
	storetest.Exec(t, pool, `UPDATE people SET code = 'X7' WHERE code = 'X2'`)
	if _, err := s.ConfirmPeople(t.Context(), company.HR, p.ID, false); fault.KindOf(err) != fault.Conflict {
		t.Errorf("the chosen manager has another code: %v", err)
	}
	if got := shown(t, s, company.HR, p.ID).Page[0].Verdict; got != store.LineDecide {
		t.Errorf("the line is %s now", got)
	}
}

func TestOpenLinesStayOutWhenAPersonSaysSo(t *testing.T) {
	s, pool, company := openApart(t, 3)
	p := preview(t, s, company.HR, header+"X1;Xavier\nX3;Outra;p3@1.example.test\nX4;Quarta;;;;X3\n")
	// X4 reports to a line that would stay out: both the person and the preview are told.
	if _, err := s.ConfirmPeople(t.Context(), company.HR, p.ID, true); fault.KindOf(err) != fault.Conflict || fault.As(err).Key != "people.others_fall" {
		t.Fatalf("another line falls: %v", err)
	}
	if n := howMany(t, pool, `SELECT count(*) FROM people WHERE code LIKE 'X%'`); n != 0 {
		t.Errorf("%d people were stored", n)
	}
	if d := cmp.Diff(map[string]int{"create": 1, "reject": 2}, shown(t, s, company.HR, p.ID).Verdicts); d != "" {
		t.Errorf("verdicts (-want +got):\n%s", d)
	}
	confirm(t, s, company.HR, p.ID, store.PeopleImported{Created: 1, Rejected: 2})

	p = preview(t, s, company.HR, header+"X6;Sexta\nX3;Outra;p3@1.example.test\n")
	if done, err := s.ConfirmPeople(t.Context(), company.HR, p.ID, true); err != nil || done != (store.PeopleImported{Created: 1, Rejected: 1}) {
		t.Errorf("ConfirmPeople() = %+v, %v", done, err)
	}
}

func TestDecisionsThatCannotBe(t *testing.T) {
	s, pool, company := openApart(t, 3)
	p := preview(t, s, company.HR, header+"X1;Xavier\nX3;Outra;p3@1.example.test\n")
	other := storetest.NewCompany(t, pool, "Outra", 3)
	for _, tt := range []struct {
		name string
		by   policy.Actor
		d    store.Decisions
		kind fault.Kind
	}{
		{"nothing said", company.HR, store.Decisions{}, fault.Invalid},
		{"all zeros, and there are none", company.HR, store.Decisions{All: store.AllZeros}, fault.Invalid},
		{"a word nobody knows", company.HR, store.Decisions{All: "nonsense"}, fault.Invalid},
		{"a line that asks nothing", company.HR, one(2, "address", "out"), fault.Invalid},
		{"a line that is not there", company.HR, one(99, "address", "out"), fault.Invalid},
		{"another question", company.HR, one(3, "zeros", "new"), fault.Invalid},
		{"somebody who was not offered", company.HR, one(3, "address", same(company, 0)), fault.Invalid},
		{"somebody of another organisation", company.HR, one(3, "address", fmt.Sprintf("same:%d", other.People[0])), fault.Invalid},
		{"another importer", company.Admin, one(3, "address", "out"), fault.NotFound},
		{"another organisation", other.HR, one(3, "address", "out"), fault.NotFound},
		{"somebody without a role", company.Actor(2), one(3, "address", "out"), fault.Forbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := s.DecidePeople(t.Context(), tt.by, p.ID, tt.d); fault.KindOf(err) != tt.kind {
				t.Errorf("DecidePeople() = %v, want kind %v", err, tt.kind)
			}
		})
	}
	// What was decided is kept over a new comparison, and can be taken back.
	decide(t, s, company.HR, p.ID, one(3, "address", "without"), 0)
	c, err := s.PeopleColumns(t.Context(), company.HR, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ComparePeople(t.Context(), company.HR, p.ID, c.Mapping, c.DateOrder); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"create": 2}, shown(t, s, company.HR, p.ID).Verdicts); d != "" {
		t.Errorf("verdicts (-want +got):\n%s", d)
	}
	decide(t, s, company.HR, p.ID, store.Decisions{All: store.AllAgain}, 1)
	decide(t, s, company.HR, p.ID, store.Decisions{All: store.AllOut}, 0)
	confirm(t, s, company.HR, p.ID, store.PeopleImported{Created: 1, Rejected: 1})
	if _, err := s.DecidePeople(t.Context(), company.HR, p.ID, store.Decisions{All: store.AllAgain}); fault.KindOf(err) != fault.Conflict {
		t.Errorf("deciding about an imported file: %v", err)
	}
}

// At the command line nobody can be asked: what is open is rejected with what
// would be right, and zeros are restored where name or address agree.
func TestTheOperatorIsNotAsked(t *testing.T) {
	s, pool, company := open(t, 4)
	body := header + "3;Carla 3;;Frota\n2;Outra Pessoa\nX4;Quarta;p4@1.example.test\nX5;Quinto;;;;X4\n"
	done, rejected, err := s.ImportPeopleFile(t.Context(), company.Tenant, "pessoas.csv", []byte(body), store.PeopleFileOptions{})
	if err != nil || done != (store.PeopleImported{Updated: 1, Rejected: 3}) || len(rejected) != 3 {
		t.Fatalf("ImportPeopleFile() = %+v, %+v, %v", done, rejected, err)
	}
	if got := person(t, pool, "000003"); got != "Carla 3|p3@1.example.test|Frota|000001" {
		t.Errorf("000003 is %q", got)
	}
}

func TestARoleOfAFileIsShownAsIgnoredLineByLine(t *testing.T) {
	s, _, company := openApart(t, 4)
	lines := header + "RH-000003;Carla 3;;;;;;;admin\nX1;Xavier;;;;;;;rh\nX2;Yara;;;;;;;colaborador\nRH-000001;Ana 1;;;;;;;admin\n"
	p := preview(t, s, company.HR, lines)
	got := map[int]bool{}
	for _, l := range p.Page {
		for _, n := range l.Notes {
			got[l.Row.Line] = got[l.Row.Line] || n == store.NoteRoleIgnored
		}
		if l.Row.Role != nil {
			t.Errorf("line %d would grant %s", l.Row.Line, *l.Row.Role)
		}
	}
	if d := cmp.Diff(map[int]bool{2: true, 3: true, 4: false, 5: false}, got, cmp.Transformer("all", func(m map[int]bool) map[int]bool {
		all := map[int]bool{2: false, 3: false, 4: false, 5: false}
		for k, v := range m {
			all[k] = v
		}
		return all
	})); d != "" || p.Notes[store.NoteRoleIgnored] != 2 {
		t.Errorf("ignored roles (-want +got):\n%s of %v", d, p.Notes)
	}
}
