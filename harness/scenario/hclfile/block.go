package hclfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Names are the allowed names in a block. All other names are problems.
type Names struct {
	Attributes []string
	Blocks     []string
	// Renamed maps former names of attributes and blocks to their current names.
	Renamed map[string]string
	// Any allows every name, because only the caller knows the valid ones.
	Any bool
}

// Block is one block of a file, or the outermost level of a file.
type Block struct {
	r      *Reader
	file   string // its name
	kind   string // the block's type; "" for a file
	node   *hclsyntax.Block
	names  Names
	scope  *scope                          // shared with inner blocks and included files
	attrs  map[string]hclsyntax.Expression // by the correct name, even if the file misspells it
	blocks []inner
	order  int // position among all blocks of the enclosing block

	replaced []replacement
}

// inner is a block inside another, with its type. If the file misspells the type, kind is the type
// that was probably meant, so that the content of the block is checked in the same pass.
type inner struct {
	kind string
	node *hclsyntax.Block
}

// newBlock indexes the attributes and blocks of body by name, and notes a problem for each unknown
// name.
func newBlock(r *Reader, file string, node *hclsyntax.Block, body *hclsyntax.Body, names Names, s *scope) *Block {
	b := &Block{r: r, file: file, node: node, names: names, scope: s, attrs: map[string]hclsyntax.Expression{}}
	if node != nil {
		b.kind = node.Type
	}
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) {
		attr := body.Attributes[name]
		if !names.Any && !slices.Contains(names.Attributes, name) {
			name = b.unknown("attribute", name, attr.NameRange, names.Attributes, names.Blocks)
		}
		if _, has := body.Attributes[name]; name == attr.Name || name != "" && !has {
			b.attrs[name] = attr.Expr
		}
	}
	for _, node := range body.Blocks {
		kind := node.Type
		if !names.Any && !slices.Contains(names.Blocks, kind) {
			kind = b.unknown("block", kind, node.TypeRange, names.Blocks, names.Attributes)
		}
		if kind != "" {
			b.blocks = append(b.blocks, inner{kind, node})
		}
	}
	return b
}

// unknown notes an unknown name, and returns the known name that was probably meant, or "". what is
// "attribute" or "block", and others are the known names of the other kind.
func (b *Block) unknown(what, name string, at hcl.Range, known, others []string) (meant string) {
	meant = Nearest(name, known)
	remedy := Suggest(name, known)
	switch {
	case b.names.Renamed[name] != "":
		meant = b.names.Renamed[name]
		remedy = fmt.Sprintf("the name is now %q", meant)
	case what == "attribute" && slices.Contains(others, name):
		meant, remedy = "", fmt.Sprintf("%s is a block: write %s { ... } without =", name, name)
	case what == "block" && slices.Contains(others, name):
		meant, remedy = "", fmt.Sprintf("%s is an attribute: write %s = ...", name, name)
	case meant == "":
		remedy = fmt.Sprintf("%s takes: %s", b, cmp.Or(List(slices.Concat(known, others)), "nothing"))
	}
	b.r.problem(at, fmt.Sprintf("unknown %s %q in %s", what, clip(name), b), remedy)
	return meant
}

// String returns the block's type and labels, for messages.
func (b *Block) String() string {
	if b.kind == "" {
		return "the file"
	}
	s := b.kind
	for _, l := range b.node.Labels {
		s += fmt.Sprintf(" %q", clip(l))
	}
	return s
}

// Type returns the block's type, such as "scenario" or "floor".
func (b *Block) Type() string { return b.kind }

// Label returns the block's first label, or "" if it has none.
func (b *Block) Label() string {
	if len(b.node.Labels) == 0 {
		return ""
	}
	return b.node.Labels[0]
}

// Has reports whether an attribute is set, even if the file misspells it.
func (b *Block) Has(attribute string) bool { return b.attrs[attribute] != nil }

// Order returns the position of the block among the inner blocks of its enclosing block. Included
// blocks take the position of their include block.
func (b *Block) Order() int { return b.order }

// Where returns the block's place as path:line:column, for messages.
func (b *Block) Where() string { return b.r.where(b.header()) }

func (r *Reader) where(at hcl.Range) string {
	start := r.named[at.Filename].place(at).Start
	return fmt.Sprintf("%s:%d:%d", at.Filename, start.Line, start.Column)
}

// header returns the range of the block's type and labels, or of the whole file for an outermost
// level.
func (b *Block) header() hcl.Range {
	if b.node == nil {
		return hcl.Range{Filename: b.file}
	}
	return b.node.DefRange()
}

// Problem notes a problem of the whole block and points at its header.
func (b *Block) Problem(message, remedy string) { b.r.problem(b.header(), message, remedy) }

// LabelProblem notes a problem of the block's first label. The block must have a label.
func (b *Block) LabelProblem(message, remedy string) {
	b.r.problem(b.node.LabelRanges[0], message, remedy)
}

// AttrProblem notes a problem of the value of an attribute. The message shows the values of the
// variables and locals in it. If the attribute is not set, the problem is that of the block.
func (b *Block) AttrProblem(attribute, message, remedy string) {
	expr, has := b.attrs[attribute]
	if !has {
		b.Problem(message, remedy)
		return
	}
	at := expr.Range()
	b.r.add(&hcl.Diagnostic{Summary: message, Detail: remedy, Subject: &at, Expression: expr, EvalContext: b.scope.context(expr, nil)})
}

// missing notes that something required is absent. It does nothing if the file has syntax errors,
// because the parser may have skipped the required part.
func (b *Block) missing(what, remedy string) {
	if !b.r.named[b.file].broken {
		b.Problem(fmt.Sprintf("%s has no %s", b, what), remedy)
	}
}

// Inner describes a kind of block inside another block.
type Inner struct {
	Names Names
	// Label is the meaning of the block's single label, for messages: "name" or "kind". "" means
	// that the block has no label.
	Label string
	// Example is the text that messages suggest if the block or its label is missing.
	Example  string
	Required bool
	Once     bool // at most one
}

// Blocks returns the inner blocks of a kind in the order of the file, without those that have a
// wrong number of labels. It checks all of them for unknown names, even surplus blocks of a kind
// that is allowed once.
func (b *Block) Blocks(kind string, want Inner) []*Block {
	var found []*Block
	var first *Block
	for i, in := range b.blocks {
		if in.kind != kind {
			continue
		}
		node := in.node
		inner := newBlock(b.r, node.TypeRange.Filename, node, node.Body, want.Names, b.scope)
		inner.kind, inner.order = kind, i
		b.replaceIn(inner)
		if first == nil {
			first = inner
		} else if want.Once {
			inner.Problem(fmt.Sprintf("%s has more than one %s block", b, kind), fmt.Sprintf("the first is at %s; keep one of the two", first.Where()))
			continue
		}
		switch labels := len(node.Labels); {
		case labels == 0 && want.Label != "":
			inner.Problem(fmt.Sprintf("%s has no %s", kind, want.Label), "write "+want.Example)
		case labels > 0 && want.Label == "":
			inner.LabelProblem(fmt.Sprintf("%s takes no name", kind), "write "+want.Example)
		case labels > 1:
			b.r.problem(node.LabelRanges[1], fmt.Sprintf("%s takes one %s, not %d", kind, want.Label, labels), "write "+want.Example)
		default:
			found = append(found, inner)
		}
	}
	if first == nil && want.Required {
		b.missing(kind+" block", "add "+want.Example)
	}
	return found
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

// HasBlock reports whether the block has an inner block of a kind.
func (b *Block) HasBlock(kind string) bool {
	return slices.ContainsFunc(b.blocks, func(in inner) bool { return in.kind == kind })
}

// Problems returns the number of problems that the reader has noted so far, in all files.
func (b *Block) Problems() int { return len(b.r.problems) + b.r.omitted }
