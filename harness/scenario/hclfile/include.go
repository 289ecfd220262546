package hclfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

const (
	includeBlock = "include"
	// includesMax bounds how many files one block includes, those that they include counted.
	includesMax = 32
	// includeSuffix ends the name of each included file.
	includeSuffix = ".hcl"
)

// Include replaces each include "PATH" {} in the block by the blocks of that file, whose path is
// relative to the file it is written in. Such a file lies in the folder of the block's own file or
// below it, also behind symbolic links, and its name ends in .hcl: no other file is read, since
// problems show lines of the files that they are in. kinds are the blocks that such a file may hold
// besides variable, locals and include: those two are of the whole file that the block is in. It is
// called before Declare, and once.
func (b *Block) Include(kinds []string) {
	inc := inclusion{
		into: b, folder: filepath.Dir(b.file), seen: map[*source]string{b.r.named[b.file]: ""},
		names: Names{Blocks: slices.Concat(kinds, []string{includeBlock, variableBlock, localsBlock})},
	}
	b.blocks = inc.expand(b.blocks)
}

// inclusion is the work of one Include.
type inclusion struct {
	into   *Block
	folder string // of the file that the block is in: all that is included lies in it or below it
	names  Names
	seen   map[*source]string // where each file was included; "" for the one that includes
}

// expand returns blocks with the included ones in the place of each include.
func (inc *inclusion) expand(blocks []inner) []inner {
	var all []inner
	for _, in := range blocks {
		if in.kind != includeBlock {
			all = append(all, in)
			continue
		}
		if root := inc.open(in); root != nil {
			root.declare()
			own := slices.DeleteFunc(root.blocks, func(in inner) bool { return in.kind == variableBlock || in.kind == localsBlock })
			all = append(all, inc.expand(own)...)
		}
	}
	return all
}

// open reads the file that an include names, or notes why it can't and returns nil.
func (inc *inclusion) open(in inner) *Block {
	node, r := in.node, inc.into.r
	if len(node.Labels) != 1 {
		r.problem(node.TypeRange, fmt.Sprintf("include takes one path, not %d", len(node.Labels)), `write include "shared/common.hcl" {}`)
		return nil
	}
	if len(node.Body.Attributes)+len(node.Body.Blocks) > 0 {
		r.problem(node.TypeRange, "include takes neither attributes nor blocks", "what differs is said by variables and locals")
	}
	at := node.LabelRanges[0]
	s, message, remedy := inc.source(at, node.Labels[0])
	if message != "" {
		r.problem(at, message, remedy)
		return nil
	}
	inc.seen[s] = r.where(at)
	if s.body == nil {
		return nil // why was noted
	}
	return newBlock(r, s.name, nil, s.body, inc.names, inc.into.scope)
}

// source reads the file that a label names, or says why it can't be included.
func (inc *inclusion) source(at hcl.Range, label string) (s *source, message, remedy string) {
	const relative = "a path is relative to the file that includes"
	switch {
	case label == "" || len(label) > pathBytesMax || strings.ContainsRune(label, 0):
		return nil, fmt.Sprintf("include has a path that is empty or longer than %d bytes", pathBytesMax), ""
	case filepath.IsAbs(label):
		return nil, fmt.Sprintf("%s is not a relative path", strconv.Quote(clip(label))), relative
	case !strings.HasSuffix(label, includeSuffix):
		return nil, fmt.Sprintf("%s does not end in %s", strconv.Quote(clip(label)), includeSuffix), "only files of blocks are included"
	case len(inc.seen) > includesMax:
		return nil, fmt.Sprintf("%s includes more than %d files", inc.into, includesMax), "write some of them as one"
	}
	path := filepath.Join(filepath.Dir(at.Filename), filepath.FromSlash(label))
	if way := inc.leadsOut(path); way != "" {
		return nil, fmt.Sprintf("%s %s the folder %s", strconv.Quote(clip(label)), way, clip(inc.folder)),
			"an included file lies in the folder of the scenario's file, or below it"
	}
	s = inc.into.r.open(path)
	first, twice := inc.seen[s]
	switch {
	case s.err != nil:
		return nil, fmt.Sprintf("%s %v", clip(s.name), s.err), relative
	case twice && first == "":
		return nil, clip(s.name) + " includes itself", "remove the include"
	case twice:
		return nil, clip(s.name) + " is included twice", "the first is at " + first + "; keep one of the two"
	}
	return s, "", ""
}

// leadsOut says how a path leads out of the folder, or returns "". A path that can't be followed is
// for the reader to report.
func (inc *inclusion) leadsOut(path string) string {
	if !below(inc.folder, path) {
		return "leads out of"
	}
	if inc.into.r.Read != nil { // nothing is a symbolic link there
		return ""
	}
	folder, err := filepath.EvalSymlinks(inc.folder)
	if err != nil {
		return ""
	}
	if target, err := filepath.EvalSymlinks(path); err == nil && !below(folder, target) {
		return "is a symbolic link that leads out of"
	}
	return ""
}

// below reports whether a path is in a folder or below it.
func below(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}
