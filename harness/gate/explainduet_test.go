package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	pprof "github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// Parameters of the profiles of a simulated side. In a generation of 10 s, a server that uses 0.6
// of a CPU in its own slices takes about 3 s, which are 300 samples. Its functions take shares like
// those of a real server, from 12 % to below a thousandth. Their cost differs between processes by
// a tenth.
const (
	simulatedFunctions = 60
	simulatedCycles    = 100_000
	sampleNs           = 10_000_000
	simulatedUs        = 30 // of CPU per cycle
	simulatedSpread    = 0.1
)

// shareOf returns the share of function i in all CPU time.
func shareOf(i int) float64 {
	const falling = 0.88
	return math.Pow(falling, float64(i)) * (1 - falling) / (1 - math.Pow(falling, simulatedFunctions))
}

func functionOf(i int) string { return fmt.Sprintf("%sx.f%02d", own, i) }

// simulatedProfile returns the CPU profile of one side in one generation, where function i takes
// more(i) microseconds per cycle more.
func simulatedProfile(random *rand.Rand, more func(i int) float64) profile.PerRound {
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: sampleNs,
	}
	for i := range simulatedFunctions {
		us := simulatedUs*shareOf(i) + more(i)
		mean := us * 1e3 * simulatedCycles / sampleNs * math.Exp(simulatedSpread*random.NormFloat64())
		samples := int64(distuv.Poisson{Lambda: mean, Src: random}.Rand())
		if samples == 0 {
			continue
		}
		f := &pprof.Function{ID: uint64(i + 1), Name: functionOf(i)}
		l := &pprof.Location{ID: uint64(i + 1), Line: []pprof.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &pprof.Sample{Location: []*pprof.Location{l}, Value: []int64{samples, samples * sampleNs}})
	}
	return profile.PerRound{Cycles: simulatedCycles, Profiles: map[string]*pprof.Profile{"cpu": p}}
}

// called returns a comparison that called a loss of the servers' CPU time, as a fraction.
func called(part float64) *result.Comparison {
	return &result.Comparison{Verdict: result.Regressed, Search: &result.CauseSearch{}, Metrics: []result.MetricDelta{{
		Metric: result.ServerCPUUsPerCycle, Outcome: result.Worsened, Base: result.Metric{Median: simulatedUs}, Loss: &result.Loss{Estimate: part},
	}}}
}

// timed returns the 15 timed generations of a side, with stages that vary by a twentieth.
func timed(seed uint64) *result.Result {
	random := rand.New(rand.NewPCG(seed, 1))
	r := &result.Result{}
	for g := range 15 {
		round := result.Round{Number: g + 1, WindowSeconds: 1.5, Cycles: 50_000}
		for _, name := range causeStages {
			round.Stages = append(round.Stages, result.StageOf(name, 150*(1+0.05*random.NormFloat64()), []uint64{1000}))
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

// explained returns the causes of a called loss from the given number of profiled generations.
func explained(t *testing.T, random *rand.Rand, generations int, part float64, more func(i int) float64) *result.Comparison {
	t.Helper()
	var sides [2][]profile.PerRound
	for g := range generations {
		for side := range sides {
			of := simulatedProfile(random, func(i int) float64 { return float64(side) * more(i) })
			of.Round = g + 1
			sides[side] = append(sides[side], of)
		}
	}
	beside, err := profile.PairUp(sides[0], sides[1])
	require.NoError(t, err)
	c := called(part)
	require.NoError(t, searchCauses(c, timed(random.Uint64()), timed(random.Uint64()), beside))
	return c
}

// A function that takes 5 % more of the servers' CPU time is named in at least nine of ten trials.
// An unchanged function is named in fewer than one of twenty trials. The latter is simulated for
// three cases: one other function causes the loss, all functions share the loss, and both sides are
// equal.
func TestCausesOfASmallLoss(t *testing.T) {
	t.Parallel()
	const trials, part, culprit = 300, 0.05, 7 // takes 5 % before the change
	require.InDelta(t, part, shareOf(culprit), 0.005)
	none := func(int) float64 { return 0 }
	one := func(i int) float64 {
		if i == culprit {
			return part * simulatedUs
		}
		return 0
	}
	spread := func(i int) float64 { return part * simulatedUs * shareOf(i) }
	for name, test := range map[string]struct {
		more  func(int) float64
		named int // minimum
	}{
		"one function": {one, trials * 9 / 10}, "all functions": {spread, 0}, "no function": {none, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(11, 12))
			named, wrong := 0, 0
			for range trials {
				innocent := false
				for _, cause := range explained(t, random, CauseGenerations, part, test.more).Causes {
					if test.named > 0 && cause.Name == functionOf(culprit) {
						named++
					} else {
						innocent = true
					}
				}
				if innocent {
					wrong++
				}
			}
			low, high := stat.WilsonInterval(wrong, trials)
			t.Logf("named in %d of %d; another one in %d, %.1f to %.1f %%", named, trials, wrong, 100*low, 100*high)
			assert.LessOrEqual(t, low, causesAlpha)
			assert.GreaterOrEqual(t, named, test.named)
		})
	}
}

// A cause reports the share of the loss that it explains, and the search reports its number of
// candidates.
func TestCauseSaysWhatItExplains(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 22))
	c := explained(t, random, CauseGenerations, 0.2, func(i int) float64 {
		if i == 3 {
			return 0.2 * simulatedUs
		}
		return 0
	})
	require.Len(t, c.Causes, 1)
	assert.Equal(t, causeCPU, c.Causes[0].Kind)
	assert.Equal(t, functionOf(3), c.Causes[0].Name)
	assert.InDelta(t, 6, c.Causes[0].Score, 1)
	assert.Regexp(t, `^x\.f03 takes .* of CPU a cycle, .* before \(.* more\): \d+ % of the loss of server CPU time$`, c.Causes[0].Sentence)
	assert.Equal(t, []result.LostTime{{Of: "server CPU time", Us: 6}}, c.Search.Losses)
	assert.InDelta(t, 1.0/3, c.Search.Share, 1e-9)
	candidates := 0
	for i := range simulatedFunctions {
		if 2*shareOf(i)*simulatedUs >= 0.2*simulatedUs/3 {
			candidates++
		}
	}
	assert.InDelta(t, candidates+6, c.Search.LookedAt, 3, "functions that are too small in both sides are not candidates")
}

// A function that takes less in both sides together than a cause adds is not a candidate. The
// scheduler is not one either, because it follows from the waits.
func TestCandidatesOfACause(t *testing.T) {
	t.Parallel()
	of := func(node, kind, name string, ns float64) profile.Beside {
		half := []stat.Counted{{Value: ns / 2, Events: 1}, {Value: ns / 2, Events: 1}}
		return profile.Beside{Node: node, Kind: kind, Function: name, Pairs: stat.Pairs{Base: half, Change: half}}
	}
	candidates := candidatesOf([]profile.Beside{
		of("", "cpu", "large", 501), of("", "cpu", "small", 499), of("", "cpu", result.ChargeScheduling, 9000),
		of("", profile.KindLock, "T.mu", 501), of("", profile.KindLock, "U.mu", 499), of(result.GeneratorNode, "cpu", "client", 9000),
	}, lost{server: loss{"server CPU time", 1.5}}, 20)
	var names []string
	for _, c := range candidates {
		names = append(names, c.Function)
	}
	assert.Equal(t, []string{"large", "T.mu"}, names)
}

// The candidates for causes depend on the called loss.
func TestLossesThatCausesExplain(t *testing.T) {
	t.Parallel()
	delta := func(metric string, base, estimate float64) result.MetricDelta {
		return result.MetricDelta{Metric: metric, Outcome: result.Worsened, Base: result.Metric{Median: base}, Loss: &result.Loss{Estimate: estimate}}
	}
	server, client := delta(result.ServerCPUUsPerCycle, 30, 0.1), delta(result.ClientCPUUsPerCycle, 10, 0.3)
	rate, latency := delta(result.CyclesPerS, 50_000, 0.2), delta(result.CycleLatencyMs+"_p50", 1, 0.5)
	same := server
	same.Outcome = result.Same
	const never = maxUs
	for name, test := range map[string]struct {
		metrics                          []result.MetricDelta
		server, client, waits, inClients float64 // the least increase of a cause
	}{
		"nothing of time":      {[]result.MetricDelta{latency, same}, 1, 1, 1, 1},
		"the servers' CPU":     {[]result.MetricDelta{server, latency}, 1, never, 1, never},
		"the client's CPU":     {[]result.MetricDelta{client}, never, 1, never, 1},
		"the rate":             {[]result.MetricDelta{rate}, 5.0 / 3, 5.0 / 3, 5.0 / 3, 5.0 / 3},
		"the rate and the CPU": {[]result.MetricDelta{server, client, rate}, 1, 1, 5.0 / 3, 5.0 / 3},
	} {
		const cycleUs = 20
		l := lostOf(&result.Comparison{Metrics: test.metrics}, cycleUs)
		for _, least := range []struct {
			of        string
			want      float64
			kind      string
			generator bool
		}{
			{"server", test.server, causeCPU, false},
			{"client", test.client, causeCPU, true},
			{"waits", test.waits, causeStage, false},
			{"waits in clients", test.inClients, causeLock, true},
		} {
			assert.InDelta(t, least.want, l.of(least.kind, least.generator).least(cycleUs), 1e-9, "%s: %s", name, least.of)
		}
	}
}

// A loss may have no cause, and nothing is searched if the change passes.
func TestNothingIsLookedForWithoutALoss(t *testing.T) {
	t.Parallel()
	arm := result.Arm{Result: timed(1)}
	c := &result.Comparison{Verdict: result.Pass}
	require.NoError(t, ExplainDuet(c, &result.Duet{}, arm, arm))
	assert.Nil(t, c.Search)
	c = &result.Comparison{Verdict: result.Regressed}
	require.NoError(t, ExplainDuet(c, &result.Duet{ProfiledS: 44}, arm, arm))
	require.NotNil(t, c.Search)
	assert.Zero(t, c.Search.Generations, "no generation has profiles")
	assert.Empty(t, c.Causes)
}

// A loss is explained by the profiles in the folders of the sides.
func TestProfilesOfAStoredDuetAreSearched(t *testing.T) {
	t.Parallel()
	const hot = 4
	random := rand.New(rand.NewPCG(31, 32))
	var arms [2]result.Arm
	for side := range arms {
		arms[side] = result.Arm{Name: sideName(side), Path: t.TempDir(), Result: timed(uint64(side))}
		r := arms[side].Result
		r.Profiles = []result.Profile{{Kind: "cpu", Rounds: CauseGenerations}}
		for g := range CauseGenerations {
			number := len(r.Rounds) + 1
			of := profile.Source{Round: number}
			dir := filepath.Join(arms[side].Path, filepath.FromSlash(of.Dir()))
			require.NoError(t, os.MkdirAll(dir, 0o755))
			file, err := os.Create(filepath.Join(dir, "cpu.pb.gz"))
			require.NoError(t, err)
			p := simulatedProfile(random, func(i int) float64 {
				if i == hot {
					return float64(side) * 0.2 * simulatedUs
				}
				return 0
			})
			require.NoError(t, p.Profiles["cpu"].Write(file))
			require.NoError(t, file.Close())
			r.Rounds = append(r.Rounds, result.Round{Number: number, Profiled: true, Cycles: simulatedCycles, WindowSeconds: 5, Verdict: result.Pass})
			require.Equal(t, g+16, number)
		}
	}
	c := called(0.2)
	require.NoError(t, ExplainDuet(c, &result.Duet{ProfiledS: 66}, arms[0], arms[1]))
	assert.Equal(t, CauseGenerations, c.Search.Generations)
	assert.InDelta(t, 66, c.Search.Seconds, 1e-9)
	require.Len(t, c.Causes, 1)
	assert.Equal(t, functionOf(hot), c.Causes[0].Name)
	assert.NotEmpty(t, c.Profiles)
	passes := called(0.2)
	passes.Verdict, passes.Search = result.Pass, nil
	require.NoError(t, ExplainDuet(passes, &result.Duet{ProfiledS: 66}, arms[0], arms[1]))
	assert.NotEmpty(t, passes.Profiles, "differences are also shown for a change that passes")
	assert.Nil(t, passes.Search)
	assert.Empty(t, passes.Causes)
}
