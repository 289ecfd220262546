package hclfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

const (
	// namesMax bounds the variables and locals of a file, including those of included files.
	namesMax = 500
	// localsDeepMax bounds the depth of references between locals.
	localsDeepMax = 100
	// valueBytesMax bounds the value of each name, and thus the exponential growth of values that
	// are built from each other.
	valueBytesMax = 16 << 10
)

// Variable is a variable of a file with its value.
type Variable struct {
	Name string `json:"name"`
	// Value is text: a string without quotes, a number in digits, a list in brackets.
	Value string `json:"value"`
	Given bool   `json:"given,omitempty"` // by Reader.Vars; else Value is the default of the file
}

// scope has the variables and locals of a file and of the files that it includes, in a single
// namespace.
type scope struct {
	names     map[string]*definition // "var.workers", "local.half"
	all       []*definition          // in the order of the files
	declared  map[string]bool        // the files whose definitions were added
	resolving []string               // the locals that are being resolved, outermost first
}

// The kinds of names, which are the prefixes before the dot.
const (
	kindVariable = "var"
	kindLocal    = "local"
)

// definition is one variable or local.
type definition struct {
	kind, name string
	at         hcl.Range
	expr       hclsyntax.Expression // of a local
	value      cty.Value            // NilVal before it is resolved, and after a failure
	given      bool
}

func (d *definition) String() string { return d.kind + "." + d.name }

// variableBlock and localsBlock are the blocks that define names, on the outermost level of a file.
const (
	variableBlock = "variable"
	localsBlock   = "locals"
)

// Declare reads the variable and locals blocks of the file and, if Include was called before, of
// the files that it includes. Values that are read later may use these names.
func (b *Block) Declare() {
	b.declare()
	for _, d := range b.scope.all {
		b.settle(d)
	}
}

// Variables returns the variables of the file and of the included files, in the order of the files.
func (b *Block) Variables() []Variable {
	var variables []Variable
	for _, d := range b.scope.all {
		if d.kind == kindVariable && d.value != cty.NilVal {
			variables = append(variables, Variable{d.name, formatValue(d.value), d.given})
		}
	}
	return variables
}

// declare adds the definitions of one file unless they were added before.
func (b *Block) declare() {
	if b.scope.declared[b.file] {
		return
	}
	b.scope.declared[b.file] = true
	for _, v := range b.Blocks(variableBlock, Inner{
		Names: Names{Attributes: []string{"default"}}, Label: "name", Example: `variable "workers" { default = 64 }`,
	}) {
		b.declareVariable(v)
	}
	for _, in := range b.blocks {
		if in.kind == localsBlock {
			b.declareLocals(in.node)
		}
	}
}

// declareVariable adds a variable. Its default must be a literal, and its value in Reader.Vars, if
// any, must have the type of the default.
func (b *Block) declareVariable(v *Block) {
	d := &definition{kind: kindVariable, name: v.Label(), at: v.node.LabelRanges[0]}
	b.r.variables = append(b.r.variables, d.name)
	if !b.define(d) {
		return
	}
	if !v.Has("default") {
		v.missing("default", "add default = 64")
		return
	}
	value, diags := v.attrs["default"].Value(nil)
	switch {
	case len(diags) > 0:
		v.AttrProblem("default", "default is not a literal: "+diags[0].Summary, "write a number, a string, true, false or a list, and use locals for expressions of other names")
		return
	case !isPlain(value):
		v.AttrProblem("default", "default is "+TypeName(value), "write a number, a string, true, false or a list")
		return
	}
	d.value = value
	if text, given := b.r.Vars[d.name]; given {
		d.given = true
		d.value = b.givenValue(d, text)
	}
}

func (b *Block) declareLocals(node *hclsyntax.Block) {
	for _, label := range node.LabelRanges {
		b.r.problem(label, "locals takes no name", "write locals { half = 32 }")
	}
	for _, nested := range node.Body.Blocks {
		b.r.problem(nested.TypeRange, "locals contains names with values, not blocks", fmt.Sprintf("write %s = ...", nested.Type))
	}
	for _, name := range slices.Sorted(maps.Keys(node.Body.Attributes)) {
		attr := node.Body.Attributes[name]
		b.define(&definition{kind: kindLocal, name: name, at: attr.NameRange, expr: attr.Expr})
	}
}

// define adds a name and returns true, or notes a problem and returns false.
func (b *Block) define(d *definition) bool {
	s := b.scope
	first, taken := s.names[d.String()]
	switch {
	case !IsName(strings.ReplaceAll(d.name, "_", "a")) || strings.Contains(d.name, "-") || d.name[0] < 'a' || d.name[0] > 'z':
		b.r.problem(d.at, fmt.Sprintf("%q can't be the name of a value", clip(d.name)), "a name has 1 to 64 of the characters a-z, 0-9 and _, and begins with a letter")
	case taken:
		b.r.problem(d.at, d.String()+" is defined twice", "the first is at "+b.r.where(first.at)+"; keep one of the two")
	case len(s.all) == namesMax:
		b.r.problem(d.at, fmt.Sprintf("there are more than %d variables and locals", namesMax), "")
	default:
		s.names[d.String()] = d
		s.all = append(s.all, d)
		return true
	}
	return false
}

// settle evaluates a local, after the locals that its expression uses, unless it is already
// evaluated.
func (b *Block) settle(d *definition) {
	s, expr := b.scope, d.expr
	if expr == nil {
		return
	}
	if i := slices.Index(s.resolving, d.String()); i >= 0 {
		b.r.problem(d.at, d.String()+" refers to itself", "through "+strings.Join(append(slices.Clone(s.resolving[i:]), d.String()), " → "))
		return
	}
	if len(s.resolving) == localsDeepMax {
		b.r.problem(d.at, fmt.Sprintf("locals refer to each other more than %d deep", localsDeepMax), "")
		return
	}
	s.resolving = append(s.resolving, d.String())
	complete := true
	for _, name := range expr.Variables() {
		if of := s.names[key(name)]; of != nil {
			b.settle(of)
			complete = complete && of.value != cty.NilVal
		}
	}
	s.resolving = s.resolving[:len(s.resolving)-1]
	d.expr = nil
	if !complete { // the problem was noted at the definition
		return
	}
	v, ok := b.eval(expr, nil)
	switch size, fits := valueSize(v); {
	case !ok:
	case v.IsNull():
		b.r.problem(d.at, d.String()+" is null", "write a value, or remove it")
	case !fits || size > valueBytesMax:
		b.r.problem(d.at, fmt.Sprintf("%s is larger than %d KiB, or contains a number that is too large", d, valueBytesMax>>10), "shorten it")
	default:
		d.value = v
	}
}

// valueSize returns the approximate size of a value in bytes, and whether the exponents of its
// numbers are bounded. The decimal form of a number takes memory in proportion to its exponent.
func valueSize(v cty.Value) (size int, bounded bool) {
	const each = 8
	switch {
	case v == cty.NilVal || v.IsNull():
	case v.Type() == cty.String:
		return each + len(v.AsString()), true
	case v.Type() == cty.Number:
		exponent := v.AsBigFloat().MantExp(nil)
		return each, !v.AsBigFloat().IsInf() && -exponentMax < exponent && exponent <= exponentMax
	case v.CanIterateElements():
		size := each
		for _, entry := range v.Elements() {
			more, bounded := valueSize(entry)
			if size += more; !bounded || size > valueBytesMax {
				return size, bounded
			}
		}
		return size, true
	}
	return each, true
}

// unknown returns a message and a remedy for a name with the prefix var or local that is not
// defined, and "" if it is defined.
func (s *scope) unknown(kind string, t hcl.Traversal) (message, remedy string) {
	if s.names[key(t)] != nil {
		return "", ""
	}
	name := strings.TrimPrefix(key(t), kind+".")
	var known []string
	for _, d := range s.all {
		if d.kind == kind {
			known = append(known, d.name)
		}
	}
	slices.Sort(known)
	message = fmt.Sprintf("there is no %s", clip(strings.TrimSuffix(kind+"."+name, ".")))
	before, _, dash := strings.Cut(name, "-")
	switch {
	case dash && slices.Contains(known, before):
		return message, fmt.Sprintf("a subtraction needs spaces around the minus sign: write %s.%s - ...", kind, before)
	case len(known) > 0:
		return message, Suggest(name, known)
	case kind == kindLocal:
		return message, "add locals { NAME = ... } to the file"
	}
	return message, `add variable "NAME" { default = ... } to the file`
}

// givenValue parses the text of a variable from Reader.Vars as a value of the type of the default.
func (b *Block) givenValue(d *definition, text string) cty.Value {
	refuse := func(what string) cty.Value {
		b.r.given(d.name, fmt.Sprintf("%s must be %s; its default is at %s", d.name, what, b.r.where(d.at)), "")
		return cty.NilVal
	}
	if len(text) > valueBytesMax/4 || !utf8.ValidString(text) {
		return refuse(fmt.Sprintf("up to %d bytes of UTF-8", valueBytesMax/4))
	}
	t := d.value.Type()
	if !t.IsTupleType() {
		v, err := convert.Convert(cty.StringVal(text), t)
		if _, bounded := valueSize(v); err != nil || !bounded || t == cty.Number && len(text) > 40 {
			return refuse(TypeName(d.value))
		}
		return v
	}
	const want = "a list, as in '[1, 2]'"
	tokens, _ := hclsyntax.LexExpression([]byte(text), d.name, hcl.InitialPos)
	if at, _ := excessive(tokens); at != nil {
		return refuse(want)
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), d.name, hcl.InitialPos)
	if diags.HasErrors() {
		return refuse(want)
	}
	v, diags := expr.Value(nil)
	if _, bounded := valueSize(v); diags.HasErrors() || !bounded || !v.Type().IsTupleType() {
		return refuse(want)
	}
	return v
}

func isPlain(v cty.Value) bool {
	return !v.IsNull() && !v.IsMarked() && (v.Type().IsPrimitiveType() || v.Type().IsTupleType())
}
