package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/storage"
)

// openWith opens a node that serves no clients.
func openWith(t *testing.T, change func(*Config)) *Node {
	t.Helper()
	c := Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Durability: storage.None}
	change(&c)
	n, err := Open(c)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
		defer cancel()
		require.NoError(t, n.Shutdown(ctx))
	})
	return n
}

// pebbleOption returns an option with which Pebble opened the store in a folder.
func pebbleOption(t *testing.T, folder, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "OPTIONS-*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	text, err := os.ReadFile(files[len(files)-1])
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "\n  "+name+"=")
	require.True(t, found, "%s in\n%s", name, text)
	value, _, _ := strings.Cut(after, "\n")
	return value
}

// The configured sizes of the stores' parts and bounds of a commit reach the stores and the shards.
func TestSettingsOfTheStoresReachThem(t *testing.T) {
	var config Config
	n := openWith(t, func(c *Config) {
		c.Stores = memory.Sizes{MemTableBytes: 3 << 20, BlockCacheBytes: 5 << 20}
		c.Commit = Commit{Alone: true, TasksMax: 7, BytesMax: 2048}
		c.Shards = 1
		config = *c
	})
	folder := storage.ShardFolder(config.DataDir, 0)
	assert.Equal(t, "3145728", pebbleOption(t, folder, "mem_table_size"))
	assert.Equal(t, "11534336", pebbleOption(t, folder, "cache_size"), "5 MiB of blocks and two memtables")
	o := n.shardOptions(config, 0)
	assert.True(t, o.Alone)
	assert.Equal(t, 7, o.CommitTasksMax)
	assert.Equal(t, 2048, o.CommitBytesMax)
}

func TestSettingsOfAClusterReachItsLogs(t *testing.T) {
	var config Config
	openWith(t, func(c *Config) {
		c.Cluster = cluster.Config{Node: "n1", Listen: "127.0.0.1:0", CertsDir: certstest.Dir(t, "n1")}
		c.Stores = memory.Sizes{MemTableBytes: 3 << 20, LogMemTableBytes: 4 << 20}
		config = *c
	})
	assert.Equal(t, "3145728", pebbleOption(t, storage.ShardFolder(config.DataDir, 0), "mem_table_size"))
	assert.Equal(t, "4194304", pebbleOption(t, filepath.Join(config.DataDir, "raft"), "mem_table_size"))
}

func TestSettingsOfTheStoresOutOfRange(t *testing.T) {
	c := Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Durability: storage.None}
	c.Commit, c.Stores = Commit{TasksMax: -1, BytesMax: 1}, memory.Sizes{MemTableBytes: 1}
	require.EqualError(t, c.Check(), "tasks of a commit -1 are not from 1 to 16384\nbytes of a commit 1 are not from 1024 to 67108864\n"+
		"storage.memtable_size 1 is not from 524288 to 1073741824")
	c.Commit, c.Stores = Commit{Alone: true}, memory.Sizes{}
	c.Cluster = cluster.Config{Node: "n1", Listen: "127.0.0.1:0", CertsDir: "certs"}
	require.EqualError(t, c.Check(), "group commit of a server without a cluster is off, but the server is in a cluster: in a cluster, turn it off with --cluster-coalesce=false")
}
