package hclfile

// Nearest returns the candidate that name is most likely a misspelling of, or "" when none is near: at most
// two edits away, and fewer than half of name's characters changed.
func Nearest(name string, candidates []string) string {
	best, distance := "", 3
	for _, c := range candidates {
		if d := edits(name, c); d < distance && 2*d < max(len([]rune(name)), 3) {
			best, distance = c, d
		}
	}
	return best
}

// edits is the number of insertions, removals, replacements and swaps of neighbours that turn a into b.
func edits(a, b string) int {
	s, t := []rune(a), []rune(b)
	if len(s) > 64 || len(t) > 64 {
		return 64
	}
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			change := 1
			if s[i-1] == t[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(s)][len(t)]
}
