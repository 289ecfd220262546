package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var ofRound = regexp.MustCompile(`^round (\d+): (.*)$`)

// foldRounds merges equal sentences of several rounds into one with all round numbers, at the first
// position.
func foldRounds(said []string) []string {
	type group struct {
		rounds []string // empty for sentences without a round
		text   string
	}
	var groups []group
	for _, s := range said {
		parts := ofRound.FindStringSubmatch(s)
		if parts == nil {
			groups = append(groups, group{text: s})
			continue
		}
		number, text := parts[1], parts[2]
		i := slices.IndexFunc(groups, func(g group) bool { return len(g.rounds) > 0 && g.text == text })
		if i < 0 {
			groups = append(groups, group{[]string{number}, text})
		} else {
			groups[i].rounds = append(groups[i].rounds, number)
		}
	}
	var folded []string
	for _, g := range groups {
		switch len(g.rounds) {
		case 0:
			folded = append(folded, g.text)
		case 1:
			folded = append(folded, fmt.Sprintf("round %s: %s", g.rounds[0], g.text))
		default:
			folded = append(folded, fmt.Sprintf("rounds %s: %s", strings.Join(g.rounds, ", "), g.text))
		}
	}
	return folded
}
