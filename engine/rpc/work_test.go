package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/queuepb"
)

type workStream struct {
	*testing.T
	grpc.BidiStreamingClient[queuepb.WorkRequest, queuepb.WorkResponse]

	tasks   []*queuepb.Task
	answers []*queuepb.SettleAnswer
	// cancelled contains the cancelled leases of all messages read so far.
	cancelled []*queuepb.CancelledLease
}

// work opens a stream on queues with credits.
func (s *server) work(credits uint32, queues ...string) *workStream {
	s.Helper()
	w := s.workRaw(s.ctx)
	w.send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: queues}, Credits: credits})
	return w
}

func (s *server) workRaw(ctx context.Context) *workStream {
	s.Helper()
	stream, err := s.Work(ctx)
	require.NoError(s, err)
	return &workStream{T: s.T, BidiStreamingClient: stream}
}

func (w *workStream) send(in *queuepb.WorkRequest) {
	w.Helper()
	require.NoError(w, w.Send(in))
}

// until reads until a condition on the received messages holds.
func (w *workStream) until(enough func() bool) {
	w.Helper()
	for !enough() {
		in, err := w.Recv()
		require.NoError(w, err)
		w.tasks = append(w.tasks, in.GetTasks()...)
		w.answers = append(w.answers, in.GetAnswers()...)
		w.cancelled = append(w.cancelled, in.GetCancelled()...)
	}
}

// take returns the next n tasks.
func (w *workStream) take(n int) []*queuepb.Task {
	w.Helper()
	w.until(func() bool { return len(w.tasks) >= n })
	tasks := w.tasks[:n]
	w.tasks = w.tasks[n:]
	return tasks
}

func (w *workStream) answer() *queuepb.SettleAnswer {
	w.Helper()
	w.until(func() bool { return len(w.answers) > 0 })
	a := w.answers[0]
	w.answers = w.answers[1:]
	return a
}

func (w *workStream) end() error {
	return end(func() error {
		in, err := w.Recv()
		w.tasks = append(w.tasks, in.GetTasks()...)
		w.answers = append(w.answers, in.GetAnswers()...)
		return err
	})
}

func completion(t *queuepb.Task) *queuepb.Settlement {
	return &queuepb.Settlement{Id: t.GetId(), Token: t.GetToken(), Action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE}
}

// A message with tasks has the server's time, so that a client with another clock knows how long
// its leases last.
func TestWorkSaysTheServersTimeWithTasks(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 1)...)
	w := s.workRaw(s.ctx)
	w.send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}, LeaseMs: 60_000}, Credits: 1})
	in, err := w.Recv()
	require.NoError(t, err)
	require.Len(t, in.GetTasks(), 1)
	holds := in.GetTasks()[0].GetLeaseExpiresAtMs() - in.GetNowMs()
	assert.Positive(t, holds)
	assert.LessOrEqual(t, holds, int64(60_000))
	w.send(&queuepb.WorkRequest{Frame: 1, Settlements: []*queuepb.Settlement{completion(in.GetTasks()[0])}})
	in, err = w.Recv()
	require.NoError(t, err)
	require.Len(t, in.GetAnswers(), 1)
	assert.Zero(t, in.GetNowMs(), "an answer without tasks has no time")
}

func TestWorkPushesNoMoreThanWasGranted(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 10)...)
	w := s.work(3, "q")
	tasks := w.take(3)
	assert.Equal(t, []string{"0", "1", "2"}, payloads(tasks))
	// A settlement without credits grants nothing. Its answer would come after any task pushed
	// before it.
	w.send(&queuepb.WorkRequest{Frame: 5, Settlements: []*queuepb.Settlement{completion(tasks[0])}})
	a := w.answer()
	assert.EqualValues(t, 5, a.GetFrame())
	assert.Empty(t, a.GetErrors())
	assert.Empty(t, w.tasks)
	assert.Equal(t, []string{"3"}, payloads(s.claimNow(1, "q")), "the other tasks are available to other workers")
	w.send(&queuepb.WorkRequest{Credits: 2})
	assert.Equal(t, []string{"4", "5"}, payloads(w.take(2)))
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
	assert.Empty(t, w.tasks)
	assert.Len(t, s.claimNow(10, "q"), 4)
}

func TestWorkPushesAsTasksComeFromAllItsQueues(t *testing.T) {
	s := serve(t, nil)
	w := s.work(10, "a", "b")
	for _, q := range []string{"b", "a", "b"} {
		id := s.enqueue(&queuepb.NewTask{Queue: q})[0]
		task := w.take(1)[0]
		assert.Equal(t, id, task.GetId())
		assert.Equal(t, q, task.GetQueue())
	}
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
}

func TestWorkLeasesForAsLongAsItSays(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(&queuepb.NewTask{Queue: "q", LeaseMs: 1_000_000})
	w := s.workRaw(s.ctx)
	w.send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}, LeaseMs: 20}, Credits: 2})
	tasks := w.take(2)
	assert.Equal(t, tasks[0].GetId(), tasks[1].GetId())
	assert.EqualValues(t, 2, tasks[1].GetAttempt(), "the lease expired and the task was delivered again")
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
}

func TestWorkSettlesEachItemAlone(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 6)...)
	w := s.work(6, "q")
	tasks := w.take(6)
	settle := func(t *queuepb.Task, action queuepb.SettleAction) *queuepb.Settlement {
		return &queuepb.Settlement{Id: t.GetId(), Token: t.GetToken(), Action: action}
	}
	stale := completion(tasks[0])
	stale.Token += 1 << 30
	failed := settle(tasks[1], queuepb.SettleAction_SETTLE_ACTION_FAIL)
	failed.Error, failed.DelayMs = "why", 3600_000
	extended := settle(tasks[3], queuepb.SettleAction_SETTLE_ACTION_EXTEND)
	extended.LeaseMs = 7200_000
	permanent := settle(tasks[5], queuepb.SettleAction_SETTLE_ACTION_FAIL)
	permanent.Permanent = true
	long := settle(tasks[4], queuepb.SettleAction_SETTLE_ACTION_FAIL)
	long.Error = strings.Repeat("e", 4<<10+1)
	w.send(&queuepb.WorkRequest{Frame: 77, Settlements: []*queuepb.Settlement{
		settle(tasks[4], 0), settle(tasks[4], 99), stale, completion(tasks[0]), completion(tasks[0]), failed,
		settle(tasks[2], queuepb.SettleAction_SETTLE_ACTION_RELEASE), extended,
		{Id: "?", Token: 1, Action: 1},
		{Id: unknownID, Token: 1, Action: 1},
		{Id: otherShardID, Token: 1, Action: 1},
		long,
		settle(tasks[4], queuepb.SettleAction_SETTLE_ACTION_EXTEND),
		permanent,
	}})
	a := w.answer()
	assert.EqualValues(t, 77, a.GetFrame())
	got := map[uint32]string{}
	for _, e := range a.GetErrors() {
		got[e.GetIndex()] = strings.TrimPrefix(e.GetCode().String(), "ERROR_CODE_") + " " + e.GetField()
	}
	assert.Equal(t, map[uint32]string{
		0: "INVALID_ARGUMENT action", 1: "INVALID_ARGUMENT action", 2: "STALE_TOKEN ", 4: "STALE_TOKEN ",
		8: "INVALID_ARGUMENT id", 9: "STALE_TOKEN ", 10: "NOT_FOUND ", 11: "INVALID_ARGUMENT error", 12: "INVALID_ARGUMENT lease_ms",
	}, got)
	_, err := s.GetTask(s.ctx, &queuepb.GetTaskRequest{Id: tasks[0].GetId()})
	requireCode(t, codes.NotFound, err)
	assert.Equal(t, "why", s.look(tasks[1].GetId()).GetLastError())
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DEAD, s.look(tasks[5].GetId()).GetState())
	assert.Equal(t, queuepb.TaskState_TASK_STATE_READY, s.look(tasks[2].GetId()).GetState())
	assert.Greater(t, s.look(tasks[3].GetId()).GetLeaseExpiresAtMs(), tasks[3].GetLeaseExpiresAtMs()+3600_000)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, s.look(tasks[4].GetId()).GetState(), "refused, so still leased")

	// A frame without a valid settlement is answered too.
	w.send(&queuepb.WorkRequest{Frame: 78, Settlements: []*queuepb.Settlement{{Id: "?"}}})
	assert.EqualValues(t, 78, w.answer().GetFrame())
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
}

func TestWorkStreamsSettleTheirOwnTenantsTasksOnly(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 1)...)
	task := s.claim("q")
	w := s.workRaw(s.ctx)
	w.send(&queuepb.WorkRequest{
		Open: &queuepb.WorkOpen{Tenant: "other", Queues: []string{"q"}}, Credits: 1,
		Settlements: []*queuepb.Settlement{completion(task)},
	})
	a := w.answer()
	require.Len(t, a.GetErrors(), 1)
	requireItemError(t, a.GetErrors()[0], codeStale, "")
	require.Nil(t, s.complete(task))
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
}

func TestABadFrameEndsTheWorkStream(t *testing.T) {
	s := serve(t, nil)
	open := &queuepb.WorkOpen{Queues: []string{"q"}}
	for _, c := range []struct {
		field  string
		frames []*queuepb.WorkRequest
	}{
		{"open", []*queuepb.WorkRequest{{Credits: 1}}},
		{"tenant", []*queuepb.WorkRequest{{Open: &queuepb.WorkOpen{Tenant: "?", Queues: []string{"q"}}}}},
		{"queues", []*queuepb.WorkRequest{{Open: &queuepb.WorkOpen{}}}},
		{"queues[0]", []*queuepb.WorkRequest{{Open: &queuepb.WorkOpen{Queues: []string{""}}}}},
		{"lease_ms", []*queuepb.WorkRequest{{Open: &queuepb.WorkOpen{Queues: []string{"q"}, LeaseMs: 1 << 60}}}},
		{"weights", []*queuepb.WorkRequest{{Open: &queuepb.WorkOpen{Queues: []string{"q"}, Weights: []uint32{1, 2}}}}},
		{"weights[0]", []*queuepb.WorkRequest{{Open: &queuepb.WorkOpen{Queues: []string{"q"}, Weights: []uint32{0}}}}},
		{"credits", []*queuepb.WorkRequest{{Open: open, Credits: 1<<16 + 1}}},
		{"credits", []*queuepb.WorkRequest{{Open: open, Credits: 1 << 16}, {Credits: 1}}},
		{"credits", []*queuepb.WorkRequest{{Open: open, Credits: 1<<32 - 1}}},
		{"settlements", []*queuepb.WorkRequest{{Open: open, Settlements: make([]*queuepb.Settlement, 1_001)}}},
	} {
		w := s.workRaw(s.ctx)
		for _, f := range c.frames {
			w.send(f)
		}
		requireField(t, c.field, w.end())
	}
	w := s.workRaw(s.ctx)
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end(), "a stream without a frame")
}

// TestAStreamThatDoesNotReadIsBounded grants credits and reads nothing: the server's memory for the
// stream stays bounded, since pushed but unsent tasks count.
func TestAStreamThatDoesNotReadIsBounded(t *testing.T) {
	// Of 1,000: exceeds the limit plus the few thousand tasks that are sent before flow control
	// stops them.
	const rounds = 80
	s := serve(t, nil)
	w := s.work(0, "q")
	tasks := make([]*queuepb.NewTask, 1_000)
	for i := range tasks {
		tasks[i] = &queuepb.NewTask{Queue: "q", Payload: bytes.Repeat([]byte("x"), 200)}
	}
	for range rounds {
		s.enqueue(tasks...)
		w.send(&queuepb.WorkRequest{Credits: 1_000})
	}
	requireField(t, "credits", w.end())
}

func TestHalfCloseAnswersWhatWasSent(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 1)...)
	w := s.work(1, "q")
	w.send(&queuepb.WorkRequest{Frame: 3, Settlements: []*queuepb.Settlement{completion(w.take(1)[0])}})
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
	require.Len(t, w.answers, 1)
	assert.EqualValues(t, 3, w.answers[0].GetFrame())
}

// TestHalfCloseDeliversWhatWasGranted ends streams while tasks are being leased to them. Leased
// tasks must be delivered, so that none waits for an unknown lease to expire.
func TestHalfCloseDeliversWhatWasGranted(t *testing.T) {
	const n = 500
	s := serve(t, nil)
	for range 20 {
		s.enqueue(newTasks("q", n)...)
		w := s.work(n, "q")
		require.NoError(t, w.CloseSend())
		require.NoError(t, w.end())
		require.Len(t, s.claimNow(1_000, "q"), n-len(w.tasks))
		s.enqueue(newTasks("q", 1)...)
		require.Len(t, s.claimNow(1, "q"), 1, "no task is pushed to an ended stream")
	}
}

// TestHalfCloseDeliversWhatFlowControlHeldUp grants further credits while the client does not read.
func TestHalfCloseDeliversWhatFlowControlHeldUp(t *testing.T) {
	s := serve(t, nil)
	for range 12 {
		// gRPC buffers one message of any size: the second one waits for the client to read.
		large := &queuepb.NewTask{Queue: "q", Payload: make([]byte, 1<<20)}
		ids := s.enqueue(large, large)
		w := s.work(2, "q")
		s.untilLeased(ids[1])
		small := s.enqueue(newTasks("q", 1)...)[0]
		w.send(&queuepb.WorkRequest{Credits: 1_000})
		s.untilLeased(small)
		require.NoError(t, w.CloseSend())
		pushed := 3
		for s.enqueue(newTasks("q", 1)...); len(s.claimNow(1, "q")) == 0; s.enqueue(newTasks("q", 1)...) {
			pushed++ // the server has not seen the end yet
		}
		require.NoError(t, w.end())
		require.Len(t, w.tasks, pushed)
	}
}

func (s *server) untilLeased(id string) {
	s.Helper()
	require.Eventually(s, func() bool { return s.look(id).GetState() == queuepb.TaskState_TASK_STATE_LEASED }, patience, time.Millisecond)
}

func TestCreditsAreUsedUpByWhatIsSent(t *testing.T) {
	const each, rounds = 1_000, 70 // more in total than may be open at once
	s := serve(t, nil)
	w := s.work(0, "q")
	for range rounds {
		s.enqueue(newTasks("q", each)...)
		w.send(&queuepb.WorkRequest{Credits: each})
		w.take(each)
	}
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
}

func TestACutStreamLeavesLeasesThatExpire(t *testing.T) {
	s := serve(t, nil)
	ids := s.enqueue(&queuepb.NewTask{Queue: "q", LeaseMs: 300}, &queuepb.NewTask{Queue: "q", LeaseMs: 300})
	ctx, cancel := context.WithCancel(s.ctx)
	w := s.workRaw(ctx)
	// The stream has no credit for another lease, which it would get if the host paused before cancel.
	w.send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}}, Credits: 2})
	tasks := w.take(2)
	cancel()
	requireCode(t, codes.Canceled, w.end())
	for i := range ids {
		out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 20_000, LeaseMs: 3600_000})
		require.NoError(t, err)
		require.Len(t, out.GetTasks(), 1)
		again := out.GetTasks()[0]
		assert.Equal(t, ids[i], again.GetId())
		assert.EqualValues(t, 2, again.GetAttempt())
		requireItemError(t, s.complete(tasks[i]), codeStale, "")
		require.Nil(t, s.complete(again))
	}
}

func TestLargeTasksComeInMessagesThatClientsTake(t *testing.T) {
	const n = 8
	s := serve(t, nil)
	for i := range n {
		s.enqueue(&queuepb.NewTask{Queue: "q", Payload: bytes.Repeat([]byte{byte('0' + i)}, 1<<20)})
	}
	// Small tasks with long failure histories: not only payloads make a message large.
	for range 1_500 {
		s.enqueue(&queuepb.NewTask{Queue: "failed"})
	}
	for _, batch := range [][]*queuepb.Task{s.claimNow(1_000, "failed"), s.claimNow(1_000, "failed")} {
		in := &queuepb.FailRequest{}
		for _, task := range batch {
			in.Failures = append(in.Failures, &queuepb.Failure{Id: task.GetId(), Token: task.GetToken(), Error: strings.Repeat("e", 4<<10), DelayMs: 1})
		}
		_, err := s.Fail(s.ctx, in)
		require.NoError(t, err)
	}
	w := s.work(n+1_500, "q", "failed")
	large := ""
	for _, task := range w.take(n + 1_500) {
		if task.GetQueue() == "q" {
			large += fmt.Sprintf("%c", task.GetPayload()[0])
		} else {
			assert.Len(t, task.GetLastError(), 4<<10)
		}
	}
	assert.Equal(t, "01234567", large)
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
}

// TestLargeTasksFlowThroughAStreamWithManyCredits pushes many more bytes than the shards deliver
// before a report: each sent task must make room for another.
func TestLargeTasksFlowThroughAStreamWithManyCredits(t *testing.T) {
	s := serve(t, nil)
	const n, size = 48, 1 << 20
	for range n {
		_, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "large", Payload: make([]byte, size)}}})
		require.NoError(t, err)
	}
	w := s.work(1_000, "large")
	for _, task := range w.take(n) {
		require.Len(t, task.GetPayload(), size)
	}
}
