package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// The page of a workload without workers has the rate of its enqueues and the number of left tasks,
// and no rate of cycles.
func TestPageOfEnqueuesAlone(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "enqueues/s")
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
	sheet(t).Equal(t, "page", added(before, page))
	assert.NotContains(t, page, "`cycles_per_s`")
	assert.NotContains(t, files, "fixture-throughput.svg")
	requireWholeTables(t, page)
}

// The page shows the tasks per call of each side, the behaviour of workers, and the end condition
// of a window.
func TestPageOfRolesAndVolume(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	s, before := sheet(t), rendered(t, r, hists)["fixture.md"]
	r.Manifest.Scenario = expanded(t, &scenario.Scenario{
		Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: "none"},
		Workloads: []scenario.Workload{{
			Name: "main", Driver: "stream", Tenants: 1, Queues: 1, Producers: 1, Workers: 6, Batch: 1, ProducerBatch: 64, WorkerBatch: 3, QueuePerWorker: true,
			Think:   scenario.Think{Kind: scenario.ThinkExponential, Mean: time.Millisecond, Max: 10 * time.Millisecond},
			Payload: scenario.Payload{Kind: "fixed", Min: 64, Max: 64}, Arrivals: scenario.Arrivals{Kind: scenario.Closed},
		}},
		Phases: scenario.Phases{Window: time.Minute, Tasks: 5000},
	})
	page := rendered(t, r, hists)["fixture.md"]
	s.Equal(t, "page", added(before, page))
	r.Manifest.Scenario.Workloads[0].Arrivals = scenario.Arrivals{
		Kind: scenario.Stages, Rate: scenario.Rate{PerSecond: 1000}, Stages: []scenario.Stage{{To: scenario.Rate{PerSecond: 2000}, Over: time.Second}},
	}
	s.Equal(t, "stages", added(page, rendered(t, r, hists)["fixture.md"]))
}
