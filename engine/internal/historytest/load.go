package historytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// reopenAfter is the pause before a driver replaces a broken session.
const reopenAfter = 20 * time.Millisecond

// Load makes clients use a server through sessions and records their operations. Produce and Work
// are its drivers. Its fields must not be changed once a driver runs. Its methods are safe for
// concurrent use.
type Load struct {
	Recorder *Recorder
	Client   *client.Client
	Queues   []string
	Lease    time.Duration
	// Every is the pause after each task of a producer; 0 means no pause.
	Every time.Duration
	// Untidy makes workers fail, release and extend some tasks, and settle some tasks too late.
	// Otherwise workers complete all tasks in time.
	Untidy bool
	// Punctual makes workers settle every task in time.
	Punctual bool

	clients  atomic.Int64
	sessions atomic.Int64 // number of sessions that were opened
}

// maxAttempts is so large that no task runs out of attempts in a test.
const maxAttempts = 1_000

// Produce enqueues one task after another until stop is closed or ctx ends. ctx also limits each
// call. If keyed is true, each task has an idempotency key.
func (l *Load) Produce(ctx context.Context, stop <-chan struct{}, keyed bool) {
	me := int(l.clients.Add(1))
	n := 0
	l.sessionsOf(ctx, stop, func() error {
		p, err := l.Client.Producer(ctx, "")
		if err != nil {
			return err
		}
		defer closeSoon(p.Close)
		for !closed(ctx, stop) {
			n++
			payload := fmt.Sprintf("%d/%d", me, n)
			t := client.Task{Queue: l.Queues[n%len(l.Queues)], Payload: []byte(payload), MaxAttempts: maxAttempts}
			if keyed {
				t.Key = payload
			}
			returned := l.Recorder.Call(Op{Client: me, Kind: Enqueue, Queue: t.Queue, Payload: payload})
			id, err := p.Enqueue(ctx, t)
			returned(func(o *Op) { o.ID, o.Outcome, o.Note = id, of(err), text(err) })
			if of(err) == Unknown {
				return err
			}
			pause(ctx, stop, l.Every)
		}
		return nil
	})
}

// Work claims and settles tasks until stop is closed or ctx ends. Its goroutines share one session.
// If the session breaks, Work replaces it.
func (l *Load) Work(ctx context.Context, stop <-chan struct{}, goroutines int) {
	me := int(l.clients.Add(1))
	l.sessionsOf(ctx, stop, func() error {
		w, err := l.Client.Worker(ctx, client.WorkerConfig{Queues: l.Queues, Slots: 2 * goroutines, Lease: l.Lease})
		if err != nil {
			return err
		}
		defer closeSoon(w.Close)
		receiving, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := make(chan error, goroutines)
		for range goroutines {
			go func() { ended <- l.workOn(ctx, receiving, w, me) }()
		}
		var first error
		for range goroutines {
			select {
			case err := <-ended:
				first = errors.Join(first, err)
				cancel()
			case <-stop:
				cancel()
				first = errors.Join(first, <-ended)
			}
		}
		if closed(ctx, stop) {
			return nil
		}
		return first
	})
}

// workOn receives and settles tasks until the session breaks or the context receiving ends.
func (l *Load) workOn(ctx, receiving context.Context, w *client.Worker, me int) error {
	for {
		returned := l.Recorder.Call(Op{Client: me, Kind: Claim, LeaseMs: l.Lease.Milliseconds()})
		t, err := w.Receive(receiving)
		if err != nil {
			return err
		}
		returned(func(o *Op) { o.Outcome = OK; o.claimed(t) })
		pick := 1000
		if l.Untidy {
			pick = rand.IntN(1000)
		}
		switch {
		case pick < 5 && !l.Punctual: // settle it after the lease has ended
			pause(receiving, nil, l.Lease+l.Lease/4)
			l.settle(me, t, Complete, func() error { return w.Complete(ctx, t) })
		case pick < 40:
			l.settle(me, t, Fail, func() error { return w.Fail(ctx, t, "on purpose", time.Millisecond) })
		case pick < 70:
			l.settle(me, t, Release, func() error { return w.Release(ctx, t, 0) })
		case pick < 110:
			l.settle(me, t, Extend, func() error { return w.Extend(ctx, t, l.Lease) })
			fallthrough
		default:
			l.settle(me, t, Complete, func() error { return w.Complete(ctx, t) })
		}
	}
}

func (l *Load) settle(me int, t *queuepb.Task, kind Kind, call func() error) {
	o := settlement(me, t, kind)
	if kind == Extend {
		o.LeaseMs = l.Lease.Milliseconds()
	}
	returned := l.Recorder.Call(o)
	err := call()
	returned(func(o *Op) { o.Outcome, o.Note = of(err), text(err) })
}

func settlement(me int, t *queuepb.Task, kind Kind) Op {
	return Op{
		Client: me, Kind: kind, Queue: t.GetQueue(), Payload: string(t.GetPayload()), ID: t.GetId(), Token: t.GetToken(), Attempt: t.GetAttempt(),
	}
}

func (o *Op) claimed(t *queuepb.Task) {
	o.Queue, o.Payload, o.ID = t.GetQueue(), string(t.GetPayload()), t.GetId()
	o.Token, o.Attempt, o.ExpiresAtMs = t.GetToken(), t.GetAttempt(), t.GetLeaseExpiresAtMs()
}

// Sessions returns the number of sessions that were opened. If it exceeds the number of drivers,
// sessions have broken.
func (l *Load) Sessions() int64 { return l.sessions.Load() }

func (l *Load) sessionsOf(ctx context.Context, stop <-chan struct{}, use func() error) {
	for !closed(ctx, stop) {
		l.sessions.Add(1)
		if use() != nil {
			pause(ctx, stop, reopenAfter)
		}
	}
}

// closeSoon closes a session, but waits only for a limited time, because the session's server may
// be unreachable.
func closeSoon(closeSession func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = closeSession(ctx) // the caller already knows the error of a broken session
}

func closed(ctx context.Context, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

func pause(ctx context.Context, stop <-chan struct{}, d time.Duration) {
	if d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
	case <-ctx.Done():
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
