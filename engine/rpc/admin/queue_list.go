package admin

import (
	"context"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// queueList is a page of a list of queues. Its name is that of the list in page tokens.
type queueList struct {
	queue.QueueList
	name uint64
}

func (a *Service) queueList(ctx context.Context, in *adminpb.ListQueuesRequest) (l queueList, err error) {
	l.Tenant, err = call.TenantOrAll(ctx, access.Admin, in.GetTenant())
	if err == nil && in.GetPrefix() != "" {
		err = call.FieldErr(queue.CheckName("prefix", in.GetPrefix()))
	}
	if err != nil {
		return l, err
	}
	if l.Limit, err = call.PageSize(in.GetPageSize()); err != nil {
		return l, err
	}
	l.Prefix = in.GetPrefix()
	l.name = call.ListName("queues", l.Tenant, in.GetPrefix())
	l.After, err = l.place(in.GetPageToken())
	return l, err
}

// place returns the position of a page token, or nil for an empty token.
func (l *queueList) place(token string) (*queue.Name, error) {
	at, err := call.ParsePageToken(l.name, token)
	if err != nil || at == nil {
		return nil, err
	}
	return parseQueuePlace(at)
}

func (l *queueList) message(page shard.QueuePage, nowMs int64) *adminpb.ListQueuesResponse {
	out := &adminpb.ListQueuesResponse{}
	for i := range page.Queues {
		out.Queues = append(out.Queues, queueMessage(&page.Queues[i], nowMs))
	}
	if page.End != nil {
		out.NextPageToken = call.PageToken(l.name, queuePlace(*page.End))
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
		page, err := shard.AwaitReply(ctx, func(reply func(shard.QueuePage, error)) error { return a.shards.ListQueues(l.QueueList, reply) })
		if err != nil {
			return nil, a.refuse(err)
		}
		return l.message(page, a.shards.NowMs()), nil
	}
	if !a.router.Routes(ctx) {
		return here(ctx, in)
	}
	parts, err := route.Gather(ctx, a.router, route.AdminCall(here, adminpb.AdminServiceClient.ListQueues).Of(in))
	if err != nil {
		return nil, err
	}
	nowMs, pages := a.shards.NowMs(), make([]shard.QueuePage, len(parts))
	for i, part := range parts {
		for _, m := range part.GetQueues() {
			pages[i].Queues = append(pages[i].Queues, figuresOf(m, nowMs))
		}
		if pages[i].End, err = l.place(part.GetNextPageToken()); err != nil {
			return nil, a.refuse(err)
		}
	}
	return l.message(shard.MergePages(pages, l.Limit), nowMs), nil
}

// allFigures returns the statistics of all queues of all tenants. The caller must be an operator.
// Errors have a gRPC status.
func (a *Service) allFigures(ctx context.Context) ([]queue.Stats, error) {
	if !a.router.Routes(ctx) {
		all, err := shard.AwaitReply(ctx, a.shards.Stats)
		return all, a.refuse(err)
	}
	var all []queue.Stats
	in := &adminpb.ListQueuesRequest{PageSize: call.PageMax}
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
