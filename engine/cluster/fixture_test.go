package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/replica/logs"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

const patience = waittest.Most

// testHost is a server without clients.
type testHost struct{ t *testing.T }

func (testHost) ShardOptions(int) shard.Options                { return shard.Options{Queue: queue.DefaultConfig()} }
func (testHost) SwapStore(swap func() error) error             { return swap() }
func (testHost) Listeners() Listeners                          { return Listeners{} }
func (testHost) MakeAdminToken(context.Context) error          { return errors.New("the host has no tokens") }
func (testHost) KeepAdminToken(bool) error                     { return nil }
func (h testHost) Fail(err error)                              { assert.NoError(h.t, err) }
func (testHost) Load(context.Context) ([]access.Record, error) { return nil, nil }
func (testHost) Save(context.Context, []access.Record, []string) error {
	return errors.New("the host keeps no records")
}

// textLog returns a logger that writes lines without the time.
func textLog(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// startNodes starts a cluster of voters n0, n1 and so on with one shard, led by n0.
func startNodes(t *testing.T, n int) (nodes []*Cluster) {
	t.Helper()
	return startNodesOf(t, n, 1)
}

// startNodesOf is startNodes with some shards.
func startNodesOf(t *testing.T, n, shards int) (nodes []*Cluster) {
	t.Helper()
	for i := range n {
		c := Config{Node: fmt.Sprint("n", i), Listen: "127.0.0.1:0", CertsDir: certstest.Dir(t, fmt.Sprint("n", i))}
		if i > 0 {
			c.Join = []string{nodes[0].Addr()}
		}
		nodes = append(nodes, startNodeOf(t, c, shards))
		require.Eventually(t, func() bool {
			if nodes[0].Leader(0) != "n0" {
				return false
			}
			_, voters := nodes[0].currentMembers()
			return len(voters) == i+1
		}, patience, 10*time.Millisecond, "n%d votes", i)
	}
	return nodes
}

func startNode(t *testing.T, c Config) *Cluster {
	t.Helper()
	return startNodeOf(t, c, 1)
}

func startNodeOf(t *testing.T, c Config, n int) *Cluster {
	t.Helper()
	host, log, now := testHost{t}, slog.New(slog.DiscardHandler), clock.New()
	registry := access.New(access.Options{Log: log, Shared: true})
	require.NoError(t, registry.Load(t.Context(), host))
	t.Cleanup(registry.Close)
	dir := t.TempDir()
	// A file system that does not report its usage.
	space := disk.WatchSpace(disk.SpaceOptions{FS: vfs.NewMem(), Dir: dir})
	t.Cleanup(space.Close)
	shards, err := shard.NewClusterGroup(n, now.NowMs, log)
	require.NoError(t, err)
	k, err := Open(Options{
		Config: c, Host: host, DataDir: dir, Shards: shards, Store: storage.Options{Durability: storage.None, Space: space},
		CacheBytes: 8 << 20, Logs: logs.Options{Durability: storage.None, Space: space}, Registry: registry, Clock: now, Log: log,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		k.HandOver()
		shards.Close()
		assert.NoError(t, k.Close())
	})
	calls := grpc.NewServer()
	peerpb.RegisterPeerServiceServer(calls, k.PeerService())
	k.Serve(calls)
	return k
}
