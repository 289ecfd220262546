package hclfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Call returns the value of an attribute that is a call of one of the functions in calls, with ok
// false when it is not set or a problem was noted. example is what to write.
func (b *Block) Call(name string, calls *hcl.EvalContext, example string) (v cty.Value, ok bool) {
	if v, ok = b.Value(name, calls); !ok {
		return cty.NilVal, false
	}
	if v.IsNull() || !v.Type().IsCapsuleType() {
		b.wrongType(name, "a function call", v, "write "+name+" = "+example)
		return cty.NilVal, false
	}
	return v, true
}

// Value returns the value of an attribute, of any type, in which the functions in calls may be
// called. ok is false when the attribute is not set or a problem was noted.
func (b *Block) Value(name string, calls *hcl.EvalContext) (v cty.Value, ok bool) {
	if !b.Has(name) {
		return cty.NilVal, false
	}
	if v, ok = b.eval(b.attrs[name], calls); !ok {
		return cty.NilVal, false
	}
	v, _ = v.UnmarkDeep()
	return v, true
}

// eval evaluates an expression and notes what is wrong with it. calls has the functions and further
// names that may stand in it; it may be nil.
func (b *Block) eval(expr hclsyntax.Expression, calls *hcl.EvalContext) (cty.Value, bool) {
	v, diags := b.evaluate(expr, calls)
	for _, d := range diags {
		b.r.add(d)
	}
	return v, v != cty.NilVal
}

// evaluate evaluates an expression and returns the problems of the expression. It returns NilVal
// without a diagnostic if the expression uses a name that has no valid value: the problem was
// already noted where the name is defined.
func (b *Block) evaluate(expr hclsyntax.Expression, calls *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if diags := b.scope.check(expr, calls); len(diags) > 0 {
		return cty.NilVal, diags
	}
	for _, name := range expr.Variables() {
		if d := b.scope.names[key(name)]; d != nil && d.value == cty.NilVal {
			return cty.NilVal, nil
		}
	}
	v, diags := expr.Value(b.scope.context(expr, calls))
	if len(diags) == 0 && !v.IsWhollyKnown() {
		at := expr.Range()
		diags = hcl.Diagnostics{{Summary: "the value can't be known here", Detail: "write it out", Subject: &at}}
	}
	if len(diags) > 0 {
		for i, d := range diags {
			diags[i] = namedEntry(d)
		}
		return cty.NilVal, diags
	}
	return v, nil
}

// check returns a diagnostic for each part of an expression that HCL allows and scenario files do
// not: unknown names, and loops, because a short loop can cause any amount of work.
func (s *scope) check(expr hclsyntax.Expression, calls *hcl.EvalContext) (diags hcl.Diagnostics) {
	refuse := func(at hcl.Range, message, remedy string) {
		diags = append(diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: message, Detail: remedy, Subject: &at})
	}
	var functions []string
	if calls != nil {
		functions = slices.Sorted(maps.Keys(calls.Functions))
	}
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		switch x := node.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.SplatExpr, *hclsyntax.TemplateJoinExpr:
			refuse(node.Range(), "a value can't hold a loop", "write its entries out")
		case *hclsyntax.FunctionCallExpr:
			if len(functions) == 0 {
				refuse(x.NameRange, "no function can be called here", "write a number, a string in quotes or a list")
			} else if !slices.Contains(functions, x.Name) {
				refuse(x.NameRange, fmt.Sprintf("unknown function %q", clip(x.Name)), Suggest(x.Name, functions))
			}
		}
		return nil
	})
	for _, name := range expr.Variables() {
		switch root := name.RootName(); root {
		case kindVariable, kindLocal:
			if message, remedy := s.unknown(root, name); message != "" {
				refuse(name.SourceRange(), message, remedy)
			}
		default:
			if calls == nil || calls.Variables[root] == cty.NilVal {
				refuse(name.SourceRange(), fmt.Sprintf("the name %s has no meaning here", clip(root)), fmt.Sprintf("for a string, write it in quotes: %q", clip(root)))
			}
		}
	}
	return diags
}

// context returns the values of the names in an expression, in addition to the names and functions
// in calls.
func (s *scope) context(expr hclsyntax.Expression, calls *hcl.EvalContext) *hcl.EvalContext {
	values := map[string]map[string]cty.Value{kindVariable: {}, kindLocal: {}}
	for _, name := range expr.Variables() {
		if d := s.names[key(name)]; d != nil && d.value != cty.NilVal {
			values[d.kind][d.name] = d.value
		}
	}
	ctx := calls.NewChild()
	ctx.Variables = map[string]cty.Value{}
	for kind, of := range values {
		ctx.Variables[kind] = cty.ObjectVal(of)
	}
	return ctx
}

// key is how a scope has the name at the beginning of a traversal: "var.workers".
func key(t hcl.Traversal) string {
	if len(t) < 2 {
		return ""
	}
	attr, _ := t[1].(hcl.TraverseAttr)
	return t.RootName() + "." + attr.Name
}
