package render

import (
	"strings"
	"unicode/utf8"
)

// Table is a header and rows of the same number of cells. A header that begins with ">" marks a
// column of numbers, which is right-aligned.
type Table struct {
	Header []string
	Rows   [][]string
}

func (t Table) columns() (names []string, right []bool) {
	names, right = make([]string, len(t.Header)), make([]bool, len(t.Header))
	for i, name := range t.Header {
		names[i], right[i] = strings.CutPrefix(name, ">")
	}
	return names, right
}

// Text formats the table in aligned columns with two spaces between them, with each line after
// indent. A header whose names are all empty is omitted.
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

// Markdown formats the table for a page. Cells are Markdown of one line; only this function escapes
// pipes in them, including those inside code.
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
