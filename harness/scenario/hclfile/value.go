package hclfile

import (
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// want describes the required type of an attribute.
type want struct {
	of       cty.Type
	or       cty.Type // another type that the attribute may have; may be the zero value
	what     string   // the type for messages: "a whole number"
	remedy   string   // for a value of another type
	required bool
	example  string // for messages if the attribute is required and missing
}

// typed returns the value of an attribute. ok is false if the attribute is not set or a problem was
// noted.
func (b *Block) typed(name string, w want) (v cty.Value, ok bool) {
	expr, has := b.attrs[name]
	if !has {
		if w.required {
			b.missing(name, "add "+name+" = "+w.example)
		}
		return cty.NilVal, false
	}
	if v, ok = b.eval(expr, nil); !ok {
		return cty.NilVal, false
	}
	if v.IsNull() || v.Type() != w.of && v.Type() != w.or {
		if w.remedy == "" {
			w.remedy = "write " + name + " = " + w.example
		}
		b.wrongType(name, w.what, v, w.remedy)
		return cty.NilVal, false
	}
	return v, true
}

func (b *Block) wrongType(name, want string, got cty.Value, remedy string) {
	b.AttrProblem(name, name+" must be "+want+", not "+TypeName(got), remedy)
}

// TypeName returns the type of a value for messages, such as "a number".
func TypeName(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case t == cty.Bool:
		return "true or false"
	case t.IsTupleType():
		return "a list"
	case t.IsPrimitiveType():
		return "a " + t.FriendlyName()
	case t.IsCapsuleType():
		return t.FriendlyName()
	}
	return "an object"
}

// Whole returns a number as an integer. ok is false if the number has a fraction or does not fit
// into an int. A number that differs from an integer only in the last bits counts as that integer,
// because decimal fractions are inexact in binary.
func Whole(v cty.Value) (n int, ok bool) {
	f, _ := v.AsBigFloat().Float64()
	n = int(f)
	return n, float64(n) == f && -1<<53 < n && n < 1<<53
}

// formatValue formats a value for messages: a string without quotes, unless it is in a list.
func formatValue(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case t == cty.Number:
		f, _ := v.AsBigFloat().Float64()
		return strconv.FormatFloat(f, 'f', -1, 64)
	case t == cty.String:
		return v.AsString()
	case t == cty.Bool:
		return strconv.FormatBool(v.True())
	case t.IsTupleType():
		var entries []string
		for _, e := range v.AsValueSlice() {
			entries = append(entries, quotedValue(e))
		}
		return "[" + List(entries) + "]"
	}
	return TypeName(v)
}

func quotedValue(v cty.Value) string {
	if !v.IsNull() && v.Type() == cty.String {
		return strconv.Quote(v.AsString())
	}
	return formatValue(v)
}

func oneLine(src []byte) string { return strings.Join(strings.Fields(printable(string(src))), " ") }
