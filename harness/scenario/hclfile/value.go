package hclfile

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Fault is what a function of a file's language returns for an argument it refuses.
type Fault struct {
	Arg             int // which, from 0
	Message, Remedy string
}

func (f *Fault) Error() string { return f.Message }

// Functions are what a value may call.
type Functions struct {
	Built    map[string]function.Function
	NotBuilt []string // refused with a message that says so
	// Scales are names that may be multiplied with a number, as in 0.5 * peak. Such a value is the number, marked
	// with the Scale.
	Scales []string
}

// Scale is the mark of a number that is a multiple of something that has a name.
type Scale string

// Call returns the value of an attribute that is a call of one of the functions, with ok false when it is not
// set or a problem was noted. example is what to write.
func (b *Block) Call(name string, functions Functions, example string) (v cty.Value, ok bool) {
	a, has := b.attrs[name]
	if !has {
		return cty.NilVal, false
	}
	v, ok = b.value(a, functions)
	if ok && !v.Type().IsCapsuleType() {
		b.wrongType(name, "a function call", v, "write "+name+" = "+example)
		return cty.NilVal, false
	}
	return v, ok
}

// plain returns the value of an attribute that calls no function, with ok false when it is not set or a problem
// was noted.
func (b *Block) plain(name string) (v cty.Value, ok bool) {
	a, has := b.attrs[name]
	if !has {
		return cty.NilVal, false
	}
	return b.value(a, Functions{})
}

// value evaluates an attribute and notes what is wrong with it.
func (b *Block) value(a attribute, functions Functions) (cty.Value, bool) {
	e := evaluation{f: a.f, scope: b.scope, functions: functions, note: b.r.diagnostics.add}
	return e.value(a.expr)
}

// quietly evaluates an attribute that calls no function, and notes nothing: whoever reads it will.
func (b *Block) quietly(a attribute) (cty.Value, bool) {
	e := evaluation{f: a.f, scope: b.scope, note: func(Problem) {}}
	return e.value(a.expr)
}

// wrongType notes that an attribute's value is of another type than wanted.
func (b *Block) wrongType(name, want string, got cty.Value, remedy string) {
	b.AttrProblem(name, fmt.Sprintf("%s must be %s, not %s", name, want, TypeName(got)), remedy)
}

// TypeName says in words what a value is.
func TypeName(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case t == cty.Number:
		return "a number"
	case t == cty.String:
		return "a string"
	case t == cty.Bool:
		return "true or false"
	case t.IsTupleType():
		return "a list"
	case t.IsCapsuleType():
		return t.FriendlyName()
	}
	return "an object"
}

// isWrittenOut reports whether an expression is a literal, so that its source is the best text for its value.
func isWrittenOut(expr hclsyntax.Expression) bool {
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return true
	case *hclsyntax.TemplateExpr:
		for _, part := range e.Parts {
			if _, literal := part.(*hclsyntax.LiteralValueExpr); !literal {
				return false
			}
		}
		return true
	case *hclsyntax.UnaryOpExpr:
		return isWrittenOut(e.Val)
	}
	return false
}

// isPlain reports whether a value is a number, a string, a truth value or a list of such.
func isPlain(v cty.Value) bool {
	if v.IsNull() || v.IsMarked() {
		return false
	}
	t := v.Type()
	return t == cty.Number || t == cty.String || t == cty.Bool || t.IsTupleType()
}

// formatValue writes a plain value as it is shown: a string without quotes, unless it is in a list.
func formatValue(v cty.Value) string {
	v, _ = v.Unmark()
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case t == cty.Number:
		return formatNumber(v.AsBigFloat())
	case t == cty.String:
		return v.AsString()
	case t == cty.Bool:
		return strconv.FormatBool(v.True())
	case t.IsTupleType():
		var entries []string
		for _, e := range v.AsValueSlice() {
			if !e.IsNull() && e.Type() == cty.String {
				entries = append(entries, strconv.Quote(e.AsString()))
			} else {
				entries = append(entries, formatValue(e))
			}
		}
		return "[" + strings.Join(entries, ", ") + "]"
	}
	return TypeName(v)
}

// exponentMax bounds the numbers that are calculated with and written: to write out one of a larger exponent
// would take time and memory in proportion to it.
const exponentMax = 1000

// formatNumber writes a number in so many digits as tell it from its neighbours.
func formatNumber(n *big.Float) string {
	if !isModest(n) {
		return "a number out of all bounds"
	}
	f, _ := n.Float64()
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e15) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// isModest reports whether a number is finite, and neither too large nor too small to be calculated with.
func isModest(n *big.Float) bool {
	exponent := n.MantExp(nil)
	return !n.IsInf() && exponent <= exponentMax && exponent >= -exponentMax
}
