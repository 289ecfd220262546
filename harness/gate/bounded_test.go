package gate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	for _, c := range []struct {
		low, percent, high float64
		want               result.Verdict
		says               string
	}{
		{-1, 0.2, 1.4, result.Pass, "which is not above the ceiling 2"},
		{-9, -7, -5, result.Pass, "which is not above"},  // the rate rose
		{0.5, 1.2, 2, result.Pass, "which is not above"}, // a fall of less than the limit
		{-1, 0.9, 2.8, result.Inconclusive, "the run cannot show"},
		{3.9, 5, 6.1, result.Regressed, "at least 3.9 and at most 6.1: both are above the ceiling 2"},
		{0.1, 5, 9.9, result.Regressed, "at least 0.1 and at most 9.9: the value is above 0 and may be above the ceiling 2"},
	} {
		report := Check(b, decaying(c.low, c.percent, c.high))
		assert.Equal(t, c.want, report.Verdict, "%v", c)
		f := report.Findings[0]
		assert.Contains(t, f.Sentence, c.says)
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
	for want, spoil := range map[string]func(*result.Result){
		"is not a number":                func(r *result.Result) { set(result.DecayPercent, math.NaN())(r) },
		"is infinite":                    func(r *result.Result) { set(result.DecayPercent, math.Inf(-1))(r) },
		"was measured in no round":       func(r *result.Result) { r.Metrics[result.DecayPercent] = result.Metric{High: 1} },
		"no timed round has a series":    func(r *result.Result) { r.Metrics = nil },
		"the series has 1 values; it ne": func(r *result.Result) { r.Metrics = nil; r.Rounds = []result.Round{{Series: []result.Sample{{}}}} },
	} {
		r := decaying(-1, 0, 1)
		spoil(r)
		report := Check(b, r)
		assert.Equal(t, result.Regressed, report.Verdict)
		assert.Contains(t, report.Findings[0].Sentence, want)
	}
	r := decaying(-1, 0, 1)
	r.Metrics[result.DecayPercent] = result.Metric{Median: 1, Low: -1, High: math.NaN(), N: 1}
	assert.Contains(t, Check(b, r).Reasons[0], "bounds that are not finite")
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
