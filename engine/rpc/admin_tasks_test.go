package rpc_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
)

// listAll reads all pages of a list.
func (s *server) listAll(admin adminpb.AdminServiceClient, in *adminpb.ListTasksRequest) (all []*queuepb.Task) {
	s.Helper()
	for {
		out, err := admin.ListTasks(s.ctx, in)
		require.NoError(s, err)
		all = append(all, out.GetTasks()...)
		if out.GetNextPageToken() == "" {
			return all
		}
		in.PageToken = out.GetNextPageToken()
	}
}

func (s *server) listDead(admin adminpb.AdminServiceClient, filter *adminpb.DeadFilter) (all []*adminpb.DeadTask) {
	s.Helper()
	in := &adminpb.ListDeadRequest{Queue: "q", Filter: filter, PageSize: 1}
	for {
		out, err := admin.ListDead(s.ctx, in)
		require.NoError(s, err)
		all = append(all, out.GetTasks()...)
		if out.GetNextPageToken() == "" {
			return all
		}
		in.PageToken = out.GetNextPageToken()
	}
}

func TestTasksAreListedByState(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	s.someTasks(admin)
	for state, n := range map[queuepb.TaskState]int{stateReady: 2, stateDelayed: 1, stateLeased: 1, stateDead: 2} {
		for _, size := range []uint32{0, 1, 2} {
			tasks := s.listAll(admin, &adminpb.ListTasksRequest{Queue: "q", State: state, PageSize: size})
			require.Len(t, tasks, n)
			for _, task := range tasks {
				assert.Equal(t, state, task.GetState())
				assert.Equal(t, "abc", string(task.GetPayload()))
				assert.Equal(t, "q", task.GetQueue())
				assert.Equal(t, state, s.look(task.GetId()).GetState())
				switch state {
				case stateDelayed:
					assert.Greater(t, task.GetDueAtMs(), time.Now().UnixMilli())
				case stateLeased:
					assert.Greater(t, task.GetLeaseExpiresAtMs(), time.Now().UnixMilli())
					assert.Zero(t, task.GetToken(), "only the worker knows the lease's token")
				case stateDead:
					assert.Contains(t, task.GetLastError(), "broke ")
				}
			}
		}
	}
}

// A page of large tasks stays below the limit of a gRPC client.
func TestPagesOfLargeTasks(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	const n = 9
	for range n {
		s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: 1, Payload: bytes.Repeat([]byte("x"), 1<<20)})
	}
	assert.Len(t, s.listAll(admin, &adminpb.ListTasksRequest{Queue: "q", State: stateReady, PageSize: 1_000}), n)
	for range n {
		s.fail(s.claim("q"), "too large", 0)
	}
	out, err := admin.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Queue: "q"})
	require.NoError(t, err)
	assert.EqualValues(t, n, out.GetRedriven())
}

// A task with many long failures is listed with its latest attempts.
func TestALongHistoryIsListed(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	const n = 100
	s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: n, Backoff: &queuepb.Backoff{InitialMs: 1, MaxMs: 1}})
	long := string(bytes.Repeat([]byte("ä"), 2<<10))
	for range n {
		s.fail(s.claim("q"), long, 1)
	}
	dead := s.listDead(admin, nil)
	require.Len(t, dead, 1)
	kept := dead[0].GetAttempts()
	require.LessOrEqual(t, len(kept), queue.AttemptsKept)
	require.GreaterOrEqual(t, len(kept), queue.AttemptsKept/2)
	for i, a := range kept {
		require.EqualValues(t, n-len(kept)+i+1, a.GetAttempt())
		require.Equal(t, long, a.GetError())
	}
	assert.Equal(t, long, dead[0].GetTask().GetLastError())
}

func TestTasksAreCancelled(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	s.someTasks(admin)
	var ids []string
	for _, state := range []queuepb.TaskState{stateReady, stateDelayed, stateLeased, stateDead} {
		ids = append(ids, s.listAll(admin, &adminpb.ListTasksRequest{Queue: "q", State: state})[0].GetId())
	}
	in := slices.Concat([]string{"?", unknownID}, ids, []string{otherShardID, ids[0]})
	out, err := admin.CancelTasks(s.ctx, &adminpb.CancelTasksRequest{Ids: in})
	require.NoError(t, err)
	require.Len(t, out.GetResults(), 8)
	requireItemError(t, out.GetResults()[0].GetError(), codeInvalid, "ids")
	for _, i := range []int{1, 6, 7} {
		requireItemError(t, out.GetResults()[i].GetError(), codeNotFound, "")
		assert.EqualValues(t, i, out.GetResults()[i].GetError().GetIndex())
	}
	for i, id := range ids {
		assert.Nil(t, out.GetResults()[2+i].GetError())
		_, err := s.GetTask(s.ctx, &queuepb.GetTaskRequest{Id: id})
		requireCode(t, codes.NotFound, err)
	}
	left := s.listAll(admin, &adminpb.ListTasksRequest{Queue: "q", State: stateReady})
	require.Len(t, left, 1)
	other, err := admin.CancelTasks(s.ctx, &adminpb.CancelTasksRequest{Tenant: "other", Ids: []string{left[0].GetId()}})
	require.NoError(t, err)
	requireItemError(t, other.GetResults()[0].GetError(), codeNotFound, "")
	none, err := admin.CancelTasks(s.ctx, &adminpb.CancelTasksRequest{Ids: []string{"?"}})
	require.NoError(t, err)
	requireItemError(t, none.GetResults()[0].GetError(), codeInvalid, "ids")
}

func TestDeadTasksTellTheirHistory(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: 2, LeaseMs: 1, Backoff: &queuepb.Backoff{InitialMs: 1, MaxMs: 1}})
	s.claim("q") // without a settlement
	out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 20_000, LeaseMs: 60_000})
	require.NoError(t, err)
	require.Len(t, out.GetTasks(), 1)
	before := time.Now().UnixMilli() - 1
	s.fail(out.GetTasks()[0], "it broke", 0)
	expired := s.enqueue(&queuepb.NewTask{Queue: "q", TtlMs: 1, DelayMs: 10})[0]
	require.Eventually(t, func() bool { return s.look(expired).GetState() == stateDead }, patience, time.Millisecond)

	s.enqueue(&queuepb.NewTask{Queue: "hopeless", MaxAttempts: 9})
	hopeless := s.claim("hopeless")
	failed, err := s.Fail(s.ctx, &queuepb.FailRequest{Failures: []*queuepb.Failure{
		{Id: hopeless.GetId(), Token: hopeless.GetToken(), Error: "no such account", DelayMs: 1, Permanent: true},
	}})
	require.NoError(t, err)
	require.Nil(t, failed.GetResults()[0].GetError())
	given, err := admin.ListDead(s.ctx, &adminpb.ListDeadRequest{Queue: "hopeless", Filter: &adminpb.DeadFilter{Reason: adminpb.DeathReason_DEATH_REASON_PERMANENT}})
	require.NoError(t, err)
	require.Len(t, given.GetTasks(), 1)
	assert.Equal(t, adminpb.DeathReason_DEATH_REASON_PERMANENT, given.GetTasks()[0].GetReason())
	assert.EqualValues(t, 1, given.GetTasks()[0].GetTask().GetAttempt())
	require.Len(t, given.GetTasks()[0].GetAttempts(), 1)
	assert.Equal(t, "no such account", given.GetTasks()[0].GetAttempts()[0].GetError())

	all := s.listDead(admin, nil)
	require.Len(t, all, 2)
	slices.SortFunc(all, func(a, b *adminpb.DeadTask) int { return int(a.GetReason()) - int(b.GetReason()) })
	dead := all[0]
	assert.Equal(t, adminpb.DeathReason_DEATH_REASON_ATTEMPTS, dead.GetReason())
	assert.Equal(t, "it broke", dead.GetTask().GetLastError())
	assert.GreaterOrEqual(t, dead.GetDiedAtMs(), before)
	require.Len(t, dead.GetAttempts(), 2)
	assert.Equal(t, adminpb.Outcome_OUTCOME_LEASE_EXPIRED, dead.GetAttempts()[0].GetOutcome())
	assert.Equal(t, adminpb.Outcome_OUTCOME_FAILED, dead.GetAttempts()[1].GetOutcome())
	assert.Equal(t, "it broke", dead.GetAttempts()[1].GetError())
	for i, a := range dead.GetAttempts() {
		assert.EqualValues(t, i+1, a.GetAttempt())
		assert.GreaterOrEqual(t, a.GetEndedAtMs(), dead.GetTask().GetEnqueuedAtMs())
	}
	assert.Equal(t, adminpb.DeathReason_DEATH_REASON_EXPIRED, all[1].GetReason())
	assert.Equal(t, expired, all[1].GetTask().GetId())
	assert.Empty(t, all[1].GetAttempts())

	for _, c := range []struct {
		filter *adminpb.DeadFilter
		want   int
	}{
		{&adminpb.DeadFilter{Reason: adminpb.DeathReason_DEATH_REASON_ATTEMPTS}, 1},
		{&adminpb.DeadFilter{Reason: adminpb.DeathReason_DEATH_REASON_EXPIRED}, 1},
		{&adminpb.DeadFilter{ErrorContains: "broke"}, 1},
		{&adminpb.DeadFilter{ErrorContains: "broke", Reason: adminpb.DeathReason_DEATH_REASON_EXPIRED}, 0},
		{&adminpb.DeadFilter{DiedFromMs: dead.GetDiedAtMs(), DiedBeforeMs: all[1].GetDiedAtMs() + 1}, 2},
		{&adminpb.DeadFilter{DiedBeforeMs: dead.GetDiedAtMs()}, 0},
		{&adminpb.DeadFilter{DiedFromMs: all[1].GetDiedAtMs() + 1}, 0},
	} {
		assert.Len(t, s.listDead(admin, c.filter), c.want, "%v", c.filter)
	}
}

func TestDeadTasksAreRedrivenAndPurged(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	const n = 6
	var ids []string
	for i := range n {
		ids = append(ids, s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: 1})...)
		s.fail(s.claim("q"), []string{"odd", "even"}[i%2], 0)
	}
	redriven, err := admin.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Ids: []string{ids[0], unknownID, "?", ids[0]}})
	require.NoError(t, err)
	assert.EqualValues(t, 1, redriven.GetRedriven())
	assert.Nil(t, redriven.GetResults()[0].GetError())
	requireItemError(t, redriven.GetResults()[1].GetError(), codeNotFound, "")
	requireItemError(t, redriven.GetResults()[2].GetError(), codeInvalid, "ids")
	requireItemError(t, redriven.GetResults()[3].GetError(), codeNotFound, "")
	again := s.claim("q")
	assert.Equal(t, ids[0], again.GetId())
	assert.EqualValues(t, 2, again.GetAttempt(), "its history continues")
	assert.EqualValues(t, 2, again.GetMaxAttempts())
	require.Nil(t, s.complete(again))

	purged, err := admin.PurgeDead(s.ctx, &adminpb.PurgeDeadRequest{Ids: []string{ids[1]}})
	require.NoError(t, err)
	assert.EqualValues(t, 1, purged.GetRemoved())
	purged, err = admin.PurgeDead(s.ctx, &adminpb.PurgeDeadRequest{Queue: "q", Filter: &adminpb.DeadFilter{ErrorContains: "odd"}})
	require.NoError(t, err)
	assert.EqualValues(t, 2, purged.GetRemoved())
	assert.Empty(t, purged.GetResults())
	none, err := admin.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Tenant: "other", Ids: []string{ids[3]}})
	require.NoError(t, err)
	assert.Zero(t, none.GetRedriven())
	redriven, err = admin.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Queue: "q"})
	require.NoError(t, err)
	assert.EqualValues(t, 2, redriven.GetRedriven())
	assert.Empty(t, s.listDead(admin, nil))
	got := map[string]bool{}
	for range 2 {
		got[s.claim("q").GetId()] = true
	}
	assert.Equal(t, map[string]bool{ids[3]: true, ids[5]: true}, got)
}
