package views

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"ciclo/internal/appraisal"
	"ciclo/internal/fault"
	"ciclo/internal/i18n"
)

// queryEscape makes a text safe as a value in an address.
func queryEscape(s string) string { return url.QueryEscape(s) }

// i18nMessage is a counted fact inside another sentence.
func i18nMessage(key string, n int) fault.Message { return fault.Msg(key, "n", n) }

// digits is a number for machines, without separators.
func digits(n int) string { return strconv.Itoa(n) }

// percent says a share of a whole as the reader writes it.
func percent(ctx context.Context, part, whole int) string { return i18n.From(ctx).Percent(part, whole) }

// date writes the day of an instant in the organisation's zone.
func date(ctx context.Context, t time.Time) string {
	return i18n.From(ctx).Date(ViewerFrom(ctx).In(t))
}

// dueDay is the day of a cycle's deadline, in its own zone.
func dueDay(ctx context.Context, h appraisal.CycleHead) string { return i18n.From(ctx).Date(h.Due()) }
