package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/render"
)

// page collects the text of a Markdown document.
type page struct{ b strings.Builder }

// String returns the document, which ends with one newline.
func (p *page) String() string { return strings.TrimRight(p.b.String(), "\n") + "\n" }

func (p *page) heading(level int, format string, args ...any) {
	fmt.Fprintf(&p.b, "%s %s\n\n", strings.Repeat("#", level), fmt.Sprintf(format, args...))
}

func (p *page) paragraph(format string, args ...any) {
	// A separate call, so that go vet checks the formats of callers.
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteString("\n\n")
}

func (p *page) list(items []string) {
	for _, item := range items {
		fmt.Fprintf(&p.b, "- %s\n", item)
	}
	if len(items) > 0 {
		p.b.WriteByte('\n')
	}
}

// table writes a render.Table. The prefix ">" in a header marks a column of numbers. Cells are
// Markdown.
func (p *page) table(header []string, rows [][]string) {
	p.b.WriteString(render.Table{Header: header, Rows: rows}.Markdown() + "\n")
}

// text escapes Markdown markup in foreign text, and joins its lines.
func text(s string) string {
	return escaper.Replace(strings.Join(strings.Fields(s), " "))
}

var escaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `&lt;`, `>`, `&gt;`, `#`, `\#`, `&`, `&amp;`, `~`, `\~`,
)

// code formats s as code on one line, with as many backticks as it needs.
func code(s string) string {
	s = strings.Join(strings.Fields(s), " ")
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

// Text escapes a sentence of a judgement for a page.
func Text(s string) string { return text(s) }
