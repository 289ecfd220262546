package duet

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// host has cores of so many threads each: CPU 0 is the first thread of the first core, CPU 1 that of the second.
func host(cores, threads int) (cpus []observe.CPU) {
	for id := range cores * threads {
		cpus = append(cpus, observe.CPU{ID: id, Core: strconv.Itoa(id % cores)})
	}
	return cpus
}

func TestSidesHaveCPUsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := fakeScenario()
	share := func(cores, threads int) []result.SideCPUs { return shareCPUs(s, host(cores, threads), cores*threads) }
	assert.Nil(t, share(0, 1))
	assert.Nil(t, share(2, 1))
	assert.Nil(t, share(3, 1))
	assert.Nil(t, share(1, 4), "no core has CPUs of both sides")
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0}, Generator: []int{1}}, {Servers: []int{2}, Generator: []int{3}}}, share(4, 1))
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0}, Generator: []int{2}}, {Servers: []int{1}, Generator: []int{3}}}, share(2, 2))
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0}, Generator: []int{1}}, {Servers: []int{2}, Generator: []int{3}}}, share(4, 2),
		"one thread of a core, where there are enough cores")
	assert.Nil(t, shareCPUs(s, host(8, 1), 3), "a container may use less CPU time than it has CPUs")
	s.Topology.Procs = 2
	assert.Nil(t, share(3, 2), "a CPU of a core that the other side has is left")
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0, 4}, Generator: []int{1}}, {Servers: []int{2, 6}, Generator: []int{3}}}, share(4, 2))
	s.Topology.Procs, s.Topology.Nodes = 1, 3
	assert.Nil(t, share(7, 1))
	assert.Equal(t, []result.SideCPUs{{Servers: []int{0, 1, 2}, Generator: []int{3}}, {Servers: []int{4, 5, 6}, Generator: []int{7}}}, share(8, 1))
	s.Topology.Procs = 0
	assert.Nil(t, share(64, 1), "its servers may use all CPUs")
}

// The sets of CPUs change sides as the order of the start does.
func TestCPUsChangeSides(t *testing.T) {
	t.Parallel()
	c := newFakeHost().conductor(t, Options{})
	assert.Zero(t, c.cpus(&result.Generation{}, Change), "alternating slices use all CPUs")
	c.duet.CPUs = shareCPUs(c.scenario, host(4, 1), 4)
	c.duet.Together = true
	require.Len(t, c.duet.CPUs, 2)
	for _, first := range []int{Base, Change} {
		g := &result.Generation{First: first}
		assert.Equal(t, c.duet.CPUs[0], c.cpus(g, first))
		assert.Equal(t, c.duet.CPUs[1], c.cpus(g, 1-first))
	}
}
