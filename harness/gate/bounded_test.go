package gate

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

const decayBaseline = `
baseline "steady" {
  ceiling "decay_percent" { max = 2  because = "the rate holds" }
}
`

func decaying(low, percent, high float64) *result.Result {
	return &result.Result{
		Version: result.Version, Run: "20260102-steady", Scenario: "steady", Verdict: result.Pass,
		Metrics: map[string]result.Metric{result.DecayPercent: {Median: percent, Low: low, High: high, N: 1, Unit: "%"}},
	}
}

func TestADecayIsJudgedByItsBounds(t *testing.T) {
	b, err := baselines(t, decayBaseline)
	require.NoError(t, err)
	s := golden.Cases(t, "testdata/bounded.golden")
	for _, c := range []struct {
		low, percent, high float64
		want               result.Verdict
	}{
		{-1, 0.2, 1.4, result.Pass},
		{-9, -7, -5, result.Pass},  // the rate rose
		{0.5, 1.2, 2, result.Pass}, // a fall of less than the limit
		{-1, 0.9, 2.8, result.Inconclusive},
		{3.9, 5, 6.1, result.Regressed},
		{0.1, 5, 9.9, result.Regressed},
	} {
		report := Check(b, decaying(c.low, c.percent, c.high))
		assert.Equal(t, c.want, report.Verdict, "%v", c)
		f := report.Findings[0]
		s.Equal(t, fmt.Sprintf("%v, %v to %v", c.percent, c.low, c.high), f.Sentence)
		assert.Equal(t, c.want == result.Pass, f.OK, "%v", c)
		assert.InDelta(t, c.high, *f.Value, 1e-9)
		if c.want != result.Pass {
			assert.Equal(t, []string{f.Sentence}, report.Reasons)
			assert.Contains(t, f.Sentence, "the rate holds")
		}
	}
}

// A broken limit outranks an undecided one.
func TestRegressedOutranksWhatIsNotDecided(t *testing.T) {
	b, err := baselines(t, `
baseline "steady" {
  floor "cycles_per_s"      { min = 10  because = "it goes" }
  ceiling "decay_percent"   { max = 2   because = "the rate holds" }
  ceiling "disk_mb_max"     { max = 10  because = "tasks vanish" }
}
`)
	require.NoError(t, err)
	r := decaying(-1, 0.9, 2.8)
	r.Metrics["cycles_per_s"] = result.Metric{Median: 20, N: 1}
	r.Metrics["disk_mb_max"] = result.Metric{Median: 5, N: 1}
	assert.Equal(t, result.Inconclusive, Check(b, r).Verdict)
	r.Metrics["cycles_per_s"] = result.Metric{Median: 2, N: 1}
	assert.Equal(t, result.Regressed, Check(b, r).Verdict)
	r.Metrics["cycles_per_s"] = result.Metric{Median: 20, N: 1}
	r.Metrics["disk_mb_max"] = result.Metric{Median: 50, N: 1}
	assert.Equal(t, result.Regressed, Check(b, r).Verdict)
	r.Verdict = result.Invalid
	assert.Equal(t, result.Invalid, Check(b, r).Verdict, "a result keeps its own verdict")
}

func TestADecayThatIsNoFigureBreaksItsLimit(t *testing.T) {
	b, err := baselines(t, decayBaseline)
	require.NoError(t, err)
	s := golden.Cases(t, "testdata/nodecay.golden")
	for name, spoil := range map[string]func(*result.Result){
		"not a number": func(r *result.Result) { set(result.DecayPercent, math.NaN())(r) },
		"infinite":     func(r *result.Result) { set(result.DecayPercent, math.Inf(-1))(r) },
		"no round":     func(r *result.Result) { r.Metrics[result.DecayPercent] = result.Metric{High: 1} },
		"no series":    func(r *result.Result) { r.Metrics = nil },
		"one value":    func(r *result.Result) { r.Metrics = nil; r.Rounds = []result.Round{{Series: []result.Sample{{}}}} },
	} {
		r := decaying(-1, 0, 1)
		spoil(r)
		report := Check(b, r)
		assert.Equal(t, result.Regressed, report.Verdict)
		s.Equal(t, name, report.Findings[0].Sentence)
	}
	r := decaying(-1, 0, 1)
	r.Metrics[result.DecayPercent] = result.Metric{Median: 1, Low: -1, High: math.NaN(), N: 1}
	s.Equal(t, "infinite bounds", Check(b, r).Reasons[0])
}

func TestADecayIsNoMultiple(t *testing.T) {
	_, err := baselines(t, "baseline \"a\" {\n  ceiling \"decay_percent\" {\n    max = 2\n    point = \"a=1\"\n    relative_to_point = \"a=2\"\n    because = \"x\"\n  }\n}\n")
	assert.ErrorContains(t, err, "judged by its bounds")
}

// The upper bound of the fall of a rate that certainly rose is negative. Its observation is 0, and
// the proposed file can be read.
func TestADecayOfNothingIsObserved(t *testing.T) {
	const baseline = "baseline \"steady\" {\n  ceiling \"decay_percent\" {\n    max     = 2\n    because = \"the rate holds\"\n  }\n}\n"
	b, err := baselines(t, baseline)
	require.NoError(t, err)
	steady, _ := b.For("steady")
	text, changes, err := Propose([]byte(baseline), "one.hcl", steady, decaying(-31, -19, -8))
	require.NoError(t, err)
	require.Len(t, changes, 1)
	assert.Contains(t, string(text), "observed = 0\n")
	b, err = baselines(t, string(text))
	require.NoError(t, err)
	steady, _ = b.For("steady")
	assert.Zero(t, steady.Limits[0].Observed)
	assert.NotEmpty(t, steady.Limits[0].On)
}
