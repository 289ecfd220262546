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
	// includesMax bounds the number of files that one block includes, directly or indirectly.
	includesMax   = 32
	includeSuffix = ".hcl"
)

// Include replaces each include "PATH" {} in the block by the blocks of that file. The path is
// relative to the file with the include. The included file must be in or below the folder of the
// block's file, even after symbolic links are resolved, and its name must end in .hcl. No other
// file is read, because messages show lines of the files that they refer to. kinds are the allowed
// blocks of an included file, in addition to include, variable and locals; the last two apply to
// the whole file of the block. Include must be called at most once, and before Declare.
func (b *Block) Include(kinds []string) {
	inc := inclusion{
		into: b, folder: filepath.Dir(b.file), seen: map[*source]string{b.r.named[b.file]: ""},
		names: Names{Blocks: slices.Concat(kinds, []string{includeBlock, variableBlock, localsBlock})},
	}
	b.blocks = inc.expand(b.blocks)
}

// inclusion is the state of one call of Include.
type inclusion struct {
	into   *Block
	folder string // of the block's file: all included files are in or below it
	names  Names
	seen   map[*source]string // where each file was included; "" for the block's file
}

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

// open reads the file of an include block. It returns nil after it noted a problem.
func (inc *inclusion) open(in inner) *Block {
	node, r := in.node, inc.into.r
	if len(node.Labels) != 1 {
		r.problem(node.TypeRange, fmt.Sprintf("include takes one path, not %d", len(node.Labels)), `write include "shared/common.hcl" {}`)
		return nil
	}
	if len(node.Body.Attributes)+len(node.Body.Blocks) > 0 {
		r.problem(node.TypeRange, "include takes neither attributes nor blocks", "use variables and locals to vary an included file")
	}
	at := node.LabelRanges[0]
	s, message, remedy := inc.source(at, node.Labels[0])
	if message != "" {
		r.problem(at, message, remedy)
		return nil
	}
	inc.seen[s] = r.where(at)
	if s.body == nil {
		return nil // the problem was noted
	}
	return newBlock(r, s.name, nil, s.body, inc.names, inc.into.scope)
}

// source reads the file that a label names. If it can't be included, it returns a message and a
// remedy.
func (inc *inclusion) source(at hcl.Range, label string) (s *source, message, remedy string) {
	const relative = "a path is relative to the file that includes"
	switch {
	case label == "" || len(label) > pathBytesMax || strings.ContainsRune(label, 0):
		return nil, fmt.Sprintf("include has a path that is empty or longer than %d bytes", pathBytesMax), ""
	case filepath.IsAbs(label):
		return nil, fmt.Sprintf("%s is not a relative path", strconv.Quote(clip(label))), relative
	case !strings.HasSuffix(label, includeSuffix):
		return nil, fmt.Sprintf("%s does not end in %s", strconv.Quote(clip(label)), includeSuffix), "include only .hcl files"
	case len(inc.seen) > includesMax:
		return nil, fmt.Sprintf("%s includes more than %d files", inc.into, includesMax), "merge some of them"
	}
	path := filepath.Join(filepath.Dir(at.Filename), filepath.FromSlash(label))
	if way := inc.leadsOut(path); way != "" {
		return nil, fmt.Sprintf("%s %s the folder %s", strconv.Quote(clip(label)), way, clip(inc.folder)),
			"an included file must be in or below the folder of the scenario's file"
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

// leadsOut returns a text if a path leads out of the folder, and "" otherwise. It returns "" for a
// path that can't be resolved, which the reader reports.
func (inc *inclusion) leadsOut(path string) string {
	if !below(inc.folder, path) {
		return "leads out of"
	}
	if inc.into.r.Read != nil { // there are no symbolic links
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

func below(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}
