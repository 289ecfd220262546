package driver

import (
	"context"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/client"
)

// Dial returns a client of the engine for the target's gRPC address.
func (t Target) Dial() (*client.Client, error) {
	if t.Token == "" {
		return client.Dial(t.Address)
	}
	return client.Dial(t.Address, grpc.WithPerRPCCredentials(bearer{"authorization": "Bearer " + t.Token}))
}

// bearer shows an access token with each call.
type bearer map[string]string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return b, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. The harness starts servers on its own host.
func (b bearer) RequireTransportSecurity() bool { return false }
