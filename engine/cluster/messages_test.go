package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
)

// A task of one shard waits for a task of another, which another node leads.
func TestATaskWaitsForATaskOfAnotherNode(t *testing.T) {
	nodes := startNodesOf(t, 3, 2)
	require.Eventually(t, func() bool {
		if nodes[0].Leader(1) == "n0" {
			_ = nodes[0].changeGroup(t.Context(), &peerpb.ChangeGroupRequest{Shard: 1, Change: peerpb.GroupChange_GROUP_CHANGE_TRANSFER})
		}
		return nodes[0].Leader(0) == "n0" && len(nodes[0].config.Shards.Led()) == 1 && nodes[0].Leader(1) != "" && nodes[0].Leader(1) != "n0"
	}, patience, 10*time.Millisecond)
	first := nodes[0].config.Shards
	var second *shard.Group
	require.Eventually(t, func() bool {
		for _, k := range nodes[1:] {
			if led := k.config.Shards.Led(); len(led) == 1 && led[0] == 1 {
				second = k.config.Shards
			}
		}
		return second != nil
	}, patience, 10*time.Millisecond)
	enqueue := func(g *shard.Group, n queue.NewTask) queue.ID {
		out, err := shard.AwaitReply(t.Context(), func(reply func([]queue.Enqueued, error)) error { return g.Enqueue("t", []queue.NewTask{n}, reply) })
		require.NoError(t, err)
		require.NoError(t, out[0].Err)
		return queue.ID{Shard: out[0].Shard, Ref: out[0].Ref}
	}
	complete := func(g *shard.Group, name string) queue.ID {
		var got []shard.Granted
		require.Eventually(t, func() bool {
			var err error
			got, err = shard.AwaitReply(t.Context(), func(reply func([]shard.Granted, error)) error {
				return g.Claim(queue.Claim{Tenant: "t", Queues: []string{name}, Credit: 1}, reply)
			})
			return err == nil && len(got) == 1
		}, patience, 10*time.Millisecond)
		d := got[0].Tasks[0]
		out, err := shard.AwaitReply(t.Context(), func(reply func([]error, error)) error {
			return g.Settle("t", []queue.Settlement{{Shard: got[0].Shard, Ref: d.Ref, Token: d.Token, Action: queue.Complete}}, reply)
		})
		require.NoError(t, err)
		require.NoError(t, out[0])
		return queue.ID{Shard: got[0].Shard, Ref: d.Ref}
	}
	a := enqueue(second, queue.NewTask{Queue: "a"})
	require.EqualValues(t, 1, a.Shard)
	n := queue.NewTask{Queue: "w"}
	require.Nil(t, n.Depend([]string{a.String()}, 0, "", queue.WaitForDead))
	w := enqueue(first, n)
	require.EqualValues(t, 0, w.Shard)
	assert.Equal(t, a, complete(second, "a"))
	assert.Equal(t, w, complete(first, "w"))

	service := nodes[0].PeerService()
	for _, bad := range []*peerpb.DeliverRequest{{Shard: 9}, {Messages: [][]byte{{99}}}, {Messages: make([][]byte, messagesMax+1)}} {
		_, err := service.Deliver(t.Context(), bad)
		assert.Equal(t, codes.InvalidArgument, status.Code(err))
	}
	_, err := service.Deliver(t.Context(), &peerpb.DeliverRequest{Shard: 1})
	assert.Equal(t, codes.Unavailable, status.Code(err), "another node leads the shard")
}
