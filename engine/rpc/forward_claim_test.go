package rpc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/queuepb"
)

// A claim without a wait gets the ready tasks of all nodes, up to its maximum.
func TestAClaimDrawsFromAllLeaders(t *testing.T) {
	c := startNodes(t, 4, 3)
	c.leads("n1", "n2", "n3")
	for _, n := range c.all {
		want := map[string]bool{}
		for _, id := range c.spreadOut() {
			want[id] = true
		}
		got := map[string]bool{}
		for len(got) < 3 {
			tasks := n.take(2, 0)
			require.NotEmpty(t, tasks)
			require.LessOrEqual(t, len(tasks), 2)
			for _, task := range tasks {
				got[task.GetId()] = true
			}
		}
		assert.Equal(t, want, got, n.id)
		assert.Empty(t, n.take(2, 0))
	}
}

// waiting waits until the active claim waits at the given nodes.
func (c *nodes) waiting(ids ...string) {
	c.Helper()
	for _, id := range ids {
		require.Eventually(c, func() bool {
			return c.node(id).group.Subscribers() > 0
		}, patience, time.Millisecond)
	}
}

// A claim waits at all nodes that lead: a new task at any of them ends it.
func TestAClaimWaitsAtAllLeaders(t *testing.T) {
	for at, where := range []int{1, 0, 1, 0} {
		t.Run(fmt.Sprintf("%d %d", at, where), func(t *testing.T) {
			c := startNodes(t, 4, 2)
			c.leads("n1", "n2")
			got := make(chan []*queuepb.Task, 1)
			go func() { got <- c.all[at].take(5, 20_000) }()
			c.waiting("n1", "n2")
			id := c.all[where].put(newTasks("q", 1)...)[0]
			tasks := <-got
			require.Len(t, tasks, 1)
			assert.Equal(t, id, tasks[0].GetId())
		})
	}
}

// Tasks that several nodes lease at the same moment are delivered or released: no task waits for a
// lease to expire.
func TestNoClaimLeasesInVain(t *testing.T) {
	c := startNodes(t, 3, 2)
	c.leads("n1", "n2")
	const each = 100
	var claims sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	ctx, done := context.WithCancel(c.as("t0"))
	defer done()
	for k := range 8 {
		claims.Go(func() {
			for ctx.Err() == nil {
				out, err := c.all[k%3].queues().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: uint32(1 + k%2), WaitMs: 20_000})
				if err != nil {
					assert.Error(t, ctx.Err(), "%v", err)
					return
				}
				mu.Lock()
				for _, task := range out.GetTasks() {
					seen[task.GetId()]++
				}
				if len(seen) == 2*each {
					done()
				}
				mu.Unlock()
			}
		})
	}
	for range each {
		c.all[0].put(newTasks("q", 1)...)
		c.all[1].put(newTasks("q", 1)...)
	}
	claims.Wait()
	require.Len(t, seen, 2*each)
	for id, n := range seen {
		require.Equal(t, 1, n, id)
	}
}

// A waiting claim follows the lead to another node.
func TestAClaimFollowsTheLead(t *testing.T) {
	for _, shards := range []int{1, 2} {
		c := startNodes(t, 3, shards)
		c.lead(0, "n2")
		if shards > 1 {
			c.lead(1, "n3")
		}
		got := make(chan []*queuepb.Task, 1)
		go func() { got <- c.all[0].take(1, 20_000) }()
		c.waiting("n2")
		c.lead(0, "n1")
		c.waiting("n1")
		id := c.all[0].put(newTasks("q", 1)...)[0]
		assert.Equal(t, id, (<-got)[0].GetId())
	}
}

func TestAClaimEndsWithItsCaller(t *testing.T) {
	for _, shards := range []int{1, 2} {
		c := startNodes(t, 3, shards)
		c.lead(0, "n2")
		if shards > 1 {
			c.lead(1, "n3")
		}
		ctx, cancel := context.WithCancel(c.as("t0"))
		ended := make(chan error, 1)
		go func() {
			_, err := c.all[0].queues().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 20_000})
			ended <- err
		}()
		c.waiting("n2")
		cancel()
		requireCode(t, codes.Canceled, <-ended)
		// A stopping node does not wait for the others.
		go func() {
			_, err := c.all[0].queues().Claim(c.as("t0"), &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 20_000})
			ended <- err
		}()
		require.Eventually(t, func() bool { return c.all[0].routes.Forwards() > 0 }, patience, time.Millisecond)
		c.all[0].service.Stop()
		if err := <-ended; err != nil {
			requireNotLeader(t, err)
		}
		// Callers that left get no tasks, once the leaders know that they left.
		for _, n := range c.all {
			require.Eventually(t, func() bool { return n.group.Subscribers() == 0 }, patience, time.Millisecond)
		}
		c.all[1].put(newTasks("q", 1)...)
		assert.Len(t, c.all[1].take(1, 0), 1)
	}
}

// A waiting await follows the lead to another node.
func TestAnAwaitFollowsTheLead(t *testing.T) {
	c := startNodes(t, 3, 1)
	c.lead(0, "n2")
	id := c.all[0].put(&queuepb.NewTask{Queue: "q", ResultRetentionMs: 60_000})[0]
	task := c.all[0].take(1, 0)[0]
	got := make(chan *queuepb.AwaitResultResponse, 1)
	for at := range 2 {
		go func() {
			out, err := c.all[at].queues().AwaitResult(c.as("t0"), &queuepb.AwaitResultRequest{Id: id, WaitMs: 20_000})
			assert.NoError(t, err)
			got <- out
		}()
	}
	require.Eventually(t, func() bool { return c.all[0].routes.Forwards() > 0 }, patience, time.Millisecond)
	c.lead(0, "n1")
	c.lead(0, "n3")
	out, err := c.all[0].queues().Complete(c.as("t0"), &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: id, Token: task.GetToken(), Result: []byte("x")}}})
	require.NoError(t, err)
	require.Nil(t, out.GetResults()[0].GetError())
	for range 2 {
		assert.Equal(t, "x", string((<-got).GetResult()))
	}
}

// A call that may have reached a node that then died has an unknown outcome; a call that changes
// nothing is repeated.
func TestACallToANodeThatDies(t *testing.T) {
	for _, reading := range []bool{false, true} {
		c := startNodes(t, 2, 1)
		c.lead(0, "n2")
		id := c.all[0].put(newTasks("q", 1)...)[0]
		task := c.all[0].take(1, 0)[0]
		reached, die := make(chan struct{}), make(chan struct{})
		hold := func(next func() (any, error)) (any, error) {
			out, err := next()
			close(reached)
			<-die
			return out, err
		}
		c.all[1].hold.Store(&hold)
		ended := make(chan error, 1)
		go func() {
			if reading {
				_, err := c.all[0].queues().GetTask(c.as("t0"), &queuepb.GetTaskRequest{Id: id})
				ended <- err
				return
			}
			_, err := c.all[0].queues().Complete(c.as("t0"), &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: id, Token: task.GetToken()}}})
			ended <- err
		}()
		<-reached
		// The node no longer answers, and others lead.
		c.lead(0, "n1")
		if reading {
			require.NoError(t, <-ended)
		} else {
			requireUnknownOutcome(t, <-ended)
		}
		close(die)
	}
}

// A task leased while its claim's caller leaves is released.
func TestAClaimWhoseCallerLeftLeasesNothing(t *testing.T) {
	c := startNodes(t, 2, 1)
	c.lead(0, "n2")
	ctx, cancel := context.WithCancel(c.as("t0"))
	ended := make(chan error, 1)
	go func() {
		_, err := c.all[0].queues().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 20_000})
		ended <- err
	}()
	c.waiting("n2")
	c.logs[0].holdOn()
	put := make(chan struct{})
	go func() {
		defer close(put)
		c.all[1].put(newTasks("q", 1)...)
	}()
	c.logs[0].waits(t) // the task and its lease
	cancel()
	requireCode(t, codes.Canceled, <-ended)
	require.Eventually(t, func() bool { return c.all[1].left.Load() > 0 }, patience, time.Millisecond)
	c.logs[0].letGo(nil)
	<-put
	assert.Len(t, c.all[1].take(1, 20_000), 1)
}
