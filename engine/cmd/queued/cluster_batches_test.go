package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/historytest"
	"github.com/pronybench/prony/engine/longtest"
)

// lead asks for a node to lead a shard. The request may fail: the node may lag, or another fault
// may interfere.
func (c *cluster) lead(shard uint32, node string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := c.adminOf(node).TransferLeadership(ctx, &adminpb.TransferLeadershipRequest{Shard: &shard, Node: node}); err != nil {
		c.Logf("transfer shard %d to %s: %v", shard, node, err)
	}
}

// leadAll asks concurrently for nodes to lead the shards: nodes[i] leads shard i.
func (c *cluster) leadAll(nodes ...string) {
	c.Helper()
	var all sync.WaitGroup
	for shard, node := range nodes {
		all.Go(func() { c.lead(uint32(shard), node) })
	}
	all.Wait()
}

// TestBatchesOverShardsAnswerEachItem makes unary calls with items of several shards at all nodes,
// while one node takes the lead of all shards, leadership is spread again, and leaders are killed.
func TestBatchesOverShardsAnswerEachItem(t *testing.T) {
	t.Parallel()
	const roundsMax = 12 // bound per cluster: the history of its clients stays in memory
	for rounds := longtest.Count(t, 4, 40); rounds > 0; rounds -= roundsMax {
		c := newCluster(t, "--durability", "none", "--shards", "3")
		r := historytest.NewRecorder()
		ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
		stop := make(chan struct{})
		var calling sync.WaitGroup
		end := sync.OnceFunc(func() {
			close(stop)
			calling.Wait()
			cancel()
		})
		t.Cleanup(end)
		for i := range 6 {
			b := &historytest.BatchCaller{
				Recorder: r, Client: i, Queues: []string{"a", "b"}, Lease: clusterLease, Timeout: 10 * time.Second, SizeMax: 3 + 3*(i%3),
			}
			for _, id := range clusterNodes {
				b.APIs = append(b.APIs, c.nodes[id].api)
			}
			calling.Go(func() { b.Mix(ctx, stop, time.Millisecond) })
		}
		for n := range min(rounds, roundsMax) {
			c.allLed()
			before := r.Count(historytest.Complete, historytest.OK)
			require.Eventually(t, func() bool { return r.Count(historytest.Complete, historytest.OK) >= before+50 }, patience, 5*time.Millisecond, "no progress")
			c.leadAll(clusterNodes...)
			aMoment()
			if n%4 == 3 {
				killed := c.leader()
				c.kill(killed)
				c.leader()
				aMoment()
				c.start(killed)
				continue
			}
			one := clusterNodes[rand.IntN(len(clusterNodes))]
			c.leadAll(one, one, one)
		}
		c.allLed()
		end()
		c.drain(r, "a", "b")
		c.down()
	}
}
