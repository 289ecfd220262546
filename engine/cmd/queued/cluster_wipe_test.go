package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/historytest"
)

// electionTimeouts is the time of several elections.
const electionTimeouts = 3 * time.Second

// nobodyLeads asserts that none of the running servers becomes the leader.
func (c *cluster) nobodyLeads() {
	c.Helper()
	for end := time.Now().Add(electionTimeouts); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		for _, id := range c.up() {
			for _, route := range c.routes(id) {
				require.False(c, route.GetHere(), "%s leads", id)
			}
		}
	}
}

// probe returns the status code of a health probe.
func (p *process) probe(path string) int {
	p.Helper()
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, "http://"+p.Admin+path, nil)
	require.NoError(p, err)
	out, err := http.DefaultClient.Do(request)
	require.NoError(p, err)
	require.NoError(p, out.Body.Close())
	return out.StatusCode
}

// voter waits until a server has its vote.
func (c *cluster) voter(id string) {
	c.Helper()
	require.Eventually(c, func() bool {
		for _, m := range c.status(c.leader()).GetMembers() {
			if m.GetNode() == id {
				return m.GetVoter()
			}
		}
		return false
	}, patience, 50*time.Millisecond, "%s does not vote", id)
}

// stores waits for an answer about the number of stored tasks, and checks that it is the number of
// acknowledged ones and at most that of unknown outcome more.
func (c *cluster) stores(acknowledged, unknown int) {
	c.Helper()
	stored := -1
	require.Eventually(c, func() bool { stored = c.stored(c.leader()); return stored >= 0 }, patience, 20*time.Millisecond)
	require.GreaterOrEqual(c, stored, acknowledged, "acknowledged tasks are stored")
	require.LessOrEqual(c, stored, acknowledged+unknown)
}

const (
	cantBeReadmitted   = "the cluster could not remove the node so that it can join again"
	mustBeStartedAgain = "knows this node with another data folder: restart this node"
)

// cannotRejoin waits until a wiped node reports that the cluster can't readmit it. If a busy host
// kept the others from identifying the node at its start, it ends, and cannotRejoin starts it again.
func (c *cluster) cannotRejoin(id string) {
	c.Helper()
	for ends := time.Now().Add(patience); !strings.Contains(c.nodes[id].log.String(), cantBeReadmitted); {
		require.True(c, time.Now().Before(ends), "%s does not log %q", id, cantBeReadmitted)
		select {
		case <-c.nodes[id].exited:
			require.Contains(c, c.nodes[id].log.String(), mustBeStartedAgain)
			c.gone(id)
			c.start(id)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestAWipedNodeHelpsNobodyToLead wipes a node that has acknowledged tasks together with the
// leader, while the third node lacks these tasks. The wiped node must not help the third one to
// lead.
func TestAWipedNodeHelpsNobodyToLead(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	c := newCluster(t, "--durability", "sync")
	for _, id := range clusterNodes {
		c.caughtUp(id)
		c.remembered(id)
	}
	leader := c.leader()
	lagging, wiped := c.others(leader)[0], c.others(leader)[1]
	c.kill(lagging)
	r := historytest.NewRecorder()
	producer := c.caller(r, 1, leader, "a")
	const tasks = 50
	unknown := 0
	for i := range tasks {
		_, _, more := c.put(ctx, producer, fmt.Sprint(i))
		unknown += more
	}
	c.kill(leader, wiped)
	c.wipe(wiped)
	c.start(lagging, wiped)
	c.cannotRejoin(wiped)
	assert.Equal(t, http.StatusOK, c.nodes[wiped].probe("/livez"))
	assert.Equal(t, http.StatusServiceUnavailable, c.nodes[wiped].probe("/readyz"))
	c.nobodyLeads()
	// After an orderly stop and a start without other nodes, the node still knows that it must not
	// take part.
	c.stop(wiped)
	c.kill(lagging)
	c.start(wiped)
	c.start(lagging)
	c.nobodyLeads()

	c.start(leader)
	c.caughtUp(wiped)
	c.voter(wiped)
	c.stores(tasks, unknown)
	// Its vote counts again.
	c.kill(lagging)
	c.leader()
	c.drain(r, "a")
}

// remembered waits until a server has stored the identities of the others.
func (c *cluster) remembered(id string) {
	c.Helper()
	require.Eventually(c, func() bool {
		text, err := os.ReadFile(c.nodes[id].data + "/cluster.json")
		require.NoError(c, err)
		for _, other := range c.others(id) {
			if !strings.Contains(string(text), fmt.Sprintf("%q:", other)) {
				return false
			}
		}
		return true
	}, patience, 20*time.Millisecond, "%s does not remember the others", id)
}

// TestTwoWipedNodesOfThreeAreNoCluster wipes two of three nodes.
func TestTwoWipedNodesOfThreeAreNoCluster(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	c := newCluster(t, "--durability", "sync", "--shards", "2")
	for _, id := range clusterNodes {
		c.remembered(id)
	}
	leader := c.leader()
	c.put(ctx, c.caller(historytest.NewRecorder(), 1, leader, "a"), "task")
	wiped := c.others(leader)
	c.kill(wiped...)
	for _, id := range wiped {
		c.wipe(id)
	}
	c.start(wiped...)
	for _, id := range wiped {
		c.cannotRejoin(id)
	}
	c.nobodyLeads()
	for _, id := range wiped {
		_, err := c.adminOf(id).GetCluster(ctx, &adminpb.GetClusterRequest{})
		require.NoError(t, err, "its status is readable")
	}
}

// TestAWipedNodeThatBeganAloneStops starts a wiped node while no other node can identify it as
// wiped.
func TestAWipedNodeThatBeganAloneStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	c := newCluster(t, "--durability", "sync")
	for _, id := range clusterNodes {
		c.remembered(id)
	}
	leader := c.leader()
	_, _, unknown := c.put(ctx, c.caller(historytest.NewRecorder(), 1, leader, "a"), "task")
	wiped, other := c.others(leader)[0], c.others(leader)[1]
	c.kill(clusterNodes...)
	c.wipe(wiped)
	c.start(wiped)
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(c.nodes[wiped].data + "/cluster.json")
		require.NoError(t, err)
		return strings.Contains(string(text), `"admitted":true`)
	}, patience, 20*time.Millisecond)
	process := c.nodes[wiped].process
	c.start(other)
	select {
	case <-process.exited:
	case <-time.After(patience):
		require.Fail(t, "it still runs")
	}
	require.Contains(t, process.log.String(), mustBeStartedAgain)
	c.gone(wiped)
	c.start(wiped)
	c.cannotRejoin(wiped)
	c.start(leader)
	c.caughtUp(wiped)
	c.voter(wiped)
	c.stores(1, unknown)
}
