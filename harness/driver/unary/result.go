package unary

import (
	"context"

	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

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
