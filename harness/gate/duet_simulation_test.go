package gate_test

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// duetNoise describes how a host disturbs a duet: the standard deviation of the logarithm of the
// ratio of the sides in one generation.
type duetNoise struct {
	cost, p50, p99 float64
	shared         float64 // the share of the noise that CPU and rate have in common; 0 to 1
	stalls         float64 // the share of generations in which one side stalls
}

// quietHost has a standard error of 0.55 % for CPU and rate over 15 generations. Measured
// generations on two cores of a shared, otherwise idle host had 1.6 to 2.0 % each for CPU and rate,
// 6 % for p50 and 29 % for p99.
var quietHost = duetNoise{cost: 0.0213, p50: 0.065, p99: 0.29, shared: 0.5}

// losses are the planted losses of each primary, as fractions.
type losses struct{ server, client, rate, p50, p99 float64 }

// simulated returns a duet of generations on a simulated host.
func simulated(random *rand.Rand, generations int, n duetNoise, l losses) *result.Duet {
	d := &result.Duet{
		Version: result.DuetVersion, Scenario: "duet", SliceMs: 25, OpenPerS: 500,
		Started:  time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC),
		Finished: time.Date(2026, 11, 22, 20, 1, 30, 0, time.UTC),
		Manifest: result.Manifest{Scenario: scenario.Scenario{Topology: scenario.Topology{Durability: "none"}}},
	}
	for i, name := range []string{"base", "change"} {
		d.Sides[i] = result.DuetSide{Name: name, Commit: "0123456789abcdef", Servers: []string{"one of " + name, "two of " + name}, OwnClient: true}
	}
	for range generations {
		extend(random, d, n, l)
	}
	return d
}

// extend appends one simulated generation.
func extend(random *rand.Rand, d *result.Duet, n duetNoise, l losses) {
	g := result.Generation{
		Number: len(d.Generations) + 1, Seconds: 5.5, Verdict: result.Pass, First: random.IntN(2), Layout: random.IntN(2),
	}
	common := random.NormFloat64()
	costNoise := func() float64 {
		return n.cost * (math.Sqrt(n.shared)*common + math.Sqrt(1-n.shared)*random.NormFloat64())
	}
	server, client, rate := costNoise(), costNoise(), costNoise()
	p50, p99 := n.p50*random.NormFloat64(), n.p99*random.NormFloat64()
	stalled := -1
	if random.Float64() < n.stalls {
		stalled = random.IntN(2)
	}
	// The speed of the host differs between generations.
	host := math.Exp(0.1 * random.NormFloat64())
	const cycles = 100_000
	for i := range g.Sides {
		// Each side gets half of the noise of a ratio.
		factor := func(noise, loss float64) float64 {
			if i == 0 {
				return host * math.Exp(-noise/2)
			}
			return host * math.Exp(noise/2) * (1 + loss)
		}
		stall, cost := 1.0, 1.0
		if i == stalled {
			stall, cost = 1.1+0.6*random.Float64(), 1.02
		}
		side := result.GenerationSide{
			Cycles: cycles, ServerCPUNs: int64(cycles * 20e3 * cost * factor(server, l.server)), ClientCPUNs: int64(cycles * 10e3 * cost * factor(client, l.client)),
			ActiveS: 1.5 * stall * factor(rate, 1/(1-l.rate)-1), Ledger: result.Ledger{Enqueued: cycles, Completed: cycles},
			Open: &result.DuetLatency{
				Arrivals: 500, P50Ms: 0.4 * factor(p50, l.p50), P99Ms: 1.5 * math.Pow(stall, 4) * factor(p99, l.p99), SlipMsP99: 0.05,
			},
		}
		side.IdleCPUNs = side.ServerCPUNs / 50
		g.Sides[i] = side
	}
	d.Generations = append(d.Generations, g)
}

// lookAt simulates a duet, in looks of the given number of generations, until it is decided, as the
// conductor does.
func lookAt(random *rand.Rand, each int, policy gate.DuetPolicy, n duetNoise, l losses) *result.Comparison {
	d := simulated(random, 0, n, l)
	for look := 1; ; look++ {
		for range each {
			extend(random, d, n, l)
		}
		if c := gate.JudgeDuet(d, look, policy); c.Duet.Decided {
			return c
		}
	}
}
