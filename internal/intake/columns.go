package intake

import (
	"fmt"
	"strings"

	"ciclo/internal/fault"
)

// Field is what a column means.
type Field string

// The fields of a person and of a pair; Unmapped keeps a column as an
// attribute, Ignored leaves it out.
const (
	EmployeeCode Field = "employee_code"
	Name         Field = "name"
	Email        Field = "email"
	Department   Field = "department"
	Unit         Field = "unit"
	CostCentre   Field = "cost_centre"
	JobTitle     Field = "job_title"
	Manager      Field = "manager"
	HiredOn      Field = "hired_on"
	LeftOn       Field = "left_on"
	Locale       Field = "locale"
	Role         Field = "role"

	Reviewee Field = "reviewee"
	Reviewer Field = "reviewer"
	Kind     Field = "kind"

	Unmapped Field = ""
	Ignored  Field = "-"
)

// Label names the field in the reader's language.
func (f Field) Label() fault.Message {
	switch f {
	case Unmapped:
		return fault.Msg("intake.field.unmapped")
	case Ignored:
		return fault.Msg("intake.field.ignored")
	}
	return fault.Msg("intake.field." + string(f))
}

// Column is a field a file may have, and how files call it: the surest name
// first, compared without case, accents and punctuation.
type Column struct {
	Field    Field
	Required bool
	Max      int // characters
	Names    []string
}

// Columns are the fields of one kind of file.
type Columns []Column

// PeopleColumns are what a people file may say.
var PeopleColumns = Columns{
	{EmployeeCode, true, 64, []string{"employee_code", "matrícula", "matrícula do colaborador", "matrícula do funcionário", "número de matrícula", "nº matrícula", "código", "código do colaborador", "código do funcionário", "cód", "chapa", "registro", "registro do empregado", "RE", "employee code", "employee id", "employee number", "code", "id", "staff number", "payroll number"}},
	{Name, true, 200, []string{"name", "nome completo", "nome", "nome do colaborador", "nome da colaboradora", "nome do funcionário", "nome do empregado", "colaborador", "funcionário", "full name", "employee name", "employee"}},
	{Email, false, 254, []string{"email", "e-mail", "e-mail corporativo", "e-mail profissional", "e-mail da empresa", "e-mail de trabalho", "endereço de e-mail", "correio eletrônico", "email address", "work email", "e-mail do colaborador"}},
	{Department, false, 120, []string{"department", "departamento", "depto", "área", "setor", "diretoria", "gerência", "lotação", "area", "team"}},
	{Unit, false, 120, []string{"unit", "unidade", "unidade de negócio", "filial", "estabelecimento", "planta", "local", "localidade", "business unit", "branch", "location", "site"}},
	{CostCentre, false, 120, []string{"cost_centre", "centro de custo", "centro de custos", "c. custo", "CC", "CR", "cost center", "cost centre code"}},
	{JobTitle, false, 120, []string{"job_title", "cargo", "função", "título do cargo", "posição", "job title", "title", "job", "position"}},
	{Manager, false, 254, []string{"manager_email", "e-mail do gestor", "e-mail da gestora", "e-mail do gestor(a)", "e-mail do superior", "e-mail do líder", "manager email", "manager's email", "matrícula do gestor", "matrícula da gestora", "código do gestor", "manager code", "manager_code", "manager id", "manager", "gestor", "gestora", "gestor(a)", "gestor imediato", "gestor direto", "nome do gestor", "nome da gestora", "superior", "superior imediato", "líder", "liderança", "chefe", "chefia", "manager name", "supervisor", "reports to", "reporta a"}},
	{HiredOn, false, 40, []string{"hired_on", "admissão", "data de admissão", "data admissão", "dt admissão", "dt. adm.", "contratação", "data de contratação", "início", "hire date", "hired", "hired on", "start date"}},
	{LeftOn, false, 40, []string{"left_on", "desligamento", "data de desligamento", "data desligamento", "dt desligamento", "demissão", "data de demissão", "data de saída", "saída", "rescisão", "data de rescisão", "termination date", "leave date", "left", "left on", "end date"}},
	{Locale, false, 40, []string{"locale", "idioma", "língua", "language"}},
	{Role, false, 40, []string{"role", "papel", "perfil", "perfil de acesso", "papel no sistema", "access role", "access"}},
}

// PairColumns are what a roster file says.
var PairColumns = Columns{
	{Reviewee, true, 254, []string{"reviewee", "avaliado", "avaliada", "avaliado(a)", "e-mail do avaliado", "matrícula do avaliado", "pessoa avaliada", "quem é avaliado", "person under review", "reviewee email", "reviewee code"}},
	{Reviewer, true, 254, []string{"reviewer", "avaliador", "avaliadora", "avaliador(a)", "e-mail do avaliador", "matrícula do avaliador", "quem avalia", "reviewer email", "reviewer code"}},
	{Kind, true, 40, []string{"kind", "tipo", "tipo de avaliação", "tipo de avaliador", "relação", "papel do avaliador", "type", "relationship", "relation"}},
}

// reasons are the headers under which our own list of rejected lines says why.
var reasons = []string{"motivo da rejeição", "reason for rejection"}

// Mapping says what each column of a sheet means, by position.
type Mapping []Field

// Guess reads the headers: what is known under one of its names is mapped,
// once; anything else stays unmapped, for a person to decide.
func (cs Columns) Guess(headers []string) Mapping {
	m := make(Mapping, len(headers))
	folded := make([]string, len(headers))
	for i, h := range headers {
		folded[i] = fold(h)
		for _, r := range reasons {
			if folded[i] == fold(r) {
				m[i] = Ignored
			}
		}
		if h == "" {
			m[i] = Ignored
		}
	}
	for _, c := range cs {
		if at := c.find(folded, m); at >= 0 {
			m[at] = c.Field
		}
	}
	return m
}

// find answers the free column with the surest name for c, or -1.
func (c Column) find(folded []string, taken Mapping) int {
	for _, name := range c.Names {
		want := fold(name)
		for i, h := range folded {
			if h == want && taken[i] == Unmapped {
				return i
			}
		}
	}
	return -1
}

// Check refuses a mapping that lacks a required field, gives one field to two
// columns or knows fields that are not of this kind of file. The faults stand
// at "column-3", counted from 0, and a missing field at "columns".
func (cs Columns) Check(s *Sheet, m Mapping) error {
	bad := map[string]fault.Message{}
	if len(m) != len(s.Headers) {
		return fault.Invalidf("intake.mapping_width", "n", len(m), "columns", len(s.Headers))
	}
	first := map[Field]int{}
	for i, f := range m {
		if f == Unmapped || f == Ignored {
			continue
		}
		if _, known := cs.column(f); !known {
			bad[fmt.Sprintf("column-%d", i)] = fault.Msg("intake.mapping_unknown", "column", s.header(i))
			continue
		}
		if at, twice := first[f]; twice {
			bad[fmt.Sprintf("column-%d", i)] = fault.Msg("intake.mapping_twice", "field", f.Label(), "column", s.header(i), "first", s.header(at))
			continue
		}
		first[f] = i
	}
	for _, c := range cs {
		if _, there := first[c.Field]; c.Required && !there {
			if _, one := bad["columns"]; !one {
				bad["columns"] = fault.Msg("intake.mapping_required", "field", c.Field.Label(), "headers", s.headerList())
			}
		}
	}
	if len(bad) > 0 {
		return fault.Fieldsf(bad)
	}
	return nil
}

func (cs Columns) column(f Field) (Column, bool) {
	for _, c := range cs {
		if c.Field == f {
			return c, true
		}
	}
	return Column{}, false
}

// at answers the column that holds f, or -1.
func (m Mapping) at(f Field) int {
	for i, have := range m {
		if have == f {
			return i
		}
	}
	return -1
}

// header names column i for messages: as the file does, or by its number.
func (s *Sheet) header(i int) string {
	if i < len(s.Headers) && s.Headers[i] != "" {
		return s.Headers[i]
	}
	return fmt.Sprintf("#%d", i+1)
}

func (s *Sheet) headerList() string {
	list := make([]string, len(s.Headers))
	for i := range s.Headers {
		list[i] = s.header(i)
	}
	return shorten(strings.Join(list, ", "), 300)
}

// Sample answers the first values of column i, for the person who maps it.
func (s *Sheet) Sample(i, n int) []string {
	var out []string
	for _, r := range s.Rows {
		if len(out) == n {
			break
		}
		if i < len(r.Cells) {
			if v := tidy(r.Cells[i]); v != "" {
				out = append(out, shorten(visible(v), 60))
			}
		}
	}
	return out
}
