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

// healthPrefix is the prefix of the health methods, which require no token, since probes have none.
var healthPrefix = "/" + healthpb.Health_ServiceDesc.ServiceName + "/"

// Arrives authenticates a call or stream by its headers, before the server reads the rest of it,
// and returns a context with the identity. The goroutine that reads the connection calls it, for
// one call at a time.
//
// Calls with a deadline are refused later, by the handler before it reads their message: if Arrives
// refused them, gRPC would keep a timer for each of them until its deadline.
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

// refusal returns the status of a call that is refused by its headers, and reports it to the
// observer.
func (a *Auth) refusal(err error) error {
	err = Status(err)
	if a != nil && a.refused != nil {
		a.refused(err)
	}
	return err
}

// incoming returns the caller's identity and a context with it. The identity comes from the
// context, or else from the token in the call's metadata.
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

// Unary is the interceptor of unary calls.
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

// Stream is the interceptor of streams. A stream ends with its token, whatever its handler waits
// for: reading, a client that does not read, or anything else. Therefore the handler runs in a
// separate goroutine; once the stream has ended, all its operations on the stream fail.
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
