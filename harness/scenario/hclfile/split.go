package hclfile

import (
	"bytes"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxDepth bounds how deeply brackets nest, and with it the recursion of the parser.
const maxDepth = 50

// bracket is an open bracket during the walk of split.
type bracket struct {
	block   bool // the brace of a block, as against one of an object, a list, a call or a template
	opening int  // index of the bracket's token
	first   int  // index of the first attribute name since the last newline in this bracket, or -1
	several bool // a second attribute stands on that line
}

// split finds where a newline must be inserted so that HCL, which allows one attribute per line, reads blocks
// with several: before each attribute but the first of a line, and around the braces of such a block where
// they share its line. The answer is ascending offsets into the source that the tokens came from. It also
// returns the token at which brackets nest deeper than maxDepth, or -1.
func split(tokens hclsyntax.Tokens) (breaks []int, tooDeep int) {
	var open []bracket
	for i, token := range tokens {
		top := len(open) - 1
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen,
			hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			if len(open) == maxDepth {
				return nil, i
			}
			open = append(open, bracket{block: opensBlock(tokens, i), opening: i, first: -1})

		case hclsyntax.TokenCBrace:
			if top >= 0 && open[top].several {
				breaks = append(breaks, token.Range.Start.Byte)
			}
			open = open[:max(top, 0)]

		case hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd,
			hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			open = open[:max(top, 0)]

		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			// A comment to the end of the line holds the newline; one between /* and */ does not.
			if top >= 0 && bytes.HasSuffix(token.Bytes, []byte{'\n'}) {
				open[top].first, open[top].several = -1, false
			}

		case hclsyntax.TokenIdent:
			if top < 0 || !open[top].block || i+1 == len(tokens) || tokens[i+1].Type != hclsyntax.TokenEqual {
				continue
			}
			line := &open[top]
			switch {
			case line.first < 0:
				line.first = i
			case endsValue(tokens[i-1].Type):
				if !line.several && line.first == line.opening+1 {
					breaks = append(breaks, tokens[line.first].Range.Start.Byte)
				}
				line.several = true
				breaks = append(breaks, token.Range.Start.Byte)
			}
		}
	}
	return ascending(breaks), -1
}

// opensBlock says whether the token at i is the brace of a block: one after a block's type or label.
func opensBlock(tokens hclsyntax.Tokens, i int) bool {
	if tokens[i].Type != hclsyntax.TokenOBrace || i == 0 {
		return false
	}
	before := tokens[i-1].Type
	return before == hclsyntax.TokenIdent || before == hclsyntax.TokenCQuote
}

// endsValue says whether a token can be the last of an attribute's value.
func endsValue(t hclsyntax.TokenType) bool {
	switch t {
	case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenCQuote,
		hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace:
		return true
	}
	return false
}

// ascending sorts breaks that are nearly sorted: the one before a line's first attribute is found late.
func ascending(breaks []int) []int {
	for i := 1; i < len(breaks); i++ {
		for j := i; j > 0 && breaks[j] < breaks[j-1]; j-- {
			breaks[j], breaks[j-1] = breaks[j-1], breaks[j]
		}
	}
	return breaks
}

// insert returns src with a newline before each offset of breaks.
func insert(src []byte, breaks []int) []byte {
	out := make([]byte, 0, len(src)+len(breaks))
	from := 0
	for _, at := range breaks {
		out = append(out, src[from:at]...)
		out = append(out, '\n')
		from = at
	}
	return append(out, src[from:]...)
}
