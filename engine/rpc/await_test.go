package rpc_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/queuepb"
)

const (
	stateDone = queuepb.TaskState_TASK_STATE_DONE
	stateDead = queuepb.TaskState_TASK_STATE_DEAD
)

type awaited struct {
	out *queuepb.AwaitResultResponse
	err error
}

// await waits for a task's end in the background.
func (s *server) await(ctx context.Context, id string, waitMs uint64) <-chan awaited {
	got := make(chan awaited, 1)
	go func() {
		out, err := s.AwaitResult(ctx, &queuepb.AwaitResultRequest{Id: id, WaitMs: waitMs})
		got <- awaited{out, err}
	}()
	return got
}

func (s *server) completeWith(task *queuepb.Task, result string) {
	s.Helper()
	out, err := s.Complete(s.ctx, &queuepb.CompleteRequest{
		Completions: []*queuepb.Completion{{Id: task.GetId(), Token: task.GetToken(), Result: []byte(result)}},
	})
	require.NoError(s, err)
	require.Nil(s, out.GetResults()[0].GetError())
}

func TestAResultIsKeptAndAwaited(t *testing.T) {
	s := serve(t, nil)
	ids := s.enqueue(
		&queuepb.NewTask{Queue: "q", ResultRetentionMs: 3600_000}, &queuepb.NewTask{Queue: "q", ResultRetentionMs: 3600_000},
		&queuepb.NewTask{Queue: "q"},
	)
	early := s.await(s.ctx, ids[0], 60_000)
	tasks := s.claimNow(3, "q")
	require.Len(t, tasks, 3)
	s.completeWith(tasks[0], "first")
	a := <-early
	require.NoError(t, a.err)
	assert.Equal(t, stateDone, a.out.GetState())
	assert.Equal(t, "first", string(a.out.GetResult()))
	assert.GreaterOrEqual(t, a.out.GetCompletedAtMs(), tasks[0].GetEnqueuedAtMs())
	assert.Equal(t, a.out.GetCompletedAtMs()+3600_000, a.out.GetRetainedUntilMs())

	w := s.work(1, "none")
	w.send(&queuepb.WorkRequest{Settlements: []*queuepb.Settlement{
		{Id: tasks[1].GetId(), Token: tasks[1].GetToken(), Action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE, Result: []byte("second")},
	}})
	assert.Empty(t, w.answer().GetErrors())
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
	for range 2 {
		a = <-s.await(s.ctx, ids[1], 0)
		require.NoError(t, a.err)
		assert.Equal(t, "second", string(a.out.GetResult()))
	}
	s.completeWith(tasks[2], "nobody asked for it")
	requireCode(t, codes.NotFound, (<-s.await(s.ctx, ids[2], 0)).err)
}

func TestAwaitTellsTheStateWhenTheTimeIsOver(t *testing.T) {
	s := serve(t, nil)
	ids := s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: 1}, &queuepb.NewTask{Queue: "later", DelayMs: 3600_000})
	for id, state := range map[string]queuepb.TaskState{
		ids[0]: queuepb.TaskState_TASK_STATE_READY, ids[1]: queuepb.TaskState_TASK_STATE_DELAYED,
	} {
		for _, waitMs := range []uint64{0, 5} {
			a := <-s.await(s.ctx, id, waitMs)
			require.NoError(t, a.err)
			assert.Equal(t, state, a.out.GetState())
		}
	}
	task := s.claim("q")
	a := <-s.await(s.ctx, ids[0], 1)
	require.NoError(t, a.err)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, a.out.GetState())
	dying := s.await(s.ctx, ids[0], 60_000)
	s.fail(task, "it broke", 0)
	for _, a := range []awaited{<-dying, <-s.await(s.ctx, ids[0], 60_000)} {
		require.NoError(t, a.err)
		assert.Equal(t, stateDead, a.out.GetState())
		assert.Equal(t, "it broke", a.out.GetLastError())
	}
}

func TestAnAwaitEndsWithItsCallerAndItsServer(t *testing.T) {
	s := serve(t, nil)
	id := s.enqueue(newTasks("q", 1)...)[0]
	ctx, cancel := context.WithCancel(s.ctx)
	got := s.await(ctx, id, 60_000)
	cancel()
	requireCode(t, codes.Canceled, (<-got).err)
	got = s.await(s.ctx, id, 60_000)
	before := time.Now()
	s.stop()
	a := <-got
	if a.err != nil { // the call may not have arrived before the stop
		requireCode(t, codes.Unavailable, a.err)
	} else {
		assert.Equal(t, queuepb.TaskState_TASK_STATE_READY, a.out.GetState())
	}
	assert.Less(t, time.Since(before), patience)
}

func TestBadAwaits(t *testing.T) {
	s := serve(t, nil)
	for _, c := range []struct {
		field string
		in    *queuepb.AwaitResultRequest
	}{
		{"tenant", &queuepb.AwaitResultRequest{Tenant: "no spaces", Id: unknownID}},
		{"id", &queuepb.AwaitResultRequest{}},
		{"id", &queuepb.AwaitResultRequest{Id: "?"}},
		{"wait_ms", &queuepb.AwaitResultRequest{Id: unknownID, WaitMs: 60_001}},
		{"wait_ms", &queuepb.AwaitResultRequest{Id: unknownID, WaitMs: 1<<64 - 1}},
	} {
		_, err := s.AwaitResult(s.ctx, c.in)
		requireField(t, c.field, err)
	}
	id := s.enqueue(newTasks("q", 1)...)[0]
	for _, in := range []*queuepb.AwaitResultRequest{{Id: unknownID, WaitMs: 60_000}, {Id: otherShardID}, {Tenant: "other", Id: id}} {
		_, err := s.AwaitResult(s.ctx, in)
		requireCode(t, codes.NotFound, err)
	}
	task := s.claim("q")
	out, err := s.Complete(s.ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{
		{Id: task.GetId(), Token: task.GetToken(), Result: bytes.Repeat([]byte("x"), 256<<10+1)},
	}})
	require.NoError(t, err)
	requireItemError(t, out.GetResults()[0].GetError(), codeInvalid, "result")
}
