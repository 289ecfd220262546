package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

const relativeBaseline = `
baseline "scaling" {
  ceiling "cycle_latency_ms_p99" {
    workload          = "quiet"
    point             = "shards=4"
    relative_to_point = "shards=1"
    max               = 2
    because           = "a neighbour costs at most as much again"
  }
}
`

// relatives returns a run in which the quiet workload's p99 is 1.5 ms at one shard and at4 ms at
// four shards.
func relatives(at4 float64) *result.Result {
	r := scaling()
	for i, p99 := range map[int]float64{0: 1.5, 2: at4} {
		r.Points[i].Workloads = []result.Workload{{Name: "quiet", Metrics: map[string]result.Metric{"cycle_latency_ms_p99": {Median: p99, Low: p99, High: p99, N: 3}}}}
	}
	return r
}

func TestALimitIsAMultipleOfAnotherPointsFigure(t *testing.T) {
	b, err := baselines(t, relativeBaseline)
	require.NoError(t, err)
	report := Check(b, relatives(3))
	assert.Equal(t, result.Pass, report.Verdict, report.Reasons)
	assert.InDelta(t, 3, report.Findings[0].Limit, 1e-9)
	report = Check(b, relatives(3.01))
	assert.Equal(t, result.Regressed, report.Verdict)
	assert.Contains(t, report.Findings[0].Sentence, "above the ceiling")
}

// A relative limit without its reference figure is broken.
func TestALimitWithoutItsReferenceIsBroken(t *testing.T) {
	b, err := baselines(t, relativeBaseline)
	require.NoError(t, err)
	for want, spoil := range map[string]func(*result.Result){
		"the run has no point shards=1":                                     func(r *result.Result) { r.Points = r.Points[1:] },
		"the run has no cycle_latency_ms_p99 above 0 at the point shards=1": func(r *result.Result) { r.Points[0].Workloads = nil },
	} {
		r := relatives(1)
		spoil(r)
		report := Check(b, r)
		assert.Equal(t, result.Regressed, report.Verdict)
		assert.Contains(t, report.Findings[0].Sentence, want)
	}
	zero := relatives(1)
	zero.Points[0].Workloads[0].Metrics["cycle_latency_ms_p99"] = result.Metric{N: 3}
	assert.Equal(t, result.Regressed, Check(b, zero).Verdict)
}

func TestALimitIsRelativeToAnotherPoint(t *testing.T) {
	for want, point := range map[string]string{
		"relative_to_point needs a point to compare": "",
		"relative_to_point equals point":             `point = "shards=1"`,
	} {
		_, err := baselines(t, "baseline \"a\" {\n  ceiling \"cycle_latency_ms_p99\" {\n    max = 2\n    relative_to_point = \"shards=1\"\n"+point+"\n    because = \"x\"\n  }\n}\n")
		assert.ErrorContains(t, err, want)
	}
}
