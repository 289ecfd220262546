package hclfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
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

// scales are the variables that expressions may hold.
func (f Functions) scales() map[string]cty.Value {
	if len(f.Scales) == 0 {
		return nil
	}
	variables := make(map[string]cty.Value, len(f.Scales))
	for _, name := range f.Scales {
		variables[name] = cty.NumberIntVal(1).Mark(Scale(name))
	}
	return variables
}

// Call returns the value of an attribute that is a call of one of the functions, with ok false when it is not
// set or a problem was noted. example is what to write.
func (b *Block) Call(name string, functions Functions, example string) (v cty.Value, ok bool) {
	attr := b.attrs[name]
	if attr == nil {
		return cty.NilVal, false
	}
	v, ok = b.value(attr, functions)
	if ok && !v.Type().IsCapsuleType() {
		b.wrongType(name, "a function call", v, "write "+name+" = "+example)
		return cty.NilVal, false
	}
	return v, ok
}

// plain returns the value of an attribute that is written out, with ok false when it is not set or a problem
// was noted.
func (b *Block) plain(name string) (v cty.Value, ok bool) {
	attr := b.attrs[name]
	if attr == nil {
		return cty.NilVal, false
	}
	return b.value(attr, Functions{})
}

// value evaluates an attribute after checking that its expression is one that a file may hold.
func (b *Block) value(attr *hclsyntax.Attribute, functions Functions) (cty.Value, bool) {
	if !b.allowed(attr.Expr, functions) {
		return cty.NilVal, false
	}
	v, diags := attr.Expr.Value(&hcl.EvalContext{Functions: functions.Built, Variables: functions.scales()})
	for _, d := range diags {
		b.r.diagnostics.add(b.evaluation(d))
	}
	return v, !diags.HasErrors()
}

// evaluation translates what the evaluation of an expression says.
func (b *Block) evaluation(d *hcl.Diagnostic) Problem {
	p := b.f.syntax(d)
	p.Message = d.Summary
	if extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d); ok {
		var fault *Fault
		if call, isCall := d.Expression.(*hclsyntax.FunctionCallExpr); isCall && errors.As(extra.FunctionCallError(), &fault) {
			return b.f.problem(b.f.span(call.Args[fault.Arg].Range()), fault.Message, fault.Remedy)
		}
	}
	return p
}

// allowed notes a problem for each part of an expression that values may not have: variables, operators,
// interpolation, unknown functions. What is allowed takes time and memory in proportion to its length.
func (b *Block) allowed(expr hclsyntax.Expression, functions Functions) bool {
	at := b.f.span(expr.Range())
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return true
	case *hclsyntax.TemplateExpr:
		for _, part := range e.Parts {
			// A literal that is no string is an interpolated one, which may be as long as 1e999999999 is.
			if literal, is := part.(*hclsyntax.LiteralValueExpr); !is || literal.Val.Type() != cty.String {
				b.problem(at, "a string cannot hold ${...} or %{...}", "write the text out")
				return false
			}
		}
		return true
	case *hclsyntax.ParenthesesExpr:
		return b.allowed(e.Expression, functions)
	case *hclsyntax.UnaryOpExpr:
		if e.Op == hclsyntax.OpNegate {
			if _, number := e.Val.(*hclsyntax.LiteralValueExpr); number {
				return true
			}
		}
	case *hclsyntax.TupleConsExpr:
		return b.allAllowed(e.Exprs, functions)
	case *hclsyntax.FunctionCallExpr:
		return b.callAllowed(e, functions)
	case *hclsyntax.BinaryOpExpr:
		if isProduct(e, functions) {
			return true
		}
	case *hclsyntax.ScopeTraversalExpr:
		if isScale(e, functions) {
			return true
		}
		b.problem(at, fmt.Sprintf("the name %s has no meaning here", b.f.text(at)),
			fmt.Sprintf("for a string, write it in quotes: %q", b.f.text(at)))
		return false
	}
	b.problem(at, fmt.Sprintf("%s is not a value that can stand here", b.f.text(at)),
		"a value is written out: a number, a string in quotes, a list or a function call")
	return false
}

// isProduct reports whether an operation is a number times a scale, in either order.
func isProduct(e *hclsyntax.BinaryOpExpr, functions Functions) bool {
	number := func(e hclsyntax.Expression) bool {
		literal, is := e.(*hclsyntax.LiteralValueExpr)
		return is && literal.Val.Type() == cty.Number
	}
	return e.Op == hclsyntax.OpMultiply &&
		(number(e.LHS) && isScale(e.RHS, functions) || isScale(e.LHS, functions) && number(e.RHS))
}

// isScale reports whether an expression is one of the names of the scales.
func isScale(e hclsyntax.Expression, functions Functions) bool {
	name, is := e.(*hclsyntax.ScopeTraversalExpr)
	return is && len(name.Traversal) == 1 && slices.Contains(functions.Scales, name.Traversal.RootName())
}

func (b *Block) allAllowed(exprs []hclsyntax.Expression, functions Functions) bool {
	all := true
	for _, e := range exprs {
		all = b.allowed(e, functions) && all
	}
	return all
}

func (b *Block) callAllowed(call *hclsyntax.FunctionCallExpr, functions Functions) bool {
	at := b.f.span(call.NameRange)
	built := slices.Sorted(maps.Keys(functions.Built))
	_, known := functions.Built[call.Name]
	switch {
	case known:
		return b.allAllowed(call.Args, functions)
	case slices.Contains(functions.NotBuilt, call.Name):
		b.problem(at, call.Name+"() is not built yet", "built are: "+calls(built))
	case len(built) == 0:
		b.problem(at, "no function can stand here", "write a number, a string in quotes or a list")
	default:
		remedy := "known here are: " + calls(built)
		if meant := Nearest(call.Name, built); meant != "" {
			remedy = fmt.Sprintf("did you mean %q?", meant)
		}
		b.problem(at, fmt.Sprintf("unknown function %q", call.Name), remedy)
	}
	return false
}

// calls joins function names for a message.
func calls(names []string) string {
	written := make([]string, len(names))
	for i, n := range names {
		written[i] = n + "()"
	}
	return List(written)
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
