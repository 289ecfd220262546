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

// ListRecurring implements adminpb.AdminServiceServer.
func (a *Service) ListRecurring(ctx context.Context, in *adminpb.ListRecurringRequest) (*adminpb.ListRecurringResponse, error) {
	l, list, err := recurringList(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	page := func(all []*adminpb.Recurring, more bool) *adminpb.ListRecurringResponse {
		if len(all) > l.Limit {
			all, more = all[:l.Limit], true
		}
		out := &adminpb.ListRecurringResponse{Recurring: all}
		if more {
			last := all[len(all)-1]
			out.NextPageToken = call.PageToken(list, []byte(last.GetQueue()+"\x00"+last.GetName())) // names do not contain the separator
		}
		return out
	}
	here := func(ctx context.Context, _ *adminpb.ListRecurringRequest) (*adminpb.ListRecurringResponse, error) {
		one := l
		one.Limit++ // to know whether there are more
		views, err := a.shards.ListRecurring(ctx, one)
		if err != nil {
			return nil, a.refuse(err)
		}
		all := make([]*adminpb.Recurring, len(views))
		for i := range views {
			views[i].Spec.Template.Payload, views[i].Spec.Template.Headers = nil, nil
			all[i] = a.recurringMessage(&views[i])
		}
		return page(all, false), nil
	}
	if !a.router.Routes(ctx) {
		return here(ctx, in)
	}
	parts, err := route.Gather(ctx, a.router, route.AdminCall(here, adminpb.AdminServiceClient.ListRecurring).Of(in))
	if err != nil {
		return nil, err
	}
	// Each node has returned up to a full page of its first recurring tasks. The first ones of the
	// whole list are therefore among them.
	var all []*adminpb.Recurring
	more := false
	for _, part := range parts {
		all = append(all, part.GetRecurring()...)
		more = more || part.GetNextPageToken() != ""
	}
	slices.SortFunc(all, func(r, s *adminpb.Recurring) int {
		return cmp.Or(cmp.Compare(r.GetQueue(), s.GetQueue()), cmp.Compare(r.GetName(), s.GetName()))
	})
	return page(all, more), nil
}

// recurringList validates the request. list identifies the list in page tokens.
func recurringList(ctx context.Context, in *adminpb.ListRecurringRequest) (l shard.RecurringList, list uint64, err error) {
	l.Tenant, err = call.Tenant(ctx, access.Admin, in.GetTenant())
	if l.Queue = in.GetQueue(); err == nil && l.Queue != "" {
		err = call.FieldErr(queue.CheckName("queue", l.Queue))
	}
	if err != nil {
		return l, 0, err
	}
	if l.Limit, err = call.PageSize(in.GetPageSize()); err != nil {
		return l, 0, err
	}
	list = call.ListName("recurring", l.Tenant, l.Queue)
	at, err := call.ParsePageToken(list, in.GetPageToken())
	if err != nil || at == nil {
		return l, list, err
	}
	var ok bool
	if l.AfterQueue, l.AfterName, ok = strings.Cut(string(at), "\x00"); !ok {
		err = call.ErrPageToken
	}
	return l, list, err
}
