package node

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/storage"
)

// opened opens and stops a node with a data folder.
func opened(t *testing.T, dir string, c cluster.Config) error {
	t.Helper()
	if c.On() {
		c.CertsDir = certstest.Dir(t, c.Node)
	}
	n, err := Open(Config{DataDir: dir, Listen: []string{"127.0.0.1:0"}, Durability: storage.None, Auth: true, Insecure: true, Cluster: c})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	return n.Shutdown(ctx)
}

func TestADataFolderIsOfOneNode(t *testing.T) {
	n1, n2 := cluster.Config{Node: "n1", Listen: "127.0.0.1:0"}, cluster.Config{Node: "n2", Listen: "127.0.0.1:0"}
	dir := t.TempDir()
	require.NoError(t, opened(t, dir, n1))
	require.ErrorContains(t, opened(t, dir, cluster.Config{}), "is of node n1 of a cluster: start it with --cluster-node n1")
	require.ErrorContains(t, opened(t, dir, n2), "is of node n1, not n2")
	require.NoError(t, opened(t, dir, n1))
}

func TestAServerThatStoodAloneIsNoFirstMemberAmongSeveral(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, opened(t, dir, cluster.Config{}))
	several := cluster.Config{Node: "n1", Listen: "127.0.0.1:0", Peers: map[string]string{"n1": "127.0.0.1:1", "n2": "127.0.0.1:2"}}
	require.ErrorContains(t, opened(t, dir, several), "holds data without a Raft log")
	joins := cluster.Config{Node: "n1", Listen: "127.0.0.1:0", Join: []string{"127.0.0.1:1"}}
	require.ErrorContains(t, opened(t, dir, joins), "holds data without a Raft log")
	require.NoError(t, opened(t, dir, cluster.Config{}), "the refused start did not change the folder")
	require.NoError(t, opened(t, dir, cluster.Config{Node: "n1", Listen: "127.0.0.1:0"}))
	require.ErrorContains(t, opened(t, dir, cluster.Config{}), "is of node n1 of a cluster")
}

// A node joins a node whose log lacks entries that its store contains.
func TestANodeThatJoinsIsSentTheStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, opened(t, dir, cluster.Config{}))
	var log lockedText
	start := func(dir string, c cluster.Config) *Node {
		c.Listen, c.CertsDir = "127.0.0.1:0", certstest.Dir(t, c.Node)
		n, err := Open(Config{
			DataDir: dir, Listen: []string{"127.0.0.1:0"}, Durability: storage.None, Auth: true, Insecure: true, Cluster: c,
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		require.NoError(t, err)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
			defer cancel()
			require.NoError(t, n.Shutdown(ctx))
		})
		return n
	}
	first := start(dir, cluster.Config{Node: "n1"})
	second := start(t.TempDir(), cluster.Config{Node: "n2", Join: []string{first.ClusterAddr()}})
	require.Eventually(t, func() bool { return second.notReadyWhy() == "" }, adminPatience, 10*time.Millisecond)
	require.False(t, second.registry.Empty())
	require.NotZero(t, second.cluster.Replicas()[0].Counters().Installed)
	assert.Regexp(t, `msg="receiving the store of the leader" shard=0 bytes=[1-9]\d* percent=100.00\n`, log.String(), "the log reports the progress")
	select {
	case err := <-second.failed:
		require.NoError(t, err)
	default:
	}
}

// lockedText collects the output of several goroutines.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
