package doc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/report/doc"
)

// foreign is a text that no form may interpret.
const foreign = "*a* _b_ `c` <i>d</i> | [e](f) #g &amp; \\h ~i~"

// page has an element of each kind, and sections without content for a terminal.
func page() *doc.Document {
	d := &doc.Document{}
	d.Heading(1, "Two %s", doc.Escape("*hosts*"))
	d.Paragraph("**Verdict** of %s: %s", doc.Code(foreign), doc.Escape(foreign))
	d.Note("Medians of *n* rounds.")
	d.Heading(2, "Figures, durability %s", doc.Code("none"))
	d.Table([]string{"metric", ">value", "`why`"}, [][]string{
		{doc.Code("cycles|per_s"), "1,234", doc.Escape(foreign)},
		{"µs", "5", doc.None},
	})
	d.List([]string{"one", "[two](two.md)"})
	d.List(nil)
	d.Plot("Rate, durability none", "rate.svg", "Rate. Durability `none`")
	d.Plot("Memory", "memory.svg", "")
	d.Heading(2, "Plots")
	d.Heading(3, "Only notes")
	d.Note("None.")
	d.Heading(2, "Events")
	d.Heading(3, "First")
	d.Listed("Seen:", []string{foreign, strings.Repeat("word ", 30)})
	d.Listed("Not seen:", nil)
	d.Heading(2, "What this does not measure")
	d.Note("Another day.")
	return d
}

func TestMarkdown(t *testing.T) {
	const escaped = "\\*a\\* \\_b\\_ \\`c\\` &lt;i&gt;d&lt;/i&gt; | \\[e\\](f) \\#g &amp;amp; \\\\h \\~i\\~"
	assert.Equal(t, "# Two \\*hosts\\*\n"+
		"\n**Verdict** of `` "+foreign+" ``: "+escaped+"\n"+
		"\nMedians of *n* rounds.\n"+
		"\n## Figures, durability `none`\n"+
		"\n| metric | value | `why` |\n| --- | ---: | --- |\n"+
		"| `cycles\\|per_s` | 1,234 | "+strings.ReplaceAll(escaped, "|", `\|`)+" |\n| µs | 5 | – |\n"+
		"\n- one\n- [two](two.md)\n"+
		"\n![Rate, durability none](rate.svg)\n\n*Rate. Durability `none`.*\n"+
		"\n![Memory](memory.svg)\n"+
		"\n## Plots\n\n### Only notes\n\nNone.\n"+
		"\n## Events\n\n### First\n\nSeen:\n"+
		"\n- "+escaped+"\n- "+strings.TrimSpace(strings.Repeat("word ", 30))+"\n"+
		"\n## What this does not measure\n\nAnother day.\n", page().Markdown())
	assert.Equal(t, "\n", (&doc.Document{}).Markdown())
}

// A terminal shows plain text in aligned columns, and no heading of a section without content.
func TestTerminal(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	assert.Equal(t, "Two *hosts*\n"+
		"  Verdict of "+foreign+": *a* _b_ `c` <i>d</i> | [e](f) #g &amp;\n  \\h ~i~\n"+
		"\nFigures, durability none\n"+
		"  metric        value  why\n"+
		"  cycles|per_s  1,234  "+foreign+"\n"+
		"  µs                5  –\n"+
		"  - one\n  - two\n"+
		"\nEvents\nFirst\n  Seen:\n"+
		"  - "+foreign+"\n"+
		"  - "+words(19)+"\n    "+words(11)+"\n", page().Terminal())
	assert.Empty(t, (&doc.Document{}).Terminal())
	var only doc.Document
	only.Heading(1, "Title")
	only.Note("A note.")
	assert.Equal(t, "Title\n", only.Terminal())
}

func TestCode(t *testing.T) {
	assert.Equal(t, "`a b`", doc.Code("a\n b"))
	assert.Equal(t, "`` a`b ``", doc.Code("a`b"))
	assert.Equal(t, "``` a``b`c ```", doc.Code("a``b`c"))
	assert.Empty(t, doc.Code(" "))
}

// Plain recovers every foreign text, whichever marks it contains.
func TestPlainRecoversForeignText(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab 1.-+*_`~<>[]()#&;!|\\:/µ\"'=\n")), 0, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		want := strings.Join(strings.Fields(s), " ")
		require.Equal(t, want, doc.Plain(doc.Escape(s)))
		require.Equal(t, want, doc.Plain(doc.Code(s)))
		require.Equal(t, "x "+want+" y", doc.Plain("**x** "+doc.Escape(s)+" *y*"))
	})
	for markdown, want := range map[string]string{
		"- a": "- a", "# a": "# a", "1. a": "1. a", "> a": "> a", ">`p99`, ms": ">p99, ms", "    a": "a", "**no**: *b*": "no: b", "2 * 3": "2 * 3", "": "",
		"[`a.go:1`](../a.go#L1), tested": "a.go:1, tested",
	} {
		assert.Equal(t, want, doc.Plain(markdown), markdown)
	}
}

// A paragraph keeps its words, and no line is longer than a terminal unless a word is.
func TestTerminalWrapsParagraphs(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abcµ–")), 1, 120, -1)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(word, 1, 60).Draw(t, "words")
		var d doc.Document
		d.Paragraph("%s", strings.Join(words, " "))
		text := d.Terminal()
		require.Equal(t, words, strings.Fields(text))
		for line := range strings.Lines(text) {
			require.True(t, strings.HasPrefix(line, "  "))
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 100 {
				require.Len(t, strings.Fields(line), 1)
			}
		}
	})
}

func TestWriteRemovesThePlotOfAnEarlierPage(t *testing.T) {
	out := t.TempDir()
	written, err := doc.Write(out, "a.md", []doc.Figure{{File: "a.svg", SVG: []byte("<svg/>")}, {File: "b.svg"}}, "# A\n")
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(out, "a.md"), filepath.Join(out, "a.svg")}, written)
	written, err = doc.Write(out, "a.md", []doc.Figure{{File: "a.svg"}}, "# B\n")
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(out, "a.md")}, written)
	assert.NoFileExists(t, filepath.Join(out, "a.svg"))
	text, err := os.ReadFile(written[0])
	require.NoError(t, err)
	assert.Equal(t, "# B\n", string(text))
	_, err = doc.Write(filepath.Join(out, "none"), "a.md", nil, "")
	require.ErrorIs(t, err, os.ErrNotExist)
}
