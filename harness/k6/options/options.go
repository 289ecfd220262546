// Package options reads the options that scripts pass to calls. It accepts only objects with known
// fields of the right type. An error names the call, the field, its value and the remedy.
package options

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Error is a call of a script that failed, most often because of an invalid argument.
type Error struct {
	Call   string // "connect", "produce"
	Field  string // "timeout", "tls.ca"; "" for the argument itself, and if no field is known
	Value  string // in JavaScript notation; "" without a value
	Remedy string // for an invalid argument
	Code   string // for the script's error handling; "" for an invalid argument
	Cause  error  // instead of a remedy
}

// Error implements error.
func (e *Error) Error() string {
	text, what := "prony: "+e.Call+": ", e.Field
	if e.Value != "" {
		what = fmt.Sprintf("%s is %s", cmp.Or(what, "the argument"), e.Value)
	}
	if what != "" {
		text += what + ": "
	}
	if e.Cause != nil {
		return text + strings.TrimPrefix(e.Cause.Error(), "prony: ")
	}
	return text + e.Remedy
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Table has the fields of an object, and for each a function that stores its value in a T.
type Table[T any] map[string]func(*T, Value) error

// Of returns a table with the named fields of t.
func (t Table[T]) Of(names ...string) Table[T] {
	some := Table[T]{}
	for _, name := range names {
		some[name] = t[name]
	}
	return some
}

// Read stores an object's fields in into. A missing object, and a field that is undefined or null,
// change nothing.
func (t Table[T]) Read(rt *sobek.Runtime, call string, from sobek.Value, into *T) error {
	return t.readAt(rt, call, "", from, into)
}

// ReadField is Read for an object that is the value of a field.
func (t Table[T]) ReadField(v Value, into *T) error {
	return t.readAt(v.rt, v.call, v.field+".", v.js, into)
}

func (t Table[T]) readAt(rt *sobek.Runtime, call, prefix string, from sobek.Value, into *T) error {
	if absent(from) {
		return nil
	}
	object, ok := from.(*sobek.Object)
	if !ok || object.ClassName() != "Object" {
		return &Error{Call: call, Field: strings.TrimSuffix(prefix, "."), Value: show(from), Remedy: "pass an object with options, such as { " + t.first() + ": ... }"}
	}
	for _, name := range object.Keys() {
		set, known := t[name]
		if !known {
			return &Error{Call: call, Field: prefix + name, Remedy: "there is no such option; " + t.remedy(name)}
		}
		value := object.Get(name)
		if absent(value) {
			continue
		}
		if err := set(into, Value{rt: rt, call: call, field: prefix + name, js: value}); err != nil {
			return err
		}
	}
	return nil
}

// remedy suggests the most similar option, or lists all.
func (t Table[T]) remedy(name string) string {
	names := slices.Sorted(maps.Keys(t))
	if nearest := hclfile.Nearest(name, names); nearest != "" {
		return "did you mean " + nearest + "?"
	}
	return "there are " + strings.Join(names, ", ")
}

func (t Table[T]) first() string { return slices.Min(slices.Collect(maps.Keys(t))) }

func absent(v sobek.Value) bool {
	return v == nil || sobek.IsUndefined(v) || sobek.IsNull(v)
}

// showBytesMax bounds the part of a value that an error shows.
const showBytesMax = 60

// show formats a value in JavaScript notation, shortened to showBytesMax.
func show(v sobek.Value) string {
	if absent(v) {
		return "undefined"
	}
	text := v.String()
	if object, is := v.(*sobek.Object); is && object.ClassName() == "Object" {
		if fields, err := object.MarshalJSON(); err == nil {
			text = string(fields)
		}
	}
	if _, isText := v.Export().(string); isText {
		text = fmt.Sprintf("%q", text)
	}
	if len(text) > showBytesMax {
		text = strings.ToValidUTF8(text[:showBytesMax], "") + "..."
	}
	return text
}
