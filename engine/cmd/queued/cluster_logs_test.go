package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logged returns the lines of a server's log from an offset on.
func (c *cluster) logged(id string, after int) (lines []string) {
	for line := range strings.Lines(c.nodes[id].log.String()[after:]) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// with returns the lines that contain all parts.
func with(lines []string, parts ...string) (found []string) {
	for _, line := range lines {
		has := true
		for _, part := range parts {
			has = has && strings.Contains(line, part)
		}
		if has {
			found = append(found, line)
		}
	}
	return found
}

// When a node goes down, each other node logs one line, and one more when it is back; each node
// logs a new leader once. Raft's repeated failures in between are not logged.
func TestLogsOfANodeThatGoesAndComesBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t, append([]string{"--shards", "2"}, undisturbed...)...)
	leader := c.leader()
	for _, id := range c.up() {
		require.Eventually(t, func() bool { return len(with(c.logged(id, 0), `msg="a node leads"`)) > 0 }, patience, 10*time.Millisecond, id)
	}
	for round, gone := range []string{c.others(leader)[0], leader} {
		at := map[string]int{}
		for _, id := range c.others(gone) {
			at[id] = len(c.nodes[id].log.String())
		}
		c.kill(gone)
		for id, after := range at {
			require.Eventually(t, func() bool {
				return len(with(c.logged(id, after), `level=WARN msg="a node does not answer" peer=`+gone)) == 1
			}, patience, 10*time.Millisecond, id)
		}
		<-time.After(2 * time.Second) // Raft fails dozens of times in this interval
		c.leader()
		c.start(gone)
		for id, after := range at {
			require.Eventually(t, func() bool {
				return len(with(c.logged(id, after), `level=INFO msg="a node answers again" peer=`+gone, "away=")) == 1
			}, patience, 10*time.Millisecond, id)
			lines := c.logged(id, after)
			assert.Len(t, with(lines, "peer="+gone, "a node "), 2, "%s: %s", id, strings.Join(lines, "\n"))
			if round == 1 {
				assert.NotEmpty(t, with(lines, `msg="a node leads"`), id)
			}
			assert.LessOrEqual(t, len(lines), 8, "%s: %s", id, strings.Join(lines, "\n"))
		}
		c.leader()
	}
}
