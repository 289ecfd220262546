package gate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(15, seed)) }

func judged(d *result.Duet, look int) *result.Comparison {
	return gate.JudgeDuet(d, look, gate.DefaultDuetPolicy())
}

func metricOf(t *testing.T, c *result.Comparison, name string) result.MetricDelta {
	t.Helper()
	for _, d := range c.Metrics {
		if d.Metric == name {
			return d
		}
	}
	require.Fail(t, "no "+name)
	return result.MetricDelta{}
}

func TestDuetOfIdenticalBuildsPasses(t *testing.T) {
	c := judged(simulated(seeded(1), 15, quietHost, losses{}), 1)
	require.Equal(t, result.Pass, c.Verdict, c.Reasons)
	assert.True(t, c.Duet.Decided)
	assert.Equal(t, 15, c.Blocks)
	require.Len(t, c.Metrics, 5)
	for _, d := range c.Metrics {
		assert.Equal(t, result.Same, d.Outcome, d.Because)
		assert.Len(t, d.Loss.Generations, 15)
		assert.Less(t, d.Loss.Low, d.Loss.Estimate)
		assert.Less(t, d.Loss.Estimate, d.Loss.High)
		assert.Less(t, d.Loss.High, d.Loss.Margin)
		assert.Greater(t, d.Detectable, 0.01)
	}
}

func TestDuetNamesTheLoss(t *testing.T) {
	for _, c := range []struct {
		metric string
		losses losses
		loss   float64
		ratio  float64
	}{
		{result.ServerCPUUsPerCycle, losses{server: 0.10}, 0.10, 1.10},
		{result.ClientCPUUsPerCycle, losses{client: 0.10}, 0.10, 1.10},
		{result.CyclesPerS, losses{rate: 0.10}, 0.10, 0.90},
		{"cycle_latency_ms_p50", losses{p50: 0.20}, 0.20, 1.20},
		{"cycle_latency_ms_p99", losses{p99: 0.90}, 0.90, 1.90},
	} {
		t.Run(c.metric, func(t *testing.T) {
			found := judged(simulated(seeded(2), 15, quietHost, c.losses), 1)
			require.Equal(t, result.Regressed, found.Verdict, found.Reasons)
			assert.True(t, found.Duet.Decided)
			d := metricOf(t, found, c.metric)
			assert.Equal(t, result.Worsened, d.Outcome)
			assert.InDelta(t, c.loss, d.Loss.Estimate, 4*d.Loss.StdErr*c.ratio)
			assert.InDelta(t, c.ratio, d.Ratio, 4*d.Loss.StdErr*c.ratio)
			assert.Greater(t, d.Loss.Low, 0.01)
			require.Len(t, found.Reasons, 1)
			assert.True(t, strings.HasPrefix(found.Reasons[0], c.metric+" "), found.Reasons[0])
		})
	}
}

// The reasons for a regression name the losses and not the inconclusive primaries.
func TestReasonsForARegressionAreTheLosses(t *testing.T) {
	noisy := quietHost
	noisy.p99 = 3
	c := judged(simulated(seeded(2), 15, noisy, losses{server: 0.10}), 1)
	require.Equal(t, result.Regressed, c.Verdict)
	assert.Equal(t, result.Unclear, metricOf(t, c, "cycle_latency_ms_p99").Outcome)
	require.Len(t, c.Reasons, 1)
	assert.Contains(t, c.Reasons[0], "server_cpu_us_per_cycle")
}

// The p99 of identical builds is so noisy that a pass cannot exclude a loss of it. A certain loss
// is still called.
func TestANoisyP99DoesNotKeepADuetFromPassing(t *testing.T) {
	noisy := quietHost
	noisy.p99 = 3
	c := judged(simulated(seeded(2), 15, noisy, losses{}), 1)
	require.Equal(t, result.Pass, c.Verdict, c.Reasons)
	p99 := metricOf(t, c, "cycle_latency_ms_p99")
	assert.Equal(t, result.Unclear, p99.Outcome)
	assert.Contains(t, p99.Because, "which does not prevent a pass for this figure")
	assert.Equal(t, result.Regressed, judged(simulated(seeded(2), 15, quietHost, losses{p99: 0.9}), 1).Verdict)

	one := simulated(seeded(2), 15, quietHost, losses{})
	one.Generations[3].Sides[1].Open = nil
	assert.NotEqual(t, result.Pass, judged(one, 1).Verdict, "a figure that one side lacks is not noise")
}

func TestDuetNamesAGain(t *testing.T) {
	c := judged(simulated(seeded(3), 15, quietHost, losses{server: -0.1, rate: -0.1}), 1)
	assert.Equal(t, result.Pass, c.Verdict, c.Reasons)
	assert.Equal(t, result.Improved, metricOf(t, c, result.ServerCPUUsPerCycle).Outcome)
	rate := metricOf(t, c, result.CyclesPerS)
	assert.Equal(t, result.Improved, rate.Outcome)
	assert.InDelta(t, 1.1, rate.Ratio, 0.02)
	assert.InDelta(t, -0.1, rate.Loss.Estimate, 0.02)
}

// A suspected loss between the least and the margin prevents an early pass. At the last look the
// margin decides.
func TestDuetMeasuresOnWhileALossIsSuspected(t *testing.T) {
	d := simulated(seeded(4), 15, duetNoise{cost: 0.0213, p50: 0.01, p99: 0.01}, losses{})
	for i := range d.Generations { // a certain mean of 2.3 %
		s := &d.Generations[i].Sides
		s[1].ServerCPUNs = int64(float64(s[0].ServerCPUNs) * (1.023 + 0.02*float64(i%3-1)))
	}
	c := judged(d, 1)
	require.Equal(t, result.Inconclusive, c.Verdict, c.Reasons)
	assert.False(t, c.Duet.Decided)
	assert.Contains(t, c.Reasons[0], "too early to pass")
	last := judged(d, 3)
	assert.Equal(t, result.Pass, last.Verdict, last.Reasons)
	assert.True(t, last.Duet.Decided)
	once := gate.DefaultDuetPolicy()
	once.Looks = 1
	assert.Equal(t, result.Pass, gate.JudgeDuet(d, 1, once).Verdict)
}

func TestDuetThatIsTooNoisyGoesOn(t *testing.T) {
	noisy := quietHost
	noisy.cost = 0.3
	d := simulated(seeded(5), 15, noisy, losses{})
	for look, decided := range map[int]bool{1: false, 2: false, 3: true} {
		c := judged(d, look)
		assert.Equal(t, result.Inconclusive, c.Verdict)
		assert.Equal(t, decided, c.Duet.Decided)
	}
}

func TestDuetOfFewGenerations(t *testing.T) {
	c := judged(simulated(seeded(6), 5, quietHost, losses{server: 1}), 1)
	assert.Equal(t, result.Inconclusive, c.Verdict)
	assert.False(t, c.Duet.Decided)
	assert.Equal(t, []string{"5 generations count, but a verdict needs at least 6"}, c.Reasons)
	assert.Empty(t, c.Metrics)
	assert.Equal(t, result.Inconclusive, judged(simulated(seeded(6), 0, quietHost, losses{}), 3).Verdict)
}

// Counters from fixed work do not need generations.
func TestFewGenerationsDoNotHideACounter(t *testing.T) {
	d := simulated(seeded(6), 2, quietHost, losses{})
	d.Work = &result.FixedWork{Cycles: 1000, Counters: map[string][2]float64{result.WorkStorageSets: {2000, 2001}}}
	c := judged(d, 1)
	assert.Equal(t, result.Regressed, c.Verdict, c.Reasons)
	assert.True(t, c.Duet.Decided)
}

func TestDuetWithoutAnOpenPhase(t *testing.T) {
	d := simulated(seeded(7), 15, quietHost, losses{})
	for i := range d.Generations {
		d.Generations[i].Sides[0].Open, d.Generations[i].Sides[1].Open = nil, nil
	}
	c := judged(d, 1)
	assert.Equal(t, result.Pass, c.Verdict, c.Reasons)
	assert.Len(t, c.Metrics, 3)

	d = simulated(seeded(7), 15, quietHost, losses{})
	d.Generations[3].Sides[1].Open = nil
	c = judged(d, 3)
	assert.Equal(t, result.Inconclusive, c.Verdict)
	assert.Contains(t, c.Reasons, "cycle_latency_ms_p99 cannot be compared: the change has no such figure in generations [4]")
}

// A few generations with stalls of the host cause neither a loss nor an inconclusive p99.
func TestLatenciesOfADuetAreTrimmed(t *testing.T) {
	d := simulated(seeded(17), 15, quietHost, losses{})
	d.Generations[4].Sides[1].Open.P99Ms *= 10
	d.Generations[9].Sides[1].Open.P99Ms *= 30
	d.Generations[11].Sides[0].Open.P50Ms *= 5
	c := judged(d, 1)
	assert.Equal(t, result.Pass, c.Verdict, c.Reasons)
	p99 := metricOf(t, c, "cycle_latency_ms_p99")
	assert.Less(t, p99.Loss.High, 0.25)
	assert.Len(t, p99.Loss.Generations, 15, "trimmed generations are shown too")
}

// A figure that is not above 0 is a failure, whatever the other figures are.
func TestDuetWithoutAFigure(t *testing.T) {
	for name, spoil := range map[string]func(*result.GenerationSide){
		"no server CPU":       func(s *result.GenerationSide) { s.ServerCPUNs = 0 },
		"negative client CPU": func(s *result.GenerationSide) { s.ClientCPUNs = -1 },
		"no cycles":           func(s *result.GenerationSide) { s.Cycles = 0 },
		"no time":             func(s *result.GenerationSide) { s.ActiveS = 0 },
		"nothing at all":      func(s *result.GenerationSide) { s.Cycles, s.ServerCPUNs, s.ClientCPUNs, s.ActiveS = 0, 0, 0, 0 },
		"no p50":              func(s *result.GenerationSide) { s.Open.P50Ms = 0 },
		"p99 is NaN":          func(s *result.GenerationSide) { s.Open.P99Ms = math.NaN() },
		"p99 is infinite":     func(s *result.GenerationSide) { s.Open.P99Ms = math.Inf(1) },
	} {
		for side := range 2 {
			t.Run(fmt.Sprintf("%s, side %d", name, side), func(t *testing.T) {
				d := simulated(seeded(8), 15, quietHost, losses{})
				spoil(&d.Generations[7].Sides[side])
				c := judged(d, 1)
				assert.Equal(t, result.Invalid, c.Verdict)
				require.NotEmpty(t, c.Reasons)
				assert.Contains(t, c.Reasons[0], "in generation 8")
			})
		}
	}
}

func TestDuetLeavesOutGenerationsThatDoNotCount(t *testing.T) {
	d := simulated(seeded(9), 15, quietHost, losses{})
	for i, v := range []result.Verdict{result.Invalid, "", result.Inconclusive} {
		d.Generations[i].Verdict = v
		d.Generations[i].Sides[0].ServerCPUNs = 1 // an extreme loss if it counted
	}
	d.Generations[0].Reasons = []string{"the host stole 30 % of the time"}
	d.Generations[5].Marks = []string{"slice 17 took 1.3 s"}
	c := judged(d, 1)
	require.Equal(t, result.Pass, c.Verdict, c.Reasons)
	assert.Equal(t, 12, c.Blocks)
	assert.Equal(t, 3, c.Dropped)
	assert.Equal(t, []string{
		"generation 1: the host stole 30 % of the time", `generation 2: its verdict is ""`, `generation 3: its verdict is "inconclusive"`,
	}, c.Duet.Invalid)
	assert.Equal(t, []string{"generation 6: slice 17 took 1.3 s"}, c.Duet.Marks)
	require.Len(t, c.Warnings, 1)
	assert.Contains(t, c.Warnings[0], "3 of 15 generations do not count")
}

// If more generations fail because of the change alone than chance explains, the change is at
// fault.
func TestDuetWhoseGenerationsTheChangeSpoils(t *testing.T) {
	for _, c := range []struct {
		base, change int
		want         result.Verdict
	}{
		{0, 4, result.Pass}, {4, 4, result.Pass}, {8, 0, result.Pass}, {0, 5, result.Inconclusive}, {0, 7, result.Inconclusive}, {0, 8, result.Regressed}, {2, 8, result.Pass},
	} {
		d := simulated(seeded(10), 25, quietHost, losses{})
		for i := range c.base + c.change {
			g := &d.Generations[i]
			side := 0
			if i >= c.base {
				side = 1
			}
			g.Verdict = result.Invalid
			g.Sides[side].Faults = []string{"the server ended"}
		}
		found := judged(d, 1)
		assert.Equal(t, c.want, found.Verdict, "%+v: %v", c, found.Reasons)
	}
}

func TestVerdictOfAGenerationWins(t *testing.T) {
	for _, v := range []result.Verdict{result.Incorrect, result.Misconfigured} {
		d := simulated(seeded(11), 15, quietHost, losses{server: 0.5})
		d.Generations[2].Verdict, d.Generations[2].Reasons = v, []string{"a task is lost", "another"}
		c := judged(d, 1)
		assert.Equal(t, v, c.Verdict)
		assert.True(t, c.Duet.Decided)
		assert.Equal(t, []string{fmt.Sprintf("generation 3 is %s: a task is lost; another", v)}, c.Reasons)
		assert.Empty(t, c.Metrics)
	}
	d := simulated(seeded(11), 15, quietHost, losses{})
	d.Generations[2].Sides[1].Ledger.Lost = 2
	c := judged(d, 1)
	assert.Equal(t, result.Incorrect, c.Verdict, "a ledger that does not balance, whatever the verdict of the generation")
	assert.Contains(t, c.Reasons[0], "change: 2 tasks lost")
}

func TestDuetThatCannotBeJudged(t *testing.T) {
	d := simulated(seeded(12), 15, quietHost, losses{})
	newer := *d
	newer.Version++
	for name, c := range map[string]*result.Comparison{
		"nil":        judged(nil, 1),
		"newer":      judged(&newer, 1),
		"no look":    judged(d, 0),
		"no more":    judged(d, 4),
		"no policy":  gate.JudgeDuet(d, 1, gate.DuetPolicy{}),
		"no such":    gate.JudgeDuet(d, 1, spoiled(func(p *gate.DuetPolicy) { p.Primaries[0].Metric = "lost" })),
		"twice":      gate.JudgeDuet(d, 1, spoiled(func(p *gate.DuetPolicy) { p.Primaries[0] = p.Primaries[1] })),
		"no weight":  gate.JudgeDuet(d, 1, spoiled(func(p *gate.DuetPolicy) { p.Primaries[0].Weight = 0 })),
		"no margin":  gate.JudgeDuet(d, 1, spoiled(func(p *gate.DuetPolicy) { p.Primaries[0].Margin = 0.01 })),
		"one of two": gate.JudgeDuet(d, 1, spoiled(func(p *gate.DuetPolicy) { p.GenerationsMin = 1 })),
		"any alpha":  gate.JudgeDuet(d, 1, spoiled(func(p *gate.DuetPolicy) { p.Alpha = math.NaN() })),
		"any least":  gate.JudgeDuet(d, 1, spoiled(func(p *gate.DuetPolicy) { p.Least = -1 })),
		"no looks":   gate.JudgeDuet(d, 1, spoiled(func(p *gate.DuetPolicy) { p.Looks = 0 })),
	} {
		assert.Equal(t, result.Misconfigured, c.Verdict, name)
		assert.Len(t, c.Reasons, 1, name)
		assert.True(t, c.Duet.Decided, name)
	}
}

func spoiled(spoil func(*gate.DuetPolicy)) gate.DuetPolicy {
	p := gate.DefaultDuetPolicy()
	spoil(&p)
	return p
}

// The control compares the base with itself, slice by slice. Slices are shown but not judged.
func TestDuetShowsItsSlices(t *testing.T) {
	d := simulated(seeded(13), 15, quietHost, losses{})
	random := seeded(14)
	for i := range d.Generations {
		for k := range 40 {
			d.Generations[i].Slices = append(d.Generations[i].Slices, result.Slice{
				Side: k / 2 % 2, Seconds: 0.025, Cycles: 500, ServerCPUNs: 10e6 + random.Int64N(1e6) + int64(5e6*(k/2%2)), ClientCPUNs: 5e6, OtherCPUNs: 1e5,
			})
		}
	}
	c := judged(d, 1)
	assert.Equal(t, result.Pass, c.Verdict, "slices are not judged")
	cpu := metricOf(t, c, result.ServerCPUUsPerCycle)
	assert.InDelta(t, 1, cpu.ControlRatio, 0.01)
	assert.Less(t, cpu.ControlRatioLow, cpu.ControlRatio)
	assert.Zero(t, metricOf(t, c, "cycle_latency_ms_p99").ControlRatio)
	require.NotEmpty(t, c.Duet.Shown)
	shown := c.Duet.Shown[0]
	assert.Equal(t, "median slice, server_cpu_us_per_cycle", shown.Name)
	assert.InDelta(t, 21, shown.Base, 1)
	assert.InDelta(t, 31, shown.Change, 1)
	assert.Equal(t, "server CPU used in slices of the other side", c.Duet.Shown[3].Name)
	assert.InDelta(t, 2, c.Duet.Shown[3].Base, 0.01)
	assert.Equal(t, 2, c.Duet.Layouts)
	assert.True(t, c.Duet.OwnClients)
	assert.Equal(t, "none", c.Duet.Durability)
}

// Server settings are shown unless both sides have the same default. Those that differ cause a
// warning.
func TestServerSettingsOfADuet(t *testing.T) {
	d := simulated(seeded(1), 15, quietHost, losses{})
	said := func(memory string, own result.ServerSetting) []result.ServerSettings {
		return []result.ServerSettings{{Settings: []result.ServerSetting{
			{Name: "memory", Value: memory, Origin: "default"},
			{Name: "log", Value: "info", Origin: "default"},
			{Name: "shards", Value: "1", Origin: "flag"},
			own,
		}}}
	}
	d.Sides[0].Settings = said("1GiB", result.ServerSetting{Name: "yield", Value: "on", Origin: "default"})
	d.Sides[1].Settings = said("2GiB", result.ServerSetting{Name: "wait", Value: "1ms", Origin: "default"})
	d.Sides[0].Settings[0].Settings[2].Value = "2"
	c := judged(d, 1)
	assert.Equal(t, result.Pass, c.Verdict, c.Reasons)
	var names []string
	for _, s := range c.Duet.ServerSettings {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"memory", "shards", "yield", "wait"}, names)
	assert.Equal(t, []string{
		`the change alters a default: the server's memory was "1GiB" and is "2GiB"`,
		`base and change ran with different settings: the server's shards is "2" and "1"`,
		`only the base's server has the setting yield, which is "on"`,
		`only the change's server has the setting wait, which is "1ms"`,
	}, c.Warnings)
}
