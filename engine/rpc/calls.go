package rpc

import (
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// peerPrefix begins the methods that nodes call for themselves.
var peerPrefix = "/" + peerpb.PeerService_ServiceDesc.ServiceName + "/"

// NewCallsServer returns the gRPC server that the other nodes of a cluster call: with the services of clients, whose calls
// they forward and which ask auth who calls, and with the nodes' own, for which the connection says who they are.
func NewCallsServer(s *Service, admin adminpb.AdminServiceServer, peers peerpb.PeerServiceServer, auth *Auth, options ...grpc.ServerOption) *grpc.Server {
	in := intake{auth: auth, bounds: s.bounds, itemsMax: max(ItemsMax(s.limits), access.TenantsMax)}
	g := grpc.NewServer(append(options,
		grpc.ForceServerCodecV2(wire.Codec()),
		grpc.InTapHandle(auth.arrives),
		grpc.ChainUnaryInterceptor(auth.unary, s.withCoverage),
		grpc.ChainStreamInterceptor(in.stream),
		grpc.MaxConcurrentStreams(streamsMax),
		grpc.MaxRecvMsgSize(messageInBytesMax),
	)...)
	services := registrar{g, in}
	queuepb.RegisterQueueServiceServer(services, s)
	adminpb.RegisterAdminServiceServer(services, admin)
	peerpb.RegisterPeerServiceServer(services, peers)
	return g
}
