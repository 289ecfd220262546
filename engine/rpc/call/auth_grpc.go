package call

import (
	"context"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"

	"github.com/pronybench/prony/engine/access"
)

var healthPrefix = "/" + healthpb.Health_ServiceDesc.ServiceName + "/"

// Arrives authenticates a call or stream by its headers, before the server reads the rest, and
// returns a context with the caller's identity. The goroutine that reads the connection calls
// Arrives, so at most one call per connection is in it.
//
// Arrives does not refuse calls with a deadline, since gRPC would keep a timer for each refused
// call until its deadline. The handler refuses them before it reads their message.
func (a *Auth) Arrives(ctx context.Context, call *tap.Info) (context.Context, error) {
	LinkOf(ctx).Called()
	if isOpen(call.FullMethodName) {
		return ctx, nil
	}
	var authorization []string
	if !a.off() { // without tokens, ignore the headers
		authorization = call.Header["authorization"]
	}
	i, err := a.authenticate(authorization)
	if err == nil {
		return withIdentity(ctx, i), nil
	}
	if _, ok := ctx.Deadline(); ok {
		return ctx, nil
	}
	return ctx, a.refusal(err)
}

// refusal reports an error to the observer as a gRPC status and returns the status.
func (a *Auth) refusal(err error) error {
	err = Status(err)
	if a != nil && a.refused != nil {
		a.refused(err)
	}
	return err
}

// incoming returns the caller's identity and a context with it. If the context has no identity,
// incoming authenticates the token in the call's metadata.
func (a *Auth) incoming(ctx context.Context) (context.Context, *access.Identity, error) {
	if i, err := Identity(ctx); err == nil {
		return ctx, i, nil
	}
	var authorization []string
	if !a.off() {
		authorization = metadata.ValueFromIncomingContext(ctx, "authorization")
	}
	i, err := a.authenticate(authorization)
	if err != nil {
		return nil, nil, a.refusal(err)
	}
	return withIdentity(ctx, i), i, nil
}

// unary is the interceptor of unary calls.
func (a *Auth) unary(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if isOpen(info.FullMethod) {
		return next(ctx, in)
	}
	ctx, _, err := a.incoming(ctx)
	if err != nil {
		return nil, err
	}
	return next(ctx, in)
}

// stream is the interceptor of streams. It ends a stream when its token ends, whatever the handler
// is waiting for, such as a client that does not read. Therefore the handler runs in a separate
// goroutine; once the stream has ended, all of the handler's operations on the stream fail.
func (n Intake) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if isOpen(info.FullMethod) {
		return next(srv, stream)
	}
	ctx, l, leave, err := n.enter(stream.Context(), false)
	if err != nil {
		return err
	}
	i, err := Identity(ctx)
	if err != nil {
		leave()
		return Status(err)
	}
	bounded := &boundedStream{ServerStream: stream, ctx: ctx, taken: reservation{bounds: n.Bounds, link: l}}
	bounded.in.ItemsMax, bounded.in.Reserve = n.ItemsMax, bounded.taken.take
	next = bounded.until(leave, next)
	if i.Done() == nil {
		return next(srv, bounded)
	}
	handled := make(chan error, 1)
	go func() { handled <- next(srv, bounded) }()
	select {
	case err := <-handled:
		return err
	case <-i.Done():
		return Status(access.ErrEnded)
	}
}
