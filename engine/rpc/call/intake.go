package call

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/wire"
)

// Intake limits what a gRPC server decodes. It refuses a call or stream without an identity before
// decoding its first message. It refuses a message with too long lists before allocating memory for
// their elements.
type Intake struct {
	Auth     *Auth
	Bounds   *Bounds
	ItemsMax int // maximum number of items in each list of a message
}

// ItemsMax returns the maximum number of items in any list of any call. Each handler checks the
// smaller limits of its own lists.
func ItemsMax(l queue.Limits) int { return max(l.BatchMax, l.QueuesMax) }

// Options returns the codec and the interceptors of a server whose calls and streams pass through
// the intake. The server must register its services with Registrar.
func (n Intake) Options() []grpc.ServerOption {
	return append([]grpc.ServerOption{
		grpc.ForceServerCodecV2(wire.Codec()),
		grpc.ChainUnaryInterceptor(n.Auth.unary),
		grpc.ChainStreamInterceptor(n.stream),
	}, plantedOptions()...)
}

// registrar registers services so that their unary calls pass through an intake. Streams pass
// through Intake.stream, an interceptor.
type registrar struct {
	*grpc.Server

	intake Intake
}

// Registrar returns a registrar of services whose unary calls go through the intake.
func (n Intake) Registrar(g *grpc.Server) grpc.ServiceRegistrar { return registrar{g, n} }

// RegisterService implements grpc.ServiceRegistrar.
func (r registrar) RegisterService(d *grpc.ServiceDesc, service any) {
	guarded := *d
	guarded.Methods = make([]grpc.MethodDesc, len(d.Methods))
	for i, m := range d.Methods {
		guarded.Methods[i] = grpc.MethodDesc{MethodName: m.MethodName, Handler: r.intake.unary(d.ServiceName, m.Handler)}
	}
	r.Server.RegisterService(&guarded, service)
}

// unary returns a handler that decodes the message of a unary call within the limits.
func (n Intake) unary(service string, next grpc.MethodHandler) grpc.MethodHandler {
	open := isOpen("/" + service + "/")
	return func(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		ctx, l, leave, err := n.enter(ctx, open)
		if err != nil {
			return nil, err
		}
		defer leave()
		taken := reservation{bounds: n.Bounds, link: l}
		defer taken.give()
		in := wire.Incoming{ItemsMax: n.ItemsMax, Reserve: taken.take}
		out, err := next(srv, ctx, func(m any) error {
			in.Message = m
			return receiveError(&in, decode(&in))
		}, interceptor)
		if err != nil {
			return nil, err
		}
		return &wire.Outgoing{Message: out, Sent: l.Answers}, nil
	}
}

// enter admits a call or stream after its headers were read and before the rest is read. open means
// that the call requires no token. enter returns a status error if the caller is not authenticated,
// or if the bounds have no room for the call.
func (n Intake) enter(ctx context.Context, open bool) (_ context.Context, l Link, leave func(), err error) {
	l = LinkOf(ctx)
	var i *access.Identity
	if open {
		l.Probed()
	} else {
		if ctx, i, err = n.Auth.incoming(ctx); err != nil {
			return nil, nil, nil, err
		}
		tenant := i.Tenant
		if i.Operator() {
			tenant = ""
		}
		if err := l.Known(tenant); err != nil {
			return nil, nil, nil, Status(err)
		}
	}
	if leave, err = n.Bounds.enter(i, l); err != nil {
		return nil, nil, nil, Status(err)
	}
	return ctx, l, leave, nil
}

// boundedStream is a stream whose messages are decoded within the limits. Its context contains the
// caller's identity.
type boundedStream struct {
	grpc.ServerStream

	ctx   context.Context
	in    wire.Incoming
	taken reservation // for the latest message
}

// until returns a handler that calls handle, and then releases everything that the stream has
// reserved.
func (s *boundedStream) until(leave func(), handle grpc.StreamHandler) grpc.StreamHandler {
	return func(srv any, stream grpc.ServerStream) error {
		defer leave()
		defer s.taken.end()
		return handle(srv, stream)
	}
}

// Context returns the stream's context.
func (s *boundedStream) Context() context.Context { return s.ctx }

// RecvMsg receives a message.
func (s *boundedStream) RecvMsg(m any) error {
	s.taken.give() // the handler reserves separately for what it retains of the previous message
	s.in.Message = m
	return receiveError(&s.in, s.ServerStream.RecvMsg(&s.in))
}

// receiveError returns the error of receiving a message, or else the status of the message's
// refusal.
func receiveError(in *wire.Incoming, err error) error {
	if err != nil || in.Err == nil {
		return err
	}
	var over *wire.TooManyError
	var malformed *wire.MalformedError
	switch {
	case errors.As(in.Err, &over):
		return Status(&queue.FieldError{Field: over.Field, Problem: over.Problem()})
	case !errors.As(in.Err, &malformed):
	case malformed.Field == "":
		return status.Error(codes.InvalidArgument, malformed.Error())
	default:
		return Status(&queue.FieldError{Field: malformed.Field, Problem: malformed.Problem})
	}
	return Status(in.Err)
}

// isOpen reports whether a method requires no token. Health methods require none, since probes have
// no token. Methods of the service between nodes require none, since the connection authenticates
// the caller; servers for clients do not offer that service.
func isOpen(method string) bool {
	return strings.HasPrefix(method, healthPrefix) || strings.HasPrefix(method, peerPrefix)
}

// peerPrefix is the prefix of the methods between nodes.
var peerPrefix = "/" + peerpb.PeerService_ServiceDesc.ServiceName + "/"
