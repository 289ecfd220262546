package render

import (
	"strings"
	"unicode/utf8"
)

// Table is a header and rows of as many cells. A name in the header that begins with ">" is of a column of numbers, which is set to the right.
type Table struct {
	Header []string
	Rows   [][]string
}

// columns are the names of the header, and which columns are set to the right.
func (t Table) columns() (names []string, right []bool) {
	names, right = make([]string, len(t.Header)), make([]bool, len(t.Header))
	for i, name := range t.Header {
		names[i], right[i] = strings.CutPrefix(name, ">")
	}
	return names, right
}

// Text writes the table in columns of even width with two spaces between them, every line after indent. Names that are all empty make no line.
func (t Table) Text(indent string) string {
	names, right := t.columns()
	lines := t.Rows
	if strings.Join(names, "") != "" {
		lines = append([][]string{names}, lines...)
	}
	width := make([]int, len(names))
	for _, cells := range lines {
		for i, cell := range cells {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, cells := range lines {
		line := indent
		for i, cell := range cells {
			if i > 0 {
				line += "  "
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if right[i] {
				line += pad + cell
			} else {
				line += cell + pad
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Markdown writes the table for a page. Cells are Markdown of one line; pipes in them, also inside code, are escaped here and nowhere else.
func (t Table) Markdown() string {
	var b strings.Builder
	names, right := t.columns()
	rule := make([]string, len(names))
	for i := range rule {
		rule[i] = "---"
		if right[i] {
			rule[i] = "---:"
		}
	}
	for _, cells := range append([][]string{names, rule}, t.Rows...) {
		for _, cell := range cells {
			cell = strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", `\|`)
			b.WriteString("| " + cell + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}
