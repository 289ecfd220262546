package admin

import (
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

// This file has the calls of the admin service. This node executes a call if it is not in a cluster
// or if another node forwarded the call. Otherwise it sends the call to the leaders of the shards.
// The leader of shard 0 executes calls on tenants and tokens.

// ofRegistry checks the caller and executes a call on tenants or tokens at the leader of shard 0.
func ofRegistry[Q, R any](ctx context.Context, a *Service, in Q, repeatable bool, caller func(context.Context) (*access.Identity, error),
	here func(context.Context, *access.Identity, Q) (R, error), there func(adminpb.AdminServiceClient, context.Context, Q, ...grpc.CallOption) (R, error),
) (R, error) {
	var none R
	by, err := caller(ctx)
	if err != nil {
		return none, a.refuse(err)
	}
	local := func(ctx context.Context, in Q) (R, error) {
		// Only the leader's registry may change; the other nodes replicate the changes.
		if a.router != nil && !slices.Contains(a.shards.Led(), 0) {
			return none, a.refuse(&shard.NotLeaderError{})
		}
		return here(ctx, by, in)
	}
	return atLeader(ctx, a, 0, repeatable, in, local, there)
}

// atLeader executes a call at the leader of a shard.
func atLeader[Q, R any](ctx context.Context, a *Service, shard int, repeatable bool, in Q,
	local func(context.Context, Q) (R, error), there func(adminpb.AdminServiceClient, context.Context, Q, ...grpc.CallOption) (R, error),
) (R, error) {
	if !a.router.Routes(ctx) {
		return local(ctx, in)
	}
	return route.Follow(ctx, a.router, shard, repeatable, route.ForwardMax, route.AdminCall(local, there).Of(in))
}

// administrator returns the caller if its token has the scope admin.
func administrator(ctx context.Context) (*access.Identity, error) {
	return call.Allowed(ctx, access.Admin)
}

// CreateToken implements adminpb.AdminServiceServer.
func (a *Service) CreateToken(ctx context.Context, in *adminpb.CreateTokenRequest) (*adminpb.CreateTokenResponse, error) {
	return ofRegistry(ctx, a, in, false, administrator, a.createTokenHere, adminpb.AdminServiceClient.CreateToken)
}

// ListTokens implements adminpb.AdminServiceServer.
func (a *Service) ListTokens(ctx context.Context, in *adminpb.ListTokensRequest) (*adminpb.ListTokensResponse, error) {
	return ofRegistry(ctx, a, in, true, administrator, a.listTokensHere, adminpb.AdminServiceClient.ListTokens)
}

// RotateToken implements adminpb.AdminServiceServer.
func (a *Service) RotateToken(ctx context.Context, in *adminpb.RotateTokenRequest) (*adminpb.RotateTokenResponse, error) {
	return ofRegistry(ctx, a, in, false, administrator, a.rotateTokenHere, adminpb.AdminServiceClient.RotateToken)
}

// RevokeToken implements adminpb.AdminServiceServer.
func (a *Service) RevokeToken(ctx context.Context, in *adminpb.RevokeTokenRequest) (*adminpb.RevokeTokenResponse, error) {
	return ofRegistry(ctx, a, in, false, administrator, a.revokeTokenHere, adminpb.AdminServiceClient.RevokeToken)
}

// ConfigureTenant implements adminpb.AdminServiceServer.
func (a *Service) ConfigureTenant(ctx context.Context, in *adminpb.ConfigureTenantRequest) (*adminpb.ConfigureTenantResponse, error) {
	out, err := ofRegistry(ctx, a, in, true, call.Operator, a.configureTenantHere, adminpb.AdminServiceClient.ConfigureTenant)
	if err != nil || a.forwarded(ctx) {
		return out, err
	}
	one, err := a.ListTenants(ctx, &adminpb.ListTenantsRequest{Tenant: in.GetTenant()})
	for _, t := range one.GetTenants() {
		t.Quotas = out.GetTenant().GetQuotas()
		out.Tenant = t
	}
	return out, err
}

// notReadyMax limits the time that a node that is not ready waits for the cluster's totals.
const notReadyMax = 500 * time.Millisecond

// GetStatus implements adminpb.AdminServiceServer. The numbers of tasks and queues are totals of
// the cluster; all other fields describe this node.
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
