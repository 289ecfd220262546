package config

import "github.com/agext/levenshtein"

// Nearest returns the candidate that name is most likely a misspelling of, or "". At most two
// characters may be added, omitted or changed, and at most half as many as the name has.
func Nearest(name string, candidates []string) string {
	nearest, least := "", 3
	for _, c := range candidates {
		if d := levenshtein.Distance(name, c, nil); d < least && 2*d <= len(name) {
			nearest, least = c, d
		}
	}
	return nearest
}
