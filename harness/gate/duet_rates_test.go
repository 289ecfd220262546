package gate_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// unlikely is the probability below which a simulated count contradicts a rate.
const unlikely = 0.001

// On simulated hosts, over many duets, the rule meets its false-alarm rate, its power, and the pass
// rate of identical builds.
func TestRatesOfTheDuetRule(t *testing.T) {
	stalling := quietHost
	stalling.stalls = 0.05
	apart, alike := quietHost, quietHost
	apart.shared, alike.shared = 0, 1
	alpha := gate.DefaultDuetPolicy().Alpha
	least := losses{server: 0.01, client: 0.01, rate: 0.01, p50: 0.01, p99: 0.01}
	five := losses{server: 0.05, client: 0.02, rate: 0.03}
	for i, c := range []struct {
		name    string
		noise   duetNoise
		losses  losses
		each    int // generations of a look
		once    bool
		trials  int
		verdict result.Verdict
		// min and max bound the probability of the verdict.
		min, max float64
	}{
		{"no false alarm for identical builds", quietHost, losses{}, 15, false, 500, result.Regressed, 0, alpha},
		{"no false alarm on a stalling host", stalling, losses{}, 12, false, 500, result.Regressed, 0, alpha},
		{"no false alarm at the least loss", quietHost, least, 15, false, 500, result.Regressed, 0, alpha},
		{"no false alarm with independent primaries", apart, least, 12, false, 500, result.Regressed, 0, alpha},
		{"no false alarm with equal primaries", alike, least, 18, false, 500, result.Regressed, 0, alpha},
		{"no false alarm on a stalling host at the least loss", stalling, least, 12, false, 500, result.Regressed, 0, alpha},
		{"identical builds pass", quietHost, losses{}, 15, false, 300, result.Pass, 0.97, 1},
		{"identical builds pass on a stalling host", stalling, losses{}, 15, false, 300, result.Pass, 0.9, 1},
		{"10 % is called in the first look", quietHost, losses{server: 0.10, rate: 0.06}, 12, true, 300, result.Regressed, 0.999, 1},
		{"5 % is called in the first look", quietHost, five, 15, true, 300, result.Regressed, 0.99, 1},
		{"5 % of the rate alone is called in the first look", quietHost, losses{rate: 0.05}, 15, true, 300, result.Regressed, 0.99, 1},
		{"5 % is called in a first look of twelve generations", quietHost, five, 12, true, 300, result.Regressed, 0.97, 1},
		{"5 % never passes", stalling, five, 12, false, 300, result.Pass, 0, 0.002},
		{"3 % is called in the first look half of the time", quietHost, losses{server: 0.03}, 15, true, 500, result.Regressed, 0.45, 0.6},
		{"3 % is called in three looks", quietHost, losses{server: 0.03}, 15, false, 500, result.Regressed, 0.95, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			random := seeded(uint64(100 + i))
			if testing.Short() {
				c.trials /= 5
			}
			hits := 0
			for range c.trials {
				var found *result.Comparison
				if c.once {
					found = gate.JudgeDuet(simulated(random, c.each, c.noise, c.losses), 1, gate.DefaultDuetPolicy())
				} else {
					found = lookAt(random, c.each, gate.DefaultDuetPolicy(), c.noise, c.losses)
				}
				if found.Verdict == c.verdict {
					hits++
				}
			}
			t.Logf("%s in %d of %d", c.verdict, hits, c.trials)
			assert.Greater(t, stat.AtLeast(hits, c.trials, c.max), unlikely, "%d of %d contradict a rate of %v or less", hits, c.trials, c.max)
			assert.Greater(t, stat.AtLeast(c.trials-hits, c.trials, 1-c.min), unlikely, "%d of %d contradict a rate of %v or more", hits, c.trials, c.min)
		})
	}
}

// A generation in which one side stalled is no evidence of a loss, whatever the length of the
// stall.
func TestOneStallIsNoFalseAlarm(t *testing.T) {
	random := seeded(16)
	for _, factor := range []float64{1.1, 1.5, 3, 50} {
		for range 100 {
			d := simulated(random, 12, quietHost, losses{})
			s := &d.Generations[random.IntN(12)].Sides[1]
			s.ActiveS *= factor
			s.ServerCPUNs = int64(float64(s.ServerCPUNs) * factor)
			s.Open.P50Ms *= factor
			s.Open.P99Ms *= factor * factor
			assert.NotEqual(t, result.Regressed, judged(d, 1).Verdict)
		}
	}
}
