package rpc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
)

const (
	stateWaiting = queuepb.TaskState_TASK_STATE_WAITING
	orRun        = queuepb.DeadDependency_DEAD_DEPENDENCY_RUN
	orDie        = queuepb.DeadDependency_DEAD_DEPENDENCY_DIE
	orWait       = queuepb.DeadDependency_DEAD_DEPENDENCY_WAIT
)

// dependencies returns all dependencies of a task, and how many tasks it still waits for.
func (s *server) dependencies(id string, pageSize uint32) (all []*queuepb.Dependency, waitingFor uint32) {
	s.Helper()
	in := &queuepb.ListDependenciesRequest{Id: id, PageSize: pageSize}
	for {
		out, err := s.ListDependencies(s.ctx, in)
		require.NoError(s, err)
		if pageSize > 0 {
			require.LessOrEqual(s, len(out.GetDependencies()), int(pageSize))
		}
		all, waitingFor = append(all, out.GetDependencies()...), out.GetWaitingFor()
		if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
			return all, waitingFor
		}
	}
}

// untilDependencies waits until a task has n dependencies, because a shard tells waiting tasks of the end
// of a task after it has acknowledged the end.
func (s *server) untilDependencies(id string, n int) (all []*queuepb.Dependency, waitingFor uint32) {
	s.Helper()
	require.Eventually(s, func() bool {
		all, waitingFor = s.dependencies(id, 1)
		return len(all) == n
	}, patience, time.Millisecond)
	return all, waitingFor
}

// outcomesOf returns the outcomes and results of dependencies by their ids.
func outcomesOf(all []*queuepb.Dependency) map[string]string {
	out := map[string]string{}
	for _, d := range all {
		out[d.GetId()] = strings.TrimPrefix(d.GetOutcome().String(), "DEPENDENCY_OUTCOME_") + " " + string(d.GetResult())
	}
	return out
}

func TestATaskWaitsForOthers(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	first := s.enqueue(newTasks("q", 3)...)
	p := s.produce()
	p.send(&queuepb.ProduceRequest{Tasks: []*queuepb.NewTask{
		{Queue: "later", After: first[:2], DeadDependency: orRun},
		{Queue: "later", After: first[2:], DeadDependency: orDie},
		{Queue: "later", After: first[2:], DeadDependency: orWait},
		{Queue: "later", After: first[2:]},
	}})
	waiting := p.answers(1)[0].GetIds()
	require.NoError(t, p.CloseSend())
	require.NoError(t, p.end())

	task := s.look(waiting[0])
	assert.Equal(t, stateWaiting, task.GetState())
	assert.EqualValues(t, 2, task.GetWaitingFor())
	assert.Zero(t, task.GetDueAtMs())
	listed := s.listAll(admin, &adminpb.ListTasksRequest{Queue: "later", State: stateWaiting, PageSize: 1})
	require.Len(t, listed, 4)
	assert.EqualValues(t, 2, listed[0].GetWaitingFor())
	got, err := admin.GetQueue(s.ctx, &adminpb.GetQueueRequest{Queue: "later"})
	require.NoError(t, err)
	assert.EqualValues(t, 4, got.GetQueue().GetWaiting())
	assert.Contains(t, s.admin("/metrics"), `prony_tasks{state="waiting"} 4`)
	require.Empty(t, s.claimNow(9, "later"))

	done, left, dies := s.claim("q"), s.claim("q"), s.claim("q")
	require.Nil(t, s.complete(done))
	all, waitingFor := s.untilDependencies(waiting[0], 1)
	assert.Equal(t, first[0], all[0].GetId())
	assert.EqualValues(t, 1, waitingFor)
	out, err := s.Fail(s.ctx, &queuepb.FailRequest{Failures: []*queuepb.Failure{
		{Id: left.GetId(), Token: left.GetToken(), Permanent: true}, {Id: dies.GetId(), Token: dies.GetToken(), Permanent: true},
	}})
	require.NoError(t, err)
	require.Nil(t, out.GetResults()[0].GetError())
	require.Nil(t, out.GetResults()[1].GetError())

	ready := s.claim("later")
	assert.Equal(t, waiting[0], ready.GetId())
	all, waitingFor = s.dependencies(waiting[0], 1)
	assert.Equal(t, "DEAD ", outcomesOf(all)[first[1]])
	assert.Len(t, all, 2)
	assert.Zero(t, waitingFor)
	require.Nil(t, s.complete(ready))
	_, err = s.ListDependencies(s.ctx, &queuepb.ListDependenciesRequest{Id: waiting[0]})
	requireCode(t, codes.NotFound, err)

	require.Eventually(t, func() bool { return s.look(waiting[1]).GetState() == queuepb.TaskState_TASK_STATE_DEAD }, patience, time.Millisecond)
	dead, err := admin.ListDead(s.ctx, &adminpb.ListDeadRequest{Queue: "later", Filter: &adminpb.DeadFilter{Reason: adminpb.DeathReason_DEATH_REASON_DEPENDENCY}})
	require.NoError(t, err)
	require.Len(t, dead.GetTasks(), 1)
	assert.Equal(t, waiting[1], dead.GetTasks()[0].GetTask().GetId())
	assert.Contains(t, dead.GetTasks()[0].GetTask().GetLastError(), first[2])
	assert.Equal(t, adminpb.DeathReason_DEATH_REASON_DEPENDENCY, dead.GetTasks()[0].GetReason())
	got, err = admin.GetQueue(s.ctx, &adminpb.GetQueueRequest{Queue: "later"})
	require.NoError(t, err)
	assert.EqualValues(t, 1, got.GetQueue().GetEvents().GetDeadDependency())
	for _, id := range waiting[2:] {
		assert.Equal(t, stateWaiting, s.look(id).GetState())
	}
	moved, err := admin.RescheduleTasks(s.ctx, &adminpb.RescheduleTasksRequest{Ids: waiting[2:3]})
	require.NoError(t, err)
	require.Nil(t, moved.GetResults()[0].GetError())
	assert.Equal(t, waiting[2], s.claim("later").GetId())
	redriven, err := admin.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Ids: first[2:]})
	require.NoError(t, err)
	require.Nil(t, redriven.GetResults()[0].GetError())
	require.Nil(t, s.complete(s.claim("q")))
	assert.Equal(t, waiting[3], s.claim("later").GetId())
}

func TestTheFinalTaskOfABatchWaitsForItsMembers(t *testing.T) {
	s := serve(t, nil)
	final := s.enqueue(&queuepb.NewTask{Queue: "final", BatchSize: 300})[0]
	members := make([]*queuepb.NewTask, 300)
	for i := range members {
		members[i] = &queuepb.NewTask{Queue: "members", Batch: final}
	}
	ids := s.enqueue(members...)
	assert.EqualValues(t, 300, s.look(final).GetWaitingFor())
	want := map[string]string{}
	for i, task := range s.claimNow(300, "members") {
		assert.Equal(t, stateWaiting, s.look(final).GetState())
		result := strings.Repeat("r", 4<<10-i%2)
		s.completeWith(task, result)
		want[task.GetId()] = "DONE " + result
	}
	require.Len(t, want, len(ids))
	assert.Equal(t, final, s.claim("final").GetId())
	for _, size := range []uint32{0, 1_000, 299} {
		all, waitingFor := s.dependencies(final, size)
		require.Len(t, all, 300)
		require.Equal(t, want, outcomesOf(all))
		assert.Zero(t, waitingFor)
	}
}

// A page stays below 4 MiB, gRPC's default limit of clients, whatever its size in tasks.
func TestAPageOfDependenciesIsBounded(t *testing.T) {
	s := serve(t, nil)
	final := s.enqueue(&queuepb.NewTask{Queue: "final", BatchSize: 600})[0]
	members := make([]*queuepb.NewTask, 600)
	for i := range members {
		members[i] = &queuepb.NewTask{Queue: "members", Batch: final}
	}
	s.enqueue(members...)
	var done []*queuepb.Completion
	for _, task := range s.claimNow(600, "members") {
		done = append(done, &queuepb.Completion{Id: task.GetId(), Token: task.GetToken(), Result: make([]byte, 4<<10)})
	}
	_, err := s.Complete(s.ctx, &queuepb.CompleteRequest{Completions: done})
	require.NoError(t, err)
	s.claim("final")
	out, err := s.ListDependencies(s.ctx, &queuepb.ListDependenciesRequest{Id: final, PageSize: 1_000})
	require.NoError(t, err)
	assert.Less(t, proto.Size(out), 2<<20)
	assert.NotEmpty(t, out.GetNextPageToken())
	all, _ := s.dependencies(final, 1_000)
	assert.Len(t, all, 600)
}

func TestALongResultIsOmitted(t *testing.T) {
	s := serve(t, nil)
	final := s.enqueue(&queuepb.NewTask{Queue: "final", BatchSize: 1})[0]
	s.enqueue(&queuepb.NewTask{Queue: "q", Batch: final})
	s.completeWith(s.claim("q"), strings.Repeat("r", 4<<10+1))
	s.claim("final")
	all, _ := s.dependencies(final, 0)
	require.Len(t, all, 1)
	assert.Empty(t, all[0].GetResult())
	assert.True(t, all[0].GetResultOmitted())
}

func TestBadDependenciesAreRefused(t *testing.T) {
	s := serve(t, nil)
	id := s.enqueue(newTasks("q", 1)...)[0]
	never, err := queue.ParseID(id)
	require.NoError(t, err)
	never.Seq += 1_000
	many := make([]string, 101)
	for i := range many {
		never.Seq++
		many[i] = never.String()
	}
	for _, c := range []struct {
		field string
		task  *queuepb.NewTask
	}{
		{"after[1]", &queuepb.NewTask{After: []string{id, "nonsense"}}},
		{"after[1]", &queuepb.NewTask{After: []string{id, id}}},
		{"after[1]", &queuepb.NewTask{After: []string{id, never.String()}}},
		{"after", &queuepb.NewTask{After: many}},
		{"batch_size", &queuepb.NewTask{BatchSize: 100_001}},
		{"batch", &queuepb.NewTask{Batch: "nonsense"}},
		{"batch", &queuepb.NewTask{Batch: never.String()}},
		{"dead_dependency", &queuepb.NewTask{After: []string{id}, DeadDependency: 4}},
		{"dead_dependency", &queuepb.NewTask{After: []string{id}, DeadDependency: -1}},
		{"dead_dependency", &queuepb.NewTask{DeadDependency: orRun}},
		{"delay_ms", &queuepb.NewTask{After: []string{id}, DelayMs: 1}},
		{"not_before_ms", &queuepb.NewTask{BatchSize: 1, NotBeforeMs: 1}},
	} {
		c.task.Queue = "later"
		e := s.enqueueOne(c.task).GetError()
		require.NotNil(t, e, "%v", c.task)
		requireItemError(t, e, codeInvalid, c.field)
		p := s.produce()
		p.send(&queuepb.ProduceRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}, c.task}})
		errs := p.answers(1)[0].GetErrors()
		require.Len(t, errs, 1)
		requireItemError(t, errs[0], codeInvalid, c.field)
		assert.EqualValues(t, 1, errs[0].GetIndex())
		require.NoError(t, p.CloseSend())
		require.NoError(t, p.end())
	}
	_, err = s.ListDependencies(s.ctx, &queuepb.ListDependenciesRequest{Id: "nonsense"})
	requireField(t, "id", err)
	_, err = s.ListDependencies(s.ctx, &queuepb.ListDependenciesRequest{Id: id, PageSize: 1_001})
	requireField(t, "page_size", err)
	_, err = s.ListDependencies(s.ctx, &queuepb.ListDependenciesRequest{Id: id, PageToken: "nonsense"})
	requireField(t, "page_token", err)
	out, err := s.ListDependencies(s.ctx, &queuepb.ListDependenciesRequest{Id: id})
	require.NoError(t, err, "a task without dependencies has an empty list")
	assert.Empty(t, out.GetDependencies())
	_, err = s.ListDependencies(s.ctx, &queuepb.ListDependenciesRequest{Id: never.String()})
	requireCode(t, codes.NotFound, err)
}

// A page token is valid only for the list of the same task.
func TestAPageTokenOfDependenciesBelongsToItsTask(t *testing.T) {
	s := serve(t, nil)
	first := s.enqueue(newTasks("q", 2)...)
	later := s.enqueue(&queuepb.NewTask{Queue: "later", After: first}, &queuepb.NewTask{Queue: "later", After: first})
	require.Nil(t, s.complete(s.claim("q")))
	require.Nil(t, s.complete(s.claim("q")))
	s.untilDependencies(later[0], 2)
	out, err := s.ListDependencies(s.ctx, &queuepb.ListDependenciesRequest{Id: later[0], PageSize: 1})
	require.NoError(t, err)
	require.NotEmpty(t, out.GetNextPageToken())
	_, err = s.ListDependencies(s.ctx, &queuepb.ListDependenciesRequest{Id: later[1], PageToken: out.GetNextPageToken()})
	requireField(t, "page_token", err)
}

// Another tenant's task looks like one that was never enqueued.
func TestATaskDoesNotWaitForAnotherTenants(t *testing.T) {
	g := guard(t)
	owner, other := g.as("t0", access.AllScopes), g.as("t1", access.AllScopes)
	out, err := owner.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}, {Queue: "q", BatchSize: 1}}})
	require.NoError(t, err)
	task, final := out.GetResults()[0].GetId(), out.GetResults()[1].GetId()
	theirs, err := other.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", After: []string{task}}, {Queue: "q", Batch: final}}})
	require.NoError(t, err)
	requireItemError(t, theirs.GetResults()[0].GetError(), codeInvalid, "after[0]")
	requireItemError(t, theirs.GetResults()[1].GetError(), codeInvalid, "batch")
	worker := g.as("t0", access.Work)
	_, err = worker.ListDependencies(g.ctx, &queuepb.ListDependenciesRequest{Id: final})
	require.NoError(t, err)
}

// Tasks of shards that different nodes lead depend on each other.
func TestDependenciesOfOtherNodes(t *testing.T) {
	c := startNodes(t, 2, 2)
	c.lead(0, "n1")
	c.lead(1, "n2")
	first := c.spreadOut()
	for i, leader := range c.leaders {
		n := c.node(leader)
		later := n.put(&queuepb.NewTask{Queue: "later", After: []string{first[1-i]}})[0]
		require.Equal(t, i, shardOf(t, later))
		for _, asked := range c.all {
			out, err := asked.queues().ListDependencies(c.as("t0"), &queuepb.ListDependenciesRequest{Id: later})
			require.NoError(t, err)
			assert.EqualValues(t, 1, out.GetWaitingFor())
		}
	}
	for _, task := range c.all[0].take(2, 0) {
		_, err := c.all[0].queues().Complete(c.as("t0"), &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: task.GetId(), Token: task.GetToken()}}})
		require.NoError(t, err)
	}
	out, err := c.all[0].queues().Claim(c.as("t0"), &queuepb.ClaimRequest{Queues: []string{"later"}, WaitMs: 60_000})
	require.NoError(t, err)
	assert.Len(t, out.GetTasks(), 1)
}
