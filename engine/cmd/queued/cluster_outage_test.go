package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// The golden file has the exact output of commands about missing nodes: adding a node that does not
// run, and, as text and as JSON, the state with two of three nodes down.
func TestCommandsWithoutAMajority(t *testing.T) {
	t.Parallel()
	c := newCluster(t, undisturbed...)
	m := c.nodes["n1"]
	s := newShell(t, "QUEUED_SERVER="+m.Listen[0], "QUEUED_ADMIN_SERVER="+m.Admin)
	s.eventually(func(c *clusterSeen) bool { return len(c.voters()) == 3 })
	s.ok("enqueue", "--queue", "q", "x")
	var b strings.Builder
	say := func(commands ...[]string) {
		for i, r := range s.runAll(commands) {
			fmt.Fprintf(&b, "$ queued %s\n%sexit %d\n\n", strings.Join(commands[i], " "), r.err, r.code)
			assert.NotContains(t, r.err, "shard -1")
		}
	}
	// A reserved port without a server.
	say([]string{"cluster", "add", "n9", "127.0.0.1:1"})
	var seen clusterSeen
	s.json(&seen, "cluster", "status")
	assert.Len(t, seen.Members, 3, "nothing was added")
	c.kill("n2", "n3")
	// Only then has the remaining node certainly noticed the loss.
	s.until(func(r ran) bool { return strings.Contains(r.err, "1 of 3 nodes is there") }, "status")
	say(
		[]string{"cluster", "status", "--wait", "0s"},
		[]string{"status"},
		[]string{"enqueue", "--queue", "q", "hello"},
		[]string{"claim", "--queue", "q"},
		[]string{"enqueue", "--queue", "q", "hello", "-o", "json"},
		[]string{"cluster", "remove", "n3", "--yes"},
	)
	text := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(\S+?s\)`).ReplaceAllString(b.String(), "TIME (DURATION)")
	golden.Text(t, "testdata/outage.golden", text)
	c.start("n2")
	s.until(func(r ran) bool { return r.code == exitOK }, "enqueue", "--queue", "q", "x")
}

// On a terminal, cluster status shows what it waits for, and ends when that arrives.
func TestClusterStatusWaitsForALeader(t *testing.T) {
	t.Parallel()
	c := prepareCluster(t)
	c.start("n1")
	s := newShell(t, "QUEUED_ADMIN_SERVER="+c.nodes["n1"].Admin)
	s.until(func(r ran) bool { // n1 may answer before it has created its group
		return r.code == exitFailed && strings.Contains(r.err, "queued: no shard has a leader: 1 of 3 nodes is there (n1)")
	}, "cluster", "status", "--wait", "300ms")
	s.shows = true
	waits, now := make(chan struct{}, 1), time.Now()
	s.clock = clock{now: func() time.Time { return now }, pause: func(ctx context.Context, d time.Duration) error {
		select {
		case waits <- struct{}{}:
		default:
		}
		return (&clock{}).Pause(ctx, d)
	}}
	done := make(chan ran, 1)
	go func() { done <- s.run("cluster", "status", "--wait", "1m") }()
	select {
	case <-waits:
	case r := <-done:
		require.Fail(t, "it does not wait", r.out+r.err)
	}
	c.start("n2", "n3")
	r := <-done
	assert.Equal(t, exitOK, r.code, r.err)
	assert.Regexp(t, `^waiting for up to 1m0s for a leader of each shard: shard 0 has none; nodes that do not answer: n2, n3\n`, r.err)
	assert.Regexp(t, `(?m)^0 +n[123] +\d+ `, r.out)
	nobody := newShell(t, "QUEUED_ADMIN_SERVER=127.0.0.1:1")
	nobody.shows = true
	// If the first answer comes too late, the command does not wait.
	nobody.until(func(r ran) bool {
		return r.code == exitUnreachable && containsAll(r.err,
			"waiting for up to 0s for a server that answers: can't reach the server at 127.0.0.1:1: ", "queued: can't reach the server at 127.0.0.1:1")
	}, "cluster", "status", "--wait", "300ms")
	asJSON := nobody.run("cluster", "status", "--wait", "300ms", "-o", "json")
	assert.Equal(t, "unreachable", asJSON.failure().Code, "one document")
	nobody.until(func(r ran) bool {
		return r.code == exitUsage && containsAll(r.err,
			"waiting for up to 0s for the access token: --token-file: no file matches ", "queued: --token-file: no file matches ")
	}, "cluster", "status", "--wait", "300ms", "--token-file", t.TempDir()+"/n?/admin.token")
}
