package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// Limits of a gRPC server: its own defaults are unbounded or meant for small messages.
const (
	streamsMax = 1_024 // per connection
	// streamWorkers is how many goroutines wait for calls: theirs have the stack that a call needs, which a new
	// one grows first. A call that finds none free gets a new one.
	streamWorkers     = 64
	messageInBytesMax = 16 << 20 // a call of many large payloads is refused as a whole
	streamWindowBytes = 1 << 20  // also turns off the bandwidth estimator's pings
	connWindowBytes   = 4 << 20
	bufferBytes       = 64 << 10
	keepaliveAfter    = time.Minute
	keepaliveTimeout  = 20 * time.Second
	keepaliveMin      = 10 * time.Second
)

// NewServer returns a gRPC server with the queue service, health and reflection on it. All but health asks auth who
// calls. Interceptors in the options are around all others.
func NewServer(s *Service, h *health.Server, auth *Auth, options ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(append(options,
		grpc.ForceServerCodecV2(wire.Codec()),
		grpc.ChainUnaryInterceptor(auth.unary),
		grpc.ChainStreamInterceptor(auth.stream, s.endWatches),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.MaxConcurrentStreams(streamsMax),
		grpc.MaxRecvMsgSize(messageInBytesMax),
		grpc.InitialWindowSize(streamWindowBytes),
		grpc.InitialConnWindowSize(connWindowBytes),
		grpc.ReadBufferSize(bufferBytes),
		grpc.WriteBufferSize(bufferBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveAfter, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMin, PermitWithoutStream: true}),
	)...)
	queuepb.RegisterQueueServiceServer(g, s)
	healthpb.RegisterHealthServer(g, h)
	reflection.Register(g)
	return g
}

// BusyPoll lets the connections of a server poll before their thread sleeps, as wire.BusyPoll says.
func BusyPoll() grpc.ServerOption { return grpc.Creds(wire.BusyPoll(insecure.NewCredentials())) }

// NewAdminServer returns a gRPC server with the admin service, health and reflection on it, for its ServeHTTP: the
// connections, their streams and their timeouts are its HTTP server's to bound. All but health asks auth who calls.
func NewAdminServer(s adminpb.AdminServiceServer, h *health.Server, auth *Auth, options ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(append(options,
		grpc.ChainUnaryInterceptor(auth.unary),
		grpc.ChainStreamInterceptor(auth.stream),
		grpc.MaxRecvMsgSize(messageInBytesMax),
	)...)
	adminpb.RegisterAdminServiceServer(g, s)
	healthpb.RegisterHealthServer(g, h)
	reflection.Register(g)
	return g
}

// endWatches ends health watches when the service stops: they have no end of their own, and would
// hold up a graceful stop.
func (s *Service) endWatches(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if info.FullMethod != healthpb.Health_Watch_FullMethodName {
		return next(srv, stream)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return next(srv, contextStream{stream, ctx})
}
