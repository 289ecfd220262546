package gate_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// loaded returns a duet of two generations on two CPUs. In its slices each side completes 50,000
// cycles a second. Its server uses 0.6 of one CPU, and its generator half of the other.
func loaded() *result.Duet {
	d := simulated(seeded(1), 2, quietHost, losses{})
	d.Manifest.Host.CPUs = 2
	d.Manifest.Scenario.Topology = scenario.Topology{Kind: "single", Shards: 1, Procs: 1, Durability: "none"}
	d.Manifest.Scenario.Workloads = []scenario.Workload{{Procs: 1, Arrivals: scenario.Arrivals{Kind: scenario.Closed}}}
	each(d, func(_ int, s *result.GenerationSide) {
		s.Cycles, s.ActiveS = 100_000, 2
		s.ServerCPUNs, s.IdleCPUNs, s.ClientCPUNs = 1.7e9, 0.5e9, 1e9
		s.Stages = []result.Stage{result.StageOf(result.StageDecide, 400, []uint64{0, 0, 50_000}), result.StageOf(result.StageApply, 200, []uint64{0, 50_000})}
		s.PerCycle = map[string]float64{result.StorageFsyncUsPerCycle: 0.2}
	})
	return d
}

func each(d *result.Duet, do func(side int, s *result.GenerationSide)) {
	for i := range d.Generations {
		for side := range d.Generations[i].Sides {
			do(side, &d.Generations[i].Sides[side])
		}
	}
}

func described(d *result.Duet, arms []result.Arm) *result.Comparison {
	c := judged(d, 1)
	gate.DescribeDuet(c, d, arms)
	return c
}

func TestBoundOfADuet(t *testing.T) {
	s := golden.Cases(t, "testdata/duetbounds.golden")
	t.Run("waiting", func(t *testing.T) {
		c := described(loaded(), nil)
		for _, side := range []result.Side{c.Base, c.Change} {
			require.NotNil(t, side.Bound)
			assert.Equal(t, result.BoundWaiting, side.Bound.By)
			s.Equal(t, "waiting "+side.Name, side.Bound.Sentence)
		}
	})
	t.Run("one side", func(t *testing.T) {
		d := loaded()
		each(d, func(side int, s *result.GenerationSide) {
			s.ServerCPUNs += int64(side) * 0.7e9
		})
		c := described(d, nil)
		assert.Equal(t, result.BoundWaiting, c.Base.Bound.By)
		assert.Equal(t, result.BoundServerCPU, c.Change.Bound.By)
		s.Equal(t, "one side", c.Change.Bound.Sentence)
	})
	t.Run("one goroutine", func(t *testing.T) {
		d := loaded()
		each(d, func(_ int, s *result.GenerationSide) { s.Stages[0].SumMs = 1700 })
		assert.Equal(t, result.BoundGoroutine, described(d, nil).Base.Bound.By)
	})
	t.Run("a lock", func(t *testing.T) {
		lock := func(ns float64) result.Arm {
			return result.Arm{Result: &result.Result{Locks: []result.Lock{{Name: "client.T.mu", Kind: "mutex", Node: result.GeneratorNode, WaitNsPerCycle: ns}}}}
		}
		c := described(loaded(), []result.Arm{lock(10), lock(24e3)})
		assert.Equal(t, result.BoundWaiting, c.Base.Bound.By)
		assert.NotContains(t, c.Base.Bound.Sentence, "client.T.mu")
		assert.Equal(t, result.BoundLock, c.Change.Bound.By)
		s.Equal(t, "a lock", c.Change.Bound.Sentence)
		c = described(loaded(), []result.Arm{lock(4e3), lock(4e3)})
		s.Equal(t, "a lock that few wait for", c.Base.Bound.Sentence)
		assert.Equal(t, result.BoundWaiting, c.Base.Bound.By)
	})
}

func TestBoundOfADuetThatDoesNotTell(t *testing.T) {
	for name, change := range map[string]func(*result.Duet){
		"no generation counts": func(d *result.Duet) {
			for i := range d.Generations {
				d.Generations[i].Verdict = result.Invalid
			}
		},
		"no figures": func(d *result.Duet) {
			each(d, func(_ int, s *result.GenerationSide) { *s = result.GenerationSide{} })
		},
		"no stages":   func(d *result.Duet) { each(d, func(_ int, s *result.GenerationSide) { s.Stages = nil }) },
		"no counters": func(d *result.Duet) { each(d, func(_ int, s *result.GenerationSide) { s.PerCycle = nil }) },
		"a cluster":   func(d *result.Duet) { d.Manifest.Scenario.Topology.Nodes = 3 },
		"lost tasks":  func(d *result.Duet) { d.Generations[0].Sides[1].Ledger.Lost = 1 },
	} {
		d := loaded()
		change(d)
		c := described(d, nil)
		assert.Nil(t, c.Base.Bound, name)
		assert.Nil(t, c.Change.Bound, name)
	}
}

// DescribeDuet preserves the bounds that a comparison already has.
func TestBoundOfADuetThatIsKnown(t *testing.T) {
	c := judged(loaded(), 1)
	said := &result.Bound{By: result.BoundLock, Sentence: "bound by lock"}
	c.Base.Bound = said
	gate.DescribeDuet(c, loaded(), nil)
	assert.Same(t, said, c.Base.Bound)
	assert.Equal(t, result.BoundWaiting, c.Change.Bound.By)
}
