package node

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/node/metrics"
)

// A power loss after the first acknowledgement must not remove the data folder or a folder created
// in it.
func TestFirstStartSyncsTheFoldersItMakes(t *testing.T) {
	parent := t.TempDir()
	data := filepath.Join(parent, "of", "queued")
	var mu sync.Mutex
	synced := map[string]bool{}
	recorder := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync {
			mu.Lock()
			defer mu.Unlock()
			synced[strings.TrimSuffix(op.Path, "/")] = true
		}
		return nil
	})
	require.NoError(t, settleLayout(errorfs.Wrap(vfs.Default, recorder), data, 2))
	n := &Node{metrics: metrics.New(2)}
	require.NoError(t, n.openStores(Config{DataDir: data, Shards: 2, Durability: "sync", fs: errorfs.Wrap(vfs.Default, recorder)}))
	for _, s := range n.stores {
		require.NoError(t, s.Close())
	}
	mu.Lock()
	defer mu.Unlock()
	for _, folder := range []string{parent, filepath.Join(parent, "of"), data, filepath.Join(data, "shards"), filepath.Join(data, "shards", "0000")} {
		require.True(t, synced[folder], "%s is not fsynced: %v", folder, synced)
	}
}
