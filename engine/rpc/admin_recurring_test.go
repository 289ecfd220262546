package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/adminpb"
)

func recurringSpec(change ...func(*adminpb.RecurringSpec)) *adminpb.RecurringSpec {
	s := &adminpb.RecurringSpec{
		Cron: "30 2 * * *", TimeZone: "Europe/Berlin", JitterMs: 5_000, Missed: adminpb.MissedRuns_MISSED_RUNS_RUN_ALL, MissedMax: 3,
		Overlap: adminpb.Overlap_OVERLAP_SKIP,
		Task:    &adminpb.RecurringTemplate{Payload: []byte("p"), Headers: map[string]string{"kind": "k"}, Priority: 7, MaxAttempts: 2},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func TestARecurringTaskIsAdministered(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	set, err := admin.SetRecurring(s.ctx, &adminpb.SetRecurringRequest{Queue: "q", Name: "r", Spec: recurringSpec()})
	require.NoError(t, err)
	one, err := admin.GetRecurring(s.ctx, &adminpb.GetRecurringRequest{Queue: "q", Name: "r"})
	require.NoError(t, err)
	assert.True(t, proto.Equal(set.GetRecurring(), one.GetRecurring()), "%v", one)
	assert.True(t, proto.Equal(recurringSpec(), one.GetRecurring().GetSpec()), "%v", one)
	next := one.GetRecurring().GetNextMs()
	require.Len(t, next, 5)
	assert.IsIncreasing(t, next)
	assert.Greater(t, next[0], one.GetRecurring().GetSettledUntilMs())
	assert.Equal(t, "default", one.GetRecurring().GetTenant())

	run, err := admin.RunRecurring(s.ctx, &adminpb.RunRecurringRequest{Queue: "q", Name: "r"})
	require.NoError(t, err)
	task := s.claim("q")
	assert.Equal(t, run.GetId(), task.GetId())
	assert.Equal(t, map[string]string{"kind": "k", "recurring": "r"}, task.GetHeaders())
	assert.Equal(t, "p", string(task.GetPayload()))
	assert.EqualValues(t, 7, task.GetPriority())
	assert.EqualValues(t, 2, task.GetMaxAttempts())

	_, err = admin.PauseRecurring(s.ctx, &adminpb.PauseRecurringRequest{Queue: "q", Name: "r"})
	require.NoError(t, err)
	one, err = admin.GetRecurring(s.ctx, &adminpb.GetRecurringRequest{Queue: "q", Name: "r"})
	require.NoError(t, err)
	assert.True(t, one.GetRecurring().GetPaused())
	assert.Empty(t, one.GetRecurring().GetNextMs())
	assert.Equal(t, run.GetId(), one.GetRecurring().GetLastId())
	assert.True(t, one.GetRecurring().GetUnfinished())
	assert.EqualValues(t, 1, one.GetRecurring().GetRuns())
	_, err = admin.ResumeRecurring(s.ctx, &adminpb.ResumeRecurringRequest{Queue: "q", Name: "r"})
	require.NoError(t, err)

	_, err = admin.DeleteQueue(s.ctx, &adminpb.DeleteQueueRequest{Queue: "q"})
	assert.Equal(t, codes.FailedPrecondition, status.Code(err))
	_, err = admin.DeleteRecurring(s.ctx, &adminpb.DeleteRecurringRequest{Queue: "q", Name: "r"})
	require.NoError(t, err)
	for _, err := range []error{
		second(admin.GetRecurring(s.ctx, &adminpb.GetRecurringRequest{Queue: "q", Name: "r"})),
		second(admin.DeleteRecurring(s.ctx, &adminpb.DeleteRecurringRequest{Queue: "q", Name: "r"})),
		second(admin.PauseRecurring(s.ctx, &adminpb.PauseRecurringRequest{Queue: "q", Name: "r"})),
		second(admin.ResumeRecurring(s.ctx, &adminpb.ResumeRecurringRequest{Queue: "q", Name: "r"})),
		second(admin.RunRecurring(s.ctx, &adminpb.RunRecurringRequest{Queue: "q", Name: "r"})),
	} {
		assert.Equal(t, codes.NotFound, status.Code(err), "%v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestRecurringTasksAreListedByPages(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	for _, name := range []string{"b/2", "a/1", "b/1"} {
		for _, tenant := range []string{"", "other"} {
			_, err := admin.SetRecurring(s.ctx, &adminpb.SetRecurringRequest{Tenant: tenant, Queue: name[:1], Name: name[2:], Spec: recurringSpec()})
			require.NoError(t, err)
		}
	}
	var names []string
	for token := ""; ; {
		out, err := admin.ListRecurring(s.ctx, &adminpb.ListRecurringRequest{PageSize: 2, PageToken: token})
		require.NoError(t, err)
		for _, r := range out.GetRecurring() {
			names = append(names, r.GetQueue()+"/"+r.GetName())
			assert.Empty(t, r.GetSpec().GetTask().GetPayload())
			assert.Empty(t, r.GetSpec().GetTask().GetHeaders())
			assert.Equal(t, "default", r.GetTenant())
		}
		if token = out.GetNextPageToken(); token == "" {
			break
		}
	}
	assert.Equal(t, []string{"a/1", "b/1", "b/2"}, names)
	one, err := admin.GetRecurring(s.ctx, &adminpb.GetRecurringRequest{Queue: "b", Name: "2"})
	require.NoError(t, err)
	assert.Equal(t, "p", string(one.GetRecurring().GetSpec().GetTask().GetPayload()), "a list does not change what it lists")
	some, err := admin.ListRecurring(s.ctx, &adminpb.ListRecurringRequest{Queue: "a", Tenant: "other"})
	require.NoError(t, err)
	assert.Len(t, some.GetRecurring(), 1)
}

func TestInvalidRecurringTasksAreRefusedWithTheField(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	for field, in := range map[string]*adminpb.SetRecurringRequest{
		"queue":              {Queue: "?", Name: "r", Spec: recurringSpec()},
		"name":               {Queue: "q", Name: "", Spec: recurringSpec()},
		"spec":               {Queue: "q", Name: "r"},
		"spec.cron":          {Queue: "q", Name: "r", Spec: recurringSpec(func(s *adminpb.RecurringSpec) { s.Cron = "61 * * * *" })},
		"spec.time_zone":     {Queue: "q", Name: "r", Spec: recurringSpec(func(s *adminpb.RecurringSpec) { s.TimeZone = "Mars" })},
		"spec.missed":        {Queue: "q", Name: "r", Spec: recurringSpec(func(s *adminpb.RecurringSpec) { s.Missed = 9 })},
		"spec.overlap":       {Queue: "q", Name: "r", Spec: recurringSpec(func(s *adminpb.RecurringSpec) { s.Overlap = 9 })},
		"spec.task.priority": {Queue: "q", Name: "r", Spec: recurringSpec(func(s *adminpb.RecurringSpec) { s.Task.Priority = 256 })},
	} {
		_, err := admin.SetRecurring(s.ctx, in)
		require.Equal(t, codes.InvalidArgument, status.Code(err), field)
		assert.Contains(t, status.Convert(err).Message(), field+": ")
	}
	_, err := admin.ListRecurring(s.ctx, &adminpb.ListRecurringRequest{PageToken: "x"})
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
}

// Each node of a cluster executes the calls at the leader of the queue's shard, and lists the
// recurring tasks of all leaders.
func TestRecurringTasksInACluster(t *testing.T) {
	c := startNodes(t, 3, 4)
	for i, node := range []string{"n1", "n2", "n3", "n1"} {
		c.lead(i, node)
	}
	as := c.as("t0")
	for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
		admin := c.all[i%3].admins()
		_, err := admin.SetRecurring(as, &adminpb.SetRecurringRequest{Queue: name, Name: "r", Spec: recurringSpec()})
		require.NoError(t, err)
	}
	var names []string
	for token := ""; ; {
		out, err := c.all[1].admins().ListRecurring(as, &adminpb.ListRecurringRequest{PageSize: 4, PageToken: token})
		require.NoError(t, err)
		for _, r := range out.GetRecurring() {
			names = append(names, r.GetQueue())
		}
		if token = out.GetNextPageToken(); token == "" {
			break
		}
	}
	assert.Equal(t, []string{"a", "b", "c", "d", "e", "f"}, names)
	for i, name := range names {
		admin := c.all[(i+1)%3].admins()
		_, err := admin.DeleteQueue(as, &adminpb.DeleteQueueRequest{Queue: name})
		require.Equal(t, codes.FailedPrecondition, status.Code(err))
		_, err = admin.PauseRecurring(as, &adminpb.PauseRecurringRequest{Queue: name, Name: "r"})
		require.NoError(t, err)
		one, err := admin.GetRecurring(as, &adminpb.GetRecurringRequest{Queue: name, Name: "r"})
		require.NoError(t, err)
		assert.True(t, one.GetRecurring().GetPaused())
		_, err = admin.DeleteQueue(as, &adminpb.DeleteQueueRequest{Queue: name, Force: true})
		require.NoError(t, err)
		_, err = admin.GetRecurring(as, &adminpb.GetRecurringRequest{Queue: name, Name: "r"})
		require.Equal(t, codes.NotFound, status.Code(err))
	}
}
