package rpc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// The calls of the admin service. Without a cluster, and where another node handed a call on, they are carried out here.
// Otherwise they go to all nodes that lead shards, or to those that lead the shards in question. Tenants and tokens
// are those of the first shard's leader.

// ofRegistry carries a call on tenants or tokens out.
func ofRegistry[Q, R any](ctx context.Context, a *Admin, in Q, reading bool, here func(context.Context, Q) (R, error), there func(context.Context, *site) (R, error)) (R, error) {
	var none R
	if a.router == nil {
		return here(ctx, in)
	}
	if _, err := allowed(ctx, access.Admin); err != nil {
		return none, statusOf(err)
	}
	local := here
	here = func(ctx context.Context, in Q) (R, error) { // others' registries follow, and are not to be changed
		if !slices.Contains(a.shards.Led(), 0) {
			return none, a.refuse(&shard.NotLeaderError{})
		}
		return local(ctx, in)
	}
	if !a.router.routes(ctx) {
		return here(ctx, in)
	}
	return follow(ctx, a.router, 0, reading, forwardMax, func(ctx context.Context, at *site) (R, error) {
		if at.here() {
			return here(ctx, in)
		}
		return there(ctx, at)
	})
}

// CreateToken implements the call.
func (a *Admin) CreateToken(ctx context.Context, in *adminpb.CreateTokenRequest) (*adminpb.CreateTokenResponse, error) {
	return ofRegistry(ctx, a, in, false, a.createTokenHere, func(ctx context.Context, at *site) (*adminpb.CreateTokenResponse, error) {
		return at.admin().CreateToken(ctx, in)
	})
}

// ListTokens implements the call.
func (a *Admin) ListTokens(ctx context.Context, in *adminpb.ListTokensRequest) (*adminpb.ListTokensResponse, error) {
	return ofRegistry(ctx, a, in, true, a.listTokensHere, func(ctx context.Context, at *site) (*adminpb.ListTokensResponse, error) {
		return at.admin().ListTokens(ctx, in)
	})
}

// RotateToken implements the call.
func (a *Admin) RotateToken(ctx context.Context, in *adminpb.RotateTokenRequest) (*adminpb.RotateTokenResponse, error) {
	return ofRegistry(ctx, a, in, false, a.rotateTokenHere, func(ctx context.Context, at *site) (*adminpb.RotateTokenResponse, error) {
		return at.admin().RotateToken(ctx, in)
	})
}

// RevokeToken implements the call.
func (a *Admin) RevokeToken(ctx context.Context, in *adminpb.RevokeTokenRequest) (*adminpb.RevokeTokenResponse, error) {
	return ofRegistry(ctx, a, in, false, a.revokeTokenHere, func(ctx context.Context, at *site) (*adminpb.RevokeTokenResponse, error) {
		return at.admin().RevokeToken(ctx, in)
	})
}

// ConfigureTenant implements the call.
func (a *Admin) ConfigureTenant(ctx context.Context, in *adminpb.ConfigureTenantRequest) (*adminpb.ConfigureTenantResponse, error) {
	out, err := ofRegistry(ctx, a, in, true, a.configureTenantHere, func(ctx context.Context, at *site) (*adminpb.ConfigureTenantResponse, error) {
		return at.admin().ConfigureTenant(ctx, in)
	})
	if err != nil || !a.router.routes(ctx) {
		return out, err
	}
	all, err := a.tenants(ctx)
	for _, t := range all {
		if t.GetTenant() == out.GetTenant().GetTenant() {
			t.Quotas = out.GetTenant().GetQuotas()
			out.Tenant = t
		}
	}
	return out, err
}

// ListTenants implements the call.
func (a *Admin) ListTenants(ctx context.Context, in *adminpb.ListTenantsRequest) (*adminpb.ListTenantsResponse, error) {
	if !a.router.routes(ctx) {
		return a.listTenantsHere(ctx, in)
	}
	if _, err := operatorOf(ctx); err != nil {
		return nil, statusOf(err)
	}
	all, err := a.tenants(ctx)
	return &adminpb.ListTenantsResponse{Tenants: all}, err
}

// tenants returns the tenants of the cluster, by name. What a tenant holds is the sum of what it holds at each leader.
func (a *Admin) tenants(ctx context.Context) ([]*adminpb.Tenant, error) {
	parts, err := gatherNodes(ctx, a.router, func(ctx context.Context, at *site) (*adminpb.ListTenantsResponse, error) {
		if at.here() {
			return a.listTenantsHere(ctx, &adminpb.ListTenantsRequest{})
		}
		return at.admin().ListTenants(ctx, &adminpb.ListTenantsRequest{})
	})
	if err != nil {
		return nil, err
	}
	queues, err := a.allQueues(ctx)
	if err != nil {
		return nil, err
	}
	named := map[string]*adminpb.Tenant{}
	var out []*adminpb.Tenant
	for _, part := range parts {
		for _, t := range part.GetTenants() {
			sum := named[t.GetTenant()]
			if sum == nil {
				t.Queues = 0
				named[t.GetTenant()] = t
				out = append(out, t)
				continue
			}
			sum.Tasks += t.GetTasks()
			sum.Bytes += t.GetBytes()
			sum.Leases += t.GetLeases()
		}
	}
	for _, q := range queues {
		if t := named[q.GetTenant()]; t != nil {
			t.Queues++
		}
	}
	slices.SortFunc(out, func(s, t *adminpb.Tenant) int { return cmp.Compare(s.GetTenant(), t.GetTenant()) })
	return out, nil
}

// notReadyMax is how long a node that is not ready looks for the cluster's figures.
const notReadyMax = 500 * time.Millisecond

// GetStatus implements the call. The tasks are the cluster's, all else is this node's.
func (a *Admin) GetStatus(ctx context.Context, in *adminpb.GetStatusRequest) (*adminpb.GetStatusResponse, error) {
	if !a.router.routes(ctx) {
		return a.getStatusHere(ctx, in)
	}
	if _, err := operatorOf(ctx); err != nil {
		return nil, statusOf(err)
	}
	out := a.statusHere()
	if !out.GetReady() { // it is to say so at once
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, notReadyMax)
		defer done()
	}
	queues, err := a.allQueues(ctx)
	if err != nil { // a server that is not ready can still say so
		if out.GetReady() {
			return nil, err
		}
		return out, nil
	}
	out.Queues = uint64(len(queues))
	for _, q := range queues {
		out.Tasks += q.GetReady() + q.GetDelayed() + q.GetLeased() + q.GetDead()
	}
	return out, nil
}

// allQueues returns all queues of all tenants, for an operator.
func (a *Admin) allQueues(ctx context.Context) (all []*adminpb.Queue, err error) {
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
func (a *Admin) ListQueues(ctx context.Context, in *adminpb.ListQueuesRequest) (*adminpb.ListQueuesResponse, error) {
	if !a.router.routes(ctx) {
		return a.listQueuesHere(ctx, in)
	}
	ask, err := a.queueList(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	parts, err := gatherNodes(ctx, a.router, func(ctx context.Context, at *site) (*adminpb.ListQueuesResponse, error) {
		if at.here() {
			return a.listQueuesHere(ctx, in)
		}
		return at.admin().ListQueues(ctx, in)
	})
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
func (a *Admin) GetQueue(ctx context.Context, in *adminpb.GetQueueRequest) (*adminpb.GetQueueResponse, error) {
	if !a.router.routes(ctx) {
		return a.getQueueHere(ctx, in)
	}
	if _, err := target(ctx, in.GetTenant(), in.GetQueue()); err != nil {
		return nil, statusOf(err)
	}
	parts, err := gatherNodes(ctx, a.router, func(ctx context.Context, at *site) (out *adminpb.GetQueueResponse, err error) {
		if at.here() {
			out, err = a.getQueueHere(ctx, in)
		} else {
			out, err = at.admin().GetQueue(ctx, in)
		}
		if absent(err) {
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
		return nil, statusOf(shard.ErrNoQueue)
	}
	return &adminpb.GetQueueResponse{Queue: mergeQueues(lists)[0]}, nil
}

// ConfigureQueue implements the call. The first shard's leader goes first: what it refuses holds nowhere.
func (a *Admin) ConfigureQueue(ctx context.Context, in *adminpb.ConfigureQueueRequest) (*adminpb.ConfigureQueueResponse, error) {
	if !a.router.routes(ctx) {
		return a.configureQueueHere(ctx, in)
	}
	_, err := target(ctx, in.GetTenant(), in.GetQueue())
	if err == nil {
		_, err = a.policy(in.GetPolicy())
	}
	if err != nil {
		return nil, statusOf(err)
	}
	err = a.router.cover(ctx, true, func(ctx context.Context, at *site) error {
		var err error
		if at.here() {
			_, err = a.configureQueueHere(ctx, in)
		} else {
			_, err = at.admin().ConfigureQueue(ctx, in)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	q, err := a.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: in.GetTenant(), Queue: in.GetQueue()})
	return &adminpb.ConfigureQueueResponse{Queue: q.GetQueue()}, err
}

// PauseQueue implements the call.
func (a *Admin) PauseQueue(ctx context.Context, in *adminpb.PauseQueueRequest) (*adminpb.PauseQueueResponse, error) {
	if !a.router.routes(ctx) {
		return a.pauseQueueHere(ctx, in)
	}
	err := a.pauseAll(ctx, in.GetTenant(), in.GetQueue(), func(ctx context.Context, at *site) error {
		var err error
		if at.here() {
			_, err = a.pauseQueueHere(ctx, in)
		} else {
			_, err = at.admin().PauseQueue(ctx, in)
		}
		return err
	})
	return &adminpb.PauseQueueResponse{}, err
}

// ResumeQueue implements the call.
func (a *Admin) ResumeQueue(ctx context.Context, in *adminpb.ResumeQueueRequest) (*adminpb.ResumeQueueResponse, error) {
	if !a.router.routes(ctx) {
		return a.resumeQueueHere(ctx, in)
	}
	err := a.pauseAll(ctx, in.GetTenant(), in.GetQueue(), func(ctx context.Context, at *site) error {
		var err error
		if at.here() {
			_, err = a.resumeQueueHere(ctx, in)
		} else {
			_, err = at.admin().ResumeQueue(ctx, in)
		}
		return err
	})
	return &adminpb.ResumeQueueResponse{}, err
}

// pauseAll pauses or resumes a queue in all shards, if it is in one.
func (a *Admin) pauseAll(ctx context.Context, tenant, name string, do func(context.Context, *site) error) error {
	if _, err := a.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: tenant, Queue: name}); err != nil {
		return err
	}
	return a.router.cover(ctx, true, do)
}

// PurgeQueue implements the call.
func (a *Admin) PurgeQueue(ctx context.Context, in *adminpb.PurgeQueueRequest) (*adminpb.PurgeQueueResponse, error) {
	if !a.router.routes(ctx) {
		return a.purgeQueueHere(ctx, in)
	}
	if _, err := target(ctx, in.GetTenant(), in.GetQueue()); err != nil {
		return nil, statusOf(err)
	}
	n, err := a.countAll(ctx, "removed", func(ctx context.Context, at *site) (uint64, error) {
		if at.here() {
			out, err := a.purgeQueueHere(ctx, in)
			return out.GetRemoved(), err
		}
		out, err := at.admin().PurgeQueue(ctx, in)
		return out.GetRemoved(), err
	})
	if err != nil {
		return nil, err
	}
	return &adminpb.PurgeQueueResponse{Removed: n}, nil
}

// countAll has all leaders change tasks of a queue, and returns how many they changed.
func (a *Admin) countAll(ctx context.Context, what string, do func(context.Context, *site) (uint64, error)) (sum uint64, err error) {
	has := false
	err = a.router.cover(ctx, false, func(ctx context.Context, at *site) error {
		n, err := do(ctx, at)
		if absent(err) {
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
		err = statusOf(shard.ErrNoQueue)
	}
	return sum, err
}

// CancelTasks implements the call.
func (a *Admin) CancelTasks(ctx context.Context, in *adminpb.CancelTasksRequest) (*adminpb.CancelTasksResponse, error) {
	if !a.router.routes(ctx) {
		return a.cancelTasksHere(ctx, in)
	}
	results, err := a.changeAll(ctx, in.GetTenant(), in.GetIds(), func(ctx context.Context, at *site, ids []string) ([]*queuepb.SettleResult, error) {
		part := &adminpb.CancelTasksRequest{Tenant: in.GetTenant(), Ids: ids}
		if at.here() {
			out, err := a.cancelTasksHere(ctx, part)
			return out.GetResults(), err
		}
		out, err := at.admin().CancelTasks(ctx, part)
		return out.GetResults(), err
	})
	return &adminpb.CancelTasksResponse{Results: results}, err
}

// changeAll changes single tasks, each at its shard's leader.
func (a *Admin) changeAll(ctx context.Context, tenant string, ids []string, do func(context.Context, *site, []string) ([]*queuepb.SettleResult, error)) ([]*queuepb.SettleResult, error) {
	_, err := adminTenant(ctx, tenant)
	if err == nil {
		_, _, _, err = a.ids(ids)
	}
	if err != nil {
		return nil, statusOf(err)
	}
	return spread(ctx, a.router, settleBatch(func(id string) string { return id }, do), ids)
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
func (a *Admin) RedriveDead(ctx context.Context, in *adminpb.RedriveDeadRequest) (*adminpb.RedriveDeadResponse, error) {
	if !a.router.routes(ctx) {
		return a.redriveDeadHere(ctx, in)
	}
	redrive := func(ctx context.Context, at *site, in *adminpb.RedriveDeadRequest) (*adminpb.RedriveDeadResponse, error) {
		if at.here() {
			return a.redriveDeadHere(ctx, in)
		}
		return at.admin().RedriveDead(ctx, in)
	}
	if err := a.checkChoice(ctx, in); err != nil {
		return nil, statusOf(err)
	}
	if len(in.GetIds()) > 0 {
		results, err := a.changeAll(ctx, in.GetTenant(), in.GetIds(), func(ctx context.Context, at *site, ids []string) ([]*queuepb.SettleResult, error) {
			out, err := redrive(ctx, at, &adminpb.RedriveDeadRequest{Tenant: in.GetTenant(), Ids: ids})
			return out.GetResults(), err
		})
		return &adminpb.RedriveDeadResponse{Redriven: accepted(results), Results: results}, err
	}
	n, err := a.countAll(ctx, "redrove", func(ctx context.Context, at *site) (uint64, error) {
		out, err := redrive(ctx, at, in)
		return out.GetRedriven(), err
	})
	return &adminpb.RedriveDeadResponse{Redriven: n}, err
}

// PurgeDead implements the call.
func (a *Admin) PurgeDead(ctx context.Context, in *adminpb.PurgeDeadRequest) (*adminpb.PurgeDeadResponse, error) {
	if !a.router.routes(ctx) {
		return a.purgeDeadHere(ctx, in)
	}
	purge := func(ctx context.Context, at *site, in *adminpb.PurgeDeadRequest) (*adminpb.PurgeDeadResponse, error) {
		if at.here() {
			return a.purgeDeadHere(ctx, in)
		}
		return at.admin().PurgeDead(ctx, in)
	}
	if err := a.checkChoice(ctx, in); err != nil {
		return nil, statusOf(err)
	}
	if len(in.GetIds()) > 0 {
		results, err := a.changeAll(ctx, in.GetTenant(), in.GetIds(), func(ctx context.Context, at *site, ids []string) ([]*queuepb.SettleResult, error) {
			out, err := purge(ctx, at, &adminpb.PurgeDeadRequest{Tenant: in.GetTenant(), Ids: ids})
			return out.GetResults(), err
		})
		return &adminpb.PurgeDeadResponse{Removed: accepted(results), Results: results}, err
	}
	n, err := a.countAll(ctx, "removed", func(ctx context.Context, at *site) (uint64, error) {
		out, err := purge(ctx, at, in)
		return out.GetRemoved(), err
	})
	return &adminpb.PurgeDeadResponse{Removed: n}, err
}

// ListTasks implements the call.
func (a *Admin) ListTasks(ctx context.Context, in *adminpb.ListTasksRequest) (*adminpb.ListTasksResponse, error) {
	if !a.router.routes(ctx) {
		return a.listTasksHere(ctx, in)
	}
	l, err := a.taskList(ctx, in)
	if err != nil {
		return nil, statusOf(err)
	}
	out := &adminpb.ListTasksResponse{}
	out.NextPageToken, err = a.listAll(ctx, l, in.GetPageSize(), in.GetPageToken(), func(ctx context.Context, at *site, size uint32, token string) (tasks, bytes int, next string, err error) {
		part := &adminpb.ListTasksRequest{Tenant: in.GetTenant(), Queue: in.GetQueue(), State: in.GetState(), PageSize: size, PageToken: token}
		var page *adminpb.ListTasksResponse
		if at.here() {
			page, err = a.listTasksHere(ctx, part)
		} else {
			page, err = at.admin().ListTasks(ctx, part)
		}
		out.Tasks = append(out.Tasks, page.GetTasks()...)
		for _, t := range page.GetTasks() {
			bytes += taskBytes(t)
		}
		return len(page.GetTasks()), bytes, page.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ListDead implements the call.
func (a *Admin) ListDead(ctx context.Context, in *adminpb.ListDeadRequest) (*adminpb.ListDeadResponse, error) {
	if !a.router.routes(ctx) {
		return a.listDeadHere(ctx, in)
	}
	l, err := a.deadList(ctx, in)
	if err != nil {
		return nil, statusOf(err)
	}
	out := &adminpb.ListDeadResponse{}
	out.NextPageToken, err = a.listAll(ctx, l, in.GetPageSize(), in.GetPageToken(), func(ctx context.Context, at *site, size uint32, token string) (tasks, bytes int, next string, err error) {
		part := &adminpb.ListDeadRequest{Tenant: in.GetTenant(), Queue: in.GetQueue(), Filter: in.GetFilter(), PageSize: size, PageToken: token}
		var page *adminpb.ListDeadResponse
		if at.here() {
			page, err = a.listDeadHere(ctx, part)
		} else {
			page, err = at.admin().ListDead(ctx, part)
		}
		out.Tasks = append(out.Tasks, page.GetTasks()...)
		for _, t := range page.GetTasks() {
			bytes += taskBytes(t.GetTask())
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
func (a *Admin) listAll(ctx context.Context, l shard.List, size uint32, token string,
	page func(ctx context.Context, at *site, size uint32, token string) (tasks, bytes int, next string, err error),
) (next string, err error) {
	left, err := pageSize(size)
	if err != nil {
		return "", statusOf(err)
	}
	list := taskListName(&l)
	at, err := parsePageToken(list, token)
	if err != nil {
		return "", statusOf(err)
	}
	place := parseTaskPlace(at)
	if place.Shard >= a.router.shards {
		return "", statusOf(errPageToken)
	}
	has, bytes := len(at) > 0, 0 // a page that is not the first is of a queue that is there
	for ; place.Shard < a.router.shards; place = (shard.ListPlace{Shard: place.Shard + 1}) {
		if left <= 0 || bytes > listMoreBytesMax {
			return pageToken(list, taskPlace(&place)), nil
		}
		next, err := follow(ctx, a.router, place.Shard, true, forwardMax, func(ctx context.Context, at *site) (string, error) {
			tasks, more, next, err := page(ctx, at, uint32(left), pageToken(list, taskPlace(&place)))
			left -= tasks
			bytes += more
			return next, err
		})
		switch {
		case absent(err):
			continue
		case err != nil:
			return "", err
		case next != "":
			return next, nil
		}
		has = true
	}
	if !has {
		return "", statusOf(shard.ErrNoQueue)
	}
	return "", nil
}

// checkChoice refuses a choice of dead tasks that no node would take.
func (a *Admin) checkChoice(ctx context.Context, in choice) error {
	_, _, err := a.chosen(ctx, in)
	return err
}
