package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// An answer without tasks names exactly the paused queues of the claim; one with tasks names none.
func TestAnEmptyClaimNamesPausedQueues(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("paused", 1)...)
	s.enqueue(newTasks("other", 1)...)
	s.enqueue(newTasks("unasked", 1)...)
	for _, name := range []string{"paused", "unasked"} {
		_, err := s.administer().PauseQueue(s.ctx, &adminpb.PauseQueueRequest{Queue: name})
		require.NoError(t, err)
	}
	for _, waitMs := range []uint64{0, 1} {
		out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"empty", "paused"}, WaitMs: waitMs})
		require.NoError(t, err)
		assert.Empty(t, out.GetTasks())
		assert.Equal(t, []string{"paused"}, out.GetPausedQueues(), "wait %d", waitMs)
	}
	out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"paused", "other"}})
	require.NoError(t, err)
	assert.Len(t, out.GetTasks(), 1)
	assert.Empty(t, out.GetPausedQueues(), "there is a task")
}

// The node that receives the claim names the queues that are paused at any leader, whether or not
// the claim waited.
func TestAClaimAtSeveralNodesNamesPausedQueues(t *testing.T) {
	c := startNodes(t, 4, 3)
	c.leads("n1", "n2", "n3")
	c.spreadOut()
	_, err := c.all[3].admins().PauseQueue(c.as("t0"), &adminpb.PauseQueueRequest{Queue: "q"})
	require.NoError(t, err)
	for _, n := range c.all {
		for _, waitMs := range []uint64{0, 200} {
			out, err := n.queues().Claim(c.as("t0"), &queuepb.ClaimRequest{Queues: []string{"empty", "q"}, WaitMs: waitMs})
			require.NoError(t, err)
			assert.Empty(t, out.GetTasks())
			assert.Equal(t, []string{"q"}, out.GetPausedQueues(), "%s, wait %d", n.id, waitMs)
		}
	}
}
