package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/historytest"
	"github.com/pronybench/prony/engine/queuepb"
)

// On an overloaded host, processes pause for longer than the default election timeout. The resulting
// election fails calls, so the following functions repeat a call until it has its effect.

// untilNextTry pauses before a call is repeated. It fails the test if ctx has ended.
func (c *cluster) untilNextTry(ctx context.Context, call, task string) {
	c.Helper()
	select {
	case <-ctx.Done():
		require.Fail(c, "a call does not succeed", "%s %s", call, task)
	case <-time.After(20 * time.Millisecond):
	}
}

// put enqueues a task, under another payload after each failure. It returns the acknowledged task's
// id and payload, and the number of earlier tasks that may be stored too.
func (c *cluster) put(ctx context.Context, from *historytest.Caller, payload string) (id, stored string, unknown int) {
	c.Helper()
	stored = payload
	for try := 2; ; try++ {
		id, outcome := from.Enqueue(ctx, stored)
		switch outcome {
		case historytest.OK:
			return id, stored, unknown
		case historytest.Unknown:
			unknown++
		}
		c.untilNextTry(ctx, "store", stored)
		stored = fmt.Sprintf("%s, try %d", payload, try)
	}
}

// take claims tasks until it gets the given one. It completes the others, which put may have stored.
func (c *cluster) take(ctx context.Context, from *historytest.Caller, id string) *queuepb.Task {
	c.Helper()
	for {
		task, _ := from.Claim(ctx)
		switch {
		case task.GetId() == id:
			return task
		case task != nil:
			from.Settle(ctx, task, historytest.Complete)
		}
		c.untilNextTry(ctx, "claim", id)
	}
}

// complete completes a leased task. A stale token means that a call whose answer was lost has
// completed it.
func (c *cluster) complete(ctx context.Context, from *historytest.Caller, task *queuepb.Task) {
	c.Helper()
	unknown := false
	for {
		switch outcome := from.Settle(ctx, task, historytest.Complete); outcome {
		case historytest.OK:
			return
		case historytest.Unknown:
			unknown = true
		case historytest.Stale:
			require.True(c, unknown, "the lease of task %s has ended", task.GetId())
			return
		}
		c.untilNextTry(ctx, "complete", task.GetId())
	}
}

// read returns the state of a task.
func (c *cluster) read(ctx context.Context, from *historytest.Caller, id, payload string) queuepb.TaskState {
	c.Helper()
	for {
		state, outcome := from.Read(ctx, id, payload)
		if outcome == historytest.OK {
			return state
		}
		c.untilNextTry(ctx, "read", id)
	}
}
