package admin

import (
	"context"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

// RescheduleTasks implements adminpb.AdminServiceServer.
func (a *Service) RescheduleTasks(ctx context.Context, in *adminpb.RescheduleTasksRequest) (*adminpb.RescheduleTasksResponse, error) {
	tenant, err := call.Tenant(ctx, access.Admin, in.GetTenant())
	if err == nil {
		err = call.FieldErr(a.limits.CheckDue("due_at_ms", a.shards.NowMs(), in.GetDueAtMs()))
	}
	if err != nil {
		return nil, a.refuse(err)
	}
	results, _, err := a.change(ctx, shard.Reschedule(in.GetDueAtMs()), tenant, in.GetIds(), func(ctx context.Context, c adminpb.AdminServiceClient, ids []string) ([]*queuepb.SettleResult, error) {
		out, err := c.RescheduleTasks(ctx, &adminpb.RescheduleTasksRequest{Tenant: in.GetTenant(), Ids: ids, DueAtMs: in.GetDueAtMs()})
		return out.GetResults(), err
	})
	return &adminpb.RescheduleTasksResponse{Results: results}, err
}

// PrioritizeTasks implements adminpb.AdminServiceServer.
func (a *Service) PrioritizeTasks(ctx context.Context, in *adminpb.PrioritizeTasksRequest) (*adminpb.PrioritizeTasksResponse, error) {
	tenant, err := call.Tenant(ctx, access.Admin, in.GetTenant())
	if err == nil && in.GetPriority() > queue.MaxPriority {
		err = queue.Outside("priority", in.GetPriority(), 0, queue.MaxPriority)
	}
	if err != nil {
		return nil, a.refuse(err)
	}
	results, _, err := a.change(ctx, shard.Prioritize(uint8(in.GetPriority())), tenant, in.GetIds(), func(ctx context.Context, c adminpb.AdminServiceClient, ids []string) ([]*queuepb.SettleResult, error) {
		out, err := c.PrioritizeTasks(ctx, &adminpb.PrioritizeTasksRequest{Tenant: in.GetTenant(), Ids: ids, Priority: in.GetPriority()})
		return out.GetResults(), err
	})
	return &adminpb.PrioritizeTasksResponse{Results: results}, err
}
