package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

const patience = waittest.Most

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func dial(t testing.TB, address string, options ...grpc.DialOption) *client.Client {
	t.Helper()
	c, err := client.Dial(address, options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// realServer returns a client of a node, and a function that stops the node and may be called
// again.
func realServer(t *testing.T, options ...grpc.DialOption) (*client.Client, func()) {
	t.Helper()
	n, err := node.Open(node.Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Durability: storage.None})
	require.NoError(t, err)
	stop := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, n.Shutdown(ctx))
	})
	t.Cleanup(stop)
	return dial(t, n.Addresses()[0], options...), stop
}

// realServerWithAdmin returns a client of a node, and a client of its admin service.
func realServerWithAdmin(t *testing.T) (*client.Client, *client.Admin) {
	t.Helper()
	n, err := node.Open(node.Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.None})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, n.Shutdown(ctx))
	})
	return dial(t, n.Addresses()[0]), dialAdmin(t, n)
}

func dialAdmin(t *testing.T, n *node.Node) *client.Admin {
	t.Helper()
	a, err := client.DialAdmin(n.Admin())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// opened opens a session. A client that retries for less than a second may need several attempts if
// the host pauses.
func opened[S any](t *testing.T, open func() (S, error)) (session S) {
	t.Helper()
	require.Eventually(t, func() (ok bool) {
		var err error
		session, err = open()
		return err == nil
	}, patience, time.Millisecond)
	return session
}

type (
	produceServer = grpc.BidiStreamingServer[queuepb.ProduceRequest, queuepb.ProduceResponse]
	workServer    = grpc.BidiStreamingServer[queuepb.WorkRequest, queuepb.WorkResponse]
)

// fake is a server whose streams a test implements.
type fake struct {
	queuepb.UnimplementedQueueServiceServer

	produce func(produceServer) error
	work    func(workServer) error
	grpc    *grpc.Server
}

func (f *fake) Produce(s produceServer) error { return f.produce(s) }
func (f *fake) Work(s workServer) error       { return f.work(s) }

func (f *fake) serve(t testing.TB) *client.Client {
	t.Helper()
	return dial(t, f.listen(t))
}

// listen serves and returns the address.
func (f *fake) listen(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.grpc = serveOn(t, l, f)
	return l.Addr().String()
}

func serveUnary(t *testing.T, service queuepb.QueueServiceServer) *client.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, l, service)
	return dial(t, l.Addr().String())
}

func serveOn(t testing.TB, l net.Listener, service queuepb.QueueServiceServer) *grpc.Server {
	t.Helper()
	g := grpc.NewServer(grpc.MaxRecvMsgSize(16 << 20))
	queuepb.RegisterQueueServiceServer(g, service)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	t.Cleanup(func() {
		g.Stop()
		if err := <-served; !errors.Is(err, grpc.ErrServerStopped) {
			require.NoError(t, err)
		}
	})
	return g
}

// gated implements a Produce stream that answers frames only as the gate permits.
type gated struct {
	frames chan *queuepb.ProduceRequest // received frames in order
	// Each element permits one answer; when closed, all are permitted.
	gate chan struct{}
}

func newGated() *gated {
	return &gated{frames: make(chan *queuepb.ProduceRequest, 10_000), gate: make(chan struct{})}
}

func (g *gated) play(s produceServer) error {
	for {
		in, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		g.frames <- in
		select {
		case <-g.gate:
		case <-s.Context().Done():
			return s.Context().Err()
		}
		a := &queuepb.EnqueueAnswer{Frame: in.GetFrame(), Ids: make([]string, len(in.GetTasks()))}
		for i, t := range in.GetTasks() {
			a.Ids[i] = string(t.GetPayload())
		}
		if err := s.Send(&queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{a}}); err != nil {
			return err
		}
	}
}
