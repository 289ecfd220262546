package gate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
)

var quiet = noise{round: 0.01, swing: 0.02}

func sides(t require.TestingT, blocks int, losses map[string]float64) []result.Arm {
	return arms(t, rand.New(rand.NewPCG(31, 32)), blocks, quiet, losses, "base", "change", "control")
}

func delta(t require.TestingT, c *result.Comparison, metric string) result.MetricDelta {
	i := slices.IndexFunc(c.Metrics, func(d result.MetricDelta) bool { return d.Metric == metric })
	require.GreaterOrEqual(t, i, 0, "%s is not among the metrics: %v", metric, c.Reasons)
	return c.Metrics[i]
}

// scale multiplies a metric of an arm by a factor in all rounds.
func scale(a result.Arm, metric string, by float64) {
	for i := range a.Result.Rounds {
		a.Result.Rounds[i].Metrics[metric] *= by
	}
}

func TestCompareCallsALoss(t *testing.T) {
	c := gate.Judge(fast())(sides(t, 12, map[string]float64{"change": 0.1}))
	assert.Equal(t, result.Regressed, c.Verdict)
	rate := delta(t, c, result.CyclesPerS)
	assert.Equal(t, result.Worsened, rate.Outcome)
	assert.InDelta(t, 0.9, rate.Ratio, 0.02)
	assert.Less(t, rate.RatioLow, rate.Ratio)
	assert.Greater(t, rate.RatioHigh, rate.Ratio)
	assert.InDelta(t, 1, rate.ControlRatio, 0.02)
	assert.LessOrEqual(t, rate.P, rate.PAdjusted)
	assert.Equal(t, result.Worsened, delta(t, c, result.CPUUsPerCycle).Outcome, "lower CPU time is better")
	assert.NotEmpty(t, c.Reasons)
	assert.True(t, strings.HasPrefix(c.Reasons[0], result.CyclesPerS), c.Reasons[0])
	assert.Equal(t, 12, c.Blocks)
	assert.True(t, c.Paired)

	c = gate.Judge(fast())(sides(t, 12, map[string]float64{"base": 0.1, "control": 0.1}))
	assert.Equal(t, result.Pass, c.Verdict, "a faster build does not fail: %v", c.Reasons)
	assert.Equal(t, result.Improved, delta(t, c, result.CyclesPerS).Outcome)
}

// Each side has the bound that its result states or that its figures show.
func TestCompareSaysWhatTheSidesAreBoundBy(t *testing.T) {
	all := sides(t, 12, nil)
	said := &result.Bound{By: result.BoundDisk, Sentence: "bound by disk"}
	all[0].Result.Bound = said
	all[1].Result.Manifest.Scenario.Topology.Procs = 1
	for i := range all[1].Result.Rounds {
		all[1].Result.Rounds[i].Metrics[result.ServerCPUCores] = 0.96
	}
	c := gate.Judge(fast())(all)
	assert.Same(t, said, c.Base.Bound)
	require.NotNil(t, c.Change.Bound)
	assert.Equal(t, result.BoundServerCPU, c.Change.Bound.By)
	assert.Nil(t, c.Control.Bound)
	assert.Nil(t, all[1].Result.Bound, "Judge must not modify the result")

	assert.Nil(t, gate.Judge(fast())(sides(t, 12, nil)).Change.Bound, "figures that cannot show a bound")
}

// A stall in one round moves the percentile of all samples. The median of the rounds' percentiles
// would not show it.
func TestPercentilesOfSidesAreThoseOfAllTheirSamples(t *testing.T) {
	all := sides(t, 12, nil)
	base := all[0]
	stalled := base.Histograms[0].Histograms
	require.NoError(t, stalled.Cycle.RecordValues(int64(10e9), 900))
	base.Result.Rounds[0].Derive(stalled)
	d := delta(t, gate.Judge(fast())(all), result.CycleLatencyMs+"_p99")
	merged := result.NewHistograms()
	for _, h := range base.Histograms {
		merged.Cycle.Merge(h.Cycle)
	}
	assert.InEpsilon(t, 10_000, d.Base.Median, 0.01)
	assert.InEpsilon(t, result.LatencyMetrics(merged)[d.Metric], d.Base.Median, 1e-9)
	assert.InEpsilon(t, 10_000, d.Base.High, 0.01, "the highest round")
	assert.Less(t, d.Base.Low, 10.0, "the lowest round")
	assert.Less(t, d.Change.Median, 10.0)
	assert.Equal(t, 12, d.Base.N)
}

func TestCompareOfTheSame(t *testing.T) {
	c := gate.Judge(fast())(sides(t, 20, nil))
	assert.Equal(t, result.Pass, c.Verdict, "%v", c.Reasons)
	for _, d := range c.Metrics {
		assert.NotEqual(t, result.Worsened, d.Outcome, d.Metric)
		assert.NotEmpty(t, d.Because)
	}
	rate := delta(t, c, result.CyclesPerS)
	assert.Equal(t, result.Same, rate.Outcome)
	assert.LessOrEqual(t, rate.Detectable, rate.Effect, "same requires that a change could have been detected")
}

// Each condition alone prevents a difference from being called.
func TestCompareConditions(t *testing.T) {
	t.Run("it does not matter", func(t *testing.T) {
		c := gate.Judge(fast().WithEffect(0.2))(sides(t, 12, map[string]float64{"change": 0.1}))
		assert.Equal(t, result.Same, delta(t, c, result.CyclesPerS).Outcome)
		assert.LessOrEqual(t, delta(t, c, result.CyclesPerS).PAdjusted, 0.05)
	})
	t.Run("the control differs as much", func(t *testing.T) {
		// The change lies between the two arms of the base: significantly off their mean, and
		// within the difference of identical builds.
		c := gate.Judge(fast())(sides(t, 12, map[string]float64{"change": 0.12, "control": 0.15}))
		d := delta(t, c, result.CyclesPerS)
		assert.LessOrEqual(t, d.PAdjusted, 0.05)
		assert.GreaterOrEqual(t, 1-d.Ratio, d.Effect)
		assert.Equal(t, result.Unclear, d.Outcome)
		assert.Contains(t, d.Because, "the control, which is the same build, differs by -1")
		assert.Equal(t, result.Inconclusive, c.Verdict)

		c = gate.Judge(fast())(sides(t, 20, map[string]float64{"change": 0.075, "control": 0.15}))
		d = delta(t, c, result.CyclesPerS)
		assert.InDelta(t, 1, d.Ratio, 0.02)
		assert.Equal(t, result.Unclear, d.Outcome, "no result is same if the arms of the base differ")
	})
	t.Run("too few blocks", func(t *testing.T) {
		c := gate.Judge(fast())(sides(t, 4, map[string]float64{"change": 0.3}))
		d := delta(t, c, result.CyclesPerS)
		assert.Equal(t, result.Unclear, d.Outcome)
		assert.Zero(t, d.Detectable)
		assert.NotEmpty(t, d.Warnings)
		assert.Equal(t, result.Inconclusive, c.Verdict)
	})
}

// A regression has causes. A difference that the control shows too is not a cause.
func TestCompareNamesCauses(t *testing.T) {
	fsyncs := func(a result.Arm, perCycle float64) {
		for i := range a.Result.Rounds {
			m := a.Result.Rounds[i].Metrics
			m[result.StorageFsyncsPerCycle], m[result.StorageFsyncUsPerCycle] = perCycle, 5*perCycle
			m[result.ServerCPUCores] = 0.5
		}
	}
	a := sides(t, 12, map[string]float64{"change": 0.3})
	fsyncs(a[0], 0.001)
	fsyncs(a[1], 1)
	fsyncs(a[2], 0.001)
	c := gate.Judge(fast())(a)
	require.NotEmpty(t, c.Causes, "%v", c.Reasons)
	assert.Equal(t, "fsync", c.Causes[0].Kind)
	assert.Empty(t, gate.Judge(fast())(sides(t, 12, nil)).Causes, "no causes without a regression")
	fsyncs(a[2], 1)
	c = gate.Judge(fast())(a)
	assert.Equal(t, result.Regressed, c.Verdict)
	assert.Empty(t, c.Causes, "the control shows that the host is the cause")
}

func TestCompareStoredRuns(t *testing.T) {
	a := sides(t, 12, map[string]float64{"change": 0.15})
	c := gate.Compare(a[0], a[1], nil, false, fast())
	assert.Equal(t, result.Regressed, c.Verdict)
	assert.Nil(t, c.Control)
	assert.False(t, c.Paired)
	golden.Text(t, "testdata/stored.golden", strings.Join(c.Warnings, "\n")+"\n")
	a[1].Result.Rounds = a[1].Result.Rounds[:9]
	c = gate.Compare(a[0], a[1], nil, false, fast())
	assert.Equal(t, 9, delta(t, c, result.CyclesPerS).Change.N, "sides may differ in their number of rounds")
}

// Compare shows and marks figures that it cannot judge.
func TestCompareShowsWhatItCannotJudge(t *testing.T) {
	for name, breaks := range map[string]func(a []result.Arm){
		"one round": func(a []result.Arm) {
			for i := range a {
				a[i].Result.Rounds, a[i].Histograms = a[i].Result.Rounds[:1], a[i].Histograms[:1]
			}
		},
		"invalid runs": func(a []result.Arm) {
			for _, arm := range a {
				arm.Result.Verdict = result.Invalid
				for i := range arm.Result.Rounds {
					arm.Result.Rounds[i].Verdict = result.Invalid
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := sides(t, 12, nil)[:2]
			breaks(a)
			c := gate.Compare(a[0], a[1], nil, false, fast())
			assert.Equal(t, result.Invalid, c.Verdict)
			rate := delta(t, c, result.CyclesPerS)
			assert.Equal(t, result.NotJudged, rate.Outcome)
			assert.Equal(t, len(a[1].Result.Rounds), rate.Change.N)
			assert.Positive(t, rate.Base.Median)
			assert.Positive(t, delta(t, c, result.CycleLatencyMs+"_p99").Change.Median)
			assert.Zero(t, rate.Ratio, "no ratio without an interval")
			require.NoError(t, result.WriteComparison(t.TempDir(), c))
		})
	}
	a := sides(t, 1, nil)[:2]
	a[1].Result.Verdict = result.Incorrect
	assert.Empty(t, gate.Compare(a[0], a[1], nil, false, fast()).Metrics, "a run that lost tasks has no figures")
}

func TestCompareFailsClosed(t *testing.T) {
	s := golden.Cases(t, "testdata/closed.golden")
	for _, c := range []struct {
		name    string
		breaks  func(a []result.Arm)
		verdict result.Verdict
	}{
		{"the change lost tasks", func(a []result.Arm) { a[1].Result.Verdict = result.Incorrect }, result.Incorrect},
		{"the control was not fit", func(a []result.Arm) { a[2].Result.Verdict = result.Invalid }, result.Invalid},
		{"the base could not be started", func(a []result.Arm) { a[0].Result.Verdict = result.Misconfigured }, result.Misconfigured},
		{"a result is missing", func(a []result.Arm) { a[1].Result = nil }, result.Misconfigured},
		{"another scenario", func(a []result.Arm) { a[1].Result.Scenario = "other" }, result.Misconfigured},
		{"another version", func(a []result.Arm) { a[1].Result.Version = result.Version + 1 }, result.Misconfigured},
		{"an unknown verdict", func(a []result.Arm) { a[1].Result.Verdict = "fine" }, result.Misconfigured},
		{"a sweep", func(a []result.Arm) { a[0].Result.Points = make([]result.Point, 2) }, result.Misconfigured},
		{"no rounds", func(a []result.Arm) { a[1].Result.Rounds = nil }, result.Invalid},
		{"a round without histograms", func(a []result.Arm) { a[1].Histograms = a[1].Histograms[1:] }, result.Invalid},
		{"a rate is zero", func(a []result.Arm) { scale(a[1], result.CyclesPerS, 0) }, result.Invalid},
		{"a rate is no number", func(a []result.Arm) { scale(a[1], result.CyclesPerS, math.NaN()) }, result.Invalid},
		{"a counter is negative", func(a []result.Arm) { scale(a[1], result.StorageSetsPerCycle, -1) }, result.Invalid},
		{"a round lacks a metric", func(a []result.Arm) { delete(a[1].Result.Rounds[3].Metrics, result.CyclesPerS) }, result.Invalid},
		{"one side lacks a metric", func(a []result.Arm) {
			for i := range a[1].Result.Rounds {
				delete(a[1].Result.Rounds[i].Metrics, result.StorageSetsPerCycle)
			}
		}, result.Inconclusive},
		{"no side has a required metric", func(a []result.Arm) {
			for _, arm := range a {
				for i := range arm.Result.Rounds {
					delete(arm.Result.Rounds[i].Metrics, result.CyclesPerS)
				}
			}
		}, result.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := sides(t, 20, nil)
			c.breaks(a)
			got := gate.Judge(fast())(a)
			assert.Equal(t, c.verdict, got.Verdict, "%v", got.Reasons)
			require.NotEmpty(t, got.Reasons)
			s.Equal(t, c.name, strings.Join(got.Reasons, "\n"))
			require.NoError(t, result.WriteComparison(t.TempDir(), got), "the comparison can still be stored")
		})
	}
	bad := fast()
	bad.Alpha = math.NaN()
	assert.Equal(t, result.Misconfigured, gate.Judge(bad)(sides(t, 4, nil)).Verdict)
	bad = fast()
	bad.Metrics = nil
	assert.Equal(t, result.Misconfigured, gate.Judge(bad)(sides(t, 4, nil)).Verdict)
}

// A round that is missing or invalid on one side does not count on any side.
func TestComparePairsByNumber(t *testing.T) {
	a := sides(t, 12, nil)
	a[1].Result.Rounds = slices.Delete(a[1].Result.Rounds, 4, 5)
	a[2].Result.Rounds[0].Verdict = result.Invalid
	a[0].Result.Rounds[1].Profiled = true
	c := gate.Judge(fast())(a)
	assert.Equal(t, 9, c.Blocks)
	assert.Equal(t, 9, delta(t, c, result.CyclesPerS).Base.N)
	assert.NotEmpty(t, c.Warnings)
}

func TestCounterOfThreeRounds(t *testing.T) {
	a := sides(t, 3, nil)
	// Realistic figures: they vary by a fifth of a percent.
	set := func(arm int, values ...float64) {
		for i, v := range values {
			a[arm].Result.Rounds[i].Metrics[result.StorageSetsPerCycle] = v
		}
	}
	judged := func() result.MetricDelta {
		return delta(t, gate.Judge(fast())(a), result.StorageSetsPerCycle)
	}
	set(0, 3.000, 3.004, 3.002)
	set(2, 3.001, 3.003, 3.005)
	set(1, 3.033, 3.035, 3.034)
	d := judged()
	assert.Equal(t, result.Worsened, d.Outcome, "1 %% is called with three rounds: %s", d.Because)
	assert.Equal(t, result.Regressed, gate.Judge(fast())(a).Verdict)
	set(1, 3.003, 3.002, 3.004)
	assert.Equal(t, result.Same, judged().Outcome)
	set(1, 2.96, 2.961, 2.962)
	assert.Equal(t, result.Improved, judged().Outcome)
	set(1, 3.033, 3.004, 3.036)
	assert.Equal(t, result.Unclear, judged().Outcome, "one round lies within those of the base")
	set(1, 3.01, 3.06, 3.11)
	assert.Equal(t, result.Unclear, judged().Outcome, "the counter varies by more than it differs")
	set(1, 3.012, 3.013, 3.014)
	assert.Equal(t, result.Same, judged().Outcome, "a difference below the least effect is not called")
	set(2, 3.06, 3.061, 3.062)
	set(1, 3.033, 3.035, 3.034)
	assert.NotEqual(t, result.Worsened, judged().Outcome, "the control differs as much")

	set(0, 3.000, 3.0005, 3.001)
	set(2, 3.050, 3.0505, 3.051)
	set(1, 3.0495, 3.050, 3.0505)
	assert.Equal(t, result.Unclear, judged().Outcome, "the control lies in the same range")

	zero := delta(t, gate.Judge(fast())(a), result.StorageGetsPerCycle)
	assert.Equal(t, result.Same, zero.Outcome)
	for i := range a[1].Result.Rounds {
		a[1].Result.Rounds[i].Metrics[result.StorageGetsPerCycle] = 0.5
	}
	assert.Equal(t, result.Worsened, delta(t, gate.Judge(fast())(a), result.StorageGetsPerCycle).Outcome, "the counter rose from 0")

	for i := range a[1].Result.Rounds {
		a[1].Result.Rounds[i].Metrics[result.StorageGetsPerCycle] = 0.001
	}
	assert.Equal(t, result.Same, delta(t, gate.Judge(fast())(a), result.StorageGetsPerCycle).Outcome, "one in a thousand cycles is negligible")
	for i := range a[1].Result.Rounds {
		a[0].Result.Rounds[i].Metrics[result.StorageGetsPerCycle] = 0.0001
	}
	assert.Equal(t, result.Same, delta(t, gate.Judge(fast())(a), result.StorageGetsPerCycle).Outcome, "ten times a negligible counter is negligible")

	two := sides(t, 2, nil)
	assert.Equal(t, result.Unclear, delta(t, gate.Judge(fast())(two), result.StorageSetsPerCycle).Outcome, "two rounds are too few")
}

// With many rounds, a counter that varies is judged by ranks, so one outlier does not hide a
// change.
func TestCounterOfManyRounds(t *testing.T) {
	a := sides(t, 20, nil)
	scale(a[1], result.StorageSetsPerCycle, 1.01)
	a[0].Result.Rounds[7].Metrics[result.StorageSetsPerCycle] *= 1.05
	d := delta(t, gate.Judge(fast())(a), result.StorageSetsPerCycle)
	assert.Equal(t, result.Worsened, d.Outcome, d.Because)
	assert.InDelta(t, 1.01, d.Ratio, 0.001)
	assert.Greater(t, d.PAdjusted, d.P, "corrected among the counters")
	scale(a[1], result.StorageSetsPerCycle, 1/1.01)
	d = delta(t, gate.Judge(fast())(a), result.StorageSetsPerCycle)
	assert.Equal(t, result.Same, d.Outcome, d.Because)
}

// The rule for counters rarely calls identical builds different, although it needs only three
// rounds of each side.
func TestCounterFalseAlarms(t *testing.T) {
	random := rand.New(rand.NewPCG(41, 42))
	policy := gate.Policy{Alpha: 0.05, Resamples: 10, Metrics: []gate.Judged{
		{Metric: result.StorageSetsPerCycle, Effect: gate.EffectPerCounter, Counter: true},
	}}
	a := sides(t, 3, nil)
	const trials = 5_000
	alarms := func(draw func() float64) (called int) {
		for range trials {
			for _, arm := range a {
				for i := range arm.Result.Rounds {
					arm.Result.Rounds[i].Metrics = map[string]float64{result.StorageSetsPerCycle: draw()}
				}
			}
			if gate.Judge(policy)(a).Verdict == result.Regressed {
				called++
			}
		}
		return called
	}
	// The spread is far above the least effect, so that the least effect does not hide alarms of
	// the ranges.
	assert.LessOrEqual(t, alarms(func() float64 { return 3 * math.Exp(0.05*random.NormFloat64()) }), 3, "normal")
	// The worst case: two values, the higher one in a third of the rounds. In theory the rate is
	// (4/27)^3 = 1 in 307 for either direction.
	two := alarms(func() float64 {
		if random.IntN(3) == 0 {
			return 3.3
		}
		return 3
	})
	assert.InDelta(t, trials/307, two, 10, "two values")
}

func TestCompareIsDeterministicAndSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		loss := rapid.Float64Range(-0.2, 0.2).Draw(t, "loss")
		a := arms(t, rand.New(rand.NewPCG(seed, 1)), rapid.IntRange(2, 12).Draw(t, "blocks"), noise{round: 0.03, swing: 0.1},
			map[string]float64{"change": loss}, "base", "change", "control")
		p := fast()
		p.Resamples = 40
		one, again := gate.Compare(a[0], a[1], nil, true, p), gate.Judge(p)(a)
		require.Equal(t, again, gate.Judge(p)(a), "the comparison of the same results must be deterministic")
		back := gate.Compare(a[1], a[0], nil, true, p)
		for i, d := range one.Metrics {
			if d.Ratio == 1 {
				continue
			}
			require.InEpsilon(t, 1/d.Ratio, back.Metrics[i].Ratio, 1e-6, d.Metric)
			require.InDelta(t, d.P, back.Metrics[i].P, 1e-9, d.Metric)
		}
	})
}
