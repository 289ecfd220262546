package call

import (
	"context"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/planted"
)

// healthPrefix begins the names of the health methods, which require no token, since a probe has none.
var healthPrefix = "/" + healthpb.Health_ServiceDesc.ServiceName + "/"

// Arrives authenticates a call or stream by its headers, before the server reads anything else of it. It returns a context with
// the identity. The goroutine that reads the connection calls arrives, for one call at a time.
//
// The handler refuses calls with a deadline, before it reads their message: if arrives refused them, gRPC would keep a timer for
// each of them until its deadline.
func (a *Auth) Arrives(ctx context.Context, call *tap.Info) (context.Context, error) {
	LinkOf(ctx).Called()
	if isOpen(call.FullMethodName) {
		return ctx, nil
	}
	var authorization []string
	if !a.off() { // read the headers only if tokens are required
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

// refusal returns the status for a call that is refused by its headers.
func (a *Auth) refusal(err error) error {
	err = Status(err)
	if a != nil && a.refused != nil {
		a.refused(err)
	}
	return err
}

// incoming returns the caller's identity and a context that has it. The identity is that of the context, or else the one that
// the token in the call's metadata proves.
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

// Unary is the interceptor of calls.
func (a *Auth) Unary(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if isOpen(info.FullMethod) {
		return next(ctx, in)
	}
	ctx, _, err := a.incoming(ctx)
	if err != nil {
		return nil, err
	}
	planted.Frame()
	planted.Call()
	return next(ctx, in)
}

// Stream is the interceptor of streams. A stream ends with its token, whatever its handler waits for: reading, a
// client that does not read, or anything else. So the handler has a goroutine of its own; once the stream is over,
// all that it does on it fails.
func (n Intake) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
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
