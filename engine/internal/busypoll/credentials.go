package busypoll

import (
	"context"
	"net"
	"runtime"
	"time"

	"google.golang.org/grpc/credentials"
)

// pollMax limits the time that one wait polls. With a shorter limit, each garbage collection would
// stop the polling of both sides.
const pollMax = 200 * time.Microsecond

// Credentials returns credentials whose connections poll. If polling does not help this process, it
// returns c.
func Credentials(c credentials.TransportCredentials) credentials.TransportCredentials {
	if runtime.GOMAXPROCS(0) > 1 || runtime.NumCPU() == 1 {
		return c
	}
	return pollingCredentials{c}
}

type pollingCredentials struct {
	credentials.TransportCredentials
}

// ClientHandshake implements credentials.TransportCredentials.
func (c pollingCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.TransportCredentials.ClientHandshake(ctx, authority, polling(conn, pollMax, &process))
}

// ServerHandshake implements credentials.TransportCredentials.
func (c pollingCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.TransportCredentials.ServerHandshake(polling(conn, pollMax, &process))
}

// Clone implements credentials.TransportCredentials.
func (c pollingCredentials) Clone() credentials.TransportCredentials {
	return pollingCredentials{c.TransportCredentials.Clone()}
}
