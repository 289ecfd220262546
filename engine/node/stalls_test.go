package node

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminjson"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// A slow commit is counted under its cause, and /debug/stalls reports its times.
func TestSlowCommitsAreShown(t *testing.T) {
	held := 20 * time.Millisecond
	before := time.Now()
	page, m, rest := slowCommit(t, held)
	for rest > held { // the host delayed the commit for longer than the disk did
		held *= 4
		page, m, rest = slowCommit(t, held)
	}
	require.NotEmpty(t, page.Commits)
	c := page.Commits[len(page.Commits)-1]
	assert.Equal(t, "fsync", c.Cause)
	assert.GreaterOrEqual(t, c.TookMs, 15.0)
	sum := 0.0
	for _, part := range c.CausesMs {
		sum += part
	}
	assert.InDelta(t, c.TookMs, sum, 0.1)
	assert.GreaterOrEqual(t, c.BeganMs, float64(before.Add(-time.Second).UnixMilli()))
	assert.LessOrEqual(t, c.BeganMs+c.TookMs, page.NowMs+1)
	assert.Equal(t, 5.0, page.SlowMs)
	assert.Equal(t, uint64(len(page.Commits)), page.CommitsTotal)
	require.NotEmpty(t, page.Work)
	assert.Equal(t, "fsync", page.Work[len(page.Work)-1].Kind)
	assert.Equal(t, "0000", page.Work[len(page.Work)-1].Store)
	assert.NotEqual(t, "0", m[`prony_slow_commits_total{cause="fsync"}`])
	assert.NotEqual(t, "0", m[`prony_slow_commit_seconds_total{cause="fsync"}`])
}

// slowCommit makes a commit whose fsync takes at least held, and returns what the node shows. rest
// is the time that the commit has spent on everything else, at most.
func slowCommit(t *testing.T, held time.Duration) (page adminjson.Stalls, metrics map[string]string, rest time.Duration) {
	t.Helper()
	disk := newStallingDisk()
	letGo := sync.OnceFunc(func() {
		disk.stalled.Store(false)
		close(disk.gate)
	})
	n, err := Open(Config{
		DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.Sync,
		fs: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.maybe)),
	})
	require.NoError(t, err)
	defer func() {
		letGo()
		require.NoError(t, n.Shutdown(context.Background()))
	}()
	assert.Equal(t, "0", scrape(t, n)[`prony_slow_commits_total{cause="memtables"}`])
	disk.stalled.Store(true)
	began := time.Now()
	done := make(chan error, 1)
	require.NoError(t, n.shards.Enqueue("t", []queue.NewTask{{Queue: "q"}}, func(_ []queue.Enqueued, err error) { done <- err }))
	<-disk.blocked
	blocked := time.Now()
	require.Eventually(t, func() bool {
		_, d := n.shards.UnderWay()
		return d > held && time.Since(blocked) > held
	}, adminPatience, time.Millisecond)
	waited := time.Since(blocked)
	letGo()
	require.NoError(t, <-done)
	rest = time.Since(began) - waited

	code, body := ask(t, n.Admin(), "/debug/stalls")
	require.Equal(t, http.StatusOK, code)
	require.NoError(t, json.Unmarshal(body, &page))
	return page, scrape(t, n), rest
}
