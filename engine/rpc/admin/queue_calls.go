package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// allQueues returns all queues of all tenants, for an operator.
func (a *Service) allQueues(ctx context.Context) (all []*adminpb.Queue, err error) {
	in := &adminpb.ListQueuesRequest{PageSize: pageMax}
	for {
		out, err := a.ListQueues(ctx, in)
		if err != nil {
			return nil, err
		}
		all = append(all, out.GetQueues()...)
		if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
			return all, nil
		}
	}
}

// ListQueues implements the call.
func (a *Service) ListQueues(ctx context.Context, in *adminpb.ListQueuesRequest) (*adminpb.ListQueuesResponse, error) {
	if !a.router.Routes(ctx) {
		return a.listQueuesHere(ctx, in)
	}
	ask, err := a.queueList(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	parts, err := route.Gather(ctx, a.router, route.AdminCall(a.listQueuesHere, adminpb.AdminServiceClient.ListQueues).Of(in))
	if err != nil {
		return nil, err
	}
	var lists [][]*adminpb.Queue
	more := false
	for _, part := range parts {
		lists = append(lists, part.GetQueues())
		more = more || part.GetNextPageToken() != ""
	}
	// Each node's page is as long as this one may be: its first queues are in them.
	out := &adminpb.ListQueuesResponse{Queues: mergeQueues(lists)}
	if len(out.GetQueues()) > ask.size {
		out.Queues, more = out.GetQueues()[:ask.size], true
	}
	if more {
		last := out.GetQueues()[len(out.GetQueues())-1]
		out.NextPageToken = pageToken(ask.list, queuePlace(last.GetTenant(), last.GetQueue()))
	}
	return out, nil
}

// mergeQueues sums the figures of each queue, by tenant and name. The policy is that of the first list that has the queue.
func mergeQueues(lists [][]*adminpb.Queue) (out []*adminpb.Queue) {
	type name struct{ tenant, queue string }
	sums := map[name]*adminpb.Queue{}
	for _, list := range lists {
		for _, q := range list {
			key := name{q.GetTenant(), q.GetQueue()}
			sum := sums[key]
			if sum == nil {
				sums[key] = q
				out = append(out, q)
				continue
			}
			sum.Paused = sum.GetPaused() || q.GetPaused()
			sum.Ready += q.GetReady()
			sum.Delayed += q.GetDelayed()
			sum.Leased += q.GetLeased()
			sum.Dead += q.GetDead()
			sum.Bytes += q.GetBytes()
			sum.Enqueued += q.GetEnqueued()
			sum.Completed += q.GetCompleted()
			sum.Removed += q.GetRemoved()
			sum.OldestReadyAgeMs = max(sum.GetOldestReadyAgeMs(), q.GetOldestReadyAgeMs())
			sum.EnqueuedPerS += q.GetEnqueuedPerS()
			sum.CompletedPerS += q.GetCompletedPerS()
		}
	}
	slices.SortFunc(out, func(p, q *adminpb.Queue) int {
		return cmp.Or(cmp.Compare(p.GetTenant(), q.GetTenant()), cmp.Compare(p.GetQueue(), q.GetQueue()))
	})
	return out
}

// GetQueue implements the call.
func (a *Service) GetQueue(ctx context.Context, in *adminpb.GetQueueRequest) (*adminpb.GetQueueResponse, error) {
	if !a.router.Routes(ctx) {
		return a.getQueueHere(ctx, in)
	}
	if _, err := target(ctx, in.GetTenant(), in.GetQueue()); err != nil {
		return nil, call.Status(err)
	}
	get := route.AdminCall(a.getQueueHere, adminpb.AdminServiceClient.GetQueue)
	parts, err := route.Gather(ctx, a.router, func(ctx context.Context, at *route.Target) (out *adminpb.GetQueueResponse, err error) {
		out, err = get.At(ctx, at, in)
		if route.IsAbsent(err) {
			return nil, nil
		}
		return out, err
	})
	if err != nil {
		return nil, err
	}
	var lists [][]*adminpb.Queue
	for _, part := range parts {
		if part != nil {
			lists = append(lists, []*adminpb.Queue{part.GetQueue()})
		}
	}
	if len(lists) == 0 {
		return nil, call.Status(shard.ErrNoQueue)
	}
	return &adminpb.GetQueueResponse{Queue: mergeQueues(lists)[0]}, nil
}

// ConfigureQueue implements the call. The first shard's leader goes first: what it refuses holds nowhere.
func (a *Service) ConfigureQueue(ctx context.Context, in *adminpb.ConfigureQueueRequest) (*adminpb.ConfigureQueueResponse, error) {
	if !a.router.Routes(ctx) {
		return a.configureQueueHere(ctx, in)
	}
	_, err := target(ctx, in.GetTenant(), in.GetQueue())
	if err == nil {
		_, err = a.policy(in.GetPolicy())
	}
	if err != nil {
		return nil, call.Status(err)
	}
	err = a.router.Cover(ctx, true, route.AdminCall(a.configureQueueHere, adminpb.AdminServiceClient.ConfigureQueue).Each(in))
	if err != nil {
		return nil, err
	}
	q, err := a.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: in.GetTenant(), Queue: in.GetQueue()})
	return &adminpb.ConfigureQueueResponse{Queue: q.GetQueue()}, err
}

// PauseQueue implements the call.
func (a *Service) PauseQueue(ctx context.Context, in *adminpb.PauseQueueRequest) (*adminpb.PauseQueueResponse, error) {
	if !a.router.Routes(ctx) {
		return a.pauseQueueHere(ctx, in)
	}
	err := a.pauseAll(ctx, in.GetTenant(), in.GetQueue(), route.AdminCall(a.pauseQueueHere, adminpb.AdminServiceClient.PauseQueue).Each(in))
	return &adminpb.PauseQueueResponse{}, err
}

// ResumeQueue implements the call.
func (a *Service) ResumeQueue(ctx context.Context, in *adminpb.ResumeQueueRequest) (*adminpb.ResumeQueueResponse, error) {
	if !a.router.Routes(ctx) {
		return a.resumeQueueHere(ctx, in)
	}
	err := a.pauseAll(ctx, in.GetTenant(), in.GetQueue(), route.AdminCall(a.resumeQueueHere, adminpb.AdminServiceClient.ResumeQueue).Each(in))
	return &adminpb.ResumeQueueResponse{}, err
}

// pauseAll pauses or resumes a queue in all shards, if it is in one.
func (a *Service) pauseAll(ctx context.Context, tenant, name string, do func(context.Context, *route.Target) error) error {
	if _, err := a.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: tenant, Queue: name}); err != nil {
		return err
	}
	return a.router.Cover(ctx, true, do)
}

// PurgeQueue implements the call.
func (a *Service) PurgeQueue(ctx context.Context, in *adminpb.PurgeQueueRequest) (*adminpb.PurgeQueueResponse, error) {
	if !a.router.Routes(ctx) {
		return a.purgeQueueHere(ctx, in)
	}
	if _, err := target(ctx, in.GetTenant(), in.GetQueue()); err != nil {
		return nil, call.Status(err)
	}
	n, err := a.countAll(ctx, "removed", func(ctx context.Context, at *route.Target) (uint64, error) {
		out, err := route.AdminCall(a.purgeQueueHere, adminpb.AdminServiceClient.PurgeQueue).At(ctx, at, in)
		return out.GetRemoved(), err
	})
	if err != nil {
		return nil, err
	}
	return &adminpb.PurgeQueueResponse{Removed: n}, nil
}

// DeleteQueue implements the call. Without force, no shard deletes the queue if any shard has tasks of it.
func (a *Service) DeleteQueue(ctx context.Context, in *adminpb.DeleteQueueRequest) (*adminpb.DeleteQueueResponse, error) {
	if !a.router.Routes(ctx) {
		return a.deleteQueueHere(ctx, in)
	}
	if !in.GetForce() {
		out, err := a.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: in.GetTenant(), Queue: in.GetQueue()})
		if err != nil {
			return nil, err
		}
		if q := out.GetQueue(); q.GetReady()+q.GetDelayed()+q.GetLeased()+q.GetDead() > 0 {
			return nil, call.Status(queue.ErrQueueNotEmpty)
		}
	}
	n, err := a.countAll(ctx, "removed", func(ctx context.Context, at *route.Target) (uint64, error) {
		out, err := route.AdminCall(a.deleteQueueHere, adminpb.AdminServiceClient.DeleteQueue).At(ctx, at, in)
		return out.GetRemoved(), err
	})
	if err != nil {
		return nil, err
	}
	return &adminpb.DeleteQueueResponse{Removed: n}, nil
}

// countAll has all leaders change tasks of a queue, and returns how many they changed.
func (a *Service) countAll(ctx context.Context, what string, do func(context.Context, *route.Target) (uint64, error)) (sum uint64, err error) {
	has := false
	err = a.router.Cover(ctx, false, func(ctx context.Context, at *route.Target) error {
		n, err := do(ctx, at)
		if route.IsAbsent(err) {
			return nil
		}
		has = has || err == nil
		sum += n
		return err
	})
	switch {
	case err != nil && sum > 0:
		s := status.Convert(err).Proto()
		s.Message = fmt.Sprintf("%s %d tasks, and then: %s", what, sum, s.GetMessage())
		err = status.ErrorProto(s)
	case err == nil && !has:
		err = call.Status(shard.ErrNoQueue)
	}
	return sum, err
}
