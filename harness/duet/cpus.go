package duet

import (
	"runtime"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// ownCPUs returns sets of CPUs for the processes of two sides that have load at the same time, or nil if they cannot: see shareCPUs.
func ownCPUs(s *scenario.Scenario) []result.SideCPUs {
	cpus, err := observe.CPUs()
	if err != nil {
		return nil
	}
	return shareCPUs(s, cpus, runtime.GOMAXPROCS(0))
}

// needs is how many CPUs the processes of a side may use together; 0 if the scenario does not bound them.
func needs(s *scenario.Scenario) int {
	server, generator := s.Topology.Procs, s.Workloads[0].Procs
	if server == 0 || generator == 0 {
		return 0
	}
	return server*max(1, s.Topology.Nodes) + generator
}

// shareCPUs gives each side CPUs of its own: one for each that its servers may use, and one for each that its generator may. No core has
// CPUs of both sides, and as few CPUs of a core are used as possible. It returns nil if there are too few cores, if that were more CPUs than
// most, because a cgroup may limit CPU time to less than the CPUs, or if a process of the scenario may use all CPUs.
func shareCPUs(s *scenario.Scenario, cpus []observe.CPU, most int) []result.SideCPUs {
	var cores [][]int
	at := map[string]int{}
	for _, cpu := range cpus {
		i, known := at[cpu.Core]
		if !known {
			i, cores = len(cores), append(cores, nil)
			at[cpu.Core] = i
		}
		cores[i] = append(cores[i], cpu.ID)
	}
	need := needs(s)
	if need == 0 || 2*need > most {
		return nil
	}
	for each := 1; each <= len(cpus); each++ {
		var sides []result.SideCPUs
		var of []int // the CPUs of the next side
		for _, core := range cores {
			of = append(of, core[:min(each, len(core))]...)
			if len(of) < need {
				continue
			}
			servers := need - s.Workloads[0].Procs
			if sides = append(sides, result.SideCPUs{Servers: of[:servers], Generator: of[servers:need]}); len(sides) == 2 {
				return sides
			}
			of = nil
		}
	}
	return nil
}

// cpus returns the CPUs of a side in a generation; none if the slices alternate. The sides swap their CPUs with the order of the start, so
// that neither always has the better ones.
func (c *conductor) cpus(g *result.Generation, side int) result.SideCPUs {
	switch {
	case !c.duet.Together:
		return result.SideCPUs{}
	case side == g.First:
		return c.duet.CPUs[0]
	}
	return c.duet.CPUs[1]
}
