package rpc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
)

// unknownID is a valid id of no task.
var unknownID = queue.ID{Ref: queue.Ref{Queue: 4_000, Seq: 7}}.String()

// otherShardID is an id in a shard that this node does not have.
var otherShardID = queue.ID{Shard: 9}.String()

func TestCompleteEndsTheTask(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 1)...)
	task := s.claim("q")
	require.Nil(t, s.complete(task))
	_, err := s.GetTask(s.ctx, &queuepb.GetTaskRequest{Id: task.GetId()})
	requireCode(t, codes.NotFound, err)
	requireItemError(t, s.complete(task), codeStale, "")
	assert.Empty(t, s.claimNow(1, "q"))
}

func TestFailRetriesWithBackoffThenDelayThenDies(t *testing.T) {
	s := serve(t, func(c *node.Config) { c.Queue.Backoff = queue.Backoff{InitialMs: 40} })
	id := s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: 3})[0]

	before := time.Now()
	s.fail(s.claim("q"), "no luck", 0)
	task := s.claim("q")
	assert.GreaterOrEqual(t, time.Since(before), 29*time.Millisecond, "the backoff less its jitter of 25 %")
	assert.EqualValues(t, 2, task.GetAttempt())
	assert.Equal(t, "no luck", task.GetLastError())

	before = time.Now()
	s.fail(task, "still none", 150)
	task = s.claim("q")
	assert.GreaterOrEqual(t, time.Since(before), 149*time.Millisecond, "the requested delay")
	assert.EqualValues(t, 3, task.GetAttempt())

	s.fail(task, "gave up", 0)
	dead := s.look(id)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DEAD, dead.GetState())
	assert.EqualValues(t, 3, dead.GetAttempt())
	assert.Equal(t, "gave up", dead.GetLastError())
	requireItemError(t, s.complete(task), codeStale, "")
	assert.Empty(t, s.claimNow(1, "q"))
}

func TestALeaseThatExpiresOnTheLastAttemptLeavesADeadTask(t *testing.T) {
	s := serve(t, nil)
	id := s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: 1, LeaseMs: 20})[0]
	s.claim("q")
	require.Eventually(t, func() bool {
		return s.look(id).GetState() == queuepb.TaskState_TASK_STATE_DEAD
	}, patience, time.Millisecond)
	assert.Equal(t, "lease expired", s.look(id).GetLastError())
}

func TestExtendMovesTheExpiryAndKeepsTheToken(t *testing.T) {
	s := serve(t, nil)
	id := s.enqueue(newTasks("q", 1)...)[0]
	task := s.claim("q")
	out, err := s.Extend(s.ctx, &queuepb.ExtendRequest{
		Extensions: []*queuepb.Extension{{Id: id, Token: task.GetToken(), LeaseMs: 3600_000}},
	})
	require.NoError(t, err)
	require.Nil(t, out.GetResults()[0].GetError())
	assert.Greater(t, s.look(id).GetLeaseExpiresAtMs(), task.GetLeaseExpiresAtMs()+3000_000)
	require.Nil(t, s.complete(task), "the token is still valid")
}

func TestExtendCanShortenALease(t *testing.T) {
	s := serve(t, nil)
	id := s.enqueue(newTasks("q", 1)...)[0]
	task := s.claim("q")
	_, err := s.Extend(s.ctx, &queuepb.ExtendRequest{Extensions: []*queuepb.Extension{{Id: id, Token: task.GetToken(), LeaseMs: 10}}})
	require.NoError(t, err)
	assert.EqualValues(t, 2, s.claim("q").GetAttempt())
}

func TestReleaseUsesUpNoAttempt(t *testing.T) {
	s := serve(t, nil)
	id := s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: 1})[0]
	release := func(task *queuepb.Task, delayMs uint64) {
		out, err := s.Release(s.ctx, &queuepb.ReleaseRequest{
			Releases: []*queuepb.Releasing{{Id: id, Token: task.GetToken(), DelayMs: delayMs}},
		})
		require.NoError(t, err)
		require.Nil(t, out.GetResults()[0].GetError())
	}
	first := s.claim("q")
	release(first, 0)
	again := s.claimNow(1, "q")
	require.Len(t, again, 1, "ready at once")
	assert.EqualValues(t, 1, again[0].GetAttempt())
	assert.Greater(t, again[0].GetToken(), first.GetToken())

	before := time.Now()
	release(again[0], 100)
	assert.EqualValues(t, 1, s.claim("q").GetAttempt())
	assert.GreaterOrEqual(t, time.Since(before), 99*time.Millisecond)
}

func TestGetTaskInEachState(t *testing.T) {
	s := serve(t, nil)
	before := time.Now().UnixMilli() - 1 // both clocks truncate
	ids := s.enqueue(
		&queuepb.NewTask{Queue: "ready", Priority: 4, Payload: []byte("body"), MaxAttempts: 5},
		&queuepb.NewTask{Queue: "delayed", DelayMs: 3600_000},
		&queuepb.NewTask{Queue: "leased", LeaseMs: 50_000},
		&queuepb.NewTask{Queue: "dead", MaxAttempts: 1},
		&queuepb.NewTask{Queue: "done"},
		&queuepb.NewTask{Queue: "failed"},
	)
	s.claim("leased")
	s.fail(s.claim("dead"), "broken", 0)
	require.Nil(t, s.complete(s.claim("done")))
	s.fail(s.claim("failed"), "try later", 1_000_000)

	ready := s.look(ids[0])
	assert.Equal(t, queuepb.TaskState_TASK_STATE_READY, ready.GetState())
	assert.Equal(t, ids[0], ready.GetId())
	assert.Equal(t, "default", ready.GetTenant())
	assert.Equal(t, "ready", ready.GetQueue())
	assert.EqualValues(t, 4, ready.GetPriority())
	assert.Equal(t, "body", string(ready.GetPayload()))
	assert.EqualValues(t, 0, ready.GetAttempt())
	assert.EqualValues(t, 5, ready.GetMaxAttempts())
	assert.GreaterOrEqual(t, ready.GetEnqueuedAtMs(), before)
	assert.Zero(t, ready.GetToken())

	delayed := s.look(ids[1])
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DELAYED, delayed.GetState())
	assert.GreaterOrEqual(t, delayed.GetDueAtMs(), before+3600_000)

	leased := s.look(ids[2])
	assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, leased.GetState())
	assert.EqualValues(t, 1, leased.GetAttempt())
	assert.GreaterOrEqual(t, leased.GetLeaseExpiresAtMs(), before+50_000)
	assert.Zero(t, leased.GetToken(), "GetTask must not reveal the token")

	dead := s.look(ids[3])
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DEAD, dead.GetState())
	assert.Equal(t, "broken", dead.GetLastError())

	_, err := s.GetTask(s.ctx, &queuepb.GetTaskRequest{Id: ids[4]})
	requireCode(t, codes.NotFound, err)

	failed := s.look(ids[5])
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DELAYED, failed.GetState())
	assert.EqualValues(t, 1, failed.GetAttempt())
	assert.Equal(t, "try later", failed.GetLastError())
}

func TestBadGetTask(t *testing.T) {
	s := serve(t, nil)
	for _, id := range []string{"", "x", strings.Repeat("u", 24), strings.Repeat("0", 23), "00000000zzz" + strings.Repeat("0", 13)} {
		_, err := s.GetTask(s.ctx, &queuepb.GetTaskRequest{Id: id})
		requireField(t, "id", err)
	}
	_, err := s.GetTask(s.ctx, &queuepb.GetTaskRequest{Tenant: "no spaces", Id: unknownID})
	requireField(t, "tenant", err)
	for _, id := range []string{unknownID, otherShardID} {
		_, err = s.GetTask(s.ctx, &queuepb.GetTaskRequest{Id: id})
		requireCode(t, codes.NotFound, err)
	}
}

// settling makes a settling call with one item for each settlement.
type settling func(s *server, tenant string, items []settlement) ([]*queuepb.SettleResult, error)

// settlement has the fields of all kinds.
type settlement struct {
	id      string
	token   uint64
	err     string
	delayMs uint64
	leaseMs uint64
}

func settlings() map[string]settling {
	return map[string]settling{
		"completions": func(s *server, tenant string, items []settlement) ([]*queuepb.SettleResult, error) {
			in := &queuepb.CompleteRequest{Tenant: tenant}
			for _, i := range items {
				in.Completions = append(in.Completions, &queuepb.Completion{Id: i.id, Token: i.token})
			}
			out, err := s.Complete(s.ctx, in)
			return out.GetResults(), err
		},
		"failures": func(s *server, tenant string, items []settlement) ([]*queuepb.SettleResult, error) {
			in := &queuepb.FailRequest{Tenant: tenant}
			for _, i := range items {
				in.Failures = append(in.Failures, &queuepb.Failure{Id: i.id, Token: i.token, Error: i.err, DelayMs: i.delayMs})
			}
			out, err := s.Fail(s.ctx, in)
			return out.GetResults(), err
		},
		"extensions": func(s *server, tenant string, items []settlement) ([]*queuepb.SettleResult, error) {
			in := &queuepb.ExtendRequest{Tenant: tenant}
			for _, i := range items {
				in.Extensions = append(in.Extensions, &queuepb.Extension{Id: i.id, Token: i.token, LeaseMs: i.leaseMs})
			}
			out, err := s.Extend(s.ctx, in)
			return out.GetResults(), err
		},
		"releases": func(s *server, tenant string, items []settlement) ([]*queuepb.SettleResult, error) {
			in := &queuepb.ReleaseRequest{Tenant: tenant}
			for _, i := range items {
				in.Releases = append(in.Releases, &queuepb.Releasing{Id: i.id, Token: i.token, DelayMs: i.delayMs})
			}
			out, err := s.Release(s.ctx, in)
			return out.GetResults(), err
		},
	}
}

// allSettlings has the settling calls, and a claim with completions.
func allSettlings() map[string]settling {
	all := settlings()
	all["claim"] = func(s *server, tenant string, items []settlement) ([]*queuepb.SettleResult, error) {
		in := &queuepb.ClaimRequest{Tenant: tenant, Queues: []string{"none"}}
		for _, i := range items {
			in.Completions = append(in.Completions, &queuepb.Completion{Id: i.id, Token: i.token})
		}
		out, err := s.Claim(s.ctx, in)
		return out.GetResults(), err
	}
	return all
}

func TestABadSettlementIsRefusedAlone(t *testing.T) {
	const fine = 1_000 // milliseconds, for a requested lease
	for field, call := range allSettlings() {
		t.Run(field, func(t *testing.T) {
			s := serve(t, nil)
			s.enqueue(newTasks("q", 3)...)
			tasks := s.claimNow(3, "q")
			require.Len(t, tasks, 3)
			good := func(i int) settlement {
				return settlement{id: tasks[i].GetId(), token: tasks[i].GetToken(), leaseMs: fine}
			}
			crossed := good(0)
			crossed.token = tasks[1].GetToken()
			noToken := good(1)
			noToken.token = 0
			futureToken := good(1)
			futureToken.token += 1 << 40
			items := []settlement{
				good(0),
				{id: "nonsense", token: 1, leaseMs: fine},
				noToken, crossed, futureToken,
				{id: unknownID, token: 5, leaseMs: fine},
				{id: otherShardID, token: 5, leaseMs: fine},
				good(2),
			}
			want := []struct {
				code  queuepb.ErrorCode
				field string
			}{{}, {codeInvalid, "id"}, {codeInvalid, "token"}, {codeStale, ""}, {codeStale, ""}, {codeStale, ""}, {codeNotFound, ""}, {}}
			bad := good(1)
			switch field {
			case "failures":
				bad.err = strings.Repeat("e", 4<<10+1)
				items, want = append(items, bad), append(want, struct {
					code  queuepb.ErrorCode
					field string
				}{codeInvalid, "error"})
				bad.err = ""
				fallthrough
			case "releases":
				bad.delayMs = 367 * 24 * 3600_000
				items, want = append(items, bad), append(want, struct {
					code  queuepb.ErrorCode
					field string
				}{codeInvalid, "delay_ms"})
			case "extensions":
				for _, leaseMs := range []uint64{0, 24*3600_000 + 1, 1<<64 - 1} {
					bad.leaseMs = leaseMs
					items, want = append(items, bad), append(want, struct {
						code  queuepb.ErrorCode
						field string
					}{codeInvalid, "lease_ms"})
				}
			}
			results, err := call(s, "", items)
			require.NoError(t, err)
			require.Len(t, results, len(items))
			for i, r := range results {
				if want[i].code == 0 {
					assert.Nil(t, r.GetError(), "item %d", i)
					continue
				}
				requireItemError(t, r.GetError(), want[i].code, want[i].field)
				assert.EqualValues(t, i, r.GetError().GetIndex())
			}
			require.Nil(t, s.complete(tasks[1]), "refused settlements change nothing")
		})
	}
}

func TestBadSettlingCalls(t *testing.T) {
	s := serve(t, nil)
	for field, call := range settlings() {
		_, err := call(s, "", nil)
		requireField(t, field, err)
		_, err = call(s, "", make([]settlement, 1_001))
		requireField(t, field, err)
		_, err = call(s, "no spaces", make([]settlement, 1))
		requireField(t, "tenant", err)
	}
}

func TestTenantsAreIsolated(t *testing.T) {
	s := serve(t, nil)
	out, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tenant: "a", Tasks: []*queuepb.NewTask{{Queue: "q"}}})
	require.NoError(t, err)
	id := out.GetResults()[0].GetId()
	claim := func(tenant string) []*queuepb.Task {
		got, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Tenant: tenant, Queues: []string{"q"}, MaxTasks: 10})
		require.NoError(t, err)
		return got.GetTasks()
	}
	for _, other := range []string{"b", ""} {
		assert.Empty(t, claim(other))
		_, err = s.GetTask(s.ctx, &queuepb.GetTaskRequest{Tenant: other, Id: id})
		requireCode(t, codes.NotFound, err)
	}
	tasks := claim("a")
	require.Len(t, tasks, 1)
	assert.Equal(t, "a", tasks[0].GetTenant())
	for name, call := range allSettlings() {
		for _, other := range []string{"b", ""} {
			results, err := call(s, other, []settlement{{id: id, token: tasks[0].GetToken(), leaseMs: 1}})
			require.NoError(t, err, name)
			requireItemError(t, results[0].GetError(), codeStale, "")
		}
	}
	got, err := s.GetTask(s.ctx, &queuepb.GetTaskRequest{Tenant: "a", Id: id})
	require.NoError(t, err)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, got.GetTask().GetState(), "none of it took effect")
	results, err := settlings()["completions"](s, "a", []settlement{{id: id, token: tasks[0].GetToken()}})
	require.NoError(t, err)
	require.Nil(t, results[0].GetError())
}
