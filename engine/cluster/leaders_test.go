package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// leadersAt is the leader of each shard at a time after the start.
type leadersAt struct {
	after   time.Duration
	leaders string // of the shards, separated by spaces; "-" for no leader
}

// leaderLines returns the logged lines: "n1: all", or "-: 0,2 (3 left out)".
func leaderLines(seen ...leadersAt) (out []string) {
	l := newLeaderLog(len(strings.Fields(seen[0].leaders)))
	for _, s := range seen {
		leaders := strings.Fields(strings.ReplaceAll(s.leaders, "-", "~"))
		for i := range leaders {
			leaders[i] = strings.Trim(leaders[i], "~")
		}
		lines, again := l.lines(leaders, began.Add(s.after))
		if strings.Contains(s.leaders, "-") && again > leadersSettle {
			out = append(out, "there is no next call")
		}
		for _, line := range lines {
			text := fmt.Sprintf("%s: %s", strings.TrimSpace(line.leader+" "), line.shards)
			if line.leader == "" {
				text = "none: " + line.shards
			}
			if line.leftOut > 0 {
				text += fmt.Sprintf(" (%d left out)", line.leftOut)
			}
			out = append(out, text)
		}
	}
	return out
}

func TestLeadersAreLoggedTogether(t *testing.T) {
	for name, c := range map[string]struct {
		seen []leadersAt
		want []string
	}{
		"the start": {[]leadersAt{{0, "- - -"}, {time.Second, "n1 n1 n1"}, {2 * time.Second, "n1 n1 n1"}}, []string{"n1: all"}},
		"a failover": {
			[]leadersAt{{0, "n1 n1 n2"}, {10 * time.Second, "- - n2"}, {11 * time.Second, "n2 n3 n2"}, {12 * time.Second, "n2 n3 n2"}},
			[]string{"n1: 0,1", "n2: 2", "n2: 0", "n3: 1"},
		},
		"loss of the majority": {
			[]leadersAt{{0, "n1 n1"}, {10 * time.Second, "- -"}, {12 * time.Second, "- -"}, {13 * time.Second, "- -"}, {14 * time.Second, "- -"}, {60 * time.Second, "n1 n1"}},
			[]string{"n1: all", "none: all", "n1: all"},
		},
		"no majority at the start": {[]leadersAt{{0, "-"}, {time.Second, "-"}, {3 * time.Second, "-"}, {4 * time.Second, "-"}}, []string{"none: all"}},
	} {
		assert.Equal(t, c.want, leaderLines(c.seen...), name)
	}
}

// Constantly moving leadership does not fill the log, and the last line names the leader.
func TestLinesAboutLeadersAreBounded(t *testing.T) {
	var seen []leadersAt
	for i := range 101 {
		seen = append(seen, leadersAt{time.Duration(i) * 100 * time.Millisecond, []string{"n1", "n2"}[i%2]})
	}
	seen = append(seen, leadersAt{30 * time.Second, "n3"}, leadersAt{40 * time.Second, "n3"}, leadersAt{2 * time.Minute, "n3"})
	lines := leaderLines(seen...)
	assert.Len(t, lines, leaderLinesMax+1)
	assert.Equal(t, "n3: all (91 left out)", lines[len(lines)-1])
}
