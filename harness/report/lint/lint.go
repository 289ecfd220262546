// Package lint finds what documents and pages must not have: praise without a figure beside it, rates that do not say what was measured, links that
// lead nowhere, published pages without their data, and figures typed by hand into the sources of pages. It warns of pages that are older than the
// code that they measured.
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

// Rule names what is wrong.
type Rule string

// The rules. Stale is a warning, all others are errors.
const (
	Praise     Rule = "praise"     // a word of praise without a figure in its sentence
	Provenance Rule = "provenance" // a rate beside which nothing says what was measured, or a page without the data that it was made from
	Link       Rule = "link"       // a link within the repository that leads nowhere
	Typed      Rule = "typed"      // a figure in the source of a page that was typed by hand
	Generated  Rule = "generated"  // a generated page that is not what its source and the data make, or a source that makes no page
	Stale      Rule = "stale"      // pages that are older than the code that they measured
)

// Finding is something that a document must not have.
type Finding struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
	Rule Rule   `json:"rule"`
	Text string `json:"text"` // what is wrong and what to do, one sentence
}

// Warning reports whether the finding fails no build.
func (f Finding) Warning() bool { return f.Rule == Stale }

// String is the finding as compilers write theirs: "README.md:12: link: ...".
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Text) }

// Files looks at Markdown files, and returns what it finds by file and line. It is an error if one can't be read.
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

// finding is one at a place of the source.
func (d *document) finding(at int, rule Rule, format string, args ...any) Finding {
	return Finding{d.path, 1 + bytes.Count(d.source[:at], []byte("\n")), rule, fmt.Sprintf(format, args...)}
}

// walk calls visit for each node, parents before children, until visit returns false for the children of one.
func (d *document) walk(visit func(ast.Node) (children bool)) {
	_ = ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // no visit returns an error
		if entering && !visit(n) {
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
}

// start is where in the source a node's text begins, or its parent's if it has none.
func start(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if at, found := firstText(n); found {
			return at
		}
	}
	return 0
}

// firstText finds where the text of a node or of its first child with text begins.
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
