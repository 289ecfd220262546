//go:build planted

package call

import (
	"context"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/internal/planted"
)

// plantedOptions returns the interceptors with the faults of package planted that concern calls and
// the frames of streams.
func plantedOptions() []grpc.ServerOption {
	if !planted.IsOneOf("rpc", "goroutines", "unary") {
		return nil
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if !isOpen(info.FullMethod) {
				planted.Call()
			}
			return next(ctx, in)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if !isOpen(info.FullMethod) {
				stream = plantedStream{stream}
			}
			return next(srv, stream)
		}),
	}
}

type plantedStream struct{ grpc.ServerStream }

func (s plantedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil {
		planted.Frame()
	}
	return err
}
