package config

// Nearest returns the candidate that a name is most likely a misspelling of, or "": at most two characters were
// added, left out, changed or swapped with a neighbour, and fewer than half of the name's.
func Nearest(name string, candidates []string) string {
	nearest, least := "", 3
	for _, c := range candidates {
		if d := distance(name, c); d < least && 2*d < len(name) {
			nearest, least = c, d
		}
	}
	return nearest
}

// nameMax is how long, in bytes, a name may be to be compared: the work grows with the square.
const nameMax = 64

// distance counts the edits that turn a into b. Only the last three rows of the table of all prefixes are kept:
// the row before the last is what a swap looks back to.
func distance(a, b string) int {
	if len(a) > nameMax || len(b) > nameMax {
		return nameMax
	}
	var rows [3][nameMax + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
