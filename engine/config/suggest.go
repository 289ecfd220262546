package config

import "github.com/agext/levenshtein"

// Nearest returns the candidate that was most likely misspelt as name, or "". The two may
// differ by at most two added, omitted or changed characters. The number of these characters must
// not exceed half of the length of name.
func Nearest(name string, candidates []string) string {
	nearest, least := "", 3
	for _, c := range candidates {
		if d := levenshtein.Distance(name, c, nil); d < least && 2*d <= len(name) {
			nearest, least = c, d
		}
	}
	return nearest
}
