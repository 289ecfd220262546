package hclfile

import (
	"fmt"

	"github.com/agext/levenshtein"
)

// Suggest returns the remedy for an unknown name: the known name that was probably meant, or all
// known names.
func Suggest(name string, known []string) string {
	switch meant := Nearest(name, known); {
	case meant != "":
		return fmt.Sprintf("did you mean %q?", meant)
	case len(known) == 0:
		return "there are none"
	}
	return "there are: " + List(known)
}

// Nearest returns the candidate of which name is most likely a misspelling, or "". A misspelling
// has at most two added, missing or changed characters, and at most half of the characters of name.
func Nearest(name string, candidates []string) string {
	best, distance := "", 3
	for _, c := range candidates {
		if d := levenshtein.Distance(name, c, nil); d < distance && 2*d <= len(name) {
			best, distance = c, d
		}
	}
	return best
}
