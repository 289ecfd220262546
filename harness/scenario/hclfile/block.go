package hclfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Names are the names that may appear in a block. All others are problems.
type Names struct {
	Attributes []string
	Blocks     []string
	// NotBuilt are names of attributes and blocks that the design has and this build does not: they are
	// refused with a message that says so.
	NotBuilt []string
}

// Block is one block of a file, or a file's outermost level.
type Block struct {
	r      *Reader
	f      *file
	kind   string // the block's type; "" for a file
	labels []string
	node   *hclsyntax.Block // nil for a file
	names  Names
	scope  *scope               // of the file, its inner blocks and those of the files it includes
	attrs  map[string]attribute // by the name they stand for, misspelt ones included
	blocks []inner
	order  int // among the blocks of the block around it, of all kinds
	// included is of the outermost level of a file that is read in the place of an include block.
	included bool

	replaced []replacement
}

// attribute is a setting and the file that it is written in, which is another one than its block's where a value
// of elsewhere stands for it.
type attribute struct {
	f    *file
	expr hclsyntax.Expression
	// computed says that the value is an entry of a list that expr only names.
	computed bool
}

func (a attribute) at() span { return a.f.span(a.expr.Range()) }

// inner is a block inside another, under the type it stands for: a misspelt one is read as the one meant, so
// that what is inside it is checked in the same pass.
type inner struct {
	f    *file
	kind string
	node *hclsyntax.Block
}

// newBlock sorts what body holds by the names that are known and notes a problem for each that is not.
func newBlock(r *Reader, f *file, node *hclsyntax.Block, body *hclsyntax.Body, names Names, s *scope) *Block {
	b := &Block{r: r, f: f, node: node, names: names, scope: s, attrs: map[string]attribute{}}
	if node != nil {
		b.kind, b.labels = node.Type, node.Labels
	}
	b.sort(body)
	return b
}

// sort sorts what body holds by the names that are known.
func (b *Block) sort(body *hclsyntax.Body) {
	names, f := b.names, b.f
	var misspelt []*hclsyntax.Attribute
	for _, name := range sortedNames(body.Attributes) {
		attr := body.Attributes[name]
		if slices.Contains(names.Attributes, name) {
			b.attrs[name] = attribute{f: f, expr: attr.Expr}
		} else {
			misspelt = append(misspelt, attr)
		}
	}
	for _, attr := range misspelt {
		if meant := b.unknown("attribute", attr.Name, f.span(attr.NameRange), names.Attributes); meant != "" && !b.Has(meant) {
			b.attrs[meant] = attribute{f: f, expr: attr.Expr}
		}
	}
	for _, node := range body.Blocks {
		kind := node.Type
		if !slices.Contains(names.Blocks, kind) {
			kind = b.unknown("block", kind, f.span(node.TypeRange), names.Blocks)
		}
		if kind != "" {
			b.blocks = append(b.blocks, inner{f, kind, node})
		}
	}
}

func sortedNames(attributes hclsyntax.Attributes) []string {
	names := make([]string, 0, len(attributes))
	for name := range attributes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unknown notes that a name is none of those known, and returns the one it was probably meant to be, or "".
func (b *Block) unknown(what, name string, at span, known []string) (meant string) {
	if slices.Contains(b.names.NotBuilt, name) {
		remedy := "built are: " + List(known)
		if len(known) == 0 {
			remedy = "remove it"
		}
		b.problem(at, fmt.Sprintf("%s %q in %s is not built yet", what, name, b), remedy)
		return ""
	}
	message := fmt.Sprintf("unknown %s %q in %s", what, name, b)
	switch {
	case what == "attribute" && slices.Contains(b.names.Blocks, name):
		b.problem(at, message, fmt.Sprintf("%s is a block: write %s { ... } without =", name, name))
		return ""
	case what == "block" && slices.Contains(b.names.Attributes, name):
		b.problem(at, message, fmt.Sprintf("%s is an attribute: write %s = ...", name, name))
		return ""
	}
	meant = Nearest(name, known)
	switch {
	case meant != "":
		b.problem(at, message, fmt.Sprintf("did you mean %q?", meant))
	case b.known() == "":
		b.problem(at, message, fmt.Sprintf("%s takes neither attributes nor blocks", b))
	default:
		b.problem(at, message, b.known())
	}
	return meant
}

// known lists the names that may appear in the block, or is "" when there are none.
func (b *Block) known() string {
	var kinds []string
	if len(b.names.Attributes) > 0 {
		kinds = append(kinds, "the attributes here are: "+List(b.names.Attributes))
	}
	if len(b.names.Blocks) > 0 {
		kinds = append(kinds, "the blocks here are: "+List(b.names.Blocks))
	}
	return strings.Join(kinds, "; ")
}

// List joins names for a message.
func List(names []string) string { return strings.Join(names, ", ") }

// String names the block in messages: its type and its labels.
func (b *Block) String() string {
	switch {
	case b.kind == "" && b.included:
		return "a file that is included"
	case b.kind == "":
		return "the file"
	}
	var s strings.Builder
	s.WriteString(b.kind)
	for _, l := range b.labels {
		fmt.Fprintf(&s, " %q", clip(l))
	}
	return s.String()
}

// clip shortens a name for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 70 {
		return string(r[:70]) + "…"
	}
	return s
}

// Label is the block's i-th label, or "" when it has fewer.
func (b *Block) Label(i int) string {
	if i < len(b.labels) {
		return b.labels[i]
	}
	return ""
}

// Has reports whether an attribute is set, rightly spelt or not.
func (b *Block) Has(attribute string) bool {
	_, has := b.attrs[attribute]
	return has
}

// Order tells which of two inner blocks of a block comes first: that with the lower one. What is included stands
// in the place of its include block.
func (b *Block) Order() int { return b.order }

// Where names the block's place for use in a message: path:line:column.
func (b *Block) Where() string { return b.f.where(b.header()) }

// header is the span of the block's type and labels, or whole for a file.
func (b *Block) header() span {
	if b.node == nil {
		return whole
	}
	return b.f.span(hcl.RangeBetween(b.node.TypeRange, b.node.OpenBraceRange)).trimmed(b.f)
}

// trimmed is s without a brace and spaces at its end.
func (s span) trimmed(f *file) span {
	s.end = s.start + len(strings.TrimRight(string(f.src[s.start:s.end]), "{ \t"))
	return s
}

// Problem notes a problem of the whole block and points at its header.
func (b *Block) Problem(message, remedy string) { b.problem(b.header(), message, remedy) }

// LabelProblem notes a problem of the i-th label, which exists.
func (b *Block) LabelProblem(i int, message, remedy string) {
	b.problem(b.f.span(b.node.LabelRanges[i]), message, remedy)
}

// AttrProblem notes a problem of the value of an attribute, or where that is not set, of the block.
func (b *Block) AttrProblem(attribute, message, remedy string) {
	a, has := b.attrs[attribute]
	if !has {
		b.Problem(message, remedy)
		return
	}
	b.r.diagnostics.add(a.f.problem(a.at(), message, remedy))
}

func (b *Block) problem(at span, message, remedy string) {
	b.r.diagnostics.add(b.f.problem(at, message, remedy))
}

// missing notes that something required is absent, unless the file has syntax errors, behind which it may hide.
func (b *Block) missing(what, remedy string) {
	if !b.f.broken {
		b.problem(b.header(), fmt.Sprintf("%s has no %s", b, what), remedy)
	}
}

// Inner says how a kind of block appears inside another.
type Inner struct {
	Names Names
	// Label says what the block's one label is, for messages: "name" or "kind". "" is for none.
	Label string
	// Example is what to write when the block or its label is missing.
	Example  string
	Required bool
	Once     bool // at most one
}

// Blocks returns the inner blocks of a kind in the order of the file, those with a wrong number of labels left
// out. All are checked for unknown names, also those beyond the first where one is allowed.
func (b *Block) Blocks(kind string, want Inner) []*Block {
	var found []*Block
	var first *Block
	for i, in := range b.blocks {
		if in.kind != kind {
			continue
		}
		node := in.node
		inner := newBlock(b.r, in.f, node, node.Body, want.Names, b.scope)
		inner.kind, inner.order = kind, i
		b.replaceIn(inner)
		if first == nil {
			first = inner
		} else if want.Once {
			inner.Problem(fmt.Sprintf("%s has more than one %s block", b, kind),
				fmt.Sprintf("the first is at %s; keep one of the two", first.Where()))
			continue
		}
		switch labels := len(node.Labels); {
		case labels == 0 && want.Label != "":
			inner.Problem(fmt.Sprintf("%s has no %s", kind, want.Label), "write "+want.Example)
		case labels > 0 && want.Label == "":
			inner.LabelProblem(0, fmt.Sprintf("%s takes no name", kind), "write "+want.Example)
		case labels > 1:
			inner.LabelProblem(1, fmt.Sprintf("%s takes one %s, not %d", kind, want.Label, labels), "write "+want.Example)
		default:
			found = append(found, inner)
		}
	}
	if first == nil && want.Required {
		b.missing(kind+" block", "add "+want.Example)
	}
	return found
}
