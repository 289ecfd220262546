package hclfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	includeBlock = "include"
	// includesMax bounds how many files one block includes, those that they include counted.
	includesMax = 32
	// includeDepthMax bounds how deeply files include one another.
	includeDepthMax = 8
)

// Include replaces each include "PATH" {} in the block by the blocks of that file, whose path is relative to the
// file it is written in. kinds are the blocks that such a file may hold besides variable, locals and include: those
// two are of the whole file that the block is in. It is called before Declare, and once.
func (b *Block) Include(kinds []string) {
	inc := inclusion{
		into: b, seen: map[*file]string{b.f: ""},
		names: Names{Blocks: slices.Concat(kinds, []string{includeBlock, variableBlock, localsBlock})},
	}
	b.blocks = inc.expand(b.blocks, []*file{b.f})
}

// inclusion is the work of one Include.
type inclusion struct {
	into  *Block
	names Names
	seen  map[*file]string // where each file was included; "" for the one that includes
	full  bool             // that there are too many was said
}

// expand returns blocks with the included ones in the place of each include. chain is the files that led here.
func (inc *inclusion) expand(blocks []inner, chain []*file) []inner {
	var all []inner
	for _, in := range blocks {
		if in.kind != includeBlock {
			all = append(all, in)
			continue
		}
		if root := inc.open(in, chain); root != nil {
			root.declare()
			all = append(all, inc.expand(root.own(), append(slices.Clip(chain), root.f))...)
		}
	}
	return all
}

// own is the blocks of an included file that stand in the place of its include.
func (b *Block) own() []inner {
	return slices.DeleteFunc(slices.Clone(b.blocks), func(in inner) bool {
		return in.kind == variableBlock || in.kind == localsBlock
	})
}

// open reads the file that an include names, or notes why it can't and returns nil.
func (inc *inclusion) open(in inner, chain []*file) *Block {
	node, r := in.node, inc.into.r
	at := in.f.span(node.TypeRange)
	refuse := func(message, remedy string) *Block {
		r.diagnostics.add(in.f.problem(at, message, remedy))
		return nil
	}
	if len(node.Labels) != 1 {
		return refuse(fmt.Sprintf("include takes one path, not %d", len(node.Labels)), `write include "shared/common.hcl" {}`)
	}
	for _, name := range sortedNames(node.Body.Attributes) {
		r.diagnostics.add(in.f.problem(in.f.span(node.Body.Attributes[name].NameRange), "include takes no attributes", "what differs is said by variables and locals"))
	}
	for _, nested := range node.Body.Blocks {
		r.diagnostics.add(in.f.problem(in.f.span(nested.TypeRange), "include takes no blocks", "write them beside it"))
	}
	at = in.f.span(node.LabelRanges[0])
	label := node.Labels[0]
	switch {
	case label == "" || len(label) > 500 || strings.ContainsRune(label, 0):
		return refuse("include has a path that is empty or longer than 500 bytes", "")
	case filepath.IsAbs(label):
		return refuse(fmt.Sprintf("%s is not a relative path", strconv.Quote(clip(label))), "a path is relative to the file that includes")
	case len(chain) > includeDepthMax:
		return refuse(fmt.Sprintf("files include one another more than %d deep", includeDepthMax), "")
	}
	s := r.open(filepath.Join(filepath.Dir(in.f.name), filepath.FromSlash(label)))
	if s.err != nil {
		return refuse(fmt.Sprintf("%s %v", clip(s.file.name), s.err), "a path is relative to the file that includes")
	}
	if slices.Contains(chain, s.file) {
		return refuse(fmt.Sprintf("%s includes itself", clip(s.file.name)), "through "+path(chain, s.file))
	}
	if first, twice := inc.seen[s.file]; twice {
		return refuse(fmt.Sprintf("%s is included twice", clip(s.file.name)), "the first is at "+first+"; keep one of the two")
	}
	if len(inc.seen) > includesMax {
		if inc.full {
			return nil
		}
		inc.full = true
		return refuse(fmt.Sprintf("%s includes more than %d files", inc.into, includesMax), "")
	}
	inc.seen[s.file] = in.f.where(at)
	if s.body == nil {
		return nil // why was noted
	}
	root := &Block{r: r, f: s.file, names: inc.names, scope: inc.into.scope, attrs: map[string]attribute{}, included: true}
	root.sort(s.body)
	return root
}

// path writes how files led to one of them.
func path(chain []*file, to *file) string {
	var names []string
	for _, f := range chain[slices.Index(chain, to):] {
		names = append(names, f.name)
	}
	return strings.Join(append(names, to.name), " → ")
}

// source is a file that was read.
type source struct {
	file *file
	body *hclsyntax.Body // nil where nothing can be asked, which was noted unless err says it
	err  error           // why it can't be read
}

// open reads a file, once however often it is asked for.
func (r *Reader) open(path string) *source {
	path = filepath.Clean(path)
	if s, known := r.sources[path]; known {
		return s
	}
	src, err := r.read(path)
	f := &file{name: path, order: r.files, src: src}
	r.files++
	s := &source{file: f, err: err}
	if err == nil {
		s.body = r.body(f)
	}
	r.keep(s)
	return s
}

func (r *Reader) keep(s *source) {
	if r.sources == nil {
		r.sources = map[string]*source{}
	}
	r.sources[filepath.Clean(s.file.name)] = s
}
