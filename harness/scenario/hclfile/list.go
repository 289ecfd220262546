package hclfile

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// NamesSpec says what an attribute that is a list of names may be.
type NamesSpec struct {
	Max     int // how many
	Example string
}

// Names returns a list of different names, each as IsName wants it.
func (b *Block) Names(name string, spec NamesSpec) []string { return b.texts(name, spec, IsName) }

// Texts returns a list of different strings. The caller says what is wrong with an entry.
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
		b.AttrProblem(name, fmt.Sprintf("%s has %d entries; it may have %d", name, v.LengthInt(), spec.Max), "")
		return nil
	}
	var list []string
	for _, e := range v.AsValueSlice() {
		switch text := quotedValue(e); {
		case e.IsNull() || e.Type() != cty.String:
			b.wrongType(name, "a list of strings", e, remedy)
			return nil
		case !allowed(e.AsString()):
			b.AttrProblem(name, fmt.Sprintf("%s holds %s, which is not a name", name, clip(text)), NameRule)
			return nil
		case slices.Contains(list, e.AsString()):
			b.AttrProblem(name, fmt.Sprintf("%s holds %s twice", name, text), "keep one of the two")
			return nil
		}
		list = append(list, e.AsString())
	}
	return list
}

// Value is one entry of a list whose entries may be of any type.
type Value struct {
	expr hclsyntax.Expression
	text string
}

// Text is the value on one line: a string without its quotes, and a call with the values of its
// arguments.
func (v Value) Text() string { return v.text }

// valueTextMax is how many characters a value's text may have: it is shown as a name.
const valueTextMax = 40

// ValuesSpec says what an attribute that is a list of values may be.
type ValuesSpec struct {
	Min, Max int  // how many
	Repeats  bool // an entry may be like another
	Example  string
}

// Values returns the entries of a required list, whatever their types, no two of them alike unless
// spec allows it. It is nil after a problem was noted.
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
			b.r.problem(e.Range(), fmt.Sprintf("an entry of %s has %d characters; it may have 1 to %d, since it is shown as a name", name, n, valueTextMax), "")
			return nil
		case !spec.Repeats && slices.ContainsFunc(values, func(v Value) bool { return v.text == text }):
			b.r.problem(e.Range(), fmt.Sprintf("%s holds %s twice", name, text), "keep one of the two")
			return nil
		}
		values = append(values, Value{e, text})
	}
	return values
}

// entries returns what a list holds, which is written out or has a name.
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

// entryText is what an entry of a list is shown as: its value, or a call with the values of its
// arguments. What has no value here, such as a part of the peak, is shown as it is written.
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

// replacement is a value that stands for an inner block's own.
type replacement struct {
	kind, label, attribute string
	value                  Value
}

// Replace makes v the value of an attribute of the blocks of a kind inside this one, at any depth,
// those with that label, or of any if it is "", until Restore. What is wrong with v there is noted
// where v is written.
func (b *Block) Replace(kind, label, attribute string, v Value) {
	b.replaced = append(b.replaced, replacement{kind, label, attribute, v})
}

// Restore ends what Replace began.
func (b *Block) Restore() { b.replaced = nil }

// replaceIn gives an inner block the values that stand for its own.
func (b *Block) replaceIn(inner *Block) {
	inner.replaced = b.replaced
	for _, r := range b.replaced {
		if r.kind == inner.kind && (r.label == "" || r.label == inner.Label()) {
			inner.attrs[r.attribute] = r.value.expr
		}
	}
}
