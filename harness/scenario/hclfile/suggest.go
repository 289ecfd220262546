package hclfile

import (
	"fmt"

	"github.com/agext/levenshtein"
)

// Suggest is the remedy of a name that is not known: the one that was probably meant, or all that
// are known.
func Suggest(name string, known []string) string {
	switch meant := Nearest(name, known); {
	case meant != "":
		return fmt.Sprintf("did you mean %q?", meant)
	case len(known) == 0:
		return "there are none"
	}
	return "there are: " + List(known)
}

// Nearest returns the candidate that name is most likely a misspelling of, or "" if none is near:
// at most two characters were added, left out or changed, and no more than half of name's.
func Nearest(name string, candidates []string) string {
	best, distance := "", 3
	for _, c := range candidates {
		if d := levenshtein.Distance(name, c, nil); d < distance && 2*d <= len(name) {
			best, distance = c, d
		}
	}
	return best
}
