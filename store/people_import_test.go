package store_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/internal/intake"
	"ciclo/internal/policy"
	"ciclo/store"
	"ciclo/store/storetest"
)

// file reads a people file of testdata.
func file(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// openApart is open with codes that no file of testdata has.
func openApart(t *testing.T, n int) (*store.Store, *pgxpool.Pool, storetest.Company) {
	t.Helper()
	s, pool, company := open(t, n)
	storetest.Exec(t, pool, `
		UPDATE people
		SET code = 'RH-' || code`)
	return s, pool, company
}

// preview stages and compares a file with the columns as they are guessed.
func preview(t *testing.T, s *store.Store, by policy.Actor, body string) store.PeopleImport {
	t.Helper()
	id, err := s.StagePeople(t.Context(), by, "pessoas.csv", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.PeopleColumns(t.Context(), by, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ComparePeople(t.Context(), by, id, c.Mapping, c.DateOrder); err != nil {
		t.Fatal(err)
	}
	return shown(t, s, by, id)
}

func shown(t *testing.T, s *store.Store, by policy.Actor, id int64) store.PeopleImport {
	t.Helper()
	p, err := s.PeopleImport(t.Context(), by, id, store.PeopleLinesQuery{Sort: "line", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// reasons says why lines are rejected, by line.
func reasons(p store.PeopleImport) map[int]string {
	why := map[int]string{}
	for _, l := range p.Page {
		var all []string
		for _, problem := range l.Problems {
			all = append(all, i18n.PT.Message(problem.Message()))
		}
		if len(all) > 0 {
			why[l.Row.Line] = strings.Join(all, " | ")
		}
	}
	return why
}

func confirm(t *testing.T, s *store.Store, by policy.Actor, id int64, want store.PeopleImported) {
	t.Helper()
	done, err := s.ConfirmPeople(t.Context(), by, id, false)
	if err != nil {
		t.Fatal(err)
	}
	if done != want {
		t.Errorf("ConfirmPeople() = %+v, want %+v", done, want)
	}
}

func howMany(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) int {
	t.Helper()
	return storetest.One[int](t, pool, sql, args...)
}

func TestTheCompanyFileImportsUntouched(t *testing.T) {
	s, pool, company := openApart(t, 2)
	p := preview(t, s, company.HR, string(file(t, "pessoas.csv")))
	if d := cmp.Diff(map[string]int{"create": 320}, p.Verdicts); d != "" {
		t.Errorf("verdicts (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]int{"no_address": 6, "left": 7, "no_manager": 1}, p.Notes); d != "" {
		t.Errorf("pointed out (-want +got):\n%s", d)
	}
	if p.Encoding != "Windows-1252" || p.Separator != ";" || p.Untouched != 2 || p.Lines != 320 {
		t.Errorf("understood as %s, %q, %d lines, %d people not in it", p.Encoding, p.Separator, p.Lines, p.Untouched)
	}
	if n := howMany(t, pool, `SELECT count(*) FROM people`); n != 2 {
		t.Errorf("the preview stored something: %d people", n)
	}
	confirm(t, s, company.HR, p.ID, store.PeopleImported{Created: 320})
	if n := howMany(t, pool, `SELECT count(*) FROM people p JOIN people m ON m.id = p.manager_id WHERE p.code NOT LIKE 'RH-%'`); n != 319 {
		t.Errorf("%d people have a manager, want 319", n)
	}
	if n := howMany(t, pool, `SELECT count(*) FROM audit_entries WHERE act = 'person.created' AND actor_id = $1`, company.HR.PersonID); n != 320 {
		t.Errorf("%d people on the audit trail, want 320", n)
	}

	again := preview(t, s, company.HR, string(file(t, "pessoas.csv")))
	if d := cmp.Diff(map[string]int{"unchanged": 320}, again.Verdicts); d != "" {
		t.Errorf("verdicts the second time (-want +got):\n%s", d)
	}
	if d := cmp.Diff(p.Notes, again.Notes); d != "" {
		t.Errorf("pointed out the second time (-first +second):\n%s", d)
	}
	if _, err := s.ConfirmPeople(t.Context(), company.HR, again.ID, false); fault.KindOf(err) != fault.Conflict {
		t.Errorf("confirming nothing: %v", err)
	}
}

// Every line of pessoas-com-erros.csv but the first, the twenty-seventh and the
// last has one fault; the lines that report to a rejected one fall with it.
func TestEveryFaultOfTheSecondFileIsRejected(t *testing.T) {
	s, _, company := openApart(t, 2)
	p := preview(t, s, company.Admin, string(file(t, "pessoas-com-erros.csv")))
	why := reasons(p)
	for _, l := range p.Page {
		rejected := l.Verdict == store.LineRejected
		if good := l.Row.Line == 2 || l.Row.Line == 30; good == rejected {
			t.Errorf("line %d is %s: %s", l.Row.Line, l.Verdict, why[l.Row.Line])
		}
		if rejected && (why[l.Row.Line] == "" || strings.Contains(why[l.Row.Line], "«")) {
			t.Errorf("line %d without a reason: %q", l.Row.Line, why[l.Row.Line])
		}
	}
	if p.Verdicts["reject"] != len(p.Page)-2 {
		t.Errorf("verdicts %v of %d lines", p.Verdicts, len(p.Page))
	}
}

const header = "Matrícula;Nome;E-mail;Departamento;Cargo;Gestor;Admissão;Desligamento;Papel;Cidade\n"

func TestWhatTheRecordsSayAgainstALine(t *testing.T) {
	s, _, company := openApart(t, 6) // Ana, Bruno, Carla, Diego, Érica, Fábio
	for _, tt := range []struct {
		name    string
		by      policy.Actor
		lines   string
		verdict string
		why     string
	}{
		{"a known address under another code", company.HR, "X1;Xavier;p3@1.example.test", "decide", ""},
		{"a manager nobody knows", company.HR, "X1;Xavier;;;;ninguem@x.example", "reject",
			"Gestor “ninguem@x.example”: não está no arquivo nem no cadastro. Corrija, ou ponha essa pessoa no arquivo."},
		{"a manager by code", company.HR, "X1;Xavier;;;;RH-000003", "create", ""},
		{"a manager by full name, without accents", company.HR, "X1;Xavier;;;;erica 5", "create", ""},
		{"a manager whose name two people bear", company.HR, "X1;Xavier;;;;Yara Leão\nX2;Yara Leão\nX3;Yara Leao", "decide", ""},
		{"a manager whose own line is rejected", company.HR, "X1;Xavier;;;;X2\nX2;Yara;y@;;;", "reject",
			"Gestor “X2”: está na linha 3, que foi rejeitada. Corrija aquela linha primeiro."},
		{"oneself as manager, by name", company.HR, "RH-000003;Carla 3;;;;Carla 3", "reject",
			"Gestor “Carla 3”: é a própria pessoa. Indique a quem ela responde, ou deixe em branco."},
		{"leaving before the hire date on record", company.HR, "RH-000003;Carla 3;;;;;;01/01/2019", "reject",
			"Desligamento “2019-01-01”: é antes da admissão no cadastro, 2020-01-04. Corrija uma das duas."},
		{"a code without its zeros, same name", company.HR, "rh-000004;Diego 4;;Frota", "update", ""},
		{"the address of an admin, by HR", company.HR, "RH-000001;Ana 1;outra@x.example", "reject",
			"E-mail “outra@x.example”: Ana 1 tem um papel no sistema. Só um admin muda isto."},
		{"the leaving of an admin, by HR", company.HR, "RH-000001;Ana 1;;;;;;30/06/2026", "reject",
			"Desligamento “2026-06-30”: Ana 1 tem um papel no sistema. Só um admin muda isto."},
		{"one's own leaving", company.Admin, "RH-000001;Ana 1;;;;;;30/06/2026", "reject",
			"Desligamento “2026-06-30”: é você. Peça a outro admin."},
		{"one's own role", company.Admin, "RH-000001;Ana 1;;;;;;;colaborador", "unchanged", ""},
		{"a role, by HR", company.HR, "RH-000003;Carla 3;;;;;;;admin", "unchanged", ""},
		{"a role, by an admin", company.Admin, "RH-000003;Carla 3;;;;;;;rh", "update", ""},
		{"nothing but what is there", company.HR, "RH-000003;Carla 3;P3@1.example.test;;;Ana 1;2020-01-04", "unchanged", ""},
		{"another town", company.HR, "RH-000003;Carla 3;;;;;;;;Santos", "update", ""},
		{"the same person twice", company.HR, "RH-000003;Carla 3;;Frota\nrh-000003;Carla 3;;Frota", "update", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := preview(t, s, tt.by, header+tt.lines)
			if got := p.Page[0].Verdict; got != tt.verdict {
				t.Errorf("verdict %s, want %s", got, tt.verdict)
			}
			if got := reasons(p)[2]; got != tt.why {
				t.Errorf("reason %q\nwant   %q", got, tt.why)
			}
		})
	}
}

// A role over a part of the organisation is one: whoever reads the partner's
// mails can sign in as them.
func TestAnImportByHRTakesNoPartnerOver(t *testing.T) {
	s, _, company := openApart(t, 6)
	if _, err := s.GiveRole(t.Context(), company.Admin, company.People[2], store.GrantInput{Role: policy.HRPartner, Scope: store.ScopeOwnTeam}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"RH-000003;Carla 3;outra@x.example", "RH-000003;Carla 3;;;;;;30/06/2026"} {
		if p := preview(t, s, company.HR, header+line); p.Page[0].Verdict != "reject" || !strings.Contains(reasons(p)[2], "Só um admin muda isto") {
			t.Errorf("%s by HR: %s, %q", line, p.Page[0].Verdict, reasons(p)[2])
		}
		if p := preview(t, s, company.Admin, header+line); p.Page[0].Verdict != "update" {
			t.Errorf("%s by an admin: %s, %q", line, p.Page[0].Verdict, reasons(p)[2])
		}
	}
}

// A message under way would go to the old address with a link that has just
// ended, and nobody would send it to the new one.
func TestAnImportWaitsForMessagesThatAreBeingSent(t *testing.T) {
	s, pool, company := openApart(t, 6)
	activated(t, s, company, "Ciclo 2026.2", 6)
	reviewer := storetest.One[int64](t, pool, `SELECT min(person_id) FROM outbox_events`)
	code := storetest.One[string](t, pool, `SELECT code FROM people WHERE id = $1`, reviewer)
	name := storetest.One[string](t, pool, `SELECT name FROM people WHERE id = $1`, reviewer)
	p := preview(t, s, company.Admin, header+code+";"+name+";outra@x.example\n")
	storetest.Exec(t, pool, `UPDATE outbox_events SET status = 'processing', attempts = 1, available_at = now() + interval '1 minute' WHERE person_id = $1`, reviewer)
	if _, err := s.ConfirmPeople(t.Context(), company.Admin, p.ID, false); fault.As(err) == nil || fault.As(err).Key != "people.import_being_sent" {
		t.Errorf("while it is being sent: %v", err)
	}
	storetest.Exec(t, pool, `UPDATE outbox_events SET status = 'delivered', delivered_at = now() WHERE person_id = $1`, reviewer)
	confirm(t, s, company.Admin, p.ID, store.PeopleImported{Updated: 1})
	if got := storetest.One[string](t, pool, `SELECT status FROM outbox_events WHERE person_id = $1 AND event_type = 'evaluation.assigned'`, reviewer); got != "pending" {
		t.Errorf("the invitation is %s, want pending again", got)
	}
}

func TestOnlyWhatChangedIsWritten(t *testing.T) {
	s, pool, company := openApart(t, 4)
	p := preview(t, s, company.Admin, header+"RH-000003;Carla Höfling;carla@x.example;Frota;;RH-000002;;;rh;Santos\n")
	want := []store.PersonChange{
		{Field: intake.Name, Old: "Carla 3", New: "Carla Höfling"},
		{Field: intake.Email, Old: "p3@1.example.test", New: "carla@x.example"},
		{Field: intake.Department, Old: "Operações", New: "Frota"},
		{Field: intake.Manager, Old: "Ana 1", New: "Bruno 2"},
		{Field: intake.Role, New: "hr_manager"},
		{Attribute: "Cidade", New: "Santos"},
	}
	if d := cmp.Diff(want, p.Page[0].Changes); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	// Somebody gives Carla a title meanwhile; the file leaves it blank.
	storetest.Exec(t, pool, `UPDATE people SET title = 'Diretora' WHERE id = $1`, company.People[2])
	confirm(t, s, company.Admin, p.ID, store.PeopleImported{Updated: 1})
	got, err := s.Person(t.Context(), company.Admin, company.People[2])
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "Carla Höfling" || got.Email != "carla@x.example" || got.Title != "Diretora" || got.ManagerID != company.People[1] ||
		got.Attributes["Cidade"] != "Santos" || len(got.Roles) != 1 || got.Roles[0] != policy.HRManager {
		t.Errorf("Carla is now %+v", got)
	}
	if n := howMany(t, pool, `SELECT count(*) FROM audit_entries WHERE act = 'person.updated' AND object_id = $1 AND jsonb_array_length(detail -> 'changes') = 6`, got.ID); n != 1 {
		t.Errorf("%d entries on the audit trail with the six changes, want 1", n)
	}
	if n := howMany(t, pool, `SELECT count(*) FROM people WHERE updated_at > created_at`); n != 1 {
		t.Errorf("%d people were written, want 1", n)
	}
}

// C14: a line accepted in the preview fails at confirm.
func TestALineThatFailsAtConfirmStoresNothing(t *testing.T) {
	for _, tt := range []struct{ name, lines, meanwhile, says string }{
		{"its code was taken", "X1;Xavier;x@x.example\nX2;Yara;y@x.example",
			`INSERT INTO people (tenant_id, code, name) SELECT id, 'X2', 'Outra' FROM tenants`,
			"Nada foi importado. A linha 3 já não entra como estava na conferência. Matrícula “X2”: foi cadastrada depois da conferência, com Outra. Use outra matrícula, ou confirme de novo para atualizar essa pessoa."},
		{"its address was taken", "X1;Xavier;x@x.example\nX2;Yara;y@x.example",
			`INSERT INTO people (tenant_id, code, name, email) SELECT id, 'Z9', 'Outra', 'y@x.example' FROM tenants`,
			"Nada foi importado. A linha 3 já não entra como estava na conferência. E-mail “y@x.example”: já é de Outra, matrícula Z9. Corrija o endereço, ou a matrícula se for a mesma pessoa."},
		{"its manager's name is two people's", "X1;Xavier;x@x.example;;;Carla 3",
			`INSERT INTO people (tenant_id, code, name) SELECT id, 'Z9', 'Carla 3' FROM tenants`,
			"Nada foi importado. A linha 2 já não entra como estava na conferência. Gestor “Carla 3”: 2 pessoas têm esse nome. Use o e-mail ou a matrícula."},
		{"its manager's address is another's", "X1;Xavier;x@x.example;;;p3@1.example.test",
			`WITH old AS (UPDATE people SET email = NULL WHERE code = 'RH-000003') UPDATE people SET email = 'p3@1.example.test' WHERE code = 'RH-000004' AND false`,
			"Nada foi importado. A linha 2 já não entra como estava na conferência. Gestor “p3@1.example.test”: não está no arquivo nem no cadastro. Corrija, ou ponha essa pessoa no arquivo."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, pool, company := openApart(t, 4)
			p := preview(t, s, company.HR, header+tt.lines)
			storetest.Exec(t, pool, tt.meanwhile)
			before := howMany(t, pool, `SELECT count(*) FROM people`)
			_, err := s.ConfirmPeople(t.Context(), company.HR, p.ID, false)
			if f := fault.As(err); f == nil || f.Kind != fault.Conflict || i18n.PT.Message(f.Message) != tt.says {
				t.Fatalf("ConfirmPeople() = %v\n%s", err, i18n.PT.Message(fault.As(err).Message))
			}
			if n := howMany(t, pool, `SELECT count(*) FROM people`); n != before {
				t.Errorf("%d people were stored", n-before)
			}
			if now := shown(t, s, company.HR, p.ID); now.State != store.ImportCompared || cmp.Equal(now.Page, p.Page, cmp.AllowUnexported(store.PeopleLine{})) {
				t.Errorf("the preview was not brought up to date: %s %v", now.State, now.Verdicts)
			}
		})
	}
}

// The code is taken by a transaction that commits while we wait for it.
func TestACodeTakenUnderOurHands(t *testing.T) {
	s, pool, company := openApart(t, 3)
	p := preview(t, s, company.HR, header+"X1;Xavier;x@x.example\nX2;Yara;y@x.example")
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `INSERT INTO people (tenant_id, code, name) VALUES ($1, 'X2', 'Outra')`, company.Tenant); err != nil {
		t.Fatal(err)
	}
	answer := make(chan error)
	go func() {
		_, err := s.ConfirmPeople(context.WithoutCancel(t.Context()), company.HR, p.ID, false)
		answer <- err
	}()
	for howMany(t, pool, `SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'`) == 0 {
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = <-answer
	if f := fault.As(err); f == nil || f.Key != "people.import_stale" {
		t.Fatalf("ConfirmPeople() = %v", err)
	}
	if n := howMany(t, pool, `SELECT count(*) FROM people WHERE code LIKE 'X%'`); n != 1 {
		t.Errorf("%d people, want the other one alone", n)
	}
}

func TestEightConfirmationsAreOne(t *testing.T) {
	s, pool, company := openApart(t, 2)
	p := preview(t, s, company.HR, string(file(t, "pessoas.csv")))
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = s.ConfirmPeople(context.WithoutCancel(t.Context()), company.HR, p.ID, false) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch f := fault.As(err); {
		case err == nil:
			won++
		case f == nil || f.Key != "people.import_done":
			t.Errorf("a loser was told %v", err)
		}
	}
	if n := howMany(t, pool, `SELECT count(*) FROM people`); won != 1 || n != 322 {
		t.Errorf("%d confirmations won and there are %d people", won, n)
	}
}

func TestAStagedFileIsItsImportersForADay(t *testing.T) {
	s, pool, company := openApart(t, 3)
	p := preview(t, s, company.HR, header+"X1;Xavier")
	other := storetest.NewCompany(t, pool, "Outra", 2)
	for _, by := range []policy.Actor{company.Admin, other.HR} {
		if _, err := s.PeopleImport(t.Context(), by, p.ID, store.PeopleLinesQuery{}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s of %d sees it: %v", by.Name, by.TenantID, err)
		}
		if _, err := s.ConfirmPeople(t.Context(), by, p.ID, false); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s of %d confirms it: %v", by.Name, by.TenantID, err)
		}
	}
	if _, err := s.PeopleImport(t.Context(), company.Actor(2), p.ID, store.PeopleLinesQuery{}); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("a reviewer: %v", err)
	}
	storetest.Exec(t, pool, `UPDATE imports SET expires_at = now() - interval '1 second'`)
	if _, err := s.ConfirmPeople(t.Context(), company.HR, p.ID, false); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a day later: %v", err)
	}
	preview(t, s, company.HR, header+"X1;Xavier")
	if n := howMany(t, pool, `SELECT count(*) FROM imports`); n != 1 {
		t.Errorf("%d staged files, want the new one alone", n)
	}
}

// It is not parallel: while it holds every turn, no other test may read a file.
func TestAThirdFileAtOnceIsToldToComeBack(t *testing.T) {
	s, _, company := openAlone(t, 2)
	p := preview(t, s, company.HR, header+"X1;Xavier")
	cycle := draft(t, s, company, "2026.2")
	pairs, err := store.ReadFile(t.Context(), "pares.csv", []byte("avaliado;avaliador;tipo\n1;2;par\n"), intake.PairColumns)
	if err != nil {
		t.Fatal(err)
	}
	giveBack := store.HoldParses()
	_, stagingPairs := s.StagePairs(t.Context(), company.HR, cycle, pairs, store.MergePairs)
	_, staging := s.StagePeople(t.Context(), company.HR, "x.csv", []byte(header+"X1;Xavier"))
	comparing := s.ComparePeople(t.Context(), company.HR, p.ID, p.Mapping, p.DateOrder)
	giveBack()
	if fault.KindOf(staging) != fault.Busy || fault.KindOf(comparing) != fault.Busy || fault.KindOf(stagingPairs) != fault.Busy {
		t.Errorf("staging: %v; comparing: %v; staging pairs: %v", staging, comparing, stagingPairs)
	}
	preview(t, s, company.HR, header+"X1;Xavier")
}

func TestThreeThousandPeople(t *testing.T) {
	s, pool, company := openApart(t, 2)
	body, err := exec.Command("python3", "../testdata/make_people.py", "3000").Output()
	if err != nil {
		t.Fatal(err)
	}
	p := preview(t, s, company.HR, string(body))
	confirm(t, s, company.HR, p.ID, store.PeopleImported{Created: 3000})
	if n := howMany(t, pool, `SELECT count(*) FROM people WHERE manager_id IS NOT NULL`); n != 3000 { // all but the first, and Bruno
		t.Errorf("%d people have a manager", n)
	}
}

// sentStatements counts what is sent to the database.
type sentStatements struct{ n int }

func (c *sentStatements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n++
	return ctx
}

func (c *sentStatements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestManyPeopleTakeAsManyStatementsAsFew(t *testing.T) {
	_, pool, company := openApart(t, 2)
	counter, config := &sentStatements{}, pool.Config()
	config.ConnConfig.Tracer = counter
	traced, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer traced.Close()
	s, err := store.New(traced)
	if err != nil {
		t.Fatal(err)
	}
	took := func(from, n int) int {
		var b strings.Builder
		b.WriteString(header)
		for i := from; i < from+n; i++ {
			fmt.Fprintf(&b, "X%d;Xavier %d;x%d@x.example;Frota;Motorista;RH-000001\n", i, i, i)
		}
		p := preview(t, s, company.HR, b.String())
		counter.n = 0
		confirm(t, s, company.HR, p.ID, store.PeopleImported{Created: n})
		return counter.n
	}
	if few, many := took(0, 2), took(100, 800); few != many {
		t.Errorf("%d statements for two people, %d for eight hundred", few, many)
	}
}

func TestTheOperatorImportsAtOnce(t *testing.T) {
	s, pool, company := openApart(t, 2)
	body := header + "X1;Xavier;x@x.example;;;X2;;;admin\nX2;Yara;y@x.example\nX3;Zélia;z@\n"
	for _, dry := range []bool{true, false} {
		done, rejected, err := s.ImportPeopleFile(t.Context(), company.Tenant, "pessoas.csv", []byte(body), store.PeopleFileOptions{DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		if want := (store.PeopleImported{Created: 2, Rejected: 1}); done != want || len(rejected) != 1 || rejected[0].Row.Line != 4 {
			t.Errorf("ImportPeopleFile() = %+v, %+v", done, rejected)
		}
	}
	if n := howMany(t, pool, `SELECT count(*) FROM grants g JOIN people p ON p.id = g.person_id WHERE p.code = 'X1' AND g.role = 'admin'`); n != 1 {
		t.Error("X1 is no admin")
	}
	_, _, err := s.ImportPeopleFile(t.Context(), company.Tenant, "p.csv", []byte(header+"RH-000001;Ana 1;;;;;;;colaborador\nX1;Xavier;;;;;;;colaborador\n"), store.PeopleFileOptions{})
	if f := fault.As(err); f == nil || f.Key != "people.last_admin" {
		t.Errorf("taking every admin's role away: %v", err)
	}
	if _, _, err := s.ImportPeopleFile(t.Context(), 4711, "p.csv", []byte(body), store.PeopleFileOptions{}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("for no organisation: %v", err)
	}
}
