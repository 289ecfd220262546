package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// history returns all pages of a list.
func (s *server) history(admin adminpb.AdminServiceClient, in *adminpb.ListHistoryRequest) (all []*adminpb.FinishedTask) {
	s.Helper()
	for {
		out, err := admin.ListHistory(s.ctx, in)
		require.NoError(s.T, err)
		all = append(all, out.GetTasks()...)
		if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
			return all
		}
	}
}

func TestFinishedTasksAreListed(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	policy := &adminpb.QueuePolicy{HistoryTasksMax: 100, HistoryRetentionMs: 3600_000}
	configured, err := admin.ConfigureQueue(s.ctx, &adminpb.ConfigureQueueRequest{Queue: "q", Policy: policy})
	require.NoError(t, err)
	assert.EqualValues(t, 100, configured.GetQueue().GetPolicy().GetHistoryTasksMax())
	assert.EqualValues(t, 3600_000, configured.GetQueue().GetPolicy().GetHistoryRetentionMs())

	ids := s.enqueue(headed("a"), headed("b"), &queuepb.NewTask{Queue: "q", MaxAttempts: 1, Priority: 3}, headed("a"), headed("a"))
	byID := map[string]*queuepb.Task{}
	for _, task := range s.claimNow(4, "q") {
		byID[task.GetId()] = task
	}
	require.Nil(t, s.complete(byID[ids[0]]))
	require.Nil(t, s.complete(byID[ids[1]]))
	s.fail(byID[ids[2]], "no such mailbox", 0)
	_, err = admin.CancelTasks(s.ctx, &adminpb.CancelTasksRequest{Ids: []string{ids[3]}})
	require.NoError(t, err)
	_, err = admin.PurgeQueue(s.ctx, &adminpb.PurgeQueueRequest{Queue: "q"})
	require.NoError(t, err)

	of := func(in *adminpb.ListHistoryRequest) (out []string) {
		t.Helper()
		for _, task := range s.history(admin, in) {
			out = append(out, task.GetId())
		}
		return out
	}
	for size := range uint32(7) {
		require.Equal(t, []string{ids[4], ids[3], ids[2], ids[1], ids[0]}, of(&adminpb.ListHistoryRequest{Queue: "q", PageSize: size}), "the latest first")
	}
	all := s.history(admin, &adminpb.ListHistoryRequest{Queue: "q"})
	died, done := all[2], all[4]
	assert.Equal(t, []any{"q", uint32(3), adminpb.Finish_FINISH_DIED, adminpb.DeathReason_DEATH_REASON_ATTEMPTS, uint32(1), "no such mailbox"},
		[]any{died.GetQueue(), died.GetPriority(), died.GetFinish(), died.GetDeathReason(), died.GetAttempts(), died.GetLastError()})
	assert.Equal(t, []any{adminpb.Finish_FINISH_COMPLETED, adminpb.DeathReason_DEATH_REASON_UNSPECIFIED, headed("a").GetHeaders()},
		[]any{done.GetFinish(), done.GetDeathReason(), done.GetHeaders()})
	for _, at := range []int64{done.GetEnqueuedAtMs(), done.GetFirstClaimedAtMs(), done.GetLastClaimedAtMs()} {
		assert.Positive(t, at)
		assert.LessOrEqual(t, at, done.GetFinishedAtMs())
	}
	assert.Equal(t, adminpb.Finish_FINISH_CANCELLED, all[1].GetFinish())
	assert.Equal(t, adminpb.Finish_FINISH_PURGED, all[0].GetFinish())
	assert.Zero(t, all[0].GetLastClaimedAtMs())

	assert.Equal(t, []string{ids[1]}, of(&adminpb.ListHistoryRequest{Id: ids[1]}), "without the queue")
	assert.Equal(t, []string{ids[1]}, of(&adminpb.ListHistoryRequest{Queue: "q", Id: ids[1]}))
	assert.Equal(t, []string{ids[1]}, of(&adminpb.ListHistoryRequest{Queue: "q", Kind: "b", PageSize: 1}))
	assert.Equal(t, []string{ids[1]}, of(&adminpb.ListHistoryRequest{Queue: "q", Header: &adminpb.HeaderFilter{Key: "kind", Value: "b"}}))
	assert.Equal(t, []string{ids[2]}, of(&adminpb.ListHistoryRequest{Queue: "q", Finish: adminpb.Finish_FINISH_DIED}))
	assert.Len(t, of(&adminpb.ListHistoryRequest{Queue: "q", FinishedFromMs: done.GetFinishedAtMs()}), 5)
	assert.Empty(t, of(&adminpb.ListHistoryRequest{Queue: "q", FinishedBeforeMs: done.GetFinishedAtMs()}))
	assert.Empty(t, of(&adminpb.ListHistoryRequest{Queue: "q", FinishedFromMs: all[0].GetFinishedAtMs() + 1}))

	for field, in := range map[string]*adminpb.ListHistoryRequest{
		"queue": {}, "id": {Id: "?"}, "kind": {Queue: "q", Kind: "a\n"}, "header": {Queue: "q", Header: &adminpb.HeaderFilter{}}, "finish": {Queue: "q", Finish: 9},
		"finished_from_ms": {Queue: "q", FinishedFromMs: 5, FinishedBeforeMs: 5}, "finished_before_ms": {Queue: "q", FinishedBeforeMs: -1},
		"page_size": {Queue: "q", PageSize: 1_001}, "page_token": {Queue: "q", PageToken: "x"},
	} {
		_, err := admin.ListHistory(s.ctx, in)
		requireField(t, field, err)
	}
	page, err := admin.ListHistory(s.ctx, &adminpb.ListHistoryRequest{Queue: "q", PageSize: 1})
	require.NoError(t, err)
	_, err = admin.ListHistory(s.ctx, &adminpb.ListHistoryRequest{Queue: "q", Id: ids[0], PageToken: page.GetNextPageToken()})
	requireField(t, "page_token", err)
	for _, in := range []*adminpb.ListHistoryRequest{{Tenant: "else", Queue: "q"}, {Tenant: "else", Id: ids[0]}, {Queue: "none"}} {
		_, err := admin.ListHistory(s.ctx, in)
		requireCode(t, codes.NotFound, err)
	}
	for field, policy := range map[string]*adminpb.QueuePolicy{"policy.history_tasks_max": {HistoryTasksMax: 1_000_001}, "policy.history_retention_ms": {HistoryRetentionMs: 1 << 40}} {
		_, err := admin.ConfigureQueue(s.ctx, &adminpb.ConfigureQueueRequest{Queue: "q", Policy: policy})
		requireField(t, field, err)
	}
}
