package duet

import (
	"slices"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// ownCPUs returns the two sets of CPUs for the processes of a duet. together reports whether each
// side has one of the sets, so that both sides can have load simultaneously: see shareCPUs.
// Otherwise the slices alternate and both sides use the same set: see swapCPUs. Without sets the
// kernel may run all processes on all CPUs.
func ownCPUs(s *scenario.Scenario) (sets []result.SideCPUs, together bool) {
	cpus, err := observe.CPUs()
	if err != nil {
		return nil, false
	}
	return chooseCPUs(s, cpus, observe.CPUTime())
}

// chooseCPUs is ownCPUs for a host with the given CPUs and CPU time, in CPUs. If a control group
// limits the time to less than the CPUs, other programs share these, and only the kernel sees which
// are free. It then returns no sets.
func chooseCPUs(s *scenario.Scenario, cpus []observe.CPU, time float64) (sets []result.SideCPUs, together bool) {
	if time < float64(len(cpus)) {
		return nil, false
	}
	if sets = shareCPUs(s, cpus); sets != nil {
		return sets, true
	}
	return swapCPUs(s, cpus), false
}

// needs returns the number of CPUs that the servers of a side may use together, and the largest
// number that its generator may use at any point. It returns zeros if the scenario does not bound
// them.
func needs(s *scenario.Scenario) (servers, generator int) {
	servers = s.Topology.Procs * max(1, s.Topology.Nodes)
	for _, p := range s.Plan() {
		procs := p.Workloads[0].Procs
		if procs == 0 {
			return 0, 0
		}
		generator = max(generator, procs)
	}
	if servers == 0 {
		return 0, 0
	}
	return servers, generator
}

// threadsOf returns the numbers of the CPUs of each core, ordered by the first CPU of the core.
func threadsOf(cpus []observe.CPU) (cores [][]int) {
	at := map[string]int{}
	for _, cpu := range cpus {
		i, known := at[cpu.Core]
		if !known {
			i, cores = len(cores), append(cores, nil)
			at[cpu.Core] = i
		}
		cores[i] = append(cores[i], cpu.ID)
	}
	return cores
}

// shareCPUs gives each side separate CPUs: one for each CPU that its servers may use and one for
// each that its generator may use. The sides share no core, and the assignment uses as few threads
// per core as possible. It returns nil if there are too few cores or a process of the scenario may
// use all CPUs.
func shareCPUs(s *scenario.Scenario, cpus []observe.CPU) []result.SideCPUs {
	cores := threadsOf(cpus)
	servers, generator := needs(s)
	need := servers + generator
	if need == 0 {
		return nil
	}
	for each := 1; each <= len(cpus); each++ {
		var sides []result.SideCPUs
		var of []int // CPUs of the next side
		for _, core := range cores {
			of = append(of, core[:min(each, len(core))]...)
			if len(of) < need {
				continue
			}
			if sides = append(sides, result.SideCPUs{Servers: of[:servers], Generator: of[servers:need]}); len(sides) == 2 {
				return sides
			}
			of = nil
		}
	}
	return nil
}

// swapCPUs gives the servers and the generator separate CPUs, which both sides use in turn: one for
// each CPU that the servers of a side may use and one for each that its generator may use. It uses
// as few threads per core as possible. In the second set servers and generator swap: the servers
// have the last of these CPUs and the generator the first. Without sets the kernel keeps each
// process on the CPU that it chose at its start for a whole generation, so that the sides differ by
// several per cent. It returns nil if there are too few CPUs or a process of the scenario may use
// all CPUs.
func swapCPUs(s *scenario.Scenario, cpus []observe.CPU) []result.SideCPUs {
	servers, generator := needs(s)
	need := servers + generator
	if need == 0 || need > len(cpus) {
		return nil
	}
	var of []int
	cores := threadsOf(cpus)
	for thread := 0; len(of) < need; thread++ {
		for _, core := range cores {
			if thread < len(core) {
				of = append(of, core[thread])
			}
		}
	}
	of = slices.Clip(of[:need])
	return []result.SideCPUs{
		{Servers: of[:servers], Generator: of[servers:]},
		{Servers: of[generator:], Generator: of[:generator]},
	}
}

// cpus returns the CPUs of a side in a generation, or none if the kernel chooses. If both sides
// have load simultaneously, they swap their CPUs whenever the order of the start changes, so that
// neither always has the better ones.
func (c *conductor) cpus(g *result.Generation, side int) result.SideCPUs {
	switch {
	case c.duet.CPUs == nil:
		return result.SideCPUs{}
	case c.duet.Together && side != g.First:
		return c.duet.CPUs[1-g.CPUs]
	}
	return c.duet.CPUs[g.CPUs]
}

// cpuSet returns the index of a generation's set of CPUs, counted from 0. With alternating slices
// it changes after each side has started first with each layout.
func (c *conductor) cpuSet(n, layouts int) int {
	if c.duet.CPUs == nil || c.duet.Together {
		return 0
	}
	return n / (2 * layouts) % 2
}
