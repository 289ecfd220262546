package attack

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/scenario"
)

// one returns a single attacker of a server, and a function that returns the server's figures of
// the attacker's queue.
func one(t *testing.T, queue string) (a *attacker, stats func() *adminpb.Queue) {
	t.Helper()
	_, plan := served(t)
	tenant, err := client.Dial(plan.Address, client.WithToken(plan.Token))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, tenant.Close()) })
	admin, err := client.DialAdmin(plan.Admin, client.WithToken(plan.Token))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, admin.Close()) })
	return &attacker{address: plan.Address, tenant: tenant.API(), admin: admin, tally: &tally{}}, func() *adminpb.Queue {
		out, err := admin.GetQueue(t.Context(), &adminpb.GetQueueRequest{Tenant: Tenant, Queue: queue})
		require.NoError(t, err)
		return out.GetQueue()
	}
}

// twice makes two tries, because the second one starts with the effects of the first one.
func twice(t *testing.T, a *attacker, kind string) {
	t.Helper()
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		require.NoError(t, attacks[kind].try(a, ctx))
		cancel()
	}
}

func TestMassCancelsLeaveNoTask(t *testing.T) {
	a, stats := one(t, "cancels-0")
	twice(t, a, scenario.AttackMassCancels)
	q := stats()
	assert.EqualValues(t, 2*callMax, q.GetEnqueued())
	assert.EqualValues(t, 2*callMax, q.GetRemoved())
	assert.Zero(t, q.GetReady()+q.GetDelayed()+q.GetLeased()+q.GetDead())
}

func TestRedrivesMakeAllDeadLettersReady(t *testing.T) {
	a, stats := one(t, "redrives-0")
	twice(t, a, scenario.AttackRedrives)
	q := stats()
	assert.EqualValues(t, fullQueue, q.GetEnqueued(), "the second try redrives the same tasks")
	assert.EqualValues(t, fullQueue, q.GetReady())
	tasks, err := a.claim(t.Context(), 1, "redrives-0")
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	assert.EqualValues(t, 3, tasks[0].GetAttempt(), "the task was dead twice")
}

func TestPurgesEmptyAFullQueue(t *testing.T) {
	a, stats := one(t, "purges-0")
	twice(t, a, scenario.AttackPurges)
	q := stats()
	assert.EqualValues(t, 2*fullQueue, q.GetRemoved())
	assert.Zero(t, q.GetReady())
}

func TestListsReadAFullQueue(t *testing.T) {
	a, stats := one(t, "lists-0")
	twice(t, a, scenario.AttackLists)
	assert.EqualValues(t, fullQueue, stats().GetEnqueued())
	n, err := a.listAll(t.Context(), "lists-0", queuepb.TaskState_TASK_STATE_READY)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, n, fullQueue-3*callMax, "all pages are read; some tasks are leased")
}

// waiting counts the waits for results that ended without an answer.
type waiting struct {
	queuepb.QueueServiceClient
	waited atomic.Int64
}

func (w *waiting) AwaitResult(ctx context.Context, in *queuepb.AwaitResultRequest, o ...grpc.CallOption) (*queuepb.AwaitResultResponse, error) {
	out, err := w.QueueServiceClient.AwaitResult(ctx, in, o...)
	if status.Code(err) == codes.DeadlineExceeded {
		w.waited.Add(1)
	}
	return out, err
}

func TestAwaitsWaitForLeasedTasks(t *testing.T) {
	a, stats := one(t, "awaits-0")
	w := &waiting{QueueServiceClient: a.tenant}
	a.tenant = w
	twice(t, a, scenario.AttackAwaits)
	q := stats()
	assert.EqualValues(t, 2*waiters, w.waited.Load())
	assert.EqualValues(t, callMax, q.GetEnqueued())
	assert.EqualValues(t, callMax, q.GetReady()+q.GetDelayed()+q.GetLeased(), "no task is done")
}
