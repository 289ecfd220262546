package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// What a target may say of a task or a queue that it was asked for. Each is among the causes of a read's error.
var (
	// ErrNotFound says that the tenant has no such task or queue, or not any more.
	ErrNotFound = errors.New("the tenant has no such task or queue")
	// ErrDenied says that the access token is not good for the tenant that the read names.
	ErrDenied = errors.New("the access token is for another tenant")
	// ErrFull says that the target has no room for the read and may be asked again.
	ErrFull = errors.New("the target has no room for the read")
)

// CheckDone returns nil for the name of the state of a task that is done, and else an ErrNotFound that names the state: the task has no result.
func CheckDone(state string) error {
	if state == queuepb.TaskState_TASK_STATE_DONE.String() {
		return nil
	}
	return fmt.Errorf("%w that is done: its state is %s", ErrNotFound, state)
}

// Found is a task as the target answered the read of it.
type Found struct {
	ID      string
	Tenant  string
	Queue   string
	Payload []byte // the caller's
}

// Awaited is what the target answered a wait for the end of a task.
type Awaited struct {
	State  TaskState
	Result []byte // of a done task; the caller's
}

// TaskState is how a task is, as far as a wait for its end tells.
type TaskState int

// The states. The zero value is none of them.
const (
	Open TaskState = iota + 1 // not ended
	Done
	Dead
)

// Reader reads single tasks, one call each, over connections that no Conn uses. It serves any number of goroutines. The error of a read is an
// ErrNotFound, an ErrDenied or an ErrFull if the target answered so, and any other one if the read has no answer.
type Reader interface {
	// Read asks, in the name of a tenant, for the task with an id that Enqueue gave.
	Read(ctx context.Context, tenant, id string) (Found, error)
	// Await asks likewise for how the task ends, and has the target wait for that, for a number of milliseconds at most.
	Await(ctx context.Context, tenant, id string, most time.Duration) (Awaited, error)
	// Close ends the connections. No read may be under way.
	Close() error
}

// ListMax is how many tasks one read of a list returns at most.
const ListMax = 100

// QueueStats are the figures of a queue as the target answered the read of them.
type QueueStats struct {
	Tenant   string
	Queue    string
	Enqueued uint64 // tasks, since the queue was made
}

// QueueReader reads whole queues, one call each, over connections that no Conn and no Reader uses. It serves any number of goroutines. Errors
// are as those of a Reader.
type QueueReader interface {
	// List asks, in the name of a tenant, for the first ListMax tasks of a queue that are ready, or that are leased.
	List(ctx context.Context, tenant, queue string, leased bool) ([]Found, error)
	// Stats asks likewise for the figures of a queue.
	Stats(ctx context.Context, tenant, queue string) (QueueStats, error)
	// Close ends the connections. No read may be under way.
	Close() error
}
