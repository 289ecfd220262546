package duet

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// host has the given number of cores and threads per core. CPU 0 is the first thread of the first
// core, CPU 1 that of the second.
func host(cores, threads int) (cpus []observe.CPU) {
	for id := range cores * threads {
		cpus = append(cpus, observe.CPU{ID: id, Core: strconv.Itoa(id % cores)})
	}
	return cpus
}

func TestSidesHaveCPUsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := fakeScenario()
	share := func(cores, threads int) []result.SideCPUs { return shareCPUs(s, host(cores, threads)) }
	assert.Nil(t, share(0, 1))
	assert.Nil(t, share(2, 1))
	assert.Nil(t, share(3, 1))
	assert.Nil(t, share(1, 4), "the sides share no core")
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0}, Generator: []int{1}}, {Servers: []int{2}, Generator: []int{3}}}, share(4, 1))
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0}, Generator: []int{2}}, {Servers: []int{1}, Generator: []int{3}}}, share(2, 2))
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0}, Generator: []int{1}}, {Servers: []int{2}, Generator: []int{3}}}, share(4, 2),
		"one thread per core if there are enough cores")
	s.Topology.Procs = 2
	assert.Nil(t, share(3, 2), "the only free CPU is on a core of the other side")
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0, 4}, Generator: []int{1}}, {Servers: []int{2, 6}, Generator: []int{3}}}, share(4, 2))
	s.Topology.Procs, s.Topology.Nodes = 1, 3
	assert.Nil(t, share(7, 1))
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0, 1, 2}, Generator: []int{3}}, {Servers: []int{4, 5, 6}, Generator: []int{7}}}, share(8, 1))
	s.Topology.Procs = 0
	assert.Nil(t, share(64, 1), "its servers may use all CPUs")
}

// If the sides cannot have separate CPUs, servers and generators have them, and swap them.
func TestServersAndGeneratorsHaveCPUsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := fakeScenario()
	swap := func(cores, threads int) []result.SideCPUs { return swapCPUs(s, host(cores, threads)) }
	assert.Nil(t, swap(1, 1))
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0}, Generator: []int{1}}, {Servers: []int{1}, Generator: []int{0}}}, swap(2, 1))
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0}, Generator: []int{1}}, {Servers: []int{1}, Generator: []int{0}}}, swap(1, 2),
		"two threads of the only core")
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0}, Generator: []int{1}}, {Servers: []int{1}, Generator: []int{0}}}, swap(2, 2),
		"one thread per core if there are enough cores")
	s.Topology.Procs = 2
	assert.Nil(t, swap(2, 1))
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0, 1}, Generator: []int{2}}, {Servers: []int{1, 2}, Generator: []int{0}}}, swap(3, 1))
	s.Topology.Procs, s.Topology.Nodes = 1, 3
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0, 1, 2}, Generator: []int{3}}, {Servers: []int{1, 2, 3}, Generator: []int{0}}}, swap(4, 1))
	s.Topology.Nodes = 0
	point := func(procs int) scenario.Point { return scenario.Point{Workloads: []scenario.Workload{{Procs: procs}}} }
	s.Points = []scenario.Point{point(1), point(2)}
	assert.Nil(t, swap(2, 1))
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0}, Generator: []int{1, 2}}, {Servers: []int{2}, Generator: []int{0, 1}}}, swap(3, 1),
		"the maximum that the generator may use at any point")
	s.Points = append(s.Points, point(0))
	assert.Nil(t, swap(64, 1), "the generator may use all CPUs at a point")
	s.Points, s.Topology.Procs = nil, 0
	assert.Nil(t, swap(64, 1), "its servers may use all CPUs")
}

// Sides with separate CPUs have load simultaneously. Processes are not confined to CPUs if the
// kernel limits their CPU time.
func TestWhetherSidesHaveLoadAtOnce(t *testing.T) {
	t.Parallel()
	unlimited := math.Inf(1)
	for _, c := range []struct {
		cpus     int
		time     float64
		sets     bool
		together bool
	}{
		{1, unlimited, false, false},
		{2, unlimited, true, false},
		{3, 3, true, false},
		{4, unlimited, true, true},
		{4, 4, true, true},
		{2, 1, false, false},
		{2, 1.5, false, false},
		{4, 3.5, false, false},
		{8, 4, false, false},
	} {
		sets, together := chooseCPUs(fakeScenario(), host(c.cpus, 1), c.time)
		assert.Equal(t, c.sets, sets != nil, "%+v", c)
		assert.Equal(t, c.together, together, "%+v", c)
	}
}

// Duets are only judged together if their processes were assigned to CPUs in the same way.
func TestConditions(t *testing.T) {
	t.Parallel()
	s := fakeScenario()
	want := Conditions{SliceMs: 10, ClosedMs: 3000, OpenSliceMs: 50, OpenPairs: 10}
	assert.Equal(t, want, conditionsOf(nil, false))
	some := swapCPUs(s, host(2, 1))
	want.CPUs = "servers and generators have their own"
	assert.Equal(t, want, conditionsOf(some, false))
	want.CPUs = "each side has its own"
	assert.Equal(t, want, conditionsOf(some, true))
	assert.Equal(t, conditionsOf(ownCPUs(s)), ConditionsOf(s))
}

// The sides swap their sets of CPUs when the order of the start changes.
func TestCPUsChangeSides(t *testing.T) {
	t.Parallel()
	c := newFakeHost().conductor(t, Options{})
	c.duet.CPUs = shareCPUs(c.scenario, host(4, 1))
	c.duet.Together = true
	require.Len(t, c.duet.CPUs, 2)
	for n := range 16 {
		g := c.plan(n + 1)
		assert.Equal(t, c.duet.CPUs[0], c.cpus(g, g.First))
		assert.Equal(t, c.duet.CPUs[1], c.cpus(g, 1-g.First))
	}
}

// With alternating slices both sides have the same set. Each layout and each order of the start has
// both sets equally often.
func TestCPUsOfAlternatingSlices(t *testing.T) {
	t.Parallel()
	c := newFakeHost().conductor(t, Options{})
	c.duet.CPUs = swapCPUs(c.scenario, host(2, 1))
	require.Len(t, c.duet.CPUs, 2)
	type start struct{ layout, first, cpu int }
	times := map[start]int{}
	for n := range 32 {
		g := c.plan(n + 1)
		of := c.cpus(g, Base)
		assert.Equal(t, of, c.cpus(g, Change))
		times[start{g.Layout, g.First, of.Servers[0]}]++
	}
	assert.Len(t, times, 16, "four layouts, two orders, two sets")
	for of, n := range times {
		assert.Equal(t, 2, n, "%+v", of)
	}
	c.duet.CPUs = nil
	assert.Zero(t, c.cpus(c.plan(9), Change), "the kernel chooses")
}
