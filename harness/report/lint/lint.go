// Package lint finds problems in documents and pages: praise without a figure, rates without a
// source, dead links, published pages without their data, and hand-typed figures in the sources of
// pages. It warns of pages that are older than the code that they measured.
package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Rule is the kind of a problem.
type Rule string

// The rules. Stale is a warning, all others are errors.
const (
	Praise     Rule = "praise"     // a word of praise without a figure in its sentence
	Provenance Rule = "provenance" // a rate without a source, or a page without its data
	Link       Rule = "link"       // a dead link within the repository
	Typed      Rule = "typed"      // a figure in the source of a page that was typed by hand
	// A generated page that differs from its source's output, or an invalid source.
	Generated Rule = "generated"
	Stale     Rule = "stale" // pages that are older than the code that they measured
)

// Finding is a problem in a document.
type Finding struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
	Rule Rule   `json:"rule"`
	Text string `json:"text"` // the problem and the remedy, one sentence
}

// Warning reports whether the finding is only a warning and does not fail a build.
func (f Finding) Warning() bool { return f.Rule == Stale }

// String formats the finding like a compiler error: "README.md:12: link: ...".
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Text) }

// Files checks Markdown files, and returns the findings by file and line. It returns an error if a
// file cannot be read.
func Files(paths ...string) (all []Finding, err error) {
	l := linter{anchors: map[string]map[string]bool{}}
	for _, path := range paths {
		d, err := read(path)
		if err != nil {
			return nil, err
		}
		all = append(all, praise(d)...)
		all = append(all, rates(d)...)
		links, err := l.links(d)
		if err != nil {
			return nil, err
		}
		all = append(all, links...)
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return all, nil
}

// document is a parsed Markdown file.
type document struct {
	path   string
	source []byte
	root   ast.Node
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

func read(path string) (*document, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	return &document{filepath.Clean(path), source, markdown.Parser().Parse(text.NewReader(source))}, nil
}

func (d *document) finding(at int, rule Rule, format string, args ...any) Finding {
	return Finding{d.path, 1 + bytes.Count(d.source[:at], []byte("\n")), rule, fmt.Sprintf(format, args...)}
}

// walk calls visit for each node, parents first. If visit returns false, walk skips the children of
// the node.
func (d *document) walk(visit func(ast.Node) (children bool)) {
	// The visitor returns no error.
	_ = ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && !visit(n) {
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
}

// start returns the offset of a node's text in the source, or that of its parent if it has no text.
func start(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if at, found := firstText(n); found {
			return at
		}
	}
	return 0
}

// firstText returns the offset of the text of a node or of its first child with text.
func firstText(n ast.Node) (at int, found bool) {
	if t, is := n.(*ast.Text); is {
		return t.Segment.Start, true
	}
	if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
		return n.Lines().At(0).Start, true
	}
	for c := n.FirstChild(); c != nil && !found; c = c.NextSibling() {
		at, found = firstText(c)
	}
	return at, found
}
