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

// tenantList is a page of the list of tenants.
type tenantList struct {
	tenant string // only this one, or "" for all
	after  string // only tenants after this one
	limit  int
}

// tenantsName is the name of the list in page tokens.
var tenantsName = call.ListName("tenants")

func tenantListOf(in *adminpb.ListTenantsRequest) (l tenantList, err error) {
	if l.tenant = in.GetTenant(); l.tenant != "" {
		if err := call.FieldErr(queue.CheckName("tenant", l.tenant)); err != nil {
			return l, err
		}
	}
	if l.limit, err = call.PageSize(in.GetPageSize()); err != nil {
		return l, err
	}
	at, err := call.ParsePageToken(tenantsName, in.GetPageToken())
	l.after = string(at)
	return l, err
}

func (l *tenantList) message(tenants []*adminpb.Tenant, more bool) *adminpb.ListTenantsResponse {
	if len(tenants) > l.limit {
		tenants, more = tenants[:l.limit], true
	}
	out := &adminpb.ListTenantsResponse{Tenants: tenants}
	if more {
		out.NextPageToken = call.PageToken(tenantsName, []byte(tenants[len(tenants)-1].GetTenant()))
	}
	return out
}

// ListTenants implements adminpb.AdminServiceServer. It reads only the tenants of the page, and the
// queues of these tenants.
func (a *Service) ListTenants(ctx context.Context, in *adminpb.ListTenantsRequest) (*adminpb.ListTenantsResponse, error) {
	by, err := call.Operator(ctx)
	if err != nil {
		return nil, a.refuse(err)
	}
	l, err := tenantListOf(in)
	if err != nil {
		return nil, a.refuse(err)
	}
	here := func(_ context.Context, _ *adminpb.ListTenantsRequest) (*adminpb.ListTenantsResponse, error) {
		out, err := a.listTenantsHere(by, &l)
		return out, a.refuse(err)
	}
	if a.forwarded(ctx) {
		return here(ctx, in)
	}
	var out *adminpb.ListTenantsResponse
	if a.router == nil {
		out, err = here(ctx, in)
	} else {
		var parts []*adminpb.ListTenantsResponse
		parts, err = route.Gather(ctx, a.router, route.AdminCall(here, adminpb.AdminServiceClient.ListTenants).Of(in))
		out = l.merge(parts)
	}
	if err != nil {
		return nil, err
	}
	return out, a.countQueues(ctx, out.GetTenants())
}

func (a *accessAdmin) listTenantsHere(by *access.Identity, l *tenantList) (*adminpb.ListTenantsResponse, error) {
	if l.tenant != "" {
		t, ok, err := a.registry.Tenant(by, l.tenant)
		if err != nil || !ok {
			return &adminpb.ListTenantsResponse{}, err
		}
		return l.message([]*adminpb.Tenant{tenantMessage(t)}, false), nil
	}
	page, more, err := a.registry.Tenants(by, l.after, l.limit)
	if err != nil {
		return nil, err
	}
	tenants := make([]*adminpb.Tenant, len(page))
	for i, t := range page {
		tenants[i] = tenantMessage(t)
	}
	return l.message(tenants, more), nil
}

// merge returns the page of the cluster from those of the nodes. The usage of a tenant is the sum
// over all nodes. Each node has returned its first tenants, so a tenant of the merged page is on the
// page of each node that has it.
func (l *tenantList) merge(parts []*adminpb.ListTenantsResponse) *adminpb.ListTenantsResponse {
	named := map[string]*adminpb.Tenant{}
	var all []*adminpb.Tenant
	more := false
	for _, part := range parts {
		more = more || part.GetNextPageToken() != ""
		for _, t := range part.GetTenants() {
			sum := named[t.GetTenant()]
			if sum == nil {
				named[t.GetTenant()] = t
				all = append(all, t)
				continue
			}
			sum.Tasks += t.GetTasks()
			sum.Bytes += t.GetBytes()
			sum.Leases += t.GetLeases()
		}
	}
	slices.SortFunc(all, func(s, t *adminpb.Tenant) int { return cmp.Compare(s.GetTenant(), t.GetTenant()) })
	return l.message(all, more)
}

// countQueues sets the numbers of queues of some tenants, which are in the order of their names and
// adjacent in it. Each page of queues is twice as large as the one before, so that at most about
// half of the visited queues belong to later tenants.
func (a *Service) countQueues(ctx context.Context, tenants []*adminpb.Tenant) error {
	if len(tenants) == 0 {
		return nil
	}
	first, last := tenants[0].GetTenant(), tenants[len(tenants)-1].GetTenant()
	in := &adminpb.ListQueuesRequest{
		PageSize:  uint32(len(tenants)),
		PageToken: call.PageToken(call.ListName("queues", "", ""), queuePlace(queue.Name{Tenant: first})),
	}
	at := 0
	for {
		out, err := a.ListQueues(ctx, in)
		if err != nil {
			return err
		}
		for _, q := range out.GetQueues() {
			if q.GetTenant() > last {
				return nil
			}
			for at < len(tenants) && tenants[at].GetTenant() < q.GetTenant() {
				at++
			}
			if tenants[at].GetTenant() == q.GetTenant() { // otherwise the tenant is new
				tenants[at].Queues++
			}
		}
		if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
			return nil
		}
		in.PageSize = min(2*in.GetPageSize(), call.PageMax)
	}
}
