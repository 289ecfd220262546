package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clusterSeen is the JSON output of cluster status.
type clusterSeen struct {
	Node    string
	Members []struct {
		Node, PeerAddress, Address, Admin string
		Voter, Reachable                  bool
	}
	Groups []struct {
		Shard  int
		Leader string
	}
}

// voters returns the members with a vote that answer.
func (c *clusterSeen) voters() (ids []string) {
	for _, m := range c.Members {
		if m.Voter && m.Reachable {
			ids = append(ids, m.Node)
		}
	}
	return ids
}

// until repeats a command until its result is as wanted.
func (s *shell) until(want func(r ran) bool, args ...string) {
	s.Helper()
	var last ran
	if !assert.Eventually(s, func() bool { last = s.run(args...); return want(last) }, patience, 50*time.Millisecond) {
		require.Fail(s, strings.Join(args, " "), "last output: %s%s", last.out, last.err)
	}
}

// eventually repeats cluster status at a node until it reports no problem and the wanted state.
func (s *shell) eventually(want func(c *clusterSeen) bool, args ...string) (seen clusterSeen) {
	s.Helper()
	s.until(func(r ran) bool {
		if r.code != exitOK {
			return false
		}
		seen = clusterSeen{}
		decodeJSON(s.T, r.out, &seen)
		return want(&seen)
	}, append([]string{"cluster", "status", "-o", "json"}, args...)...)
	return seen
}

// Three processes form a cluster: the first bootstraps, the others join. The test runs each cluster
// command.
func TestAClusterIsAdministered(t *testing.T) {
	t.Parallel()
	certs := filepath.Join(t.TempDir(), "certs")
	text := newShell(t).ok("cluster", "init", "--nodes", "n1=127.0.0.1:1,n2=127.0.0.1:2,n3=127.0.0.1:3", "--out", certs)
	assert.Contains(t, text, "--cluster-node n2 --cluster-listen 127.0.0.1:2 --cluster-certs "+filepath.Join(certs, "n2"))
	node := func(id string, more ...string) *process {
		return start(t, slices.Concat([]string{
			"--data", t.TempDir(), "--shards", "2", "--durability", "none", "--cluster-node", id, "--cluster-listen", "127.0.0.1:0",
			"--cluster-certs", filepath.Join(certs, id),
		}, undisturbed, more)...)
	}
	n1 := node("n1")
	assert.Equal(t, "n1", n1.Node)
	assert.NotEmpty(t, n1.Cluster)
	require.Eventually(t, func() bool { _, err := os.Stat(n1.TokenFile); return err == nil }, patience, 20*time.Millisecond, "the node creates an operator's token")
	s := newShell(t, "QUEUED_ADMIN_SERVER="+n1.Admin, "QUEUED_TOKEN_FILE="+n1.TokenFile)
	alone := s.eventually(func(c *clusterSeen) bool { return len(c.Groups) == 2 })
	assert.Equal(t, []string{"n1"}, alone.voters())
	s.run("cluster", "remove", "n1", "--yes").fails(exitFailed, "node n1 is the only voter: add or promote another first")

	n2, n3 := node("n2", "--cluster-join", n1.Cluster), node("n3", "--cluster-join", n1.Cluster)
	at2 := []string{"--admin-server", n2.Admin}
	for _, at := range [][]string{nil, at2} {
		s.eventually(func(c *clusterSeen) bool { return len(c.voters()) == 3 }, at...)
	}
	for _, to := range []string{"n2", "n3"} {
		// The nodes may still be spreading the leads, and an election may move the lead again.
		transfer := []string{"cluster", "transfer", "--shard", "1", "--to", to, "--timeout", "5s"}
		s.until(func(r ran) bool { return r.code == exitOK }, transfer...)
		s.eventually(func(c *clusterSeen) bool {
			if c.Groups[1].Leader != to {
				s.run(transfer...)
			}
			return c.Groups[1].Leader == to
		}, at2...)
	}
	// Lines are stored through any node, whichever leads.
	s.in = "a\nb\nc\n"
	for _, servers := range []string{n1.Listen[0], n2.Listen[0], n3.Listen[0], n3.Listen[0] + "," + n1.Listen[0] + "," + n2.Listen[0]} {
		var lines tally
		s.json(&lines, "enqueue", "--queue", "q", "--lines", "--server", servers)
		assert.Equal(t, tally{Enqueued: 3, Refusals: []refusal{}}, lines)
	}
	s.in = ""
	assert.Equal(t, "all shards  snapshot taken\n", s.ok("cluster", "snapshot"))
	assert.Equal(t, "n3  demoted\n", s.ok("cluster", "demote", "n3"))
	s.eventually(func(c *clusterSeen) bool { return strings.Join(c.voters(), " ") == "n1 n2" && len(c.Members) == 3 }, at2...)
	s.run("cluster", "transfer", "--to", "n3", "--admin-server", n2.Admin).fails(exitUsage, `node: "n3" has no vote, and can't lead: promote it first`)
	assert.Equal(t, "n3  promoted\n", s.ok("cluster", "promote", "n3"))
	s.eventually(func(c *clusterSeen) bool { return len(c.voters()) == 3 }, at2...)

	// Raft sends a removed node its removal once, as its last message; a broken connection loses
	// it.
	knows := func() bool { return strings.Contains(n3.log.String(), "this node was removed from the cluster") }
	for attempt := 0; attempt < 3 && !knows(); attempt++ {
		if attempt > 0 {
			s.ok("cluster", "add", "n3", n3.Cluster)
			s.eventually(func(c *clusterSeen) bool { return len(c.voters()) == 3 }, at2...)
		}
		assert.Equal(t, "n3  removed\n", s.ok("cluster", "remove", "n3", "--yes"))
		s.eventually(func(c *clusterSeen) bool { return len(c.Members) == 2 }, at2...)
		for end := time.Now().Add(10 * time.Second); !knows() && time.Now().Before(end); {
			<-time.After(10 * time.Millisecond)
		}
	}
	require.True(t, knows(), "n3 does not log its removal")
	s.eventually(func(c *clusterSeen) bool { return len(c.Members) == 2 }) // it does not rejoin
	// The asked node logs who made the request, and each node logs the outcome.
	assert.Regexp(t, `level=INFO msg="changed the cluster" change="remove member" peer=n3 by=\S+ from=127\.0\.0\.1:\d+\n`, n1.log.String())
	assert.Regexp(t, `level=INFO msg="changed the cluster" change="transfer leadership" peer=n2 by=\S+ from=127\.0\.0\.1:\d+ shard=1\n`, n1.log.String())
	assert.Regexp(t, `level=INFO msg="refused a change of the cluster" change="transfer leadership" peer=n3 by=\S+ from=\S+ error=`, n2.log.String())
	for _, n := range []*process{n1, n2} {
		assert.Contains(t, n.log.String(), `msg="a node is no longer a member" peer=n3`)
		assert.Contains(t, n.log.String(), `msg="a member lost its vote" peer=n3`)
		assert.Contains(t, n.log.String(), `msg="a node leads"`)
	}
	n3.kill()
	s.run("cluster", "add", "n3", n3.Cluster).fails(exitUsage, "address: no node of this cluster answers at "+n3.Cluster, "connection refused", "Nothing was added")
	s.eventually(func(c *clusterSeen) bool { return len(c.Members) == 2 })
	s.run("cluster", "promote", "n3").fails(exitUsage, `node: "n3" is not a member of the cluster`)
	s.run("cluster", "transfer", "--shard", "2").fails(exitUsage, "shard: must be 0 to 1, not 2")

	n2.kill()
	s.until(func(r ran) bool {
		return r.code == exitFailed && strings.Contains(r.err, "queued: no shard has a leader: 1 of 2 nodes is there (n1); missing: n2 since ")
	}, "cluster", "status", "--wait", "0s")
}
