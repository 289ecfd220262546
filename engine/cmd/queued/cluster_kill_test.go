package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/historytest"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queuepb"
)

// aMoment waits for a short random time: these tests need faults at random times.
func aMoment() { <-time.After(time.Duration(rand.IntN(100)) * time.Millisecond) }

// TestKilledLeadersLoseNothing kills one leader after another under load. Each restarts, possibly
// with entries that the others lack; these must have no effect.
func TestKilledLeadersLoseNothing(t *testing.T) {
	t.Parallel()
	const killsMax = 10 // bound per cluster: the history of its clients stays in memory
	for _, shards := range []string{"1", "3"} {
		for kills := longtest.Count(t, 1, 150); kills > 0; kills -= killsMax {
			t.Run(shards+" shards", func(t *testing.T) {
				c := newCluster(t, "--durability", "none", "--shards", shards)
				l := c.load()
				for range min(kills, killsMax) {
					l.goOn(100)
					aMoment()
					killed := c.leader()
					c.kill(killed)
					c.leader()
					l.goOn(100)
					c.start(killed)
				}
				l.goOn(100)
				l.end()
			})
		}
	}
}

// TestAllNodesKilledAtOnceLoseNothing kills all nodes at once: with sync, whose guarantee covers
// this and a power loss, and with none, where acknowledged data had reached the operating systems.
func TestAllNodesKilledAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	for _, durability := range []string{"sync", "none"} {
		t.Run(durability, func(t *testing.T) {
			c := newCluster(t, "--durability", durability)
			l := c.load()
			for range longtest.Count(t, 1, 3) {
				l.goOn(50)
				aMoment()
				c.kill(clusterNodes...)
				c.start(clusterNodes...)
			}
			l.goOn(50)
			l.end()
		})
	}
}

// TestANodeKilledAgainAndAgainCatchesUp kills a follower while it catches up, also while it
// installs a snapshot, and then makes it the leader.
func TestANodeKilledAgainAndAgainCatchesUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--durability", "none")
	l := c.load()
	victim := c.follower()
	for range longtest.Count(t, 2, 5) {
		c.kill(victim)
		l.goOn(200)
		c.snapshot()
		c.start(victim)
		aMoment()
	}
	c.caughtUp(victim)
	c.transfer(victim)
	l.goOn(100)
	l.end()
}

// TestAWipedNodeComesBack removes a node's whole data folder.
func TestAWipedNodeComesBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--durability", "sync")
	l := c.load()
	l.goOn(100)
	wiped := c.follower()
	c.kill(wiped)
	c.wipe(wiped)
	l.goOn(100)
	c.snapshot()
	c.start(wiped)
	c.caughtUp(wiped)
	// The node has only data from the others. It takes the lead, and another node is lost.
	c.transfer(wiped)
	l.goOn(100)
	c.kill(c.others(wiped)[0])
	l.goOn(100)
	l.end()
}

// TestWhatWasPendingComesAfterAFailover enqueues tasks of every state and then changes the leader.
func TestWhatWasPendingComesAfterAFailover(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	c := newCluster(t, append([]string{"--durability", "none"}, undisturbed...)...)
	r := historytest.NewRecorder()
	leader := c.leader()
	old := c.caller(r, 1, leader, "q")
	old.Lease, old.Timeout = time.Hour, patience
	const tasks = 200
	for i := range tasks {
		_, outcome := old.Enqueue(ctx, fmt.Sprint(i))
		require.Equal(t, historytest.OK, outcome)
	}
	claim := func(from *historytest.Caller, after string) *queuepb.Task {
		t.Helper()
		task, outcome := from.Claim(ctx)
		require.Equal(t, historytest.OK, outcome, after)
		require.NotNil(t, task, after)
		return task
	}
	held, completed, failed, released, short := claim(old, ""), claim(old, ""), claim(old, ""), claim(old, ""), (*queuepb.Task)(nil)
	old.Lease = time.Second
	short = claim(old, "")
	require.Equal(t, historytest.OK, old.Settle(ctx, completed, historytest.Complete))
	require.Equal(t, historytest.OK, old.Settle(ctx, failed, historytest.Fail))
	require.Equal(t, historytest.OK, old.Settle(ctx, released, historytest.Release))
	c.kill(leader)

	now := c.caller(r, 2, c.leader(), "q")
	now.Lease, now.Timeout = time.Hour, patience
	// The new leader delivers all tasks except the leased and the completed one. The task with the
	// short lease comes once that lease has ended.
	for got := 0; got < tasks-2; {
		task, outcome := now.Claim(ctx)
		require.Equal(t, historytest.OK, outcome)
		if task == nil {
			continue
		}
		got++
		assert.NotEqual(t, held.GetId(), task.GetId(), "the new leader handed out a task that the old leader had leased")
		if task.GetId() == short.GetId() {
			assert.Greater(t, task.GetToken(), short.GetToken())
			assert.Equal(t, historytest.Stale, now.Settle(ctx, short, historytest.Complete), "the old lease has expired")
		}
		require.Equal(t, historytest.OK, now.Settle(ctx, task, historytest.Complete))
	}
	state, outcome := now.Read(ctx, held.GetId(), string(held.GetPayload()))
	require.Equal(t, historytest.OK, outcome)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, state)
	task, outcome := now.Claim(ctx)
	require.Equal(t, historytest.OK, outcome)
	assert.Nil(t, task)
	assert.Equal(t, historytest.OK, now.Settle(ctx, held, historytest.Complete), "the new leader accepts the settlement")
	assert.Empty(t, historytest.Check(r.Ops(), historytest.Rules{SkewMs: slackMs}))
}

// TestAPausedLeaderIsFenced stops a leader process for longer than its leases last, and resumes it
// with its stale view.
func TestAPausedLeaderIsFenced(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	c := newCluster(t, "--durability", "none")
	l := c.load()
	l.goOn(50)
	paused := c.leader()
	r := historytest.NewRecorder()
	late := c.caller(r, 1, paused, "fenced")
	late.Lease, late.Timeout = time.Second, patience
	id, payload, _ := c.put(ctx, late, "task")
	leased := c.take(ctx, late, id)

	c.signal(paused, syscall.SIGSTOP)
	next := c.caller(r, 2, c.leader(c.others(paused)...), "fenced")
	next.Lease = time.Minute
	again := c.take(ctx, next, id) // once the lease has ended
	l.goOn(50)
	c.complete(ctx, next, again)
	// A request that is sent while the process is stopped is the first that it sees when it
	// resumes.
	settled := make(chan historytest.Outcome, 1)
	go func() { settled <- late.Settle(ctx, leased, historytest.Complete) }()
	var reading sync.WaitGroup
	for i := range 8 {
		reader := c.caller(r, 3+i, paused, "fenced")
		reader.Timeout = patience
		reading.Go(func() {
			if state, outcome := reader.Read(ctx, id, payload); outcome == historytest.OK {
				assert.Equal(t, queuepb.TaskState_TASK_STATE_UNSPECIFIED, state, "the task was completed before it was read")
			}
		})
	}
	aMoment()
	c.signal(paused, syscall.SIGCONT)
	assert.NotEqual(t, historytest.OK, <-settled, "an expired lease settles nothing")
	reading.Wait()
	require.Eventually(t, func() bool {
		outcome := late.Settle(ctx, leased, historytest.Complete)
		require.NotEqual(t, historytest.OK, outcome, "later neither")
		return outcome == historytest.Stale
	}, patience, time.Millisecond)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_UNSPECIFIED, c.read(ctx, late, id, payload), "no node returns a completed task")
	assert.Empty(t, historytest.Check(r.Ops(), historytest.Rules{SkewMs: slackMs}))
	assert.NotEqual(t, historytest.NotLinearizable, historytest.CheckQueue(r.Ops(), slackMs, checkMost))
	l.goOn(50)
	l.end()
}
