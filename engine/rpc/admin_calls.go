package rpc

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
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
