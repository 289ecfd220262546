package rpc

import (
	"context"

	"github.com/pronybench/prony/engine/access"
)

// adminTenant returns the tenant that an admin call is for.
func adminTenant(ctx context.Context, name string) (string, error) {
	return tenantOf(ctx, access.Admin, name)
}

// adminTenantOrAll returns the tenant that an admin call lists, or "" for all.
func adminTenantOrAll(ctx context.Context, name string) (string, error) {
	return tenantOrAll(ctx, access.Admin, name)
}
