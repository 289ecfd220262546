package generator

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// workCycles is the least number of cycles of the fixed work.
const workCycles = 1_500

// workCounters does fixed work on a new server in this process. It returns the number of cycles and
// the increases of the counters.
func workCounters(t *testing.T, seed uint64) (done uint64, counters map[string]float64) {
	t.Helper()
	dir := t.TempDir()
	cluster, err := topology.Start(t.Context(), topology.Config{
		Dir: dir, LogPath: filepath.Join(dir, "log"), Topology: scenario.Topology{Kind: scenario.Embedded, Durability: "none", Shards: 2},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Stop(t.Context())) }()
	node := cluster.Servers()[0].Node()
	scrape := func() map[string]float64 {
		m, err := observe.Scrape(t.Context(), adminhttp.Client{Address: node.Admin, Token: cluster.Token})
		require.NoError(t, err)
		return m
	}
	c, err := driver.Target{Address: node.Address, Token: cluster.Token, Dialer: node.Dial}.Dial()
	require.NoError(t, err)
	before := scrape()
	done, err = doWork(t.Context(), c, seed, workCycles)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	counters = map[string]float64{}
	for name, v := range scrape() {
		for _, of := range []string{
			"prony_storage_sets", "prony_storage_set_bytes", "prony_storage_deletes", "prony_storage_gets", "prony_storage_scanned_keys",
			"prony_storage_task_bytes", "prony_storage_payload_bytes", "prony_commit_seconds_count", "prony_stream_frames", "prony_calls_total",
			"prony_completed", "prony_enqueued", "prony_tasks",
		} {
			if strings.HasPrefix(name, of) {
				counters[name] = v - before[name]
			}
		}
	}
	return done, counters
}

// The server's work for the fixed work depends only on the seed and the number of cycles. The
// exception is a stall of the machine that is longer than the delay of tasks, because two commits
// then merge. Two consecutive runs have no such stall.
func TestFixedWorkCountsTheSameEachTime(t *testing.T) {
	done, first := workCounters(t, 1)
	assert.GreaterOrEqual(t, done, uint64(workCycles))
	assert.Less(t, done, uint64(workCycles+workBatchMax))
	assert.InDelta(t, float64(done), first["prony_completed_total"], 0)
	for _, name := range []string{
		"prony_storage_sets_total", "prony_storage_set_bytes_total", "prony_storage_deletes_total", "prony_storage_gets_total", "prony_commit_seconds_count",
		"prony_stream_frames_total", "prony_calls_total", `prony_tasks{state="dead"}`,
	} {
		assert.Positive(t, first[name], name)
	}
	again, second := workCounters(t, 1)
	for tries := 1; tries < 3 && !maps.Equal(first, second); tries++ {
		first = second
		again, second = workCounters(t, 1)
	}
	assert.Equal(t, done, again)
	assert.Equal(t, first, second)
	_, other := workCounters(t, 2)
	assert.NotEqual(t, first["prony_storage_set_bytes_total"], other["prony_storage_set_bytes_total"])
}

func TestFixedWorkNeedsCycles(t *testing.T) {
	_, err := (&session{}).work(t.Context(), WorkSpec{Seed: 1})
	golden.Cases(t, "testdata/fixedwork.golden").Error(t, "no cycles", err)
}
