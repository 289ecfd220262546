package duet

import (
	"slices"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// ownCPUs returns two sets of CPUs for the processes of a duet. If together is true, each side has
// one of the sets, so that both sides can have load at the same time: see shareCPUs. Otherwise the
// slices alternate, and both sides use the same set: see swapCPUs. If sets is nil, the kernel may
// run all processes on all CPUs.
func ownCPUs(s *scenario.Scenario) (sets []result.SideCPUs, together bool) {
	cpus, err := observe.CPUs()
	if err != nil {
		return nil, false
	}
	return chooseCPUs(s, cpus, observe.CPUTime())
}

// chooseCPUs is ownCPUs for a host with the given CPUs. time is the CPU time that the control
// groups allow, as a number of CPUs. If it is less than the number of CPUs, other programs use the
// same CPUs, and only the kernel knows which are free. In that case chooseCPUs returns no sets.
func chooseCPUs(s *scenario.Scenario, cpus []observe.CPU, time float64) (sets []result.SideCPUs, together bool) {
	if time < float64(len(cpus)) {
		return nil, false
	}
	if sets = shareCPUs(s, cpus); sets != nil {
		return sets, true
	}
	return swapCPUs(s, cpus), false
}

// needs returns the number of CPUs that all servers of a side may use, and the number that the
// side's generator may use, which is the maximum over all points. If the scenario does not limit
// one of these, both numbers are 0.
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

// threadsOf returns the CPUs of each core, by number. Cores are ordered by their first CPU.
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

// shareCPUs assigns separate CPUs to each side: one for each CPU that its servers may use, and one
// for each CPU that its generator may use. The sides share no core. The assignment uses as few
// threads per core as possible. shareCPUs returns nil if there are too few cores, or if the
// scenario lets a process use all CPUs.
func shareCPUs(s *scenario.Scenario, cpus []observe.CPU) []result.SideCPUs {
	cores := threadsOf(cpus)
	servers, generator := needs(s)
	need := servers + generator
	if need == 0 {
		return nil
	}
	for each := 1; each <= len(cpus); each++ {
		var sides []result.SideCPUs
		var of []int // CPUs of the side that is being assigned
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

// swapCPUs assigns separate CPUs to the servers and to the generator. Both sides use the same
// assignment in turn. There is one CPU for each CPU that the servers of a side may use, and one for
// each CPU that the side's generator may use. The assignment uses as few threads per core as
// possible. In the second set servers and generator are swapped: the servers have the last of these
// CPUs and the generator has the first. Without these sets, the kernel would leave each process for
// a whole generation on the CPU that it chose at the start. The sides would then differ by several
// per cent. swapCPUs returns nil if there are too few CPUs, or if the scenario lets a process use
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

// cpus returns the CPUs of a side in a generation. They are empty if the kernel chooses the CPUs.
// If both sides have load at the same time, they swap their CPUs whenever the order of the start
// changes, so that neither side always has the better CPUs.
func (c *conductor) cpus(g *result.Generation, side int) result.SideCPUs {
	switch {
	case c.duet.CPUs == nil:
		return result.SideCPUs{}
	case c.duet.Together && side != g.First:
		return c.duet.CPUs[1-g.CPUs]
	}
	return c.duet.CPUs[g.CPUs]
}

// cpuSet returns the index of the set of CPUs that a generation uses. n is the number of the
// generation, counted from 0. If slices alternate, the set changes after each side has started
// first with each layout.
func (c *conductor) cpuSet(n, layouts int) int {
	if c.duet.CPUs == nil || c.duet.Together {
		return 0
	}
	return n / (2 * layouts) % 2
}
