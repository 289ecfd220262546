package queue

import (
	"errors"
	"fmt"
)

var (
	// ErrStaleToken says that a token is not that of the task's current lease: the lease expired or was settled, or the token belongs
	// to another task.
	ErrStaleToken = errors.New("stale token: the lease expired or was settled")
	// ErrTooManyQueues says that the shard, or the tenant, has as many queues as Config allows. Waiting does not help.
	ErrTooManyQueues = errors.New("too many queues: delete queues or raise the limit")
	// ErrQueueNotEmpty says that a queue that has tasks can't be deleted.
	ErrQueueNotEmpty = errors.New("the queue is not empty")
	// ErrNumbersUsedUp says that no numbers are left to leave out: after 32,768 restores, each of a backup of the restored server
	// before it, or after 69 years between backups and restores in total.
	ErrNumbersUsedUp = errors.New("its numbers are used up by earlier restores: enqueue its tasks at a new server")
)

// QuotaError says which quota refused a task.
type QuotaError struct {
	Tenant       string
	Quota        string // the field of the tenant's quotas
	Max          uint64
	RetryAfterMs uint64
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("tenant %q is at its quota %s of %d: try again later, or have the quota raised", e.Tenant, e.Quota, e.Max)
}

// FieldError says which field has a value that is not accepted, and why.
type FieldError struct {
	Field   string
	Problem string // names the value and the remedy
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// BrokenError says that an invariant of the state machine does not hold. Methods of State panic with it, before the Journal has the
// whole decision: the caller must not commit the journal's writes, and must not use the state any more. See Broken.
type BrokenError struct{ Invariant string }

func (e *BrokenError) Error() string {
	return "an invariant of the state machine is broken: " + e.Invariant +
		": nothing of this turn is stored; restart the server, which recovers the state from the store, and report the defect"
}

// Broken returns the BrokenError that a panic was raised with, or nil if there was no panic. panicked is the result of recover.
// Broken passes other panics on.
func Broken(panicked any) *BrokenError {
	switch p := panicked.(type) {
	case nil:
		return nil
	case *BrokenError:
		return p
	}
	panic(panicked)
}

// broken reports an invariant that does not hold. Callers check the invariant, so that a check costs one comparison.
func broken(format string, args ...any) {
	panic(&BrokenError{fmt.Sprintf(format, args...)})
}
