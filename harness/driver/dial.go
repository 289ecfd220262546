package driver

import "github.com/pronybench/prony/engine/client"

// Dial returns a client of the engine for the target's gRPC address, which shows the target's access token.
func (t Target) Dial() (*client.Client, error) {
	if t.Token == "" {
		return client.Dial(t.Address)
	}
	return client.Dial(t.Address, client.WithToken(t.Token))
}
