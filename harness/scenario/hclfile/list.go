package hclfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Value is a value as a file has it, before anybody asked what it is: one entry of a list whose entries may be of
// any type.
type Value struct {
	attribute
	text string
}

// Text is the value on one line: as it is written, a string without its quotes, and an expression of names as what it
// makes.
func (v Value) Text() string { return v.text }

// valueTextMax is how many characters a value's text may have: it is shown as a name.
const valueTextMax = 40

// ValuesSpec says what an attribute that is a list of values may be.
type ValuesSpec struct {
	Min, Max int // how many
	Example  string
}

// Values returns the entries of a required list, whatever their types, no two of them alike. It is nil after a
// problem was noted.
func (b *Block) Values(name string, spec ValuesSpec) []Value {
	if !b.Has(name) {
		b.absent(name, true, spec.Example)
		return nil
	}
	entries, ok := b.entries(name)
	if !ok {
		b.AttrProblem(name, name+" is not a list", fmt.Sprintf("write %s = %s", name, spec.Example))
		return nil
	}
	if n := len(entries); n < spec.Min || n > spec.Max {
		b.AttrProblem(name, fmt.Sprintf("%s has %d entries; it must have %d to %d", name, n, spec.Min, spec.Max), "")
		return nil
	}
	var values []Value
	seen := map[string]bool{}
	for _, e := range entries {
		v := Value{e, b.entryText(e)}
		switch {
		case v.text == "" || utf8.RuneCountInString(v.text) > valueTextMax:
			b.r.diagnostics.add(e.f.problem(e.at(), fmt.Sprintf("an entry of %s has %d characters; it may have 1 to %d, since it is shown as a name",
				name, utf8.RuneCountInString(v.text), valueTextMax), ""))
			return nil
		case seen[v.text]:
			b.r.diagnostics.add(e.f.problem(e.at(), fmt.Sprintf("%s holds %s twice", name, v.text), "keep one of the two"))
			return nil
		}
		seen[v.text] = true
		values = append(values, v)
	}
	return values
}

// entries returns what a list holds, which is written out or has a name.
func (b *Block) entries(name string) (entries []attribute, ok bool) {
	a := b.attrs[name]
	if list, written := a.expr.(*hclsyntax.TupleConsExpr); written {
		for _, e := range list.Exprs {
			entries = append(entries, attribute{f: a.f, expr: e})
		}
		return entries, true
	}
	if _, named := a.expr.(*hclsyntax.ScopeTraversalExpr); !named {
		return nil, false
	}
	v, ok := b.quietly(a)
	if !ok || v.IsNull() || !v.Type().IsTupleType() {
		return nil, false
	}
	for _, e := range v.AsValueSlice() {
		literal := &hclsyntax.LiteralValueExpr{Val: e, SrcRange: a.expr.Range()}
		entries = append(entries, attribute{f: a.f, expr: literal, computed: true})
	}
	return entries, true
}

// entryText is what an entry of a list is shown as. Names in it are shown as their values, also in the arguments of a call.
func (b *Block) entryText(e attribute) string {
	at := e.at()
	written := writtenText(e.f.src[at.start:at.end])
	if call, is := e.expr.(*hclsyntax.FunctionCallExpr); is {
		if text, ok := b.callText(e.f, call); ok {
			return text
		}
		return written
	}
	if e.computed || !isWrittenOut(e.expr) {
		if v, ok := b.quietly(e); ok && isPlain(v) {
			return formatValue(v)
		}
	}
	return written
}

// callText is a call with its arguments' values, or not ok where the call is best shown as it is written.
func (b *Block) callText(f *file, call *hclsyntax.FunctionCallExpr) (text string, ok bool) {
	var args []string
	plain := true
	for _, arg := range call.Args {
		v, ok := b.quietly(attribute{f: f, expr: arg})
		if !ok || !isPlain(v) {
			return "", false
		}
		plain = plain && isWrittenOut(arg)
		if text := formatValue(v); v.Type() == cty.String {
			args = append(args, strconv.Quote(text))
		} else {
			args = append(args, text)
		}
	}
	return call.Name + "(" + List(args) + ")", !plain
}

// writtenText is a value's source on one line, without the quotes of a string.
func writtenText(src []byte) string {
	text := strings.Join(strings.Fields(printable(src)), " ")
	if inner, quoted := strings.CutPrefix(text, `"`); quoted && strings.Count(text, `"`) == 2 {
		if inner, quoted = strings.CutSuffix(inner, `"`); quoted {
			return inner
		}
	}
	return text
}

// replacement is a value that stands for an inner block's own.
type replacement struct {
	kind, label, attribute string
	value                  Value
}

// Replace makes v the value of an attribute of the inner blocks of a kind, those with that label, or of any if it
// is "", until Restore. What is wrong with v there is noted where v is written.
func (b *Block) Replace(kind, label, attribute string, v Value) {
	b.replaced = append(b.replaced, replacement{kind, label, attribute, v})
}

// Restore ends what Replace began.
func (b *Block) Restore() { b.replaced = nil }

// replaceIn gives an inner block the values that stand for its own.
func (b *Block) replaceIn(inner *Block) {
	for _, r := range b.replaced {
		if r.kind == inner.kind && (r.label == "" || r.label == inner.Label(0)) {
			inner.attrs[r.attribute] = r.value.attribute
		}
	}
}

// Labels returns the first labels of the inner blocks of a kind, in the order of the file.
func (b *Block) Labels(kind string) []string {
	var labels []string
	for _, in := range b.blocks {
		if in.kind == kind && len(in.node.Labels) > 0 {
			labels = append(labels, in.node.Labels[0])
		}
	}
	return labels
}

// HasBlock reports whether the block has an inner one of a kind.
func (b *Block) HasBlock(kind string) bool {
	return slices.ContainsFunc(b.blocks, func(in inner) bool { return in.kind == kind })
}

// Problems is how many problems the reader has noted so far, those of other files too.
func (b *Block) Problems() int { return len(b.r.diagnostics.Problems) + b.r.diagnostics.Omitted }
