package admin

import (
	"context"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/rpc/call"
)

// adminTenant returns the tenant that an admin call is for.
func adminTenant(ctx context.Context, name string) (string, error) {
	return call.Tenant(ctx, access.Admin, name)
}

// adminTenantOrAll returns the tenant that an admin call lists, or "" for all.
func adminTenantOrAll(ctx context.Context, name string) (string, error) {
	return call.TenantOrAll(ctx, access.Admin, name)
}
