package admin

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// GetQueue implements adminpb.AdminServiceServer.
func (a *Service) GetQueue(ctx context.Context, in *adminpb.GetQueueRequest) (*adminpb.GetQueueResponse, error) {
	tenant, err := target(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	return a.getQueue(ctx, tenant, in)
}

// getQueue executes GetQueue for a queue of a tenant that the caller may see.
func (a *Service) getQueue(ctx context.Context, tenant string, in *adminpb.GetQueueRequest) (*adminpb.GetQueueResponse, error) {
	here := func(ctx context.Context, in *adminpb.GetQueueRequest) (*adminpb.GetQueueResponse, error) {
		q, err := a.shards.QueueStats(ctx, tenant, in.GetQueue())
		if err != nil {
			return nil, a.refuse(err)
		}
		return &adminpb.GetQueueResponse{Queue: queueMessage(&q, a.shards.NowMs())}, nil
	}
	if !a.router.Routes(ctx) {
		return here(ctx, in)
	}
	get := route.AdminCall(here, adminpb.AdminServiceClient.GetQueue)
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
	nowMs := a.shards.NowMs()
	var lists [][]queue.Stats
	for _, part := range parts {
		if part != nil {
			lists = append(lists, []queue.Stats{figuresOf(part.GetQueue(), nowMs)})
		}
	}
	if len(lists) == 0 {
		return nil, call.Status(shard.ErrNoQueue)
	}
	return &adminpb.GetQueueResponse{Queue: queueMessage(&shard.MergeStats(lists)[0], nowMs)}, nil
}

// ConfigureQueue implements adminpb.AdminServiceServer. It asks the leader of the first shard
// first: if that leader refuses, no shard changes the policy.
func (a *Service) ConfigureQueue(ctx context.Context, in *adminpb.ConfigureQueueRequest) (*adminpb.ConfigureQueueResponse, error) {
	var policy queue.Policy
	tenant, err := target(ctx, in)
	if err == nil {
		policy, err = a.policy(in.GetPolicy())
	}
	if err != nil {
		return nil, a.refuse(err)
	}
	here := func(ctx context.Context, in *adminpb.ConfigureQueueRequest) (*adminpb.ConfigureQueueResponse, error) {
		if err := a.shards.Configure(ctx, tenant, in.GetQueue(), policy); err != nil {
			return nil, a.refuse(err)
		}
		q, err := a.shards.QueueStats(ctx, tenant, in.GetQueue())
		if err != nil {
			return nil, a.refuse(err)
		}
		return &adminpb.ConfigureQueueResponse{Queue: queueMessage(&q, a.shards.NowMs())}, nil
	}
	if !a.router.Routes(ctx) {
		return here(ctx, in)
	}
	if err := a.router.Cover(ctx, true, route.AdminCall(here, adminpb.AdminServiceClient.ConfigureQueue).Each(in)); err != nil {
		return nil, err
	}
	q, err := a.getQueue(ctx, tenant, &adminpb.GetQueueRequest{Tenant: in.GetTenant(), Queue: in.GetQueue()})
	return &adminpb.ConfigureQueueResponse{Queue: q.GetQueue()}, err
}

// PauseQueue implements adminpb.AdminServiceServer.
func (a *Service) PauseQueue(ctx context.Context, in *adminpb.PauseQueueRequest) (*adminpb.PauseQueueResponse, error) {
	return &adminpb.PauseQueueResponse{}, a.pause(ctx, in, true, func(ctx context.Context, c adminpb.AdminServiceClient) error {
		_, err := c.PauseQueue(ctx, in)
		return err
	})
}

// ResumeQueue implements adminpb.AdminServiceServer.
func (a *Service) ResumeQueue(ctx context.Context, in *adminpb.ResumeQueueRequest) (*adminpb.ResumeQueueResponse, error) {
	return &adminpb.ResumeQueueResponse{}, a.pause(ctx, in, false, func(ctx context.Context, c adminpb.AdminServiceClient) error {
		_, err := c.ResumeQueue(ctx, in)
		return err
	})
}

// pause pauses or resumes a queue in all shards. It refuses a queue that exists in no shard, since
// the name is probably misspelt.
func (a *Service) pause(ctx context.Context, in queueRequest, paused bool, there func(context.Context, adminpb.AdminServiceClient) error) error {
	tenant, err := target(ctx, in)
	if err != nil {
		return a.refuse(err)
	}
	routes := a.router.Routes(ctx)
	if routes || a.router == nil { // for a forwarded call, the forwarding node has checked this
		if _, err := a.getQueue(ctx, tenant, &adminpb.GetQueueRequest{Tenant: in.GetTenant(), Queue: in.GetQueue()}); err != nil {
			if route.IsAbsent(err) && paused {
				err = status.Errorf(codes.NotFound, "there is no queue %q: check the name, or create the queue by configuring it", in.GetQueue())
			}
			return err
		}
	}
	here := func(ctx context.Context) error { return a.refuse(a.shards.Pause(ctx, tenant, in.GetQueue(), paused)) }
	if !routes {
		return here(ctx)
	}
	return a.router.Cover(ctx, true, func(ctx context.Context, at *route.Target) error {
		if at.Local() {
			return here(ctx)
		}
		return there(ctx, at.Admins())
	})
}

// PurgeQueue implements adminpb.AdminServiceServer.
func (a *Service) PurgeQueue(ctx context.Context, in *adminpb.PurgeQueueRequest) (*adminpb.PurgeQueueResponse, error) {
	tenant, err := target(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	n, err := a.countAll(ctx, "removed",
		func(ctx context.Context) (uint64, error) { return a.shards.Purge(ctx, tenant, in.GetQueue()) },
		func(ctx context.Context, c adminpb.AdminServiceClient) (uint64, error) {
			out, err := c.PurgeQueue(ctx, in)
			return out.GetRemoved(), err
		})
	if err != nil {
		return nil, err
	}
	return &adminpb.PurgeQueueResponse{Removed: n}, nil
}

// DeleteQueue implements adminpb.AdminServiceServer. Without force, no shard deletes the queue if
// any shard contains tasks or recurring tasks of the queue.
func (a *Service) DeleteQueue(ctx context.Context, in *adminpb.DeleteQueueRequest) (*adminpb.DeleteQueueResponse, error) {
	tenant, err := target(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	if !in.GetForce() && a.router.Routes(ctx) {
		out, err := a.getQueue(ctx, tenant, &adminpb.GetQueueRequest{Tenant: in.GetTenant(), Queue: in.GetQueue()})
		if err != nil {
			return nil, err
		}
		if q := figuresOf(out.GetQueue(), 0); q.Stored() > 0 {
			return nil, call.Status(queue.ErrQueueNotEmpty)
		}
		recurring, err := a.ListRecurring(ctx, &adminpb.ListRecurringRequest{Tenant: in.GetTenant(), Queue: in.GetQueue(), PageSize: 1})
		if err != nil {
			return nil, err
		}
		if len(recurring.GetRecurring()) > 0 {
			return nil, call.Status(fmt.Errorf("%w: it has recurring tasks; delete them, or force the deletion", queue.ErrQueueNotEmpty))
		}
	}
	n, err := a.countAll(ctx, "removed",
		func(ctx context.Context) (uint64, error) {
			return a.shards.Delete(ctx, tenant, in.GetQueue(), in.GetForce())
		},
		func(ctx context.Context, c adminpb.AdminServiceClient) (uint64, error) {
			out, err := c.DeleteQueue(ctx, in)
			return out.GetRemoved(), err
		})
	if err != nil {
		return nil, err
	}
	return &adminpb.DeleteQueueResponse{Removed: n}, nil
}

// countAll makes all leaders change tasks of a queue, and returns the number of changed tasks. The
// function here changes the tasks in the shards that this node leads. The function there makes the
// call at another node.
func (a *Service) countAll(ctx context.Context, done string, here func(context.Context) (uint64, error),
	there func(context.Context, adminpb.AdminServiceClient) (uint64, error),
) (sum uint64, err error) {
	local := func(ctx context.Context) (uint64, error) {
		n, err := here(ctx)
		if err != nil {
			return 0, a.refuse(partly(done, n, err))
		}
		return n, nil
	}
	if !a.router.Routes(ctx) {
		return local(ctx)
	}
	has := false
	err = a.router.Cover(ctx, false, func(ctx context.Context, at *route.Target) (err error) {
		var n uint64
		if at.Local() {
			n, err = local(ctx)
		} else {
			n, err = there(ctx, at.Admins())
		}
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
		s.Message = fmt.Sprintf("%s %d tasks, and then: %s", done, sum, s.GetMessage())
		err = status.ErrorProto(s)
	case err == nil && !has:
		err = call.Status(shard.ErrNoQueue)
	}
	return sum, err
}

// partly adds to an error the number of tasks that a call had changed before it failed.
func partly(done string, n uint64, err error) error {
	if n == 0 || errors.Is(err, shard.ErrNoQueue) {
		return err
	}
	return fmt.Errorf("%s %d tasks, and then: %w", done, n, err)
}

func (a *Service) policy(in *adminpb.QueuePolicy) (p queue.Policy, err error) {
	if in == nil {
		return p, &queue.FieldError{Field: "policy", Problem: "is missing: pass one; an empty policy sets the server's defaults"}
	}
	switch in.GetPlacement() {
	case adminpb.Placement_PLACEMENT_UNSPECIFIED, adminpb.Placement_PLACEMENT_SPREAD, adminpb.Placement_PLACEMENT_ORDERED:
	default:
		return p, &queue.FieldError{Field: "policy.placement", Problem: fmt.Sprintf("%d is not known: use SPREAD or ORDERED", in.GetPlacement())}
	}
	p = policyOf(in)
	if bad := a.limits.CheckPolicy(&p); bad != nil {
		return p, &queue.FieldError{Field: "policy." + bad.Field, Problem: bad.Problem}
	}
	return p, nil
}
