package rpc_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestEnqueueStoresAllFields(t *testing.T) {
	s := serve(t, nil)
	before := time.Now().UnixMilli() - 1 // both clocks truncate
	ids := s.enqueue(
		&queuepb.NewTask{Queue: "jobs/mail", Priority: 7, Payload: []byte{0, 1, 0xff}, MaxAttempts: 3, LeaseMs: 60_000},
		&queuepb.NewTask{Queue: "jobs/mail"},
	)
	require.NotEqual(t, ids[0], ids[1])

	task := s.claim("jobs/mail")
	assert.Equal(t, ids[0], task.GetId(), "the higher priority is delivered first")
	assert.Equal(t, "default", task.GetTenant())
	assert.Equal(t, "jobs/mail", task.GetQueue())
	assert.EqualValues(t, 7, task.GetPriority())
	assert.Equal(t, []byte{0, 1, 0xff}, task.GetPayload())
	assert.EqualValues(t, 1, task.GetAttempt())
	assert.EqualValues(t, 3, task.GetMaxAttempts())
	assert.NotZero(t, task.GetToken())
	assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, task.GetState())
	assert.GreaterOrEqual(t, task.GetEnqueuedAtMs(), before)
	assert.GreaterOrEqual(t, task.GetLeaseExpiresAtMs(), task.GetEnqueuedAtMs()+60_000, "the task's own lease")

	task = s.claim("jobs/mail")
	assert.Equal(t, ids[1], task.GetId())
	assert.EqualValues(t, 20, task.GetMaxAttempts(), "the server's default")
	assert.Empty(t, task.GetPayload())
}

func TestATasksOwnTimes(t *testing.T) {
	s := serve(t, nil)
	now := time.Now().UnixMilli()
	id := s.enqueue(&queuepb.NewTask{Queue: "later", NotBeforeMs: now + 3600_000, TtlMs: 7200_000})[0]
	task := s.look(id)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DELAYED, task.GetState())
	assert.Equal(t, now+3600_000, task.GetDueAtMs())
	assert.Equal(t, task.GetEnqueuedAtMs()+7200_000, task.GetExpiresAtMs())

	s.enqueue(&queuepb.NewTask{Queue: "q", NotBeforeMs: 1, TtlMs: 7200_000, Backoff: &queuepb.Backoff{InitialMs: 1_000_000, MaxMs: 1_000_000, JitterPercent: 1}})
	task = s.claim("q")
	assert.Equal(t, task.GetEnqueuedAtMs()+7200_000, task.GetExpiresAtMs())
	s.fail(task, "no", 0)
	failed := s.look(task.GetId())
	assert.Greater(t, failed.GetDueAtMs(), now+900_000, "its own backoff")
	assert.Equal(t, task.GetExpiresAtMs(), failed.GetExpiresAtMs())

	id = s.enqueue(&queuepb.NewTask{Queue: "short", TtlMs: 1})[0]
	require.Eventually(t, func() bool { return s.look(id).GetState() == queuepb.TaskState_TASK_STATE_DEAD }, patience, time.Millisecond)
	assert.Empty(t, s.claimNow(1, "short"))
}

func TestAKeyStoresOnce(t *testing.T) {
	s := serve(t, nil)
	keyed := func(queue, key string) *queuepb.NewTask {
		return &queuepb.NewTask{Queue: queue, IdempotencyKey: key, Payload: []byte(key)}
	}
	first := s.enqueue(keyed("q", "a"), keyed("q", "b"))
	out, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{
		keyed("q", "c"), {}, keyed("q", "b"), keyed("other", "a"), keyed("q", "c"), keyed("q", "a"), {Queue: "q"},
	}})
	require.NoError(t, err)
	r := out.GetResults()
	for i, duplicate := range []bool{false, false, true, false, true, true, false} {
		assert.Equal(t, duplicate, r[i].GetDuplicate(), "%d", i)
	}
	assert.Equal(t, first[1], r[2].GetId())
	assert.Equal(t, r[0].GetId(), r[4].GetId())
	assert.Equal(t, first[0], r[5].GetId())
	requireItemError(t, r[1].GetError(), codeInvalid, "queue")

	p := s.produce()
	p.send(&queuepb.ProduceRequest{Tasks: []*queuepb.NewTask{keyed("q", "d"), {}, keyed("q", "a"), {Queue: "q"}, keyed("q", "d")}})
	a := p.answers(1)[0]
	assert.Equal(t, []uint32{2, 4}, a.GetDuplicates())
	assert.Equal(t, first[0], a.GetIds()[2])
	assert.Equal(t, a.GetIds()[0], a.GetIds()[4])
	require.Len(t, a.GetErrors(), 1)
	require.NoError(t, p.CloseSend())
	require.NoError(t, p.end())

	seen := map[string]int{}
	for n := 1; n > 0; {
		tasks := s.claimNow(100, "q")
		n = len(tasks)
		for _, task := range tasks {
			seen[string(task.GetPayload())]++
		}
	}
	assert.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "": 2}, seen)
	other, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tenant: "other", Tasks: []*queuepb.NewTask{keyed("q", "a")}})
	require.NoError(t, err)
	assert.False(t, other.GetResults()[0].GetDuplicate(), "keys are separate for each tenant")
}

func TestEnqueueKeepsOrderWithinAPriority(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 100)...)
	got := payloads(s.claimNow(1_000, "q"))
	require.Len(t, got, 100)
	for i, task := range newTasks("q", 100) {
		require.Equal(t, string(task.GetPayload()), got[i])
	}
}

func TestABadTaskIsRefusedAlone(t *testing.T) {
	bad := map[string]*queuepb.NewTask{
		"queue empty":     {},
		"queue long":      {Queue: strings.Repeat("q", 129)},
		"queue character": {Queue: "a b"},
		"queue letter":    {Queue: "ä"},
		"priority":        {Queue: "q", Priority: 10},
		"priority wraps":  {Queue: "q", Priority: 256 + 3},
		"payload":         {Queue: "q", Payload: bytes.Repeat([]byte("x"), 1<<20+1)},
		"delay_ms":        {Queue: "q", DelayMs: 367 * 24 * 3600_000},
		"delay_ms huge":   {Queue: "q", DelayMs: 1<<64 - 1},
		"max_attempts":    {Queue: "q", MaxAttempts: 1_001},
		"lease_ms":        {Queue: "q", LeaseMs: 24*3600_000 + 1},
		"lease_ms huge":   {Queue: "q", LeaseMs: 1<<64 - 1},

		"not_before_ms negative":          {Queue: "q", NotBeforeMs: -1},
		"not_before_ms and delay":         {Queue: "q", NotBeforeMs: 1, DelayMs: 1},
		"not_before_ms far":               {Queue: "q", NotBeforeMs: time.Now().UnixMilli() + 367*24*3600_000},
		"not_before_ms huge":              {Queue: "q", NotBeforeMs: 1<<63 - 1},
		"ttl_ms":                          {Queue: "q", TtlMs: 367 * 24 * 3600_000},
		"ttl_ms huge":                     {Queue: "q", TtlMs: 1<<64 - 1},
		"backoff.initial_ms":              {Queue: "q", Backoff: &queuepb.Backoff{InitialMs: 367 * 24 * 3600_000}},
		"backoff.initial_ms above":        {Queue: "q", Backoff: &queuepb.Backoff{InitialMs: 2, MaxMs: 1}},
		"backoff.max_ms":                  {Queue: "q", Backoff: &queuepb.Backoff{MaxMs: 367 * 24 * 3600_000}},
		"backoff.multiplier_percent":      {Queue: "q", Backoff: &queuepb.Backoff{MultiplierPercent: 99}},
		"backoff.multiplier_percent high": {Queue: "q", Backoff: &queuepb.Backoff{MultiplierPercent: 1_001}},
		"backoff.jitter_percent":          {Queue: "q", Backoff: &queuepb.Backoff{JitterPercent: 101}},
		"result_retention_ms":             {Queue: "q", ResultRetentionMs: 8 * 24 * 3600_000},
		"result_retention_ms huge":        {Queue: "q", ResultRetentionMs: 1<<64 - 1},
		"idempotency_key":                 {Queue: "q", IdempotencyKey: strings.Repeat("k", 129)},
	}
	s := serve(t, nil)
	for name, task := range bad {
		t.Run(name, func(t *testing.T) {
			out, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{
				{Queue: "good", Payload: []byte("first")}, task, {Queue: "good", Payload: []byte("last")},
			}})
			require.NoError(t, err)
			require.Len(t, out.GetResults(), 3)
			requireItemError(t, out.GetResults()[1].GetError(), codeInvalid, strings.Fields(name)[0])
			assert.EqualValues(t, 1, out.GetResults()[1].GetError().GetIndex())
			assert.Empty(t, out.GetResults()[1].GetId())
			tasks := s.claimNow(10, "good")
			require.Equal(t, []string{"first", "last"}, payloads(tasks))
			for i, place := range []int{0, 2} {
				assert.Nil(t, out.GetResults()[place].GetError())
				assert.Equal(t, tasks[i].GetId(), out.GetResults()[place].GetId())
				require.Nil(t, s.complete(tasks[i]))
			}
		})
	}
}

func TestEnqueueOfOnlyBadTasksAnswersEach(t *testing.T) {
	s := serve(t, nil)
	out, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{}, {Queue: "q", Priority: 11}}})
	require.NoError(t, err)
	requireItemError(t, out.GetResults()[0].GetError(), codeInvalid, "queue")
	requireItemError(t, out.GetResults()[1].GetError(), codeInvalid, "priority")
}

func TestTheLargestAcceptedValuesAreAccepted(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(&queuepb.NewTask{
		Queue: strings.Repeat("q", 128), Priority: 9, Payload: bytes.Repeat([]byte("x"), 1<<20),
		DelayMs: 366 * 24 * 3600_000, MaxAttempts: 1_000, LeaseMs: 24 * 3600_000, TtlMs: 366 * 24 * 3600_000,
		ResultRetentionMs: 7 * 24 * 3600_000, IdempotencyKey: strings.Repeat("k", 128),
		Backoff: &queuepb.Backoff{InitialMs: 366 * 24 * 3600_000, MaxMs: 366 * 24 * 3600_000, MultiplierPercent: 1_000, JitterPercent: 100},
	})
	s.enqueue(&queuepb.NewTask{Queue: "q", NotBeforeMs: time.Now().UnixMilli() + 365*24*3600_000, Backoff: &queuepb.Backoff{}})
	s.enqueue(newTasks("abc.DEF_0-9/x:y", 1_000)...)
}

func TestBadEnqueueCalls(t *testing.T) {
	s := serve(t, nil)
	for field, in := range map[string]*queuepb.EnqueueRequest{
		"tenant": {Tenant: "no spaces", Tasks: newTasks("q", 1)},
		"tasks":  {},
	} {
		_, err := s.Enqueue(s.ctx, in)
		requireField(t, field, err)
	}
	_, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1_001)})
	requireField(t, "tasks", err)
	assert.Empty(t, s.claimNow(1, "q"), "a refused call stores nothing")
}

func TestTooManyQueuesIsOverloadNotABadField(t *testing.T) {
	s := serve(t, func(c *node.Config) { c.Queue.Queues = 2 })
	out, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "a"}, {Queue: "b"}, {Queue: "c"}, {Queue: "a"}}})
	require.NoError(t, err)
	for i, r := range out.GetResults() {
		if i == 2 {
			requireItemError(t, r.GetError(), queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, "")
			assert.EqualValues(t, 2, r.GetError().GetIndex())
			assert.Empty(t, r.GetId())
			continue
		}
		assert.Nil(t, r.GetError())
		assert.NotEmpty(t, r.GetId())
	}
	_, err = s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"d", "e", "f"}, WaitMs: 60_000})
	requireCode(t, codes.ResourceExhausted, err)
	assert.Empty(t, status.Convert(err).Details(), "waiting does not change a limit: the error has no retry delay")
}
