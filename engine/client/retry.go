package client

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// retryMaxDefault is the default of WithRetryMax.
const retryMaxDefault = 30 * time.Second

// WithRetryMax bounds the retries of a call that was not executed, and the wait of a call for a
// server or a leader. The default is 30 s; 0 disables retries. It does not bound how long an open
// session reconnects. A call does not wait if the TLS handshake with every address was refused: the
// server's certificate does not verify, or the server does not accept the client's.
func WithRetryMax(max time.Duration) grpc.DialOption { return retryOption{max: max} }

// WithIdempotency makes producer sessions give each task without a key a unique key. A task whose
// outcome is unknown can then be enqueued again without being stored twice within the server's
// window. A key ties a task to the shard of the key, and costs the server a record.
func WithIdempotency() grpc.DialOption { return keysOption{} }

type retryOption struct {
	grpc.EmptyDialOption

	max time.Duration
}

type keysOption struct{ grpc.EmptyDialOption }

// undoneError is an ErrUnavailable: no server executed the call or item, which may be repeated.
type undoneError struct{ cause error }

func (e *undoneError) Error() string        { return e.cause.Error() }
func (e *undoneError) Unwrap() error        { return e.cause }
func (e *undoneError) Is(target error) bool { return target == ErrUnavailable }

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

// notLeader returns the NotLeader detail of a status, or nil.
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

// isFinal reports whether a status is a decision of the server that another try would not change.
func isFinal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented, codes.DataLoss:
		return true
	default:
		return false
	}
}

// linkEnd returns why a stream ended. The error is undone if the server executed none of the
// unanswered frames.
func linkEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrClosed
	}
	if notLeader(err) != nil {
		return undone(err)
	}
	return err
}

// sleep waits for d. It returns an error if ctx ends or over is closed first.
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
