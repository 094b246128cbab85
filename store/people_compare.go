package store

import (
	"maps"
	"slices"
	"strings"
	"time"

	"ciclo/internal/fault"
	"ciclo/internal/intake"
)

// What a line of a people file would do.
const (
	LineCreates   = "create"
	LineUpdates   = "update"
	LineUnchanged = "unchanged"
	LineRejected  = "reject"
	LineDecide    = "decide" // nothing, until a person has said what
)

// What is pointed out about a line, whatever it would do.
const (
	NoteNoAddress    = "no_address"
	NoteLeft         = "left"
	NoteNoManager    = "no_manager"
	NoteZeros        = "zeros"         // somebody's code, once its zeros are restored
	NoteAlike        = "alike"         // a code that differs by zeros from another person's
	NoteAddressKnown = "address_known" // under another code
	NoteOwnRole      = "own_role"      // nobody changes their own
	NoteRoleIgnored  = "role_ignored"  // only an admin's import gives roles
)

// PersonChange is one fact of a person before and after. Dates are ISO; a
// manager is a name; an attribute carries the file's name of its column.
type PersonChange struct {
	Field     intake.Field `json:"field"`
	Attribute string       `json:"attribute,omitempty"`
	Old       string       `json:"old"`
	New       string       `json:"new"`
}

// PeopleLine is one line of a people file as it compares with the records.
type PeopleLine struct {
	Row       intake.PersonRow
	Verdict   string
	PersonID  int64 // whom the code names, 0 for somebody new
	Manager   string
	knownAs   string // the person's own code in the records
	nameNow   string // and their name there
	managedBy string // the manager's code in the records, once all is stored
	Changes   []PersonChange
	Problems  []intake.Problem
	Notes     []string
	Questions []Question
	Choices   map[string]string // what a person answered, by question
	settled   map[string]string // the answers that counted, those we gave ourselves too
	open      map[string]bool   // the questions that nobody has answered
}

// knownPerson is a person in the records, as far as a file can change them.
type knownPerson struct {
	ID         int64
	Code       string
	Name       string
	Email      string
	Department string
	Unit       string
	CostCentre string
	Title      string
	ManagerID  int64
	HiredOn    *time.Time
	LeftOn     *time.Time
	Locale     string
	Attributes map[string]string
	Roles      []string // over the whole organisation: those that a file gives and takes
	HasRole    bool     // any, a partner's over a part of it as well
}

// importer is who brings the file, as far as it matters to what may change.
type importer struct {
	PersonID   int64
	GrantsRole bool // an admin, or the operator
	// Absent is nobody there to ask: what is open stays out.
	Absent bool
}

// comparison finds out what each line of a file would do to the records. It is
// pure: the preview and the confirmation ask it the same question.
type comparison struct {
	by     importer
	column map[intake.Field]string // the file's own names of its columns
	known  map[int64]*knownPerson
	// the records, by what a file may call a person
	codes, lowerCodes, emails map[string]int64
	bareCodes, names          map[string][]int64

	lines []*PeopleLine
	// the file, by the same; codes and addresses name one line that has no fault
	lineOf     map[int64]int // of a person in the records
	lineCodes  map[string]int
	lineEmails map[string]int
	lineNames  map[string][]int
	mentions   map[string]int // the first line of every code, address and name, faults or not
	waiting    map[int][]int  // lines whose manager is another line
}

// comparePeople answers every line with its verdict, in the order of the file;
// choices are what was decided about lines, by their number.
func comparePeople(rows []intake.PersonRow, choices map[int]map[string]string, column map[intake.Field]string, known []knownPerson, by importer) []*PeopleLine {
	c := newComparison(column, known, by)
	for _, row := range rows {
		c.lines = append(c.lines, &PeopleLine{Row: row, Problems: row.Problems, Choices: choices[row.Line], settled: map[string]string{}, open: map[string]bool{}})
		c.lines[len(c.lines)-1].Row.Problems = nil
	}
	for i := range c.lines {
		c.match(i)
	}
	for i := range c.lines {
		c.matchBare(i)
	}
	for i := range c.lines {
		c.judge(i)
	}
	c.indexLines()
	c.findManagers()
	for _, l := range c.lines {
		c.settle(l)
	}
	return c.lines
}

func newComparison(column map[intake.Field]string, known []knownPerson, by importer) *comparison {
	c := &comparison{
		by: by, column: column, known: map[int64]*knownPerson{},
		codes: map[string]int64{}, lowerCodes: map[string]int64{}, emails: map[string]int64{},
		bareCodes: map[string][]int64{}, names: map[string][]int64{},
		lineOf: map[int64]int{}, lineCodes: map[string]int{}, lineEmails: map[string]int{}, lineNames: map[string][]int{},
		mentions: map[string]int{}, waiting: map[int][]int{},
	}
	for i := range known {
		p := &known[i]
		c.known[p.ID] = p
		c.codes[p.Code] = p.ID
		c.lowerCodes[strings.ToLower(p.Code)] = p.ID
		c.bareCodes[intake.BareCode(p.Code)] = append(c.bareCodes[intake.BareCode(p.Code)], p.ID)
		if p.Email != "" {
			c.emails[strings.ToLower(p.Email)] = p.ID
		}
		c.names[intake.FoldName(p.Name)] = append(c.names[intake.FoldName(p.Name)], p.ID)
	}
	return c
}

func (l *PeopleLine) dead() bool { return len(l.Problems) > 0 }

func (l *PeopleLine) note(what string) {
	if !slices.Contains(l.Notes, what) {
		l.Notes = append(l.Notes, what)
	}
}

func (c *comparison) refuse(l *PeopleLine, f intake.Field, value, key string, args ...any) {
	column := c.column[f]
	if column == "" {
		column = string(f)
	}
	l.Problems = append(l.Problems, intake.Problem{Field: f, Column: column, Value: value, Why: fault.Msg(key, args...)})
}

// match finds whom in the records the line's code names.
func (c *comparison) match(i int) {
	code := c.lines[i].Row.Code
	id, found := c.codes[code]
	if !found {
		id, found = c.lowerCodes[strings.ToLower(code)]
	}
	if found && code != "" {
		c.claim(i, id)
	}
}

// claim makes the line one about somebody in the records. A person has one line.
func (c *comparison) claim(i int, id int64) {
	l := c.lines[i]
	l.PersonID, l.knownAs, l.nameNow = id, c.known[id].Code, c.known[id].Name
	if first, twice := c.lineOf[id]; twice {
		if !l.dead() {
			c.refuse(l, intake.EmployeeCode, l.Row.Code, "intake.code_twice", "line", c.lines[first].Row.Line, "name", c.lines[first].Row.Name)
		}
		return
	}
	c.lineOf[id] = i
}

// judge refuses what the records do not allow, the manager left aside.
func (c *comparison) judge(i int) {
	l := c.lines[i]
	c.judgeAddress(i)
	p := c.known[l.PersonID]
	c.judgeRole(l, p)
	if p == nil {
		return
	}
	hired, left := either(l.Row.HiredOn, p.HiredOn), either(l.Row.LeftOn, p.LeftOn)
	if !l.dead() && hired != nil && left != nil && left.Before(*hired) {
		if l.Row.LeftOn != nil {
			c.refuse(l, intake.LeftOn, isoDay(left), "people.left_before_known_hired", "hired", isoDay(hired))
		} else {
			c.refuse(l, intake.HiredOn, isoDay(hired), "people.hired_after_known_left", "left", isoDay(left))
		}
	}
	c.protect(l, p)
}

// judgeRole leaves a role out where it may not count, and says so.
func (c *comparison) judgeRole(l *PeopleLine, p *knownPerson) {
	if l.Row.Role == nil {
		return
	}
	now := []string{}
	if p != nil {
		now = p.Roles
	}
	changes := !slices.Equal(rolesOf(*l.Row.Role), now)
	switch {
	case !c.by.GrantsRole:
		l.Row.Role = nil
		if changes {
			l.note(NoteRoleIgnored)
		}
	case changes && p != nil && p.ID == c.by.PersonID:
		l.Row.Role = nil
		l.note(NoteOwnRole)
	}
}

// protect keeps an import from taking an account over or locking one out.
func (c *comparison) protect(l *PeopleLine, p *knownPerson) {
	leaves := l.Row.LeftOn != nil && isoDay(l.Row.LeftOn) != isoDay(p.LeftOn)
	moves := l.Row.Email != nil && !strings.EqualFold(*l.Row.Email, p.Email)
	closed := p.HasRole && !c.by.GrantsRole
	switch {
	case leaves && p.ID == c.by.PersonID:
		c.refuse(l, intake.LeftOn, isoDay(l.Row.LeftOn), "people.leaves_oneself")
	case leaves && closed:
		c.refuse(l, intake.LeftOn, isoDay(l.Row.LeftOn), "people.has_a_role", "name", p.Name)
	}
	if moves && closed && p.ID != c.by.PersonID {
		c.refuse(l, intake.Email, *l.Row.Email, "people.has_a_role", "name", p.Name)
	}
	if closed && c.recodes(l) {
		c.refuse(l, intake.EmployeeCode, l.Row.Code, "people.has_a_role", "name", p.Name)
	}
}

// indexLines makes the lines without a fault findable by what other lines may
// call them.
func (c *comparison) indexLines() {
	for i, l := range c.lines {
		for _, mention := range []string{strings.ToLower(l.Row.Code), strings.ToLower(said(l.Row.Email)), intake.FoldName(l.Row.Name)} {
			if _, taken := c.mentions[mention]; !taken {
				c.mentions[mention] = i
			}
		}
		if l.dead() {
			continue
		}
		c.lineCodes[strings.ToLower(l.Row.Code)] = i
		if l.Row.Email != nil {
			c.lineEmails[strings.ToLower(*l.Row.Email)] = i
		}
		name := intake.FoldName(l.Row.Name)
		c.lineNames[name] = append(c.lineNames[name], i)
	}
}

// somebody is a person as a line of the file, in the records, or both.
type somebody struct {
	line int // -1 when no line without a fault is theirs
	id   int64
}

// findManagers finds whom each line reports to. A line whose manager turns out
// to be rejected is looked at again, so that faults travel down the chain and
// each link is followed once.
func (c *comparison) findManagers() {
	todo := make([]int, len(c.lines))
	for i := range todo {
		todo[i] = i
	}
	for len(todo) > 0 {
		i := todo[0]
		todo = todo[1:]
		l := c.lines[i]
		if l.dead() {
			todo = append(todo, c.waiting[i]...)
			delete(c.waiting, i)
			continue
		}
		if l.Row.Manager == nil {
			continue
		}
		boss, ok := c.resolve(l, *l.Row.Manager)
		if !ok {
			todo = append(todo, c.waiting[i]...)
			delete(c.waiting, i)
			continue
		}
		c.report(l, i, boss)
	}
}

func (c *comparison) report(l *PeopleLine, i int, boss somebody) {
	if boss.line >= 0 {
		c.waiting[boss.line] = append(c.waiting[boss.line], i)
		l.Manager, l.managedBy = c.lines[boss.line].Row.Name, c.lines[boss.line].Row.Code
	}
	if p := c.known[boss.id]; p != nil {
		l.managedBy = c.codeAfter(p)
		if boss.line < 0 {
			l.Manager = p.Name
		}
	}
}

// resolve finds the one person that a mention names, or refuses the line.
func (c *comparison) resolve(l *PeopleLine, ref intake.Ref) (somebody, bool) {
	found := c.find(ref)
	self := func(s somebody) bool {
		return s.line >= 0 && c.lines[s.line] == l || s.id != 0 && s.id == l.PersonID
	}
	l.forget(AskManager) // asked before a line it leads to was rejected
	if len(found) > 1 {  // nobody manages themself
		found = slices.DeleteFunc(found, self)
	}
	switch {
	case len(found) == 1 && self(found[0]):
		c.refuse(l, intake.Manager, ref.Text, "intake.manager_self")
	case len(found) == 1 && c.meant(l, found[0]):
		return found[0], true
	case len(found) > 0:
		return c.askManager(l, ref.Text, found)
	default:
		if at := c.findRejected(ref); at >= 0 {
			c.refuse(l, intake.Manager, ref.Text, "people.manager_rejected", "line", c.lines[at].Row.Line)
			break
		}
		c.refuse(l, intake.Manager, ref.Text, "people.manager_unknown")
	}
	return somebody{}, false
}

// find answers everybody whom a mention may name: what the file says of a
// person goes before what the records say.
func (c *comparison) find(ref intake.Ref) []somebody {
	switch ref.Kind {
	case intake.ByAddress:
		if i, there := c.lineEmails[ref.Key()]; there && !c.lines[i].dead() {
			return []somebody{{i, c.lines[i].PersonID}}
		}
		return c.inRecords(c.emails, ref.Key())
	case intake.ByCode:
		return c.findCode(ref.Text)
	}
	if found := c.findName(ref.Key()); len(found) > 0 {
		return found
	}
	return c.findCode(ref.Text) // codes may be letters
}

func (c *comparison) inRecords(by map[string]int64, key string) []somebody {
	id, there := by[key]
	if !there {
		return nil
	}
	return []somebody{c.known[id].somebody(c)}
}

// somebody is the person with their own line in the file, where it has one.
func (p *knownPerson) somebody(c *comparison) somebody {
	if i, there := c.lineOf[p.ID]; there && !c.lines[i].dead() {
		return somebody{i, p.ID}
	}
	return somebody{-1, p.ID}
}

func (c *comparison) findCode(code string) []somebody {
	if i, there := c.lineCodes[strings.ToLower(code)]; there && !c.lines[i].dead() {
		return []somebody{{i, c.lines[i].PersonID}}
	}
	if found := c.inRecords(c.codes, code); found != nil {
		return found
	}
	if found := c.inRecords(c.lowerCodes, strings.ToLower(code)); found != nil {
		return found
	}
	if alike := c.bareCodes[intake.BareCode(code)]; len(alike) == 1 {
		return []somebody{c.known[alike[0]].somebody(c)}
	}
	return nil
}

func (c *comparison) findName(name string) []somebody {
	var found []somebody
	for _, i := range c.lineNames[name] {
		if l := c.lines[i]; !l.dead() {
			found = append(found, somebody{i, l.PersonID})
		}
	}
	for _, id := range c.names[name] {
		if s := c.known[id].somebody(c); s.line < 0 { // with a line of their own, that line says the name
			found = append(found, s)
		}
	}
	return found
}

// findRejected answers the line that a mention would name, had it no fault.
func (c *comparison) findRejected(ref intake.Ref) int {
	for _, key := range []string{ref.Key(), strings.ToLower(ref.Text)} {
		if i, there := c.mentions[key]; there && c.lines[i].dead() {
			return i
		}
	}
	return -1
}

// settle says what the line does, and what is worth a look.
func (c *comparison) settle(l *PeopleLine) {
	p := c.known[l.PersonID]
	switch {
	case l.dead():
		l.Verdict = LineRejected
		l.Notes = nil
		return
	case len(l.open) > 0:
		l.Verdict = LineDecide
		return
	case p == nil:
		l.Verdict = LineCreates
		p = &knownPerson{}
	default:
		l.Changes = c.changes(l, p)
		l.Verdict = LineUnchanged
		if len(l.Changes) > 0 {
			l.Verdict = LineUpdates
		}
	}
	if l.Row.Email == nil && p.Email == "" {
		l.note(NoteNoAddress)
	}
	if l.Row.LeftOn != nil || p.LeftOn != nil {
		l.note(NoteLeft)
	}
	if l.Row.Manager == nil && p.ManagerID == 0 {
		l.note(NoteNoManager)
	}
}

// changes lists what the line says and the records do not: blank is unchanged.
func (c *comparison) changes(l *PeopleLine, p *knownPerson) []PersonChange {
	var all []PersonChange
	differs := func(f intake.Field, now, then string, equal bool) {
		if !equal {
			all = append(all, PersonChange{Field: f, Old: then, New: now})
		}
	}
	text := func(f intake.Field, now *string, then string) {
		if now != nil {
			differs(f, *now, then, *now == then)
		}
	}
	day := func(f intake.Field, now, then *time.Time) {
		if now != nil {
			differs(f, isoDay(now), isoDay(then), isoDay(now) == isoDay(then))
		}
	}
	if c.recodes(l) {
		differs(intake.EmployeeCode, l.Row.Code, p.Code, false)
	}
	text(intake.Name, &l.Row.Name, p.Name)
	if l.Row.Email != nil {
		differs(intake.Email, *l.Row.Email, p.Email, strings.EqualFold(*l.Row.Email, p.Email))
	}
	text(intake.Department, l.Row.Department, p.Department)
	text(intake.Unit, l.Row.Unit, p.Unit)
	text(intake.CostCentre, l.Row.CostCentre, p.CostCentre)
	text(intake.JobTitle, l.Row.JobTitle, p.Title)
	if l.Row.Manager != nil {
		then := knownPerson{}
		if m := c.known[p.ManagerID]; m != nil {
			then = *m
		}
		differs(intake.Manager, l.Manager, then.Name, l.managedBy == c.codeAfter(&then))
	}
	day(intake.HiredOn, l.Row.HiredOn, p.HiredOn)
	day(intake.LeftOn, l.Row.LeftOn, p.LeftOn)
	text(intake.Locale, l.Row.Locale, p.Locale)
	if l.Row.Role != nil {
		differs(intake.Role, *l.Row.Role, strings.Join(p.Roles, " "), slices.Equal(rolesOf(*l.Row.Role), p.Roles))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Row.Attributes)) {
		if now, then := l.Row.Attributes[name], p.Attributes[name]; now != then {
			all = append(all, PersonChange{Attribute: name, Old: then, New: now})
		}
	}
	return all
}

// rolesOf is what a role of a file grants; an employee needs no grant.
func rolesOf(role string) []string {
	if role == intake.RoleEmployee {
		return []string{}
	}
	return []string{role}
}

func either(now, then *time.Time) *time.Time {
	if now != nil {
		return now
	}
	return then
}

// isoDay writes a day as 2026-11-30, and nothing for none.
func isoDay(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.DateOnly)
}
