package gate_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// simulatedSoak simulates a soak's figures over the given number of windows. Each has noise of sd
// percent, autocorrelated by phi between windows. The figure leak changes for the worse by part, a
// fraction of its mean, from start to end.
func simulatedSoak(random *rand.Rand, windows int, sd, phi float64, leak string, part float64) []gate.SoakSeries {
	var all []gate.SoakSeries
	for i, name := range scenario.SoakFigures {
		of := gate.SoakSeries{Figure: name, Unit: "x", FallIsWorse: i == 0, LimitPercent: 2, Values: make([]float64, windows)}
		noise := random.NormFloat64()
		change := 0.0
		if name == leak {
			change = part
			if of.FallIsWorse {
				change = -part
			}
		}
		for k := range of.Values {
			of.Values[k] = 100 * (1 + sd/100*noise + change*((float64(k)+0.5)/float64(windows)-0.5))
			noise = phi*noise + math.Sqrt(1-phi*phi)*random.NormFloat64()
		}
		all = append(all, of)
	}
	return all
}

func judgedSoak(series []gate.SoakSeries) *result.Soak {
	windows := len(series[0].Values)
	s := &result.Soak{MeasuredS: 10 * float64(windows), Totals: result.SoakTotals{Windows: windows, Judged: windows}}
	gate.JudgeSoak(s, series, 10*time.Second)
	return s
}

// Twenty minutes in windows of ten seconds: stable figures pass, also with noise that lasts for
// several windows. Any of the eight figures raises a false alarm in at most one of twenty soaks.
func TestASoakThatHoldsPasses(t *testing.T) {
	const trials = 200
	for _, c := range []struct {
		phi, sd float64
		passes  int // at least
	}{{0, 1, 190}, {0.5, 1, 120}, {0.8, 1, 0}, {0.8, 3, 0}} {
		random := rand.New(rand.NewPCG(21, uint64(10*c.phi)))
		passed, alarms := 0, 0
		for range trials {
			switch s := judgedSoak(simulatedSoak(random, 120, c.sd, c.phi, "", 0)); s.Verdict {
			case result.Pass:
				passed++
			case result.Regressed:
				alarms++
			}
		}
		assert.GreaterOrEqual(t, passed, c.passes, "phi %v, sd %v", c.phi, c.sd)
		assert.LessOrEqual(t, alarms, trials*5/100, "phi %v, sd %v", c.phi, c.sd)
	}
}

// A leak and a decay of 5 % are called for their figure and never pass.
func TestASoakThatDriftsIsCalled(t *testing.T) {
	const trials = 20
	for _, leak := range []string{scenario.SoakRate, scenario.SoakRSS} {
		random := rand.New(rand.NewPCG(31, 1))
		called := 0
		for range trials {
			s := judgedSoak(simulatedSoak(random, 120, 1, 0.3, leak, 0.05))
			require.NotEqual(t, result.Pass, s.Verdict)
			for _, d := range s.Drifts {
				if d.Verdict == result.Regressed {
					require.Equal(t, leak, d.Figure)
					called++
				}
			}
		}
		assert.GreaterOrEqual(t, called, trials*9/10, leak)
	}
}

// A change of half the limit is not a regression, however certain it is: a sufficiently long soak
// passes.
func TestASoakThatDriftsBelowTheLimit(t *testing.T) {
	random := rand.New(rand.NewPCG(41, 1))
	for range 10 {
		s := judgedSoak(simulatedSoak(random, 400, 0.5, 0, scenario.SoakDisk, 0.01))
		require.Equal(t, result.Pass, s.Verdict, "%v", s.Reasons)
		s = judgedSoak(simulatedSoak(random, 70, 2, 0, scenario.SoakDisk, 0.01))
		require.NotEqual(t, result.Regressed, s.Drifts[6].Verdict)
	}
}

// An inconclusive soak states the length that a decision needs, and a soak of that length decides.
func TestASoakThatDoesNotTellSaysWhatItTakes(t *testing.T) {
	random := rand.New(rand.NewPCG(51, 1))
	s := judgedSoak(simulatedSoak(random, 60, 4, 0, "", 0))
	require.Equal(t, result.Inconclusive, s.Verdict)
	needs := 0.0
	for _, d := range s.Drifts {
		if d.Verdict == result.Inconclusive {
			assert.Greater(t, d.NeedsS, s.MeasuredS, d.Sentence)
			assert.Contains(t, d.Sentence, "at this noise level a decision needs ")
			needs = max(needs, d.NeedsS)
		}
	}
	longer := judgedSoak(simulatedSoak(random, min(9000, int(2*needs/10)), 4, 0, "", 0))
	told := 0
	for _, d := range longer.Drifts {
		if d.Verdict == result.Pass {
			told++
		}
	}
	assert.GreaterOrEqual(t, told, len(longer.Drifts)-1)
}

// A soak is regressed if the rate does not recover in more than one of ten windows with faults.
func TestASoakWhoseRateDoesNotComeBack(t *testing.T) {
	for decayed, want := range map[int]result.Verdict{0: result.Pass, 1: result.Pass, 2: result.Regressed} {
		series := simulatedSoak(rand.New(rand.NewPCG(71, 1)), 60, 0, 0, "", 0)
		s := &result.Soak{MeasuredS: 600, Totals: result.SoakTotals{
			Windows: 70, Judged: 60, WithFaults: 10,
			Recovery: &result.SoakRecovery{Windows: 10, Faults: 10, Decayed: decayed, DecayedReason: "window 7: the rate did not come back"},
		}}
		gate.JudgeSoak(s, series, 10*time.Second)
		assert.Equal(t, want, s.Verdict, "%d windows", decayed)
		if want == result.Regressed {
			assert.Equal(t, []string{
				"the rate did not recover in 2 of 10 windows with faults, but may fail to recover in at most one of ten; the first: window 7: the rate did not come back",
			}, s.Reasons)
		}
	}
}

func TestSentencesOfASoak(t *testing.T) {
	sheet := golden.Cases(t, "testdata/soak.golden")
	flat := simulatedSoak(rand.New(rand.NewPCG(61, 1)), 60, 0, 0, "", 0)
	flat[1] = simulatedSoak(rand.New(rand.NewPCG(61, 1)), 60, 0, 0, scenario.SoakLatency, 0.05)[1]
	flat[0] = simulatedSoak(rand.New(rand.NewPCG(61, 1)), 60, 0, 0, scenario.SoakRate, 0.01)[0]
	s := judgedSoak(flat)
	sheet.Equal(t, "below the limit", s.Drifts[0].Sentence)
	sheet.Equal(t, "above the limit", strings.Join(s.Reasons, "\n"))
	sheet.Equal(t, "equal", s.Drifts[2].Sentence)
	flat[2].Values = flat[2].Values[:59]
	s = judgedSoak(flat)
	assert.Equal(t, result.Inconclusive, s.Drifts[2].Verdict)
	sheet.Equal(t, "too few", s.Drifts[2].Sentence)
	flat[2].Values = make([]float64, 60)
	flat[2].Values[3] = math.NaN()
	unknown := judgedSoak(flat).Drifts[2]
	assert.Equal(t, result.Inconclusive, unknown.Verdict, "NaN must not pass")
	assert.Zero(t, unknown.Mean, "NaN could not be stored")
}

// A figure passes only if its upper bound is below the limit, and is worse only if its lower bound
// is above it. Between the two, even a certain change is inconclusive.
func TestASoakBetweenPassAndRegressed(t *testing.T) {
	random := rand.New(rand.NewPCG(71, 1))
	certain, open := 0, 0
	for range 30 {
		for _, d := range judgedSoak(simulatedSoak(random, 120, 1, 0, scenario.SoakRSS, 0.017)).Drifts {
			require.Equal(t, *d.HighPercent < d.LimitPercent, d.Verdict == result.Pass, d.Sentence)
			if d.Verdict == result.Regressed {
				require.Greater(t, *d.LowPercent, d.LimitPercent, d.Sentence)
			}
			if d.Verdict == result.Inconclusive && *d.WorsePercent < d.LimitPercent {
				open++
				if *d.P < 0.001 {
					certain++
				}
			}
		}
	}
	assert.Positive(t, certain)
	assert.Greater(t, open, certain)
}

// The stated bounds decide: a lower bound above the limit is a regression, whatever the noise.
func TestTheVerdictOfASoakFollowsItsBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(81, 1))
	regressed := 0
	for range 40 {
		series := simulatedSoak(random, 60, 25, 0.3, scenario.SoakRate, 0.9)
		for _, of := range series {
			for k := range of.Values {
				of.Values[k] = max(1, of.Values[k])
			}
		}
		for _, d := range judgedSoak(series).Drifts {
			require.Equal(t, *d.LowPercent > d.LimitPercent, d.Verdict == result.Regressed, d.Sentence)
			require.Equal(t, *d.HighPercent < d.LimitPercent, d.Verdict == result.Pass, d.Sentence)
			if d.Verdict == result.Regressed && d.Figure == scenario.SoakRate {
				regressed++
			}
		}
	}
	assert.Positive(t, regressed)
}

// A rate cannot fall by more than 100 %.
func TestARateFallsByAtMostAll(t *testing.T) {
	series := simulatedSoak(rand.New(rand.NewPCG(91, 1)), 60, 0, 0, "", 0)
	for k := range series[0].Values {
		series[0].Values[k] = 1000 - 16.9*float64(k)
	}
	d := judgedSoak(series).Drifts[0]
	require.Equal(t, scenario.SoakRate, d.Figure)
	assert.Equal(t, result.Regressed, d.Verdict)
	for _, percent := range []float64{*d.LowPercent, *d.WorsePercent, *d.HighPercent} {
		assert.LessOrEqual(t, percent, 100.0)
	}
	assert.Contains(t, d.Sentence, "cycles_per_s fell by 100 %")
}
