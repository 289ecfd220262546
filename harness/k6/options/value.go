package options

import (
	"fmt"
	"math"
	"time"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/harness/k6/k6api"
)

// Value is the value of a field, neither undefined nor null.
type Value struct {
	rt          *sobek.Runtime
	call, field string
	js          sobek.Value
}

// JS returns the JavaScript value.
func (v Value) JS() sobek.Value { return v.js }

// Fault returns an Error about the value, with the remedy.
func (v Value) Fault(remedy string, args ...any) error {
	return &Error{Call: v.call, Field: v.field, Value: show(v.js), Remedy: fmt.Sprintf(remedy, args...)}
}

// Text reads a string that is not empty.
func (v Value) Text() (string, error) {
	text, ok := v.js.Export().(string)
	if !ok || text == "" {
		return "", v.Fault("pass a string that is not empty")
	}
	return text, nil
}

// Bool reads true or false.
func (v Value) Bool() (bool, error) {
	b, ok := v.js.Export().(bool)
	if !ok {
		return false, v.Fault("pass true or false")
	}
	return b, nil
}

// Int reads a whole number within bounds.
func (v Value) Int(least, most int64) (int64, error) {
	n, whole := int64(0), false
	switch x := v.js.Export().(type) {
	case int64:
		n, whole = x, true
	case float64:
		n, whole = int64(x), x == math.Trunc(x) && math.Abs(x) < 1<<53
	}
	if !whole || n < least || n > most {
		return 0, v.Fault("pass a whole number from %d to %d", least, most)
	}
	return n, nil
}

// Number reads a number that is above 0 and at most most.
func (v Value) Number(most float64) (float64, error) {
	n := math.NaN()
	switch x := v.js.Export().(type) {
	case int64:
		n = float64(x)
	case float64:
		n = x
	}
	if !(n > 0 && n <= most) {
		return 0, v.Fault("pass a number above 0 and up to %v", most)
	}
	return n, nil
}

// Duration reads milliseconds, or a string such as "1m30s", within bounds.
func (v Value) Duration(least, most time.Duration) (time.Duration, error) {
	d, known := time.Duration(0), false
	switch x := v.js.Export().(type) {
	case int64:
		d, known = time.Duration(x)*time.Millisecond, x >= 0 && x <= most.Milliseconds()
	case float64:
		d, known = time.Duration(x*float64(time.Millisecond)), x >= 0 && x <= float64(most.Milliseconds())
	case string:
		parsed, err := k6api.ParseDuration(x)
		d, known = parsed, err == nil
	}
	if !known || d < least || d > most {
		return 0, v.Fault("pass milliseconds or a duration such as '1m30s', from %v to %v", least, most)
	}
	return d, nil
}

// Texts reads an array of 1 to most nonempty strings.
func (v Value) Texts(most int) ([]string, error) { return list(v, most, Value.Text) }

// Ints reads an array of 1 to most whole numbers, each within from and to.
func (v Value) Ints(most int, from, to int64) ([]int64, error) {
	return list(v, most, func(item Value) (int64, error) { return item.Int(from, to) })
}

// list reads an array with 1 to most items.
func list[T any](v Value, most int, read func(Value) (T, error)) (items []T, err error) {
	object, ok := v.js.(*sobek.Object)
	if !ok || object.ClassName() != "Array" {
		return nil, v.Fault("pass an array")
	}
	n := int(object.Get("length").ToInteger())
	if n < 1 || n > most {
		return nil, v.Fault("pass an array of 1 to %d", most)
	}
	items = make([]T, n)
	for i := range items {
		item := object.Get(fmt.Sprint(i))
		if absent(item) {
			item = sobek.Undefined()
		}
		if items[i], err = read(Value{rt: v.rt, call: v.call, field: fmt.Sprintf("%s[%d]", v.field, i), js: item}); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// Field returns the value of a field of an object.
func (v Value) Field(name string) Value {
	js := sobek.Undefined()
	if object, ok := v.js.(*sobek.Object); ok && !absent(object.Get(name)) {
		js = object.Get(name)
	}
	return Value{rt: v.rt, call: v.call, field: v.field + "." + name, js: js}
}

// TextsByName reads an object with at most most fields, all of them strings.
func (v Value) TextsByName(most int) (map[string]string, error) {
	object, ok := v.js.(*sobek.Object)
	if !ok || object.ClassName() != "Object" {
		return nil, v.Fault("pass an object with strings, such as { name: 'text' }")
	}
	names := object.Keys()
	if len(names) > most {
		return nil, v.Fault("pass at most %d fields, not %d", most, len(names))
	}
	texts := make(map[string]string, len(names))
	for _, name := range names {
		field := v.Field(name)
		if texts[name], ok = field.js.Export().(string); !ok {
			return nil, field.Fault("pass a string")
		}
	}
	return texts, nil
}

// IntInto is Int and stores the number in into.
func (v Value) IntInto(into *int, least, most int64) error {
	n, err := v.Int(least, most)
	*into = int(n)
	return err
}

// TextInto is Text and stores the string in into.
func (v Value) TextInto(into *string) (err error) { *into, err = v.Text(); return err }

// BoolInto is Bool and stores the value in into.
func (v Value) BoolInto(into *bool) (err error) { *into, err = v.Bool(); return err }

// DurationInto is Duration and stores the duration in into.
func (v Value) DurationInto(into *time.Duration, least, most time.Duration) (err error) {
	*into, err = v.Duration(least, most)
	return err
}
