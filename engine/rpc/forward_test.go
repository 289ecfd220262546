package rpc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

const codeNotLeader, codeUnknown = queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME

// put enqueues tasks at a node, asserts that they are accepted, and returns their ids.
func (n *clusterNode) put(tasks ...*queuepb.NewTask) []string {
	n.nodes.Helper()
	out, err := n.queues().Enqueue(n.nodes.as("t0"), &queuepb.EnqueueRequest{Tasks: tasks})
	require.NoError(n.nodes, err)
	var ids []string
	for _, r := range out.GetResults() {
		require.Nil(n.nodes, r.GetError())
		ids = append(ids, r.GetId())
	}
	return ids
}

func (n *clusterNode) take(most uint32, waitMs uint64) []*queuepb.Task {
	n.nodes.Helper()
	out, err := n.queues().Claim(n.nodes.as("t0"), &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: most, WaitMs: waitMs})
	require.NoError(n.nodes, err)
	return out.GetTasks()
}

func shardOf(t *testing.T, id string) int {
	t.Helper()
	parsed, err := queue.ParseID(id)
	require.NoError(t, err)
	return int(parsed.Shard)
}

// spreadOut enqueues a task into each shard and returns the ids by shard.
func (c *nodes) spreadOut() []string {
	c.Helper()
	ids := make([]string, len(c.leaders))
	for i := range ids {
		ids[i] = c.node(c.leaders[i]).put(newTasks("q", 1)...)[0]
		require.Equal(c, i, shardOf(c.T, ids[i]))
	}
	return ids
}

func requireNotLeader(t *testing.T, err error) *queuepb.NotLeader {
	t.Helper()
	requireCode(t, codes.Unavailable, err)
	for _, d := range status.Convert(err).Details() {
		if d, is := d.(*queuepb.NotLeader); is {
			return d
		}
	}
	require.Fail(t, "no detail names the leader", "%v", err)
	return nil
}

func TestCallsGoToTheLeader(t *testing.T) {
	for _, leader := range []string{"n1", "n2"} {
		t.Run(leader, func(t *testing.T) {
			c := startNodes(t, 3, 1)
			c.lead(0, leader)
			n := c.all[0]
			ids := n.put(newTasks("q", 6)...)
			tasks := n.take(5, 0)
			require.Len(t, tasks, 5)
			got, err := n.queues().GetTask(c.as("t0"), &queuepb.GetTaskRequest{Id: ids[5]})
			require.NoError(t, err)
			assert.Equal(t, queuepb.TaskState_TASK_STATE_READY, got.GetTask().GetState())
			results := map[string][]*queuepb.SettleResult{}
			completed, err := n.queues().Complete(c.as("t0"), &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: tasks[0].GetId(), Token: tasks[0].GetToken()}, {Id: "bad"}}})
			require.NoError(t, err)
			requireItemError(t, completed.GetResults()[1].GetError(), codeInvalid, "id")
			assert.EqualValues(t, 1, completed.GetResults()[1].GetError().GetIndex())
			results["complete"] = completed.GetResults()[:1]
			failed, err := n.queues().Fail(c.as("t0"), &queuepb.FailRequest{Failures: []*queuepb.Failure{{Id: tasks[1].GetId(), Token: tasks[1].GetToken(), Error: "x", Permanent: true}}})
			require.NoError(t, err)
			results["fail"] = failed.GetResults()
			extended, err := n.queues().Extend(c.as("t0"), &queuepb.ExtendRequest{Extensions: []*queuepb.Extension{{Id: tasks[2].GetId(), Token: tasks[2].GetToken(), LeaseMs: 60_000, Note: "half"}}})
			require.NoError(t, err)
			results["extend"] = extended.GetResults()
			released, err := n.queues().Release(c.as("t0"), &queuepb.ReleaseRequest{Releases: []*queuepb.Releasing{{Id: tasks[3].GetId(), Token: tasks[3].GetToken()}}})
			require.NoError(t, err)
			results["release"] = released.GetResults()
			for call, r := range results {
				require.Len(t, r, 1, call)
				assert.Nil(t, r[0].GetError(), call)
			}
			awaited, err := n.queues().AwaitResult(c.as("t0"), &queuepb.AwaitResultRequest{Id: tasks[0].GetId()})
			requireCode(t, codes.NotFound, err)
			assert.Nil(t, awaited)
			awaited, err = n.queues().AwaitResult(c.as("t0"), &queuepb.AwaitResultRequest{Id: tasks[4].GetId(), WaitMs: 1})
			require.NoError(t, err)
			assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, awaited.GetState())
			noted, err := n.queues().GetTask(c.as("t0"), &queuepb.GetTaskRequest{Id: tasks[2].GetId()})
			require.NoError(t, err)
			assert.Equal(t, "half", noted.GetTask().GetNote())
			if leader == "n1" {
				assert.Zero(t, c.all[1].forwarded.Load())
			} else {
				assert.EqualValues(t, 10, c.all[1].forwarded.Load(), "each once")
			}
			assert.Zero(t, c.all[2].forwarded.Load())
			dead, err := n.queues().GetTask(c.as("t0"), &queuepb.GetTaskRequest{Id: tasks[1].GetId()})
			require.NoError(t, err)
			assert.Equal(t, queuepb.TaskState_TASK_STATE_DEAD, dead.GetTask().GetState())
		})
	}
}

// The receiving node refuses invalid calls even without a leader.
func TestBadCallsAreRefusedWithoutALeader(t *testing.T) {
	c := startNodes(t, 2, 1)
	n := c.all[0]
	_, err := n.queues().Enqueue(c.as("t0"), &queuepb.EnqueueRequest{})
	requireField(t, "tasks", err)
	_, err = n.queues().Complete(c.as("t0"), &queuepb.CompleteRequest{})
	requireField(t, "completions", err)
	_, err = n.queues().Claim(c.as("t0"), &queuepb.ClaimRequest{})
	requireField(t, "queues", err)
	_, err = n.queues().GetTask(c.as("t0"), &queuepb.GetTaskRequest{Id: "x"})
	requireField(t, "id", err)
	_, err = n.admins().GetQueue(c.as("t0"), &adminpb.GetQueueRequest{})
	requireField(t, "queue", err)
	_, err = n.queues().Enqueue(c.as("t0"), &queuepb.EnqueueRequest{Tenant: "t1", Tasks: newTasks("q", 1)})
	requireCode(t, codes.PermissionDenied, err)
	_, err = n.queues().Complete(c.as("producer"), &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: "x"}}})
	requireCode(t, codes.PermissionDenied, err)
	_, err = n.queues().Enqueue(c.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
	requireCode(t, codes.Unauthenticated, err)
}

// everyCall has each unary call of both services that needs a leader.
func everyCall(id string) map[string]func(context.Context, *clusterNode) error {
	const q = "q"
	policy := &adminpb.QueuePolicy{}
	return map[string]func(context.Context, *clusterNode) error{
		"Enqueue": func(ctx context.Context, n *clusterNode) error {
			_, err := n.queues().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: newTasks(q, 2)})
			return err
		},
		"Claim": func(ctx context.Context, n *clusterNode) error {
			_, err := n.queues().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{q}})
			return err
		},
		"Claim and wait": func(ctx context.Context, n *clusterNode) error {
			_, err := n.queues().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"empty"}, WaitMs: 1})
			return err
		},
		"Complete": func(ctx context.Context, n *clusterNode) error {
			_, err := n.queues().Complete(ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: id, Token: 1}}})
			return err
		},
		"Fail": func(ctx context.Context, n *clusterNode) error {
			_, err := n.queues().Fail(ctx, &queuepb.FailRequest{Failures: []*queuepb.Failure{{Id: id, Token: 1}}})
			return err
		},
		"Extend": func(ctx context.Context, n *clusterNode) error {
			_, err := n.queues().Extend(ctx, &queuepb.ExtendRequest{Extensions: []*queuepb.Extension{{Id: id, Token: 1, LeaseMs: 1000}}})
			return err
		},
		"Release": func(ctx context.Context, n *clusterNode) error {
			_, err := n.queues().Release(ctx, &queuepb.ReleaseRequest{Releases: []*queuepb.Releasing{{Id: id, Token: 1}}})
			return err
		},
		"GetTask": func(ctx context.Context, n *clusterNode) error {
			_, err := n.queues().GetTask(ctx, &queuepb.GetTaskRequest{Id: id})
			return err
		},
		"AwaitResult": func(ctx context.Context, n *clusterNode) error {
			_, err := n.queues().AwaitResult(ctx, &queuepb.AwaitResultRequest{Id: id, WaitMs: 1})
			return err
		},
		"ListDependencies": func(ctx context.Context, n *clusterNode) error {
			_, err := n.queues().ListDependencies(ctx, &queuepb.ListDependenciesRequest{Id: id})
			return err
		},
		"ListQueues": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().ListQueues(ctx, &adminpb.ListQueuesRequest{})
			return err
		},
		"GetQueue": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().GetQueue(ctx, &adminpb.GetQueueRequest{Queue: q})
			return err
		},
		"ConfigureQueue": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().ConfigureQueue(ctx, &adminpb.ConfigureQueueRequest{Queue: q, Policy: policy})
			return err
		},
		"PauseQueue": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().PauseQueue(ctx, &adminpb.PauseQueueRequest{Queue: q})
			return err
		},
		"ResumeQueue": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().ResumeQueue(ctx, &adminpb.ResumeQueueRequest{Queue: q})
			return err
		},
		"PurgeQueue": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().PurgeQueue(ctx, &adminpb.PurgeQueueRequest{Queue: q})
			return err
		},
		"DeleteQueue": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().DeleteQueue(ctx, &adminpb.DeleteQueueRequest{Queue: q, Force: true})
			return err
		},
		"ListAttempts": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().ListAttempts(ctx, &adminpb.ListAttemptsRequest{Id: id})
			return err
		},
		"ListFailures": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().ListFailures(ctx, &adminpb.ListFailuresRequest{})
			return err
		},
		"ListHistory": func(ctx context.Context, n *clusterNode) error {
			if _, err := n.admins().ListHistory(ctx, &adminpb.ListHistoryRequest{Queue: q}); err != nil {
				return err
			}
			_, err := n.admins().ListHistory(ctx, &adminpb.ListHistoryRequest{Id: id})
			return err
		},
		"SetRecurring": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().SetRecurring(ctx, &adminpb.SetRecurringRequest{Queue: "recurring", Name: "r", Spec: recurringSpec()})
			return err
		},
		"ListRecurring": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().ListRecurring(ctx, &adminpb.ListRecurringRequest{})
			return err
		},
		"ListTasks": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().ListTasks(ctx, &adminpb.ListTasksRequest{Queue: q, State: stateReady})
			return err
		},
		"CancelTasks": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().CancelTasks(ctx, &adminpb.CancelTasksRequest{Ids: []string{id}})
			return err
		},
		"EditDead": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().EditDead(ctx, &adminpb.EditDeadRequest{Id: id, Payload: []byte("x")})
			if status.Code(err) == codes.NotFound && status.Convert(err).Message() == shard.ErrNotDead.Error() {
				return nil // the leader answered
			}
			return err
		},
		"RescheduleTasks": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().RescheduleTasks(ctx, &adminpb.RescheduleTasksRequest{Ids: []string{id}})
			return err
		},
		"PrioritizeTasks": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().PrioritizeTasks(ctx, &adminpb.PrioritizeTasksRequest{Ids: []string{id}, Priority: 9})
			return err
		},
		"ListDead": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().ListDead(ctx, &adminpb.ListDeadRequest{Queue: q})
			return err
		},
		"RedriveDead": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().RedriveDead(ctx, &adminpb.RedriveDeadRequest{Queue: q})
			return err
		},
		"RedriveDead by id": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().RedriveDead(ctx, &adminpb.RedriveDeadRequest{Ids: []string{id}})
			return err
		},
		"PurgeDead": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().PurgeDead(ctx, &adminpb.PurgeDeadRequest{Queue: q})
			return err
		},
		"PurgeDead by id": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().PurgeDead(ctx, &adminpb.PurgeDeadRequest{Ids: []string{id}})
			return err
		},
		"CreateToken": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().CreateToken(ctx, &adminpb.CreateTokenRequest{Scopes: []adminpb.Scope{adminpb.Scope_SCOPE_WORK}})
			return err
		},
		"ListTokens": func(ctx context.Context, n *clusterNode) error {
			_, err := n.admins().ListTokens(ctx, &adminpb.ListTokensRequest{})
			return err
		},
	}
}

// n1 receives each unary call while n2 is believed to lead but does not, while no leader is known,
// or while the leader is down. Once n2 leads, all calls succeed.
func TestEachCallFindsTheLeaderOrSaysThatThereIsNone(t *testing.T) {
	c := startNodes(t, 2, 1)
	c.lead(0, "n2")
	n := c.all[0]
	for name := range everyCall("") {
		call := everyCall(n.put(newTasks("q", 3)...)[0])[name]
		before := c.all[1].forwarded.Load()
		assert.NoError(t, call(c.as("t0"), n), name)
		assert.Positive(t, c.all[1].forwarded.Load()-before, name)
	}
	id := n.put(newTasks("q", 3)...)[0]

	// n2 believes that n1 leads, and n1 believes that n2 leads.
	c.lead(0, "")
	n1, n2, nobody := "n1", "n2", ""
	c.all[0].believes.Store(&n2)
	c.all[1].believes.Store(&n1)
	c.retriesFor(60 * time.Millisecond)
	for name, call := range everyCall(id) {
		back := c.all[0].forwarded.Load()
		detail := requireNotLeader(t, call(c.as("t0"), n))
		assert.Equal(t, "n2", detail.GetNode(), name)
		assert.Equal(t, c.all[1].address, detail.GetAddress(), name)
		assert.Equal(t, back, c.all[0].forwarded.Load(), "%s: a forwarded call is not forwarded back", name)
	}
	c.all[0].believes.Store(&nobody)
	forwarded := c.all[1].forwarded.Load()
	for _, call := range everyCall(id) {
		assert.Empty(t, requireNotLeader(t, call(c.as("t0"), n)).GetNode())
	}
	assert.Equal(t, forwarded, c.all[1].forwarded.Load())
	// A call without a leader waits for one.
	c.retriesFor(patience)
	c.all[0].believes.Store(&n2)
	c.lead(0, "n2")
	for name := range everyCall("") {
		call := everyCall(n.put(newTasks("q", 3)...)[0])[name]
		c.lead(0, "")
		held, asked := make(chan struct{}), sync.Once{}
		hold := func(next func() (any, error)) (any, error) {
			out, err := next()
			asked.Do(func() { close(held) })
			return out, err
		}
		c.all[1].hold.Store(&hold)
		done := make(chan error, 1)
		go func() { done <- call(c.as("t0"), n) }()
		<-held // n2 received the call and refused it
		c.lead(0, "n2")
		assert.NoError(t, <-done, name)
		c.all[1].hold.Store(nil)
	}
	c.retriesFor(60 * time.Millisecond)
	c.all[1].stop()
	for name, call := range everyCall(id) {
		detail := requireNotLeader(t, call(c.as("t0"), n))
		assert.Equal(t, "n2", detail.GetNode(), name)
	}
	// Another node takes over.
	c.lead(0, "n1")
	c.all[0].believes.Store(&n1)
	for name := range everyCall("") {
		call := everyCall(n.put(newTasks("q", 3)...)[0])[name]
		assert.NoError(t, call(c.as("t0"), n), name)
	}
}

// The other node authenticates the caller's own token.
func TestAForwardedCallCarriesTheCallersToken(t *testing.T) {
	c := startNodes(t, 2, 1)
	c.lead(0, "n2")
	c.all[0].put(newTasks("q", 1)...)
	tokens, err := c.all[1].registry.Tokens(&everybody, "t0")
	require.NoError(t, err)
	for _, token := range tokens {
		require.NoError(t, c.all[1].registry.RevokeToken(c.ctx, &everybody, token.ID))
	}
	id := queue.ID{}.String()
	for name, call := range everyCall(id) {
		assert.Equal(t, codes.Unauthenticated, status.Code(call(c.as("t0"), c.all[0])), name)
	}
	// A client cannot mark its call as forwarded.
	ctx := metadata.AppendToOutgoingContext(c.ctx, "prony-forwarded", "n2")
	for name, call := range everyCall(id) {
		assert.Equal(t, codes.Unauthenticated, status.Code(call(ctx, c.all[0])), name)
	}
}

// The items of a batch go to the leaders of their shards, and their results return in the batch's
// order.
func TestABatchIsSplit(t *testing.T) {
	c := startNodes(t, 3, 3)
	c.leads("n1", "n2", "n3")
	ids := c.spreadOut()
	var tasks []*queuepb.Task
	for len(tasks) < 3 {
		tasks = append(tasks, c.all[0].take(3, 1_000)...)
	}
	in := &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: "bad"}}}
	for _, task := range tasks {
		in.Completions = append(in.Completions, &queuepb.Completion{Id: task.GetId(), Token: task.GetToken() + 1}, &queuepb.Completion{Id: task.GetId(), Token: task.GetToken()})
	}
	in.Completions = append(in.Completions, &queuepb.Completion{Id: queue.ID{Shard: 9}.String(), Token: 1})
	out, err := c.all[1].queues().Complete(c.as("t0"), in)
	require.NoError(t, err)
	want := []queuepb.ErrorCode{codeInvalid, codeStale, 0, codeStale, 0, codeStale, 0, codeNotFound}
	for i, r := range out.GetResults() {
		assert.Equal(t, want[i], r.GetError().GetCode(), "item %d", i)
		if want[i] != 0 {
			assert.EqualValues(t, i, r.GetError().GetIndex())
		}
	}
	cancelled, err := c.all[2].admins().CancelTasks(c.as("t0"), &adminpb.CancelTasksRequest{Ids: append(ids, "bad")})
	require.NoError(t, err)
	require.Len(t, cancelled.GetResults(), 4)
	for i, r := range cancelled.GetResults()[:3] {
		requireItemError(t, r.GetError(), codeNotFound, "")
		assert.EqualValues(t, i, r.GetError().GetIndex())
	}
	requireItemError(t, cancelled.GetResults()[3].GetError(), codeInvalid, "ids")

	// Tasks with keys go to the shards of their keys, and are found there again.
	var keyed []*queuepb.NewTask
	for i := range 20 {
		keyed = append(keyed, &queuepb.NewTask{Queue: "keys", IdempotencyKey: fmt.Sprint("k", i)})
	}
	keyed = append(keyed, &queuepb.NewTask{Queue: "keys", Priority: 99})
	first, err := c.all[0].queues().Enqueue(c.as("t0"), &queuepb.EnqueueRequest{Tasks: keyed})
	require.NoError(t, err)
	again, err := c.all[2].queues().Enqueue(c.as("t0"), &queuepb.EnqueueRequest{Tasks: keyed})
	require.NoError(t, err)
	shards := map[int]bool{}
	for i := range 20 {
		require.Nil(t, first.GetResults()[i].GetError(), "%v", first.GetResults()[i])
		require.NotEmpty(t, first.GetResults()[i].GetId())
		assert.Equal(t, first.GetResults()[i].GetId(), again.GetResults()[i].GetId())
		assert.True(t, again.GetResults()[i].GetDuplicate())
		shards[shardOf(t, first.GetResults()[i].GetId())] = true
	}
	assert.Len(t, shards, 3)
	requireItemError(t, again.GetResults()[20].GetError(), codeInvalid, "priority")

	// Items of a shard without a leader are refused; the others take effect.
	c.lead(1, "")
	c.retriesFor(60 * time.Millisecond)
	for i := range keyed[:20] {
		keyed[i].IdempotencyKey += "'"
	}
	part, err := c.all[0].queues().Enqueue(c.as("t0"), &queuepb.EnqueueRequest{Tasks: keyed})
	require.NoError(t, err)
	refused := 0
	for i, r := range part.GetResults()[:20] {
		if r.GetError() == nil {
			assert.NotEmpty(t, r.GetId())
			continue
		}
		refused++
		requireItemError(t, r.GetError(), codeNotLeader, "")
		assert.EqualValues(t, i, r.GetError().GetIndex())
	}
	assert.Positive(t, refused)
	assert.Less(t, refused, 20)
}

// An enqueue that another node executes counts only there, even if the receiving node first
// believed that it leads.
func TestAForwardedEnqueueCountsOnce(t *testing.T) {
	c := startNodes(t, 2, 1)
	c.leads("n2")
	n1, n2 := c.node("n1"), c.node("n2")
	_, err := n1.registry.ConfigureTenant(c.ctx, access.Everybody(), "t0", access.Quotas{EnqueuesPerSMax: 1})
	require.NoError(t, err)
	require.NoError(t, n2.registry.Follow(c.ctx))
	const tasks = 60
	full := func(n *clusterNode) bool { // the rate admits so many tasks every minute
		if n.registry.TakeEnqueues("t0", tasks) != nil {
			return false
		}
		n.registry.ReturnEnqueues("t0", tasks)
		return true
	}
	in := &queuepb.EnqueueRequest{Tasks: newTasks("q", tasks)}
	c.retriesFor(10 * time.Millisecond)
	self := "n1"
	n1.believes.Store(&self)
	_, err = n1.queues().Enqueue(c.as("t0"), in)
	requireNotLeader(t, err)
	require.True(t, full(n1), "n1 does not count refused enqueues")
	n1.believes.Store(nil)
	out, err := n1.queues().Enqueue(c.as("t0"), in)
	require.NoError(t, err)
	require.NotEmpty(t, out.GetResults()[0].GetId())
	require.True(t, full(n1), "n1 does not count forwarded enqueues")
	require.False(t, full(n2))
}
