// Package doc is the model of a page: headings, paragraphs, notes, lists, tables and plots, in
// their order. One function makes a Document, which has three forms: Markdown for the files under
// reports/, Terminal for the commands of prony, and HTML, which package htmlreport makes from the
// Markdown. Write stores a page with its plots.
//
// Every text of a document is Markdown of one line. Escape and Code mark foreign text, so that no
// form interprets it, and Plain removes all markup. A terminal shows neither notes, which explain
// figures, nor plots, nor sections that contain nothing else.
package doc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
)

// Document is a page. The zero value is empty.
type Document struct{ blocks []block }

// block is an element of a document. Both forms end with a newline. The terminal's is "" for an
// element that it does not show.
type block interface {
	markdown() string
	terminal() string
}

// Heading begins a section. Level 1 is the title of the page.
func (d *Document) Heading(level int, format string, args ...any) {
	d.blocks = append(d.blocks, heading{level, fmt.Sprintf(format, args...)})
}

// Paragraph adds a paragraph.
func (d *Document) Paragraph(format string, args ...any) {
	d.blocks = append(d.blocks, paragraph(fmt.Sprintf(format, args...)))
}

// Note adds a paragraph that explains figures. A terminal does not show it.
func (d *Document) Note(format string, args ...any) {
	d.blocks = append(d.blocks, note(fmt.Sprintf(format, args...)))
}

// List adds a list, unless it has no item.
func (d *Document) List(items []string) {
	if len(items) > 0 {
		d.blocks = append(d.blocks, list(items))
	}
}

// Listed adds an introduction and a list of foreign texts. Without a text it adds nothing.
func (d *Document) Listed(introduction string, texts []string) {
	if len(texts) == 0 {
		return
	}
	d.Paragraph("%s", introduction)
	items := make([]string, len(texts))
	for i, s := range texts {
		items[i] = Escape(s)
	}
	d.List(items)
}

// Table adds a table. A header that begins with ">" marks a column of numbers.
func (d *Document) Table(header []string, rows [][]string) {
	d.blocks = append(d.blocks, table{Header: header, Rows: rows})
}

// Plot adds a plot: its description, its file relative to the page, and the source of its figures,
// or "" if the section names the source. A terminal does not show it.
func (d *Document) Plot(description, file, source string) {
	d.blocks = append(d.blocks, plot{description, file, source})
}

// Markdown returns the document as Markdown, which ends with one newline.
func (d *Document) Markdown() string {
	parts := make([]string, len(d.blocks))
	for i, b := range d.blocks {
		parts[i] = b.markdown()
	}
	return strings.TrimRight(strings.Join(parts, "\n"), "\n") + "\n"
}

// Terminal returns the document as plain text with aligned tables. Paragraphs and lists are wrapped
// at 100 columns.
func (d *Document) Terminal() string {
	var b strings.Builder
	var before block
	for _, of := range d.shown() {
		above, titled := before.(heading)
		_, titles := of.(heading)
		_, listed := of.(list) // belongs to the element before it
		if before != nil && !listed && (!titled || titles && above.level == 1) {
			b.WriteByte('\n')
		}
		b.WriteString(of.terminal())
		before = of
	}
	return b.String()
}

// shown returns the blocks that a terminal shows, without headings of empty sections.
func (d *Document) shown() (blocks []block) {
	next := 0 // level of the heading that follows directly; 0 for another block
	for i, b := range slices.Backward(d.blocks) {
		h, titles := b.(heading)
		last := len(blocks) == 0
		if b.terminal() == "" || titles && i > 0 && (last || next > 0 && next <= h.level) {
			continue
		}
		next = h.level
		blocks = append(blocks, b)
	}
	slices.Reverse(blocks)
	return blocks
}

type heading struct {
	level int
	text  string
}

func (h heading) markdown() string { return strings.Repeat("#", h.level) + " " + h.text + "\n" }
func (h heading) terminal() string { return Plain(h.text) + "\n" }

type paragraph string

func (p paragraph) markdown() string { return string(p) + "\n" }
func (p paragraph) terminal() string { return wrapped(Plain(string(p)), "  ", "  ") }

type note string

func (n note) markdown() string { return string(n) + "\n" }
func (note) terminal() string   { return "" }

type list []string

func (l list) markdown() string { return "- " + strings.Join(l, "\n- ") + "\n" }

func (l list) terminal() string {
	var b strings.Builder
	for _, item := range l {
		b.WriteString(wrapped(Plain(item), "  - ", "    "))
	}
	return b.String()
}

type table render.Table

func (t table) markdown() string { return render.Table(t).Markdown() }

func (t table) terminal() string {
	shown := render.Table{Header: plainAll(t.Header)}
	for _, row := range t.Rows {
		shown.Rows = append(shown.Rows, plainAll(row))
	}
	return shown.Text("  ")
}

type plot struct{ description, file, source string }

func (p plot) markdown() string {
	image := fmt.Sprintf("![%s](%s)\n", p.description, p.file)
	if p.source == "" {
		return image
	}
	return image + "\n*" + p.source + ".*\n"
}

func (plot) terminal() string { return "" }
