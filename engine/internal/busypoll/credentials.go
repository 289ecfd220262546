package busypoll

import (
	"context"
	"net"
	"runtime"
	"time"

	"google.golang.org/grpc/credentials"
)

// pollMax bounds the polling of one wait. With less, the two sides lose each other at every garbage collection.
const pollMax = 200 * time.Microsecond

// Credentials returns credentials whose connections poll, or c itself where polling does not help.
func Credentials(c credentials.TransportCredentials) credentials.TransportCredentials {
	if runtime.GOMAXPROCS(0) > 1 || runtime.NumCPU() == 1 {
		return c
	}
	return pollingCredentials{c}
}

type pollingCredentials struct {
	credentials.TransportCredentials
}

// ClientHandshake implements the interface.
func (c pollingCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.TransportCredentials.ClientHandshake(ctx, authority, polling(conn, pollMax, &process))
}

// ServerHandshake implements the interface.
func (c pollingCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.TransportCredentials.ServerHandshake(polling(conn, pollMax, &process))
}

// Clone implements the interface.
func (c pollingCredentials) Clone() credentials.TransportCredentials {
	return pollingCredentials{c.TransportCredentials.Clone()}
}
