package rpc_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

func completionsOf(tasks ...*queuepb.Task) (out []*queuepb.Completion) {
	for _, t := range tasks {
		out = append(out, &queuepb.Completion{Id: t.GetId(), Token: t.GetToken()})
	}
	return out
}

// gone waits until a task is done.
func (s *server) gone(id string) {
	s.Helper()
	require.Eventually(s, func() bool {
		_, err := s.GetTask(s.ctx, &queuepb.GetTaskRequest{Id: id})
		return err != nil
	}, patience, time.Millisecond, "the task is not completed")
}

func TestAClaimCompletesTheTasksOfAnotherClaim(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 3)...)
	s.enqueue(newTasks("other", 2)...)
	tasks := append(s.claimNow(3, "q"), s.claimNow(1, "other")...)
	require.Len(t, tasks, 4)
	stale := completionsOf(tasks[1])[0]
	stale.Token++
	in := &queuepb.ClaimRequest{
		Queues: []string{"other"}, MaxTasks: 5,
		Completions: append(completionsOf(tasks[0], tasks[3]), stale, &queuepb.Completion{Id: "bad", Token: 1}),
	}
	out, err := s.Claim(s.ctx, in)
	require.NoError(t, err)
	require.Len(t, out.GetTasks(), 1)
	assert.Nil(t, out.GetClaimError())
	require.Len(t, out.GetResults(), 4)
	assert.Nil(t, out.GetResults()[0].GetError())
	assert.Nil(t, out.GetResults()[1].GetError(), "the completed task may be of any queue")
	requireItemError(t, out.GetResults()[2].GetError(), codeStale, "")
	requireItemError(t, out.GetResults()[3].GetError(), codeInvalid, "id")
	assert.EqualValues(t, 3, out.GetResults()[3].GetError().GetIndex())
	assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, s.look(tasks[1].GetId()).GetState())

	// The completions also take effect without a ready task, and repeating them is harmless.
	in = &queuepb.ClaimRequest{Queues: []string{"none"}, WaitMs: 1, Completions: completionsOf(tasks[0], tasks[1])}
	out, err = s.Claim(s.ctx, in)
	require.NoError(t, err)
	assert.Empty(t, out.GetTasks())
	requireItemError(t, out.GetResults()[0].GetError(), codeStale, "")
	assert.Nil(t, out.GetResults()[1].GetError())
	s.gone(tasks[1].GetId())

	// A result is retained as with Complete.
	id := s.enqueue(&queuepb.NewTask{Queue: "r", ResultRetentionMs: 3600_000})[0]
	in.Completions = completionsOf(s.claim("r"))
	in.Completions[0].Result = []byte("fine")
	_, err = s.Claim(s.ctx, in)
	require.NoError(t, err)
	result, err := s.AwaitResult(s.ctx, &queuepb.AwaitResultRequest{Id: id})
	require.NoError(t, err)
	assert.Equal(t, "fine", string(result.GetResult()))
	assert.True(t, strings.Contains(s.admin("/metrics"), `prony_refusals_total{of="item",reason="stale_token"} 2`), "refused completions are counted")
}

// A waiting claim does not delay its completions, and they take effect even if the caller leaves.
func TestCompletionsDoNotWaitForTheClaim(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 2)...)
	tasks := s.claimNow(2, "q")
	ctx, cancel := context.WithCancel(s.ctx)
	failed := make(chan error, 1)
	go func() {
		_, err := s.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 60_000, Completions: completionsOf(tasks[0])})
		failed <- err
	}()
	s.gone(tasks[0].GetId())
	s.waitForClaim()
	cancel()
	requireCode(t, codes.Canceled, <-failed)
	requireItemError(t, s.complete(tasks[0]), codeStale, "")

	// A stopping server answers with the results.
	got := make(chan *queuepb.ClaimResponse, 1)
	go func() {
		out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 60_000, Completions: completionsOf(tasks[1])})
		assert.NoError(t, err)
		got <- out
	}()
	s.gone(tasks[1].GetId())
	s.waitForClaim()
	wait := s.stopping()
	out := <-got
	require.Len(t, out.GetResults(), 1)
	assert.Nil(t, out.GetResults()[0].GetError())
	wait()
}

func TestARefusedClaimCompletesNothing(t *testing.T) {
	s := serve(t, func(c *node.Config) { // a list of all calls may be longer than a batch
		c.Limits = queue.DefaultLimits()
		c.Limits.BatchMax = 10
	})
	s.enqueue(newTasks("q", 1)...)
	task := s.claim("q")
	for field, in := range map[string]*queuepb.ClaimRequest{
		"queues[0]":   {Queues: []string{"no spaces"}, Completions: completionsOf(task)},
		"wait_ms":     {Queues: []string{"q"}, WaitMs: 60_001, Completions: completionsOf(task)},
		"completions": {Queues: []string{"q"}, Completions: append(completionsOf(task), make([]*queuepb.Completion, 10)...)},
	} {
		for i, c := range in.GetCompletions() {
			if c == nil {
				in.Completions[i] = &queuepb.Completion{}
			}
		}
		_, err := s.Claim(s.ctx, in)
		requireField(t, field, err)
	}
	require.Nil(t, s.complete(task))
}

func TestClaimsThatCompleteNeedTheScopeOfWorkers(t *testing.T) {
	g := guard(t)
	api := g.as("t0", access.AllScopes)
	_, err := api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
	require.NoError(t, err)
	out, err := api.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
	require.NoError(t, err)
	in := &queuepb.ClaimRequest{Queues: []string{"q"}, Completions: completionsOf(out.GetTasks()...)}
	_, err = g.as("t0", access.Produce).Claim(g.ctx, in)
	requireCode(t, codes.PermissionDenied, err)
	other, err := g.as("t1", access.AllScopes).Claim(g.ctx, in)
	require.NoError(t, err)
	requireItemError(t, other.GetResults()[0].GetError(), codeStale, "")
	out, err = api.Claim(g.ctx, in)
	require.NoError(t, err)
	assert.Nil(t, out.GetResults()[0].GetError(), "the others did nothing")
}

// A worker with all leases of its tenant gets the next task for the one that it completes. A claim
// beyond the quota gets no task, whatever the outcomes of its completions.
func TestCompletionsMakeRoomForTheirClaim(t *testing.T) {
	g := guard(t)
	api := g.as("t0", access.AllScopes)
	g.configure(access.Quotas{LeasesMax: 2})
	_, err := api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 20)})
	require.NoError(t, err)
	out, err := api.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 2})
	require.NoError(t, err)
	require.Len(t, out.GetTasks(), 2)
	task := out.GetTasks()[1]
	for waitMs := range uint64(6) {
		out, err = api.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: waitMs / 5 * 20_000, Completions: completionsOf(task)})
		require.NoError(t, err)
		require.Nil(t, out.GetClaimError(), "%v", out.GetClaimError())
		require.Nil(t, out.GetResults()[0].GetError())
		require.Len(t, out.GetTasks(), 1)
		task = out.GetTasks()[0]
	}
	bad := completionsOf(task)
	bad[0].Token++
	out, err = api.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, Completions: bad})
	require.NoError(t, err)
	requireItemError(t, out.GetResults()[0].GetError(), codeStale, "")
	require.Nil(t, out.GetClaimError())
	assert.Empty(t, out.GetTasks())
	assert.Equal(t, "leases_max", out.GetQuota())
}

// The completions of a claim go to the leaders of their shards, wherever the claim finds a task.
func TestCompletionsOfAClaimGoToTheirShards(t *testing.T) {
	for _, wait := range []uint64{0, 20_000} {
		c := startNodes(t, 4, 3)
		c.leads("n1", "n2", "n3")
		c.spreadOut()
		for _, n := range c.all {
			var tasks []*queuepb.Task
			for len(tasks) < 3 {
				tasks = append(tasks, n.take(3, 0)...)
			}
			c.spreadOut()
			in := &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: wait, Completions: completionsOf(tasks...)}
			in.Completions = append(in.Completions, &queuepb.Completion{Id: "bad"}, &queuepb.Completion{Id: tasks[2].GetId(), Token: 1 << 60})
			out, err := n.queues().Claim(c.as("t0"), in)
			require.NoError(t, err)
			require.Nil(t, out.GetClaimError())
			require.Len(t, out.GetTasks(), 1)
			require.Len(t, out.GetResults(), 5)
			for i := range 3 {
				assert.Nil(t, out.GetResults()[i].GetError())
			}
			requireItemError(t, out.GetResults()[3].GetError(), codeInvalid, "id")
			requireItemError(t, out.GetResults()[4].GetError(), codeStale, "")
			assert.EqualValues(t, 4, out.GetResults()[4].GetError().GetIndex())
			released, err := n.queues().Release(c.as("t0"), &queuepb.ReleaseRequest{Releases: []*queuepb.Releasing{
				{Id: out.GetTasks()[0].GetId(), Token: out.GetTasks()[0].GetToken()},
			}})
			require.NoError(t, err)
			require.Nil(t, released.GetResults()[0].GetError())
		}
	}
}

// If the node loses its leadership during the call, the results still have the outcome of each
// completion, next to the claim's error.
func TestOutcomesOfCompletionsWithoutALeader(t *testing.T) {
	c := startNodes(t, 2, 1)
	c.lead(0, "n2")
	n := c.all[0]
	n.put(newTasks("q", 2)...)
	tasks := n.take(2, 0)
	require.Len(t, tasks, 2)
	c.retriesFor(60 * time.Millisecond)

	c.logs[0].holdOn()
	go func() {
		c.logs[0].waits(t)
		c.logs[0].letGo(shard.ErrUnknownOutcome)
	}()
	out, err := n.queues().Claim(c.as("t0"), &queuepb.ClaimRequest{Queues: []string{"none"}, Completions: completionsOf(tasks[0])})
	require.NoError(t, err)
	requireItemError(t, out.GetResults()[0].GetError(), codeUnknown, "")

	c.lead(0, "")
	out, err = n.queues().Claim(c.as("t0"), &queuepb.ClaimRequest{Queues: []string{"q"}, Completions: completionsOf(tasks[1])})
	require.NoError(t, err)
	requireItemError(t, out.GetResults()[0].GetError(), codeNotLeader, "")
	requireItemError(t, out.GetClaimError(), codeNotLeader, "")
	_, err = n.queues().Claim(c.as("t0"), &queuepb.ClaimRequest{Queues: []string{"q"}})
	requireNotLeader(t, err)

	c.lead(0, "n1")
	c.retriesFor(5 * time.Second)
	out, err = n.queues().Claim(c.as("t0"), &queuepb.ClaimRequest{Queues: []string{"q"}, Completions: completionsOf(tasks[1])})
	require.NoError(t, err)
	assert.Nil(t, out.GetResults()[0].GetError(), "the earlier call had no effect")
}
