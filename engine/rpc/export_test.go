package rpc

import (
	"context"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
)

type unimplemented struct {
	adminpb.UnimplementedAdminServiceServer
}

// accessCalls are the admin service's calls on tenants and tokens, and no others.
type accessCalls struct {
	unimplemented
	*accessAdmin
}

// NewAccessCalls serves the admin service's calls on tenants and tokens.
func NewAccessCalls(r *access.Registry, queues func(context.Context) (map[string]uint64, error)) adminpb.AdminServiceServer {
	return accessCalls{accessAdmin: &accessAdmin{registry: r, queues: queues}}
}
