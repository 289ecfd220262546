package run

import (
	"runtime"

	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/validity"
)

// serversSpare is a fraction of the servers' CPUs. Servers that use less than this have CPU time to
// spare.
const serversSpare = 0.9

// effort is the CPU usage of the generator and the servers in a window, as an average number of
// CPUs.
type effort struct {
	cpus                     int // number of CPUs of this host
	generator, servers       float64
	generatorProcs           int // GOMAXPROCS; 0 means all CPUs of the host
	serverProcs, serverCount int
	// elsewhere is set if the servers run on other hosts. serverProcs is then the total number of
	// CPUs that they may use, or 0 if unknown.
	elsewhere bool
}

// generatorPercent returns the usage of the generator in percent of its CPUs. judged is false if
// the servers had no CPU time to spare either, because the usage then does not show which side was
// the bottleneck.
//
// A generator that is always busy cannot offer more load. If the servers could have done more work
// at the same time, the round measured the generator, not the servers. On a small host both sides
// are near their limits, and neither is at fault. The servers may use the CPU time that the
// generator left, as far as their GOMAXPROCS allows. The computation assumes that at least half of
// the host is available to the servers, so that a generator that uses nearly the whole host is at
// fault.
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

// ofTarget adapts e to the servers of a target. Their number is unknown, and they may use all CPUs.
// A driver program is a part of the generator, and GOMAXPROCS of this process does not bind it.
func (e effort) ofTarget() effort {
	e.serverCount, e.serverProcs, e.generatorProcs = 1, 0, 0
	return e
}

// judgeGenerator makes a round invalid if the generator was its bottleneck. It skips a generator
// that shares its process with the server, and a generator that polls, because polling uses all
// idle CPU time. The generator of an open load is also judged by checkSlip.
func (r *runner) judgeGenerator(w *windowProbe, m *measured) {
	polls := scenario.Any(w.loads.workloads, func(l scenario.Workload) bool { return l.BusyPoll })
	if !w.clocks.separate() || !w.loads.any() || polls || !w.clocks.known() {
		return
	}
	generator, err := w.clocks.client.Cores()
	servers, serversErr := w.clocks.server.Cores()
	if err != nil || serversErr != nil {
		return // spent has reported the error
	}
	spent := effort{
		cpus: runtime.NumCPU(), generator: generator, servers: servers, generatorProcs: w.loads.workloads[0].Procs,
		serverProcs: r.points[max(0, w.point-1)].Topology.Procs, serverCount: len(w.servers),
	}
	if w.clocks.remote() {
		spent.elsewhere, spent.serverProcs = true, remoteProcs(w.cluster)
	}
	if w.clocks.target != nil {
		spent = spent.ofTarget()
	}
	percent, judged := spent.generatorPercent()
	if !judged {
		return
	}
	var j validity.Judgement
	j.Add("generator_cpu_percent_max", percent, r.scenario.Validity, " %", func(shown string) string {
		return "the generator was the bottleneck: it used " + shown + " of its CPUs while the servers had CPU time to spare"
	})
	m.judged(j, w.kind == profiled)
}
