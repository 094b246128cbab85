// Package i18n holds every word a person reads, in pt-BR and English side by
// side, and formats numbers, dates and times as each reader expects.
//
// The catalogue is one map made of one file per noun. A key that is missing is
// shown as «key» on the page and fails a test, so that no text can exist in one
// language only. The package knows no request and no database.
package i18n

import (
	"context"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones must be known on machines that ship none

	"ciclo/internal/fault"
)

// Locale is a language a person reads.
type Locale string

// The two languages of the product; PT is the default.
const (
	PT Locale = "pt-BR"
	EN Locale = "en"
)

// Locales lists the languages in the order they are offered.
var Locales = []Locale{PT, EN}

// Parse answers the locale for a tag such as "pt", "pt-BR" or "en-GB", and
// false when it is neither language.
func Parse(tag string) (Locale, bool) {
	switch t := strings.ToLower(strings.TrimSpace(tag)); {
	case t == "pt" || strings.HasPrefix(t, "pt-") || strings.HasPrefix(t, "pt_"):
		return PT, true
	case t == "en" || strings.HasPrefix(t, "en-") || strings.HasPrefix(t, "en_"):
		return EN, true
	}
	return PT, false
}

// Text is one sentence in both languages. Facts stand as {name}.
type Text struct{ PT, EN string }

// Count is a sentence about a number. Zero is said in words; One and Many may
// use {n}. Zero may be left empty where nought cannot occur: Many is used then.
type Count struct{ Zero, One, Many Text }

// words is one noun's part of the catalogue: values are Text or Count.
type words map[string]any

// catalogue joins the nouns; register refuses a key that two nouns claim.
var catalogue = words{}

// register adds one noun's words: each file calls it once, in a package variable.
func register(w words) words {
	for k, v := range w {
		if _, taken := catalogue[k]; taken {
			panic("i18n: key " + k + " is claimed twice")
		}
		catalogue[k] = v
	}
	return w
}

type contextKey struct{}

// With returns a context whose reader reads l.
func With(ctx context.Context, l Locale) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// From answers the reader's language; PT when nobody has said.
func From(ctx context.Context) Locale {
	if l, ok := ctx.Value(contextKey{}).(Locale); ok {
		return l
	}
	return PT
}

// T says key in the reader's language: i18n.T(ctx, "cycle.due", "when", w).
func T(ctx context.Context, key string, args ...any) string { return From(ctx).T(key, args...) }

// N says key about the number n in the reader's language.
func N(ctx context.Context, key string, n int, args ...any) string {
	return From(ctx).N(key, n, args...)
}

// T says key with its facts: alternating names and values.
func (l Locale) T(key string, args ...any) string {
	switch v := catalogue[key].(type) {
	case Text:
		return l.fill(v.in(l), args)
	case Count:
		for i := 0; i+1 < len(args); i += 2 {
			if args[i] == "n" {
				if n, ok := args[i+1].(int); ok {
					return l.N(key, n, args...)
				}
			}
		}
		return l.fill(v.Many.in(l), args)
	}
	return "«" + key + "»"
}

// N says key about the number n; {n} is n as the reader writes numbers.
func (l Locale) N(key string, n int, args ...any) string {
	v, ok := catalogue[key].(Count)
	if !ok {
		return l.T(key, append([]any{"n", n}, args...)...)
	}
	form := v.Many
	switch {
	case n == 0 && v.Zero != (Text{}):
		form = v.Zero
	case n == 1:
		form = v.One
	}
	return l.fill(form.in(l), append([]any{"n", n}, args...))
}

// Message says a fault's sentence.
func (l Locale) Message(m fault.Message) string { return l.T(m.Key, m.Args...) }

// Has reports whether the catalogue knows key.
func Has(key string) bool { _, ok := catalogue[key]; return ok }

func (t Text) in(l Locale) string {
	if l == EN {
		return t.EN
	}
	return t.PT
}

func (l Locale) fill(s string, args []any) string {
	if !strings.Contains(s, "{") {
		return s
	}
	pairs := make([]string, 0, len(args))
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, fmt.Sprintf("{%v}", args[i]), l.value(args[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// value writes one fact as the reader writes it. A fault.Message is itself
// translated, so a fact can be a word of the catalogue.
func (l Locale) value(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return l.Int(v)
	case int64:
		return l.Int(int(v))
	case time.Time:
		return l.DateTimeZone(v)
	case fault.Message:
		return l.Message(v)
	case Word:
		return l.T(string(v))
	case fmt.Stringer:
		return v.String()
	}
	return fmt.Sprint(v)
}

// Word is a fact that is itself a catalogue key without facts of its own.
type Word string
