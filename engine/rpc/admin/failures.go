package admin

import (
	"cmp"
	"context"
	"slices"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
)

// ListAttempts implements adminpb.AdminServiceServer.
func (a *Service) ListAttempts(ctx context.Context, in *adminpb.ListAttemptsRequest) (*adminpb.ListAttemptsResponse, error) {
	tenant, err := call.Tenant(ctx, access.Admin, in.GetTenant())
	if err != nil {
		return nil, a.refuse(err)
	}
	id, err := queue.ParseID(in.GetId())
	if err != nil {
		return nil, a.refuse(call.IDError(err))
	}
	here := func(ctx context.Context, _ *adminpb.ListAttemptsRequest) (*adminpb.ListAttemptsResponse, error) {
		attempts, err := a.shards.Attempts(ctx, tenant, id)
		if err != nil {
			return nil, a.refuse(err)
		}
		return &adminpb.ListAttemptsResponse{Attempts: attemptMessages(attempts)}, nil
	}
	return atLeader(ctx, a, int(id.Shard), true, in, here, adminpb.AdminServiceClient.ListAttempts)
}

// ListFailures implements adminpb.AdminServiceServer.
func (a *Service) ListFailures(ctx context.Context, in *adminpb.ListFailuresRequest) (*adminpb.ListFailuresResponse, error) {
	tenant, err := call.TenantOrAll(ctx, access.Admin, in.GetTenant())
	if err == nil && in.GetQueue() != "" {
		err = call.FieldErr(queue.CheckName("queue", in.GetQueue()))
	}
	if err != nil {
		return nil, a.refuse(err)
	}
	most, err := call.PageSize(in.GetPageSize())
	if err != nil {
		return nil, a.refuse(err)
	}
	here := func(ctx context.Context, _ *adminpb.ListFailuresRequest) (*adminpb.ListFailuresResponse, error) {
		failures, err := a.shards.RecentFailures(ctx, tenant, in.GetQueue())
		if err != nil {
			return nil, a.refuse(err)
		}
		out := &adminpb.ListFailuresResponse{}
		for i := range failures[:min(most, len(failures))] {
			f := &failures[i]
			out.Failures = append(out.Failures, &adminpb.RecentFailure{
				Tenant: f.Tenant, Queue: f.Queue, Id: f.ID.String(), DeathReason: reasons[f.Died],
				Attempt: &adminpb.Attempt{Attempt: f.Number, EndedAtMs: f.EndedAtMs, Outcome: outcomes[f.Outcome], Error: f.Error},
			})
		}
		return out, nil
	}
	if !a.router.Routes(ctx) {
		return here(ctx, in)
	}
	parts, err := route.Gather(ctx, a.router, route.AdminCall(here, adminpb.AdminServiceClient.ListFailures).Of(in))
	if err != nil {
		return nil, err
	}
	out := &adminpb.ListFailuresResponse{}
	for _, part := range parts {
		out.Failures = append(out.Failures, part.GetFailures()...)
	}
	slices.SortStableFunc(out.Failures, func(f, g *adminpb.RecentFailure) int {
		return cmp.Compare(g.GetAttempt().GetEndedAtMs(), f.GetAttempt().GetEndedAtMs())
	})
	out.Failures = out.Failures[:min(most, len(out.Failures))]
	return out, nil
}
