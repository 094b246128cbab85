package intake

import (
	"slices"
	"time"
	"unicode/utf8"

	"ciclo/internal/fault"
)

// The words a file may use for a language and for a role.
var (
	locales = map[string]string{
		"pt": "pt-BR", "ptbr": "pt-BR", "portugues": "pt-BR", "portuguesbrasil": "pt-BR", "portuguese": "pt-BR", "brazilianportuguese": "pt-BR",
		"en": "en", "enus": "en", "engb": "en", "ingles": "en", "english": "en",
	}
	roles = map[string]string{
		"admin": RoleAdmin, "administrador": RoleAdmin, "administradora": RoleAdmin, "administrator": RoleAdmin,
		"hrmanager": RoleHRManager, "rh": RoleHRManager, "hr": RoleHRManager, "gestorderh": RoleHRManager, "gestoraderh": RoleHRManager, "gerentederh": RoleHRManager, "gestordorh": RoleHRManager,
		"employee": RoleEmployee, "colaborador": RoleEmployee, "colaboradora": RoleEmployee, "funcionario": RoleEmployee, "funcionaria": RoleEmployee, "empregado": RoleEmployee, "empregada": RoleEmployee, "nenhum": RoleEmployee, "none": RoleEmployee,
	}
)

// The roles a file may give; RoleEmployee is nobody in particular.
const (
	RoleAdmin     = "admin"
	RoleHRManager = "hr_manager"
	RoleEmployee  = "employee"
)

// PersonRow is one line of a people file. A nil field was blank or absent, and
// leaves what is known unchanged.
type PersonRow struct {
	Line       int               `json:"line"`
	Code       string            `json:"code"`
	Name       string            `json:"name"`
	Email      *string           `json:"email,omitempty"`
	Department *string           `json:"department,omitempty"`
	Unit       *string           `json:"unit,omitempty"`
	CostCentre *string           `json:"cost_centre,omitempty"`
	JobTitle   *string           `json:"job_title,omitempty"`
	Manager    *Ref              `json:"manager,omitempty"`
	HiredOn    *time.Time        `json:"hired_on,omitempty"`
	LeftOn     *time.Time        `json:"left_on,omitempty"`
	Locale     *string           `json:"locale,omitempty"`
	Role       *string           `json:"role,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Problems   []Problem         `json:"problems,omitempty"`
}

// ReadPeople turns the rows of s into people, each with what is wrong with it.
// The mapping has passed PeopleColumns.Check; an order left open reads dates as
// dd/mm/yyyy.
func ReadPeople(s *Sheet, m Mapping, order Order) []PersonRow {
	p := peopleReader{
		lineReader: lineReader{sheet: s, mapping: m, columns: PeopleColumns},
		order:      order,
		codes:      map[string]int{},
		emails:     map[string]int{},
		names:      map[string]int{},
	}
	rows := make([]PersonRow, len(s.Rows))
	for i, r := range s.Rows {
		rows[i] = p.person(r, rows[:i], i)
	}
	for i := range rows {
		p.manager(&rows[i], s.Rows[i])
	}
	return rows
}

// peopleReader remembers what earlier lines said: codes and addresses by the
// index of the line that said them first, names by how many bear them.
type peopleReader struct {
	lineReader
	order         Order
	codes, emails map[string]int
	names         map[string]int
}

func (p *peopleReader) person(r Row, earlier []PersonRow, index int) PersonRow {
	out := PersonRow{Line: r.Line}
	p.start(r)
	if v, ok := p.text(EmployeeCode); ok {
		out.Code = *v
		first(p, EmployeeCode, out.Code, p.codes, earlier, index, "intake.code_twice")
	}
	if v, ok := p.text(Name); ok {
		out.Name = *v
		p.names[FoldName(out.Name)]++
	}
	if v, ok := p.text(Email); ok {
		if why, right := CheckEmail(*v); right {
			out.Email = v
			first(p, Email, *v, p.emails, earlier, index, "intake.email_twice")
		} else {
			p.refuse(Email, *v, why)
		}
	}
	out.Department, _ = p.text(Department)
	out.Unit, _ = p.text(Unit)
	out.CostCentre, _ = p.text(CostCentre)
	out.JobTitle, _ = p.text(JobTitle)
	out.HiredOn = p.date(HiredOn)
	out.LeftOn = p.date(LeftOn)
	if out.HiredOn != nil && out.LeftOn != nil && out.LeftOn.Before(*out.HiredOn) {
		v, _ := p.text(LeftOn)
		hired, _ := p.text(HiredOn)
		p.refuse(LeftOn, *v, fault.Msg("intake.left_before_hired", "hired", *hired))
	}
	out.Locale = p.word(Locale, locales, "intake.locale_unknown")
	out.Role = p.word(Role, roles, "intake.role_unknown")
	out.Attributes = p.attributes()
	out.Problems = p.problems
	return out
}

// first refuses a value that an earlier line already has, and names that line.
func first(p *peopleReader, f Field, value string, seen map[string]int, earlier []PersonRow, index int, key string) {
	k := Ref{value, ByCode}.Key()
	if at, twice := seen[k]; twice {
		p.refuse(f, value, fault.Msg(key, "line", earlier[at].Line, "name", shorten(visible(earlier[at].Name), 60)))
		return
	}
	seen[k] = index
}

// manager reads whom a person reports to, once the whole file is known.
func (p *peopleReader) manager(out *PersonRow, r Row) {
	p.start(r)
	p.problems = nil
	v, ok := p.text(Manager)
	if ok {
		ref := NewRef(*v)
		if _, isCode := p.codes[Ref{*v, ByCode}.Key()]; isCode {
			ref.Kind = ByCode
		}
		if why, right := CheckEmail(*v); ref.Kind == ByAddress && !right {
			p.refuse(Manager, *v, why)
		}
		self := ref.Kind == ByAddress && out.Email != nil && ref.Key() == Ref{*out.Email, ByAddress}.Key() ||
			ref.Kind == ByCode && ref.Key() == Ref{out.Code, ByCode}.Key() ||
			ref.Kind == ByName && ref.Key() == FoldName(out.Name) && p.names[ref.Key()] == 1
		if self {
			p.refuse(Manager, *v, fault.Msg("intake.manager_self"))
		}
		out.Manager = &ref
	}
	out.Problems = append(out.Problems, p.problems...)
}

func (p *peopleReader) date(f Field) *time.Time {
	v, ok := p.text(f)
	if !ok {
		return nil
	}
	if p.sheet.Workbook() {
		*v = workbookDay(*v)
	}
	day, why := parseDate(*v, p.order)
	if why.Key != "" {
		p.refuse(f, *v, why)
		return nil
	}
	return &day
}

// word reads one of a few known words.
func (p *peopleReader) word(f Field, known map[string]string, key string) *string {
	v, ok := p.text(f)
	if !ok {
		return nil
	}
	if word, there := known[fold(*v)]; there {
		return &word
	}
	p.refuse(f, *v, fault.Msg(key))
	return nil
}

// attributes keeps the columns that are no field, under the file's own names.
func (p *peopleReader) attributes() map[string]string {
	var out map[string]string
	for i, f := range p.mapping {
		if f != Unmapped || i >= len(p.row.Cells) {
			continue
		}
		v := tidy(p.row.Cells[i])
		if v == "" || !p.clean(Unmapped, i, v, MaxCell) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		name := p.sheet.header(i)
		if _, taken := out[name]; taken {
			name += " (2)"
		}
		out[name] = v
	}
	return out
}

// lineReader reads the cells of one line by field and collects its problems.
type lineReader struct {
	sheet    *Sheet
	mapping  Mapping
	columns  Columns
	row      Row
	problems []Problem
}

// start takes the next line; cells beyond the last header are a problem of the
// whole line, as it is then open which column each cell belongs to.
func (l *lineReader) start(r Row) {
	l.row, l.problems = r, nil
	if width := len(l.sheet.Headers); len(r.Cells) > width && !blank(r.Cells[width:]) {
		l.problems = append(l.problems, Problem{
			Column: l.sheet.header(len(r.Cells) - 1),
			Value:  shorten(visible(tidy(r.Cells[len(r.Cells)-1])), 60),
			Why:    fault.Msg("intake.too_wide", "n", len(r.Cells), "columns", width),
		})
	}
}

// text reads the cell of f; false when it is blank, absent or cannot be kept.
// A required cell that is blank is a problem.
func (l *lineReader) text(f Field) (*string, bool) {
	c, _ := l.columns.column(f)
	at, v := l.mapping.at(f), ""
	if at >= 0 && at < len(l.row.Cells) {
		v = tidy(l.row.Cells[at])
	}
	if v == "" {
		if c.Required {
			l.refuse(f, "", fault.Msg("intake.blank."+string(f)))
		}
		return nil, false
	}
	if !l.clean(f, at, v, c.Max) {
		return nil, false
	}
	return &v, true
}

// formulaErrors are what a spreadsheet shows where a formula found nothing.
var formulaErrors = []string{"#N/A", "#N/D", "#REF!", "#VALUE!", "#VALOR!", "#DIV/0!", "#NAME?", "#NOME?", "#NULL!", "#NULO!", "#NUM!", "#NÚM!"}

// clean reports whether a value can be kept: every character can be seen and
// is whole, and there are not too many.
func (l *lineReader) clean(f Field, at int, v string, max int) bool {
	if why, ok := CheckLine(v); !ok {
		l.refuseAt(f, at, v, why)
		return false
	}
	if slices.Contains(formulaErrors, v) {
		l.refuseAt(f, at, v, fault.Msg("intake.formula_error"))
		return false
	}
	if n := utf8.RuneCountInString(v); n > max {
		l.refuseAt(f, at, v, fault.Msg("intake.too_long", "n", n, "max", max))
		return false
	}
	return true
}

func (l *lineReader) refuse(f Field, value string, why fault.Message) {
	l.refuseAt(f, l.mapping.at(f), value, why)
}

func (l *lineReader) refuseAt(f Field, at int, value string, why fault.Message) {
	column := string(f)
	if at >= 0 {
		column = l.sheet.header(at)
	}
	l.problems = append(l.problems, Problem{Field: f, Column: column, Value: shorten(visible(value), 60), Why: why})
}
