package rpc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

const (
	untilFinished = queuepb.UniqueScope_UNIQUE_SCOPE_UNTIL_FINISHED
	untilStarted  = queuepb.UniqueScope_UNIQUE_SCOPE_UNTIL_STARTED
	orReplace     = queuepb.UniqueConflict_UNIQUE_CONFLICT_REPLACE
	orRefuse      = queuepb.UniqueConflict_UNIQUE_CONFLICT_REFUSE
)

func unique(scope queuepb.UniqueScope, conflict queuepb.UniqueConflict) *queuepb.NewTask {
	return &queuepb.NewTask{Queue: "q", IdempotencyKey: "k", MaxAttempts: 1, Unique: &queuepb.Unique{Scope: scope, Conflict: conflict}}
}

func (s *server) enqueueOne(task *queuepb.NewTask) *queuepb.EnqueueResult {
	s.Helper()
	out, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{task}})
	require.NoError(s, err)
	require.Len(s, out.GetResults(), 1)
	return out.GetResults()[0]
}

// requireTaken checks that a task is refused because another task holds its key, and that the refusal
// names the other task.
func (s *server) requireTaken(task *queuepb.NewTask, holder string) {
	s.Helper()
	e := s.enqueueOne(task).GetError()
	require.Equal(s, queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS, e.GetCode())
	require.Equal(s, "another task holds the key: "+holder, e.GetMessage())
}

func TestUniqueTasks(t *testing.T) {
	s := serve(t, nil)
	first := s.enqueue(unique(untilFinished, 0))[0]
	again := s.enqueueOne(unique(untilFinished, 0))
	assert.Equal(t, first, again.GetId())
	assert.True(t, again.GetDuplicate())
	s.requireTaken(unique(untilFinished, orRefuse), first)

	second := s.enqueue(unique(untilFinished, orReplace))[0]
	assert.NotEqual(t, first, second)
	s.gone(first)
	task := s.claim("q")
	assert.Equal(t, second, task.GetId())
	s.requireTaken(unique(untilFinished, orReplace), second)
	require.Nil(t, s.complete(task))

	third := s.enqueue(unique(untilStarted, 0))[0]
	s.requireTaken(unique(untilStarted, orRefuse), third)
	s.claim("q")
	assert.NotEqual(t, third, s.enqueue(unique(untilStarted, orRefuse))[0])
}

func TestUniqueTasksOfAStream(t *testing.T) {
	s := serve(t, nil)
	p := s.produce()
	p.send(&queuepb.ProduceRequest{Tasks: []*queuepb.NewTask{
		unique(untilFinished, 0), unique(untilFinished, 0), unique(untilFinished, orRefuse), unique(untilFinished, orReplace), {Queue: "q"},
	}})
	a := p.answers(1)[0]
	require.NoError(t, p.CloseSend())
	require.NoError(t, p.end())
	assert.Equal(t, []uint32{1}, a.GetDuplicates())
	require.Len(t, a.GetErrors(), 1)
	assert.EqualValues(t, 2, a.GetErrors()[0].GetIndex())
	assert.Equal(t, queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS, a.GetErrors()[0].GetCode())
	s.gone(a.GetIds()[0])
	s.look(a.GetIds()[3])
	s.look(a.GetIds()[4])
}

func TestBadOptionsOfUniqueTasksAreRefused(t *testing.T) {
	s := serve(t, nil)
	for field, u := range map[string]*queuepb.Unique{
		"unique.scope":     {Scope: 300},
		"unique.conflict":  {Conflict: -1},
		"unique.window_ms": {WindowMs: 1 << 40},
	} {
		e := s.enqueueOne(&queuepb.NewTask{Queue: "q", IdempotencyKey: "k", Unique: u}).GetError()
		assert.Equal(t, queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, e.GetCode())
		assert.Equal(t, field, e.GetField())
	}
	assert.Equal(t, "unique", s.enqueueOne(&queuepb.NewTask{Queue: "q", Unique: &queuepb.Unique{}}).GetError().GetField())
}

func TestAQueueHasAKeyWindow(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	out, err := admin.ConfigureQueue(s.ctx, &adminpb.ConfigureQueueRequest{Queue: "q", Policy: &adminpb.QueuePolicy{KeyWindowMs: 1}})
	require.NoError(t, err)
	assert.EqualValues(t, 1, out.GetQueue().GetPolicy().GetKeyWindowMs())
	task := &queuepb.NewTask{Queue: "q", IdempotencyKey: "k"}
	first := s.enqueue(task)[0]
	require.Eventually(t, func() bool { return s.enqueue(task)[0] != first }, patience, time.Millisecond)
}

// A dead task whose key another task holds stays dead: a redrive by its id names the reason, and one
// of the whole queue omits it.
func TestADeadTaskWhoseKeyIsTakenStaysDead(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	first := s.enqueue(unique(untilFinished, 0))[0]
	s.fail(s.claim("q"), "oops", 0)
	second := s.enqueue(unique(untilFinished, 0))[0]
	assert.NotEqual(t, first, second)
	out, err := admin.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Ids: []string{first}})
	require.NoError(t, err)
	assert.Equal(t, queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS, out.GetResults()[0].GetError().GetCode())
	out, err = admin.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Queue: "q"})
	require.NoError(t, err)
	assert.Zero(t, out.GetRedriven())
	require.Nil(t, s.complete(s.claim("q")))
	out, err = admin.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Queue: "q"})
	require.NoError(t, err)
	assert.EqualValues(t, 1, out.GetRedriven())
	assert.Equal(t, first, s.enqueue(unique(untilFinished, 0))[0])
}
