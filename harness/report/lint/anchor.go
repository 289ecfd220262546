package lint

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
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

// HeadingText is a heading's text, with what is in code.
func HeadingText(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, is := c.(*ast.Text); is {
			b.Write(t.Segment.Value(source))
			continue
		}
		b.WriteString(HeadingText(c, source))
	}
	return b.String()
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
