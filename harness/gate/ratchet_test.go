package gate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// factors multiply the figures of a planted change's side; 0 means 1.
type factors struct{ enqueue, cycle, rate, server, rss float64 }

// sweptDuet simulates a duet over three points. The logarithms of the ratios have the standard
// deviation noise.
func sweptDuet(random *rand.Rand, generations int, noise float64, f factors) *result.Duet {
	d := simulated(random, generations, quietHost, losses{})
	or1 := func(v float64) float64 { return map[bool]float64{true: 1, false: v}[v == 0] }
	for i := range d.Generations {
		g := &d.Generations[i]
		g.Sides[0].RSSMB, g.Sides[1].RSSMB = 100, 100*or1(f.rss)*math.Exp(noise*random.NormFloat64())
		for k, name := range []string{"workers=1", "workers=8", "workers=64"} {
			p := result.GenerationPoint{Name: name, OpenPerS: 1000}
			for side := range p.Sides {
				of := func(base, factor float64) float64 {
					if side == 0 {
						return base
					}
					return base * or1(factor) * math.Exp(noise*random.NormFloat64())
				}
				ms := float64(k + 1)
				cycle, enqueue := of(2*ms, f.cycle), of(ms, f.enqueue)
				p.Sides[side] = result.GenerationSide{
					Cycles: 10_000, ActiveS: of(1, 1/or1(f.rate)), ServerCPUNs: int64(of(1e8, f.server)), ClientCPUNs: int64(of(1e8, 1)),
					PerCycle: map[string]float64{result.ServerAllocsPerCycle: of(10, 1), result.ServerAllocBytesPerCycle: of(1000, 1)},
					Ledger:   result.Ledger{Enqueued: 10_000, Completed: 10_000},
					Open: &result.DuetLatency{
						Arrivals: 100, P50Ms: cycle / 2, P95Ms: cycle, P99Ms: 2 * cycle,
						Enqueue: &result.DuetEnqueue{P50Ms: enqueue / 2, P95Ms: enqueue, P99Ms: 2 * enqueue},
					},
				}
			}
			g.Points = append(g.Points, p)
		}
	}
	return d
}

func ratchet(d *result.Duet) *result.Ratchet {
	return gate.JudgeRatchet(d, scenario.DefaultScore(), gate.DefaultDuetPolicy())
}

func TestRatchetKeepsAnImprovement(t *testing.T) {
	r := ratchet(sweptDuet(seeded(101), 12, 0.05, factors{enqueue: 0.8, cycle: 0.9}))
	require.True(t, r.Decided, r.Because)
	assert.True(t, r.Kept)
	assert.Equal(t, result.Pass, r.Verdict)
	assert.Equal(t, 0, r.Verdict.ExitCode())
	assert.InEpsilon(t, math.Sqrt(0.8*0.9), r.Score.Ratio, 0.03)
	assert.Less(t, r.Score.High, 1.0)
	assert.Len(t, r.Score.Generations, 12)
	golden.Text(t, "testdata/kept.golden", r.Because+"\n")
	assert.Equal(t, 3, r.Points)
	assert.Empty(t, r.Worse)
	for _, f := range r.Figures {
		assert.Empty(t, f.Point)
		assert.LessOrEqual(t, f.Low, f.Ratio, f.Metric)
		assert.LessOrEqual(t, f.Ratio, f.High, f.Metric)
		assert.InEpsilon(t, f.Change/f.Base, f.Ratio, 0.06, f.Metric)
	}
	assert.Len(t, r.Figures, 12, "all except fsyncs, which were not counted")
}

func TestRatchetRejectsATie(t *testing.T) {
	r := ratchet(sweptDuet(seeded(102), 12, 0.05, factors{}))
	assert.True(t, r.Decided)
	assert.False(t, r.Kept)
	assert.Equal(t, 1, r.Verdict.ExitCode())
	assert.Contains(t, r.Because, ": a tie")
	assert.Less(t, r.Score.Low, 1.0)
	assert.Greater(t, r.Score.High, 1.0)
}

func TestRatchetRejectsALoss(t *testing.T) {
	r := ratchet(sweptDuet(seeded(103), 12, 0.05, factors{enqueue: 1.1, cycle: 1.1}))
	assert.True(t, r.Decided)
	assert.False(t, r.Kept)
	assert.Equal(t, 1, r.Verdict.ExitCode())
	assert.Contains(t, r.Because, ": worse")
	assert.Greater(t, r.Score.Low, 1.0)
	names := worseNames(r)
	assert.Subset(t, names, []string{"enqueue_latency_ms_p95 ", "cycle_latency_ms_p95 "})
}

func worseNames(r *result.Ratchet) (names []string) {
	for _, f := range r.Worse {
		names = append(names, f.Metric+" "+f.Point)
	}
	return names
}

// Figures that get worse while the score improves are listed, by their direction: a lower rate,
// more memory.
func TestRatchetShowsWhatGetsWorse(t *testing.T) {
	d := sweptDuet(seeded(104), 12, 0.02, factors{enqueue: 0.7, cycle: 0.7, rate: 0.9, rss: 1.5})
	for i := range d.Generations {
		p := &d.Generations[i].Points[2].Sides[1]
		p.PerCycle[result.ServerAllocsPerCycle] *= 1.3
	}
	d.Work = &result.FixedWork{Cycles: 1000, Counters: map[string][2]float64{
		result.WorkStorageSets: {1000, 2000}, result.WorkCommits: {1000, 900}, result.WorkCalls: {10, 10},
	}}
	r := ratchet(d)
	require.True(t, r.Kept, r.Because)
	names := worseNames(r)
	assert.Subset(t, names, []string{
		"cycles_per_s ", "cycles_per_s workers=1", "server_rss_mb_max ", "server_allocs_per_cycle workers=64", "storage_sets_per_cycle ",
	})
	for _, name := range []string{"server_allocs_per_cycle workers=1", "cycle_latency_ms_p95 ", "server_cpu_us_per_cycle ", "commits_per_cycle "} {
		assert.NotContains(t, names, name)
	}
	for _, f := range r.Worse {
		if f.Metric == result.CyclesPerS && f.Point == "" {
			assert.InEpsilon(t, 0.9, f.Ratio, 0.02, "the ratio of change to base")
			assert.Less(t, f.High, 1.0)
		}
	}
}

// A stall of the host in one generation does not decide the ratchet in either direction.
func TestOneStallDoesNotDecideARatchet(t *testing.T) {
	for side := range 2 {
		d := sweptDuet(seeded(112), 12, 0.02, factors{enqueue: 0.9, cycle: 0.9})
		for k := range d.Generations[5].Points {
			open := d.Generations[5].Points[k].Sides[side].Open
			open.P95Ms *= 30
			open.Enqueue.P95Ms *= 30
		}
		r := ratchet(d)
		assert.True(t, r.Kept, r.Because)
		assert.InEpsilon(t, 0.9, r.Score.Ratio, 0.03)
	}
}

// Any metrics can form a score. A metric that is better when higher counts inverted, and weights
// shift the mean.
func TestRatchetScoresAnyMetrics(t *testing.T) {
	d := sweptDuet(seeded(105), 12, 0.001, factors{rate: 1.25, server: 0.5})
	of := func(metrics ...scenario.ScoreMetric) *result.Ratchet {
		return gate.JudgeRatchet(d, scenario.Score{Metrics: metrics}, gate.DefaultDuetPolicy())
	}
	rate, cpu := scenario.ScoreMetric{Name: result.CyclesPerS, Weight: 1}, scenario.ScoreMetric{Name: result.ServerCPUUsPerCycle, Weight: 1}
	assert.InEpsilon(t, 0.8, of(rate).Score.Ratio, 0.005)
	assert.InEpsilon(t, math.Sqrt(0.8*0.5), of(rate, cpu).Score.Ratio, 0.005)
	rate.Weight = 3
	assert.InEpsilon(t, math.Pow(0.8*0.8*0.8*0.5, 0.25), of(rate, cpu).Score.Ratio, 0.005)
	for name, says := range map[string]string{
		result.StorageFsyncsPerCycle: "storage_fsyncs_per_cycle of the base is 0 at workers=1 in generation 1: a figure must be above 0",
		"beauty":                     `a duet does not measure "beauty"`,
	} {
		r := of(rate, scenario.ScoreMetric{Name: name, Weight: 1})
		assert.Equal(t, result.Invalid, r.Verdict)
		assert.False(t, r.Decided)
		assert.Equal(t, says, r.Because)
	}
}

// Duets measure every metric that a score may have, and results know it.
func TestScoreMetricsAreMeasured(t *testing.T) {
	d := sweptDuet(seeded(106), 6, 0.01, factors{})
	for _, metric := range scenario.ScoreMetrics() {
		_, known := result.Lookup(metric)
		assert.True(t, known, metric)
		for i := range d.Generations {
			for k := range d.Generations[i].Points {
				for side := range 2 {
					d.Generations[i].Points[k].Sides[side].PerCycle[result.StorageFsyncsPerCycle] = 1
				}
			}
		}
		r := gate.JudgeRatchet(d, scenario.Score{Metrics: []scenario.ScoreMetric{{Name: metric, Weight: 1}}}, gate.DefaultDuetPolicy())
		assert.True(t, r.Decided, "%s: %s", metric, r.Because)
	}
}

// An unbalanced ledger of the change disqualifies it regardless of its score. One of the base
// decides nothing.
func TestRatchetAndTheLedger(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(*result.Generation)
		decided bool
	}{
		"a reason of the change": {func(g *result.Generation) {
			g.Verdict, g.Reasons = result.Incorrect, []string{"change: 1 lost"}
		}, true},
		"the change's ledger": {func(g *result.Generation) { g.Sides[1].Ledger.Duplicated = 1 }, true},
		"a reason of the base": {func(g *result.Generation) {
			g.Verdict, g.Reasons = result.Incorrect, []string{"base: 1 lost"}
		}, false},
		"the base's ledger": {func(g *result.Generation) { g.Sides[0].Ledger.Corrupted = 1 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := sweptDuet(seeded(107), 12, 0.01, factors{enqueue: 0.5, cycle: 0.5})
			c.spoil(&d.Generations[7])
			r := ratchet(d)
			assert.Equal(t, result.Incorrect, r.Verdict)
			assert.Equal(t, 5, r.Verdict.ExitCode())
			assert.False(t, r.Kept)
			assert.Equal(t, c.decided, r.Decided)
			assert.Nil(t, r.Score, "no figure is published")
		})
	}
}

// Generations that fail because of the change alone disqualify it. Too few counted generations
// decide nothing.
func TestRatchetAndGenerationsThatDoNotCount(t *testing.T) {
	s := golden.Cases(t, "testdata/notcounted.golden")
	d := sweptDuet(seeded(108), 20, 0.01, factors{enqueue: 0.5, cycle: 0.5})
	for i := range 9 {
		g := &d.Generations[i]
		g.Verdict, g.Reasons, g.Points = result.Invalid, []string{"change: refused"}, nil
		g.Sides[1].Faults = []string{"refused"}
	}
	r := ratchet(d)
	assert.True(t, r.Decided)
	assert.False(t, r.Kept)
	assert.Equal(t, result.Regressed, r.Verdict)
	s.Equal(t, "the change fails", r.Because)

	for i := range d.Generations {
		d.Generations[i].Sides[1].Faults = nil
	}
	r = ratchet(d)
	assert.True(t, r.Kept, "the host was at fault, and eleven generations are enough: %s", r.Because)
	assert.Equal(t, 11, r.Generations)
	assert.Equal(t, 20, r.Measured)

	d.Generations = d.Generations[4:14]
	r = ratchet(d)
	assert.Equal(t, result.Invalid, r.Verdict)
	assert.Equal(t, 3, r.Verdict.ExitCode())
	assert.False(t, r.Decided)
	s.Equal(t, "too few", r.Because)
}

func TestRatchetOfADuetWithoutPoints(t *testing.T) {
	r := ratchet(simulated(seeded(109), 12, quietHost, losses{}))
	assert.Equal(t, result.Misconfigured, r.Verdict)
	assert.Contains(t, r.Because, "it has no sweep")
	assert.Equal(t, result.Misconfigured, ratchet(nil).Verdict)
}

func TestDisqualifyOverrulesTheScore(t *testing.T) {
	r := ratchet(sweptDuet(seeded(110), 12, 0.01, factors{enqueue: 0.5, cycle: 0.5}))
	require.True(t, r.Kept)
	gate.Disqualify(r, result.Regressed, "the tests failed")
	assert.False(t, r.Kept)
	assert.True(t, r.Decided)
	assert.Equal(t, "disqualified: the tests failed", r.Because)
}

// The score does not depend on which side is the base: swapped, it is the inverse. Nor does it
// depend on the order of generations or the units of a point.
func TestPropertiesOfTheScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := seeded(rapid.Uint64().Draw(t, "seed"))
		d := sweptDuet(random, rapid.IntRange(6, 20).Draw(t, "generations"), 0.1, factors{enqueue: rapid.Float64Range(0.5, 2).Draw(t, "enqueue"), cycle: rapid.Float64Range(0.5, 2).Draw(t, "cycle")})
		r := ratchet(d)
		slices.Reverse(d.Generations)
		again := ratchet(d)
		assert.InEpsilon(t, r.Score.Ratio, again.Score.Ratio, 1e-9)
		for i := range d.Generations {
			for k := range d.Generations[i].Points {
				p := &d.Generations[i].Points[k]
				p.Sides[0], p.Sides[1] = p.Sides[1], p.Sides[0]
				for side := range 2 {
					p.Sides[side].Open.P95Ms *= 7
				}
			}
		}
		swapped := ratchet(d)
		assert.InEpsilon(t, 1/r.Score.Ratio, swapped.Score.Ratio, 1e-9)
		assert.InEpsilon(t, 1/r.Score.Low, swapped.Score.High, 1e-9)
		assert.False(t, r.Kept && swapped.Kept)
	})
}

// One in forty changes without an effect is kept, and nearly all changes that gain a tenth.
func TestRatesOfTheRatchet(t *testing.T) {
	random := seeded(111)
	trials := 400
	if testing.Short() {
		trials = 100
	}
	called := 0 // trials with a figure that is worse
	kept := func(f factors) (n int) {
		for range trials {
			r := ratchet(sweptDuet(random, 12, 0.15, f))
			if r.Kept {
				n++
			}
			if len(r.Worse) > 0 {
				called++
			}
		}
		return n
	}
	if n := kept(factors{}); assert.Greater(t, stat.AtLeast(n, trials, 0.025), unlikely, "%d of %d", n, trials) {
		t.Logf("kept %d of %d changes without an effect", n, trials)
	}
	assert.Greater(t, stat.AtLeast(called, trials, 0.1), unlikely, "5 % for the figures over all points and 5 % for those at each: %d of %d", called, trials)
	n := kept(factors{enqueue: 0.9, cycle: 0.9})
	assert.Greater(t, stat.AtLeast(trials-n, trials, 0.1), unlikely, "%d of %d", n, trials)
	t.Logf("kept %d of %d changes that gain a tenth", n, trials)
}
