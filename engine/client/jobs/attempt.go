package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// attempt is a task with a running handler.
type attempt struct {
	*run

	task *queuepb.Task
	end  context.CancelCauseFunc // ends the handler's context

	settled bool   // true once the task is settled or abandoned; guarded by run.mu
	result  []byte // for the completion; guarded by run.mu
	note    string // not sent yet; guarded by run.mu

	noted chan struct{} // has an element if the note is new; of capacity 1
	lease time.Duration // of extensions; keepLease sets it
}

// start starts the handler of a task. The caller has put an element into slots.
func (r *run) start(t *queuepb.Task) {
	a := &attempt{run: r, task: t, noted: make(chan struct{}, 1)}
	ctx, end := context.WithCancelCause(r.handling)
	a.end = end
	r.mu.Lock()
	r.running[t] = a
	r.mu.Unlock()
	r.attempts.Go(func() {
		defer func() {
			r.mu.Lock()
			delete(r.running, t)
			r.mu.Unlock()
			<-r.slots
		}()
		defer end(nil)
		began := time.Now()
		err, cause := errGoexit, error(nil)
		defer func() { a.finish(err, cause, time.Since(began)) }()
		err, cause = a.handleTask(ctx)
	})
}

// errGoexit is the error of a handler that ended its goroutine.
var errGoexit = errors.New("the handler called runtime.Goexit")

// handleTask calls the handler. It returns the handler's error and the reason why the handler's
// context has ended, or nil if it has not.
func (a *attempt) handleTask(ctx context.Context) (err, cause error) {
	keeping, stop := context.WithCancel(a.settling)
	var keeper sync.WaitGroup
	keeper.Go(func() { a.keepLease(keeping) })
	defer keeper.Wait()
	defer stop()
	if d := a.Mux.of(a.task).timeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, ErrTimeout)
		defer cancel()
	}
	err = a.handle(context.WithValue(ctx, attemptKey{}, a), a.task)
	return err, context.Cause(ctx)
}

type attemptKey struct{}

// attemptOf returns the attempt of a handler's context, or nil if no worker calls the handler.
func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// Outcome is how an attempt ended.
type Outcome string

// The outcomes. After each of them except Lost, the server has confirmed what became of the task.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"    // the task is retried, or dead if its attempts are used up
	Dead      Outcome = "dead"      // Permanent
	Snoozed   Outcome = "snoozed"   // Snooze
	Released  Outcome = "released"  // because the worker stopped
	Cancelled Outcome = "cancelled" // the task was cancelled
	Lost      Outcome = "lost"      // the lease has ended, or the outcome is unknown
)

// Finish describes the end of an attempt.
type Finish struct {
	Task    *queuepb.Task
	Outcome Outcome
	Err     error // of the handler, or of the settlement if the outcome is Lost; nil if Completed
	Took    time.Duration
}

// finish settles the task.
func (a *attempt) finish(err, cause error, took time.Duration) {
	a.mu.Lock()
	abandoned := a.settled
	a.settled = true
	result := a.result
	a.mu.Unlock()
	if abandoned {
		return
	}
	// Settle the task even if its lease seems lost: the server decides, and the session frees the slot.
	outcome, s := decide(err, cause)
	if outcome == Completed {
		s.Result = result
	}
	a.sendNote(a.settling, s)
	failed := a.settle(a.settling, a.task, s)
	if refused := resultRefused(s, failed); refused != nil {
		err = refused
		outcome, s = decide(err, cause)
		failed = a.settle(a.settling, a.task, s)
	}
	switch {
	case failed == nil:
	case errors.Is(failed, ErrCancelled) || errors.Is(cause, ErrCancelled):
		outcome = Cancelled
	default:
		outcome, err = Lost, errors.Join(fmt.Errorf("settle the task: %w", failed), err)
	}
	a.report(Finish{Task: a.task, Outcome: outcome, Err: err, Took: took})
}

// decide returns the outcome of an attempt if the server accepts the settlement, and the settlement.
// cause is the reason why the handler's context has ended.
func decide(err, cause error) (Outcome, *queuepb.Settlement) {
	var panicked *PanicError
	var snoozed *snoozeError
	var retried *retryError
	var permanent *permanentError
	switch {
	case err == nil:
		return Completed, &queuepb.Settlement{Action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE}
	case errors.As(err, &panicked):
		return Failed, fail(fmt.Sprintf("%v\n\n%s", err, panicked.Stack))
	case errors.As(err, &permanent):
		s := fail(err.Error())
		s.Permanent = true
		return Dead, s
	case errors.As(err, &snoozed):
		return Snoozed, release(snoozed.d)
	case errors.As(err, &retried):
		s := fail(err.Error())
		s.DelayMs = uint64(max(retried.in.Milliseconds(), 1)) // 0 would mean the backoff
		return Failed, s
	case errors.Is(cause, ErrShutdown):
		return Released, release(0)
	case errors.Is(cause, ErrTimeout), errors.Is(cause, ErrLeaseLost):
		return Failed, fail(fmt.Sprintf("%v: %v", cause, err))
	default:
		return Failed, fail(err.Error())
	}
}
