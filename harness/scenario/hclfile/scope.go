package hclfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// namesMax is how many variables and locals a file and what it includes have together at most.
const namesMax = 500

// Variable is a value of a file that can be given from outside.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`           // as text: a string as it is, a number in digits, a list in brackets
	Given bool   `json:"given,omitempty"` // from outside; else it is the file's
}

// scope holds the variables and locals of a file and of the files that it includes: one space of names.
type scope struct {
	names    map[string]*definition // "var.workers", "local.half"
	all      []*definition          // in the order of the files
	declared map[*file]bool         // whose definitions are in
	under    []string               // what is being resolved, outermost first
}

func newScope() *scope {
	return &scope{names: map[string]*definition{}, declared: map[*file]bool{}}
}

// definition is one variable or local.
type definition struct {
	kind, name string // "var" or "local"
	f          *file
	at         span
	expr       hclsyntax.Expression // nil: the value is given
	value      cty.Value            // NilVal until it is resolved, and when that failed
	resolved   bool
	given      bool
}

func (d *definition) String() string { return d.kind + "." + d.name }

// variableNames and localsNames are the blocks of names, which a file may have on its outermost level.
const (
	variableBlock = "variable"
	localsBlock   = "locals"
)

// Declare reads the variable and locals blocks of the file and, if Include was called before, of the files that it
// includes. From then on values may hold their names.
func (b *Block) Declare() {
	b.declare()
	for _, d := range b.scope.all {
		b.scope.settle(d, b.r.diagnostics.add)
	}
}

// Variables returns the variables of the file and of what it includes, in the order of the files.
func (b *Block) Variables() []Variable {
	var variables []Variable
	for _, d := range b.scope.all {
		if d.kind == "var" && d.value != cty.NilVal {
			variables = append(variables, Variable{d.name, formatValue(d.value), d.given})
		}
	}
	return variables
}

// declare adds what one file defines, unless it is in already.
func (b *Block) declare() {
	if b.scope.declared[b.f] {
		return
	}
	b.scope.declared[b.f] = true
	for _, v := range b.Blocks(variableBlock, Inner{
		Names: Names{Attributes: []string{"default"}}, Label: "name", Example: `variable "workers" { default = 64 }`,
	}) {
		b.declareVariable(v)
	}
	for _, in := range b.blocks {
		if in.kind == localsBlock {
			b.declareLocals(in)
		}
	}
}

func (b *Block) declareVariable(v *Block) {
	d := &definition{kind: "var", name: v.Label(0), f: v.f, at: v.f.span(v.node.LabelRanges[0])}
	a, has := v.attrs["default"]
	if !has {
		v.missing("default", "add default = 64")
		d.resolved = true
	} else {
		// A default is the type of what is given for it, so it stands for itself.
		e := evaluation{f: a.f, literal: true, note: b.r.diagnostics.add}
		d.value, _ = e.value(a.expr)
		d.resolved = true
		if d.value != cty.NilVal && !isPlain(d.value) {
			v.AttrProblem("default", "default is "+TypeName(d.value), "write a number, a string, true, false or a list")
			d.value = cty.NilVal
		}
	}
	if !b.add(d) || d.value == cty.NilVal {
		return
	}
	if text, given := b.r.Vars[d.name]; given {
		d.given = true
		d.value = b.givenValue(d, text)
	}
}

func (b *Block) declareLocals(in inner) {
	for _, label := range in.node.LabelRanges {
		b.r.diagnostics.add(in.f.problem(in.f.span(label), "locals takes no name", "write locals { half = 32 }"))
	}
	for _, nested := range in.node.Body.Blocks {
		b.r.diagnostics.add(in.f.problem(in.f.span(nested.TypeRange), "locals holds names with values, not blocks", fmt.Sprintf("write %s = ...", nested.Type)))
	}
	for _, name := range sortedNames(in.node.Body.Attributes) {
		attr := in.node.Body.Attributes[name]
		b.add(&definition{kind: "local", name: name, f: in.f, at: in.f.span(attr.NameRange), expr: attr.Expr})
	}
}

// add notes a name, or what forbids it.
func (b *Block) add(d *definition) bool {
	s, problem := b.scope, func(message, remedy string) {
		b.r.diagnostics.add(d.f.problem(d.at, message, remedy))
	}
	if d.kind == "var" {
		b.r.known(d.name)
	}
	if !isIdentifier(d.name) {
		problem(fmt.Sprintf("%q can't be the name of a value", clip(d.name)), "such a name is 1 to 64 of the characters a-z, 0-9 and _, and begins with a letter")
		return false
	}
	if first, taken := s.names[d.String()]; taken {
		problem(d.String()+" is defined twice", "the first is at "+first.f.where(first.at)+"; keep one of the two")
		return false
	}
	if len(s.all) == namesMax {
		problem(fmt.Sprintf("there are more than %d variables and locals", namesMax), "")
		return false
	}
	s.names[d.String()] = d
	s.all = append(s.all, d)
	return true
}

// isIdentifier is like IsName for the names of values, which - would turn into differences.
func isIdentifier(s string) bool {
	return IsName(strings.ReplaceAll(s, "_", "a")) && !strings.Contains(s, "-") && s[0] >= 'a' && s[0] <= 'z'
}

// settle evaluates a definition, once.
func (s *scope) settle(d *definition, note func(Problem)) {
	if d.resolved {
		return
	}
	s.under = append(s.under, d.String())
	e := evaluation{f: d.f, scope: s, note: note}
	v, ok := e.value(d.expr)
	s.under = s.under[:len(s.under)-1]
	d.resolved = true
	if !ok {
		return
	}
	if v.IsNull() {
		note(d.f.problem(d.at, d.String()+" is null", "write a value, or remove it"))
		return
	}
	d.value = v
}

// resolve returns the value of a name, or what is wrong with naming it. A value of NilVal without a message is one
// whose problem was noted where it is defined.
func (s *scope) resolve(kind, name string, note func(Problem)) (v cty.Value, message, remedy string) {
	d, known := s.names[kind+"."+name]
	if !known {
		message, remedy = s.unknown(kind, name)
		return cty.NilVal, message, remedy
	}
	if i := slices.Index(s.under, d.String()); i >= 0 {
		return cty.NilVal, d.String() + " is defined by itself", "through " + strings.Join(append(slices.Clone(s.under[i:]), d.String()), " → ")
	}
	if len(s.under) == nestedMax {
		return cty.NilVal, fmt.Sprintf("locals are defined by one another more than %d deep", nestedMax), ""
	}
	s.settle(d, note)
	return d.value, "", ""
}

func (s *scope) unknown(kind, name string) (message, remedy string) {
	what := "variable"
	if kind == "local" {
		what = "local"
	}
	message = fmt.Sprintf("there is no %s %q", what, clip(name))
	var known []string
	for _, d := range s.all {
		if d.kind == kind {
			known = append(known, d.name)
		}
	}
	slices.Sort(known)
	before, _, dash := strings.Cut(name, "-")
	switch meant := Nearest(name, known); {
	case dash && slices.Contains(known, before):
		return message, fmt.Sprintf("a difference has spaces around its -: write %s.%s - ...", kind, before)
	case meant != "":
		return message, fmt.Sprintf("did you mean %q?", meant)
	case len(known) > 0:
		return message, "there are: " + List(known)
	case kind == "local":
		return message, fmt.Sprintf("add locals { %s = ... } to the file", clip(name))
	}
	return message, fmt.Sprintf("add variable %q { default = ... } to the file", clip(name))
}

// splitTraversal takes NAME and an index, or -1, out of var.NAME[0].
func splitTraversal(t hcl.Traversal) (name string, index int, ok bool) {
	if len(t) != 2 && len(t) != 3 {
		return "", 0, false
	}
	attr, ok := t[1].(hcl.TraverseAttr)
	if !ok || len(t) == 2 {
		return attr.Name, -1, ok
	}
	key, ok := t[2].(hcl.TraverseIndex)
	if !ok || key.Key.Type() != cty.Number || !key.Key.AsBigFloat().IsInt() {
		return "", 0, false
	}
	i, _ := key.Key.AsBigFloat().Int64()
	return attr.Name, int(min(i, math.MaxInt32)), i >= 0
}

// givenValue reads the text that was given for a variable as a value of its default's type.
func (b *Block) givenValue(d *definition, text string) cty.Value {
	refuse := func(message, remedy string) cty.Value {
		b.r.given(d.name, text, message+"; its default is at "+d.f.where(d.at), remedy)
		return cty.NilVal
	}
	switch t := d.value.Type(); {
	case len(text) > valueBytesMax/4 || !utf8.ValidString(text):
		return refuse(fmt.Sprintf("%s takes up to %d bytes of UTF-8", d.name, valueBytesMax/4), "")
	case t == cty.String:
		return cty.StringVal(text)
	case t == cty.Bool:
		if truth, err := strconv.ParseBool(text); err == nil {
			return cty.BoolVal(truth)
		}
		return refuse(d.name+" must be true or false", "")
	case t == cty.Number:
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && len(text) <= 40 {
			if v, err := cty.ParseNumberVal(text); err == nil {
				return v
			}
		}
		return refuse(d.name+" must be a number", "write it as in "+d.name+"=64")
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), d.name, hcl.InitialPos)
	if !diags.HasErrors() {
		e := evaluation{f: &file{name: d.name, src: []byte(text)}, note: func(Problem) {}}
		if v, ok := e.value(expr); ok && !v.IsNull() && v.Type().IsTupleType() {
			return v
		}
	}
	return refuse(d.name+" must be a list", "write it as in "+d.name+"='[1, 2]'")
}
