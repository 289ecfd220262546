package queue

import (
	"errors"
	"fmt"
)

var (
	// ErrStaleToken means that a token does not belong to the task's current lease: the lease
	// expired or was settled, or the token belongs to another task.
	ErrStaleToken = errors.New("stale token: the lease expired or was settled")
	// ErrCancelled means that the task of a lease was cancelled, and with it the lease. No
	// settlement of the lease has taken effect.
	ErrCancelled = errors.New("the task was cancelled while it was leased")
	// ErrKeyTaken means that another task holds the task's unique key.
	ErrKeyTaken = errors.New("another task holds the key")
	// ErrTooManyQueues means that the shard or the tenant has the maximum number of queues. A retry
	// fails too, unless queues are deleted.
	ErrTooManyQueues = errors.New("too many queues: delete queues or raise the limit")
	// ErrQueueNotEmpty means that a queue cannot be deleted, because it has tasks.
	ErrQueueNotEmpty = errors.New("the queue is not empty")
	// ErrEndsPending is an ErrQueueNotEmpty: the queue has no tasks any more, but other tasks have not
	// been told yet that its last ones ended.
	ErrEndsPending = fmt.Errorf("%w: other tasks are being told of the ends of its tasks: try again", ErrQueueNotEmpty)
	// ErrTooManyRecurring means that the tenant has the maximum number of recurring tasks in the
	// shard, or that those of the shard have the maximum number of bytes.
	ErrTooManyRecurring = errors.New("too many recurring tasks: delete some or raise the limit")
	// ErrNumbersUsedUp means that a restore cannot skip further numbers. It occurs after a chain of
	// 32,768 restores, each from a backup of the previously restored server. It also occurs if the
	// times between the backups and restores of such a chain add up to 69 years.
	ErrNumbersUsedUp = errors.New("its numbers are used up by earlier restores: enqueue its tasks at a new server")
)

// QuotaError names the quota that a call would exceed.
type QuotaError struct {
	Tenant       string
	Quota        string // a field of the tenant's quotas
	Max          uint64
	RetryAfterMs uint64
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("tenant %q is at its quota %s of %d: try again later, or have the quota raised", e.Tenant, e.Quota, e.Max)
}

// FieldError names a field with an invalid value, and describes the problem.
type FieldError struct {
	Field   string
	Problem string // names the value and the remedy
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// BrokenError means that an invariant of the state machine is broken. Methods of State panic with
// it, possibly when only a part of a decision is written to the Journal. The caller must not commit
// the journal's writes and must no longer use the state. See Broken.
type BrokenError struct{ Invariant string }

func (e *BrokenError) Error() string {
	return "an invariant of the state machine is broken: " + e.Invariant +
		": nothing of this turn is stored; restart the server, which recovers the state from the store, and report the defect"
}

// Broken returns the BrokenError of a panic, or nil if there was no panic. panicked is the result
// of recover. If it is any other value, Broken panics with it again.
func Broken(panicked any) *BrokenError {
	switch p := panicked.(type) {
	case nil:
		return nil
	case *BrokenError:
		return p
	}
	panic(panicked)
}

// broken panics with a BrokenError. The caller checks the invariant before it calls broken, so that
// a successful check costs only one comparison.
func broken(format string, args ...any) {
	panic(&BrokenError{fmt.Sprintf(format, args...)})
}
