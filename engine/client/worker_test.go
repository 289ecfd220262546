package client_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

func enqueue(ctx context.Context, t *testing.T, c *client.Client, n int) {
	t.Helper()
	in := &queuepb.EnqueueRequest{}
	for range n {
		in.Tasks = append(in.Tasks, &queuepb.NewTask{Queue: "q"})
	}
	_, err := c.API().Enqueue(ctx, in)
	require.NoError(t, err)
}

func claimNow(ctx context.Context, t *testing.T, c *client.Client, queue string) []*queuepb.Task {
	t.Helper()
	out, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{queue}, MaxTasks: 1_000})
	require.NoError(t, err)
	return out.GetTasks()
}

func state(ctx context.Context, t *testing.T, c *client.Client, id string) *queuepb.Task {
	t.Helper()
	out, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: id})
	require.NoError(t, err)
	return out.GetTask()
}

func open(ctx context.Context, t *testing.T, c *client.Client, slots int) *client.Worker {
	t.Helper()
	return opened(t, func() (*client.Worker, error) {
		return c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: slots, Lease: time.Hour})
	})
}

func receive(ctx context.Context, t *testing.T, w *client.Worker) *queuepb.Task {
	t.Helper()
	task, err := w.Receive(ctx)
	require.NoError(t, err)
	return task
}

func TestWorkerSettlesInEveryWay(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	enqueue(ctx, t, c, 8)
	w := open(ctx, t, c, 8)
	tasks := make([]*queuepb.Task, 8)
	for i := range tasks {
		tasks[i] = receive(ctx, t, w)
	}
	require.NoError(t, w.FailPermanently(ctx, tasks[7], "not UTF-8: \xff"))
	dead := state(ctx, t, c, tasks[7].GetId())
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DEAD, dead.GetState())
	assert.Equal(t, "not UTF-8: \uFFFD", dead.GetLastError())
	require.NoError(t, w.Complete(ctx, tasks[0]))
	require.ErrorIs(t, w.Complete(ctx, tasks[0]), client.ErrStaleToken)
	require.NoError(t, w.Fail(ctx, tasks[1], "not UTF-8: \xff", time.Hour))
	failed := state(ctx, t, c, tasks[1].GetId())
	assert.Equal(t, "not UTF-8: \uFFFD", failed.GetLastError())
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DELAYED, failed.GetState())
	require.NoError(t, w.Release(ctx, tasks[2], time.Hour))
	released := state(ctx, t, c, tasks[2].GetId())
	assert.Equal(t, queuepb.TaskState_TASK_STATE_DELAYED, released.GetState())
	assert.EqualValues(t, 0, released.GetAttempt())
	require.NoError(t, w.Extend(ctx, tasks[3], 10*time.Hour))
	assert.Greater(t, state(ctx, t, c, tasks[3].GetId()).GetLeaseExpiresAtMs(), tasks[3].GetLeaseExpiresAtMs()+3600_000)
	require.ErrorIs(t, w.Extend(ctx, tasks[0], time.Hour), client.ErrStaleToken)
	require.ErrorIs(t, w.Extend(ctx, tasks[3], 0), client.ErrInvalidArgument)
	require.ErrorIs(t, w.Fail(ctx, tasks[3], strings.Repeat("e", 5<<10), 0), client.ErrInvalidArgument)
	require.ErrorIs(t, w.Fail(ctx, tasks[3], strings.Repeat("e", 20<<20), 0), client.ErrInvalidArgument)

	errs, err := w.CompleteBatch(ctx, []*queuepb.Task{tasks[4], tasks[0], tasks[5], {Id: "?", Token: 1}})
	require.NoError(t, err)
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], client.ErrStaleToken)
	require.NoError(t, errs[2])
	require.ErrorIs(t, errs[3], client.ErrInvalidArgument)
	errs, err = w.CompleteBatch(ctx, []*queuepb.Task{tasks[6]})
	require.NoError(t, err)
	assert.Nil(t, errs)
	for _, n := range []int{0, 1_001} {
		_, err = w.CompleteBatch(ctx, make([]*queuepb.Task, n))
		require.ErrorIs(t, err, client.ErrInvalidArgument)
	}
	require.NoError(t, w.Close(ctx))
}

func TestBadWorkerConfigs(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	for _, slots := range []int{-1, 0, 1<<16 + 1} {
		_, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: slots})
		require.ErrorIs(t, err, client.ErrInvalidArgument)
	}
	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"no spaces"}, Slots: 1})
	require.NoError(t, err)
	_, err = w.Receive(ctx)
	require.ErrorContains(t, err, "queues[0]", "the server's refusal ends the session and is its error")
	require.NoError(t, w.Close(ctx))
}

func TestWorkerCloseGivesBackWhatNobodyReceived(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	// With spare slots, the server could push released tasks to the same session again.
	w := open(ctx, t, c, 1_500)
	for range 2 {
		enqueue(ctx, t, c, 600)
	}
	received := receive(ctx, t, w)
	require.NoError(t, w.Close(ctx))
	_, err := w.Receive(ctx)
	require.ErrorIs(t, err, client.ErrClosed)
	var again []*queuepb.Task
	for {
		tasks := claimNow(ctx, t, c, "q")
		if len(tasks) == 0 {
			break
		}
		again = append(again, tasks...)
	}
	assert.Len(t, again, 1_199)
	for _, task := range again {
		require.EqualValues(t, 1, task.GetAttempt(), "no attempt was used up")
	}
	assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, state(ctx, t, c, received.GetId()).GetState())
	require.NoError(t, w.Close(ctx))
}

func TestReceiveEndsWithItsContextAndWithTheServer(t *testing.T) {
	ctx := bounded(t)
	c, stop := realServer(t, client.WithRetryMax(100*time.Millisecond))
	enqueue(ctx, t, c, 2)
	w := open(ctx, t, c, 3)
	task := receive(ctx, t, w)
	require.Eventually(t, func() bool { _, ok := w.TryReceive(); return ok }, patience, time.Millisecond)
	_, ok := w.TryReceive()
	assert.False(t, ok)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := w.Receive(gone)
	require.ErrorIs(t, err, context.Canceled)
	stop()
	_, err = w.Receive(ctx)
	require.ErrorIs(t, err, client.ErrUnavailable, "the server does not return in time")
	require.ErrorIs(t, w.Complete(ctx, task), client.ErrUnavailable)
	require.NoError(t, w.Close(ctx))
}

// TestNoTaskIsHandedOutOnceTheSessionCloses checks that Receive returns no task that could no
// longer be settled.
func TestNoTaskIsHandedOutOnceTheSessionCloses(t *testing.T) {
	ctx := bounded(t)
	f := &fake{work: func(s workServer) error { // does not end when the client does
		if err := s.Send(&queuepb.WorkResponse{Tasks: []*queuepb.Task{{Token: 1}, {Token: 2}}}); err != nil {
			return err
		}
		<-s.Context().Done()
		return s.Context().Err()
	}}
	w := open(ctx, t, f.serve(t), 2)
	require.Eventually(t, func() bool { _, ok := w.TryReceive(); return ok }, patience, time.Millisecond)
	over, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, w.Close(over), context.Canceled)
	_, err := w.Receive(ctx)
	require.ErrorIs(t, err, client.ErrClosed)
}

// slotServer implements a Work stream over an endless queue: it pushes a task for each credit,
// settles as the test decides, and counts the pushed, unsettled tasks.
type slotServer struct {
	mu      sync.Mutex
	granted int
	settled map[uint64]bool // by token; false: pushed
	open    int
	openMax int
	refuse  func(*queuepb.Settlement) queuepb.ErrorCode // 0: accept

	limit int // the number of tasks
}

func (f *slotServer) play(s workServer) error {
	f.settled = map[uint64]bool{}
	for {
		in, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(f.answer(in)); err != nil {
			return err
		}
	}
}

func (f *slotServer) answer(in *queuepb.WorkRequest) *queuepb.WorkResponse {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &queuepb.WorkResponse{}
	f.granted += int(in.GetCredits())
	a := &queuepb.SettleAnswer{Frame: in.GetFrame()}
	for i, t := range in.GetSettlements() {
		code := f.refuse(t)
		if settled, pushed := f.settled[t.GetToken()]; settled || !pushed {
			code = queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN
		} else if code == 0 || code == queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN {
			f.settled[t.GetToken()] = true
			f.open--
		}
		if code != 0 {
			a.Errors = append(a.Errors, &queuepb.ItemError{Index: uint32(i), Code: code, Message: code.String()})
		}
	}
	if len(in.GetSettlements()) > 0 {
		out.Answers = append(out.Answers, a)
	}
	for len(f.settled) < f.granted && len(f.settled) < f.limit {
		token := uint64(len(f.settled) + 1)
		f.settled[token] = false
		f.open++
		out.Tasks = append(out.Tasks, &queuepb.Task{Id: strconv.FormatUint(token, 10), Token: token})
	}
	f.openMax = max(f.openMax, f.open)
	return out
}

// TestAWorkerNeverHoldsMoreThanItsSlots settles in many goroutines with refusals of each kind, some
// tasks twice.
func TestAWorkerNeverHoldsMoreThanItsSlots(t *testing.T) {
	for _, slots := range []int{1, 3, 16, 100} {
		const tasks = 3_000
		ctx := bounded(t)
		random := rand.New(rand.NewPCG(1, uint64(slots)))
		f := &slotServer{limit: tasks}
		f.refuse = func(*queuepb.Settlement) queuepb.ErrorCode { // under f.mu
			switch random.IntN(10) {
			case 0:
				return queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN
			case 1:
				return queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT
			}
			return 0
		}
		w := open(ctx, t, (&fake{work: f.play}).serve(t), slots)
		var wg sync.WaitGroup
		left := make(chan struct{}, tasks)
		for range tasks {
			left <- struct{}{}
		}
		close(left)
		for range min(slots, 8) {
			wg.Go(func() {
				for range left {
					task, err := w.Receive(ctx)
					if !assert.NoError(t, err) {
						return
					}
					err = w.Complete(ctx, task)
					for errors.Is(err, client.ErrInvalidArgument) {
						err = w.Complete(ctx, task)
					}
					if err != nil {
						assert.ErrorIs(t, err, client.ErrStaleToken)
					}
					if task.GetToken()%3 == 0 { // a second time, as after an unknown outcome
						assert.ErrorIs(t, w.Complete(ctx, task), client.ErrStaleToken)
					}
				}
			})
		}
		wg.Wait()
		require.NoError(t, w.Close(ctx))
		f.mu.Lock()
		assert.LessOrEqual(t, f.openMax, slots)
		assert.LessOrEqual(t, f.granted, tasks+slots)
		f.mu.Unlock()
	}
}

func TestAStaleSettlementFreesItsSlot(t *testing.T) {
	ctx := bounded(t)
	f := &slotServer{limit: 50, refuse: func(*queuepb.Settlement) queuepb.ErrorCode { return queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN }}
	w := open(ctx, t, (&fake{work: f.play}).serve(t), 2)
	for range 50 {
		require.ErrorIs(t, w.Complete(ctx, receive(ctx, t, w)), client.ErrStaleToken)
	}
	require.NoError(t, w.Close(ctx))
}

func TestASettlementOfUnknownOutcomeFreesItsSlot(t *testing.T) {
	ctx := bounded(t)
	f := &slotServer{limit: 10, refuse: func(*queuepb.Settlement) queuepb.ErrorCode { return 0 }}
	w := open(ctx, t, (&fake{work: f.play}).serve(t), 1)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for range 10 {
		if err := w.Complete(gone, receive(ctx, t, w)); err != nil {
			require.ErrorIs(t, err, client.ErrUnknownOutcome)
		}
	}
	require.NoError(t, w.Close(ctx))
}

// TestAServerThatPushesTooMuchBreaksTheSession checks that the session ends instead of blocking its
// receiver forever.
func TestAServerThatPushesTooMuchBreaksTheSession(t *testing.T) {
	ctx := bounded(t)
	f := &fake{work: func(s workServer) error {
		if _, err := s.Recv(); err != nil {
			return err
		}
		if err := s.Send(&queuepb.WorkResponse{Tasks: []*queuepb.Task{{Token: 1}, {Token: 2}, {Token: 3}}}); err != nil {
			return err
		}
		<-s.Context().Done()
		return s.Context().Err()
	}}
	w := open(ctx, t, dial(t, f.listen(t), client.WithRetryMax(100*time.Millisecond)), 2)
	require.Eventually(t, func() bool {
		return errors.Is(w.Complete(ctx, &queuepb.Task{Id: "1", Token: 1}), client.ErrUnknownOutcome)
	}, patience, time.Millisecond)
	require.NoError(t, w.Close(ctx))
}

// TestWorkerCloseWaitsForSettlementsUnderWay closes a session during completions: each is answered.
func TestWorkerCloseWaitsForSettlementsUnderWay(t *testing.T) {
	const n = 200
	ctx := bounded(t)
	c, _ := realServer(t)
	enqueue(ctx, t, c, n)
	w := open(ctx, t, c, n)
	tasks := make([]*queuepb.Task, n)
	for i := range tasks {
		tasks[i] = receive(ctx, t, w)
	}
	outcomes := make(chan error, n)
	started := make(chan struct{}, n)
	for _, task := range tasks {
		go func() {
			started <- struct{}{}
			outcomes <- w.Complete(ctx, task)
		}()
	}
	for range n {
		<-started
	}
	require.NoError(t, w.Close(ctx))
	completed := 0
	for range n {
		if err := <-outcomes; err != nil {
			require.ErrorIs(t, err, client.ErrClosed, "refused before it was sent")
		} else {
			completed++
		}
	}
	left := 0
	for _, task := range tasks {
		if _, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: task.GetId()}); err == nil {
			left++
		}
	}
	assert.Equal(t, n-completed, left)
}
