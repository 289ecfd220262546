package gate

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
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
	assert.False(t, report.Findings[0].OK)
}

// A relative limit without its reference figure is broken.
func TestALimitWithoutItsReferenceIsBroken(t *testing.T) {
	b, err := baselines(t, relativeBaseline)
	require.NoError(t, err)
	s := golden.Cases(t, "testdata/relative.golden")
	for name, spoil := range map[string]func(*result.Result){
		"no point":  func(r *result.Result) { r.Points = r.Points[1:] },
		"no figure": func(r *result.Result) { r.Points[0].Workloads = nil },
	} {
		r := relatives(1)
		spoil(r)
		report := Check(b, r)
		assert.Equal(t, result.Regressed, report.Verdict)
		s.Equal(t, name, report.Findings[0].Sentence)
	}
	zero := relatives(1)
	zero.Points[0].Workloads[0].Metrics["cycle_latency_ms_p99"] = result.Metric{N: 3}
	assert.Equal(t, result.Regressed, Check(b, zero).Verdict)
}

func TestALimitIsRelativeToAnotherPoint(t *testing.T) {
	s := golden.Cases(t, "testdata/badrelative.golden")
	s.Replace(filepath.Dir(t.TempDir()), "DIR")
	for _, c := range []struct{ name, point string }{{"without a point", ""}, {"of itself", `point = "shards=1"`}} {
		_, err := baselines(t, "baseline \"a\" {\n  ceiling \"cycle_latency_ms_p99\" {\n    max = 2\n    relative_to_point = \"shards=1\"\n"+c.point+"\n    because = \"x\"\n  }\n}\n")
		s.Error(t, c.name, err)
	}
}
