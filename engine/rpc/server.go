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

	"github.com/pronybench/prony/engine/internal/busypoll"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
)

// These constants limit a gRPC server. gRPC's defaults are unlimited or intended for small
// messages.
const (
	streamsMax = 1_024 // streams per connection
	// streamWorkers is the number of goroutines that wait for calls. Their stacks already have the
	// size that calls need; the stack of a new goroutine would have to grow first. If no worker is
	// free, a call gets a new goroutine.
	streamWorkers     = 64
	messageInBytesMax = 16 << 20         // a call with a larger message is refused as a whole
	headerBytesMax    = 64 << 10         // headers of one call
	handshakeMax      = 10 * time.Second // for the TLS and HTTP/2 handshakes of a connection
	keepaliveAfter    = time.Minute
	keepaliveTimeout  = 20 * time.Second
	keepaliveMin      = 10 * time.Second
)

// NewServer returns a gRPC server with the queue service, health and reflection. It authenticates
// each call by its headers before it reads the rest of the call; health calls need no
// authentication. Interceptors in options run before all others. They do not see calls that are
// refused by their headers.
func NewServer(s *Service, h *health.Server, auth *call.Auth, options ...grpc.ServerOption) *grpc.Server {
	in := call.Intake{Auth: auth, Bounds: s.bounds, ItemsMax: call.ItemsMax(s.limits)}
	share := s.bounds.Shares()
	options = append(options, in.Options()...)
	g := grpc.NewServer(append(options,
		grpc.InTapHandle(auth.Arrives),
		grpc.ChainStreamInterceptor(s.endWatches),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.ConnectionTimeout(handshakeMax),
		grpc.MaxHeaderListSize(headerBytesMax),
		grpc.MaxConcurrentStreams(streamsMax),
		grpc.MaxRecvMsgSize(share.MessageBytes),
		grpc.InitialWindowSize(int32(share.StreamWindow)),
		grpc.InitialConnWindowSize(int32(share.ConnWindow)),
		grpc.ReadBufferSize(share.ConnBufferBytes),
		grpc.WriteBufferSize(share.ConnBufferBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveAfter, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMin, PermitWithoutStream: true}),
	)...)
	queuepb.RegisterQueueServiceServer(in.Registrar(g), s)
	healthpb.RegisterHealthServer(g, h)
	reflection.Register(g)
	return g
}

// BusyPoll makes the connections of a server poll before their thread sleeps, as described in
// package busypoll.
func BusyPoll() grpc.ServerOption { return grpc.Creds(busypoll.Credentials(insecure.NewCredentials())) }

// endWatches ends health watches when the service stops. A watch never ends without the client, and
// would block a graceful stop.
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

// contextStream is a stream with another context.
type contextStream struct {
	grpc.ServerStream

	ctx context.Context
}

func (s contextStream) Context() context.Context { return s.ctx }
