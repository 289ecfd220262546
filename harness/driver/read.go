package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/queuepb"
)

// What a target may say of a task that it was asked for. Each is among the causes of a read's error.
var (
	// ErrNotFound says that the tenant has no such task, or not any more.
	ErrNotFound = errors.New("the tenant has no such task")
	// ErrDenied says that the access token is not good for the tenant that the read names.
	ErrDenied = errors.New("the access token is for another tenant")
	// ErrFull says that the target has no room for the read and may be asked again.
	ErrFull = errors.New("the target has no room for the read")
)

// Done returns nil for the name of the state of a task that is done, and else an ErrNotFound that names the state: the task has no result.
func Done(state string) error {
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

// Reader reads single tasks, one call each, over connections that no Conn uses. It serves any number of goroutines.
type Reader interface {
	// Read asks, in the name of a tenant, for the task with an id that Enqueue gave. The error is an ErrNotFound, an ErrDenied or an
	// ErrFull if the target answered so, and any other one if the read has no answer.
	Read(ctx context.Context, tenant, id string) (Found, error)
	// Close ends the connections. No read may be under way.
	Close() error
}
