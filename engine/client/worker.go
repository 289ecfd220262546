package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// slotsMax is the maximum number of slots of a worker session. It is the server's limit of credits.
const slotsMax = 1 << 16

// workFramesMax limits the number of unanswered frames of a worker link. It exceeds the limit for
// producers, so that finishing tasks has priority over adding tasks when both are busy.
const workFramesMax = 6

// WorkerConfig configures a worker session.
type WorkerConfig struct {
	Tenant string   // "" means "default"
	Queues []string // the queues to claim from
	// Weights are the relative shares of the queues among the slots while all queues have ready
	// tasks. There is one weight from 1 to 100 for each queue; no weights mean equal shares.
	Weights []uint32
	Slots   int           // maximum number of leased, unsettled tasks; 1 to 65,536. See Worker
	Lease   time.Duration // 0: each task's lease duration, or the server's default
	// OnCancel, if not nil, is called once for each received, unsettled task whose cancellation the
	// server reports. See Worker.
	OnCancel func(task *queuepb.Task)
}

// Worker is a session that claims and settles tasks over a stream. In a cluster it has a stream to
// each node that leads, and these streams share the slots evenly. It is safe for concurrent use.
//
// A task can be settled until its lease ends, even after a restart of the server, and whichever
// node of a cluster leads by then. If a settlement was refused or its outcome is unknown, the
// session repeats it, until the call's context ends or the time of WithRetryMax has passed. A nil
// error means that the server has confirmed the settlement. If a repetition finds that the lease
// has ended, the call returns ErrUnknownOutcome: either an earlier try has settled the task, or the
// lease has expired, and the server does not remember which.
//
// If a task is not settled in time, its lease ends on the client too: its slot becomes free for
// another task, Stats counts the lease, and Receive no longer returns the task. The client measures
// the lease with its own monotonic clock. It starts at the arrival of the task, or of the answer to
// the last extension, so the server has ended the lease by then. If the task is settled later, the
// session still sends the settlement, because the server decides. If the server refuses it, the
// error is ErrLeaseExpired.
//
// If a task is cancelled, the server reports it to the session that holds the lease. If Receive has
// not returned the task, it no longer does, and the task's slot becomes free. Otherwise the session
// calls OnCancel, with the pointer that Receive returns; the call may precede the return of Receive,
// or overlap with a settlement. The slot becomes free when the caller settles the task, which
// returns ErrCancelled, or when the lease expires. OnCancel runs on the goroutine that receives from
// the server. It must not block and must not call methods of the session; in a cluster there is such
// a goroutine for each node. The server does not report every cancellation: not if the stream that
// delivered the task has ended since, for example at a change of the leader, and not if the client
// reads too slowly. A settlement or extension of the task is refused in any case.
type Worker struct {
	client *Client
	config WorkerConfig
	links  *follower[*workLink]
	slots  slots
	tasks  arrivals
	// The keeper owns the following fields.
	turned time.Time
	turn   int // if there are fewer slots than nodes, determines which nodes have a slot
}

// Worker opens a session. The session ends when ctx ends. Worker waits for the server, or for a
// leader, for at most the time of WithRetryMax.
func (c *Client) Worker(ctx context.Context, config WorkerConfig) (*Worker, error) {
	if config.Slots < 1 || config.Slots > slotsMax {
		return nil, fmt.Errorf("slots: %w: %d: pass 1 to %d", ErrInvalidArgument, config.Slots, slotsMax)
	}
	w := &Worker{
		client: c, config: config, tasks: arrivals{max: config.Slots}, slots: slots{total: int32(config.Slots), spare: int32(config.Slots)},
		links: newFollower[*workLink](ctx, c),
	}
	w.slots.reports = config.OnCancel != nil
	w.slots.expiry.began, w.slots.expiry.drop = time.Now(), w.tasks.drop
	w.tasks.over = w.links.ctx.Done()
	w.links.open, w.links.balance, w.links.starved, w.links.ended = w.open, w.balance, w.tasks.interrupt, w.end
	if err := w.links.start(); err != nil {
		return nil, fmt.Errorf("open a worker session: %w", err)
	}
	return w, nil
}

func (w *Worker) open(ctx context.Context, to leader, all []leader) (*workLink, error) {
	l := &workLink{slots: &w.slots}
	core, stream, err := openLink[*queuepb.Task](ctx, w.client, to, func(ctx context.Context, at *peer) (grpc.BidiStreamingClient[queuepb.WorkRequest, queuepb.WorkResponse], error) {
		return at.api.Work(ctx)
	})
	if err != nil {
		return nil, err
	}
	l.link = core
	l.batcher = (&batcher[*queuepb.Task]{
		framesMax: workFramesMax, encode: encodeSettlements, answered: w.slots.settled, send: l.send,
		begin: func(f *wire.Frame, number uint64) {
			if n := l.freed.Swap(0); n > 0 {
				f.Uint(wire.WorkRequestCredits, uint64(n))
			}
			f.Uint(wire.WorkRequestFrame, number)
		},
	}).setUp()
	credits := w.slots.admit(l, w.share(to, all))
	if err := stream.Send(&queuepb.WorkRequest{
		Open: &queuepb.WorkOpen{
			Tenant: w.config.Tenant, Queues: w.config.Queues, Weights: w.config.Weights, LeaseMs: uint64(w.config.Lease.Milliseconds()),
		},
		Credits: uint32(credits),
	}); err != nil && !errors.Is(err, io.EOF) { // for io.EOF, the receiver reports the reason
		w.slots.leave(l)
		l.abandon()
		return nil, fmt.Errorf("%s: %w", l.at(), err)
	}
	l.start(func() error { return w.receive(l, stream) }, func() {
		w.slots.leave(l)
		w.links.linkEnded()
	})
	return l, nil
}

func (w *Worker) receive(l *workLink, stream grpc.BidiStreamingClient[queuepb.WorkRequest, queuepb.WorkResponse]) error {
	var in queuepb.WorkResponse
	for {
		if err := stream.RecvMsg(&in); err != nil {
			return linkEnd(err)
		}
		for _, a := range in.GetAnswers() {
			l.batcher.resolve(a.GetFrame(), nil, a.GetErrors())
		}
		if tasks := in.GetTasks(); len(tasks) > 0 {
			w.slots.arrived(l, tasks, in.GetNowMs())
			if !w.tasks.put(tasks) {
				return errors.New("the server pushed more tasks than it had credits")
			}
			clear(tasks) // the receivers own the tasks now
		}
		if leases := in.GetCancelled(); len(leases) > 0 {
			for _, t := range w.slots.cancelled(leases) {
				w.config.OnCancel(t)
			}
		}
	}
}

func (w *Worker) end(why error) {
	w.tasks.end(why)
	w.slots.stopExpiry()
}

func (w *Worker) share(of leader, all []leader) int32 {
	return shareOf(w.config.Slots, slices.IndexFunc(all, of.same), len(all), w.turn)
}

// balance updates the shares of the links. If there are fewer slots than nodes, the nodes get a
// slot in turn. balance retires a link whose slots another link needs, since the server cannot
// return credits.
func (w *Worker) balance(all []leader, links []*workLink) (again bool) {
	if w.config.Slots < len(all) && time.Since(w.turned) >= w.client.timing.balanceEvery {
		w.turn++
		w.turned = time.Now()
	}
	overfull := w.slots.setShares(func(l *workLink) int32 {
		if !slices.ContainsFunc(all, l.to.same) {
			return 0
		}
		return w.share(l.to, all)
	})
	if overfull != nil && slices.Contains(links, overfull) {
		w.links.retire(overfull)
	}
	return overfull != nil || w.config.Slots < len(all)
}

// Receive waits for a leased task, even while the server restarts. It returns ErrUnavailable after
// each period of WithRetryMax without a connection. It returns ErrClosed after Close. If the server
// refused the session or the session's context ended, it returns the cause.
func (w *Worker) Receive(ctx context.Context) (*queuepb.Task, error) {
	if w.links.closing() { // the caller could no longer settle a task
		return nil, ErrClosed
	}
	return w.tasks.receive(ctx)
}

// TryReceive returns a leased task if one has arrived.
func (w *Worker) TryReceive() (*queuepb.Task, bool) { return w.tasks.tryReceive() }

// settling describes how the items of a call are settled.
type settling struct {
	action  queuepb.SettleAction
	result  []byte
	error   string
	delayMs uint64
	leaseMs uint64

	permanent bool
}

func (s *settling) bytes() int { return len(s.error) + len(s.result) }

// Complete settles a task whose work succeeded. It returns the same errors as Producer.Enqueue, and
// ErrStaleToken if the lease has ended: it has expired, or the task was already settled. The error
// also matches ErrLeaseExpired if the session knows that the lease had expired.
func (w *Worker) Complete(ctx context.Context, t *queuepb.Task) error {
	return w.settleOne(ctx, t, settling{action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE})
}

// CompleteWith is like Complete, but also stores the task's result. With the server's default
// limit, the result may have at most 256 KiB. The server retains it if the task, or its queue, has
// a result retention. The result must not be changed until the call has returned.
func (w *Worker) CompleteWith(ctx context.Context, t *queuepb.Task, result []byte) error {
	return w.settleOne(ctx, t, settling{action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE, result: result})
}

// CompleteBatch completes up to 1,000 tasks in one frame. It returns errs and err in the same way
// as Producer.EnqueueBatch.
func (w *Worker) CompleteBatch(ctx context.Context, tasks []*queuepb.Task) (errs []error, err error) {
	if len(tasks) == 0 || len(tasks) > frameTasksMax {
		return nil, fmt.Errorf("tasks: %w: a batch of %d: pass 1 to %d", ErrInvalidArgument, len(tasks), frameTasksMax)
	}
	return w.settle(ctx, tasks, settling{action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE})
}

// Fail settles a task whose work failed. The server retries the task after delay, or after the
// task's backoff if delay is 0. Once its attempts are used up, the task is dead.
func (w *Worker) Fail(ctx context.Context, t *queuepb.Task, reason string, delay time.Duration) error {
	return w.settleOne(ctx, t, settling{
		action: queuepb.SettleAction_SETTLE_ACTION_FAIL, error: sendable(reason), delayMs: uint64(delay.Milliseconds()),
	})
}

// FailPermanently settles a task whose work failed and cannot succeed: the task is dead at once,
// whatever attempts it has left.
func (w *Worker) FailPermanently(ctx context.Context, t *queuepb.Task, reason string) error {
	return w.settleOne(ctx, t, settling{action: queuepb.SettleAction_SETTLE_ACTION_FAIL, error: sendable(reason), permanent: true})
}

// Release returns a task to its queue without using up an attempt. The task is ready again after
// delay.
func (w *Worker) Release(ctx context.Context, t *queuepb.Task, delay time.Duration) error {
	return w.settleOne(ctx, t, settling{
		action: queuepb.SettleAction_SETTLE_ACTION_RELEASE, delayMs: uint64(delay.Milliseconds()),
	})
}

// Extend makes a task's lease end at the current time plus lease.
func (w *Worker) Extend(ctx context.Context, t *queuepb.Task, lease time.Duration) error {
	return w.settleOne(ctx, t, settling{
		action: queuepb.SettleAction_SETTLE_ACTION_EXTEND, leaseMs: uint64(lease.Milliseconds()),
	})
}

// ExtendWithNote is like Extend, but also replaces the task's note, a text of at most 1 KiB about its
// progress. GetTask and the lists of the admin service return it. The server removes the note when
// the task is done, cancelled or dead, and keeps it while the task waits for its next attempt. The
// note "" keeps the old one.
func (w *Worker) ExtendWithNote(ctx context.Context, t *queuepb.Task, lease time.Duration, note string) error {
	return w.settleOne(ctx, t, settling{
		action: queuepb.SettleAction_SETTLE_ACTION_EXTEND, leaseMs: uint64(lease.Milliseconds()), error: sendable(note),
	})
}

// Close waits for active calls, closes the session, and releases the tasks that Receive has not
// returned. Tasks that were received but not settled are ready again when their leases expire. If
// ctx ends first, Close ends the session immediately.
func (w *Worker) Close(ctx context.Context) error {
	w.links.markClosing()
	w.tasks.end(ErrClosed)
	defer w.slots.stopExpiry()
	if err := w.links.close(ctx); err != nil {
		return err
	}
	return w.releaseUnreceived(ctx)
}

// releaseUnreceived releases the tasks that Receive has not returned. It must run after the session
// has ended; otherwise the server could push the released tasks to the same session again.
func (w *Worker) releaseUnreceived(ctx context.Context) error {
	if w.links.broke() {
		return nil // the session broke: the leases expire
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
		if _, err := w.client.api.Release(ctx, &queuepb.ReleaseRequest{Tenant: w.config.Tenant, Releases: releases}); err != nil {
			return fmt.Errorf("release the tasks that were not received; they are ready again when their leases expire: %w", err)
		}
	}
}
