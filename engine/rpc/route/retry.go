package route

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

const (
	// retryMax limits the time during which a call is repeated.
	retryMax = 5 * time.Second
	// These bound the pause between two tries.
	retryPauseMin = 20 * time.Millisecond
	retryPauseMax = 100 * time.Millisecond
)

// Retry calls try, and repeats it while it returns ErrRetry, for at most RetryMax after the first
// call. Between two calls it waits for a pause or until the routes change. try sends a call to the
// nodes that lead at that moment. With ErrRetry, try also returns a shard that has no leader; the
// final error of Retry names that shard. waits means that the call waits at the nodes. In this
// case, a try of more than 2*ConnectMax has waited at a node, and RetryMax starts again.
//
// Retry is the only place in the server that looks for a new leader. It serves callers that use one
// node and do not follow a leader: REST clients, the commands of queued, and gRPC clients that do
// not use package client.
func (r *Router) Retry(ctx context.Context, waits bool, try func() (missing int, err error)) error {
	var until time.Time
	pause := retryPauseMin
	for {
		began := time.Now()
		_, changed := r.cluster.Version()
		missing, err := try()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return call.Status(ctx.Err())
		case !errors.Is(err, ErrRetry):
			return err
		case until.IsZero() || waits && time.Since(began) > 2*ConnectMax:
			until, pause = time.Now().Add(r.RetryMax), retryPauseMin
		}
		if !r.sleep(ctx, pause/2+rand.N(pause/2+1), until, changed) {
			return r.noLeader(missing)
		}
		pause = min(2*pause, retryPauseMax)
	}
}

// sleep waits for d or until the routes change. It returns false if one of these events comes
// first: the time until is reached, ctx ends, or the server stops.
func (r *Router) sleep(ctx context.Context, d time.Duration, until time.Time, changed <-chan struct{}) bool {
	if deadline, has := ctx.Deadline(); has && deadline.Before(until) {
		until = deadline
	}
	if time.Until(until) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-changed:
		return true
	case <-ctx.Done():
	case <-r.Stopping:
	}
	return false
}

// outcome is what is known about the effect of a failed call at a node.
type outcome int

const (
	refused outcome = iota // refused for a reason that also applies at other nodes
	undone                 // no effect, and another node may lead now
	unknown                // may or may not take effect
)

// outcome classifies the error of a call at the node. repeatable means that repeating the call is
// harmless.
func (t *Target) outcome(err error, repeatable bool) outcome {
	s := status.Convert(err)
	for _, d := range s.Details() {
		switch d.(type) {
		case *queuepb.NotLeader:
			return undone
		case *queuepb.UnknownOutcome:
			return unknown
		}
	}
	if t.Local() {
		return refused
	}
	switch s.Code() {
	// The connection broke, unless the caller ended the call.
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		if repeatable || !t.forward.sent {
			return undone
		}
		return unknown
	}
	return refused
}

// failure converts the error of a call at the node to ErrRetry, to an error for an unknown outcome,
// or to the error itself.
func (t *Target) failure(err error, repeatable bool) error {
	if err == nil {
		return nil
	}
	switch t.outcome(err, repeatable) {
	case undone:
		return ErrRetry
	case unknown:
		return unknownOutcome(err)
	case refused:
	}
	return err
}

// ReadFailure returns the error itself if other nodes would refuse the call too, and ErrRetry
// otherwise. It is for calls that are safe to repeat after any outcome: reads and claims. If the
// answer to a claim is lost, the leases in it expire.
func (t *Target) ReadFailure(err error) error {
	if err != nil && t.outcome(err, true) != refused {
		return ErrRetry
	}
	return err
}

func unknownOutcome(err error) error {
	return call.Status(errors.Join(shard.ErrUnknownOutcome, errors.New(status.Convert(err).Message())))
}

// Follow executes a call at the leader of a shard. The argument most limits the time of a call at
// another node; 0 means no limit other than the caller's own.
func Follow[R any](ctx context.Context, r *Router, n int, repeatable bool, most time.Duration, do func(context.Context, *Target) (R, error)) (out R, err error) {
	err = r.Retry(ctx, most == 0, func() (int, error) {
		node := r.leader(n)
		if node == "" {
			return n, ErrRetry
		}
		t := r.Target(node, most)
		var failed error
		out, failed = do(ctx, t)
		return n, t.failure(failed, repeatable)
	})
	return out, err
}

// ErrRetry means that a call had no effect at a node, and that another node may lead now.
// Router.Retry may then repeat the call. Clients never receive this error.
var ErrRetry = errors.New("other nodes lead now")
