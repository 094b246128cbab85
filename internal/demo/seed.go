package demo

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/intake"
	"ciclo/internal/policy"
	"ciclo/store"
)

// Password opens every account of the demo that has one.
const Password = "ciclo-demo"

const (
	organisation = "Transportes Aroeira"
	zone         = "America/Sao_Paulo"
	// misspelt is a domain that the catcher refuses, as a real server would: one
	// message of the demo needs attention.
	misspelt = "demo.exemple"
)

// Seed makes the organisation that the demo shows: sixty people, a cycle under
// way with some reviews in, and a draft that is ready to activate. It goes
// through the same doors as a person would. deliver returns once the cycle's
// invitations have gone out.
func Seed(ctx context.Context, s *store.Store, deliver func() error) error {
	seeding := seeding{store: s, today: time.Now()}
	for _, step := range []func(context.Context) error{
		seeding.foundOrganisation, seeding.hirePeople, seeding.startCycle,
		func(context.Context) error { return deliver() }, seeding.writeReviews, seeding.changeCourse, seeding.draftCycle,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("seed the demo: %w", err)
		}
	}
	return nil
}

type seeding struct {
	store *store.Store
	today time.Time
	hr    policy.Actor
	form  map[string]int64 // latest version by the form's code
	cycle int64            // under way
}

// foundOrganisation makes it with its forms and the three who sign in.
func (d *seeding) foundOrganisation(ctx context.Context) error {
	tenant, err := d.store.CreateTenant(ctx, organisation, "pt-BR", zone, "rh@demo.example")
	if err != nil {
		return err
	}
	for _, p := range []struct {
		store.PersonInput
		role policy.Role
	}{
		{store.PersonInput{Code: "900002", Name: "Renata Tavares Brandão de Queirós", Email: "rh@demo.example", Department: "Recursos Humanos", Title: "Gerente de Recursos Humanos"}, policy.HRManager},
		{store.PersonInput{Code: "900003", Name: "Ubirajara Höfling D’Ávila", Email: "admin@demo.example", Department: "Tecnologia", Title: "Coordenador de Tecnologia"}, policy.Admin},
		{store.PersonInput{Code: "900004", Name: "Maria Aparecida do Nascimento Vasconcelos Figueiredo", Email: "avaliador@demo.example", Department: "Operações", Title: "Gerente de Operações"}, ""},
	} {
		id, err := d.store.CreatePerson(ctx, tenant, p.PersonInput, p.role)
		if err != nil {
			return err
		}
		token, err := d.store.CreateOneTimeLink(ctx, tenant, id, "password")
		if err != nil {
			return err
		}
		if err := d.store.SetPassword(ctx, token, Password); err != nil {
			return err
		}
		if p.role == policy.HRManager {
			d.hr = policy.Actor{TenantID: tenant, PersonID: id, Name: p.Name, Roles: []policy.Role{policy.HRManager}}
		}
	}
	forms, err := d.store.Forms(ctx, d.hr)
	if err != nil {
		return err
	}
	d.form = map[string]int64{}
	for _, f := range forms {
		d.form[f.Code] = f.Latest().ID
	}
	return nil
}

var (
	firstNames = strings.Fields("Ana Bruno Carla Diego Érica Fábio Gisele Heitor Íris João Kátia Luís Márcia Nélson Olívia Paulo Raíssa Sérgio Tânia Vânia Wagner Yasmin Zélia Inácio Mônica Antônio Glória José")
	lastNames  = strings.Fields("Almeida Brandão Conceição Esteves Ferrão Guimarães Jardim Kühn Leão Magalhães Nóbrega Oliveira Peçanha Ribeiro São-Tiago Távora Uchôa Vilhena Xavier Zanatta")
	teams      = []struct{ department, title, manager string }{
		{"Operações", "Motorista carreteiro", "avaliador@demo.example"},
		{"Tecnologia", "Analista de Sistemas", "admin@demo.example"},
		{"Recursos Humanos", "Analista de RH", "rh@demo.example"},
		{"Logística", "Analista de Logística", "900005"},
		{"Manutenção", "Mecânico de frota", "900006"},
		{"Financeiro", "Analista Financeiro", "900007"},
	}
)

// hirePeople brings the others by file, as an HR department would: two drivers
// without an address, one whose address is misspelt, three who read English.
// Their codes begin with 9, so that testdata/pessoas.csv brings only new people.
func (d *seeding) hirePeople(ctx context.Context) error {
	rows := [][]string{
		{"Matrícula", "Nome completo", "E-mail", "Departamento", "Cargo", "Gestor", "Admissão", "Idioma"},
		{"900001", "Olívia Queirós Uchôa", "olivia.uchoa@demo.example", "Diretoria", "Diretora-geral", "", "02/03/2009", ""},
		{"900002", "Renata Tavares Brandão de Queirós", "", "", "", "900001", "04/05/2015", ""},
		{"900003", "Ubirajara Höfling D’Ávila", "", "", "", "900001", "11/08/2014", ""},
		{"900004", "Maria Aparecida do Nascimento Vasconcelos Figueiredo", "", "", "", "900001", "21/01/2013", ""},
		{"900005", "João Guilherme Albuquerque de Souza Montenegro", "joao.montenegro@demo.example", "Logística", "Gerente de Logística", "900001", "09/09/2017", ""},
		{"900006", "Zélia Höfling Xavier", "zelia.xavier@demo.example", "Manutenção", "Gerente de Manutenção", "900001", "30/06/2011", ""},
		{"900007", "Thaís Emanuelle Guimarães Nóbrega", "thais.nobrega@demo.example", "Financeiro", "Gerente Financeira", "900001", "17/02/2019", ""},
	}
	for i := len(rows); i <= 60; i++ {
		team := teams[i%len(teams)]
		name := firstNames[(i*11)%len(firstNames)] + " " + lastNames[(i*3)%len(lastNames)] + " " + lastNames[(i*11+5)%len(lastNames)]
		email := fmt.Sprintf("%s.%d@demo.example", plain(strings.Fields(name)[0]), i)
		switch {
		case i == 12 || i == 24: // both in Operações
			email = ""
		case i == 16: // Manutenção
			email = strings.Replace(email, "demo.example", misspelt, 1)
		}
		locale := ""
		if i == 13 || i == 19 || i == 33 {
			locale = "en"
		}
		rows = append(rows, []string{fmt.Sprintf("9%05d", i), name, email, team.department, team.title, team.manager,
			fmt.Sprintf("%02d/%02d/%d", 1+i%28, 1+i%12, 2012+i%13), locale})
	}
	var file bytes.Buffer
	if err := intake.WriteCSV(&file, rows); err != nil {
		return err
	}
	_, rejected, err := d.store.ImportPeopleFile(ctx, d.hr.TenantID, "pessoas.csv", file.Bytes(), store.PeopleFileOptions{DateOrder: intake.OrderDMY})
	if err == nil && len(rejected) > 0 {
		err = fmt.Errorf("line of %s refused: %v", rejected[0].Row.Name, rejected[0].Problems)
	}
	return err
}

// plain is a first name as it stands in an address.
func plain(name string) string { return strings.ReplaceAll(intake.FoldName(name), " ", "") }

// startCycle activates a cycle for everybody: self-reviews, managers, and some
// peers.
func (d *seeding) startCycle(ctx context.Context) error {
	id, err := d.prepare(ctx, "Avaliação de Desempenho 2026.2", "competencias-e-metas", 18, appraisal.Rule{Self: true, Manager: true})
	if err != nil {
		return err
	}
	for i := 8; i < 40; i += 3 {
		pair := store.NewPair{Reviewee: fmt.Sprintf("9%05d", i), Reviewer: fmt.Sprintf("9%05d", i+6), Kind: appraisal.Peer}
		if _, err := d.store.AddPair(ctx, d.hr, id, pair); err != nil {
			return err
		}
	}
	d.cycle = id
	_, err = d.store.ActivateCycle(ctx, d.hr, id)
	return err
}

// draftCycle leaves a second one ready: nothing blocks it, and everybody it
// would ask has an address that works.
func (d *seeding) draftCycle(ctx context.Context) error {
	_, err := d.prepare(ctx, "Avaliação de Experiência, turma de novembro", "experiencia", 30,
		appraisal.Rule{Departments: []string{"Logística", "Tecnologia", "Financeiro", "Recursos Humanos"}, Self: true, Manager: true})
	return err
}

func (d *seeding) prepare(ctx context.Context, name, form string, days int, rule appraisal.Rule) (int64, error) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return 0, err
	}
	id, err := d.store.CreateCycle(ctx, d.hr, appraisal.Terms{
		Name: name, FormVersionID: d.form[form], DueAt: appraisal.EndOfDay(d.today.In(loc).AddDate(0, 0, days), loc), DueZone: zone, Grace: 15 * time.Minute,
	})
	if err != nil {
		return 0, err
	}
	_, err = d.store.ApplyRule(ctx, d.hr, id, rule)
	return id, err
}

// writeReviews lets some reviewers have answered already, and some have begun.
// The one who signs in has everything still before them but one draft.
func (d *seeding) writeReviews(ctx context.Context) error {
	for page := 0; ; page += 25 {
		people, err := d.store.People(ctx, d.hr, store.PeopleQuery{Sort: "code", Limit: 25, Offset: page})
		if err != nil || len(people.People) == 0 {
			return err
		}
		for i, p := range people.People {
			if p.Email == "" || (page+i)%3 == 2 && p.Email != "avaliador@demo.example" {
				continue
			}
			if err := d.writeAs(ctx, p, page+i); err != nil {
				return err
			}
		}
	}
}

func (d *seeding) writeAs(ctx context.Context, p store.ListedPerson, n int) error {
	by := policy.Actor{TenantID: d.hr.TenantID, PersonID: p.ID, Name: p.Name}
	lines, err := d.store.Reviews(ctx, by)
	if err != nil {
		return err
	}
	for i, line := range lines {
		said := func(form appraisal.FormContent) appraisal.Answers { return invented(form, n+i) }
		switch {
		case p.Email == "avaliador@demo.example" && i > 0, (n+i)%4 == 3:
			continue
		case p.Email == "avaliador@demo.example", (n+i)%4 == 2:
			_, err = d.store.SaveDraft(ctx, by, line.ID, 0, said)
		default:
			_, err = d.store.SubmitEvaluation(ctx, by, line.ID, 0, said)
		}
		if err != nil {
			return fmt.Errorf("review %d: %w", line.ID, err)
		}
	}
	return nil
}

// changeCourse lets somebody of the logistics department ask for more time, and
// gives another a week more, as happens in every cycle.
func (d *seeding) changeCourse(ctx context.Context) error {
	p, err := d.store.Progress(ctx, d.hr, d.cycle, store.MissingQuery{Page: store.Page{Sort: "name", Limit: 25}})
	if err != nil {
		return err
	}
	asked := false
	for _, m := range p.Missing {
		switch {
		case m.Email == "" || m.Department != "Logística" || m.Owed > 3:
		case !asked:
			asked = true
			by := policy.Actor{TenantID: d.hr.TenantID, PersonID: m.PersonID, Name: m.Name}
			lines, err := d.store.Reviews(ctx, by)
			if err != nil || len(lines) == 0 {
				return err
			}
			if err := d.store.AskForTime(ctx, by, lines[0].ID, "Estou na estrada até o dia 20 e só consigo escrever à noite."); err != nil {
				return err
			}
		default:
			wall := p.Head.Due().AddDate(0, 0, 7)
			_, err := d.store.ExtendDeadline(ctx, d.hr, d.cycle, store.NewDeadline{Wall: wall, People: []int64{m.PersonID}, Reason: "Férias até a véspera do prazo."})
			return err
		}
	}
	return nil
}

var remarks = []string{
	"Nenhuma avaria em 14 meses, mesmo na rota de Cuiabá. No período das chuvas avisou com antecedência sobre os trechos interditados.",
	"Assumiu a escala de dezembro sem que ninguém pedisse e treinou dois colegas novos.",
	"Entrega com qualidade, mas avisa tarde quando algo atrasa. Combinamos um aviso diário até o fim do trimestre.",
	"Resolve o que chega e ainda organiza o que virá. É a pessoa que a equipe procura.",
}

// invented fills a form the way people do: not everything, not always alike.
func invented(form appraisal.FormContent, n int) appraisal.Answers {
	answers := appraisal.Answers{}
	for i, q := range form.Questions {
		var a appraisal.Answer
		switch q.Kind {
		case appraisal.QuestionRating:
			rating := form.Scale.Min + 1 + (n+i*2)%(form.Scale.Max-form.Scale.Min)
			a.Rating = &rating
			if q.Comment && (n+i)%2 == 0 {
				a.Comment = remarks[(n+i)%len(remarks)]
			}
		case appraisal.QuestionChoice:
			a.Choice = q.Options[(n+i)%len(q.Options)].ID
		case appraisal.QuestionText:
			a.Text = remarks[(n+i)%len(remarks)]
		}
		answers[q.ID] = a
	}
	return answers
}
