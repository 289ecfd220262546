package hclfile

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// NamesSpec constrains an attribute that is a list of names.
type NamesSpec struct {
	Max     int // number of entries
	Example string
}

// Names returns the value of an attribute that is a list of distinct names, for which IsName is
// true.
func (b *Block) Names(name string, spec NamesSpec) []string { return b.texts(name, spec, IsName) }

// Texts returns the value of an attribute that is a list of distinct strings. The caller must check
// the entries.
func (b *Block) Texts(name string, spec NamesSpec) []string {
	return b.texts(name, spec, func(string) bool { return true })
}

func (b *Block) texts(name string, spec NamesSpec, allowed func(string) bool) []string {
	if !b.Has(name) {
		return nil
	}
	v, ok := b.eval(b.attrs[name], nil)
	if !ok {
		return nil
	}
	remedy := fmt.Sprintf("write %s = %s", name, spec.Example)
	if v.IsNull() || !v.Type().IsTupleType() {
		b.wrongType(name, "a list of strings", v, remedy)
		return nil
	}
	if v.LengthInt() > spec.Max {
		b.AttrProblem(name, fmt.Sprintf("%s has %d entries; the maximum is %d", name, v.LengthInt(), spec.Max), "")
		return nil
	}
	var list []string
	for _, e := range v.AsValueSlice() {
		switch text := quotedValue(e); {
		case e.IsNull() || e.Type() != cty.String:
			b.wrongType(name, "a list of strings", e, remedy)
			return nil
		case !allowed(e.AsString()):
			b.AttrProblem(name, fmt.Sprintf("%s contains %s, which is not a name", name, clip(text)), NameRule)
			return nil
		case slices.Contains(list, e.AsString()):
			b.AttrProblem(name, fmt.Sprintf("%s contains %s twice", name, text), "keep one of the two")
			return nil
		}
		list = append(list, e.AsString())
	}
	return list
}

// Value is one entry, of any type, of a list.
type Value struct {
	expr hclsyntax.Expression
	text string
}

// Text returns the value on one line: a string without quotes, and a call with the values of its
// arguments.
func (v Value) Text() string { return v.text }

// valueTextMax bounds the characters of a value's text, which is displayed as a name.
const valueTextMax = 40

// ValuesSpec constrains an attribute that is a list of values.
type ValuesSpec struct {
	Min, Max int  // number of entries
	Repeats  bool // two entries may be equal
	Example  string
}

// Values returns the entries, of any types, of a required list. The entries must be distinct unless
// spec.Repeats is true. It returns nil after a problem was noted.
func (b *Block) Values(name string, spec ValuesSpec) []Value {
	entries, ok := b.entries(name)
	switch n := len(entries); {
	case !b.Has(name):
		b.missing(name, "add "+name+" = "+spec.Example)
		return nil
	case !ok:
		b.AttrProblem(name, name+" is not a list", fmt.Sprintf("write %s = %s", name, spec.Example))
		return nil
	case n < spec.Min || n > spec.Max:
		b.AttrProblem(name, fmt.Sprintf("%s has %d entries; it must have %d to %d", name, n, spec.Min, spec.Max), "")
		return nil
	}
	var values []Value
	for _, e := range entries {
		text := b.entryText(e)
		switch n := utf8.RuneCountInString(text); {
		case n == 0 || n > valueTextMax:
			b.r.problem(e.Range(), fmt.Sprintf("an entry of %s has %d characters; it must have 1 to %d, because it is displayed as a name", name, n, valueTextMax), "")
			return nil
		case !spec.Repeats && slices.ContainsFunc(values, func(v Value) bool { return v.text == text }):
			b.r.problem(e.Range(), fmt.Sprintf("%s contains %s twice", name, text), "keep one of the two")
			return nil
		}
		values = append(values, Value{e, text})
	}
	return values
}

// entries returns the entries of a list, which is a literal or the name of a variable or local.
func (b *Block) entries(name string) (entries []hclsyntax.Expression, ok bool) {
	expr, has := b.attrs[name]
	if !has {
		return nil, false
	}
	if list, written := expr.(*hclsyntax.TupleConsExpr); written {
		return list.Exprs, true
	}
	v, _ := b.evaluate(expr, nil)
	if v == cty.NilVal || v.IsNull() || !v.Type().IsTupleType() {
		return nil, false
	}
	for _, e := range v.AsValueSlice() {
		entries = append(entries, &hclsyntax.LiteralValueExpr{Val: e, SrcRange: expr.Range()})
	}
	return entries, true
}

// entryText returns the displayed text of an entry of a list: its value, or a call with the values
// of its arguments. Expressions that cannot be evaluated here, such as 0.5 * peak, are displayed as
// in the file.
func (b *Block) entryText(e hclsyntax.Expression) string {
	if call, is := e.(*hclsyntax.FunctionCallExpr); is {
		var args []string
		for _, arg := range call.Args {
			args = append(args, b.shown(arg, quotedValue))
		}
		return call.Name + "(" + List(args) + ")"
	}
	return b.shown(e, formatValue)
}

func (b *Block) shown(e hclsyntax.Expression, format func(cty.Value) string) string {
	if v, _ := b.evaluate(e, nil); v != cty.NilVal && isPlain(v) {
		return format(v)
	}
	return oneLine(e.Range().SliceBytes(b.r.named[e.Range().Filename].src))
}

// replacement is a value that overrides an attribute of an inner block.
type replacement struct {
	kind, label, attribute string
	value                  Value
}

// Replace overrides an attribute of the blocks of a kind inside this block, at any depth, by v
// until Restore. If label is not "", only blocks with that label are affected. Problems of v are
// noted at the place of v in the file.
func (b *Block) Replace(kind, label, attribute string, v Value) {
	b.replaced = append(b.replaced, replacement{kind, label, attribute, v})
}

// Restore undoes all calls of Replace.
func (b *Block) Restore() { b.replaced = nil }

func (b *Block) replaceIn(inner *Block) {
	inner.replaced = b.replaced
	for _, r := range b.replaced {
		if r.kind == inner.kind && (r.label == "" || r.label == inner.Label()) {
			inner.attrs[r.attribute] = r.value.expr
		}
	}
}
