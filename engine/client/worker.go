package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/queuepb"
)

// slotsMax is how many tasks a worker session may hold: the server's limit of credits.
const slotsMax = 1 << 16

// WorkerConfig says what a worker session takes.
type WorkerConfig struct {
	Tenant string        // "" means "default"
	Queues []string      // to draw from, in turn
	Slots  int           // how many tasks the session holds, leased and not settled, at most; 1 to 65,536
	Lease  time.Duration // 0: each task's own, or the server's default
}

// Worker is a session that claims and settles over one stream. It is safe for concurrent use.
type Worker struct {
	api     queuepb.QueueServiceClient
	tenant  string
	stream  grpc.BidiStreamingClient[queuepb.WorkRequest, queuepb.WorkResponse]
	cancel  context.CancelFunc
	batcher *batcher[*queuepb.Settlement]
	tasks   chan *queuepb.Task // pushed and not received; has room for all slots
	ended   chan struct{}

	closing   chan struct{}
	closeOnce sync.Once

	slots int32
	freed atomic.Int32 // slots that were settled and not granted to the server again

	mu   sync.Mutex
	held map[uint64]struct{} // the tokens of tasks that occupy a slot
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
				Tenant: config.Tenant, Queues: config.Queues, LeaseMs: uint64(config.Lease.Milliseconds()),
			},
			Credits: uint32(config.Slots),
		})
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("open a worker session: %w", err)
	}
	w := &Worker{
		api: c.api, tenant: config.Tenant, stream: stream, cancel: cancel, held: map[uint64]struct{}{}, slots: int32(config.Slots), tasks: make(chan *queuepb.Task, config.Slots),
		ended: make(chan struct{}), closing: make(chan struct{}),
	}
	w.batcher = newBatcher(func(frame uint64, settlements []*queuepb.Settlement) error {
		return stream.Send(&queuepb.WorkRequest{Credits: uint32(w.freed.Swap(0)), Frame: frame, Settlements: settlements})
	})
	go w.sendAll()
	go w.receive()
	return w, nil
}

// Receive waits for a leased task. It returns ErrClosed after Close, and what ended the session if it broke.
func (w *Worker) Receive(ctx context.Context) (*queuepb.Task, error) {
	select {
	case <-w.closing: // a task could not be settled any more
		return nil, ErrClosed
	default:
	}
	select {
	case t := <-w.tasks:
		return t, nil
	default:
	}
	select {
	case t := <-w.tasks:
		return t, nil
	case <-w.closing:
		return nil, ErrClosed
	case <-w.ended:
		return nil, w.batcher.cause()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TryReceive returns a leased task if one is at hand.
func (w *Worker) TryReceive() (*queuepb.Task, bool) {
	select {
	case t := <-w.tasks:
		return t, true
	default:
		return nil, false
	}
}

// Complete settles a task whose work is done. The error is as for Producer.Enqueue; ErrStaleToken
// says that the lease had expired.
func (w *Worker) Complete(ctx context.Context, t *queuepb.Task) error {
	return w.settleOne(ctx, &queuepb.Settlement{Id: t.GetId(), Token: t.GetToken(), Action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE})
}

// CompleteBatch settles up to 1,000 tasks in one frame; errs and err are as for Producer.EnqueueBatch.
func (w *Worker) CompleteBatch(ctx context.Context, tasks []*queuepb.Task) (errs []error, err error) {
	if len(tasks) == 0 || len(tasks) > frameTasksMax {
		return nil, fmt.Errorf("tasks: %w: a batch of %d: pass 1 to %d", ErrInvalidArgument, len(tasks), frameTasksMax)
	}
	settlements := make([]*queuepb.Settlement, len(tasks))
	for i, t := range tasks {
		settlements[i] = &queuepb.Settlement{Id: t.GetId(), Token: t.GetToken(), Action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE}
	}
	return w.settle(ctx, settlements)
}

// Fail settles a task whose work failed. It is retried after delay, or after the server's backoff if
// delay is 0, and is dead once its attempts are used up.
func (w *Worker) Fail(ctx context.Context, t *queuepb.Task, reason string, delay time.Duration) error {
	return w.settleOne(ctx, &queuepb.Settlement{
		Id: t.GetId(), Token: t.GetToken(),
		Action: queuepb.SettleAction_SETTLE_ACTION_FAIL, Error: sendable(reason), DelayMs: uint64(delay.Milliseconds()),
	})
}

// Release gives a task back without using up an attempt; it is ready again after delay.
func (w *Worker) Release(ctx context.Context, t *queuepb.Task, delay time.Duration) error {
	return w.settleOne(ctx, &queuepb.Settlement{
		Id: t.GetId(), Token: t.GetToken(),
		Action: queuepb.SettleAction_SETTLE_ACTION_RELEASE, DelayMs: uint64(delay.Milliseconds()),
	})
}

// Extend lets the lease of a task hold for lease from now.
func (w *Worker) Extend(ctx context.Context, t *queuepb.Task, lease time.Duration) error {
	_, errs, err := w.batcher.do(ctx, []*queuepb.Settlement{{
		Id: t.GetId(), Token: t.GetToken(),
		Action: queuepb.SettleAction_SETTLE_ACTION_EXTEND, LeaseMs: uint64(lease.Milliseconds()),
	}}, 0)
	return first(errs, err)
}

func (w *Worker) settleOne(ctx context.Context, s *queuepb.Settlement) error {
	errs, err := w.settle(ctx, []*queuepb.Settlement{s})
	return first(errs, err)
}

func first(errs []error, err error) error {
	if err == nil && errs != nil {
		return errs[0]
	}
	return err
}

// settle ends leases. Their slots are free afterwards, unless the server refused the settlement for what it
// says: then the lease still holds, and the task may be settled again. An unknown outcome frees the slot too:
// a slot that nobody settles again would be lost to the session.
func (w *Worker) settle(ctx context.Context, settlements []*queuepb.Settlement) ([]error, error) {
	bytes := 0
	for _, s := range settlements {
		bytes += len(s.GetError())
	}
	_, errs, err := w.batcher.do(ctx, settlements, bytes)
	// Credits ride on the frames of settlements. They go alone only when the server runs short of them.
	if w.freed.Add(w.free(settlements, errs, err)) >= max(1, w.slots/4) {
		w.batcher.flush()
	}
	return errs, err
}

// free ends the occupation of slots and returns how many ended: a task that is settled twice, say because
// the first outcome was unknown, has freed its slot once.
func (w *Worker) free(settlements []*queuepb.Settlement, errs []error, err error) (n int32) {
	if errors.Is(err, ErrInvalidArgument) {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range settlements {
		if errs != nil && errs[i] != nil && !errors.Is(errs[i], ErrStaleToken) && !errors.Is(errs[i], ErrNotFound) {
			continue
		}
		if _, ok := w.held[s.GetToken()]; ok {
			delete(w.held, s.GetToken())
			n++
		}
	}
	return n
}

func (w *Worker) hold(tasks []*queuepb.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range tasks {
		w.held[t.GetToken()] = struct{}{}
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
	defer w.cancel()
	for {
		in, err := w.stream.Recv()
		if err != nil {
			w.batcher.fail(endOfSession(err))
			return
		}
		for _, a := range in.GetAnswers() {
			w.batcher.resolve(a.GetFrame(), nil, a.GetErrors())
		}
		w.hold(in.GetTasks())
		for _, t := range in.GetTasks() {
			select {
			case w.tasks <- t:
			default:
				w.batcher.fail(unknownOutcome(errors.New("the server pushed more tasks than it was granted")))
				return
			}
		}
	}
}

// Close lets the calls under way end, closes the session, and gives the tasks that nobody received back
// to the server. Tasks that were received and not settled come back when their leases expire. When ctx ends
// first, it cuts the session.
func (w *Worker) Close(ctx context.Context) error {
	w.closeOnce.Do(func() { close(w.closing) })
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
