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

// RedriveDead implements adminpb.AdminServiceServer.
func (a *Service) RedriveDead(ctx context.Context, in *adminpb.RedriveDeadRequest) (*adminpb.RedriveDeadResponse, error) {
	results, n, err := a.changeDead(ctx, shard.Redrive, "redrove", in, func(ctx context.Context, c adminpb.AdminServiceClient, ids []string) ([]*queuepb.SettleResult, uint64, error) {
		out, err := c.RedriveDead(ctx, &adminpb.RedriveDeadRequest{Tenant: in.GetTenant(), Ids: ids, Queue: in.GetQueue(), Filter: in.GetFilter()})
		return out.GetResults(), out.GetRedriven(), err
	})
	if err != nil {
		return nil, err
	}
	return &adminpb.RedriveDeadResponse{Redriven: n, Results: results}, nil
}

// PurgeDead implements adminpb.AdminServiceServer.
func (a *Service) PurgeDead(ctx context.Context, in *adminpb.PurgeDeadRequest) (*adminpb.PurgeDeadResponse, error) {
	results, n, err := a.changeDead(ctx, shard.PurgeDead, "removed", in, func(ctx context.Context, c adminpb.AdminServiceClient, ids []string) ([]*queuepb.SettleResult, uint64, error) {
		out, err := c.PurgeDead(ctx, &adminpb.PurgeDeadRequest{Tenant: in.GetTenant(), Ids: ids, Queue: in.GetQueue(), Filter: in.GetFilter()})
		return out.GetResults(), out.GetRemoved(), err
	})
	if err != nil {
		return nil, err
	}
	return &adminpb.PurgeDeadResponse{Removed: n, Results: results}, nil
}

// choice is a request that selects dead tasks, either by their ids or by a queue and a filter.
type choice interface {
	GetTenant() string
	GetIds() []string
	GetQueue() string
	GetFilter() *adminpb.DeadFilter
}

// chosen validates a choice. It returns the tenant and, if the choice has no ids, a function that
// reports whether a dead task of the queue is selected.
func (a *Service) chosen(ctx context.Context, in choice) (tenant string, match func(*shard.Found) bool, err error) {
	if tenant, err = call.Tenant(ctx, access.Admin, in.GetTenant()); err != nil {
		return "", nil, err
	}
	if len(in.GetIds()) > 0 {
		switch {
		case in.GetQueue() != "":
			err = &queue.FieldError{Field: "queue", Problem: "is set together with ids: set one of them"}
		case in.GetFilter() != nil:
			err = &queue.FieldError{Field: "filter", Problem: "is set together with ids: it chooses among a queue's dead tasks"}
		}
		return tenant, nil, err
	}
	if in.GetQueue() == "" {
		return "", nil, &queue.FieldError{Field: "queue", Problem: "is empty, and so is ids: set one of them"}
	}
	if err := call.FieldErr(queue.CheckName("queue", in.GetQueue())); err != nil {
		return "", nil, err
	}
	match, err = a.match(in.GetFilter())
	return tenant, match, err
}

// changeDead applies a change to the chosen dead tasks. If the choice has ids, it returns a result
// for each id; otherwise it changes tasks of a queue. The argument done is the verb for messages.
// The function there makes the call at another node, with some of the ids or without ids.
func (a *Service) changeDead(ctx context.Context, what shard.Change, done string, in choice,
	there func(context.Context, adminpb.AdminServiceClient, []string) ([]*queuepb.SettleResult, uint64, error),
) ([]*queuepb.SettleResult, uint64, error) {
	tenant, match, err := a.chosen(ctx, in)
	if err != nil {
		return nil, 0, a.refuse(err)
	}
	if len(in.GetIds()) > 0 {
		return a.change(ctx, what, tenant, in.GetIds(), func(ctx context.Context, c adminpb.AdminServiceClient, ids []string) ([]*queuepb.SettleResult, error) {
			results, _, err := there(ctx, c, ids)
			return results, err
		})
	}
	n, err := a.countAll(ctx, done,
		func(ctx context.Context) (uint64, error) {
			until := a.shards.NowMs() // a task that dies during the call is not redriven again
			return a.shards.ChangeDead(ctx, what, tenant, in.GetQueue(), func(d *shard.Found) bool {
				return d.DeadRecord.DiedAtMs <= until && match(d)
			})
		},
		func(ctx context.Context, c adminpb.AdminServiceClient) (uint64, error) {
			_, n, err := there(ctx, c, nil)
			return n, err
		})
	return nil, n, err
}
