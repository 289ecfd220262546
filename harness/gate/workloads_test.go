package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

const mixedBaseline = `
baseline "mixed" {
  floor "cycles_per_s" { min = 100  because = "of all workloads together" }
  ceiling "cycle_latency_ms_p99" {
    workload = "quiet"
    max      = 50
    because  = "a neighbour must not be felt"
  }
}
`

func TestLimitsOfWorkloads(t *testing.T) {
	b, err := baselines(t, mixedBaseline)
	require.NoError(t, err)
	mixed := func(p99 float64) *result.Result {
		return &result.Result{
			Version: result.Version, Run: "x", Scenario: "mixed", Verdict: result.Pass,
			Metrics: map[string]result.Metric{
				"cycles_per_s": {Median: 500, N: 3}, "cycle_latency_ms_p99": {Median: 900, N: 3},
			},
			Workloads: []result.Workload{
				{Name: "noisy", Metrics: map[string]result.Metric{"cycle_latency_ms_p99": {Median: 950, N: 3}}},
				{Name: "quiet", Metrics: map[string]result.Metric{"cycle_latency_ms_p99": {Median: p99, N: 3}}},
			},
		}
	}
	report := Check(b, mixed(40))
	assert.Equal(t, result.Pass, report.Verdict, report.Reasons)

	report = Check(b, mixed(60))
	assert.Equal(t, result.Regressed, report.Verdict)
	assert.Equal(t, []string{"quiet: cycle_latency_ms_p99 60 is above the ceiling 50: a neighbour must not be felt"}, report.Reasons)

	gone := mixed(40)
	gone.Workloads = gone.Workloads[:1]
	report = Check(b, gone)
	assert.Equal(t, result.Regressed, report.Verdict)
	assert.Contains(t, report.Reasons[0], "quiet: cycle_latency_ms_p99 is missing from the result")
}

func TestLimitsOfAWorkloadThatAreWrong(t *testing.T) {
	_, err := baselines(t, `
baseline "mixed" {
  ceiling "server_rss_mb_max" {
    workload = "quiet"
    max      = 50
    because  = "who would know whose memory it is"
  }
}
`)
	require.ErrorContains(t, err, "server_rss_mb_max covers all workloads together")
}

// The limits of a quiet workload next to a noisy one are multiples of its own figure without the
// noisy one, at any percentile, and also apply to its reads.
func TestLimitsOfAWorkloadRelativeToAPoint(t *testing.T) {
	b, err := baselines(t, `
baseline "mixed" {
  ceiling "cycle_latency_ms_p95" {
    workload          = "quiet"
    point             = "producers=32"
    relative_to_point = "producers=1"
    max               = 2
    because           = "a neighbour at ten times its share at most doubles it"
  }
  ceiling "read_latency_ms_p99" {
    workload = "quiet"
    point    = "producers=32"
    max      = 50
    because  = "nor do reads wait for it"
  }
  ceiling "list_latency_ms_p99" {
    workload = "quiet"
    point    = "producers=32"
    max      = 60
    because  = "nor do lists"
  }
}
`)
	require.NoError(t, err)
	lists := 8.0
	point := func(name string, p95 float64) result.Point {
		quiet := map[string]result.Metric{"cycle_latency_ms_p95": {Median: p95, N: 3}, "read_latency_ms_p99": {Median: 7, N: 3}, "list_latency_ms_p99": {Median: lists, N: 3}}
		noisy := map[string]result.Metric{"cycle_latency_ms_p95": {Median: 900, N: 3}}
		return result.Point{Name: name, Workloads: []result.Workload{{Name: "quiet", Metrics: quiet}, {Name: "noisy", Metrics: noisy}}}
	}
	with := func(p95 float64) *result.Result {
		return &result.Result{
			Version: result.Version, Run: "x", Scenario: "mixed", Verdict: result.Pass,
			Points: []result.Point{point("producers=1", 3), point("producers=32", p95)},
		}
	}
	report := Check(b, with(5.9))
	assert.Equal(t, result.Pass, report.Verdict, report.Reasons)
	report = Check(b, with(6.1))
	assert.Equal(t, result.Regressed, report.Verdict)
	assert.Equal(t, []string{"producers=32: quiet: cycle_latency_ms_p95 6.1 is above the ceiling 6: a neighbour at ten times its share at most doubles it"}, report.Reasons)
	lists = 61
	assert.Equal(t, []string{"producers=32: quiet: list_latency_ms_p99 61 is above the ceiling 60: nor do lists"}, Check(b, with(5.9)).Reasons)
}
