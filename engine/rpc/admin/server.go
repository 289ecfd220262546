package admin

import (
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
)

// NewServer returns an HTTP/2 handler for gRPC calls to the admin service, health and reflection.
// It also returns the gRPC server behind the handler, which the caller must stop. The HTTP server
// must limit connections, streams and times. The handler authenticates each call by its headers
// before it reads the rest of the call; health calls need no authentication.
func NewServer(s adminpb.AdminServiceServer, limits queue.Limits, bounds *call.Bounds, h *health.Server, auth *call.Auth, options ...grpc.ServerOption) (http.Handler, *grpc.Server) {
	in := call.Intake{Auth: auth, Bounds: bounds, ItemsMax: call.ItemsMax(limits)}
	options = append(options, in.Options()...)
	g := grpc.NewServer(append(options, grpc.MaxRecvMsgSize(bounds.Shares().MessageBytes))...)
	adminpb.RegisterAdminServiceServer(in.Registrar(g), s)
	healthpb.RegisterHealthServer(g, h)
	reflection.Register(g)
	return auth.GuardGRPC(g, bounds), g
}
