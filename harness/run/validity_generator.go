package run

import (
	"runtime"

	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/validity"
)

// serversSpare is the share of their CPUs below which the servers have CPU time to spare.
const serversSpare = 0.9

// effort is what generator and servers used of the CPUs in a window.
type effort struct {
	cpus                     int // of the host
	generator, servers       float64
	generatorProcs           int // GOMAXPROCS; 0: as many as the host has
	serverProcs, serverCount int
	// elsewhere is set if the servers have hosts of their own, where they may use serverProcs CPUs together; 0: it is not known how many.
	elsewhere bool
}

// generatorPercent returns which share of its CPUs the generator used. judged is false if the servers had no CPU time to spare
// either, because the share then does not tell which side was the bottleneck.
//
// A generator that is always busy can't offer more, so the round measured the generator, if the servers could have done more. On
// a small host both sides are near their limits, and neither is at fault. The servers may use what their GOMAXPROCS allow of the
// CPUs that the generator left, and at least half of the host: a generator that takes nearly the whole host is at fault.
func (e effort) generatorPercent() (percent float64, judged bool) {
	cpus := float64(e.cpus)
	share := func(procs int) float64 {
		if procs == 0 {
			return cpus
		}
		return min(float64(procs), cpus)
	}
	if e.elsewhere {
		return 100 * e.generator / share(e.generatorProcs), e.serverProcs == 0 || e.servers < serversSpare*float64(e.serverProcs)
	}
	left := max(cpus-e.generator, cpus/2)
	most := min(share(e.serverProcs)*float64(e.serverCount), left)
	return 100 * e.generator / share(e.generatorProcs), e.servers < serversSpare*most
}

// ofTarget is e of a target's servers, which may use all CPUs, however many they are. A driver program is a part of the generator, and is not held to
// the generator's GOMAXPROCS.
func (e effort) ofTarget() effort {
	e.serverCount, e.serverProcs, e.generatorProcs = 1, 0, 0
	return e
}

// judgeGenerator makes a round invalid in which the generator was the bottleneck. It does not judge a generator that shares its
// process with the server, or one that polls, because polling uses CPU time without work. An open load is also judged by its
// slip.
func (r *runner) judgeGenerator(w *windowProbe, m *measured) {
	polls := scenario.Any(w.loads.workloads, func(l scenario.Workload) bool { return l.BusyPoll })
	if !w.separate() || !w.loads.any() || polls || !w.cpuKnown() {
		return
	}
	generator, err := w.client.Cores()
	servers, serversErr := w.server.Cores()
	if err != nil || serversErr != nil {
		return // which spent has said
	}
	spent := effort{
		cpus: runtime.NumCPU(), generator: generator, servers: servers, generatorProcs: w.loads.workloads[0].Procs,
		serverProcs: r.points[max(0, w.point-1)].Topology.Procs, serverCount: len(w.servers),
	}
	if w.remote() {
		spent.elsewhere, spent.serverProcs = true, w.remoteProcs()
	}
	if w.target != nil {
		spent = spent.ofTarget()
	}
	percent, judged := spent.generatorPercent()
	if !judged {
		return
	}
	var j validity.Judgement
	j.Add("generator_cpu_percent_max", percent, r.scenario.Validity, " %", func(shown string) string {
		return "the generator was the bottleneck: it used " + shown + " of the CPUs that it may use, and the servers had some to spare"
	})
	m.judged(j, w.kind == profiled)
}
