package jobs

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/client"
)

// These are the reasons why the context of a handler ends. context.Cause returns them.
var (
	// ErrTimeout means that the attempt took longer than its Timeout. If the handler returns an
	// error, the attempt has failed.
	ErrTimeout = errors.New("the job took longer than its timeout")
	// ErrCancelled means that the task was cancelled. The handler's result has no effect. It is
	// client.ErrCancelled.
	ErrCancelled = client.ErrCancelled
	// ErrLeaseLost means that the server has ended the lease, or that the worker could not reach the
	// server before the lease ended. Another worker may receive the task.
	ErrLeaseLost = errors.New("the lease of the job was lost")
	// ErrShutdown means that the worker is stopping and has waited for the time of Grace. If the
	// handler returns an error, the task is released: it is ready again, and the attempt does not
	// count.
	ErrShutdown = errors.New("the worker shuts down")
)

// PanicError is the error of a handler that panicked.
type PanicError struct {
	Value any
	Stack []byte // begins with the function that panicked
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// Permanent returns an error that makes the task a dead letter at once, because another attempt
// cannot succeed. It returns nil if err is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type retryError struct {
	error

	in time.Duration
}

func (e *retryError) Unwrap() error { return e.error }

// RetryIn returns an error that fails the attempt and sets the time until the next one, instead of
// the backoff. It returns nil if err is nil.
func RetryIn(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryError{err, d}
}

type snoozeError struct{ d time.Duration }

func (e *snoozeError) Error() string { return fmt.Sprintf("snoozed for %v", e.d) }

// Snooze returns an error that returns the task to its queue for the time d, without using up an
// attempt. It is for a job that finds out that it is too early.
func Snooze(d time.Duration) error { return &snoozeError{d} }

// IsSnooze reports whether an error contains a Snooze. Middleware should not treat it as a failure.
func IsSnooze(err error) bool {
	var snoozed *snoozeError
	return errors.As(err, &snoozed)
}
