package rpc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestTasksAreRescheduled(t *testing.T) {
	s := serve(t, nil)
	a := s.administer()
	ids := s.enqueue(&queuepb.NewTask{Queue: "q", DelayMs: 3600_000}, &queuepb.NewTask{Queue: "q"})
	leased := s.claim("q")
	due := time.Now().Add(time.Minute).UnixMilli()
	out, err := a.RescheduleTasks(s.ctx, &adminpb.RescheduleTasksRequest{Ids: []string{ids[0], leased.GetId(), "?"}, DueAtMs: due})
	require.NoError(t, err)
	require.Len(t, out.GetResults(), 3)
	require.Nil(t, out.GetResults()[0].GetError())
	requireItemError(t, out.GetResults()[1].GetError(), queuepb.ErrorCode_ERROR_CODE_NOT_FOUND, "")
	requireItemError(t, out.GetResults()[2].GetError(), codeInvalid, "ids")
	assert.Equal(t, due, s.look(ids[0]).GetDueAtMs())
	out, err = a.RescheduleTasks(s.ctx, &adminpb.RescheduleTasksRequest{Ids: ids[:1]})
	require.NoError(t, err)
	require.Nil(t, out.GetResults()[0].GetError())
	assert.Equal(t, ids[0], s.claim("q").GetId())
	for field, in := range map[string]*adminpb.RescheduleTasksRequest{
		"ids": {}, "tenant": {Tenant: "?", Ids: ids}, "due_at_ms": {Ids: ids, DueAtMs: time.Now().Add(400 * 24 * time.Hour).UnixMilli()},
	} {
		_, err := a.RescheduleTasks(s.ctx, in)
		requireField(t, field, err)
	}
	_, err = a.RescheduleTasks(s.ctx, &adminpb.RescheduleTasksRequest{Ids: ids, DueAtMs: -1})
	requireField(t, "due_at_ms", err)
}

// A claim, a stream, GetTask and lists return the new priority.
func TestTasksArePrioritized(t *testing.T) {
	s := serve(t, nil)
	a := s.administer()
	ids := s.enqueue(&queuepb.NewTask{Queue: "q", Priority: 3}, &queuepb.NewTask{Queue: "q"})
	prioritize := func(id string, priority uint32) *queuepb.ItemError {
		out, err := a.PrioritizeTasks(s.ctx, &adminpb.PrioritizeTasksRequest{Ids: []string{id}, Priority: priority})
		require.NoError(t, err)
		require.Len(t, out.GetResults(), 1)
		return out.GetResults()[0].GetError()
	}
	require.Nil(t, prioritize(ids[1], 9))
	assert.EqualValues(t, 9, s.look(ids[1]).GetPriority())
	priorities := map[string]uint32{}
	for _, task := range s.listAll(a, &adminpb.ListTasksRequest{Queue: "q", State: stateReady, PageSize: 1}) {
		priorities[task.GetId()] = task.GetPriority()
	}
	assert.Equal(t, map[string]uint32{ids[0]: 3, ids[1]: 9}, priorities)
	first := s.claim("q")
	assert.Equal(t, ids[1], first.GetId())
	assert.EqualValues(t, 9, first.GetPriority())
	requireItemError(t, prioritize(ids[1], 1), queuepb.ErrorCode_ERROR_CODE_NOT_FOUND, "")
	require.Nil(t, prioritize(ids[0], 2))
	w := s.work(1, "q")
	tasks := w.take(1)
	assert.Equal(t, ids[0], tasks[0].GetId())
	assert.EqualValues(t, 2, tasks[0].GetPriority())
	for field, in := range map[string]*adminpb.PrioritizeTasksRequest{
		"ids": {}, "tenant": {Tenant: "?", Ids: ids}, "priority": {Ids: ids, Priority: 10},
	} {
		_, err := a.PrioritizeTasks(s.ctx, in)
		requireField(t, field, err)
	}
}
