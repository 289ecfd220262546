package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// retryMaxDefault is how long a call is tried again unless WithRetryMax says otherwise.
const retryMaxDefault = 30 * time.Second

// WithRetryMax says for how long a call that was not done is tried again, and for how long a call waits for a node
// that leads: 30 s unless told otherwise; 0 tries once. With it a client of one address whose server stands alone
// follows that server through a restart. Without it, and with one such address, a session ends with its connection.
func WithRetryMax(max time.Duration) grpc.DialOption { return retryOption{max: max} }

// WithIdempotency lets producer sessions give each task without a key one of their own, so that a task whose outcome
// is unknown can be enqueued again without being stored twice within the server's window. A key ties a task to the
// shard that keeps the key, and costs the server a record.
func WithIdempotency() grpc.DialOption { return keysOption{} }

type retryOption struct {
	grpc.EmptyDialOption

	max time.Duration
}

type keysOption struct{ grpc.EmptyDialOption }

// undoneError says that nothing was done: what it is about may be sent again.
type undoneError struct{ cause error }

func (e *undoneError) Error() string { return e.cause.Error() }
func (e *undoneError) Unwrap() error { return e.cause }

func undone(cause error) error {
	if isUndone(cause) {
		return cause
	}
	return &undoneError{cause: cause}
}

func isUndone(err error) bool {
	var u *undoneError
	return errors.As(err, &u)
}

// notLeader returns the detail of a status which says that the node does not lead.
func notLeader(err error) *queuepb.NotLeader {
	if status.Code(err) != codes.Unavailable {
		return nil
	}
	for _, d := range status.Convert(err).Details() {
		if n, ok := d.(*queuepb.NotLeader); ok {
			return n
		}
	}
	return nil
}

// isFinal tells whether a status is a decision of the server that another try would not change.
func isFinal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented, codes.DataLoss:
		return true
	default:
		return false
	}
}

// linkEnd is what the end of a stream means for the frames on it that have no answer.
func linkEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrClosed
	}
	if notLeader(err) != nil {
		return undone(fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
	return unknownOutcome(err)
}

// sleep waits, and returns why if it was cut short: by ctx, or because over was closed.
func sleep(ctx context.Context, d time.Duration, over <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
		return ErrClosed
	}
}
