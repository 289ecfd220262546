package queuedtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuedtest"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func enqueue(t *testing.T, s *queuedtest.Server, tasks ...client.Task) []string {
	t.Helper()
	p, err := s.Client.Producer(t.Context(), "")
	require.NoError(t, err)
	ids, errs, err := p.EnqueueBatch(t.Context(), tasks)
	require.NoError(t, err)
	require.Nil(t, errs)
	require.NoError(t, p.Close(t.Context()))
	return ids
}

func claim(t *testing.T, s *queuedtest.Server) []*queuepb.Task {
	t.Helper()
	out, err := s.Client.API().Claim(t.Context(), &queuepb.ClaimRequest{Queues: []string{"mail"}, MaxTasks: 10, LeaseMs: 600_000})
	require.NoError(t, err)
	return out.GetTasks()
}

func TestTheTestSeesWhatWasEnqueued(t *testing.T) {
	s := queuedtest.Start(t)
	assert.Empty(t, s.Tasks("mail"))
	ids := enqueue(t, s, client.Task{Queue: "mail", Payload: []byte("a"), Delay: time.Hour}, client.Task{Queue: "mail", Payload: []byte("b")},
		client.Task{Queue: "mail", Payload: []byte("c"), Priority: 9})
	claimed := claim(t, s)
	require.Len(t, claimed, 2)
	assert.Equal(t, "c", string(claimed[0].GetPayload()))
	tasks := s.Tasks("mail")
	require.Len(t, tasks, 3)
	assert.ElementsMatch(t, ids, []string{tasks[0].GetId(), tasks[1].GetId(), tasks[2].GetId()})
	states := map[string]queuepb.TaskState{}
	for _, task := range tasks {
		states[string(task.GetPayload())] = task.GetState()
	}
	assert.Equal(t, map[string]queuepb.TaskState{
		"a": queuepb.TaskState_TASK_STATE_DELAYED, "b": queuepb.TaskState_TASK_STATE_LEASED, "c": queuepb.TaskState_TASK_STATE_LEASED,
	}, states)
	assert.Empty(t, s.Dead("mail"))
	_, err := s.Client.API().Fail(t.Context(), &queuepb.FailRequest{Failures: []*queuepb.Failure{
		{Id: claimed[0].GetId(), Token: claimed[0].GetToken(), Error: "no", Permanent: true},
	}})
	require.NoError(t, err)
	require.Len(t, s.Dead("mail"), 1)
	assert.Equal(t, adminpb.DeathReason_DEATH_REASON_PERMANENT, s.Dead("mail")[0].GetReason())
	require.Len(t, s.Tasks("mail"), 2)
}

// A task that waits for another one is among the tasks of its queue.
func TestTheTestSeesWaitingTasks(t *testing.T) {
	s := queuedtest.Start(t)
	first := enqueue(t, s, client.Task{Queue: "mail"})
	later := enqueue(t, s, client.Task{Queue: "mail", After: first})
	tasks := s.Tasks("mail")
	require.Len(t, tasks, 2)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_WAITING, tasks[1].GetState())
	claimed := claim(t, s)
	require.Len(t, claimed, 1)
	_, err := s.Client.API().Complete(t.Context(), &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: claimed[0].GetId(), Token: claimed[0].GetToken()}}})
	require.NoError(t, err)
	out, err := s.Client.API().Claim(t.Context(), &queuepb.ClaimRequest{Queues: []string{"mail"}, WaitMs: 60_000})
	require.NoError(t, err)
	require.Len(t, out.GetTasks(), 1)
	assert.Equal(t, later[0], out.GetTasks()[0].GetId())
}

func TestTheTestMovesTheClock(t *testing.T) {
	s := queuedtest.Start(t)
	enqueue(t, s, client.Task{Queue: "mail", Delay: time.Hour, Backoff: client.Backoff{Initial: time.Millisecond, Max: time.Millisecond}})
	before := s.Now()
	s.Advance(59 * time.Minute)
	assert.Empty(t, claim(t, s))
	s.Advance(time.Minute)
	assert.GreaterOrEqual(t, s.Now().Sub(before), time.Hour)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_READY, s.Tasks("mail")[0].GetState())
	require.Len(t, claim(t, s), 1)
	s.Advance(9 * time.Minute)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, s.Tasks("mail")[0].GetState())
	s.Advance(2 * time.Minute)
	assert.NotEqual(t, queuepb.TaskState_TASK_STATE_LEASED, s.Tasks("mail")[0].GetState())
	s.Advance(time.Second)
	require.Len(t, claim(t, s), 1)
}

// A worker that waits for a task receives it when the clock has moved.
func TestAWaitingWorkerReceivesATaskThatTheClockMadeReady(t *testing.T) {
	s := queuedtest.Start(t)
	enqueue(t, s, client.Task{Queue: "mail", Delay: time.Hour})
	w, err := s.Client.Worker(t.Context(), client.WorkerConfig{Queues: []string{"mail"}, Slots: 1})
	require.NoError(t, err)
	s.Advance(time.Hour)
	task, err := w.Receive(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Complete(t.Context(), task))
	require.NoError(t, w.Close(t.Context()))
	assert.Empty(t, s.Tasks("mail"))
}

func TestInABubbleTheServerFollowsTheBubblesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuedtest.Start(t)
		enqueue(t, s, client.Task{Queue: "mail", Delay: 10 * time.Minute})
		w, err := s.Client.Worker(t.Context(), client.WorkerConfig{Queues: []string{"mail"}, Slots: 1, Lease: time.Minute})
		require.NoError(t, err)
		began := time.Now()
		task, err := w.Receive(t.Context())
		require.NoError(t, err)
		assert.InDelta(t, 10*time.Minute, time.Since(began), float64(time.Second))
		require.NoError(t, w.Complete(t.Context(), task))
		require.NoError(t, w.Close(t.Context()))
		assert.Empty(t, s.Tasks("mail"))
	})
}
