package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// Reasons why the target refuses a read. The error of a read wraps one of them.
var (
	// ErrNotFound reports that the tenant does not have, or no longer has, the task or queue.
	ErrNotFound = errors.New("the tenant has no such task or queue")
	// ErrDenied reports that the access token is not valid for the tenant that the read names.
	ErrDenied = errors.New("the access token is for another tenant")
	// ErrFull reports that the target has no room for the read. The caller may retry.
	ErrFull = errors.New("the target has no room for the read")
)

// CheckDone returns nil if state is the name of the state done. Otherwise the task has no result,
// and CheckDone returns an error that wraps ErrNotFound and names the state.
func CheckDone(state string) error {
	if state == queuepb.TaskState_TASK_STATE_DONE.String() {
		return nil
	}
	return fmt.Errorf("%w that is done; the state is %s", ErrNotFound, state)
}

// Found is a task that the target returned in its answer to a read.
type Found struct {
	ID      string
	Tenant  string
	Queue   string
	Payload []byte // owned by the caller
}

// Awaited is the target's answer to a wait for the end of a task.
type Awaited struct {
	State  TaskState
	Result []byte // result of a done task; owned by the caller
}

// TaskState is the state of a task that the target reports in its answer to a wait.
type TaskState int

// The zero value is not a valid state.
const (
	Open TaskState = iota + 1 // the task has not ended
	Done
	Dead
)

// Reader reads single tasks. Each call reads one task. A Reader uses connections that no Conn uses.
// It is safe for concurrent use. If the target refused the read, the error wraps ErrNotFound,
// ErrDenied or ErrFull. Any other error means that the target did not answer the read.
type Reader interface {
	// Read reads a task on behalf of a tenant. id is an ID that Enqueue returned.
	Read(ctx context.Context, tenant, id string) (Found, error)
	// Await waits at the target for the end of a task. It waits at most the given time, in whole
	// milliseconds.
	Await(ctx context.Context, tenant, id string, most time.Duration) (Awaited, error)
	// Close closes the connections. No read may be in progress.
	Close() error
}

// ListMax bounds the number of tasks that List returns.
const ListMax = 100

// QueueStats contains the figures of a queue that the target returned in its answer to a read.
type QueueStats struct {
	Tenant   string
	Queue    string
	Enqueued uint64 // tasks enqueued since the queue was created
}

// QueueReader reads whole queues. Each call reads one queue. A QueueReader uses connections that no
// Conn and no Reader uses. It is safe for concurrent use. Its errors are the same as those of a
// Reader.
type QueueReader interface {
	// List returns the first ListMax ready tasks of a queue, on behalf of a tenant. If leased is
	// true, it returns the first ListMax leased tasks instead.
	List(ctx context.Context, tenant, queue string, leased bool) ([]Found, error)
	// Stats returns the figures of a queue, on behalf of a tenant.
	Stats(ctx context.Context, tenant, queue string) (QueueStats, error)
	// Close closes the connections. No read may be in progress.
	Close() error
}
