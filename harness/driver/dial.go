package driver

import (
	"context"
	"net"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/client"
)

// Dial returns an engine client that is connected to the target's gRPC address. The client sends
// the target's access token and trusts only the target's CA.
func (t Target) Dial() (*client.Client, error) {
	options, err := t.options()
	if err != nil {
		return nil, err
	}
	return client.Dial(t.Address, options...)
}

// DialAdmin returns an admin client for one server of the target. address is the "host:port" of the
// server's admin listener. The client uses the target's token and CA.
func (t Target) DialAdmin(address string) (*client.Admin, error) {
	options, err := Target{Token: t.Token, CA: t.CA}.options()
	if err != nil {
		return nil, err
	}
	return client.DialAdmin(address, options...)
}

func (t Target) options() ([]grpc.DialOption, error) {
	var options []grpc.DialOption
	encrypted, err := t.CA.Config()
	if err != nil {
		return nil, err
	}
	if encrypted != nil {
		options = append(options, client.WithTLS(encrypted))
	}
	if t.Token != "" {
		options = append(options, client.WithToken(t.Token))
		// the scenario decides whether servers on other hosts are measured without TLS
		if encrypted == nil {
			options = append(options, client.WithPlaintextToken())
		}
	}
	if t.PlaintextToken && encrypted == nil {
		options = append(options, client.WithPlaintextToken())
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
	return options, nil
}
