package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// slotsMax is how many tasks a worker session may hold: the server's limit of credits.
const slotsMax = 1 << 16

// workFramesMax is how many frames of a worker session are on their way at once. It is more than producers have:
// where both are busy, finishing tasks goes before making more of them.
const workFramesMax = 3

// WorkerConfig says what a worker session takes.
type WorkerConfig struct {
	Tenant string   // "" means "default"
	Queues []string // to draw from
	// Weights says how the queues share the slots while all have ready tasks: one weight, 1 to 100, for each queue, or
	// none for equal shares.
	Weights []uint32
	Slots   int           // how many tasks the session holds, leased and not settled, at most; 1 to 65,536
	Lease   time.Duration // 0: each task's own, or the server's default
}

// Worker is a session that claims and settles over one stream. It is safe for concurrent use.
type Worker struct {
	api     queuepb.QueueServiceClient
	tenant  string
	stream  grpc.BidiStreamingClient[queuepb.WorkRequest, queuepb.WorkResponse]
	cancel  context.CancelFunc
	batcher *batcher[*queuepb.Task]
	tasks   arrivals
	ended   chan struct{}
	closing atomic.Bool

	slots int32
	freed atomic.Int32 // slots that were settled and not granted to the server again
	held  held
}

// Worker opens a session. ctx bounds its life.
func (c *Client) Worker(ctx context.Context, config WorkerConfig) (*Worker, error) {
	if config.Slots < 1 || config.Slots > slotsMax {
		return nil, fmt.Errorf("slots: %w: %d: pass 1 to %d", ErrInvalidArgument, config.Slots, slotsMax)
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.api.Work(ctx)
	if err == nil {
		err = stream.Send(&queuepb.WorkRequest{
			Open: &queuepb.WorkOpen{
				Tenant: config.Tenant, Queues: config.Queues, Weights: config.Weights, LeaseMs: uint64(config.Lease.Milliseconds()),
			},
			Credits: uint32(config.Slots),
		})
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("open a worker session: %w", err)
	}
	w := &Worker{
		api: c.api, tenant: config.Tenant, stream: stream, cancel: cancel, slots: int32(config.Slots),
		tasks: arrivals{max: config.Slots}, ended: make(chan struct{}),
	}
	w.batcher = (&batcher[*queuepb.Task]{
		framesMax: workFramesMax, encode: encodeSettlements, answered: w.settled,
		begin: func(f *wire.Frame, number uint64) {
			if n := w.freed.Swap(0); n > 0 {
				f.Uint(wire.WorkRequestCredits, uint64(n))
			}
			f.Uint(wire.WorkRequestFrame, number)
		},
		send: func(f *wire.Frame) error { return stream.SendMsg(f) },
	}).setUp()
	w.tasks.over = w.batcher.over
	go w.sendAll()
	go w.receive()
	return w, nil
}

// Receive waits for a leased task. It returns ErrClosed after Close, and what ended the session if it broke.
func (w *Worker) Receive(ctx context.Context) (*queuepb.Task, error) {
	if w.closing.Load() { // a task could not be settled any more
		return nil, ErrClosed
	}
	return w.tasks.receive(ctx)
}

// TryReceive returns a leased task if one is at hand.
func (w *Worker) TryReceive() (*queuepb.Task, bool) { return w.tasks.tryReceive() }

// settling says how the items of a call are settled.
type settling struct {
	action  queuepb.SettleAction
	result  []byte
	error   string
	delayMs uint64
	leaseMs uint64
}

// Complete settles a task whose work is done. The error is as for Producer.Enqueue; ErrStaleToken
// says that the lease had expired.
func (w *Worker) Complete(ctx context.Context, t *queuepb.Task) error {
	return w.settleOne(ctx, t, settling{action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE})
}

// CompleteWith is Complete with what came of the task, at most 256 KiB unless the server says otherwise. The server
// keeps it if the task, or its queue, has a result retention. The result must not change until the call has returned.
func (w *Worker) CompleteWith(ctx context.Context, t *queuepb.Task, result []byte) error {
	return w.settleOne(ctx, t, settling{action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE, result: result})
}

// CompleteBatch settles up to 1,000 tasks in one frame; errs and err are as for Producer.EnqueueBatch.
func (w *Worker) CompleteBatch(ctx context.Context, tasks []*queuepb.Task) (errs []error, err error) {
	if len(tasks) == 0 || len(tasks) > frameTasksMax {
		return nil, fmt.Errorf("tasks: %w: a batch of %d: pass 1 to %d", ErrInvalidArgument, len(tasks), frameTasksMax)
	}
	c := w.batcher.call()
	c.items, c.how = tasks, settling{action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE}
	return w.settle(ctx, c)
}

// Fail settles a task whose work failed. It is retried after delay, or after the server's backoff if
// delay is 0, and is dead once its attempts are used up.
func (w *Worker) Fail(ctx context.Context, t *queuepb.Task, reason string, delay time.Duration) error {
	return w.settleOne(ctx, t, settling{
		action: queuepb.SettleAction_SETTLE_ACTION_FAIL, error: sendable(reason), delayMs: uint64(delay.Milliseconds()),
	})
}

// Release gives a task back without using up an attempt; it is ready again after delay.
func (w *Worker) Release(ctx context.Context, t *queuepb.Task, delay time.Duration) error {
	return w.settleOne(ctx, t, settling{
		action: queuepb.SettleAction_SETTLE_ACTION_RELEASE, delayMs: uint64(delay.Milliseconds()),
	})
}

// Extend lets the lease of a task hold for lease from now.
func (w *Worker) Extend(ctx context.Context, t *queuepb.Task, lease time.Duration) error {
	return w.settleOne(ctx, t, settling{
		action: queuepb.SettleAction_SETTLE_ACTION_EXTEND, leaseMs: uint64(lease.Milliseconds()),
	})
}

func (w *Worker) settleOne(ctx context.Context, t *queuepb.Task, how settling) error {
	c := w.batcher.single(t, len(how.error)+len(how.result))
	c.how = how
	errs, err := w.settle(ctx, c)
	if err == nil && errs != nil {
		return errs[0]
	}
	return err
}

// settle carries a call out. An unknown outcome frees the slots too: a slot that nobody settles again would be
// lost to the session.
func (w *Worker) settle(ctx context.Context, c *call[*queuepb.Task]) ([]error, error) {
	defer w.batcher.keep(c)
	if err := w.batcher.do(ctx, c); err != nil {
		if !errors.Is(err, ErrInvalidArgument) {
			w.settled([]*call[*queuepb.Task]{c})
		}
		return nil, err
	}
	return c.errs, nil
}

// encodeSettlements adds a call's settlements to a frame.
func encodeSettlements(f *wire.Frame, c *call[*queuepb.Task]) error {
	m := queuepb.Settlement{
		Action: c.how.action, Result: c.how.result, Error: c.how.error, DelayMs: c.how.delayMs, LeaseMs: c.how.leaseMs,
	}
	for _, t := range c.items {
		m.Id, m.Token = sendable(t.GetId()), t.GetToken()
		if err := f.Message(wire.WorkRequestSettlements, &m); err != nil {
			return err
		}
	}
	return nil
}

// settled frees the slots of calls that were answered, or whose outcome is unknown.
func (w *Worker) settled(calls []*call[*queuepb.Task]) {
	n := int32(0)
	w.held.mu.Lock()
	for _, c := range calls {
		n += w.free(c)
	}
	w.held.mu.Unlock()
	w.grant(n)
}

// free ends the occupation of slots and returns how many ended: a task that is settled twice, say because
// the first outcome was unknown, has freed its slot once. A settlement that the server refused for what it says
// frees none: the lease still holds, and the task may be settled again. The caller holds held.mu.
func (w *Worker) free(c *call[*queuepb.Task]) (n int32) {
	if c.how.action == queuepb.SettleAction_SETTLE_ACTION_EXTEND {
		return 0
	}
	for i, t := range c.items {
		if c.errs != nil && c.errs[i] != nil && !errors.Is(c.errs[i], ErrStaleToken) && !errors.Is(c.errs[i], ErrNotFound) {
			continue
		}
		if w.held.remove(t.GetId(), t.GetToken()) {
			n++
		}
	}
	return n
}

// grant gives n slots to the server again. Credits ride on the frames of settlements; they go alone only when
// the server runs short of them.
func (w *Worker) grant(n int32) {
	if w.freed.Add(n) >= max(1, w.slots/4) {
		w.batcher.flush()
	}
}

func (w *Worker) sendAll() {
	err := w.batcher.run()
	if err == nil {
		err = w.stream.CloseSend()
	}
	if err != nil {
		w.batcher.fail(unknownOutcome(err))
		w.cancel()
	}
}

func (w *Worker) receive() {
	defer close(w.ended)
	defer func() { w.tasks.end(w.batcher.cause()) }()
	defer w.cancel()
	var in queuepb.WorkResponse
	for {
		if err := w.stream.RecvMsg(&in); err != nil {
			w.batcher.fail(endOfSession(err))
			return
		}
		for _, a := range in.GetAnswers() {
			w.batcher.resolve(a.GetFrame(), nil, a.GetErrors())
		}
		if tasks := in.GetTasks(); len(tasks) > 0 {
			w.held.add(tasks)
			if !w.tasks.put(tasks) {
				w.batcher.fail(unknownOutcome(errors.New("the server pushed more tasks than it was granted")))
				return
			}
			clear(tasks) // they are their receivers'
		}
	}
}

// Close lets the calls under way end, closes the session, and gives the tasks that nobody received back
// to the server. Tasks that were received and not settled come back when their leases expire. When ctx ends
// first, it cuts the session.
func (w *Worker) Close(ctx context.Context) error {
	w.closing.Store(true)
	w.tasks.end(ErrClosed)
	w.batcher.close()
	if err := waitEnded(ctx, w.ended, w.cancel); err != nil {
		return err
	}
	return w.releaseUnreceived(ctx)
}

// releaseUnreceived comes after the session's end: before it, the server could push what was just given
// back to the same session again.
func (w *Worker) releaseUnreceived(ctx context.Context) error {
	if !errors.Is(w.batcher.cause(), ErrClosed) {
		return nil // the session broke: the leases expire in their time
	}
	for {
		var releases []*queuepb.Releasing
		for len(releases) < frameTasksMax {
			t, ok := w.TryReceive()
			if !ok {
				break
			}
			releases = append(releases, &queuepb.Releasing{Id: t.GetId(), Token: t.GetToken()})
		}
		if len(releases) == 0 {
			return nil
		}
		if _, err := w.api.Release(ctx, &queuepb.ReleaseRequest{Tenant: w.tenant, Releases: releases}); err != nil {
			return fmt.Errorf("give back the tasks that nobody received, their leases expire in their time: %w", err)
		}
	}
}
