package render

import (
	"fmt"
	"strings"
)

// diffContext is the number of equal lines around a difference.
const diffContext = 3

// diffLinesMax is the maximum number of lines that Diff compares, after removing equal lines at
// both ends. The time and memory of Diff grow with the square of that number.
const diffLinesMax = 4000

// Diff returns the difference of two texts of the named file as a unified diff, as patch -p0 and
// git apply -p0 accept it, or "" if they are equal. Texts that differ in more than 4,000 lines are
// replaced as a whole.
func Diff(name, from, to string) string {
	if from == to {
		return ""
	}
	edits := edited(lines(from), lines(to))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	for begin := 0; begin < len(edits); {
		if edits[begin].mark == ' ' {
			begin++
			continue
		}
		first, end := max(0, begin-diffContext), begin
		for equal := 0; end < len(edits) && equal <= 2*diffContext; end++ {
			if equal++; edits[end].mark != ' ' {
				equal = 0
			}
		}
		for end > begin && edits[end-1].mark == ' ' {
			end--
		}
		begin = end
		writeHunk(&b, edits, first, min(len(edits), end+diffContext))
	}
	return b.String()
}

// edit is one line of a diff. mark is ' ' for a line of both texts, '-' for a line of only the
// first, and '+' for a line of only the second.
type edit struct {
	mark byte
	line string
}

func writeHunk(b *strings.Builder, edits []edit, first, end int) {
	var before, in [2]int // lines of each text
	for i, e := range edits[:end] {
		count := &before
		if i >= first {
			count = &in
		}
		if e.mark != '+' {
			count[0]++
		}
		if e.mark != '-' {
			count[1]++
		}
	}
	begin := func(side int) int { // an empty range starts after the line before it
		if in[side] == 0 {
			return before[side]
		}
		return before[side] + 1
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", begin(0), in[0], begin(1), in[1])
	for _, e := range edits[first:end] {
		fmt.Fprintf(b, "%c%s", e.mark, e.line)
		if !strings.HasSuffix(e.line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// lines splits a text after its line ends.
func lines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// edited returns a shortest list of edits that changes a into b.
func edited(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, edit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	edits := append(head, between(a, b)...)
	for i := len(tail) - 1; i >= 0; i-- {
		edits = append(edits, tail[i])
	}
	return edits
}

// between returns the edits by the longest common subsequence, or a full replacement if a text
// exceeds diffLinesMax.
func between(a, b []string) (edits []edit) {
	var longest [][]int // longest[i][j] is the length for a[i:] and b[j:]
	if len(a) <= diffLinesMax && len(b) <= diffLinesMax {
		longest = make([][]int, len(a)+1)
		for i := len(a); i >= 0; i-- {
			longest[i] = make([]int, len(b)+1)
			for j := len(b) - 1; j >= 0 && i < len(a); j-- {
				if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); a[i] == b[j] {
					longest[i][j] = longest[i+1][j+1] + 1
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) && longest != nil {
		switch {
		case a[i] == b[j]:
			edits = append(edits, edit{' ', a[i]})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			edits = append(edits, edit{'-', a[i]})
			i++
		default:
			edits = append(edits, edit{'+', b[j]})
			j++
		}
	}
	for _, line := range a[i:] {
		edits = append(edits, edit{'-', line})
	}
	for _, line := range b[j:] {
		edits = append(edits, edit{'+', line})
	}
	return edits
}
