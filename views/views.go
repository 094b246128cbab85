// Package views holds everything a person sees: pages, the panels that htmx
// swaps inside them, and the pieces they are made of.
//
// A page is a templ component that takes domain values or a small struct and
// wraps itself in one of three shells: App (the signed-in product), Plain (who
// came by an e-mailed link) and Gate (sign-in). Words come from i18n in the
// language of the context; who is looking comes from ViewerFrom. The package
// knows no request, no response and no database.
package views

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"ciclo/internal/fault"
	"ciclo/internal/i18n"
	"ciclo/internal/outbox"
	"ciclo/internal/policy"
)

// Viewer is who looks at the page, and from where.
type Viewer struct {
	Actor   policy.Actor // zero when nobody is signed in
	Name    string
	Org     string
	Zone    string // the organisation's time zone, as IANA names it
	Theme   string // "", "light" or "dark"
	Path    string // the address of this page with its query, to come back to
	Counts  Counts
	Sending outbox.Sending // what keeps messages from leaving
	Flash   []Flash
}

// Counts are the figures beside the navigation; nought is not shown.
type Counts struct {
	Reviews int  // reviews the viewer still owes
	Failed  int  // messages that failed and that the viewer may mend
	Team    bool // somebody reports to the viewer
}

// Flash is one sentence about what has just happened, shown once.
type Flash struct {
	Bad  bool
	Text string
}

type viewerKey struct{}

// WithViewer returns a context in which pages are drawn for v.
func WithViewer(ctx context.Context, v Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// ViewerFrom answers who is looking; nobody when the context does not say.
func ViewerFrom(ctx context.Context) Viewer {
	v, _ := ctx.Value(viewerKey{}).(Viewer)
	return v
}

// SignedIn reports whether the viewer has an account session.
func (v Viewer) SignedIn() bool { return v.Actor.PersonID != 0 && !v.Actor.ByLink() }

// Initials are the first letters of the first and the last name.
func (v Viewer) Initials() string {
	words := strings.Fields(v.Name)
	if len(words) == 0 {
		return ""
	}
	first, _ := utf8.DecodeRuneInString(words[0])
	if len(words) == 1 {
		return strings.ToUpper(string(first))
	}
	last, _ := utf8.DecodeRuneInString(words[len(words)-1])
	return strings.ToUpper(string(first) + string(last))
}

// In returns t in the organisation's zone, for showing.
func (v Viewer) In(t time.Time) time.Time { return i18n.InZone(t, v.Zone) }

// T says key in the reader's language.
func T(ctx context.Context, key string, args ...any) string { return i18n.T(ctx, key, args...) }

// N says key about the number n in the reader's language.
func N(ctx context.Context, key string, n int, args ...any) string {
	return i18n.N(ctx, key, n, args...)
}

// Say puts a message of a fault into the reader's language.
func Say(ctx context.Context, m fault.Message) string { return i18n.From(ctx).Message(m) }

// DateTimeZone writes an instant in the organisation's zone and names the zone.
func DateTimeZone(ctx context.Context, t time.Time) string {
	return i18n.From(ctx).DateTimeZone(ViewerFrom(ctx).In(t))
}

// DateTime writes an instant in the organisation's zone, for places where the
// zone has been named already.
func DateTime(ctx context.Context, t time.Time) string {
	return i18n.From(ctx).DateTime(ViewerFrom(ctx).In(t))
}

// Int writes a whole number as the reader does.
func Int(ctx context.Context, n int) string { return i18n.From(ctx).Int(n) }

// capital starts a sentence with a word that the language writes small.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return strings.ToUpper(string(first)) + s[size:]
}
