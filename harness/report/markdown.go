package report

import (
	"fmt"
	"strings"
)

// page gathers the lines of a Markdown document.
type page struct{ b strings.Builder }

func (p *page) heading(level int, format string, args ...any) {
	fmt.Fprintf(&p.b, "%s %s\n\n", strings.Repeat("#", level), fmt.Sprintf(format, args...))
}

func (p *page) paragraph(format string, args ...any) {
	fmt.Fprintf(&p.b, format+"\n\n", args...)
}

func (p *page) list(items []string) {
	for _, item := range items {
		fmt.Fprintf(&p.b, "- %s\n", item)
	}
	if len(items) > 0 {
		p.b.WriteByte('\n')
	}
}

// table writes a table. A header that starts with ">" names a column of numbers, which are set to the right.
// Cells are Markdown; pipes in them, also inside code, are escaped here and nowhere else.
func (p *page) table(header []string, rows [][]string) {
	rule := make([]string, len(header))
	names := make([]string, len(header))
	for i, h := range header {
		name, numeric := strings.CutPrefix(h, ">")
		names[i], rule[i] = name, "---"
		if numeric {
			rule[i] = "---:"
		}
	}
	p.row(names)
	p.row(rule)
	for _, row := range rows {
		p.row(row)
	}
	p.b.WriteByte('\n')
}

func (p *page) row(cells []string) {
	for _, cell := range cells {
		cell = strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", `\|`)
		fmt.Fprintf(&p.b, "| %s ", cell)
	}
	p.b.WriteString("|\n")
}

// text escapes what Markdown would take as markup in text that is not ours, and puts it on one line.
func text(s string) string {
	return escaper.Replace(strings.Join(strings.Fields(s), " "))
}

var escaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `&lt;`, `>`, `&gt;`, `#`, `\#`, `&`, `&amp;`, `~`, `\~`,
)

// code sets s as code on one line, in as many backticks as it needs.
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
