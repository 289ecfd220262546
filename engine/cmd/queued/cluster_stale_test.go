package main

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/internal/historytest"
	"github.com/pronybench/prony/engine/queuepb"
)

// TestALeaderThatWasStoppedReadsNothingOld resumes a stopped leader and reads from it before it
// learns of its successor.
func TestALeaderThatWasStoppedReadsNothingOld(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	c := newCluster(t, "--durability", "none")
	r := historytest.NewRecorder()
	for round := range 4 {
		stopped := c.leader()
		id, payload, _ := c.put(ctx, c.caller(r, 1, stopped, "q"), fmt.Sprint(round))
		c.signal(stopped, syscall.SIGSTOP)
		next := c.caller(r, 2, c.leader(c.others(stopped)...), "q")
		next.Lease = time.Minute
		c.complete(ctx, next, c.take(ctx, next, id))
		var reading sync.WaitGroup
		for i := range 16 {
			reader := c.caller(r, 10+i, stopped, "q")
			reader.Timeout = patience
			reading.Go(func() {
				if state, outcome := reader.Read(ctx, id, payload); outcome == historytest.OK {
					assert.Equal(t, queuepb.TaskState_TASK_STATE_UNSPECIFIED, state, "the task was completed before it was read")
				}
			})
		}
		aMoment()
		c.signal(stopped, syscall.SIGCONT)
		reading.Wait()
	}
	for _, problem := range historytest.Check(r.Ops(), historytest.Rules{SkewMs: slackMs}) {
		t.Error(problem)
	}
	assert.NotEqual(t, historytest.NotLinearizable, historytest.CheckQueue(r.Ops(), slackMs, checkMost))
}
