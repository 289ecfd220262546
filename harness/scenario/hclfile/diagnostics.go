package hclfile

import (
	"fmt"
	"sort"
	"strings"
)

// maxProblems bounds how many problems are kept; those beyond it are counted.
const maxProblems = 100

// Problem is one thing wrong with a file.
type Problem struct {
	File    string // the path as given
	Line    int    // from 1; 0 when the problem concerns the whole file
	Column  int    // from 1, in characters; 0 when Line is 0
	Message string // what is wrong, naming the field and the value
	Remedy  string // what to write instead; may be empty

	snippet string // the line with a marker under the fault, or empty
	order   int    // of the file among those read; -1: it is no file's
	offset  int    // in the file, in bytes
}

// String renders the problem as plain text of one to four lines, without a final newline.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	b.WriteString(p.Message)
	if p.snippet != "" {
		b.WriteString("\n")
		b.WriteString(p.snippet)
	}
	if p.Remedy != "" {
		b.WriteString("\n  ")
		b.WriteString(p.Remedy)
	}
	return b.String()
}

// Diagnostics is the error of a read: every problem of every file, in the order of the files and of the
// places in them.
type Diagnostics struct {
	Problems []Problem
	// Omitted is the number of problems found beyond the first 100, which are not kept.
	Omitted int
}

// Error renders all problems as plain text, an empty line between two, and a count at the end.
func (d *Diagnostics) Error() string {
	var b strings.Builder
	files := map[string]bool{}
	for _, p := range d.Problems {
		b.WriteString(p.String())
		b.WriteString("\n\n")
		if p.order >= 0 {
			files[p.File] = true
		}
	}
	b.WriteString(count(len(d.Problems)+d.Omitted, "error"))
	if len(files) > 0 {
		b.WriteString(" in " + count(len(files), "file"))
	}
	if d.Omitted > 0 {
		fmt.Fprintf(&b, ", of which %d are shown", len(d.Problems))
	}
	return b.String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// add keeps a problem unless an equal one at the same place is kept already.
func (d *Diagnostics) add(p Problem) {
	for _, q := range d.Problems {
		if q.order == p.order && q.offset == p.offset && q.Message == p.Message {
			return
		}
	}
	if len(d.Problems) >= maxProblems {
		d.Omitted++
		return
	}
	d.Problems = append(d.Problems, p)
}

func (d *Diagnostics) sort() {
	sort.SliceStable(d.Problems, func(i, j int) bool {
		a, b := d.Problems[i], d.Problems[j]
		if a.order != b.order {
			return a.order < b.order
		}
		return a.offset < b.offset
	})
}
