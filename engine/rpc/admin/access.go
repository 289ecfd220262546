package admin

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
)

// accessAdmin implements the admin service's calls on tenants and tokens. The registry checks
// permissions.
type accessAdmin struct {
	registry *access.Registry
	refuse   func(error) error
}

func (a *accessAdmin) configureTenantHere(ctx context.Context, by *access.Identity, in *adminpb.ConfigureTenantRequest) (*adminpb.ConfigureTenantResponse, error) {
	q := in.GetQuotas()
	t, err := a.registry.ConfigureTenant(ctx, by, in.GetTenant(), access.Quotas{
		TasksMax: q.GetTasksMax(), BytesMax: q.GetBytesMax(), EnqueuesPerSMax: q.GetEnqueuesPerSMax(),
		LeasesMax: q.GetLeasesMax(), PayloadBytesMax: q.GetPayloadBytesMax(),
	})
	if err != nil {
		return nil, a.refuse(err)
	}
	return &adminpb.ConfigureTenantResponse{Tenant: tenantMessage(t)}, nil
}

// tenantMessage returns a message without the number of queues.
func tenantMessage(t access.Tenant) *adminpb.Tenant {
	return &adminpb.Tenant{
		Tenant: t.Name, Tasks: t.Tasks, Bytes: t.Bytes, Leases: t.Leases,
		Quotas: &adminpb.Quotas{
			TasksMax: t.Quotas.TasksMax, BytesMax: t.Quotas.BytesMax, EnqueuesPerSMax: t.Quotas.EnqueuesPerSMax,
			LeasesMax: t.Quotas.LeasesMax, PayloadBytesMax: t.Quotas.PayloadBytesMax,
		},
	}
}

func (a *accessAdmin) createTokenHere(ctx context.Context, by *access.Identity, in *adminpb.CreateTokenRequest) (*adminpb.CreateTokenResponse, error) {
	tenant := in.GetTenant()
	if tenant != access.AllTenants {
		var err error
		if tenant, err = call.TenantOf(by, tenant); err != nil {
			return nil, a.refuse(err)
		}
	}
	scopes, err := scopesOf(in.GetScopes())
	if err != nil {
		return nil, a.refuse(err)
	}
	token, secret, err := a.registry.CreateToken(ctx, by, access.NewToken{
		Tenant: tenant, Scopes: scopes, ExpiresInMs: in.GetExpiresInMs(), Note: in.GetNote(),
	})
	if err != nil {
		return nil, a.refuse(err)
	}
	return &adminpb.CreateTokenResponse{Token: tokenMessage(token), Secret: secret}, nil
}

func (a *accessAdmin) listTokensHere(_ context.Context, by *access.Identity, in *adminpb.ListTokensRequest) (*adminpb.ListTokensResponse, error) {
	tenant := in.GetTenant()
	if tenant != access.AllTenants {
		var err error
		if tenant, err = call.TenantOrAllOf(by, tenant); err != nil {
			return nil, a.refuse(err)
		}
	}
	tokens, err := a.registry.Tokens(by, tenant)
	if err != nil {
		return nil, a.refuse(err)
	}
	out := &adminpb.ListTokensResponse{Tokens: make([]*adminpb.Token, len(tokens))}
	for i, t := range tokens {
		out.Tokens[i] = tokenMessage(t)
	}
	return out, nil
}

func (a *accessAdmin) rotateTokenHere(ctx context.Context, by *access.Identity, in *adminpb.RotateTokenRequest) (*adminpb.RotateTokenResponse, error) {
	if err := checkTokenID(in.GetId()); err != nil {
		return nil, a.refuse(err)
	}
	token, secret, err := a.registry.RotateToken(ctx, by, in.GetId(), in.GetGraceMs())
	if err != nil {
		return nil, a.refuse(err)
	}
	return &adminpb.RotateTokenResponse{Token: tokenMessage(token), Secret: secret}, nil
}

func (a *accessAdmin) revokeTokenHere(ctx context.Context, by *access.Identity, in *adminpb.RevokeTokenRequest) (*adminpb.RevokeTokenResponse, error) {
	if err := checkTokenID(in.GetId()); err != nil {
		return nil, a.refuse(err)
	}
	if err := a.registry.RevokeToken(ctx, by, in.GetId()); err != nil {
		return nil, a.refuse(err)
	}
	return &adminpb.RevokeTokenResponse{}, nil
}

func checkTokenID(id string) error {
	if !access.IsTokenID(id) {
		// Do not repeat the id in the error: it may be a secret.
		return &queue.FieldError{Field: "id", Problem: "is not a token's id: pass one that ListTokens shows"}
	}
	return nil
}

// scopeBits maps the scopes of the schema to those of the registry.
var scopeBits = map[adminpb.Scope]access.Scopes{
	adminpb.Scope_SCOPE_PRODUCE: access.Produce,
	adminpb.Scope_SCOPE_WORK:    access.Work,
	adminpb.Scope_SCOPE_ADMIN:   access.Admin,
}

func scopesOf(in []adminpb.Scope) (scopes access.Scopes, err error) {
	for i, s := range in {
		field := fmt.Sprintf("scopes[%d]", i)
		bit, known := scopeBits[s]
		switch {
		case !known:
			return 0, &queue.FieldError{Field: field, Problem: fmt.Sprintf("must be SCOPE_PRODUCE, SCOPE_WORK or SCOPE_ADMIN, not %d", s)}
		case scopes.Any(bit):
			return 0, &queue.FieldError{Field: field, Problem: fmt.Sprintf("%v is named twice", s)}
		}
		scopes |= bit
	}
	return scopes, nil
}

func tokenMessage(t access.Token) *adminpb.Token {
	m := &adminpb.Token{Id: t.ID, Tenant: t.Tenant, Note: t.Note, CreatedAtMs: t.CreatedAtMs, ExpiresAtMs: t.ExpiresAtMs}
	for s := adminpb.Scope_SCOPE_PRODUCE; s <= adminpb.Scope_SCOPE_ADMIN; s++ {
		if t.Scopes.Any(scopeBits[s]) {
			m.Scopes = append(m.Scopes, s)
		}
	}
	return m
}
