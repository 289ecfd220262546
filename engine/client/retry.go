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

// WithRetryMax limits the time for retries of a call that was not executed, and the time that a
// call waits for a server or a leader. The default is 30 s; 0 disables retries. It does not limit
// how long an open session tries to reconnect. If the TLS handshake with every address was refused,
// a call fails immediately. A handshake is refused if the server's certificate does not verify, or
// if the server does not accept the client's certificate.
func WithRetryMax(max time.Duration) grpc.DialOption { return retryOption{max: max} }

// WithIdempotency makes producer sessions add a unique key to each task without a key. If the
// outcome of an enqueue is unknown, the session can then repeat it, and the server stores the task
// only once within its window of keys. A key determines the shard of its task, and costs the server
// a record.
func WithIdempotency() grpc.DialOption { return keysOption{} }

type retryOption struct {
	grpc.EmptyDialOption

	max time.Duration
}

type keysOption struct{ grpc.EmptyDialOption }

// undoneError matches ErrUnavailable. It means that no server executed the call or item, so it may
// be repeated.
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

// isFinal reports whether a status is a decision of the server that would be the same at another
// try.
func isFinal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented, codes.DataLoss:
		return true
	default:
		return false
	}
}

// linkEnd returns the reason why a stream ended. The error is an undoneError if the server executed
// none of the unanswered frames.
func linkEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrClosed
	}
	if notLeader(err) != nil {
		return undone(err)
	}
	return err
}

// sleep waits for d. If ctx ends or over is closed first, it returns an error.
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
