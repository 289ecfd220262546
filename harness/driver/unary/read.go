package unary

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/driver"
)

// DialReader opens a connection that reads a target's tasks.
func DialReader(target driver.Target) (driver.Reader, error) {
	c, err := target.Dial()
	if err != nil {
		return nil, err
	}
	return reader{c}, nil
}

type reader struct{ client *client.Client }

// Read implements driver.Reader with the call GetTask.
func (r reader) Read(ctx context.Context, tenant, id string) (driver.Found, error) {
	response, err := r.client.API().GetTask(ctx, &queuepb.GetTaskRequest{Tenant: tenant, Id: id})
	if err != nil {
		return driver.Found{}, answered(err)
	}
	return foundOf(response.GetTask()), nil
}

func foundOf(t *queuepb.Task) driver.Found {
	return driver.Found{ID: t.GetId(), Tenant: t.GetTenant(), Queue: t.GetQueue(), Payload: t.GetPayload()}
}

// Await implements driver.Reader with the call AwaitResult.
func (r reader) Await(ctx context.Context, tenant, id string, most time.Duration) (driver.Awaited, error) {
	response, err := r.client.API().AwaitResult(ctx, &queuepb.AwaitResultRequest{Tenant: tenant, Id: id, WaitMs: uint64(most.Milliseconds())})
	if err != nil {
		return driver.Awaited{}, answered(err)
	}
	return driver.Awaited{State: stateOf[response.GetState()], Result: response.GetResult()}, nil
}

var stateOf = map[queuepb.TaskState]driver.TaskState{
	queuepb.TaskState_TASK_STATE_READY: driver.Open, queuepb.TaskState_TASK_STATE_DELAYED: driver.Open, queuepb.TaskState_TASK_STATE_LEASED: driver.Open,
	queuepb.TaskState_TASK_STATE_DONE: driver.Done, queuepb.TaskState_TASK_STATE_DEAD: driver.Dead,
}

// answered converts the error of a read. If the server's status code corresponds to an error of
// package driver, the result wraps that error.
func answered(err error) error {
	mark := map[codes.Code]error{
		codes.NotFound: driver.ErrNotFound, codes.PermissionDenied: driver.ErrDenied, codes.ResourceExhausted: driver.ErrFull,
	}[status.Code(err)]
	if mark == nil {
		return err
	}
	return fmt.Errorf("%w: %w", mark, err)
}

func (r reader) Close() error { return r.client.Close() }

// Result implements driver.Returner with the call AwaitResult.
func (w worker) Result(ctx context.Context, completed *driver.Delivery) ([]byte, error) {
	t, ok := completed.Handle.(*queuepb.Task)
	if !ok {
		return nil, notClaimed(completed)
	}
	response, err := w.api.AwaitResult(ctx, &queuepb.AwaitResultRequest{Tenant: w.tenant, Id: t.GetId(), WaitMs: uint64(driver.ResultWait.Milliseconds())})
	if err != nil {
		return nil, answered(err)
	}
	return response.GetResult(), driver.CheckDone(response.GetState().String())
}
