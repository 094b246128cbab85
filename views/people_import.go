package views

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/internal/intake"
)

// PeopleLinesPanelID is what htmx swaps on the preview of a people file.
const PeopleLinesPanelID = "people-lines"

// sheetTypes are the files that a browser offers first.
const sheetTypes = ".xlsx,.csv,.txt,text/csv,application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

const confirmPeopleDialog = "confirm-people"

// PeopleFile is a staged file as its pages name it.
type PeopleFile struct {
	ID          int64
	FileName    string
	Encoding    string
	Separator   string
	Tab         string
	Headers     []string
	Mapping     intake.Mapping
	DateOrder   intake.Order
	Lines       int
	ConfirmedAt *time.Time
}

func (f PeopleFile) url(rest string) string {
	return "/people/import/" + strconv.FormatInt(f.ID, 10) + rest
}

func (f PeopleFile) meta(ctx context.Context) []templ.Component {
	return []templ.Component{
		Fact(f.FileName), Fact(N(ctx, "people.lines", f.Lines)),
		Fact(Say(ctx, (&intake.Sheet{Encoding: f.Encoding, Separator: f.Separator, Tab: f.Tab}).Understood())),
	}
}

// importedMeta says when the file was imported, too.
func (f PeopleFile) importedMeta(ctx context.Context) []templ.Component {
	if f.ConfirmedAt == nil {
		return f.meta(ctx)
	}
	return append(f.meta(ctx), Fact(DateTimeZone(ctx, *f.ConfirmedAt)))
}

// recognised is how many columns have a meaning.
func (f PeopleFile) recognised() (n int) {
	for _, field := range f.Mapping {
		if field != intake.Unmapped && field != intake.Ignored {
			n++
		}
	}
	return n
}

// importSteps draws the four steps, of which the given one is now; five is done.
func importSteps(ctx context.Context, f PeopleFile, now int) []Step {
	steps := []Step{
		{Text: T(ctx, "people.step.upload"), Note: T(ctx, "people.step.upload_note")},
		{Text: T(ctx, "people.step.columns"), Note: T(ctx, "people.step.columns_note")},
		{Text: T(ctx, "people.step.check"), Note: T(ctx, "people.step.check_note")},
		{Text: T(ctx, "people.step.finish"), Note: T(ctx, "people.step.finish_note")},
	}
	if now > 1 {
		steps[0].Note = N(ctx, "people.lines_read", f.Lines)
	}
	if now > 2 {
		steps[1].Note = N(ctx, "people.columns_known", f.recognised())
	}
	if now > 4 {
		steps[2].Note, steps[3].Note = N(ctx, "people.lines_checked", f.Lines), T(ctx, "people.step.stored")
	}
	for i := range steps {
		steps[i].Done, steps[i].Current = i+1 < now, i+1 == now
	}
	return steps
}

// PeopleColumns is the step in which a person says what the columns mean.
type PeopleColumns struct {
	PeopleFile
	Samples [][]string
	Example string // a date of the file
	Days    map[intake.Order]time.Time
}

// Form is the form as the file suggests it.
func (c PeopleColumns) Form() Form {
	pairs := []string{"date_order", string(c.DateOrder)}
	for i, field := range c.Mapping {
		pairs = append(pairs, columnName(i), string(field))
	}
	return Filled(pairs...)
}

func columnName(i int) string { return "column-" + strconv.Itoa(i) }

func (c PeopleColumns) header(ctx context.Context, i int) string {
	if c.Headers[i] == "" {
		return T(ctx, "people.column_number", "n", i+1)
	}
	return c.Headers[i]
}

func fieldOptions(ctx context.Context) []Option {
	options := []Option{{string(intake.Unmapped), Say(ctx, intake.Unmapped.Label())}, {string(intake.Ignored), Say(ctx, intake.Ignored.Label())}}
	for _, c := range intake.PeopleColumns {
		options = append(options, Option{string(c.Field), Say(ctx, c.Field.Label())})
	}
	return options
}

// open reports whether the file leaves it open how its dates are to be read.
func (c PeopleColumns) open() bool { return c.DateOrder == "" && c.Example != "" }

// orderOptions shows each way to read a date on a date of the file itself.
func (c PeopleColumns) orderOptions(ctx context.Context) []Option {
	var options []Option
	switch {
	case c.open():
		options = append(options, Option{"", T(ctx, "people.date_order_choose")})
	case c.DateOrder == "":
		options = append(options, Option{"", T(ctx, "people.date_order_found")})
	}
	for _, order := range intake.Orders {
		text := Say(ctx, order.Word())
		if d, there := c.Days[order]; there {
			text = T(ctx, "people.date_reads", "order", text, "example", c.Example, "day", i18n.From(ctx).Date(d))
		}
		options = append(options, Option{string(order), text})
	}
	return options
}

// PersonChange is one fact before and after.
type PersonChange struct {
	Field     intake.Field
	Attribute string
	Old       string
	New       string
}

func (c PersonChange) label(ctx context.Context) string {
	if c.Attribute != "" {
		return c.Attribute
	}
	return Say(ctx, c.Field.Label())
}

// said puts a value of the change into the reader's words.
func (c PersonChange) said(ctx context.Context, v string) string {
	switch {
	case v == "" && c.Field == intake.Role:
		return T(ctx, "people.role.employee")
	case v == "":
		return T(ctx, "people.blank")
	case c.Field == intake.Role:
		return roleWords(ctx, v)
	case c.Field == intake.Locale:
		return localeName(i18n.Locale(v))
	case c.Field == intake.HiredOn, c.Field == intake.LeftOn:
		if t, err := time.Parse(time.DateOnly, v); err == nil {
			return i18n.From(ctx).Date(t)
		}
	}
	return v
}

// PeopleLine is one line of the preview.
type PeopleLine struct {
	Row       intake.PersonRow
	Verdict   string
	PersonID  int64
	Manager   string
	Changes   []PersonChange
	Problems  []intake.Problem
	Notes     []string
	Questions []PeopleQuestion
	Choices   map[string]string
}

// summary says what is new about somebody new.
func (l PeopleLine) summary(ctx context.Context) string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(deref(l.Row.JobTitle))
	add(deref(l.Row.Department))
	if l.Manager != "" {
		add(T(ctx, "people.managed_by", "name", l.Manager))
	}
	if l.Row.HiredOn != nil {
		add(T(ctx, "people.hired_on", "day", day(ctx, l.Row.HiredOn)))
	}
	if l.Row.LeftOn != nil {
		add(T(ctx, "people.left_on", "day", day(ctx, l.Row.LeftOn)))
	}
	if l.Row.Role != nil && *l.Row.Role != intake.RoleEmployee {
		add(roleWords(ctx, *l.Row.Role))
	}
	return strings.Join(parts, " · ")
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// lead is the part of a problem's sentence that names the column and the value.
func problemLead(p intake.Problem) string {
	if p.Value == "" {
		return p.Column + ":"
	}
	return p.Column + " “" + p.Value + "”:"
}

// verdictLook is how each verdict is shown.
var verdictLook = map[string]struct {
	tone Tone
	icon string
}{
	"decide":    {Warn, "circle-question-mark"},
	"reject":    {Bad, "circle-x"},
	"create":    {OK, "circle-plus"},
	"update":    {Active, "circle-dot"},
	"unchanged": {Quiet, "circle-check"},
}

// PeopleImport is the preview of a staged file.
type PeopleImport struct {
	PeopleFile
	Verdicts     map[string]int
	Notes        map[string]int
	Untouched    int
	Decided      int
	OpenZeros    int
	RolesLeftOut bool
	Page         []PeopleLine
	// Problem is why a confirmation was refused.
	Problem *fault.Message
}

func (p PeopleImport) accepted() int { return p.Verdicts["create"] + p.Verdicts["update"] }

// tiles are the verdicts as figures; each leads to its lines where link is set.
func (p PeopleImport) tiles(ctx context.Context, now string, link bool) []Tile {
	var tiles []Tile
	for _, v := range []string{"decide", "reject", "create", "update", "unchanged"} {
		n := p.Verdicts[v]
		if v == "decide" && n == 0 {
			continue
		}
		t := Tile{Icon: verdictLook[v].icon, Label: N(ctx, "people.tile."+v, n), Figure: Int(ctx, n), Note: T(ctx, "people.tile_note."+v), Current: now == v}
		if v == "reject" && n > 0 {
			t.Tone = Bad
		}
		if v == "decide" {
			t.Tone = Warn
		}
		if link {
			t.URL = p.url("?r=" + v)
		}
		tiles = append(tiles, t)
	}
	return tiles
}

// pointedOut are the notes in the order in which they deserve a look.
var pointedOut = []string{"address_known", "alike", "zeros", "no_manager", "no_address", "left", "own_role", "role_ignored"}

func (p PeopleImport) noted() (notes []string) {
	for _, n := range pointedOut {
		if p.Notes[n] > 0 {
			notes = append(notes, n)
		}
	}
	return notes
}

func (p PeopleImport) filters(ctx context.Context) []Filter {
	verdict := Filter{Name: "r", Label: T(ctx, "people.verdict"), Options: []Option{{"", T(ctx, "people.verdict.changes")}}}
	for _, v := range []string{"decide", "reject", "create", "update", "unchanged", "all"} {
		verdict.Options = append(verdict.Options, Option{v, T(ctx, "people.verdict."+v)})
	}
	filters := []Filter{verdict}
	if noted := p.noted(); len(noted) > 0 {
		note := Filter{Name: "note", Label: T(ctx, "people.note"), Options: []Option{{"", T(ctx, "people.note.all")}}}
		for _, n := range noted {
			note.Options = append(note.Options, Option{n, T(ctx, "people.note."+n)})
		}
		filters = append(filters, note)
	}
	return filters
}
