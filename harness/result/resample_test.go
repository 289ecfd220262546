package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The sixth round is fast and has few samples. The range extends to it, but the interval of the
// merged percentile does not.
func TestSummariseBoundsAMergedPercentile(t *testing.T) {
	rounds, hists := sampleRounds(t, 6)
	for i := range 6 {
		hists[i] = sampleHistograms(t, i+1, 10_000, float64(10+i))
	}
	hists[5] = sampleHistograms(t, 6, 10, 0.1)
	for i := range 6 {
		rounds[i].Derive(hists[i].Histograms)
	}
	m, err := result.Summarise(rounds, hists, result.OfLoad)
	require.NoError(t, err)
	p99 := m["cycle_latency_ms_p99"]
	assert.True(t, p99.Resampled)
	assert.Greater(t, p99.Low, 19.0)
	assert.LessOrEqual(t, p99.Low, p99.Median)
	assert.GreaterOrEqual(t, p99.High, p99.Median)
	assert.Equal(t, 6, p99.N)
	for _, name := range []string{"cycle_latency_ms_max", "cycle_latency_ms_n", "cycles_per_s"} {
		assert.False(t, m[name].Resampled, name)
	}
}

func TestFewRoundsKeepTheirRange(t *testing.T) {
	rounds, hists := sampleRounds(t, 5)
	m, err := result.Summarise(rounds, hists, result.OfLoad)
	require.NoError(t, err)
	p50 := m["cycle_latency_ms_p50"]
	assert.False(t, p50.Resampled)
	assert.InEpsilon(t, 1.5, p50.Low, 0.01)
	assert.InEpsilon(t, 7.5, p50.High, 0.01)
}

// A run stored by an earlier build has ranges. Reading it adds the intervals, including those of
// its points and workloads.
func TestAStoredRunGetsItsIntervals(t *testing.T) {
	stored, hists := sampleResult(t)
	want := stored.Metrics["cycle_latency_ms_p99"]
	require.True(t, want.Resampled)
	asBefore := func() map[string]result.Metric {
		old := want
		old.Low, old.High, old.Resampled = 2, 14, false
		return map[string]result.Metric{"cycle_latency_ms_p99": old, "cycles_per_s": stored.Metrics["cycles_per_s"]}
	}
	rate := stored.Metrics["cycles_per_s"]
	stored.Metrics = asBefore()
	stored.Points = []result.Point{{Number: 1, Metrics: asBefore()}}
	stored.Workloads = []result.Workload{{Name: "slow", Metrics: asBefore()}}
	for i := range stored.Rounds {
		stored.Rounds[i].Workloads = []result.RoundWorkload{{Name: "slow"}}
		hists[i].Workloads = []result.WorkloadHistograms{{Name: "slow", Histograms: hists[i].Histograms}}
	}

	result.Resample(stored, hists)
	assert.Equal(t, want, stored.Metrics["cycle_latency_ms_p99"])
	assert.Equal(t, want, stored.Workloads[0].Metrics["cycle_latency_ms_p99"])
	assert.Equal(t, rate, stored.Metrics["cycles_per_s"])
	assert.Equal(t, asBefore(), stored.Points[0].Metrics, "the point has no rounds")

	for i := range stored.Rounds {
		stored.Rounds[i].Point = 1
	}
	result.Resample(stored, hists[1:])
	assert.Equal(t, asBefore(), stored.Points[0].Metrics, "the histograms of a round are missing")
	result.Resample(stored, hists)
	assert.Equal(t, want, stored.Points[0].Metrics["cycle_latency_ms_p99"])
}

func TestReadResamples(t *testing.T) {
	stored, hists := sampleResult(t)
	want := stored.Metrics["cycle_latency_ms_p99"]
	old := want
	old.Low, old.High, old.Resampled = 2, 14, false
	stored.Metrics["cycle_latency_ms_p99"] = old
	folder, err := result.Create(t.TempDir(), stored.Run)
	require.NoError(t, err)
	require.NoError(t, folder.Store(stored, hists))
	read, _, err := result.Read(folder.Path())
	require.NoError(t, err)
	assert.InEpsilon(t, want.Low, read.Metrics["cycle_latency_ms_p99"].Low, 1e-9)
	assert.InEpsilon(t, want.High, read.Metrics["cycle_latency_ms_p99"].High, 1e-9)
}
