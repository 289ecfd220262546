package admin

import (
	"context"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// CancelTasks implements adminpb.AdminServiceServer.
func (a *Service) CancelTasks(ctx context.Context, in *adminpb.CancelTasksRequest) (*adminpb.CancelTasksResponse, error) {
	tenant, err := call.Tenant(ctx, access.Admin, in.GetTenant())
	if err != nil {
		return nil, a.refuse(err)
	}
	results, _, err := a.change(ctx, shard.Cancel, tenant, in.GetIds(), func(ctx context.Context, c adminpb.AdminServiceClient, ids []string) ([]*queuepb.SettleResult, error) {
		out, err := c.CancelTasks(ctx, &adminpb.CancelTasksRequest{Tenant: in.GetTenant(), Ids: ids})
		return out.GetResults(), err
	})
	return &adminpb.CancelTasksResponse{Results: results}, err
}

// change applies a change to single tasks, each at its shard's leader. It returns a result for each
// task, and the number of changed tasks. The function there makes the call at another node.
func (a *Service) change(ctx context.Context, what shard.Change, tenant string, in []string,
	there func(context.Context, adminpb.AdminServiceClient, []string) ([]*queuepb.SettleResult, error),
) (results []*queuepb.SettleResult, changed uint64, err error) {
	ids, errs, err := a.ids(in)
	if err != nil {
		return nil, 0, a.refuse(err)
	}
	here := func(ctx context.Context, n int, ids call.Part[queue.ID], errs []*queuepb.ItemError) ([]*queuepb.SettleResult, error) {
		outcomes, err := a.shards.Change(ctx, what, tenant, ids.Items)
		if err != nil {
			return nil, a.refuse(err)
		}
		return call.SettleResults(n, route.AppendSettleErrors(a.cluster, errs, outcomes, ids)), nil
	}
	if !a.router.Routes(ctx) {
		results, err = here(ctx, len(in), ids, errs)
	} else {
		results, err = route.SpreadIDs(ctx, a.router, len(in), ids, errs, func(id queue.ID) int { return int(id.Shard) },
			func(ctx context.Context, at *route.Target, ids []queue.ID) ([]*queuepb.SettleResult, error) {
				if at.Local() {
					return here(ctx, len(ids), call.Part[queue.ID]{Items: ids}, nil)
				}
				texts := make([]string, len(ids))
				for i, id := range ids {
					texts[i] = id.String()
				}
				return there(ctx, at.Admins(), texts)
			})
	}
	for _, r := range results {
		if r.GetError() == nil {
			changed++
		}
	}
	return results, changed, err
}

// ids validates and converts the ids of a call. It omits invalid ids and returns an error for each
// of them.
func (a *Service) ids(in []string) (ids call.Part[queue.ID], errs []*queuepb.ItemError, err error) {
	if err := a.limits.CheckBatch("ids", len(in)); err != nil {
		return ids, nil, err
	}
	for i, text := range in {
		id, err := queue.ParseID(text)
		if err != nil {
			errs = append(errs, call.ItemError(i, call.IDsError(err)))
			continue
		}
		ids.Add(id, i)
	}
	return ids, errs, nil
}
