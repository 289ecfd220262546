package client_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// cancelled is a channel of the tasks that OnCancel got.
func cancelled(into *client.WorkerConfig) <-chan *queuepb.Task {
	c := make(chan *queuepb.Task, 1_000)
	into.OnCancel = func(t *queuepb.Task) { c <- t }
	return c
}

func taskOf(token uint64) *queuepb.Task {
	return &queuepb.Task{Id: strconv.FormatUint(token, 10), Token: token, LeaseExpiresAtMs: time.Hour.Milliseconds()}
}

func leaseOf(token uint64) *queuepb.CancelledLease {
	return &queuepb.CancelledLease{Id: strconv.FormatUint(token, 10), Token: token}
}

// manual implements a Work stream whose test reads the frames and writes the answers.
type manual struct {
	*testing.T
	frames  chan *queuepb.WorkRequest
	answers chan *queuepb.WorkResponse
}

func newManual(t *testing.T) *manual {
	return &manual{T: t, frames: make(chan *queuepb.WorkRequest, 1_000), answers: make(chan *queuepb.WorkResponse)}
}

func (m *manual) play(s workServer) error {
	go func() {
		for {
			in, err := s.Recv()
			if err != nil {
				return
			}
			m.frames <- in
		}
	}()
	for {
		select {
		case out := <-m.answers:
			if err := s.Send(out); err != nil {
				return err
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

// expect reads frames that together have the given credits and settlements. It returns the number of
// the last frame with settlements.
func (m *manual) expect(credits, settlements int) (frame uint64) {
	m.Helper()
	for credits > 0 || settlements > 0 {
		select {
		case in := <-m.frames:
			credits -= int(in.GetCredits())
			if n := len(in.GetSettlements()); n > 0 {
				settlements -= n
				frame = in.GetFrame()
			}
		case <-time.After(patience):
			m.Fatalf("%d credits and %d settlements are missing", credits, settlements)
		}
	}
	require.Zero(m, credits)
	require.Zero(m, settlements)
	return frame
}

// A session reports each cancelled task once if the caller has it, and never returns the others. The
// slot of a task that was not received is free immediately, that of a received task when the caller
// settles it.
func TestASessionReportsWhatWasCancelled(t *testing.T) {
	for _, reports := range []bool{true, false} {
		t.Run(strconv.FormatBool(reports), func(t *testing.T) {
			ctx := bounded(t)
			s := newManual(t)
			config := client.WorkerConfig{Queues: []string{"q"}, Slots: 4}
			got := make(<-chan *queuepb.Task)
			if reports {
				got = cancelled(&config)
			}
			w, err := (&fake{work: s.play}).serve(t).Worker(ctx, config)
			require.NoError(t, err)
			s.expect(4, 0)
			s.answers <- &queuepb.WorkResponse{Tasks: []*queuepb.Task{taskOf(1), taskOf(2), taskOf(3)}, NowMs: 1}
			received := receive(ctx, t, w)
			s.answers <- &queuepb.WorkResponse{Cancelled: []*queuepb.CancelledLease{leaseOf(1), leaseOf(2), leaseOf(9)}}
			s.expect(1, 0) // the slot of task 2
			next := receive(ctx, t, w)
			assert.Equal(t, "3", next.GetId())
			s.answers <- &queuepb.WorkResponse{Cancelled: []*queuepb.CancelledLease{leaseOf(1)}}

			settled := make(chan error, 1)
			go func() { settled <- w.Complete(ctx, next) }()
			frame := s.expect(0, 1)
			s.answers <- &queuepb.WorkResponse{Answers: []*queuepb.SettleAnswer{{Frame: frame}}, Cancelled: []*queuepb.CancelledLease{leaseOf(3)}}
			require.NoError(t, <-settled)
			go func() { settled <- w.Complete(ctx, received) }()
			frame = s.expect(1, 1) // the slot of task 3
			s.answers <- &queuepb.WorkResponse{Answers: []*queuepb.SettleAnswer{{
				Frame: frame, Errors: []*queuepb.ItemError{{Code: queuepb.ErrorCode_ERROR_CODE_CANCELLED, Message: "cancelled"}},
			}}}
			err = <-settled
			require.ErrorIs(t, err, client.ErrCancelled)
			require.ErrorIs(t, err, client.ErrStaleToken)
			s.expect(1, 0) // the slot of task 1
			if reports {
				require.Len(t, got, 1)
				assert.Same(t, received, <-got)
			}
		})
	}
}

// A real server reports a cancelled task to the session that has it, and refuses its settlement in
// every form.
func TestAWorkerLearnsThatItsTaskIsCancelled(t *testing.T) {
	ctx := bounded(t)
	c, admin := realServerWithAdmin(t)
	enqueue(ctx, t, c, 3)
	config := client.WorkerConfig{Queues: []string{"q"}, Slots: 3, Lease: time.Hour}
	got := cancelled(&config)
	w, err := c.Worker(ctx, config)
	require.NoError(t, err)
	first := receive(ctx, t, w)
	require.Eventually(t, func() bool {
		out, err := admin.ListTasks(ctx, &adminpb.ListTasksRequest{Queue: "q", State: queuepb.TaskState_TASK_STATE_LEASED})
		return err == nil && len(out.GetTasks()) == 3
	}, patience, time.Millisecond)
	out, err := admin.DeleteQueue(ctx, &adminpb.DeleteQueueRequest{Queue: "q", Force: true})
	require.NoError(t, err)
	assert.EqualValues(t, 3, out.GetRemoved())
	assert.Same(t, first, <-got)

	for _, settle := range []func() error{
		func() error { return w.Extend(ctx, first, time.Hour) },
		func() error { return w.Fail(ctx, first, "oops", 0) },
		func() error { return w.Release(ctx, first, 0) },
		func() error { return w.Complete(ctx, first) },
	} {
		require.ErrorIs(t, settle(), client.ErrCancelled)
	}
	unary, err := c.UnaryWorker(client.UnaryWorkerConfig{Queues: []string{"q"}, Tasks: 1})
	require.NoError(t, err)
	require.ErrorIs(t, unary.Complete(ctx, []*queuepb.Task{first})[0], client.ErrCancelled)

	// All slots are free again.
	enqueue(ctx, t, c, 3)
	for range 3 {
		require.NoError(t, w.Complete(ctx, receive(ctx, t, w)))
	}
	assert.Empty(t, got)
	assert.Equal(t, client.WorkerStats{}, w.Stats())
	require.NoError(t, w.Close(ctx))
}
