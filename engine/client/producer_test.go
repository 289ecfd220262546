package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestProducerStoresTasks(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	p, err := c.Producer(ctx, "tenant")
	require.NoError(t, err)
	id, err := p.Enqueue(ctx, client.Task{Queue: "q", Priority: 3, Payload: []byte("x"), MaxAttempts: 4, Lease: time.Hour})
	require.NoError(t, err)
	late, err := p.Enqueue(ctx, client.Task{Queue: "q", Delay: time.Hour, Headers: map[string]string{"kind": "late", "trace": "7f3a"}})
	require.NoError(t, err)
	require.NoError(t, p.Close(ctx))

	claim, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Tenant: "tenant", Queues: []string{"q"}, MaxTasks: 10})
	require.NoError(t, err)
	require.Len(t, claim.GetTasks(), 1)
	task := claim.GetTasks()[0]
	assert.Equal(t, id, task.GetId())
	assert.Equal(t, "x", string(task.GetPayload()))
	assert.EqualValues(t, 3, task.GetPriority())
	assert.EqualValues(t, 4, task.GetMaxAttempts())
	assert.Greater(t, task.GetLeaseExpiresAtMs(), task.GetEnqueuedAtMs()+3000_000)
	got, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Tenant: "tenant", Id: late})
	require.NoError(t, err)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DELAYED, got.GetTask().GetState())
	assert.Equal(t, map[string]string{"kind": "late", "trace": "7f3a"}, got.GetTask().GetHeaders())
	assert.Empty(t, task.GetHeaders())
}

// The conflict of an enqueue, and the events that free the key of a task, as a program sees them. The
// options of one task are not those of the next task in its frame.
func TestUniqueTasks(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	task := func(scope client.UniqueScope, conflict client.UniqueConflict) client.Task {
		return client.Task{Queue: "q", Key: "k", Unique: &client.Unique{Scope: scope, Conflict: conflict}}
	}
	ids, errs, err := p.EnqueueBatch(ctx, []client.Task{
		task(client.UntilFinished, client.ReturnFirst), task(client.UntilFinished, client.ReturnFirst),
		{Queue: "q", Key: "other"},
		task(client.UntilFinished, client.RefuseSecond), task(client.UntilStarted, client.ReplaceWaiting),
		{Queue: "q", Key: "other"},
	})
	require.NoError(t, err)
	assert.Equal(t, ids[0], ids[1])
	assert.Equal(t, ids[2], ids[5])
	require.ErrorIs(t, errs[3], client.ErrKeyTaken)
	assert.NotEqual(t, ids[0], ids[4])

	claim, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 10})
	require.NoError(t, err)
	require.Len(t, claim.GetTasks(), 2)
	for _, conflict := range []client.UniqueConflict{client.RefuseSecond, client.ReturnFirst} {
		id, err := p.Enqueue(ctx, client.Task{Queue: "q", Key: "k", Unique: &client.Unique{Window: time.Hour, Conflict: conflict}})
		if conflict == client.RefuseSecond {
			require.NoError(t, err)
			assert.NotEqual(t, ids[4], id)
			ids[4] = id
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, ids[4], id)
	}
	_, err = p.Enqueue(ctx, client.Task{Queue: "q", Unique: &client.Unique{}})
	require.ErrorIs(t, err, client.ErrInvalidArgument)
}

// Headers reach a worker in either kind of session. Those of one task are not those of the next task
// in its frame.
func TestHeadersReachTheWorker(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	_, errs, err := p.EnqueueBatch(ctx, []client.Task{
		{Queue: "q", Payload: []byte("0"), Headers: map[string]string{"kind": "mail", "empty": ""}},
		{Queue: "q", Payload: []byte("1")},
		{Queue: "q", Payload: []byte("2"), Headers: map[string]string{"kind": "report \xff"}},
	})
	require.NoError(t, err)
	require.Nil(t, errs)
	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: 3})
	require.NoError(t, err)
	for i, want := range []map[string]string{{"kind": "mail", "empty": ""}, nil, {"kind": "report \uFFFD"}} {
		task, err := w.Receive(ctx)
		require.NoError(t, err)
		assert.Equal(t, want, task.GetHeaders())
		assert.Equal(t, fmt.Sprint(i), string(task.GetPayload()))
	}
	require.NoError(t, w.Close(ctx))
	require.NoError(t, p.Close(ctx))
}

func TestARefusedTaskLeavesTheProducerAlive(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	for field, task := range map[string]client.Task{
		"queue":    {Queue: "no spaces"},
		"priority": {Queue: "q", Priority: 10},
		"payload":  {Queue: "q", Payload: bytes.Repeat([]byte("x"), 1<<20+1)},
		"delay_ms": {Queue: "q", Delay: -time.Second},
		"lease_ms": {Queue: "q", Lease: 25 * time.Hour},
		"headers":  {Queue: "q", Headers: map[string]string{"kind\xff": "v"}},
	} {
		_, err = p.Enqueue(ctx, task)
		require.ErrorIs(t, err, client.ErrInvalidArgument)
		var refused *client.Error
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, field, refused.Field)
		assert.NotEmpty(t, refused.Message)
	}
	_, err = p.Enqueue(ctx, client.Task{Queue: "q\xff"})
	require.ErrorIs(t, err, client.ErrInvalidArgument, "invalid UTF-8 can't be sent, and must not end the session")
	_, err = p.Enqueue(ctx, client.Task{Queue: "q", Payload: make([]byte, 20<<20)})
	require.ErrorIs(t, err, client.ErrInvalidArgument, "a task too large for a frame must not end the session")

	ids, errs, err := p.EnqueueBatch(ctx, []client.Task{{Queue: "q"}, {Queue: "\xff"}, {Queue: "q"}})
	require.NoError(t, err)
	require.Len(t, errs, 3)
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], client.ErrInvalidArgument)
	require.NoError(t, errs[2])
	assert.NotEmpty(t, ids[0])
	assert.Empty(t, ids[1])
	assert.NotEmpty(t, ids[2])

	for _, n := range []int{0, 1_001} {
		_, _, err = p.EnqueueBatch(ctx, make([]client.Task, n))
		require.ErrorIs(t, err, client.ErrInvalidArgument)
	}
	_, err = p.Enqueue(ctx, client.Task{Queue: "q"})
	require.NoError(t, err)
	require.NoError(t, p.Close(ctx))
}

func TestProducerCallsUnderWayEndWhenTheServerGoes(t *testing.T) {
	const callers = 20
	ctx := bounded(t)
	g := newGated()
	f := &fake{produce: g.play}
	c := dial(t, f.listen(t), client.WithRetryMax(time.Second))
	p := opened(t, func() (*client.Producer, error) { return c.Producer(ctx, "") })
	failed := make(chan error, callers)
	for range callers {
		go func() {
			_, err := p.Enqueue(ctx, client.Task{Queue: "q"})
			failed <- err
		}()
	}
	<-g.frames
	f.grpc.Stop()
	unknown := 0
	for range callers {
		err := <-failed
		if errors.Is(err, client.ErrUnknownOutcome) {
			unknown++
			require.NotErrorIs(t, err, client.ErrUnavailable)
		} else {
			require.ErrorIs(t, err, client.ErrUnavailable, "the call was waiting")
		}
	}
	require.Positive(t, unknown)
	_, err := p.Enqueue(ctx, client.Task{Queue: "q"})
	require.ErrorIs(t, err, client.ErrUnavailable)
	require.NotErrorIs(t, err, client.ErrUnknownOutcome, "the call was never sent")
	require.NoError(t, p.Close(ctx), "a session without a server can be closed")
}

func TestACallThatGivesUpHasAnUnknownOutcomeAndTheProducerLivesOn(t *testing.T) {
	ctx := bounded(t)
	g := newGated()
	p, err := (&fake{produce: g.play}).serve(t).Producer(ctx, "")
	require.NoError(t, err)
	impatient, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() {
		_, err := p.Enqueue(impatient, client.Task{Queue: "q"})
		failed <- err
	}()
	<-g.frames
	cancel()
	err = <-failed
	require.ErrorIs(t, err, client.ErrUnknownOutcome)
	require.ErrorIs(t, err, context.Canceled)
	close(g.gate)
	id, err := p.Enqueue(ctx, client.Task{Queue: "q", Payload: []byte("mine")})
	require.NoError(t, err)
	assert.Equal(t, "mine", id)
	require.NoError(t, p.Close(ctx))
}

func TestProducerCloseWaitsForCallsUnderWay(t *testing.T) {
	ctx := bounded(t)
	g := newGated()
	p, err := (&fake{produce: g.play}).serve(t).Producer(ctx, "")
	require.NoError(t, err)
	enqueued := make(chan error, 1)
	go func() {
		_, err := p.Enqueue(ctx, client.Task{Queue: "q", Payload: []byte("p")})
		enqueued <- err
	}()
	<-g.frames
	closed := make(chan error, 1)
	go func() { closed <- p.Close(ctx) }()
	// Once calls are refused, Close is waiting.
	require.Eventually(t, func() bool {
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, err := p.Enqueue(gone, client.Task{Queue: "q", Payload: []byte("p")})
		return assert.ObjectsAreEqual(client.ErrClosed, err)
	}, patience, time.Millisecond)
	require.Empty(t, closed, "Close returned before the active call")
	require.Empty(t, enqueued, "the call returned without an answer")
	close(g.gate)
	require.NoError(t, <-enqueued)
	require.NoError(t, <-closed)
	_, err = p.Enqueue(ctx, client.Task{Queue: "q", Payload: []byte("p")})
	require.ErrorIs(t, err, client.ErrClosed)
	require.NoError(t, p.Close(ctx), "a second Close has no effect")
}

func TestProducerCloseCutsTheSessionWhenItsTimeIsOver(t *testing.T) {
	ctx := bounded(t)
	g := newGated()
	p, err := (&fake{produce: g.play}).serve(t).Producer(ctx, "")
	require.NoError(t, err)
	enqueued := make(chan error, 1)
	go func() {
		_, err := p.Enqueue(ctx, client.Task{Queue: "q"})
		enqueued <- err
	}()
	<-g.frames
	over, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, p.Close(over), context.Canceled)
	require.ErrorIs(t, <-enqueued, client.ErrUnknownOutcome)
}

func TestManyCallersShareFrames(t *testing.T) {
	const callers, each = 200, 20
	ctx := bounded(t)
	g := newGated()
	p, err := (&fake{produce: g.play}).serve(t).Producer(ctx, "")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range each {
				name := fmt.Sprintf("%d/%d", i, j)
				id, err := p.Enqueue(ctx, client.Task{Queue: "q", Payload: []byte(name)})
				assert.NoError(t, err)
				assert.Equal(t, name, id, "each caller gets its own answer")
			}
		})
	}
	close(g.gate)
	wg.Wait()
	require.NoError(t, p.Close(ctx))
	frames, tasks := len(g.frames), 0
	for range frames {
		f := <-g.frames
		assert.NotEmpty(t, f.GetTasks())
		assert.LessOrEqual(t, len(f.GetTasks()), 1_000)
		tasks += len(f.GetTasks())
	}
	assert.Equal(t, callers*each, tasks)
	assert.Less(t, frames, tasks/2, "waiting callers share a frame")
}

func TestFramesStayBelowTheServersLimit(t *testing.T) {
	const callers = 24
	ctx := bounded(t)
	g := newGated()
	p, err := (&fake{produce: g.play}).serve(t).Producer(ctx, "")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			_, _, err := p.EnqueueBatch(ctx, []client.Task{{Queue: "q", Payload: make([]byte, 1<<20)}, {Queue: "q", Payload: make([]byte, 1<<19)}})
			assert.NoError(t, err)
		})
	}
	close(g.gate)
	wg.Wait()
	require.NoError(t, p.Close(ctx))
	for range len(g.frames) {
		bytes := 0
		for _, task := range (<-g.frames).GetTasks() {
			bytes += len(task.GetPayload())
		}
		assert.LessOrEqual(t, bytes, 4<<20)
	}
}

func TestASessionWithoutAServerFails(t *testing.T) {
	ctx := bounded(t)
	for _, most := range []time.Duration{0, 50 * time.Millisecond} {
		c := dial(t, "unix:"+t.TempDir()+"/nobody", client.WithRetryMax(most))
		_, err := c.Producer(ctx, "")
		require.ErrorIs(t, err, client.ErrUnavailable)
		require.ErrorContains(t, err, "no such file", "the address was tried")
		_, err = c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: 1})
		require.ErrorIs(t, err, client.ErrUnavailable)
	}
}

// Without retries, a session with a running server opens.
func TestASessionOpensWithoutRetries(t *testing.T) {
	ctx := bounded(t)
	g := newGated()
	close(g.gate)
	c := dial(t, (&fake{produce: g.play}).listen(t), client.WithRetryMax(0))
	p := opened(t, func() (*client.Producer, error) { return c.Producer(ctx, "") })
	_, err := p.Enqueue(ctx, client.Task{Queue: "q", Payload: []byte("p")})
	require.NoError(t, err)
	require.NoError(t, p.Close(ctx))
}

// Closing the client ends its open sessions. Their calls do not wait for a server.
func TestASessionEndsWithItsClient(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: 1})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = w.Receive(ctx)
	require.ErrorContains(t, err, "the client was closed")
	_, err = p.Enqueue(ctx, client.Task{Queue: "q"})
	require.ErrorContains(t, err, "the client was closed")
	require.NotErrorIs(t, err, client.ErrUnknownOutcome, "the call was never sent")
}

func TestTheSessionsContextEndsIt(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	life, cancel := context.WithCancel(ctx)
	p, err := c.Producer(life, "")
	require.NoError(t, err)
	w, err := c.Worker(life, client.WorkerConfig{Queues: []string{"q"}, Slots: 1})
	require.NoError(t, err)
	_, err = p.Enqueue(ctx, client.Task{Queue: "other"})
	require.NoError(t, err)
	cancel()
	_, err = w.Receive(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool {
		_, err := p.Enqueue(ctx, client.Task{Queue: "other"})
		return err != nil
	}, patience, time.Millisecond)
	require.NoError(t, p.Close(ctx))
	require.NoError(t, w.Close(ctx))
}
