package rpc

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// peerPrefix begins the methods that nodes call for themselves.
var peerPrefix = "/" + peerpb.PeerService_ServiceDesc.ServiceName + "/"

// NewCallsServer returns the gRPC server that the other nodes of a cluster call: with the services of clients, whose calls
// they forward and which ask auth who calls, and with the nodes' own, for which the connection says who they are.
func NewCallsServer(s *Service, admin adminpb.AdminServiceServer, peers peerpb.PeerServiceServer, auth *Auth, options ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(append(options,
		grpc.ChainUnaryInterceptor(func(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if strings.HasPrefix(info.FullMethod, peerPrefix) {
				return next(ctx, in)
			}
			return auth.unary(ctx, in, info, next)
		}),
		grpc.ChainStreamInterceptor(auth.stream),
		grpc.MaxConcurrentStreams(streamsMax),
		grpc.MaxRecvMsgSize(messageInBytesMax),
	)...)
	queuepb.RegisterQueueServiceServer(g, s)
	adminpb.RegisterAdminServiceServer(g, admin)
	peerpb.RegisterPeerServiceServer(g, peers)
	return g
}
