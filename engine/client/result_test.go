package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// All fields of a task reach the server, and its result is returned.
func TestATaskWithEverything(t *testing.T) {
	n, err := node.Open(node.Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Durability: storage.None})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Shutdown(context.Background())) })
	c, err := client.Dial(n.Addresses()[0])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	ctx := bounded(t)
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"q", "few"}, Weights: []uint32{3, 1}, Slots: 4})
	require.NoError(t, err)

	_, err = p.Enqueue(ctx, client.Task{Queue: "q", Backoff: client.Backoff{MultiplierPercent: 99}})
	require.ErrorContains(t, err, "backoff.multiplier_percent: must be 100 to 1000, not 99")
	_, err = p.Enqueue(ctx, client.Task{Queue: "q", NotBefore: time.UnixMilli(1), Delay: time.Second})
	require.ErrorContains(t, err, "not_before_ms: is set together with delay_ms")

	full := client.Task{
		Queue: "q", Payload: []byte("p"), TTL: time.Hour, ResultRetention: time.Minute, Key: "once", NotBefore: time.UnixMilli(1),
		Backoff: client.Backoff{Initial: time.Millisecond, Max: 5 * time.Millisecond, MultiplierPercent: 100, JitterPercent: 1},
	}
	id, err := p.Enqueue(ctx, full)
	require.NoError(t, err)
	again, err := p.Enqueue(ctx, full)
	require.NoError(t, err)
	assert.Equal(t, id, again, "the key was used before")

	task, err := w.Receive(ctx)
	require.NoError(t, err)
	assert.Equal(t, id, task.GetId())
	require.NoError(t, w.Fail(ctx, task, "not yet", 0))
	task, err = w.Receive(ctx)
	require.NoError(t, err)
	assert.Equal(t, "not yet", task.GetLastError())
	assert.Equal(t, int64(time.Hour/time.Millisecond), task.GetExpiresAtMs()-task.GetEnqueuedAtMs())

	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = c.AwaitResult(short, "", id)
	require.Error(t, err, "the task is still leased")
	came := make(chan *queuepb.AwaitResultResponse, 1)
	go func() {
		r, err := c.AwaitResult(ctx, "", id)
		assert.NoError(t, err)
		came <- r
	}()
	require.NoError(t, w.CompleteWith(ctx, task, []byte("42")))
	r := <-came
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DONE, r.GetState())
	assert.Equal(t, "42", string(r.GetResult()))
	assert.Equal(t, int64(time.Minute/time.Millisecond), r.GetRetainedUntilMs()-r.GetCompletedAtMs())

	plain, err := p.Enqueue(ctx, client.Task{Queue: "few"})
	require.NoError(t, err)
	task, err = w.Receive(ctx)
	require.NoError(t, err)
	require.NoError(t, w.CompleteWith(ctx, task, []byte("not kept")))
	_, err = c.AwaitResult(ctx, "", plain)
	require.ErrorIs(t, err, client.ErrNotFound)
	require.NoError(t, p.Close(ctx))
	require.NoError(t, w.Close(ctx))
}
