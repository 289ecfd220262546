package rpc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
)

const codeExhausted = queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED

// requireExhausted asserts that a whole call was refused for a quota, with a retry delay.
func requireExhausted(t *testing.T, quota string, err error) {
	t.Helper()
	requireCode(t, codes.ResourceExhausted, err)
	assert.Contains(t, err.Error(), quota)
	for _, d := range status.Convert(err).Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok {
			assert.Positive(t, retry.GetRetryDelay().AsDuration())
			return
		}
	}
	t.Errorf("no RetryInfo in %v", err)
}

func requireExhaustedItem(t *testing.T, quota string, e *queuepb.ItemError) {
	t.Helper()
	requireItemError(t, e, codeExhausted, "")
	assert.Contains(t, e.GetMessage(), quota)
	assert.Positive(t, e.GetRetryAfterMs())
}

func TestQuotasOfTasksRefuseItems(t *testing.T) {
	g := guard(t)
	api := g.as("t0", access.AllScopes)
	bytes := queue.QueueBytes("t0", "q") + 3*queue.TaskBytes(0) + 100
	g.configure(access.Quotas{TasksMax: 3, BytesMax: uint64(bytes), PayloadBytesMax: 60})
	enqueue := func(sizes ...int) []*queuepb.EnqueueResult {
		t.Helper()
		var tasks []*queuepb.NewTask
		for _, n := range sizes {
			tasks = append(tasks, &queuepb.NewTask{Queue: "q", Payload: []byte(strings.Repeat("x", n))})
		}
		out, err := api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: tasks})
		require.NoError(t, err)
		return out.GetResults()
	}
	out := enqueue(60, 61, 40, 50, 0, 0)
	assert.NotEmpty(t, out[0].GetId())
	requireExhaustedItem(t, "payload_bytes_max", out[1].GetError())
	assert.NotEmpty(t, out[2].GetId())
	requireExhaustedItem(t, "bytes_max", out[3].GetError())
	assert.NotEmpty(t, out[4].GetId())
	requireExhaustedItem(t, "tasks_max", out[5].GetError())

	p, err := api.Produce(g.ctx)
	require.NoError(t, err)
	require.NoError(t, p.Send(&queuepb.ProduceRequest{Frame: 1, Tasks: []*queuepb.NewTask{{Queue: "q", Payload: make([]byte, 61)}, {Queue: "q"}}}))
	in, err := p.Recv()
	require.NoError(t, err)
	require.Len(t, in.GetAnswers()[0].GetErrors(), 2)
	requireExhaustedItem(t, "payload_bytes_max", in.GetAnswers()[0].GetErrors()[0])
	requireExhaustedItem(t, "tasks_max", in.GetAnswers()[0].GetErrors()[1])

	// Completed tasks make room, and raising a quota takes effect immediately.
	claimed, err := api.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
	require.NoError(t, err)
	require.Len(t, claimed.GetTasks(), 1)
	task := claimed.GetTasks()[0]
	_, err = api.Complete(g.ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: task.GetId(), Token: task.GetToken()}}})
	require.NoError(t, err)
	assert.NotEmpty(t, enqueue(60)[0].GetId())
	g.configure(access.Quotas{TasksMax: 4})
	assert.NotEmpty(t, enqueue(1_000)[0].GetId())
	requireExhaustedItem(t, "tasks_max", enqueue(0)[0].GetError())
	other := g.as("t1", access.Produce)
	free, err := other.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 100)})
	require.NoError(t, err)
	assert.Nil(t, free.GetResults()[99].GetError(), "another tenant's quota is separate")
}

func TestTheRateOfEnqueuesRefusesCallsAndFrames(t *testing.T) {
	g := guard(t)
	api := g.as("t0", access.AllScopes)
	g.configure(access.Quotas{EnqueuesPerSMax: 1})
	out, err := api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1_000)})
	require.NoError(t, err, "the tenant has accumulated its full burst")
	assert.Nil(t, out.GetResults()[999].GetError())
	_, err = api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
	requireExhausted(t, "enqueues_per_s_max", err)

	p, err := api.Produce(g.ctx)
	require.NoError(t, err)
	require.NoError(t, p.Send(&queuepb.ProduceRequest{Frame: 7, Tasks: newTasks("q", 2)}))
	in, err := p.Recv()
	require.NoError(t, err)
	a := in.GetAnswers()[0]
	assert.EqualValues(t, 7, a.GetFrame())
	assert.Equal(t, []string{"", ""}, a.GetIds())
	require.Len(t, a.GetErrors(), 2)
	for i, e := range a.GetErrors() {
		assert.EqualValues(t, i, e.GetIndex())
		requireExhaustedItem(t, "enqueues_per_s_max", e)
	}
	g.configure(access.Quotas{})
	require.NoError(t, p.Send(&queuepb.ProduceRequest{Frame: 8, Tasks: newTasks("q", 1)}))
	in, err = p.Recv()
	require.NoError(t, err, "the stream continued")
	assert.NotEmpty(t, in.GetAnswers()[0].GetIds()[0])
}

func TestTheQuotaOfLeasesHoldsTasksBack(t *testing.T) {
	g := guard(t)
	api := g.as("t0", access.AllScopes)
	g.configure(access.Quotas{LeasesMax: 2})
	_, err := api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 5)})
	require.NoError(t, err)
	work, err := api.Work(g.ctx)
	require.NoError(t, err)
	require.NoError(t, work.Send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}}, Credits: 10}))
	var tasks []*queuepb.Task
	for len(tasks) < 2 {
		in, err := work.Recv()
		require.NoError(t, err)
		tasks = append(tasks, in.GetTasks()...)
	}
	require.Len(t, tasks, 2, "the quota bounds the tasks")
	for waitMs := range uint64(2) {
		out, err := api.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: waitMs})
		require.NoError(t, err, "a claim gets no tasks, and the quota's name")
		require.Empty(t, out.GetTasks())
		require.Equal(t, "leases_max", out.GetQuota())
	}
	for len(tasks) < 5 { // each completed task allows another lease
		require.NoError(t, work.Send(&queuepb.WorkRequest{Settlements: []*queuepb.Settlement{completion(tasks[len(tasks)-2])}}))
		n := len(tasks)
		for len(tasks) == n {
			in, err := work.Recv()
			require.NoError(t, err)
			tasks = append(tasks, in.GetTasks()...)
		}
		require.Len(t, tasks, n+1)
	}
}

// A completion whose result exceeds the quota is refused as one item of its batch, and keeps its
// lease.
func TestResultBeyondTheQuotaRefusesItsItem(t *testing.T) {
	g := guard(t)
	api := g.as("t0", access.AllScopes)
	_, err := api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{
		{Queue: "q", ResultRetentionMs: 60_000}, {Queue: "q", ResultRetentionMs: 60_000},
	}})
	require.NoError(t, err)
	claimed, err := api.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 2})
	require.NoError(t, err)
	require.Len(t, claimed.GetTasks(), 2)
	g.configure(access.Quotas{BytesMax: uint64(queue.QueueBytes("t0", "q") + 2*queue.TaskBytes(0))})
	complete := func(results ...[]byte) []*queuepb.SettleResult {
		in := &queuepb.CompleteRequest{}
		for i, r := range results {
			task := claimed.GetTasks()[len(claimed.GetTasks())-len(results)+i]
			in.Completions = append(in.Completions, &queuepb.Completion{Id: task.GetId(), Token: task.GetToken(), Result: r})
		}
		out, err := api.Complete(g.ctx, in)
		require.NoError(t, err)
		return out.GetResults()
	}
	out := complete([]byte("fits"), make([]byte, 1_000))
	assert.Nil(t, out[0].GetError())
	requireExhaustedItem(t, "bytes_max", out[1].GetError())
	assert.Contains(t, out[1].GetError().GetMessage(), "complete the task without a result")
	assert.Nil(t, complete(nil)[0].GetError())
}

// The node that receives the claim names the quota that is used up at the leaders, whether or not
// the claim waited.
func TestAClaimAtSeveralNodesNamesTheQuota(t *testing.T) {
	c := startNodes(t, 4, 3)
	c.leads("n1", "n2", "n3")
	c.spreadOut()
	c.spreadOut()
	for _, n := range c.all[:3] { // the nodes of this cluster share no quotas
		_, err := n.registry.ConfigureTenant(c.ctx, access.Everybody(), "t0", access.Quotas{LeasesMax: 1})
		require.NoError(t, err)
	}
	out, err := c.all[3].queues().Claim(c.as("t0"), &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 10})
	require.NoError(t, err)
	require.Len(t, out.GetTasks(), 3)
	assert.Empty(t, out.GetQuota(), "there are tasks")
	for _, n := range c.all {
		for _, waitMs := range []uint64{0, 200} {
			out, err := n.queues().Claim(c.as("t0"), &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: waitMs})
			require.NoError(t, err)
			assert.Empty(t, out.GetTasks())
			assert.Equal(t, "leases_max", out.GetQuota(), "%s, wait %d", n.id, waitMs)
		}
	}
}
