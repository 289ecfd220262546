package admin

import (
	"context"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// CancelTasks implements the call.
func (a *Service) CancelTasks(ctx context.Context, in *adminpb.CancelTasksRequest) (*adminpb.CancelTasksResponse, error) {
	if !a.router.Routes(ctx) {
		return a.cancelTasksHere(ctx, in)
	}
	cancel := route.AdminCall(a.cancelTasksHere, adminpb.AdminServiceClient.CancelTasks)
	results, err := a.changeAll(ctx, in.GetTenant(), in.GetIds(), func(ctx context.Context, at *route.Target, ids []string) ([]*queuepb.SettleResult, error) {
		out, err := cancel.At(ctx, at, &adminpb.CancelTasksRequest{Tenant: in.GetTenant(), Ids: ids})
		return out.GetResults(), err
	})
	return &adminpb.CancelTasksResponse{Results: results}, err
}

// changeAll changes single tasks, each at its shard's leader.
func (a *Service) changeAll(ctx context.Context, tenant string, ids []string, do func(context.Context, *route.Target, []string) ([]*queuepb.SettleResult, error)) ([]*queuepb.SettleResult, error) {
	_, err := adminTenant(ctx, tenant)
	if err == nil {
		_, _, _, err = a.ids(ids)
	}
	if err != nil {
		return nil, call.Status(err)
	}
	return route.Spread(ctx, a.router, route.SettleBatch(func(id string) string { return id }, do), ids)
}

func accepted(results []*queuepb.SettleResult) (n uint64) {
	for _, r := range results {
		if r.GetError() == nil {
			n++
		}
	}
	return n
}

// RedriveDead implements the call.
func (a *Service) RedriveDead(ctx context.Context, in *adminpb.RedriveDeadRequest) (*adminpb.RedriveDeadResponse, error) {
	if !a.router.Routes(ctx) {
		return a.redriveDeadHere(ctx, in)
	}
	redrive := route.AdminCall(a.redriveDeadHere, adminpb.AdminServiceClient.RedriveDead)
	if err := a.checkChoice(ctx, in); err != nil {
		return nil, call.Status(err)
	}
	if len(in.GetIds()) > 0 {
		results, err := a.changeAll(ctx, in.GetTenant(), in.GetIds(), func(ctx context.Context, at *route.Target, ids []string) ([]*queuepb.SettleResult, error) {
			out, err := redrive.At(ctx, at, &adminpb.RedriveDeadRequest{Tenant: in.GetTenant(), Ids: ids})
			return out.GetResults(), err
		})
		return &adminpb.RedriveDeadResponse{Redriven: accepted(results), Results: results}, err
	}
	n, err := a.countAll(ctx, "redrove", func(ctx context.Context, at *route.Target) (uint64, error) {
		out, err := redrive.At(ctx, at, in)
		return out.GetRedriven(), err
	})
	return &adminpb.RedriveDeadResponse{Redriven: n}, err
}

// PurgeDead implements the call.
func (a *Service) PurgeDead(ctx context.Context, in *adminpb.PurgeDeadRequest) (*adminpb.PurgeDeadResponse, error) {
	if !a.router.Routes(ctx) {
		return a.purgeDeadHere(ctx, in)
	}
	purge := route.AdminCall(a.purgeDeadHere, adminpb.AdminServiceClient.PurgeDead)
	if err := a.checkChoice(ctx, in); err != nil {
		return nil, call.Status(err)
	}
	if len(in.GetIds()) > 0 {
		results, err := a.changeAll(ctx, in.GetTenant(), in.GetIds(), func(ctx context.Context, at *route.Target, ids []string) ([]*queuepb.SettleResult, error) {
			out, err := purge.At(ctx, at, &adminpb.PurgeDeadRequest{Tenant: in.GetTenant(), Ids: ids})
			return out.GetResults(), err
		})
		return &adminpb.PurgeDeadResponse{Removed: accepted(results), Results: results}, err
	}
	n, err := a.countAll(ctx, "removed", func(ctx context.Context, at *route.Target) (uint64, error) {
		out, err := purge.At(ctx, at, in)
		return out.GetRemoved(), err
	})
	return &adminpb.PurgeDeadResponse{Removed: n}, err
}

// ListTasks implements the call.
func (a *Service) ListTasks(ctx context.Context, in *adminpb.ListTasksRequest) (*adminpb.ListTasksResponse, error) {
	if !a.router.Routes(ctx) {
		return a.listTasksHere(ctx, in)
	}
	l, err := a.taskList(ctx, in)
	if err != nil {
		return nil, call.Status(err)
	}
	list, out := route.AdminCall(a.listTasksHere, adminpb.AdminServiceClient.ListTasks), &adminpb.ListTasksResponse{}
	out.NextPageToken, err = a.listAll(ctx, l, in.GetPageSize(), in.GetPageToken(), func(ctx context.Context, at *route.Target, size uint32, token string) (tasks, bytes int, next string, err error) {
		part := &adminpb.ListTasksRequest{Tenant: in.GetTenant(), Queue: in.GetQueue(), State: in.GetState(), PageSize: size, PageToken: token}
		page, err := list.At(ctx, at, part)
		out.Tasks = append(out.Tasks, page.GetTasks()...)
		for _, t := range page.GetTasks() {
			bytes += call.TaskBytes(t)
		}
		return len(page.GetTasks()), bytes, page.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ListDead implements the call.
func (a *Service) ListDead(ctx context.Context, in *adminpb.ListDeadRequest) (*adminpb.ListDeadResponse, error) {
	if !a.router.Routes(ctx) {
		return a.listDeadHere(ctx, in)
	}
	l, err := a.deadList(ctx, in)
	if err != nil {
		return nil, call.Status(err)
	}
	list, out := route.AdminCall(a.listDeadHere, adminpb.AdminServiceClient.ListDead), &adminpb.ListDeadResponse{}
	out.NextPageToken, err = a.listAll(ctx, l, in.GetPageSize(), in.GetPageToken(), func(ctx context.Context, at *route.Target, size uint32, token string) (tasks, bytes int, next string, err error) {
		part := &adminpb.ListDeadRequest{Tenant: in.GetTenant(), Queue: in.GetQueue(), Filter: in.GetFilter(), PageSize: size, PageToken: token}
		page, err := list.At(ctx, at, part)
		out.Tasks = append(out.Tasks, page.GetTasks()...)
		for _, t := range page.GetTasks() {
			bytes += call.TaskBytes(t.GetTask())
			for _, attempt := range t.GetAttempts() {
				bytes += len(attempt.GetError())
			}
		}
		return len(page.GetTasks()), bytes, page.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// listMoreBytesMax is how many bytes a page may have when the next shard's tasks are added to it.
const listMoreBytesMax = 256 << 10

// listAll lists shard after shard, each at its leader, until the page is full. page asks for a page of one shard, keeps
// it, and returns how many tasks and bytes it has.
func (a *Service) listAll(ctx context.Context, l shard.List, size uint32, token string,
	page func(ctx context.Context, at *route.Target, size uint32, token string) (tasks, bytes int, next string, err error),
) (next string, err error) {
	left, err := pageSize(size)
	if err != nil {
		return "", call.Status(err)
	}
	list := taskListName(&l)
	at, err := parsePageToken(list, token)
	if err != nil {
		return "", call.Status(err)
	}
	place := parseTaskPlace(at)
	if place.Shard >= a.router.Shards() {
		return "", call.Status(errPageToken)
	}
	has, bytes := len(at) > 0, 0 // a page that is not the first is of a queue that is there
	for ; place.Shard < a.router.Shards(); place = (shard.ListPlace{Shard: place.Shard + 1}) {
		if left <= 0 || bytes > listMoreBytesMax {
			return pageToken(list, taskPlace(&place)), nil
		}
		next, err := route.Follow(ctx, a.router, place.Shard, true, route.ForwardMax, func(ctx context.Context, at *route.Target) (string, error) {
			tasks, more, next, err := page(ctx, at, uint32(left), pageToken(list, taskPlace(&place)))
			left -= tasks
			bytes += more
			return next, err
		})
		switch {
		case route.IsAbsent(err):
			continue
		case err != nil:
			return "", err
		case next != "":
			return next, nil
		}
		has = true
	}
	if !has {
		return "", call.Status(shard.ErrNoQueue)
	}
	return "", nil
}

// checkChoice refuses a choice of dead tasks that no node would take.
func (a *Service) checkChoice(ctx context.Context, in choice) error {
	_, _, err := a.chosen(ctx, in)
	return err
}
