package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// attribute is one attribute of a block that is read into a T. The parser, the paths of sweeps, the
// defaults, the pages, `prony explain` and the reference in scenarios/README.md derive from it.
type attribute[T any] struct {
	name string
	// doc describes the values for the reference. "{}" is replaced by the bounds.
	doc string
	// shownDefault is the default, as the reference shows it. "" stands for the default of the
	// spec.
	shownDefault string
	required     bool
	// block is true for an inner block, which is only part of the reference.
	block bool
	// fixed is true if sweeps do not vary the attribute.
	fixed bool
	// unset is true if 0 means that the attribute does not apply, although it is below the minimum.
	unset bool
	// label names the row of the attribute on pages; "" if it has no such row.
	label string
	// value is the text of that row, or "" without one.
	value func(*T) string
	// rows replaces label and value if the attribute has several rows, or none for some values.
	// Their paths are "", or the name of the attribute.
	rows func(*T) []Row
	// words is the part of the sentence that `prony explain` writes, or returns "".
	words func(*T) string
	// read stores the attribute or its default. It is nil if the reader of the block does so first,
	// because other attributes depend on it.
	read func(*hclfile.Block, *T)
	// problem returns the reason why a value is out of bounds, or "". It is for values that no
	// parser has read.
	problem func(*T) string

	// number or duration is set if the attribute is one.
	number   Bounded[T, int]
	duration Bounded[T, time.Duration]
}

// Bounded is an attribute of a T with values of the type V.
type Bounded[T any, V int | time.Duration] struct {
	Field             func(*T) *V
	Min, Max, Default V
}

// Row is a setting as pages show it.
type Row struct {
	Label string
	Path  string // of a sweep of the setting; "" if its row shows no sweep
	Value string // "" without one
}

// table has the attributes of a block in the order of the pages and the reference.
type table[T any] []attribute[T]

func (t table[T]) names() []string { return t.namesOf(func(a attribute[T]) bool { return !a.block }) }

// swept returns the names of the attributes that a sweep may vary.
func (t table[T]) swept() []string {
	return t.namesOf(func(a attribute[T]) bool { return !a.block && !a.fixed })
}

// required returns the names of the attributes without a default.
func (t table[T]) required() []string {
	return t.namesOf(func(a attribute[T]) bool { return a.required })
}

func (t table[T]) namesOf(is func(attribute[T]) bool) (names []string) {
	for _, a := range t {
		if is(a) {
			names = append(names, a.name)
		}
	}
	return names
}

// read reads the attributes with these names, or all if names is empty.
func (t table[T]) read(b *hclfile.Block, into *T, names ...string) {
	for _, a := range t {
		if a.read != nil && (len(names) == 0 || slices.Contains(names, a.name)) {
			a.read(b, into)
		}
	}
}

// rows returns the rows of pages. prefix begins the paths of sweeps.
func (t table[T]) rows(of *T, prefix string) (rows []Row) {
	for _, a := range t {
		switch {
		case a.rows != nil:
			for _, r := range a.rows(of) {
				if r.Path != "" {
					r.Path = prefix + r.Path
				}
				rows = append(rows, r)
			}
		case a.label != "":
			rows = append(rows, Row{a.label, unless(a.fixed, "%s", prefix+a.name), a.value(of)})
		}
	}
	return rows
}

func (t table[T]) words(of *T) (words []string) {
	for _, a := range t {
		if a.words == nil {
			continue
		}
		if text := a.words(of); text != "" {
			words = append(words, text)
		}
	}
	return words
}

// problems checks the bounds of the attributes with these names, or of all if names is empty, in a
// T that no parser has read. It returns a sentence for each problem.
func (t table[T]) problems(of *T, names []string) (problems []string) {
	for _, a := range t {
		if a.problem == nil || len(names) > 0 && !slices.Contains(names, a.name) {
			continue
		}
		if text := a.problem(of); text != "" {
			problems = append(problems, a.name+text)
		}
	}
	return problems
}

// attribute returns the attribute with this name, which must exist.
func (t table[T]) attribute(name string) attribute[T] {
	return t[slices.IndexFunc(t, func(a attribute[T]) bool { return a.name == name })]
}

// markdown returns the rows of the reference.
func (t table[T]) markdown() string {
	var text strings.Builder
	text.WriteString("| attribute | values | default |\n|---|---|---|\n")
	for _, a := range t {
		fmt.Fprintf(&text, "| `%s` | %s | %s |\n", a.name, a.doc, a.shownDefault)
	}
	return text.String()
}

// bounded completes the texts of an attribute.
func (a attribute[T]) bounded(bounds, shownDefault string, required bool) attribute[T] {
	a.doc = strings.Replace(a.doc, "{}", bounds, 1)
	if a.required = required; required {
		shownDefault = "required"
	}
	if a.shownDefault == "" {
		a.shownDefault = shownDefault
	}
	return a
}

// integer completes an attribute that is a whole number.
func integer[T any](field func(*T) *int, spec hclfile.IntSpec, a attribute[T]) attribute[T] {
	a.number = Bounded[T, int]{field, spec.Min, spec.Max, spec.Default}
	if a.read == nil {
		a.read = func(b *hclfile.Block, into *T) { *field(into) = b.Int(a.name, spec) }
	}
	if a.value == nil {
		a.value = func(of *T) string {
			if n := *field(of); n != 0 || spec.Min == 0 {
				return strconv.Itoa(n)
			}
			return ""
		}
	}
	if a.problem == nil {
		a.problem = func(of *T) string {
			switch n := *field(of); {
			case n == 0 && (a.unset || spec.Default == 0):
			case n < 0 && spec.Min == 0:
				return fmt.Sprintf(" is %d; it must not be negative", n)
			case n < spec.Min:
				return fmt.Sprintf(" is %d; it must be at least %d", n, spec.Min)
			case n > spec.Max:
				return fmt.Sprintf(" is %d; it must be at most %d", n, spec.Max)
			}
			return ""
		}
	}
	return a.bounded(fmt.Sprintf("%d to %d", spec.Min, spec.Max), strconv.Itoa(spec.Default), spec.Required)
}

// share completes an attribute that is a share from 0 to 1. of completes the remedy, as in "the
// leases are extended".
func share[T any](field func(*T) *float64, of string, a attribute[T]) attribute[T] {
	a.read = func(b *hclfile.Block, into *T) { *field(into) = shareAttribute(b, a.name, of) }
	if a.problem == nil {
		a.problem = func(of *T) string {
			if n := *field(of); !(n >= 0 && n <= 1) {
				return fmt.Sprintf(" is %v; it must be from 0 to 1", n)
			}
			return ""
		}
	}
	return a.bounded("0 to 1", "0", false)
}

// boolean completes an attribute that is true or false.
func boolean[T any](field func(*T) *bool, a attribute[T]) attribute[T] {
	if a.read == nil {
		a.read = func(b *hclfile.Block, into *T) { *field(into) = b.Bool(a.name) }
	}
	return a.bounded("`true`", "`false`", false)
}

// durationAttr completes an attribute that is a duration.
func durationAttr[T any](field func(*T) *time.Duration, spec hclfile.DurationSpec, a attribute[T]) attribute[T] {
	a.duration = Bounded[T, time.Duration]{field, spec.Min, spec.Max, spec.Default}
	if a.value == nil {
		a.value = func(of *T) string { return hclfile.FormatDuration(*field(of)) }
	}
	if a.read == nil {
		a.read = func(b *hclfile.Block, into *T) { *field(into) = b.Duration(a.name, spec) }
	}
	return a.bounded(hclfile.FormatDuration(spec.Min)+" to "+hclfile.FormatDuration(spec.Max), fmt.Sprintf("`%q`", hclfile.FormatDuration(spec.Default)), spec.Required)
}

// choice completes an attribute that is one of several names.
func choice[T any](field func(*T) *string, spec hclfile.ChoiceSpec, a attribute[T]) attribute[T] {
	if a.read == nil {
		a.read = func(b *hclfile.Block, into *T) { *field(into) = b.Choice(a.name, spec) }
	}
	if a.value == nil {
		a.value = func(of *T) string { return *field(of) }
	}
	return a.bounded("", fmt.Sprintf("`%q`", spec.Default), spec.Required)
}

// text completes an attribute that is one line of text.
func text[T any](field func(*T) *string, spec hclfile.TextSpec, a attribute[T]) attribute[T] {
	a.read = func(b *hclfile.Block, into *T) { *field(into) = b.Text(a.name, spec) }
	return a.bounded("", "none", spec.Required)
}

// call completes an attribute that is a call of one of the functions in calls. Without the
// attribute its value stays as it is.
func call[T, V any](field func(*T) *V, calls *hcl.EvalContext, example string, a attribute[T]) attribute[T] {
	a.read = func(b *hclfile.Block, into *T) {
		if v, ok := b.Call(a.name, calls, example); ok {
			*field(into) = *v.EncapsulatedValue().(*V)
		}
	}
	return a.bounded("", "none", false)
}
