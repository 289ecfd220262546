package rpc_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// onBrokenDisk serves a shard whose log can no longer be fsynced once broken is set.
func onBrokenDisk(t *testing.T) (api queuepb.QueueServiceClient, broken *atomic.Bool) {
	t.Helper()
	broken = new(atomic.Bool)
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && isLogSync(op) {
			return errors.New("the disk is broken")
		}
		return nil
	}))
	store, err := storage.Open("shard", storage.Options{FS: fs, Durability: storage.Sync, Fatal: func(string) {}})
	require.NoError(t, err)
	return serveStore(t, store, func(err error) { assert.Error(t, err, "the log is not whole") }), broken
}

func isLogSync(op errorfs.Op) bool {
	sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	return sync && strings.HasSuffix(op.Path, ".log")
}

// serveStore serves a shard on a store. It closes the store at the end of the test and passes the
// error to closed.
func serveStore(t *testing.T, store *storage.Store, closed func(error)) queuepb.QueueServiceClient {
	t.Helper()
	g, err := shard.NewGroup([]*storage.Store{store}, func(int) shard.Options { return shard.Options{} })
	require.NoError(t, err)
	server := rpc.NewServer(rpc.NewService(g, queue.DefaultLimits(), access.New(access.Options{})), health.NewServer(), call.NoAuth())
	listener := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		server.Stop()
		require.NoError(t, <-served)
		g.Close()
		closed(store.Close())
	})
	return queuepb.NewQueueServiceClient(conn)
}

// A failed commit leaves the outcome unknown: the stream ends, and no answer reports refused items.
func TestAFailedCommitEndsTheStreamWithoutAnAnswer(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	task := []*queuepb.NewTask{{Queue: "q"}}

	t.Run("Produce", func(t *testing.T) {
		api, broken := onBrokenDisk(t)
		stream, err := api.Produce(ctx)
		require.NoError(t, err)
		broken.Store(true)
		require.NoError(t, stream.Send(&queuepb.ProduceRequest{Frame: 1, Tasks: task}))
		_, err = stream.Recv()
		require.Equal(t, codes.Internal, status.Code(err), "%v", err)
	})
	t.Run("Work", func(t *testing.T) {
		api, broken := onBrokenDisk(t)
		_, err := api.Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: task})
		require.NoError(t, err)
		stream, err := api.Work(ctx)
		require.NoError(t, err)
		require.NoError(t, stream.Send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}}, Credits: 1}))
		in, err := stream.Recv()
		require.NoError(t, err)
		leased := in.GetTasks()[0]
		broken.Store(true)
		require.NoError(t, stream.Send(&queuepb.WorkRequest{Frame: 1, Settlements: []*queuepb.Settlement{
			{Id: leased.GetId(), Token: leased.GetToken(), Action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE},
		}}))
		_, err = stream.Recv()
		require.Equal(t, codes.Internal, status.Code(err), "%v", err)
	})
}
