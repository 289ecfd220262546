package rpc

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/planted"
)

// healthPrefix begins the methods that ask for no token: a probe has none.
var healthPrefix = "/" + healthpb.Health_ServiceDesc.ServiceName + "/"

// incoming authenticates a call or stream.
func (a *Auth) incoming(ctx context.Context) (context.Context, *access.Identity, error) {
	var authorization []string
	if !a.off() { // calls without tokens should not pay for them
		authorization = metadata.ValueFromIncomingContext(ctx, "authorization")
	}
	i, err := a.authenticate(authorization)
	if err != nil {
		return nil, nil, statusOf(err)
	}
	return withIdentity(ctx, i), i, nil
}

// unary is the interceptor of calls.
func (a *Auth) unary(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if strings.HasPrefix(info.FullMethod, healthPrefix) {
		return next(ctx, in)
	}
	ctx, _, err := a.incoming(ctx)
	if err != nil {
		return nil, err
	}
	planted.Frame()
	return next(ctx, in)
}

// stream is the interceptor of streams. A stream ends with its token, whatever its handler waits for: reading, a
// client that does not read, or anything else. So the handler has a goroutine of its own; once the stream is over,
// all that it does on it fails.
func (a *Auth) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if strings.HasPrefix(info.FullMethod, healthPrefix) {
		return next(srv, stream)
	}
	ctx, i, err := a.incoming(stream.Context())
	if err != nil {
		return err
	}
	stream = contextStream{stream, ctx}
	if i.Done() == nil {
		return next(srv, stream)
	}
	handled := make(chan error, 1)
	go func() { handled <- next(srv, stream) }()
	select {
	case err := <-handled:
		return err
	case <-i.Done():
		return statusOf(access.ErrEnded)
	}
}

// contextStream is a stream with another context.
type contextStream struct {
	grpc.ServerStream

	ctx context.Context
}

func (s contextStream) Context() context.Context { return s.ctx }
