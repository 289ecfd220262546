package client_test

import (
	"context"
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

// secured is a CA and the files of a server certificate that it issued.
type secured struct {
	dir   string
	files node.TLS
}

func newSecured(t *testing.T) secured {
	t.Helper()
	ca, err := certs.NewCA(time.Now())
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, ca.WriteNode(dir, "server", time.Now()))
	return secured{dir, node.TLS{CertFile: filepath.Join(dir, certs.CertFile), KeyFile: filepath.Join(dir, certs.KeyFile)}}
}

// trusting returns the option of a client that trusts the CA.
func (s secured) trusting(t *testing.T) grpc.DialOption {
	t.Helper()
	c, err := certs.Load(s.dir, "server")
	require.NoError(t, err)
	return client.WithTLS(&tls.Config{RootCAs: c.CA, ServerName: "server"})
}

// Calls and sessions do not wait for a server that refuses the TLS handshake, or whose handshake
// the client refuses.
func TestARefusedHandshakeEndsCallsAtOnce(t *testing.T) {
	issued, other := newSecured(t), newSecured(t)
	mutual := issued.files
	mutual.ClientCAFile = filepath.Join(issued.dir, certs.CAFile)
	for name, c := range map[string]struct {
		server node.TLS
		says   string
	}{
		"the certificate does not verify":            {other.files, "x509: certificate signed by unknown authority"},
		"the server requires a client's certificate": {mutual, "remote error: tls: certificate required"},
		"the server does not use TLS":                {node.TLS{}, "first record does not look like a TLS handshake"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := bounded(t)
			server := startRestarted(t, c.server)
			dialed := dial(t, server.config.Listen[0], issued.trusting(t), client.WithRetryMax(time.Hour))
			_, call := dialed.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
			_, awaited := dialed.AwaitResult(ctx, "", "000000000000000000000001")
			_, producer := dialed.Producer(ctx, "")
			_, worker := dialed.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: 1})
			require.NoError(t, ctx.Err())
			for _, err := range []error{call, awaited, producer, worker} {
				require.ErrorIs(t, err, client.ErrUnavailable)
				require.ErrorContains(t, err, c.says)
			}
		})
	}
}

// A node with an unverifiable certificate does not prevent calls at the other nodes.
func TestARefusedHandshakeIsOfOneNode(t *testing.T) {
	ctx := bounded(t)
	issued, other := newSecured(t), newSecured(t)
	bad, good := startRestarted(t, other.files), startRestarted(t, issued.files)
	c := dial(t, bad.config.Listen[0]+","+good.config.Listen[0], issued.trusting(t), client.WithRetryMax(time.Hour))
	_, err := c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
	require.NoError(t, err)
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	require.NoError(t, p.Close(ctx))

	waiting := dial(t, bad.config.Listen[0]+",unix:"+t.TempDir()+"/nobody", issued.trusting(t), client.WithRetryMax(time.Hour))
	for name, call := range map[string]func(context.Context) error{
		"call": func(ctx context.Context) error {
			_, err := waiting.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
			return err
		},
		"session": func(ctx context.Context) error {
			_, err := waiting.Producer(ctx, "")
			return err
		},
	} {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		require.Error(t, call(short))
		assert.Error(t, short.Err(), "%s: the other node may come back", name)
		cancel()
	}
}

// A session survives an unverifiable certificate: the server may get a valid one again.
func TestASessionOutlivesABadCertificate(t *testing.T) {
	ctx := bounded(t)
	issued, other := newSecured(t), newSecured(t)
	server := startRestarted(t, issued.files)
	c := dial(t, server.config.Listen[0], issued.trusting(t), client.WithRetryMax(100*time.Millisecond))
	p := opened(t, func() (*client.Producer, error) { return c.Producer(ctx, "") })
	var err error
	restart := func(files node.TLS) {
		server.stop(false)
		server.config.TLS = files
		server.start()
	}
	enqueue := func() error {
		_, err := p.Enqueue(ctx, client.Task{Queue: "q"})
		return err
	}
	restart(other.files)
	require.Eventually(t, func() bool { err = enqueue(); return err != nil && strings.Contains(err.Error(), "x509") }, patience, time.Millisecond)
	assert.ErrorIs(t, err, client.ErrUnavailable)
	restart(issued.files)
	require.Eventually(t, func() bool { return enqueue() == nil }, patience, time.Millisecond)
	require.NoError(t, p.Close(ctx))
}

// grpc.NewClient accepts the option too.
func TestWithTLSIsAnOptionOfGRPC(t *testing.T) {
	ctx := bounded(t)
	issued := newSecured(t)
	conn, err := grpc.NewClient("passthrough:///"+startRestarted(t, issued.files).config.Listen[0], issued.trusting(t))
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	_, err = queuepb.NewQueueServiceClient(conn).GetRoutes(ctx, &queuepb.GetRoutesRequest{})
	require.NoError(t, err)
}
