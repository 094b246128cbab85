package views

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/a-h/templ"

	"ciclo/internal/fault"
)

// Form is what was typed and what is wrong with it. The zero Form is an empty,
// blameless one. A refused form is drawn again from it with every value kept.
type Form struct {
	Values  map[string][]string
	Faults  map[string]fault.Message // by field
	Order   []string                 // fields in the order of the page, for the summary
	Problem *fault.Message           // what is wrong with the whole, if no field is to blame
}

// Filled is a form that starts with these values: alternating names and values.
func Filled(pairs ...string) Form {
	f := Form{Values: map[string][]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		f.Values[pairs[i]] = append(f.Values[pairs[i]], pairs[i+1])
	}
	return f
}

// Value answers what stands in a field.
func (f Form) Value(name string) string {
	if v := f.Values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Has reports whether a field holds that value: ticked boxes, chosen options.
func (f Form) Has(name, value string) bool { return slices.Contains(f.Values[name], value) }

// Refused reports whether anything is wrong.
func (f Form) Refused() bool { return len(f.Faults) > 0 || f.Problem != nil }

// wrong answers what is wrong with a field, or nothing.
func (f Form) wrong(ctx context.Context, name string) string {
	if m, bad := f.Faults[name]; bad {
		return Say(ctx, m)
	}
	return ""
}

// blamed lists the refused fields in the order of the page.
func (f Form) blamed() []string {
	names := make([]string, 0, len(f.Faults))
	for name := range f.Faults {
		names = append(names, name)
	}
	place := func(name string) int {
		if i := slices.Index(f.Order, name); i >= 0 {
			return i
		}
		return len(f.Order)
	}
	sort.Slice(names, func(i, j int) bool {
		if a, b := place(names[i]), place(names[j]); a != b {
			return a < b
		}
		return names[i] < names[j]
	})
	return names
}

// blame is a field's line in the summary: its label, where we know it, and what
// is wrong, in the words that stand at the field.
func (f Form) blame(ctx context.Context, name string, fields []Field) string {
	for _, d := range fields {
		if d.Name == name {
			if strings.HasSuffix(d.Label, "?") {
				return d.Label + " " + f.wrong(ctx, name)
			}
			return d.Label + ": " + f.wrong(ctx, name)
		}
	}
	return f.wrong(ctx, name)
}

// summaryTitle says how many fields to correct, or what is wrong with the whole.
func (f Form) summaryTitle(ctx context.Context) string {
	if f.Problem != nil {
		return Say(ctx, *f.Problem)
	}
	return N(ctx, "fault.fields", len(f.Faults))
}

// Field describes one control.
type Field struct {
	Name     string
	Label    string
	Help     string
	Optional bool
	Type     string // text unless said
	Options  []Option
	Attrs    templ.Attributes // autocomplete, inputmode, maxlength, accept…
	Class    string           // further classes, such as input--code
}

// Option is one choice of a select.
type Option struct{ Value, Text string }

func fieldID(name string) string { return "f-" + name }

// describedBy ties a control to its help and its error.
func describedBy(ctx context.Context, f Form, d Field) templ.Attributes {
	var ids string
	if d.Help != "" {
		ids = fieldID(d.Name) + "-h"
	}
	attrs := templ.Attributes{}
	if f.wrong(ctx, d.Name) != "" {
		if ids != "" {
			ids += " "
		}
		ids += fieldID(d.Name) + "-e"
		attrs["aria-invalid"] = "true"
	}
	if ids != "" {
		attrs["aria-describedby"] = ids
	}
	return attrs
}

func inputType(d Field) string {
	if d.Type == "" {
		return "text"
	}
	return d.Type
}

// typed answers what an input shows; a password is never sent back.
func typed(f Form, d Field) string {
	if d.Type == "password" || d.Type == "file" {
		return ""
	}
	return f.Value(d.Name)
}
