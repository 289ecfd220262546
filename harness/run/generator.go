package run

import (
	"runtime"

	"github.com/pronybench/prony/harness/scenario"
)

// serversSpare is the share of the CPUs that they may use below which the servers have some to spare.
const serversSpare = 0.9

// effort is what generator and servers used of the CPUs in a window.
type effort struct {
	cpus                     int // of the host
	generator, servers       float64
	generatorProcs           int // GOMAXPROCS; 0: as many as the host has
	serverProcs, serverCount int
}

// generatorPercent is how much of the CPUs that it may use the generator used. judged is false where that says nothing of
// who was the bottleneck, because the servers had no CPU to spare either.
//
// A generator that is busy all the time can't offer more, so that what was measured is its own rate; but only if the
// servers could have done more. On a small host both are near their limits, as they should be: then neither can be accused.
// What the servers may use is what their GOMAXPROCS allow, of what the generator left, and at least half of the host: a
// generator that takes nearly all of it must not excuse itself with their having none.
func (e effort) generatorPercent() (percent float64, judged bool) {
	cpus := float64(e.cpus)
	share := func(procs int) float64 {
		if procs == 0 {
			return cpus
		}
		return min(float64(procs), cpus)
	}
	left := max(cpus-e.generator, cpus/2)
	most := min(share(e.serverProcs)*float64(e.serverCount), left)
	return 100 * e.generator / share(e.generatorProcs), e.servers < serversSpare*most
}

// judgeGenerator makes a round invalid in which the generator was the bottleneck. It can't be told of one that shares its
// process with the server, or that polls: polling spends the time in which it has nothing to do. An open load is also judged
// by its slip.
func (r *runner) judgeGenerator(w *windowProbe, m *measured) {
	polls := scenario.Any(w.loads.workloads, func(l scenario.Workload) bool { return l.BusyPoll })
	if !w.separate() || !w.loads.any() || polls {
		return
	}
	generator, err := w.client.Cores()
	servers, serversErr := w.server.Cores()
	if err != nil || serversErr != nil {
		return // which spent has said
	}
	percent, judged := effort{
		cpus: runtime.NumCPU(), generator: generator, servers: servers, generatorProcs: w.loads.workloads[0].Procs,
		serverProcs: r.points[max(0, w.point-1)].Topology.Procs, serverCount: len(w.servers),
	}.generatorPercent()
	if !judged {
		return
	}
	var j judgement
	j.add("generator_cpu_percent_max", percent, r.scenario.Validity,
		"the generator was the bottleneck: it used %s of the CPUs that it may use, and the servers had some to spare", " %")
	m.judged(j, w.kind == profiled)
}
