package rpc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
)

const (
	scopeProduce = adminpb.Scope_SCOPE_PRODUCE
	scopeWork    = adminpb.Scope_SCOPE_WORK
	scopeAdmin   = adminpb.Scope_SCOPE_ADMIN
)

// adminAs returns an admin client with a new token, and the token's id.
func (g *guarded) adminAs(tenant string, scopes access.Scopes) (id string, api adminpb.AdminServiceClient) {
	g.Helper()
	id, secret := g.token(tenant, scopes)
	return id, adminpb.NewAdminServiceClient(g.dial(secret))
}

func TestATokensLife(t *testing.T) {
	g := guard(t)
	_, admin := g.adminAs(access.AllTenants, access.AllScopes)
	made, err := admin.CreateToken(g.ctx, &adminpb.CreateTokenRequest{
		Tenant: "t0", Scopes: []adminpb.Scope{scopeWork, scopeProduce}, ExpiresInMs: 3600_000, Note: "a worker",
	})
	require.NoError(t, err)
	token := made.GetToken()
	assert.Equal(t, "t0", token.GetTenant())
	assert.Equal(t, []adminpb.Scope{scopeProduce, scopeWork}, token.GetScopes())
	assert.Equal(t, "a worker", token.GetNote())
	assert.Positive(t, token.GetCreatedAtMs())
	assert.Equal(t, token.GetCreatedAtMs()+3600_000, token.GetExpiresAtMs())
	works := func(secret string) error {
		_, err := queuepb.NewQueueServiceClient(g.dial(secret)).Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
		return err
	}
	require.NoError(t, works(made.GetSecret()))
	listed, err := admin.ListTokens(g.ctx, &adminpb.ListTokensRequest{Tenant: "t0"})
	require.NoError(t, err)
	require.Len(t, listed.GetTokens(), 1)
	assert.True(t, proto.Equal(token, listed.GetTokens()[0]))
	assert.NotContains(t, listed.String(), made.GetSecret()[len(made.GetSecret())-43:])

	rotated, err := admin.RotateToken(g.ctx, &adminpb.RotateTokenRequest{Id: token.GetId(), GraceMs: 3600_000})
	require.NoError(t, err)
	assert.True(t, proto.Equal(token, rotated.GetToken()))
	require.NoError(t, works(made.GetSecret()))
	require.NoError(t, works(rotated.GetSecret()))
	_, err = admin.RotateToken(g.ctx, &adminpb.RotateTokenRequest{Id: token.GetId()})
	require.NoError(t, err)
	requireCode(t, codes.Unauthenticated, works(made.GetSecret()))
	requireCode(t, codes.Unauthenticated, works(rotated.GetSecret()))

	_, err = admin.RevokeToken(g.ctx, &adminpb.RevokeTokenRequest{Id: token.GetId()})
	require.NoError(t, err)
	_, err = admin.RevokeToken(g.ctx, &adminpb.RevokeTokenRequest{Id: token.GetId()})
	requireCode(t, codes.NotFound, err)
	listed, err = admin.ListTokens(g.ctx, &adminpb.ListTokensRequest{Tenant: "t0"})
	require.NoError(t, err)
	assert.Empty(t, listed.GetTokens())
}

func TestTokensAreMadeForTheCallersTenant(t *testing.T) {
	g := guard(t)
	_, operator := g.adminAs(access.AllTenants, access.AllScopes)
	_, admin := g.adminAs("t0", access.Admin|access.Work)
	create := func(api adminpb.AdminServiceClient, tenant string, scopes ...adminpb.Scope) (string, error) {
		out, err := api.CreateToken(g.ctx, &adminpb.CreateTokenRequest{Tenant: tenant, Scopes: scopes})
		return out.GetToken().GetTenant(), err
	}
	for _, c := range []struct {
		api          adminpb.AdminServiceClient
		tenant, want string
	}{
		{operator, "", call.DefaultTenant}, {operator, "t3", "t3"}, {operator, "*", "*"}, {admin, "", "t0"}, {admin, "t0", "t0"},
	} {
		tenant, err := create(c.api, c.tenant, scopeWork)
		require.NoError(t, err)
		assert.Equal(t, c.want, tenant)
	}
	for _, tenant := range []string{"*", "t1", call.DefaultTenant} {
		_, err := create(admin, tenant, scopeWork)
		requireCode(t, codes.PermissionDenied, err)
	}
	_, err := create(admin, "", scopeProduce)
	requireCode(t, codes.PermissionDenied, err)
	_, err = create(admin, "", scopeWork, scopeAdmin)
	require.NoError(t, err)

	list := func(api adminpb.AdminServiceClient, tenant string) (tenants []string) {
		out, err := api.ListTokens(g.ctx, &adminpb.ListTokensRequest{Tenant: tenant})
		require.NoError(t, err)
		for _, token := range out.GetTokens() {
			tenants = append(tenants, token.GetTenant())
		}
		return tenants
	}
	assert.Equal(t, []string{"t0", "t0", "t0", "t0"}, list(admin, ""))
	assert.Equal(t, []string{"*", "*"}, list(operator, "*"))
	assert.Equal(t, []string{"t3"}, list(operator, "t3"))
	assert.Len(t, list(operator, ""), 8)
	_, err = admin.ListTokens(g.ctx, &adminpb.ListTokensRequest{Tenant: "*"})
	requireCode(t, codes.PermissionDenied, err)
}

func TestTokensOfOthers(t *testing.T) {
	g := guard(t)
	operatorID, _ := g.adminAs(access.AllTenants, access.AllScopes)
	_, admin := g.adminAs("t0", access.Admin)
	otherID, _ := g.token("t1", access.Work)
	strongerID, _ := g.token("t0", access.Work)
	for _, id := range []string{operatorID, otherID, strings.Repeat("a", 16)} {
		_, err := admin.RotateToken(g.ctx, &adminpb.RotateTokenRequest{Id: id})
		requireCode(t, codes.NotFound, err)
		_, err = admin.RevokeToken(g.ctx, &adminpb.RevokeTokenRequest{Id: id})
		requireCode(t, codes.NotFound, err)
	}
	_, err := admin.RotateToken(g.ctx, &adminpb.RotateTokenRequest{Id: strongerID})
	requireCode(t, codes.PermissionDenied, err)
	_, err = admin.RevokeToken(g.ctx, &adminpb.RevokeTokenRequest{Id: strongerID})
	require.NoError(t, err)
}

func TestBadCallsOnTokensAndTenants(t *testing.T) {
	g := guard(t)
	_, admin := g.adminAs(access.AllTenants, access.AllScopes)
	work := []adminpb.Scope{scopeWork}
	for _, c := range []struct {
		field string
		in    *adminpb.CreateTokenRequest
	}{
		{"tenant", &adminpb.CreateTokenRequest{Tenant: "a b", Scopes: work}},
		{"tenant", &adminpb.CreateTokenRequest{Tenant: "**", Scopes: work}},
		{"scopes", &adminpb.CreateTokenRequest{}},
		{"scopes[1]", &adminpb.CreateTokenRequest{Scopes: []adminpb.Scope{scopeWork, 0}}},
		{"scopes[0]", &adminpb.CreateTokenRequest{Scopes: []adminpb.Scope{4}}},
		{"scopes[0]", &adminpb.CreateTokenRequest{Scopes: []adminpb.Scope{-1}}},
		{"scopes[2]", &adminpb.CreateTokenRequest{Scopes: []adminpb.Scope{scopeWork, scopeAdmin, scopeWork}}},
		{"expires_in_ms", &adminpb.CreateTokenRequest{Scopes: work, ExpiresInMs: 1<<64 - 1}},
		{"note", &adminpb.CreateTokenRequest{Scopes: work, Note: strings.Repeat("x", 257)}},
	} {
		_, err := admin.CreateToken(g.ctx, c.in)
		requireField(t, c.field, err)
	}
	_, err := admin.ListTokens(g.ctx, &adminpb.ListTokensRequest{Tenant: "a b"})
	requireField(t, "tenant", err)
	made, err := admin.CreateToken(g.ctx, &adminpb.CreateTokenRequest{Scopes: work})
	require.NoError(t, err)
	for _, id := range []string{"", "x", made.GetSecret(), strings.ToUpper(made.GetToken().GetId()), strings.Repeat("0", 16)} {
		_, err = admin.RotateToken(g.ctx, &adminpb.RotateTokenRequest{Id: id})
		requireField(t, "id", err)
		_, err = admin.RevokeToken(g.ctx, &adminpb.RevokeTokenRequest{Id: id})
		requireField(t, "id", err)
		if id != "" {
			assert.NotContains(t, err.Error(), id, "it may be a secret")
		}
	}
	_, err = admin.RotateToken(g.ctx, &adminpb.RotateTokenRequest{Id: made.GetToken().GetId(), GraceMs: 31 * 24 * 3600_000})
	requireField(t, "grace_ms", err)
	for _, tenant := range []string{"", "*", "a b"} {
		_, err = admin.ConfigureTenant(g.ctx, &adminpb.ConfigureTenantRequest{Tenant: tenant})
		requireField(t, "tenant", err)
	}
	_, err = admin.ConfigureTenant(g.ctx, &adminpb.ConfigureTenantRequest{Tenant: "t0", Quotas: &adminpb.Quotas{LeasesMax: 1 << 63}})
	requireField(t, "quotas.leases_max", err)
}

func TestSecretsThatAreTooManyAtOnceAreRefused(t *testing.T) {
	g := guard(t)
	_, admin := g.adminAs(access.AllTenants, access.AllScopes)
	id, _ := g.token("t0", access.Work)
	var err error
	for err == nil {
		_, err = admin.RotateToken(g.ctx, &adminpb.RotateTokenRequest{Id: id, GraceMs: 3600_000})
	}
	requireCode(t, codes.FailedPrecondition, err)
}

func TestTenantsAreConfiguredAndListed(t *testing.T) {
	g := guard(t)
	_, admin := g.adminAs(access.AllTenants, access.AllScopes)
	held := uint64(queue.QueueBytes("t0", "q") + 2*queue.TaskBytes(1))
	quotas := &adminpb.Quotas{TasksMax: 10, BytesMax: held, EnqueuesPerSMax: 3_000, LeasesMax: 4, PayloadBytesMax: 5}
	out, err := admin.ConfigureTenant(g.ctx, &adminpb.ConfigureTenantRequest{Tenant: "t0", Quotas: quotas})
	require.NoError(t, err)
	assert.True(t, proto.Equal(&adminpb.Tenant{Tenant: "t0", Quotas: quotas}, out.GetTenant()), "%v", out)
	api := g.as("t0", access.AllScopes)
	_, err = api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 2)})
	require.NoError(t, err)
	_, err = api.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
	require.NoError(t, err)
	g.token("t1", access.Work)
	listed, err := admin.ListTenants(g.ctx, &adminpb.ListTenantsRequest{})
	require.NoError(t, err)
	require.Len(t, listed.GetTenants(), 2)
	assert.True(t, proto.Equal(&adminpb.Tenant{Tenant: "t0", Quotas: quotas, Queues: 1, Tasks: 2, Bytes: held, Leases: 1}, listed.GetTenants()[0]), "%v", listed)
	assert.True(t, proto.Equal(&adminpb.Tenant{Tenant: "t1", Quotas: &adminpb.Quotas{}}, listed.GetTenants()[1]), "%v", listed)
}
