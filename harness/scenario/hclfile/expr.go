package hclfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// What bounds the evaluation of one expression. Time and memory are in proportion to what is written and to
// valueBytesMax, whatever names an expression refers to how often.
const (
	partsMax      = 4096 // operands, entries, arguments and parts of strings
	nestedMax     = 100  // how deep operators nest
	valueBytesMax = 16 << 10
)

// evaluation is that of one expression.
type evaluation struct {
	f         *file
	scope     *scope // nil: no names
	functions Functions
	note      func(Problem)
	literal   bool // no name may stand here, whatever names there are
	parts     int
	depth     int
}

func (e *evaluation) problem(expr hclsyntax.Expression, message, remedy string) (cty.Value, bool) {
	e.note(e.f.problem(e.f.span(expr.Range()), message, remedy))
	return cty.NilVal, false
}

func (e *evaluation) text(expr hclsyntax.Expression) string { return e.f.text(e.f.span(expr.Range())) }

// value evaluates what files may hold: literals, lists, calls of known functions, names, the four operations, and
// names in strings. HCL has more; what else it has is refused.
func (e *evaluation) value(expr hclsyntax.Expression) (cty.Value, bool) {
	e.parts++
	e.depth++
	defer func() { e.depth-- }()
	switch {
	case e.parts > partsMax:
		return e.problem(expr, fmt.Sprintf("a value has more than %d parts", partsMax), "write less")
	case e.depth > nestedMax:
		return e.problem(expr, fmt.Sprintf("a value is nested more than %d deep", nestedMax), "give a part of it a name in locals")
	}
	switch x := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return x.Val, true
	case *hclsyntax.TemplateExpr:
		return e.template(x, x.Parts)
	case *hclsyntax.TemplateWrapExpr:
		return e.template(x, []hclsyntax.Expression{x.Wrapped})
	case *hclsyntax.ParenthesesExpr:
		return e.value(x.Expression)
	case *hclsyntax.UnaryOpExpr:
		if x.Op == hclsyntax.OpNegate {
			return e.negated(x)
		}
	case *hclsyntax.TupleConsExpr:
		return e.list(x)
	case *hclsyntax.FunctionCallExpr:
		return e.call(x)
	case *hclsyntax.BinaryOpExpr:
		if _, known := operations[x.Op]; known {
			return e.calculated(x)
		}
	case *hclsyntax.ScopeTraversalExpr:
		return e.named(x)
	}
	return e.problem(expr, e.text(expr)+" is not a value that can stand here",
		"a value is a number, a string in quotes, a list or a function call, and names of these with + - * / and parentheses")
}

// template evaluates a string with ${...} in it. Its value is a string also when nothing else is in it.
func (e *evaluation) template(whole hclsyntax.Expression, parts []hclsyntax.Expression) (cty.Value, bool) {
	var s strings.Builder
	for _, part := range parts {
		switch part.(type) {
		case *hclsyntax.ConditionalExpr, *hclsyntax.TemplateJoinExpr:
			return e.problem(whole, "a string cannot hold %{...}", "write the text out, or a name as in ${var.x}")
		}
		v, ok := e.value(part)
		if !ok {
			return cty.NilVal, false
		}
		switch {
		case !isPlain(v) || v.Type().IsTupleType():
			return e.problem(part, "a string cannot hold "+describe(v), "a string may hold names of numbers, strings and truth values, as in ${var.x}")
		case v.Type() == cty.Number && !isModest(v.AsBigFloat()):
			return e.problem(part, e.text(part)+" is too large or too small to be written in a string", "")
		}
		s.WriteString(formatValue(v))
		if s.Len() > valueBytesMax {
			return e.tooLarge(whole)
		}
	}
	return cty.StringVal(s.String()), true
}

// describe is TypeName, for values that may be marked.
func describe(v cty.Value) string {
	if v.IsMarked() {
		return "a multiple of " + scaleOf(v)
	}
	return TypeName(v)
}

func (e *evaluation) tooLarge(expr hclsyntax.Expression) (cty.Value, bool) {
	return e.problem(expr, fmt.Sprintf("a value takes more than %d KiB", valueBytesMax>>10), "write less")
}

func (e *evaluation) list(x *hclsyntax.TupleConsExpr) (cty.Value, bool) {
	entries, all, size := make([]cty.Value, 0, len(x.Exprs)), true, 0
	for _, entry := range x.Exprs {
		v, ok := e.value(entry)
		all = all && ok
		if !ok {
			if e.parts > partsMax {
				break
			}
			continue
		}
		if size += valueSize(v); size > valueBytesMax {
			return e.tooLarge(x)
		}
		entries = append(entries, v)
	}
	if !all {
		return cty.NilVal, false
	}
	return cty.TupleVal(entries), true
}

// valueSize is about how many bytes a value takes.
func valueSize(v cty.Value) int {
	v, _ = v.Unmark()
	const each = 8
	switch {
	case v.IsNull():
	case v.Type() == cty.String:
		return each + len(v.AsString())
	case v.Type().IsTupleType():
		size := each
		for _, entry := range v.AsValueSlice() {
			size += valueSize(entry)
		}
		return size
	}
	return each
}

// named evaluates var.NAME, local.NAME, an entry of these, or a scale.
func (e *evaluation) named(x *hclsyntax.ScopeTraversalExpr) (cty.Value, bool) {
	root := x.Traversal.RootName()
	if len(x.Traversal) == 1 && slices.Contains(e.functions.Scales, root) {
		return cty.NumberIntVal(1).Mark(Scale(root)), true
	}
	if e.literal {
		return e.problem(x, e.text(x)+" is a name, and a default is written out", "give what is made of other values a name in locals")
	}
	if e.scope == nil || len(e.scope.declared) == 0 || root != "var" && root != "local" {
		return e.problem(x, fmt.Sprintf("the name %s has no meaning here", e.text(x)), fmt.Sprintf("for a string, write it in quotes: %q", e.text(x)))
	}
	name, index, ok := splitTraversal(x.Traversal)
	if !ok {
		return e.problem(x, e.text(x)+" is not a value that can stand here", "a name is var.NAME or local.NAME, or an entry of a list as in local.NAME[0]")
	}
	v, message, remedy := e.scope.resolve(root, name, e.note)
	switch {
	case message != "":
		return e.problem(x, message, remedy)
	case v == cty.NilVal:
		return cty.NilVal, false // what is wrong with it was noted where it is defined
	case index < 0:
		return v, true
	case v.IsNull() || !v.Type().IsTupleType():
		return e.problem(x, fmt.Sprintf("%s.%s is %s, which has no entries", root, name, TypeName(v)), "")
	case index >= v.LengthInt():
		return e.problem(x, fmt.Sprintf("%s.%s has %d entries; the first is [0]", root, name, v.LengthInt()), "")
	}
	return v.AsValueSlice()[index], true
}

// call evaluates a call of one of the functions that are known here.
func (e *evaluation) call(x *hclsyntax.FunctionCallExpr) (cty.Value, bool) {
	f, known := e.functions.Built[x.Name]
	if !known {
		message, remedy := e.unknownFunction(x.Name)
		e.note(e.f.problem(e.f.span(x.NameRange), message, remedy))
		return cty.NilVal, false
	}
	args, all := make([]cty.Value, len(x.Args)), true
	for i, arg := range x.Args {
		v, ok := e.value(arg)
		args[i], all = v, all && ok
	}
	if !all {
		return cty.NilVal, false
	}
	if params := f.Params(); x.ExpandFinal || len(args) != len(params) {
		return e.problem(x, fmt.Sprintf("%s takes %s, not %d", usage(x.Name, params), count(len(params), "argument"), len(args)), "")
	}
	v, err := f.Call(args)
	var fault *Fault
	var refused function.ArgError
	switch {
	case errors.As(err, &fault):
		return e.problem(x.Args[fault.Arg], fault.Message, fault.Remedy)
	case errors.As(err, &refused):
		return e.problem(x.Args[refused.Index], fmt.Sprintf("%s: %v", usage(x.Name, f.Params()), refused), "")
	case err != nil:
		return e.problem(x, fmt.Sprintf("%s: %v", usage(x.Name, f.Params()), err), "")
	}
	return v, true
}

// usage is how a function is called: uniform(min, max).
func usage(name string, params []function.Parameter) string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return name + "(" + List(names) + ")"
}

func (e *evaluation) unknownFunction(name string) (message, remedy string) {
	built := slices.Sorted(maps.Keys(e.functions.Built))
	switch {
	case slices.Contains(e.functions.NotBuilt, name):
		return name + "() is not built yet", "built are: " + calls(built)
	case len(built) == 0:
		return "no function can stand here", "write a number, a string in quotes or a list"
	}
	remedy = "known here are: " + calls(built)
	if meant := Nearest(name, built); meant != "" {
		remedy = fmt.Sprintf("did you mean %q?", meant)
	}
	return fmt.Sprintf("unknown function %q", clip(name)), remedy
}

// calls joins function names for a message.
func calls(names []string) string {
	written := make([]string, len(names))
	for i, n := range names {
		written[i] = n + "()"
	}
	return List(written)
}
