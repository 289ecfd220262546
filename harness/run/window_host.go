package run

import (
	"errors"
	"os"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// hostWatch watches the host and the run's processes within a window.
type hostWatch struct {
	servers   []*topology.Server
	target    *targetServers // nil of a round on Prony's own servers
	pid       int            // the generator's
	beside    []int          // other processes of the run, which have no figures of their own
	watch     *observe.Watch
	generator *processWatch
	each      []*processWatch // of the servers
	before    observe.Runtime // the generator's

	signals *result.Signals // nil until it is over
	runtime observe.Runtime // what the generator's did in the window
	err     error           // why the runtime is not known
}

// processWatch keeps the largest figures of one process, or of those that a server has one after the other.
type processWatch struct {
	pid        func() int
	rss        uint64
	fds        int
	goroutines int // of the generator alone
	rssKnown   bool
	fdsKnown   bool
}

// watchHost begins to watch. The host's proc and sys are below root; "" is its own. The generator's process is this one, or
// another one that it started.
func watchHost(root string, servers []*topology.Server, target *targetServers, generator int, beside ...int) *hostWatch {
	h := &hostWatch{
		servers: servers, target: target, pid: generator, beside: beside, generator: &processWatch{pid: func() int { return generator }}, before: observe.OwnRuntime(),
	}
	for _, s := range servers {
		h.each = append(h.each, &processWatch{pid: func() int { return s.Node().PID }})
	}
	h.watch = observe.StartWatch(observe.WatchConfig{Root: root, OwnCPU: h.ownCPU, OwnProcesses: h.ownProcesses, Sample: h.sample})
	return h
}

// ownCPU is what all processes of the run have used so far. A server that is a part of this process is counted once.
func (h *hostWatch) ownCPU() (time.Duration, error) {
	sum, err := observe.ProcessCPU(os.Getpid())
	if err != nil {
		return 0, err
	}
	if h.pid != os.Getpid() {
		generator, err := observe.ProcessCPU(h.pid)
		if err != nil {
			return 0, err
		}
		sum += generator
	}
	for _, pid := range h.beside {
		used, err := observe.ProcessCPU(pid)
		if err != nil {
			return 0, err
		}
		sum += used
	}
	used, err := h.target.ownCPU()
	if err != nil {
		return 0, err
	}
	sum += used.CPU
	for _, s := range h.servers {
		if n := s.Node(); n.Remote || n.PID == os.Getpid() {
			continue
		}
		u, err := usage(s)
		if err != nil {
			return 0, err
		}
		sum += u.CPU
	}
	return sum, nil
}

// ownProcesses returns the processes that ownCPU counts.
func (h *hostWatch) ownProcesses() []int {
	own := append([]int{h.pid}, h.beside...)
	if h.target != nil {
		tree, err := h.target.tree()
		if err == nil { // ownCPU failed too, otherwise
			own = append(own, tree.PIDs()...)
		}
	}
	for _, s := range h.servers {
		if n := s.Node(); !n.Remote {
			own = append(own, n.PID)
		}
	}
	return own
}

func (h *hostWatch) sample() {
	h.generator.sample()
	if h.pid == os.Getpid() {
		h.generator.goroutines = max(h.generator.goroutines, observe.OwnRuntime().Goroutines)
	}
	for i, p := range h.each {
		if !h.servers[i].Node().Remote { // a remoteWatch reads those
			p.sample()
		}
	}
}

// sample leaves out what can't be read, as of a server that is down.
func (p *processWatch) sample() {
	pid := p.pid()
	if rss, err := observe.RSS(pid); err == nil && rss > 0 {
		p.rss, p.rssKnown = max(p.rss, rss), true
	}
	if fds, err := observe.FDs(pid); err == nil {
		p.fds, p.fdsKnown = max(p.fds, fds), true
	}
}

// stop ends the watch; further calls do nothing.
func (h *hostWatch) stop() {
	if h == nil || h.signals != nil {
		return
	}
	signals := h.watch.Stop()
	h.signals = &signals
	if h.pid != os.Getpid() {
		h.err = errors.New("the runtime figures of another process are unknown")
		return
	}
	h.runtime, h.err = observe.OwnRuntime().Since(h.before)
}

// process is the series of one of them, of what it spent and what its runtime did in the window.
func (p *processWatch) process(name string, spent observe.Spent, runtime observe.Runtime, runtimeErr error) result.Process {
	r := result.Process{
		Name: name, RSSMBMax: float64(p.rss) / 1e6, FDsMax: p.fds, Goroutines: max(p.goroutines, runtime.Goroutines),
		GCPauseMsP99: 1e3 * runtime.GCPauses.Quantile(0.99), GCPauseMsMax: 1e3 * runtime.GCPauses.Highest(),
		GCCycles: runtime.GCCycles, AllocatedBytes: runtime.AllocatedBytes, AllocatedObjects: runtime.AllocatedObjects,
	}
	var err error
	if r.CPUCores, err = spent.Cores(); err != nil {
		r.Unknown = append(r.Unknown, "cpu_cores")
	}
	if !p.rssKnown {
		r.Unknown = append(r.Unknown, "rss_mb_max")
	}
	if !p.fdsKnown {
		r.Unknown = append(r.Unknown, "fds_max")
	}
	if runtimeErr != nil {
		r.Unknown = append(r.Unknown, "goroutines_max", "gc_pause_ms_p99", "gc_pause_ms_max", "gc_cycles", "allocated_bytes", "allocated_objects")
	}
	return r
}

// runtime is what the server's runtime did in the window. One that was started again has counted less than the window.
func (s *serverProbe) runtime() (observe.Runtime, error) {
	before, err := observe.RuntimeOf(s.metricsBefore)
	if err != nil {
		return observe.Runtime{}, err
	}
	after, err := observe.RuntimeOf(s.metricsAfter)
	if err != nil {
		return observe.Runtime{}, err
	}
	return after.Since(before)
}

// processes fills in the series of all processes, and what the servers allocated for each cycle where all of them say it.
func (w *windowProbe) processes(m *measured) {
	h := w.host
	if h == nil || h.signals == nil {
		return
	}
	m.round.Processes = append(m.round.Processes, h.generator.process("generator", w.client, h.runtime, h.err))
	var bytes, objects uint64
	goroutines := 0
	all := len(w.servers) > 0
	for i, s := range w.servers {
		if s.server.Node().PID == os.Getpid() {
			all = false // its figures are the generator's
			continue
		}
		name := s.server.ID
		if name == "" {
			name = "server"
		}
		runtime, err := s.runtime()
		process := h.each[i].process(name, s.spent, runtime, err)
		m.round.Processes = append(m.round.Processes, process)
		goroutines += process.Goroutines
		all = all && err == nil
		bytes, objects = bytes+runtime.AllocatedBytes, objects+runtime.AllocatedObjects
	}
	if all {
		m.round.Metrics[result.ServerGoroutinesMax] = float64(goroutines)
	}
	if cycles := w.completed(m); all && cycles > 0 {
		m.round.Metrics[result.ServerAllocsPerCycle] = float64(objects) / cycles
		m.round.Metrics[result.ServerAllocBytesPerCycle] = float64(bytes) / cycles
	}
}
