package route

import (
	"context"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// Call is a unary call that this node can either execute on its own shards or forward.
type Call[Q, R any] struct {
	here  func(context.Context, Q) (R, error)
	there func(context.Context, *forward, Q) (R, error)
}

// QueueCall returns a call of the queue service. The argument there is the client's method for the
// call.
func QueueCall[Q, R any](here func(context.Context, Q) (R, error), there func(queuepb.QueueServiceClient, context.Context, Q, ...grpc.CallOption) (R, error)) Call[Q, R] {
	return Call[Q, R]{here, func(ctx context.Context, f *forward, in Q) (R, error) {
		return there(queuepb.NewQueueServiceClient(f), ctx, in)
	}}
}

// AdminCall returns a call of the admin service. The argument there is the client's method for the
// call.
func AdminCall[Q, R any](here func(context.Context, Q) (R, error), there func(adminpb.AdminServiceClient, context.Context, Q, ...grpc.CallOption) (R, error)) Call[Q, R] {
	return Call[Q, R]{here, func(ctx context.Context, f *forward, in Q) (R, error) {
		return there(adminpb.NewAdminServiceClient(f), ctx, in)
	}}
}

// At executes the call at a node.
func (c Call[Q, R]) At(ctx context.Context, at *Target, in Q) (R, error) {
	if at.Local() {
		return c.here(ctx, in)
	}
	return c.there(ctx, at.forward, in)
}

// Of returns a function that executes the call with the request in at a node, for Follow and
// Gather.
func (c Call[Q, R]) Of(in Q) func(context.Context, *Target) (R, error) {
	return func(ctx context.Context, at *Target) (R, error) { return c.At(ctx, at, in) }
}

// Each is like Of, for Router.Cover: the function returns only an error.
func (c Call[Q, R]) Each(in Q) func(context.Context, *Target) error {
	return func(ctx context.Context, at *Target) error {
		_, err := c.At(ctx, at, in)
		return err
	}
}
