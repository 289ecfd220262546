package config

import "github.com/agext/levenshtein"

// Nearest returns the candidate that a name is most likely a misspelling of, or "": at most two characters were
// added, left out or changed, and no more than half of the name's.
func Nearest(name string, candidates []string) string {
	nearest, least := "", 3
	for _, c := range candidates {
		if d := levenshtein.Distance(name, c, nil); d < least && 2*d <= len(name) {
			nearest, least = c, d
		}
	}
	return nearest
}
