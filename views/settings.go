package views

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"ciclo/internal/calendar"
	"ciclo/internal/i18n"
)

// CalendarShown is an organisation's calendar with the year that is looked at.
type CalendarShown struct {
	calendar.Calendar
	Year int
}

// RolesPanelID and AuditPanelID are what htmx swaps in the settings.
const (
	RolesPanelID = "role-holders"
	AuditPanelID = "audit"
)

// settingsTabs are the parts of the settings.
func settingsTabs(ctx context.Context, current string) []Tab {
	var tabs []Tab
	for _, part := range []string{"", "/calendar", "/roles", "/audit"} {
		key := "settings.tab.organisation"
		if part != "" {
			key = "settings.tab." + part[1:]
		}
		tabs = append(tabs, Tab{Text: T(ctx, key), URL: "/settings" + part, Current: part == current})
	}
	return tabs
}

func settingFields(ctx context.Context, zones []string) (name, zone, locale, contact, replyTo, hold Field) {
	zoneOptions := make([]Option, len(zones))
	for i, z := range zones {
		zoneOptions[i] = Option{z, z}
	}
	address := templ.Attributes{"maxlength": "254", "autocomplete": "off"}
	return Field{Name: "name", Label: T(ctx, "settings.name"), Help: T(ctx, "settings.name_help"), Attrs: templ.Attributes{"maxlength": "200"}},
		Field{Name: "zone", Label: T(ctx, "settings.zone"), Help: T(ctx, "settings.zone_help"), Options: zoneOptions},
		Field{Name: "locale", Label: T(ctx, "settings.locale"), Help: T(ctx, "settings.locale_help"), Options: []Option{{string(i18n.PT), localeName(i18n.PT)}, {string(i18n.EN), localeName(i18n.EN)}}},
		Field{Name: "contact", Label: T(ctx, "settings.contact"), Help: T(ctx, "settings.contact_help"), Type: "email", Optional: true, Attrs: address},
		Field{Name: "reply_to", Label: T(ctx, "settings.reply_to"), Help: T(ctx, "settings.reply_to_help"), Type: "email", Optional: true, Attrs: address},
		Field{Name: "hold", Label: T(ctx, "settings.hold"), Help: T(ctx, "settings.hold_help"), Type: "number", Attrs: templ.Attributes{"min": "0", "max": "1440", "inputmode": "numeric"}}
}

// AuditEntry is one thing that was done.
type AuditEntry struct {
	ID         int64
	At         time.Time
	ActorID    int64
	Actor      string
	Act        string
	ObjectType string
	ObjectID   int64
	Object     string
	Detail     map[string]any
}

// AuditActs are the acts that the audit can hold, in the order of their filter.
var AuditActs = []string{
	"sign_in", "sign_in.failed", "sign_out", "sign_out.everywhere", "sessions.ended", "password.set", "password.reset_asked", "person.invited",
	"role.given", "role.taken", "person.created", "person.updated", "person.address_corrected", "people.imported",
	"cycle.created", "cycle.changed", "cycle.activated", "cycle.activation_undone", "cycle.closed", "cycle.cancelled",
	"roster.rule_applied", "roster.file_imported", "roster.exported", "roster.pair_added", "roster.pair_removed", "roster.reviewer_replaced",
	"roster.person_excluded", "roster.person_included", "roster.cleared", "roster.mended", "cycle.rehearsed", "rehearsal.sample_sent", "leave.noted", "leave.removed",
	"roster.late_joiner", "cycle.extended", "cycle.reminded", "cycle.scoring_changed", "extension.asked", "extension.answered",
	"evaluation.reassigned", "evaluation.called_off", "review_link.sent_again", "review_link.lost",
	"review_link.open", "review_link.sign_out", "evaluation.submit", "evaluation.submit_refused",
	"message.retried", "message.cancelled", "message.cancel_asked", "message.address_corrected", "message.handed_over", "message.first_used", "message.test_sent",
	"slips.printed", "slips.handed_over", "sending.paused", "sending.resumed",
	"form.version_saved", "settings.changed", "calendar.changed", "holiday.added", "holiday.removed", "tenant.created",
}

// word says an act; one that is newer than this list, by its code.
func (e AuditEntry) word(ctx context.Context) string {
	for _, act := range AuditActs {
		if act == e.Act {
			return T(ctx, "audit.act."+act)
		}
	}
	return e.Act
}

func (e AuditEntry) who(ctx context.Context) string {
	if e.Actor == "" {
		return T(ctx, "audit.nobody")
	}
	return e.Actor
}

// what names the object, and where to look at it.
func (e AuditEntry) what(ctx context.Context) (text, url string) {
	id := strconv.FormatInt(e.ObjectID, 10)
	switch e.ObjectType {
	case "person":
		return e.Object, personURL(e.ObjectID)
	case "cycle":
		return e.Object, ""
	case "message":
		return T(ctx, "audit.message", "n", e.ObjectID), "/deliveries/" + id
	case "tenant":
		return ViewerFrom(ctx).Org, ""
	}
	return "", ""
}

// auditFacts are the details that are shown, by the key of their word. Texts of
// people stand as they wrote them; codes are said in words.
var auditFacts = []string{"role", "scope", "value", "old", "new", "reason", "name", "file", "kind", "pairs", "reviewers", "added", "removed",
	"created", "updated", "unchanged", "rejected", "sessions", "links_revoked", "sent_again", "expired", "messages_cancelled", "address_hash",
	"number", "day", "zone", "contact", "reply_to", "hold", "locale", "queue", "minutes", "n", "slips"}

// facts are the details in words, on one line.
func (e AuditEntry) facts(ctx context.Context) string {
	var said []string
	for _, key := range auditFacts {
		v, there := e.Detail[key]
		if !there || v == nil || v == "" {
			continue
		}
		switch v := v.(type) {
		case string:
			said = append(said, T(ctx, "audit.fact."+key)+": "+auditValue(ctx, key, v))
		case float64:
			said = append(said, T(ctx, "audit.fact."+key)+": "+Int(ctx, int(v)))
		}
	}
	return strings.Join(said, " · ")
}

func auditValue(ctx context.Context, key, v string) string {
	switch {
	case key == "role" && (v == "admin" || v == "hr_manager" || v == "hr_partner"):
		return T(ctx, "people.role."+v)
	case key == "kind" && slices.Contains([]string{"self", "manager", "peer", "report"}, v):
		return T(ctx, "kind."+v)
	case key == "kind" && slices.Contains([]string{"vacation", "parental", "sick", "other"}, v):
		return T(ctx, "leave.kind."+v)
	case key == "scope":
		return T(ctx, "audit.scope."+v)
	case key == "day":
		if t, err := time.Parse(time.DateOnly, v); err == nil {
			return i18n.From(ctx).Date(t)
		}
	}
	return v
}

func auditActOptions(ctx context.Context) []Option {
	options := []Option{{"", T(ctx, "audit.all_acts")}}
	for _, act := range AuditActs {
		options = append(options, Option{act, T(ctx, "audit.act."+act)})
	}
	return options
}

// auditCount says how many match; the audit is counted no further than it is
// paged.
func auditCount(ctx context.Context, l List) string {
	if l.Total >= 10_000 {
		return T(ctx, "audit.many", "n", l.Total)
	}
	return N(ctx, "audit.count", l.Total)
}

func holidayName(ctx context.Context, h calendar.Holiday) string {
	if h.Key != "" {
		return T(ctx, h.Key)
	}
	return h.Name
}
