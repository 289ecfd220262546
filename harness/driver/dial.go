package driver

import (
	"context"
	"net"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/client"
)

// Dial returns a client of the engine for the target's gRPC address, which shows the target's access token.
func (t Target) Dial() (*client.Client, error) { return client.Dial(t.Address, t.options()...) }

func (t Target) options() []grpc.DialOption {
	var options []grpc.DialOption
	if t.Token != "" {
		options = append(options, client.WithToken(t.Token))
	}
	if t.BusyPoll {
		options = append(options, client.WithBusyPoll())
	}
	if t.Idempotent {
		options = append(options, client.WithIdempotency())
	}
	if dial := t.Dialer; dial != nil {
		options = append(options, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }))
	}
	return options
}
