package doc

import (
	"bufio"
	"html"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	renderer "github.com/yuin/goldmark/renderer/html"
)

// Anchors returns the unique link names of a document's headings, as GitHub generates them.
func Anchors(root ast.Node, source []byte) map[*ast.Heading]string {
	anchors, taken := map[*ast.Heading]string{}, map[string]bool{}
	// The visitor returns no error.
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		h, is := n.(*ast.Heading)
		if !is || !entering {
			return ast.WalkContinue, nil
		}
		name := Anchor(TextOf(h, source))
		free := name
		for i := 1; taken[free]; i++ {
			free = name + "-" + strconv.Itoa(i)
		}
		taken[free], anchors[h] = true, free
		return ast.WalkSkipChildren, nil
	})
	return anchors
}

// TextOf returns the text of a heading or another node as a reader sees it, including code. It
// resolves backslash escapes and character references such as &lt;.
func TextOf(n ast.Node, source []byte) string {
	_, code := n.(*ast.CodeSpan)
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		t, is := c.(*ast.Text)
		switch {
		case !is:
			b.WriteString(TextOf(c, source))
		case code:
			b.Write(t.Segment.Value(source))
		default:
			b.WriteString(unescaped(t.Segment.Value(source)))
		}
	}
	return b.String()
}

// unescaped returns the text that Markdown outside of code represents.
func unescaped(markdown []byte) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	renderer.DefaultWriter.Write(w, markdown)
	_ = w.Flush() // a strings.Builder returns no error
	return html.UnescapeString(b.String())
}

// Anchor returns a heading's name in links: lower case, with dashes for spaces and without
// punctuation, as GitHub generates it.
func Anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
