package doc

import (
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// None is the cell of a figure that was not measured.
const None = "–"

// Escape marks foreign text as text without markup, and joins its lines.
func Escape(s string) string { return escaper.Replace(oneLine(s)) }

var escaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `&lt;`, `>`, `&gt;`, `#`, `\#`, `&`, `&amp;`, `~`, `\~`,
)

// Code marks foreign text as code, and joins its lines. It uses as many backticks as the text
// needs.
func Code(s string) string {
	s = oneLine(s)
	if s == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence != "`" {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// inline parses a text of one line: no mark at its beginning makes it a list or a heading.
var inline = parser.NewParser(
	parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1)), parser.WithInlineParsers(parser.DefaultInlineParsers()...),
)

// Plain returns the text that the Markdown of one line represents.
func Plain(markdown string) string {
	source := []byte(strings.TrimSpace(markdown)) // an indented line would be a block of code
	return TextOf(inline.Parse(text.NewReader(source)), source)
}

func plainAll(markdown []string) []string {
	all := make([]string, len(markdown))
	for i, s := range markdown {
		all[i] = Plain(s)
	}
	return all
}

// terminalColumns is the width of paragraphs and lists in a terminal.
const terminalColumns = 100

// wrapped breaks a text into lines: the first one begins with first, the others with next. A word
// that is longer than a line has its own line.
func wrapped(s, first, next string) string {
	line, lines := first, ""
	for i, word := range strings.Fields(s) {
		switch {
		case i == 0:
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > terminalColumns:
			lines += line + "\n"
			line = next
		default:
			line += " "
		}
		line += word
	}
	return lines + line + "\n"
}
