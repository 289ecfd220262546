package rpc

import (
	"context"
	"errors"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// ListDependencies implements queuepb.QueueServiceServer.
func (s *Service) ListDependencies(ctx context.Context, in *queuepb.ListDependenciesRequest) (*queuepb.ListDependenciesResponse, error) {
	tenant, id, err := enterTask(ctx, access.Produce|access.Work, in)
	if err != nil {
		return nil, err
	}
	l := shard.DependencyList{Tenant: tenant, ID: id}
	if l.Limit, err = call.PageSize(in.GetPageSize()); err != nil {
		return nil, call.Status(err)
	}
	name := call.ListName("dependencies", tenant, in.GetId())
	after, err := call.ParsePageToken(name, in.GetPageToken())
	if err != nil {
		return nil, call.Status(err)
	}
	l.After = storage.Place(after)
	here := func(ctx context.Context, _ *queuepb.ListDependenciesRequest) (*queuepb.ListDependenciesResponse, error) {
		page, err := shard.AwaitReply(ctx, func(reply func(shard.DependencyPage, error)) error { return s.shards.Dependencies(l, reply) })
		if errors.Is(err, storage.ErrPlace) {
			err = call.ErrPageToken
		}
		if err != nil {
			return nil, s.refuse(err)
		}
		return dependencyMessages(name, &page), nil
	}
	if !s.router.Routes(ctx) {
		return here(ctx, in)
	}
	return route.Follow(ctx, s.router, int(id.Shard), true, route.ForwardMax, route.QueueCall(here, queuepb.QueueServiceClient.ListDependencies).Of(in))
}

// dependencyOutcomes maps outcomes of dependencies to the constants of the schema.
var dependencyOutcomes = map[queue.DependencyOutcome]queuepb.DependencyOutcome{
	queue.DependencyDone:    queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_DONE,
	queue.DependencyDead:    queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_DEAD,
	queue.DependencyRemoved: queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_REMOVED,
	queue.DependencyMissing: queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_NOT_FOUND,
	queue.DependencyRefused: queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_REFUSED,
}

func dependencyMessages(list uint64, page *shard.DependencyPage) *queuepb.ListDependenciesResponse {
	out := &queuepb.ListDependenciesResponse{WaitingFor: page.WaitingFor}
	for i := range page.Dependencies {
		d := &page.Dependencies[i]
		out.Dependencies = append(out.Dependencies, &queuepb.Dependency{
			Id: d.ID.String(), Outcome: dependencyOutcomes[d.Outcome], Result: d.Result, ResultOmitted: d.Omitted,
		})
	}
	if len(page.Next) > 0 {
		out.NextPageToken = call.PageToken(list, page.Next)
	}
	return out
}
