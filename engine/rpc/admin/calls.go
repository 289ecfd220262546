package admin

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// The calls of the admin service. Without a cluster, and for a forwarded call, this node executes
// the call. Otherwise the call goes to the leaders of the shards. Tenants and tokens belong to the
// leader of shard 0.

// ofRegistry executes a call on tenants or tokens at the leader of shard 0, after checking the
// caller.
func ofRegistry[Q, R any](ctx context.Context, a *Service, in Q, repeatable bool, caller func(context.Context) (*access.Identity, error),
	here func(context.Context, *access.Identity, Q) (R, error), there func(adminpb.AdminServiceClient, context.Context, Q, ...grpc.CallOption) (R, error),
) (R, error) {
	var none R
	by, err := caller(ctx)
	if err != nil {
		return none, a.refuse(err)
	}
	local := func(ctx context.Context, in Q) (R, error) {
		// Only the leader's registry may change; the others follow it.
		if a.router != nil && !slices.Contains(a.shards.Led(), 0) {
			return none, a.refuse(&shard.NotLeaderError{})
		}
		return here(ctx, by, in)
	}
	if !a.router.Routes(ctx) {
		return local(ctx, in)
	}
	return route.Follow(ctx, a.router, 0, repeatable, route.ForwardMax, route.AdminCall(local, there).Of(in))
}

// administrator returns the caller if its token has the scope admin.
func administrator(ctx context.Context) (*access.Identity, error) {
	return call.Allowed(ctx, access.Admin)
}

// CreateToken implements the call.
func (a *Service) CreateToken(ctx context.Context, in *adminpb.CreateTokenRequest) (*adminpb.CreateTokenResponse, error) {
	return ofRegistry(ctx, a, in, false, administrator, a.createTokenHere, adminpb.AdminServiceClient.CreateToken)
}

// ListTokens implements the call.
func (a *Service) ListTokens(ctx context.Context, in *adminpb.ListTokensRequest) (*adminpb.ListTokensResponse, error) {
	return ofRegistry(ctx, a, in, true, administrator, a.listTokensHere, adminpb.AdminServiceClient.ListTokens)
}

// RotateToken implements the call.
func (a *Service) RotateToken(ctx context.Context, in *adminpb.RotateTokenRequest) (*adminpb.RotateTokenResponse, error) {
	return ofRegistry(ctx, a, in, false, administrator, a.rotateTokenHere, adminpb.AdminServiceClient.RotateToken)
}

// RevokeToken implements the call.
func (a *Service) RevokeToken(ctx context.Context, in *adminpb.RevokeTokenRequest) (*adminpb.RevokeTokenResponse, error) {
	return ofRegistry(ctx, a, in, false, administrator, a.revokeTokenHere, adminpb.AdminServiceClient.RevokeToken)
}

// ConfigureTenant implements the call.
func (a *Service) ConfigureTenant(ctx context.Context, in *adminpb.ConfigureTenantRequest) (*adminpb.ConfigureTenantResponse, error) {
	out, err := ofRegistry(ctx, a, in, true, call.Operator, a.configureTenantHere, adminpb.AdminServiceClient.ConfigureTenant)
	if err != nil || !a.router.Routes(ctx) {
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
func (a *Service) ListTenants(ctx context.Context, in *adminpb.ListTenantsRequest) (*adminpb.ListTenantsResponse, error) {
	by, err := call.Operator(ctx)
	if err != nil {
		return nil, a.refuse(err)
	}
	if !a.router.Routes(ctx) {
		return a.listTenantsHere(ctx, by, in)
	}
	all, err := a.tenants(ctx)
	return &adminpb.ListTenantsResponse{Tenants: all}, err
}

// tenants returns the cluster's tenants by name. Their usage is the sum over all leaders.
func (a *Service) tenants(ctx context.Context) ([]*adminpb.Tenant, error) {
	by, err := call.Identity(ctx)
	if err != nil {
		return nil, call.Status(err)
	}
	here := func(ctx context.Context, in *adminpb.ListTenantsRequest) (*adminpb.ListTenantsResponse, error) {
		return a.listTenantsHere(ctx, by, in)
	}
	parts, err := route.Gather(ctx, a.router, route.AdminCall(here, adminpb.AdminServiceClient.ListTenants).Of(&adminpb.ListTenantsRequest{}))
	if err != nil {
		return nil, err
	}
	queues, err := a.allFigures(ctx)
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
	for i := range queues {
		if t := named[queues[i].Tenant]; t != nil {
			t.Queues++
		}
	}
	slices.SortFunc(out, func(s, t *adminpb.Tenant) int { return cmp.Compare(s.GetTenant(), t.GetTenant()) })
	return out, nil
}

// notReadyMax is how long a node that is not ready waits for the cluster's totals.
const notReadyMax = 500 * time.Millisecond

// GetStatus implements the call. The totals of tasks and queues are the cluster's; the rest is this
// node's.
func (a *Service) GetStatus(ctx context.Context, _ *adminpb.GetStatusRequest) (*adminpb.GetStatusResponse, error) {
	if _, err := call.Operator(ctx); err != nil {
		return nil, a.refuse(err)
	}
	out := a.statusHere()
	if !out.GetReady() { // a node that is not ready must still answer quickly
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, notReadyMax)
		defer done()
	}
	queues, err := a.allFigures(ctx)
	switch {
	case err == nil:
		out.Queues = uint64(len(queues))
		for i := range queues {
			out.Tasks += queues[i].Stored()
		}
	case out.GetReady():
		return nil, err
	}
	return out, nil // if the server is not ready, the totals are absent
}
