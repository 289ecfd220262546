package lint

import (
	"bufio"
	"html"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	renderer "github.com/yuin/goldmark/renderer/html"
)

// Anchors returns the names that links give to the headings of a document, as GitHub makes them: no two headings have the same.
func Anchors(root ast.Node, source []byte) map[*ast.Heading]string {
	anchors, taken := map[*ast.Heading]string{}, map[string]bool{}
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the visit returns no error
		h, is := n.(*ast.Heading)
		if !is || !entering {
			return ast.WalkContinue, nil
		}
		name := Anchor(HeadingText(h, source))
		free := name
		for i := 1; taken[free]; i++ {
			free = name + "-" + strconv.Itoa(i)
		}
		taken[free], anchors[h] = true, free
		return ast.WalkSkipChildren, nil
	})
	return anchors
}

// HeadingText is a heading's text as a reader sees it, code included: backslash escapes and character references such as &lt;
// are resolved.
func HeadingText(n ast.Node, source []byte) string {
	_, code := n.(*ast.CodeSpan)
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		t, is := c.(*ast.Text)
		switch {
		case !is:
			b.WriteString(HeadingText(c, source))
		case code:
			b.Write(t.Segment.Value(source))
		default:
			b.WriteString(unescaped(t.Segment.Value(source)))
		}
	}
	return b.String()
}

// unescaped is the text that Markdown outside code stands for.
func unescaped(markdown []byte) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	renderer.DefaultWriter.Write(w, markdown)
	_ = w.Flush() // a strings.Builder returns no error
	return html.UnescapeString(b.String())
}

// Anchor is a heading's name in links: in small letters, with dashes for spaces and without punctuation, as GitHub makes it.
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
