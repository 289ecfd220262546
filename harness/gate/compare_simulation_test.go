package gate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// noise describes how a host disturbs measurements: each round within a block, and the host's speed
// between blocks.
type noise struct {
	round float64 // standard deviation of a round's logarithm
	wild  int     // one in this many rounds is disturbed ten times as much; 0 for none
	swing float64 // of the host's speed between blocks
}

// arms simulates arms that are measured in blocks. losses has the fraction of the rate that each
// arm loses.
func arms(t require.TestingT, random *rand.Rand, blocks int, n noise, losses map[string]float64, names ...string) []result.Arm {
	var all []result.Arm
	for _, name := range names {
		all = append(all, result.Arm{Name: name, Path: "runs/" + name, Result: &result.Result{
			Version: result.Version, Run: name, Scenario: "compare", Verdict: result.Pass,
			Manifest: result.Manifest{
				Scenario: scenario.Scenario{Topology: scenario.Topology{Durability: "none"}},
				Build:    result.Build{Commit: "0123456789abcdef", Server: "of " + name},
			},
		}})
	}
	host := 0.0
	started := time.Date(2026, 11, 21, 17, 15, 0, 0, time.UTC)
	for number := 1; number <= blocks; number++ {
		host = 0.9*host + n.swing*random.NormFloat64()
		for i := range all {
			speed := host + disturbed(random, n)
			slower := 1 / (1 - losses[all[i].Name])
			cycleUs := 8 * slower * math.Exp(speed)
			round := result.Round{
				Number: number, Verdict: result.Pass, WindowSeconds: 1, Cycles: uint64(1e6 / cycleUs),
				Started: started.Add(time.Duration(number*len(all)+i) * 1600 * time.Millisecond),
				Metrics: map[string]float64{
					// CPU time follows the host's speed and has additional noise.
					result.ServerCPUUsPerCycle:     cycleUs / 2 * math.Exp(n.round/2*random.NormFloat64()),
					result.ClientCPUUsPerCycle:     4 * math.Exp(speed/2),
					result.StorageSetsPerCycle:     1.13 * math.Exp(0.001*random.NormFloat64()),
					result.StorageGetsPerCycle:     0,
					result.StorageSetBytesPerCycle: 105 * math.Exp(0.001*random.NormFloat64()),
				},
			}
			h := result.NewHistograms()
			require.NoError(t, h.Cycle.RecordValues(int64(160e3*cycleUs), 980))
			require.NoError(t, h.Cycle.RecordValues(int64(400e3*cycleUs*math.Exp(3*n.round*random.NormFloat64())), 20))
			round.Derive(h)
			all[i].Result.Rounds = append(all[i].Result.Rounds, round)
			all[i].Histograms = append(all[i].Histograms, result.RoundHistograms{Round: number, Histograms: h})
		}
	}
	return all
}

func disturbed(random *rand.Rand, n noise) float64 {
	if n.wild > 0 && random.IntN(n.wild) == 0 {
		// A neighbour can only slow the host down.
		return math.Abs(10 * n.round * random.NormFloat64())
	}
	return n.round * random.NormFloat64()
}

func fast() gate.Policy {
	p := gate.DefaultPolicy()
	p.Resamples = 100
	return p
}

// On simulated hosts, identical builds are rarely regressed, and a loss is found.
func TestRuleOnSimulatedHosts(t *testing.T) {
	for _, c := range []struct {
		name        string
		noise       noise
		trials      int
		alarmsMax   float64
		tenMin      float64
		fiveMin     float64
		blocksOfOne int
	}{
		{"quiet", noise{round: 0.02, swing: 0.05}, 40, 0.01, 0.99, 0.9, 20},
		{"shared", noise{round: 0.03, wild: 20, swing: 0.15}, 80, 0.0125, 0.9, 0.6, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			policy := fast()
			// Tested separately.
			policy.Metrics = slices.DeleteFunc(policy.Metrics, func(m gate.Judged) bool { return m.Counter })
			for _, trial := range []struct {
				loss     float64
				min, max float64
			}{{0, 0, c.alarmsMax}, {0.05, c.fiveMin, 1}, {0.10, c.tenMin, 1}} {
				random := rand.New(rand.NewPCG(21, uint64(1000*trial.loss)))
				called := 0
				for range c.trials {
					a := arms(t, random, c.blocksOfOne, c.noise, map[string]float64{"change": trial.loss}, "base", "change", "control")
					if gate.Judge(policy)(a).Verdict == result.Regressed {
						called++
					}
				}
				share := float64(called) / float64(c.trials)
				t.Logf("%s: loss %.0f %%: regressed in %d of %d", c.name, 100*trial.loss, called, c.trials)
				assert.GreaterOrEqual(t, share, trial.min, "loss %v", trial.loss)
				assert.LessOrEqual(t, share, trial.max, "loss %v", trial.loss)
			}
		})
	}
}
