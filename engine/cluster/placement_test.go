package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestGroupsMoveToNodesThatLeadFewer(t *testing.T) {
	for name, c := range map[string]struct {
		leaders    string // of the groups; "-" for none
		candidates string
		group      int
		to         string
	}{
		"another leads none":            {"n1 n1 n2 n1", "n1 n2 n3", 3, "n3"},
		"another leads two fewer":       {"n1 n1 n1 n2", "n1 n2", 2, "n2"},
		"another leads one fewer":       {"n1 n1 n2", "n1 n2", 1, ""},
		"the last group that it leads":  {"n1 n1 n2 n2", "n1 n2 n3", 1, "n3"},
		"the node that leads least":     {"n1 n1 n1 n1 n2 n3 n3", "n1 n2 n3", 3, "n2"},
		"an election is in progress":    {"n1 n1 n1 -", "n1 n2 n3", 0, ""},
		"this node leads nothing":       {"n2 n2 n2", "n1 n2 n3", 0, ""},
		"only this node may lead":       {"n1 n1 n1", "n1", 2, ""},
		"no node may lead":              {"n1 n1 n1", "", 2, ""},
		"nodes outside the group count": {"n1 n1 n9 n9 n9", "n1 n2", 1, "n2"},
	} {
		leaders := strings.Fields(c.leaders)
		for i := range leaders {
			leaders[i] = strings.Trim(leaders[i], "-")
		}
		group, to := surplus("n1", leaders, func(i int) []string {
			assert.Equal(t, "n1", leaders[i], name)
			return strings.Fields(c.candidates)
		})
		assert.Equal(t, c.to, to, name)
		assert.Equal(t, c.group, group, name)
	}
}

// Whatever the start, the moves end, and then no two nodes differ by more than one group.
func TestLeadershipBecomesBalanced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []string
		for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
			nodes = append(nodes, fmt.Sprint("n", i))
		}
		leaders := rapid.SliceOfN(rapid.SampledFrom(nodes), 1, 20).Draw(t, "leaders")
		moves := 0
		for moved := true; moved; {
			moved = false
			for _, self := range nodes {
				if i, to := surplus(self, leaders, func(int) []string { return nodes }); to != "" {
					require.Equal(t, self, leaders[i])
					leaders[i], moved = to, true
					moves++
				}
			}
			require.LessOrEqual(t, moves, len(leaders), "each group moves at most once")
		}
		led := countLed(leaders)
		var counts []int
		for _, id := range nodes {
			counts = append(counts, led[id])
		}
		assert.LessOrEqual(t, slices.Max(counts)-slices.Min(counts), 1)
	})
}
