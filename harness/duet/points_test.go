package duet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// sweptScenario is fakeScenario with points that differ in their workers.
func sweptScenario(names ...string) *scenario.Scenario {
	s := fakeScenario()
	s.Sweeps = []scenario.Sweep{{Path: "workload.main.workers", Values: names}}
	for _, name := range names {
		s.Points = append(s.Points, scenario.Point{Name: name, Topology: s.Topology, Workloads: s.Workloads})
	}
	return s
}

// Each generation measures all points in a separate random order, and its sides have the sums.
func TestGenerationMeasuresAllPoints(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.slowed = func(generation, _, _ int) time.Duration { return time.Duration(generation-1) * sliceLength }
	h.ended = func(_, side int, of *finished) { of.rssMB += float64(10 * (side + 1)) }
	c := h.conductor(t, Options{Generations: 8})
	c.scenario = sweptScenario("a", "b", "c")
	text := measured(t, c)
	require.Len(t, c.duet.Generations, 8)
	orders := map[string]bool{}
	for _, g := range c.duet.Generations {
		assert.Equal(t, result.Pass, g.Verdict)
		of := h.both(t, g.Number)
		assert.Equal(t, of[Base].begun, of[Change].begun, "both sides have the same load at a time")
		assert.ElementsMatch(t, []int{0, 1, 2}, of[Base].begun)
		orders[string([]byte{byte(of[Base].begun[0]), byte(of[Base].begun[1])})] = true
		assert.Len(t, of[Base].open, 3*pointOpenPairs)
		assert.Equal(t, of[Base].open, of[Change].open)
		require.Len(t, g.Points, 3)
		var cycles uint64
		for i, p := range g.Points {
			assert.Equal(t, []string{"a", "b", "c"}[i], p.Name)
			assert.InDelta(t, openShare*100_000, p.OpenPerS, 1, "the base's rate of the first generation")
			assert.NotNil(t, p.Sides[Change].Open)
			assert.InDelta(t, pointLength.Seconds()/2, p.Sides[Base].ActiveS, 0.05*float64(g.Number))
			assert.Contains(t, p.Sides[Base].PerCycle, result.StorageFsyncsPerCycle)
			cycles += p.Sides[Base].Cycles
		}
		assert.Equal(t, cycles, g.Sides[Base].Cycles)
		assert.EqualValues(t, 30, g.Sides[Base].Ledger.Enqueued)
		assert.Equal(t, 30.0, g.Sides[Base].RSSMB, "the largest of the three")
		assert.Nil(t, g.Sides[Base].Open)
		require.NotNil(t, g.Signals)
	}
	assert.Greater(t, len(orders), 1, "the order of the points is drawn")
	assert.Contains(t, text, "generation 1, ")
	assert.Contains(t, text, "3 points: change to base: rate 1.000")
	assert.Contains(t, text, " left")
}

// A side that fails at one point fails the generation and is named.
func TestPointThatFails(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.ended = func(generation, side int, of *finished) {
		if generation == 2 && side == Change {
			of.problems = []string{"1 lost"}
		}
	}
	c := h.conductor(t, Options{Generations: 5})
	c.scenario = sweptScenario("a", "b")
	measured(t, c)
	require.Len(t, c.duet.Generations, 2)
	assert.Equal(t, result.Incorrect, c.duet.Generations[1].Verdict)
	assert.Contains(t, c.duet.Generations[1].Reasons, "change: 1 lost")

	h = newFakeHost()
	h.broken = func(generation, side, _ int) error {
		if generation == 1 && side == Base {
			return errBroken
		}
		return nil
	}
	c = h.conductor(t, Options{Generations: 2})
	c.scenario = sweptScenario("a", "b")
	measured(t, c)
	assert.Equal(t, []string{"base: the load failed: slice: the connection broke"}, c.duet.Generations[0].Reasons)
	assert.Empty(t, c.duet.Generations[0].Points)
	assert.Equal(t, result.Pass, c.duet.Generations[1].Verdict)
	for _, p := range h.parties {
		assert.Equal(t, 1, p.stops)
	}
}

func TestPointWithoutCyclesIsAFault(t *testing.T) {
	t.Parallel()
	c := newFakeHost().conductor(t, Options{})
	g := &result.Generation{Verdict: result.Pass, Points: []result.GenerationPoint{
		{Name: "a", Sides: [2]result.GenerationSide{{Cycles: 1}, {}}}, {Name: "b", Sides: [2]result.GenerationSide{{Cycles: 1}, {Cycles: 1}}},
	}}
	c.checkPoints(g)
	assert.Equal(t, result.Invalid, g.Verdict)
	assert.Equal(t, []string{"change: no cycle was completed in the closed phase of a"}, g.Reasons)
	assert.NotEmpty(t, g.Sides[Change].Faults)
}

func TestSweepsThatFit(t *testing.T) {
	t.Parallel()
	assert.NoError(t, FitsSweep(sweptScenario("a", "b")))
	s := golden.Cases(t, "testdata/sweeps.golden")
	s.Error(t, "a sweep", Fits(sweptScenario("a", "b")))
	s.Error(t, "no sweep", FitsSweep(fakeScenario()))
	of := sweptScenario("a")
	of.Sweeps = append(of.Sweeps, scenario.Sweep{Path: "workload.main.batch, topology.shards"})
	s.Error(t, "of the topology", FitsSweep(of))
	of = sweptScenario("a", "b")
	of.Points[1].Workloads = []scenario.Workload{of.Workloads[0]}
	of.Points[1].Workloads[0].Driver = "embedded"
	s.Error(t, "a driver", FitsSweep(of))
}

// No point polls.
func TestPointsDoNotPoll(t *testing.T) {
	t.Parallel()
	s := sweptScenario("a", "b")
	s.Points[1].Workloads = []scenario.Workload{s.Workloads[0]}
	s.Points[1].Workloads[0].BusyPoll = true
	quiet, differs := withoutPolling(s)
	assert.True(t, differs)
	assert.False(t, quiet.Points[1].Workloads[0].BusyPoll)
	assert.True(t, s.Points[1].Workloads[0].BusyPoll, "the caller's scenario is unchanged")
}
