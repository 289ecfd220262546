package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The page of a workload without workers has the rate of its enqueues and the tasks that are left, and no rate of cycles.
func TestPageOfEnqueuesAlone(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "enqueues/s")
	for i := range r.Rounds {
		round := &r.Rounds[i]
		round.Cycles, round.Metrics = 0, map[string]float64{result.ServerCPUCores: 1, result.ServerRSSMBMax: 100}
		round.Enqueues = uint64(5000 * round.WindowSeconds)
		round.Ledger = result.Ledger{Enqueued: 123_456, Left: 123_456}
		hists[i].Settle, hists[i].Cycle = result.NewHistogram(), result.NewHistogram()
		round.Derive(hists[i].Histograms)
	}
	metrics, err := result.Summarise(r.Rounds, hists, result.OfEnqueue)
	require.NoError(t, err)
	r.Metrics, r.Locks, r.Profiles = metrics, nil, nil
	files := rendered(t, r, hists)
	page := files["fixture.md"]
	for _, says := range []string{
		"enqueues/s", "| `enqueues_per_s` | 5,000 | 5,000 | 5,000 | 3 | 1/s |", "| `enqueue_latency_ms_p99` |",
		"corrupted | left |", "| 123,456 | 0 | 0 | 0 | 0 | 0 | 123,456 |", "Left tasks were enqueued in a workload without workers",
	} {
		assert.Contains(t, page, says)
	}
	assert.NotContains(t, page, "`cycles_per_s`")
	assert.NotContains(t, files, "fixture-throughput.svg")
	requireWholeTables(t, page)
}
