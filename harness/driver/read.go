package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// Refusals of a read by the target. The error of a read wraps them.
var (
	// ErrNotFound reports that the tenant does not have, or no longer has, the task or queue.
	ErrNotFound = errors.New("the tenant has no such task or queue")
	// ErrDenied reports that the access token is not valid for the tenant that the read names.
	ErrDenied = errors.New("the access token is for another tenant")
	// ErrFull reports that the target has no room for the read. The caller may retry.
	ErrFull = errors.New("the target has no room for the read")
)

// CheckDone returns nil if state is the name of the done state. Otherwise it returns an ErrNotFound
// that names the state, because the task has no result.
func CheckDone(state string) error {
	if state == queuepb.TaskState_TASK_STATE_DONE.String() {
		return nil
	}
	return fmt.Errorf("%w that is done; the state is %s", ErrNotFound, state)
}

// Found is a task in the answer to a read.
type Found struct {
	ID      string
	Tenant  string
	Queue   string
	Payload []byte // owned by the caller
}

// Awaited is the answer to a wait for the end of a task.
type Awaited struct {
	State  TaskState
	Result []byte // of a done task; owned by the caller
}

// TaskState is the state of a task, as the answer to a wait reports it.
type TaskState int

// The zero value is not a valid state.
const (
	Open TaskState = iota + 1 // not ended
	Done
	Dead
)

// Reader reads single tasks, one per call, over connections that no Conn uses. It is safe for
// concurrent use. The error of a read wraps ErrNotFound, ErrDenied or ErrFull if the target gave
// that answer. Any other error means that the read has no answer.
type Reader interface {
	// Read reads the task with an id that Enqueue returned, in the name of a tenant.
	Read(ctx context.Context, tenant, id string) (Found, error)
	// Await waits at the target for the end of a task, for at most the given time, in whole
	// milliseconds.
	Await(ctx context.Context, tenant, id string, most time.Duration) (Awaited, error)
	// Close closes the connections. No read may be in progress.
	Close() error
}

// ListMax bounds the number of tasks that List returns.
const ListMax = 100

// QueueStats are the figures of a queue in the answer to a read.
type QueueStats struct {
	Tenant   string
	Queue    string
	Enqueued uint64 // tasks since the queue was created
}

// QueueReader reads whole queues, one per call, over connections that no Conn and no Reader uses.
// It is safe for concurrent use. Its errors are those of a Reader.
type QueueReader interface {
	// List returns the first ListMax ready tasks of a queue, or the first ListMax leased ones, in
	// the name of a tenant.
	List(ctx context.Context, tenant, queue string, leased bool) ([]Found, error)
	// Stats returns the figures of a queue, in the name of a tenant.
	Stats(ctx context.Context, tenant, queue string) (QueueStats, error)
	// Close closes the connections. No read may be in progress.
	Close() error
}
