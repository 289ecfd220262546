package client_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

func TestATokenGoesWithEachCallAndStream(t *testing.T) {
	n, err := node.Open(node.Config{
		DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0", "unix:" + filepath.Join(t.TempDir(), "s")}, Durability: storage.None, Auth: true,
	})
	require.NoError(t, err)
	ctx := bounded(t)
	t.Cleanup(func() { require.NoError(t, n.Shutdown(context.Background())) })
	for _, address := range n.Addresses() {
		c, err := client.Dial(address, client.WithTokenFile(n.TokenFile()))
		require.NoError(t, err)
		_, err = c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
		require.NoError(t, err)
		p, err := c.Producer(ctx, "")
		require.NoError(t, err)
		_, err = p.Enqueue(ctx, client.Task{Queue: "q"})
		require.NoError(t, err)
		require.NoError(t, p.Close(ctx))
		require.NoError(t, c.Close())
		for _, options := range [][]grpc.DialOption{nil, {client.WithToken("nonsense")}} {
			c, err = client.Dial(address, options...)
			require.NoError(t, err)
			_, err = c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
			assert.Equal(t, codes.Unauthenticated, status.Code(err))
			require.NoError(t, c.Close())
		}
	}
}

func TestATokenDoesNotLeaveTheHostUnencrypted(t *testing.T) {
	token := client.WithToken("secret")
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	for _, c := range []struct {
		address string
		options []grpc.DialOption
		ok      bool
	}{
		{"127.0.0.1:7070", []grpc.DialOption{token}, true},
		{"[::1]:7070", []grpc.DialOption{token}, true},
		{"localhost:7070", []grpc.DialOption{token}, true},
		{"unix:/run/queued.sock", []grpc.DialOption{token}, true},
		{"192.0.2.1:7070", []grpc.DialOption{token}, false},
		{"example.com:7070", []grpc.DialOption{token}, false},
		{"localhost.example.com:7070", []grpc.DialOption{token}, false},
		{"example.com:7070", []grpc.DialOption{token, plain}, false},
		{"example.com:7070", []grpc.DialOption{token, client.WithBusyPoll()}, false},
		{"example.com:7070", []grpc.DialOption{token, client.WithTLS(nil), client.WithBusyPoll()}, true},
		{"127.0.0.1:7070", []grpc.DialOption{token, client.WithBusyPoll()}, true},
		{"example.com:7070", nil, true},
		{"example.com:7070", []grpc.DialOption{token, client.WithTLS(nil)}, true},
		{"example.com:7070", []grpc.DialOption{client.WithTLS(nil), token}, true},
		{"example.com:7070", []grpc.DialOption{token, client.WithPlaintextToken()}, true},
		{"example.com:7070", []grpc.DialOption{client.WithPlaintextToken(), token}, true},
	} {
		d, err := client.Dial(c.address, c.options...)
		if !c.ok {
			require.ErrorContains(t, err, c.address)
			require.ErrorContains(t, err, "WithTLS")
			continue
		}
		require.NoError(t, err, c.address)
		require.NoError(t, d.Close())
	}
}

// TestOptionsOfGRPCsOwnGoToo passes an interceptor together with a token.
func TestOptionsOfGRPCsOwnGoToo(t *testing.T) {
	seen := make(chan []string, 1)
	f := &fake{produce: func(s produceServer) error {
		in, _ := metadata.FromIncomingContext(s.Context())
		seen <- append(in["authorization"], in["x-own"]...)
		return nil
	}}
	address := f.listen(t)
	own := grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, m string, next grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
		return next(metadata.AppendToOutgoingContext(ctx, "x-own", "yes"), d, cc, m, o...)
	})
	c, err := client.Dial(address, own, client.WithToken("secret"))
	require.NoError(t, err)
	stream, err := c.API().Produce(bounded(t))
	require.NoError(t, err)
	assert.Equal(t, []string{"Bearer secret", "yes"}, <-seen)
	_, err = stream.Recv()
	require.Error(t, err)
	require.NoError(t, c.Close())
}
