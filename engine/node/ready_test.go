package node

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// stallingDisk is a file system that blocks fsyncs of the log while stalled.
type stallingDisk struct {
	stalled atomic.Bool
	gate    chan struct{}
	blocked chan struct{} // has an element once an fsync is blocked
}

func newStallingDisk() *stallingDisk {
	return &stallingDisk{gate: make(chan struct{}), blocked: make(chan struct{}, 1)}
}

func (d *stallingDisk) maybe(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		if strings.HasSuffix(op.Path, ".log") && d.stalled.Load() {
			select {
			case d.blocked <- struct{}{}:
			default:
			}
			<-d.gate
		}
	}
	return nil
}

func TestAStalledNodeIsNotReadyUntilItGoesOn(t *testing.T) {
	disk := newStallingDisk()
	letGo := sync.OnceFunc(func() {
		disk.stalled.Store(false)
		close(disk.gate)
	})
	n, err := Open(Config{
		DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.Sync,
		StallMax: 20 * time.Millisecond, fs: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.maybe)),
	})
	require.NoError(t, err)
	defer func() {
		letGo()
		require.NoError(t, n.Shutdown(context.Background()))
	}()
	enqueue := func() <-chan error {
		done := make(chan error, 1)
		require.NoError(t, n.shards.Enqueue("t", []queue.NewTask{{Queue: "q"}}, func(_ []queue.Enqueued, err error) { done <- err }))
		return done
	}
	require.NoError(t, <-enqueue())
	assert.Equal(t, "1", scrape(t, n)["prony_queues"])
	require.Eventually(t, func() bool { // an idle node is ready, however short the bound
		code, _ := ask(t, n.Admin(), "/readyz")
		return code == http.StatusOK
	}, adminPatience, time.Millisecond)

	disk.stalled.Store(true)
	done := enqueue()
	var body []byte
	require.Eventually(t, func() bool {
		var code int
		code, body = ask(t, n.Admin(), "/readyz")
		return code == http.StatusServiceUnavailable
	}, adminPatience, time.Millisecond)
	assert.Contains(t, string(body), "shard 0 is stalled: a commit has been running for ")
	code, _ := ask(t, n.Admin(), "/livez")
	assert.Equal(t, http.StatusOK, code, "a restart would not help the disk")
	assert.Empty(t, done)
	n.statsMax = time.Millisecond
	metrics := scrape(t, n) // reports it too, and has all figures except those of the queues
	assert.Equal(t, "0", metrics["prony_ready"])
	assert.Contains(t, metrics, `prony_storage_sets_total{shard="0"}`)
	assert.NotContains(t, metrics, "prony_queues")

	letGo()
	require.NoError(t, <-done)
	require.Eventually(t, func() bool {
		code, _ := ask(t, n.Admin(), "/readyz")
		return code == http.StatusOK
	}, adminPatience, time.Millisecond)
}

func TestTheStallBoundIsChecked(t *testing.T) {
	_, err := Open(Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Durability: storage.None, StallMax: -1})
	require.ErrorContains(t, err, "stall bound -1ns is negative")
	assert.Equal(t, 10*time.Second, defaultStallMax)
}
