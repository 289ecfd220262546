package gate

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

const besideBaseline = `
baseline "smoke" {
  floor "cycles_per_s" {
    of_baseline = 0.93
    because     = "noise"
  }
  ceiling "server_cpu_us_per_cycle" {
    of_baseline = 1.07
    because     = "noise"
  }
}
`

const baseCommit = "0123456789abcdef0123456789abcdef01234567"

// pairsWith returns pairs whose ratios of the rate and of CPU time have the given means and spread.
func pairsWith(source *rand.Rand, n int, rate, cost, spread float64) (pairs []Pair) {
	for range n {
		noise := func(ratio float64) float64 { return ratio * math.Exp(spread*source.NormFloat64()) }
		pairs = append(pairs, Pair{
			Base:   map[string]float64{result.CyclesPerS: 1000, result.ServerCPUUsPerCycle: 4},
			Change: map[string]float64{result.CyclesPerS: 1000 * noise(rate), result.ServerCPUUsPerCycle: 4 * noise(cost)},
		})
	}
	return pairs
}

func besideOf(t *testing.T, pairs []Pair, last bool) Report {
	t.Helper()
	return besideLimits(t)(pairs, last)
}

// besideLimits reads the limits once for many calls of the returned function.
func besideLimits(t *testing.T) func(pairs []Pair, last bool) Report {
	t.Helper()
	b, err := baselines(t, besideBaseline)
	require.NoError(t, err)
	return func(pairs []Pair, last bool) Report {
		return CheckBeside(b, good(), &Beside{Commit: baseCommit, Pairs: pairs, Last: last})
	}
}

func exactly(n int, rate, cost float64) []Pair {
	return pairsWith(rand.New(rand.NewPCG(1, 1)), n, rate, cost, 0)
}

func TestARatioToTheBaselineBuild(t *testing.T) {
	kept := besideOf(t, exactly(2, 1.01, 0.99), false)
	assert.Equal(t, result.Pass, kept.Verdict, kept.Reasons)
	assert.False(t, kept.Undecided(), "two pairs of an equal build decide")
	f := kept.Findings[0]
	assert.True(t, f.OK)
	assert.InDelta(t, 1.01, f.OfBaseline.Ratio, 1e-9)
	assert.InDelta(t, 1000, f.OfBaseline.Base, 1e-9)
	assert.InDelta(t, (1.01-0.93)/0.93, *f.Margin, 1e-9)

	slow := besideOf(t, exactly(2, 0.9, 1.1), false)
	assert.True(t, slow.Undecided(), "two pairs that agree are not certain")
	assert.True(t, besideOf(t, exactly(5, 0.5, 2), false).Undecided(), "five pairs may agree by chance")
	assert.Equal(t, result.Regressed, besideOf(t, exactly(5, 0.5, 2), true).Verdict, "the last look decides")
	slow = besideOf(t, exactly(6, 0.9, 1.1), false)
	assert.Equal(t, result.Regressed, slow.Verdict)
	assert.False(t, slow.Undecided())
	require.Len(t, slow.Reasons, 2)
	assert.InDelta(t, 0.9, slow.Findings[0].OfBaseline.Ratio, 1e-9)
	golden.Text(t, "testdata/slow.golden", strings.Join(append(slow.Reasons, LossSentence(slow, nil)), "\n")+"\n")
}

// If the pairs cannot decide, the last look decides by the estimate, but an estimate beyond the
// limit never passes.
func TestUndecidedPairs(t *testing.T) {
	wide := func(mean float64) []Pair {
		pairs := exactly(4, mean, 1)
		pairs[0].Change[result.CyclesPerS] *= 1.3
		pairs[1].Change[result.CyclesPerS] /= 1.3
		return pairs
	}
	assert.True(t, besideOf(t, wide(0.95), false).Undecided())
	assert.Equal(t, result.Pass, besideOf(t, wide(0.95), true).Verdict)
	last := besideOf(t, wide(0.91), true)
	assert.Equal(t, result.Inconclusive, last.Verdict)
	assert.Contains(t, last.Reasons[0], "but chance may explain")
	assert.False(t, last.Undecided())
}

// A missing figure in a pair fails closed, and so does a ratio without pairs.
func TestARatioThatWasNotMeasured(t *testing.T) {
	pairs := exactly(3, 1, 1)
	delete(pairs[2].Base, result.CyclesPerS)
	assert.Equal(t, result.Regressed, besideOf(t, pairs, false).Verdict)
	pairs[2].Base[result.CyclesPerS] = 0
	report := besideOf(t, pairs, false)
	assert.Contains(t, report.Reasons[0], "cycles_per_s of the base is missing or not above 0 in pair 3")
	assert.Equal(t, result.Regressed, besideOf(t, nil, true).Verdict)
}

// Identical builds on a busy host are red in at most one of a thousand trials. Builds that lose a
// tenth on a quiet host are not red in at most five.
func TestRatesOfError(t *testing.T) {
	const trials = 1000
	source, judge := rand.New(rand.NewPCG(46, 1)), besideLimits(t)
	verdictOf := func(rate, cost, spread float64) result.Verdict {
		pairs := pairsWith(source, 12, rate, cost, spread)
		for n := 2; ; n += 2 {
			if r := judge(pairs[:n], n == 12); n == 12 || !r.Undecided() {
				return r.Verdict
			}
		}
	}
	for _, c := range []struct {
		name               string
		rate, cost, spread float64
		wanted             map[result.Verdict]bool
		othersMax          int
	}{
		{"equal, quiet", 1, 1, 0.02, map[result.Verdict]bool{result.Pass: true}, 0},
		{"equal, busy", 1, 1, 0.05, map[result.Verdict]bool{result.Pass: true}, 1},
		{"a tenth slower, quiet", 0.9, 1.11, 0.02, map[result.Verdict]bool{result.Regressed: true}, 5},
		{"a fifth slower, busy", 0.8, 1.25, 0.05, map[result.Verdict]bool{result.Regressed: true, result.Inconclusive: true}, 0},
	} {
		others := 0
		for range trials {
			if !c.wanted[verdictOf(c.rate, c.cost, c.spread)] {
				others++
			}
		}
		assert.LessOrEqual(t, others, c.othersMax, c.name)
	}
}

// roundsWith returns pairs of two builds whose rounds alternate, with the given ratio and spread of
// the server CPU time per cycle.
func roundsWith(source *rand.Rand, n int, cost, spread float64) []Pair {
	base, change := &result.Result{}, &result.Result{}
	for range n {
		add := func(r *result.Result, us float64) {
			r.Rounds = append(r.Rounds, result.Round{Verdict: result.Pass, Cycles: 1, WindowSeconds: 1, Metrics: map[string]float64{result.ServerCPUUsPerCycle: us}})
		}
		add(base, 4)
		add(change, 4*cost*math.Exp(spread*source.NormFloat64()))
	}
	return PairsOfRounds(base, change)
}

// Two pairs of rounds may agree by chance: rounds of identical builds differ by 13 %.
func TestRoundsHaveNoiseOfTheirOwn(t *testing.T) {
	source := rand.New(rand.NewPCG(47, 1))
	limit := Limit{Metric: result.ServerCPUUsPerCycle, Kind: Ceiling, Value: 1.5, OfBaseline: true, Because: "noise"}
	judged := func(pairs []Pair) Finding {
		return judgeRatio(limit, &Beside{Commit: baseCommit, Pairs: pairs, Last: true})
	}
	f := judged(roundsWith(source, 2, 1.55, 0))
	assert.True(t, f.Inconclusive, f.Sentence)
	assert.Contains(t, f.Sentence, "but chance may explain")
	slow := judged(roundsWith(source, 2, 2, 0))
	assert.False(t, slow.OK || slow.Inconclusive, slow.Sentence)

	covered := 0
	const trials = 2000
	for range trials {
		if of := judged(roundsWith(source, 2, 1, 0.13)).OfBaseline; of.Low <= 1 && of.High >= 1 {
			covered++
		}
	}
	// The prior counts as seven pairs with this spread, so the intervals are wider than two pairs
	// alone need.
	assert.InDelta(t, 0.97, float64(covered)/trials, 0.02, "the intervals of identical builds include 1")
}

func TestCountersOfFixedWork(t *testing.T) {
	b, err := baselines(t, besideBaseline)
	require.NoError(t, err)
	check := func(work *result.FixedWork) Report {
		return CheckBeside(b, good(), &Beside{Commit: baseCommit, Pairs: exactly(2, 1, 1), Work: work})
	}
	work := func(base, change float64) *result.FixedWork {
		return &result.FixedWork{Cycles: 100, Counters: map[string][2]float64{result.WorkStorageSets: {base, change}}}
	}
	assert.Equal(t, result.Pass, check(work(300, 300)).Verdict)
	assert.Equal(t, result.Pass, check(work(300, 299)).Verdict, "a decrease is not a loss")
	more := check(work(300, 301))
	assert.Equal(t, result.Regressed, more.Verdict)
	assert.Contains(t, more.Reasons[0], "storage_sets_per_cycle was 3 ")
	assert.True(t, more.Findings[len(more.Findings)-1].OfWork())

	declared := work(300, 400)
	declared.Expected = map[string]string{result.WorkStorageSets: "a second record"}
	assert.Equal(t, result.Pass, check(declared).Verdict)
	assert.Equal(t, result.Invalid, check(&result.FixedWork{Warnings: []string{"the server ended"}}).Verdict)
}
