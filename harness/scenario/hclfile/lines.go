package hclfile

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Bounds on the text of a file. They limit the recursion and the memory of the parser and of the
// evaluation.
const (
	bracketsMax = 50   // nesting depth of brackets
	exponentMax = 1024 // binary exponent; decimal forms take memory in proportion
)

var (
	opening = []hclsyntax.TokenType{
		hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp,
		hclsyntax.TokenTemplateControl, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc,
	}
	closing = []hclsyntax.TokenType{
		hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd,
		hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc,
	}
	// valueEnds are the tokens that can end the value of an attribute.
	valueEnds = []hclsyntax.TokenType{
		hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenCQuote, hclsyntax.TokenCParen, hclsyntax.TokenCBrack,
		hclsyntax.TokenCBrace,
	}
)

// excessive returns the range of the first token that exceeds a bound, and a message. It returns
// nil if no token does.
func excessive(tokens hclsyntax.Tokens) (at *hcl.Range, message string) {
	depth := 0
	for i, token := range tokens {
		exponent := bytes.IndexAny(token.Bytes, "eE")
		switch {
		case slices.Contains(opening, token.Type):
			depth++
		case slices.Contains(closing, token.Type):
			depth--
		case token.Type == hclsyntax.TokenNumberLit && exponent >= 0 && len(token.Bytes)-exponent > len("e+999"):
			return &tokens[i].Range, "a number has an exponent beyond 999"
		}
		if depth > bracketsMax {
			return &tokens[i].Range, fmt.Sprintf("brackets nest more than %d deep", bracketsMax)
		}
	}
	return nil, ""
}

type level struct {
	block   bool // the brace of a block, not of an object, a list, a call or a template
	begins  int  // index of the bracket's token
	first   int  // index of the first attribute's name on this line, or -1
	several bool // there is a second attribute on that line
}

// separate puts each attribute on a separate line, because HCL allows only one per line. It
// replaces the space before each attribute except the first of a line, and the spaces next to the
// braces of a block on the same line, by newlines. Offsets do not change.
func separate(src []byte, tokens hclsyntax.Tokens) []byte {
	out := bytes.Clone(src)
	breakBefore := func(i int) {
		if at := tokens[i].Range.Start.Byte - 1; at >= 0 && (out[at] == ' ' || out[at] == '\t') {
			out[at] = '\n'
		}
	}
	open := []level{{}}
	for i, token := range tokens {
		in := &open[len(open)-1]
		switch {
		case slices.Contains(opening, token.Type):
			block := token.Type == hclsyntax.TokenOBrace && i > 0 &&
				(tokens[i-1].Type == hclsyntax.TokenIdent || tokens[i-1].Type == hclsyntax.TokenCQuote)
			open = append(open, level{block: block, begins: i, first: -1})
		case slices.Contains(closing, token.Type):
			if token.Type == hclsyntax.TokenCBrace && in.several {
				breakBefore(i)
			}
			open = open[:max(len(open)-1, 1)]
		case bytes.HasSuffix(token.Bytes, []byte{'\n'}): // a newline, or a comment with one
			in.first, in.several = -1, false
		case token.Type != hclsyntax.TokenIdent || !in.block || tokens[i+1].Type != hclsyntax.TokenEqual:
		case in.first < 0:
			in.first = i
		case slices.Contains(valueEnds, tokens[i-1].Type):
			if in.first == in.begins+1 {
				breakBefore(in.first)
			}
			in.several = true
			breakBefore(i)
		}
	}
	return out
}
