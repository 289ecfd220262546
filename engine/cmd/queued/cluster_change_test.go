package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/historytest"
)

// ask makes an admin call at one server after another until it succeeds.
func (c *cluster) ask(what string, call func(context.Context, adminpb.AdminServiceClient) error) {
	c.Helper()
	var err error
	require.Eventually(c, func() bool {
		for _, id := range c.up() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			err = call(ctx, c.adminOf(id))
			cancel()
			if err == nil {
				return true
			}
		}
		return false
	}, patience, 50*time.Millisecond, what)
	require.NoError(c, err, what)
}

// snapshot makes each running server snapshot its shards and truncate its logs.
func (c *cluster) snapshot() {
	c.Helper()
	for _, id := range c.up() {
		require.Eventually(c, func() bool {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_, err := c.adminOf(id).TakeSnapshot(ctx, &adminpb.TakeSnapshotRequest{})
			if err != nil {
				c.Logf("snapshot of %s: %v", id, err)
			}
			return err == nil
		}, patience, 50*time.Millisecond, "%s takes no snapshot", id)
	}
}

// transfer moves the lead to a server and waits until it leads.
func (c *cluster) transfer(to string) {
	c.Helper()
	require.Eventually(c, func() bool {
		if routes := c.routes(to); len(routes) > 0 && routes[0].GetHere() {
			return true
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		shard := uint32(0)
		_, err := c.adminOf(to).TransferLeadership(ctx, &adminpb.TransferLeadershipRequest{Shard: &shard, Node: to})
		if err != nil {
			c.Logf("transfer to %s: %v", to, err)
		}
		return false
	}, patience, 50*time.Millisecond, "%s does not become the leader", to)
}

// status returns the cluster as one server sees it.
func (c *cluster) status(of string) *adminpb.GetClusterResponse {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := c.adminOf(of).GetCluster(ctx, &adminpb.GetClusterRequest{})
	if err != nil {
		return nil
	}
	return out
}

// caughtUp waits until a server has applied the entries that were committed when the wait began.
func (c *cluster) caughtUp(id string) {
	c.Helper()
	var committed, applied uint64
	require.Eventually(c, func() bool {
		groups := c.status(c.leader()).GetGroups()
		if len(groups) == 0 {
			return false
		}
		if committed == 0 {
			committed = groups[0].GetCommitIndex()
		}
		for _, replica := range groups[0].GetReplicas() {
			if replica.GetNode() == id {
				applied = replica.GetAppliedIndex()
			}
		}
		return committed > 0 && applied >= committed
	}, patience, 20*time.Millisecond, "%s does not catch up", id)
	c.Logf("%s applied %d, of %d", id, applied, committed)
}

// TestARollingRestartFailsNoCall restarts one node after another, including the leader.
func TestARollingRestartFailsNoCall(t *testing.T) {
	t.Parallel()
	c := newCluster(t, append([]string{"--durability", "none"}, undisturbed...)...)
	// Late settlements would be refused rightly.
	l := c.load(func(l *historytest.Load) { l.Punctual, l.Lease = true, 10*time.Second })
	for _, id := range clusterNodes {
		l.goOn(100)
		c.stop(id)
		l.goOn(100)
		c.start(id)
		c.caughtUp(id)
	}
	l.goOn(100)
	for _, o := range l.end() {
		assert.Equal(t, historytest.OK, o.Outcome, "%s", o)
	}
	assert.EqualValues(t, 6, l.Sessions(), "no session of a client broke")
}

// TestMembersComeAndGoUnderLoad adds a fourth node, removes one of the first three, and kills
// leaders in between.
func TestMembersComeAndGoUnderLoad(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--durability", "none")
	l := c.load()
	l.goOn(100)
	leader := c.leader()
	c.add("n4", "--cluster-join", c.address("any", c.others(leader)[0]))
	c.start("n4")
	c.caughtUp("n4")
	l.goOn(100)
	removed := c.leader()
	c.ask("remove the leader", func(ctx context.Context, admin adminpb.AdminServiceClient) error {
		_, err := admin.RemoveMember(ctx, &adminpb.RemoveMemberRequest{Node: removed})
		return err
	})
	c.leader(c.others(removed)...)
	l.goOn(100)
	c.kill(removed)
	l.goOn(100)
	// Three nodes remain, so that one of them may fail.
	killed := c.leader()
	c.kill(killed)
	c.leader()
	l.goOn(100)
	c.start(killed)
	l.goOn(100)
	l.end()
	status := c.status(c.leader())
	var members []string
	for _, m := range status.GetMembers() {
		members = append(members, m.GetNode())
	}
	assert.Len(t, members, 3)
	assert.NotContains(t, members, removed)
	assert.Contains(t, members, "n4")
}
