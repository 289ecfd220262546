package hclfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Call returns the value of an attribute that is a call of one of the functions in calls. ok is
// false if the attribute is not set or a problem was noted. example is a valid call, for messages.
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

// Value returns the value of an attribute of any type. Its expression may call the functions in
// calls. ok is false if the attribute is not set or a problem was noted.
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

// eval evaluates an expression and notes its problems. calls has the functions and additional names
// that the expression may use; it may be nil.
func (b *Block) eval(expr hclsyntax.Expression, calls *hcl.EvalContext) (cty.Value, bool) {
	v, diags := b.evaluate(expr, calls)
	for _, d := range diags {
		b.r.add(d)
	}
	return v, v != cty.NilVal
}

// evaluate evaluates an expression and returns its problems. It returns NilVal without a diagnostic
// if the expression uses a name without a valid value, because that problem was already noted at
// the definition of the name.
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
		diags = hcl.Diagnostics{{Summary: "the value is unknown here", Detail: "write a literal value", Subject: &at}}
	}
	if len(diags) > 0 {
		for i, d := range diags {
			diags[i] = namedEntry(d)
		}
		return cty.NilVal, diags
	}
	return v, nil
}

// check returns a diagnostic for each part of an expression that HCL allows and this package
// refuses: unknown names, and loops, because a short loop can cause an unbounded amount of work.
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
			refuse(node.Range(), "a value can't contain a loop", "list its entries")
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
				refuse(name.SourceRange(), fmt.Sprintf("the name %s is not valid here", clip(root)), fmt.Sprintf("for a string, write it in quotes: %q", clip(root)))
			}
		}
	}
	return diags
}

// context returns calls extended by the values of the variables and locals in an expression.
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

// key returns the scope's key of the name at the beginning of a traversal: "var.workers".
func key(t hcl.Traversal) string {
	if len(t) < 2 {
		return ""
	}
	attr, _ := t[1].(hcl.TraverseAttr)
	return t.RootName() + "." + attr.Name
}
