package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

type queueList struct {
	tenant                 string // "" means all
	prefix                 string // list only names with this prefix
	size                   int
	list                   uint64
	goesOn                 bool // the page starts after these names; false means the first page
	afterTenant, afterName string
}

func (a *Service) queueList(ctx context.Context, in *adminpb.ListQueuesRequest) (l queueList, err error) {
	l.tenant, err = call.TenantOrAll(ctx, access.Admin, in.GetTenant())
	if err == nil && in.GetPrefix() != "" {
		err = call.FieldErr(queue.CheckName("prefix", in.GetPrefix()))
	}
	if err != nil {
		return l, err
	}
	if l.size, err = pageSize(in.GetPageSize()); err != nil {
		return l, err
	}
	l.prefix = in.GetPrefix()
	l.list = listName("queues", l.tenant, in.GetPrefix())
	at, err := parsePageToken(l.list, in.GetPageToken())
	if err != nil {
		return l, err
	}
	l.goesOn = at != nil
	l.afterTenant, l.afterName, err = parseQueuePlace(at)
	return l, err
}

// has reports whether a queue is in the list and was not on an earlier page.
func (l *queueList) has(q *queue.Stats) bool {
	return (l.tenant == "" || q.Tenant == l.tenant) && strings.HasPrefix(q.Name, l.prefix) &&
		(!l.goesOn || cmp.Or(cmp.Compare(q.Tenant, l.afterTenant), cmp.Compare(q.Name, l.afterName)) > 0)
}

// page returns a page with the first of these queues. The argument more is true if queues exist
// that are not in all.
func (l *queueList) page(all []queue.Stats, more bool, nowMs int64) *adminpb.ListQueuesResponse {
	slices.SortFunc(all, func(p, q queue.Stats) int {
		return cmp.Or(cmp.Compare(p.Tenant, q.Tenant), cmp.Compare(p.Name, q.Name))
	})
	if len(all) > l.size {
		all, more = all[:l.size], true
	}
	out := &adminpb.ListQueuesResponse{}
	for i := range all {
		out.Queues = append(out.Queues, queueMessage(&all[i], nowMs))
	}
	if more {
		last := all[len(all)-1]
		out.NextPageToken = pageToken(l.list, queuePlace(last.Tenant, last.Name))
	}
	return out
}

// ListQueues implements adminpb.AdminServiceServer.
func (a *Service) ListQueues(ctx context.Context, in *adminpb.ListQueuesRequest) (*adminpb.ListQueuesResponse, error) {
	l, err := a.queueList(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	here := func(ctx context.Context, _ *adminpb.ListQueuesRequest) (*adminpb.ListQueuesResponse, error) {
		all, err := shard.AwaitReply(ctx, a.shards.Stats)
		if err != nil {
			return nil, a.refuse(err)
		}
		all = slices.DeleteFunc(all, func(q queue.Stats) bool { return !l.has(&q) })
		return l.page(all, false, a.shards.NowMs()), nil
	}
	if !a.router.Routes(ctx) {
		return here(ctx, in)
	}
	parts, err := route.Gather(ctx, a.router, route.AdminCall(here, adminpb.AdminServiceClient.ListQueues).Of(in))
	if err != nil {
		return nil, err
	}
	// Each node has returned up to a full page of its first queues. The first queues of the whole
	// list are therefore among them.
	nowMs, lists, more := a.shards.NowMs(), make([][]queue.Stats, len(parts)), false
	for i, part := range parts {
		for _, m := range part.GetQueues() {
			lists[i] = append(lists[i], figuresOf(m, nowMs))
		}
		more = more || part.GetNextPageToken() != ""
	}
	return l.page(shard.MergeStats(lists), more, nowMs), nil
}

// allFigures returns the statistics of all queues of all tenants. The caller must be an operator.
// Errors have a gRPC status.
func (a *Service) allFigures(ctx context.Context) ([]queue.Stats, error) {
	if !a.router.Routes(ctx) {
		all, err := shard.AwaitReply(ctx, a.shards.Stats)
		return all, a.refuse(err)
	}
	var all []queue.Stats
	in := &adminpb.ListQueuesRequest{PageSize: pageMax}
	for {
		out, err := a.ListQueues(ctx, in)
		if err != nil {
			return nil, err
		}
		nowMs := a.shards.NowMs()
		for _, m := range out.GetQueues() {
			all = append(all, figuresOf(m, nowMs))
		}
		if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
			return all, nil
		}
	}
}
