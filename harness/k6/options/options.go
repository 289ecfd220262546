// Package options reads what scripts pass to calls: objects whose fields are all known and all of
// their kind. Whatever is wrong is one error that names the call, the field, its value and the
// remedy.
package options

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Error says what is wrong with what a script passed.
type Error struct {
	Call   string // "connect", "produce"
	Field  string // "timeout", "tls.ca"; "" for the argument itself
	Value  string // as a script would write it; "" without a value
	Remedy string
}

// Error implements error.
func (e *Error) Error() string {
	what := e.Field
	switch {
	case what == "" && e.Value == "":
		return fmt.Sprintf("prony: %s: %s", e.Call, e.Remedy)
	case what == "":
		what = "the argument"
	}
	if e.Value == "" {
		return fmt.Sprintf("prony: %s: %s: %s", e.Call, what, e.Remedy)
	}
	return fmt.Sprintf("prony: %s: %s is %s: %s", e.Call, what, e.Value, e.Remedy)
}

// Table says which fields an object has, and how each is entered in a T.
type Table[T any] map[string]func(*T, Value) error

// Read enters an object's fields in into. An object that is missing, and a field that is undefined
// or null, leave it as it is.
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

// remedy names the option that was most likely meant, or all.
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

// showBytesMax bounds how much of a value an error shows.
const showBytesMax = 60

// show writes a value as a script would, shortened.
func show(v sobek.Value) string {
	if absent(v) {
		return "undefined"
	}
	text := v.String()
	if _, isText := v.Export().(string); isText {
		text = fmt.Sprintf("%q", text)
	}
	if len(text) > showBytesMax {
		text = strings.ToValidUTF8(text[:showBytesMax], "") + "..."
	}
	return text
}
