package client

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// UnaryWorkerConfig configures a UnaryWorker.
type UnaryWorkerConfig struct {
	Tenant string   // "" means "default"
	Queues []string // the queues to claim from
	// Weights are the relative shares of the queues among the claimed tasks while all queues have
	// ready tasks. There is one weight from 1 to 100 for each queue; no weights mean equal shares.
	Weights []uint32
	Tasks   int           // maximum number of tasks in one claim; 1 to 1,000
	Lease   time.Duration // 0: each task's lease duration, or the server's default
	// Wait is the time that a claim waits at the server for the first task, at most a minute. If it
	// is 0, the server answers immediately. It is truncated to milliseconds.
	Wait time.Duration
	// Combined makes Next send its completions together with the claim, in one call instead of two.
	// The completions take effect immediately, but Next returns their outcomes with the answer to
	// the claim, up to Wait later.
	Combined bool
}

// UnaryWorker claims and completes tasks with unary calls, for a program that does not use a
// stream. It has no state between calls and need not be closed. It is safe for concurrent use.
type UnaryWorker struct {
	client *Client
	config UnaryWorkerConfig
}

// UnaryWorker returns a worker that uses the unary calls of Client.API. It returns
// ErrInvalidArgument if a number in config is out of range; the server checks the names and times.
func (c *Client) UnaryWorker(config UnaryWorkerConfig) (*UnaryWorker, error) {
	switch {
	case config.Tasks < 1 || config.Tasks > frameTasksMax:
		return nil, fmt.Errorf("tasks: %w: %d: pass 1 to %d", ErrInvalidArgument, config.Tasks, frameTasksMax)
	case config.Wait < 0:
		return nil, fmt.Errorf("wait: %w: %v: pass 0 or more", ErrInvalidArgument, config.Wait)
	case config.Lease < 0:
		return nil, fmt.Errorf("lease: %w: %v: pass 0 or more", ErrInvalidArgument, config.Lease)
	}
	return &UnaryWorker{client: c, config: config}, nil
}

// Next completes the tasks in done, up to 1,000, and claims other tasks. It returns no task if none
// was ready within the wait.
//
// errs contains the outcomes of the completions. It is nil if the server confirmed all of them;
// otherwise it has an error for each task, as Worker.Complete returns it. errs is valid whether or
// not err is nil: err concerns only the claim. A completion with an unknown outcome may be passed
// again: if it had taken effect, the second one is refused with ErrStaleToken or ErrNotFound.
func (w *UnaryWorker) Next(ctx context.Context, done []*queuepb.Task) (tasks []*queuepb.Task, errs []error, err error) {
	in := &queuepb.ClaimRequest{
		Tenant: w.config.Tenant, Queues: w.config.Queues, Weights: w.config.Weights, MaxTasks: uint32(w.config.Tasks),
		LeaseMs: uint64(w.config.Lease.Milliseconds()), WaitMs: uint64(w.config.Wait.Milliseconds()),
	}
	if w.config.Combined {
		in.Completions = completionsOf(done)
	} else {
		errs = w.Complete(ctx, done)
	}
	out, err := w.client.api.Claim(ctx, in)
	if len(in.GetCompletions()) > 0 {
		errs = outcomes(ctx, len(done), out.GetResults(), err)
	}
	if e := out.GetClaimError(); err == nil && e != nil {
		err = itemError(e)
	}
	return out.GetTasks(), errs, err
}

// Complete settles up to 1,000 tasks without a claim. It returns the outcomes in the same way as
// Next.
func (w *UnaryWorker) Complete(ctx context.Context, done []*queuepb.Task) (errs []error) {
	if len(done) == 0 {
		return nil
	}
	out, err := w.client.api.Complete(ctx, &queuepb.CompleteRequest{Tenant: w.config.Tenant, Completions: completionsOf(done)})
	return outcomes(ctx, len(done), out.GetResults(), err)
}

func completionsOf(tasks []*queuepb.Task) []*queuepb.Completion {
	if len(tasks) == 0 {
		return nil
	}
	messages := make([]queuepb.Completion, len(tasks))
	out := make([]*queuepb.Completion, len(tasks))
	for i, t := range tasks {
		messages[i].Id, messages[i].Token = sendable(t.GetId()), t.GetToken()
		out[i] = &messages[i]
	}
	return out
}

// outcomes returns the outcomes of n settlements in a unary call. It returns nil if the server
// confirmed all of them.
func outcomes(ctx context.Context, n int, results []*queuepb.SettleResult, err error) (errs []error) {
	switch {
	case err != nil && !isRefusal(err):
		err = callOutcome(ctx, err)
	case err == nil && len(results) != n:
		err = unknownOutcome(errNoAnswer)
	}
	for i := range n {
		one := err
		if err == nil {
			e := results[i].GetError()
			if e == nil {
				continue
			}
			one = itemError(e)
		}
		if errs == nil {
			errs = make([]error, n)
		}
		errs[i] = one
	}
	return errs
}

// isRefusal reports whether the server refused a call because it had no room. The call then had no
// effect.
func isRefusal(err error) bool {
	for _, d := range status.Convert(err).Details() {
		if _, ok := d.(*errdetails.RetryInfo); ok {
			return true
		}
	}
	return false
}
