package rpc

import (
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
)

// NewCallsServer returns the gRPC server for the other nodes of a cluster. It serves the services
// of clients and the service between nodes. auth authenticates forwarded calls to the services of
// clients; the connection authenticates calls to the service between nodes.
func NewCallsServer(s *Service, admin adminpb.AdminServiceServer, peers peerpb.PeerServiceServer, auth *call.Auth, options ...grpc.ServerOption) *grpc.Server {
	in := call.Intake{Auth: auth, Bounds: s.bounds, ItemsMax: max(call.ItemsMax(s.limits), access.TenantsMax)}
	options = append(options, in.Options()...)
	g := grpc.NewServer(append(options,
		grpc.InTapHandle(auth.Arrives),
		grpc.ChainUnaryInterceptor(route.SendCoverage(s.shards)),
		grpc.MaxConcurrentStreams(streamsMax),
		grpc.MaxRecvMsgSize(messageInBytesMax),
	)...)
	services := in.Registrar(g)
	queuepb.RegisterQueueServiceServer(services, s)
	adminpb.RegisterAdminServiceServer(services, admin)
	peerpb.RegisterPeerServiceServer(services, peers)
	return g
}
