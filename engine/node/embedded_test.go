package node_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
)

func TestAnEmbeddedServerIsReachedThroughItsListener(t *testing.T) {
	pipe := bufconn.Listen(1 << 16)
	c, err := node.Embedded(t.TempDir(), "none", pipe)
	require.NoError(t, err)
	n, err := node.Open(c)
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Shutdown(context.Background())) }()
	assert.Equal(t, []string{"bufconn"}, n.Addresses())
	assert.NotEmpty(t, n.HTTP())
	assert.NotEmpty(t, n.Admin())

	clients, err := client.Dial("embedded", grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return pipe.DialContext(ctx)
	}))
	require.NoError(t, err)
	defer func() { require.NoError(t, clients.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := clients.Producer(ctx, "t0")
	require.NoError(t, err)
	_, err = p.Enqueue(ctx, client.Task{Queue: "q0", Payload: []byte("payload")})
	require.NoError(t, err)
	require.NoError(t, p.Close(ctx))
}

func TestAnEmbeddedServersListenerIsClosedWhenItCantBeOpened(t *testing.T) {
	_, err := node.Embedded(t.TempDir(), "sometimes", nil)
	require.ErrorContains(t, err, "sometimes")
	for name, change := range map[string]func(*node.Config){
		"an invalid configuration":            func(c *node.Config) { c.StallMax = -1 },
		"a missing certificate":               func(c *node.Config) { c.TLS.CertFile, c.TLS.KeyFile = "none", "none" },
		"a data folder that can't be created": func(c *node.Config) { c.DataDir = filepath.Join("/dev/null", "data") },
	} {
		t.Run(name, func(t *testing.T) {
			pipe := bufconn.Listen(1 << 10)
			c, err := node.Embedded(t.TempDir(), "none", pipe)
			require.NoError(t, err)
			change(&c)
			_, err = node.Open(c)
			require.Error(t, err)
			_, err = pipe.Accept()
			require.Error(t, err, "the listener is closed")
		})
	}
}
