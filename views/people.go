package views

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"ciclo/internal/i18n"
	"ciclo/internal/policy"
)

// PeoplePanelID is what htmx swaps on /people.
const PeoplePanelID = "people"

// PersonRow is one person of the directory.
type PersonRow struct {
	ID         int64
	Code       string
	Name       string
	Email      string
	Department string
	Title      string
	ManagerID  int64
	Manager    string
	HiredOn    *time.Time
	LeftOn     *time.Time
	Left       bool
}

// Directory is one page of the people, and what they can be filtered by.
type Directory struct {
	People      []PersonRow
	Departments []string
}

// Person is one record.
type Person struct {
	PersonRow
	Unit       string
	CostCentre string
	Locale     string
	Attributes map[string]string
	Roles      []policy.Role
	Reports    []PersonRow
	Leaves     Leaves
	Access     *Access // for who manages accounts
}

// Access is how somebody gets in.
type Access struct {
	HasPassword bool
	SignedInAt  *time.Time
	InvitedAt   *time.Time
	Sessions    int
}

func (a Access) facts(ctx context.Context) []KV {
	password := T(ctx, "account.password_none")
	if a.HasPassword {
		password = T(ctx, "account.password_set")
	}
	when := func(t *time.Time) string {
		if t == nil {
			return T(ctx, "account.never")
		}
		return DateTimeZone(ctx, *t)
	}
	return []KV{
		{T(ctx, "account.password"), Words(password)},
		{T(ctx, "account.invited_at"), Words(when(a.InvitedAt))},
		{T(ctx, "account.signed_in_at"), Words(when(a.SignedInAt))},
		{T(ctx, "account.sessions"), Words(Int(ctx, a.Sessions))},
	}
}

// mayCorrect reports whether the viewer may correct this person's address: the
// directory showed the record, so that it is in their scope.
func (p Person) mayCorrect(v Viewer) bool { return policy.May(v.Actor, policy.CorrectAddress) }

func personURL(id int64) string { return "/people/" + strconv.FormatInt(id, 10) }

// situations are the filter's choices beside everybody.
var situations = []string{"active", "left", "no_address"}

func peopleFilters(ctx context.Context, d Directory) []Filter {
	department := Filter{Name: "department", Label: T(ctx, "people.department"), Options: []Option{{"", T(ctx, "people.all_departments")}}}
	for _, name := range d.Departments {
		department.Options = append(department.Options, Option{name, name})
	}
	situation := Filter{Name: "situation", Label: T(ctx, "people.situation"), Options: []Option{{"", T(ctx, "people.all_situations")}}}
	for _, s := range situations {
		situation.Options = append(situation.Options, Option{s, T(ctx, "people.situation."+s)})
	}
	return []Filter{department, situation}
}

func peopleCount(ctx context.Context, l List) string {
	if l.Total == l.All {
		return N(ctx, "people.count", l.All)
	}
	return T(ctx, "people.count_of", "n", l.Total, "all", l.All)
}

// day writes a date without a time, and nothing for none.
func day(ctx context.Context, t *time.Time) string {
	if t == nil {
		return ""
	}
	return i18n.From(ctx).Date(*t)
}

// orDash is text, or a dash where there is none, which a reader hears as such.
func orDash(ctx context.Context, s string) string {
	if s == "" {
		return T(ctx, "people.none")
	}
	return s
}

func (p Person) facts(ctx context.Context) []KV {
	pairs := []KV{
		{T(ctx, "intake.field.employee_code"), Words(p.Code)},
		{T(ctx, "intake.field.email"), Words(orDash(ctx, p.Email))},
		{T(ctx, "intake.field.department"), Words(orDash(ctx, p.Department))},
		{T(ctx, "intake.field.job_title"), Words(orDash(ctx, p.Title))},
		{T(ctx, "intake.field.manager"), managerLink(p)},
		{T(ctx, "intake.field.hired_on"), Words(orDash(ctx, day(ctx, p.HiredOn)))},
	}
	if p.LeftOn != nil {
		pairs = append(pairs, KV{T(ctx, "intake.field.left_on"), Words(day(ctx, p.LeftOn))})
	}
	if p.Unit != "" {
		pairs = append(pairs, KV{T(ctx, "intake.field.unit"), Words(p.Unit)})
	}
	if p.CostCentre != "" {
		pairs = append(pairs, KV{T(ctx, "intake.field.cost_centre"), Words(p.CostCentre)})
	}
	if p.Locale != "" {
		pairs = append(pairs, KV{T(ctx, "intake.field.locale"), Words(localeName(i18n.Locale(p.Locale)))})
	}
	if len(p.Roles) > 0 {
		roles := make([]string, len(p.Roles))
		for i, r := range p.Roles {
			roles[i] = string(r)
		}
		pairs = append(pairs, KV{T(ctx, "intake.field.role"), Words(roleWords(ctx, strings.Join(roles, " ")))})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Attributes)) {
		pairs = append(pairs, KV{name, Words(p.Attributes[name])})
	}
	return pairs
}

// roleWords says roles that stand side by side.
func roleWords(ctx context.Context, roles string) string {
	words := strings.Fields(roles)
	for i, r := range words {
		words[i] = T(ctx, "people.role."+r)
	}
	return strings.Join(words, ", ")
}

func personMeta(ctx context.Context, p Person) []templ.Component {
	var meta []templ.Component
	switch {
	case p.Left:
		meta = append(meta, Chip(Quiet, "user-round-x", T(ctx, "people.left_since", "day", day(ctx, p.LeftOn))))
	case p.Email == "":
		meta = append(meta, Chip(Warn, "mail-x", T(ctx, "people.no_address")))
	default:
		meta = append(meta, Chip(OK, "user-check", T(ctx, "people.active")))
	}
	if p.Title != "" {
		meta = append(meta, Fact(p.Title))
	}
	if p.Department != "" {
		meta = append(meta, Fact(p.Department))
	}
	return meta
}

func reportLine(ctx context.Context, r PersonRow) string {
	line := r.Title
	if r.Left {
		line = strings.TrimPrefix(line+" · "+T(ctx, "people.left_since", "day", day(ctx, r.LeftOn)), " · ")
	}
	return line
}
