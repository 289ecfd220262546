package lint

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// passage is a unit of text: a paragraph, a heading, an item of a list, or a row of a table.
type passage struct {
	at     int    // offset in the source
	text   string // its prose, without code and link addresses
	source bool   // whether it has code or a link, which can be the source of a figure
	// section is the number of headings before it.
	section int
}

// passages returns the passages of a document, without code blocks.
func passages(d *document) (all []passage) {
	section := 0
	d.walk(func(n ast.Node) bool {
		switch n.(type) {
		case *ast.Paragraph, *ast.TextBlock, *ast.Heading, *east.TableRow, *east.TableHeader:
			if _, heading := n.(*ast.Heading); heading {
				section++
			}
			p := passage{at: start(n), section: section}
			var text strings.Builder
			p.collect(n, d.source, &text)
			p.text = text.String()
			all = append(all, p)
			return false
		case *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock:
			return false
		}
		return true
	})
	return all
}

func (p *passage) collect(n ast.Node, source []byte, text *strings.Builder) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			text.Write(c.Segment.Value(source))
			if c.SoftLineBreak() || c.HardLineBreak() {
				text.WriteByte(' ')
			}
		case *ast.CodeSpan:
			p.source = true
			text.WriteByte('`')
		case *ast.Link, *ast.AutoLink, *ast.Image:
			p.source = true
			p.collect(c, source, text)
		default:
			p.collect(c, source, text)
			if _, cell := c.(*east.TableCell); cell {
				text.WriteString(" | ")
			}
		}
	}
}

var (
	// sentenceEnd splits a passage into sentences. A dot within a number or a name does not end a
	// sentence.
	sentenceEnd = regexp.MustCompile(`[.!?;]['")]*\s+`)
	figure      = regexp.MustCompile(`\d`)
	rate        = regexp.MustCompile(`\d[\d,.]* (cycles|tasks|enqueues|operations|requests|messages)/s\b`)
	praising    = regexp.MustCompile(`(?i)\b(fast|fastest|blazing|lightning-fast|scalable|robust|high-performance|performant|powerful|lightweight|` +
		`seamless|seamlessly|effortless|effortlessly|cutting-edge|world-class|best-in-class|state-of-the-art|unmatched|unrivalled|superior|` +
		`enterprise-grade|production-grade|rock-solid|bulletproof)\b`)
	// quoted matches quotations.
	quoted = regexp.MustCompile(`"[^"]*"|“[^”]*”`)
	// asking matches uses of such a word without a claim: "how fast", "as fast as", and a sentence
	// that also has "slow".
	asking = regexp.MustCompile(`(?i)\bhow fast\b|\bas fast as\b|\bslow(er|s|ed)?\b`)
)

// praise finds words of praise in sentences without a figure, except in quotations.
func praise(d *document) (all []Finding) {
	for _, p := range passages(d) {
		for _, sentence := range sentenceEnd.Split(quoted.ReplaceAllString(p.text, `""`), -1) {
			word := praising.FindString(sentence)
			if word == "" || figure.MatchString(sentence) || asking.MatchString(sentence) {
				continue
			}
			all = append(all, d.finding(p.at, Praise, "%q has no figure in its sentence %q: add the figure, or omit the word", word, strings.TrimSpace(sentence)))
		}
	}
	return all
}

// rates finds rates without a source: neither code nor a link in the same section or in the section
// of the document's title, which applies to the whole document.
func rates(d *document) (all []Finding) {
	read := passages(d)
	said := map[int]bool{}
	for _, p := range read {
		said[p.section] = said[p.section] || p.source
	}
	for _, p := range read {
		if found := rate.FindString(p.text); found != "" && !said[p.section] && !said[1] {
			all = append(all, d.finding(p.at, Provenance, "%q has no source: name the scenario or the command, or link to the page", found))
		}
	}
	return all
}
