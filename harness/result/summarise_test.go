package result_test

import (
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

func TestTableOfMetrics(t *testing.T) {
	for name, want := range map[string]result.Spec{
		"cycles_per_s":               {Unit: "1/s", Better: result.Higher, Part: result.OfLoad},
		"server_cpu_us_per_cycle":    {Unit: "us", Better: result.Lower, Part: result.OfLoad},
		"client_cpu_us_per_cycle":    {Unit: "us", Better: result.Lower, Part: result.OfLoad},
		"cpu_us_per_cycle":           {Unit: "us", Better: result.Lower, Part: result.OfLoad},
		"server_rss_mb_max":          {Unit: "MB", Better: result.Lower},
		"lost":                       {Unit: "tasks", Better: result.Lower, Zero: true},
		"duplicated":                 {Unit: "tasks", Better: result.Lower, Zero: true},
		"corrupted":                  {Unit: "tasks", Better: result.Lower, Zero: true},
		"server_cpu_cores":           {Unit: "CPUs", Better: result.Lower},
		"storage_gets_per_cycle":     {Unit: "keys", Better: result.Lower, Part: result.OfStorage, Zero: true},
		"storage_sets_per_cycle":     {Unit: "keys", Better: result.Lower, Part: result.OfStorage},
		"shard_turn_ms_max":          {Unit: "ms", Better: result.Lower, Part: result.OfTurns},
		"dropped":                    {Unit: "tasks", Better: result.Lower, Part: result.OfOpen, Zero: true},
		"slip_ms_p99":                {Unit: "ms", Better: result.Lower, Part: result.OfOpen, Family: "slip_ms"},
		"drain_ratio":                {Unit: "ratio", Better: result.Higher, Part: result.OfBacklog},
		"restart_first_claim_s":      {Unit: "s", Better: result.Lower, Part: result.OfRestart},
		"tenant_fairness":            {Unit: "ratio", Better: result.Higher, Part: result.OfTenants},
		"tenant_cycles_min_ratio":    {Unit: "ratio", Better: result.Higher, Part: result.OfTenants, Zero: true},
		"decay_percent":              {Unit: "%", Better: result.Lower, Part: result.OfSeries, Partial: true, Bounded: true},
		"cycle_unattributed_percent": {Unit: "%", Better: result.Lower, Part: result.OfAnatomy, Zero: true, Partial: true},
		"steady_rate_ratio":          {Unit: "ratio", Better: result.Higher, Part: result.OfSeries},
		"enqueue_latency_ms_p50":     {Unit: "ms", Better: result.Lower, Family: "enqueue_latency_ms", Part: result.OfLoad},
		"settle_latency_ms_p999":     {Unit: "ms", Better: result.Lower, Family: "settle_latency_ms", Part: result.OfLoad},
		"cycle_latency_ms_max":       {Unit: "ms", Better: result.Lower, Family: "cycle_latency_ms", Part: result.OfLoad},
		"cycle_latency_ms_n":         {Unit: "samples", Better: result.Higher, Family: "cycle_latency_ms", Part: result.OfLoad},
		"enqueue_latency_ms_p90":     {Unit: "ms", Better: result.Lower, Family: "enqueue_latency_ms", Part: result.OfLoad},
		"enqueue_latency_ms_p95":     {Unit: "ms", Better: result.Lower, Family: "enqueue_latency_ms", Part: result.OfLoad},
		"enqueue_latency_ms_p99":     {Unit: "ms", Better: result.Lower, Family: "enqueue_latency_ms", Part: result.OfLoad},
	} {
		want.Name = name
		got, found := result.Lookup(name)
		require.True(t, found, name)
		assert.Equal(t, want, got)
	}
	_, found := result.Lookup("cycles")
	assert.False(t, found)
	assert.Len(t, result.Specs(), 74+13*7+4)
}

func TestLatencyMetricsAreMilliseconds(t *testing.T) {
	h := result.NewHistograms()
	for range 100 {
		require.NoError(t, h.Cycle.RecordValue(int64(2*time.Millisecond)))
	}
	require.NoError(t, h.Cycle.RecordValue(int64(40*time.Millisecond)))
	m := result.LatencyMetrics(h)
	assert.InEpsilon(t, 2, m["cycle_latency_ms_p50"], 0.01)
	assert.InEpsilon(t, 2, m["cycle_latency_ms_p99"], 0.01)
	assert.InEpsilon(t, 40, m["cycle_latency_ms_max"], 0.01)
	assert.Equal(t, 101.0, m["cycle_latency_ms_n"])
	// A figure that was not measured must be missing, not zero.
	assert.Equal(t, 0.0, m["enqueue_latency_ms_n"])
	assert.NotContains(t, m, "enqueue_latency_ms_p50")
	assert.NotContains(t, m, "enqueue_latency_ms_max")
}

func TestDerive(t *testing.T) {
	r := result.Round{
		WindowSeconds: 4, Cycles: 1000,
		Metrics: map[string]float64{"server_cpu_us_per_cycle": 9, "client_cpu_us_per_cycle": 5},
		Ledger:  result.Ledger{Lost: 1, Duplicated: 2, Corrupted: 3},
	}
	r.Derive(sampleHistograms(t, 1, 10, 1).Histograms)
	assert.Equal(t, 250.0, r.Metrics["cycles_per_s"])
	assert.Equal(t, 14.0, r.Metrics["cpu_us_per_cycle"])
	assert.Equal(t, []float64{1, 2, 3}, []float64{r.Metrics["lost"], r.Metrics["duplicated"], r.Metrics["corrupted"]})
	assert.Equal(t, 10.0, r.Metrics["settle_latency_ms_n"])

	var empty result.Round
	empty.Derive(result.Histograms{})
	assert.NotContains(t, empty.Metrics, "cycles_per_s", "a window of zero length has no rate")
	assert.NotContains(t, empty.Metrics, "cpu_us_per_cycle")
}

func TestSummariseMedianOverTimedRoundsOnly(t *testing.T) {
	rounds, hists := sampleRounds(t, 7)
	rounds[7].Metrics["cycles_per_s"] = 1 // the profiled round
	m, err := result.Summarise(rounds, hists, result.OfLoad)
	require.NoError(t, err)
	assert.Equal(t, result.Metric{Median: 104_000, Low: 101_000, High: 107_000, N: 7, Unit: "1/s"}, m["cycles_per_s"])
	assert.InDelta(t, 14.4, m["cpu_us_per_cycle"].Median, 1e-9)
	for _, spec := range result.Specs() {
		if spec.Part != "" && spec.Part != result.OfLoad {
			assert.NotContains(t, m, spec.Name, "the rounds lack the part")
			continue
		}
		assert.Contains(t, m, spec.Name)
		assert.Equal(t, spec.Unit, m[spec.Name].Unit)
	}
}

// Profiled rounds and rounds that found a peak are not timed.
func TestTimedRounds(t *testing.T) {
	assert.True(t, (&result.Round{}).Timed())
	assert.False(t, (&result.Round{Profiled: true}).Timed())
	assert.False(t, (&result.Round{Calibration: true}).Timed())
}

// Metrics of the scenario's parts are required. Metrics that only a server can report are not,
// unless the server reported them in another round.
func TestSummariseWantsTheMetricsOfTheParts(t *testing.T) {
	rounds, hists := sampleRounds(t, 3)
	_, err := result.Summarise(rounds, hists, result.OfLoad, result.OfBacklog, result.OfSeries)
	golden.Text(t, "testdata/lackingparts.golden", err.Error()+"\n")
	assert.NotContains(t, err.Error(), "restart_first_claim_s")
	assert.NotContains(t, err.Error(), "storage_")

	for i := range 3 {
		rounds[i].Metrics[result.StorageGetsPerCycle] = 0
	}
	m, err := result.Summarise(rounds, hists, result.OfLoad)
	require.NoError(t, err)
	assert.Equal(t, result.Metric{N: 3, Unit: "keys"}, m[result.StorageGetsPerCycle], "0 is a valid value of it")
	delete(rounds[1].Metrics, result.StorageGetsPerCycle)
	_, err = result.Summarise(rounds, hists, result.OfLoad)
	golden.Text(t, "testdata/lackingstorage.golden", err.Error()+"\n")
}

// A server without load has a window but no cycles.
func TestSummariseAnIdleServer(t *testing.T) {
	r := result.Round{Number: 1, WindowSeconds: 10, Metrics: map[string]float64{result.ServerCPUCores: 0.002, result.ServerRSSMBMax: 40}}
	h := result.RoundHistograms{Round: 1, Histograms: result.NewHistograms()}
	r.Derive(h.Histograms)
	assert.NotContains(t, r.Metrics, result.CyclesPerS)
	m, err := result.Summarise([]result.Round{r}, []result.RoundHistograms{h})
	require.NoError(t, err)
	assert.InDelta(t, 0.002, m[result.ServerCPUCores].Median, 0)
	for _, name := range []string{result.CyclesPerS, result.CPUUsPerCycle, "cycle_latency_ms_p99"} {
		assert.NotContains(t, m, name)
	}
	_, err = result.Summarise([]result.Round{r}, []result.RoundHistograms{h}, result.OfLoad)
	golden.Cases(t, "testdata/idle.golden").Error(t, "with a load the metrics are required", err)
}

// The slow round of three has few samples: the merged percentile is neither the median nor the mean
// of the rounds' percentiles.
func TestSummariseMergesHistograms(t *testing.T) {
	rounds, hists := sampleRounds(t, 3)
	hists[0] = sampleHistograms(t, 1, 10_000, 1)
	hists[1] = sampleHistograms(t, 2, 10, 100)
	hists[2] = sampleHistograms(t, 3, 10, 200)
	for i := range 3 {
		rounds[i].Derive(hists[i].Histograms)
	}
	m, err := result.Summarise(rounds, hists, result.OfLoad)
	require.NoError(t, err)
	p50 := m["cycle_latency_ms_p50"]
	assert.InEpsilon(t, 1.5, p50.Median, 0.01)
	assert.InEpsilon(t, 1.5, p50.Low, 0.01)
	assert.InEpsilon(t, 280, p50.High, 0.01)
	assert.Equal(t, 3, p50.N)
	assert.InEpsilon(t, 380, m["cycle_latency_ms_max"].Median, 0.01)
	assert.Equal(t, result.Metric{Median: 10_020, Low: 10, High: 10_000, N: 3, Unit: "samples"}, m["cycle_latency_ms_n"])
}

func TestSummariseSumsTheLedgerOverAllRounds(t *testing.T) {
	rounds, hists := sampleRounds(t, 7)
	rounds[2].Ledger.Lost = 1
	rounds[7].Ledger.Lost = 4 // the profiled round
	rounds[5].Ledger.Corrupted = 2
	m, err := result.Summarise(rounds, hists, result.OfLoad)
	require.NoError(t, err)
	assert.Equal(t, result.Metric{Median: 5, Low: 0, High: 4, N: 8, Unit: "tasks"}, m["lost"])
	assert.Equal(t, result.Metric{Median: 2, Low: 0, High: 2, N: 8, Unit: "tasks"}, m["corrupted"])
	assert.Equal(t, result.Metric{N: 8, Unit: "tasks"}, m["duplicated"])
}

func TestSummariseLedgerProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lost := rapid.SliceOfN(rapid.Uint64Range(0, 1000), 1, 12).Draw(t, "lost")
		rounds := make([]result.Round, len(lost))
		var sum uint64
		for i, n := range lost {
			rounds[i] = result.Round{Number: i + 1, Profiled: rapid.Bool().Draw(t, "profiled"), Ledger: result.Ledger{Lost: n}}
			sum += n
		}
		m, err := result.Summarise(rounds, nil, result.OfLoad)
		require.Error(t, err, "the rounds have no measurements")
		require.Equal(t, float64(sum), m["lost"].Median)
		require.LessOrEqual(t, m["lost"].Low, m["lost"].High)
	})
}

// A metric that cannot be summarised is named and missing; the others are returned.
func TestSummariseNamesWhatItCannotSummarise(t *testing.T) {
	s := golden.Cases(t, "testdata/summaries.golden")
	for name, test := range map[string]struct {
		spoil   func(rounds []result.Round, hists []result.RoundHistograms)
		missing string
	}{
		"missing in one round": {
			func(r []result.Round, _ []result.RoundHistograms) { delete(r[1].Metrics, "server_rss_mb_max") },
			"server_rss_mb_max",
		},
		"NaN in one round": {
			func(r []result.Round, _ []result.RoundHistograms) { r[2].Metrics["cycles_per_s"] = math.NaN() },
			"cycles_per_s",
		},
		"unknown": {
			func(r []result.Round, _ []result.RoundHistograms) { r[0].Metrics["speed"] = 1 },
			"speed",
		},
		"no histogram": {
			func(_ []result.Round, h []result.RoundHistograms) { h[0].Round = 99 },
			"cycle_latency_ms_p50",
		},
		"nil histogram": {
			func(_ []result.Round, h []result.RoundHistograms) { h[1].Settle = nil },
			"settle_latency_ms_p50",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rounds, hists := sampleRounds(t, 3)
			test.spoil(rounds, hists)
			m, err := result.Summarise(rounds, hists, result.OfLoad)
			s.Error(t, name, err)
			assert.NotContains(t, m, test.missing)
			assert.Subset(t, m, []string{"cpu_us_per_cycle", "lost"}, "the other metrics are returned")
		})
	}
	_, err := result.Summarise(nil, nil, result.OfLoad)
	s.Error(t, "no rounds", err)
	rounds, hists := sampleRounds(t, 0)
	m, err := result.Summarise(rounds, hists, result.OfLoad)
	s.Error(t, "no timed rounds", err)
	assert.NotContains(t, m, "cycles_per_s")
}

func TestMergeNeverDropsSamples(t *testing.T) {
	wide := result.NewHistograms()
	require.NoError(t, wide.Enqueue.RecordValue(int64(50*time.Second)))
	narrow := result.NewHistograms()
	narrow.Enqueue = hdrhistogram.New(1, int64(time.Second), 3)
	_, err := result.Merge(narrow, wide)
	require.ErrorContains(t, err, "would drop 1 samples")
	_, err = result.Merge()
	require.Error(t, err)

	before := wide.Enqueue.TotalCount()
	_, err = result.Merge(wide, wide)
	require.NoError(t, err)
	assert.Equal(t, before, wide.Enqueue.TotalCount(), "the inputs must not be modified")
}
