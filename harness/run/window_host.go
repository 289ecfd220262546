package run

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// hostWatch watches the host and the processes of the run during a window.
type hostWatch struct {
	root    string // folder with the host's proc and sys; "" is the real root
	servers serverProbes
	target  *targetServers // nil if the round runs on Prony's own servers
	pid     func() int     // returns the ID of the generator: this process or a child of it
	// beside contains processes of the run that are neither generator nor server: attackers, and
	// the forwarder between hosts. Their CPU time must not count as foreign load.
	beside    []int
	watch     *observe.Watch // nil until start is called
	generator *processWatch
	each      []*processWatch // one per server
	others    *remoteWatch
	before    observe.Runtime // of the generator

	signals *result.Signals // nil until stop is called
	runtime observe.Runtime // of the generator, in the window
	err     error           // why runtime is unknown
}

// processWatch records the maximum figures of a process. For a server, it covers all of its
// successive processes.
type processWatch struct {
	pid        func() int
	rss        uint64
	fds        int
	goroutines int // set only for the generator
	rssKnown   bool
	fdsKnown   bool
}

func (h *hostWatch) start(ctx context.Context, _ time.Time) error {
	generator := h.pid()
	h.pid = func() int { return generator }
	h.generator, h.before = &processWatch{pid: h.pid}, observe.OwnRuntime()
	for _, s := range h.servers {
		h.each = append(h.each, &processWatch{pid: func() int { return s.server.Node().PID }})
	}
	h.watch = observe.StartWatch(observe.WatchConfig{Root: h.root, OwnCPU: h.ownCPU, OwnProcesses: h.ownProcesses, Sample: h.sample})
	h.others = watchRemote(ctx, h.servers, h.each)
	for _, s := range h.servers {
		s.resetPeak()
	}
	return nil
}

// ownCPU returns the CPU time that all processes of the run have used so far. A server inside this
// process is counted once.
func (h *hostWatch) ownCPU() (time.Duration, error) {
	sum, err := observe.ProcessCPU(os.Getpid())
	if err != nil {
		return 0, err
	}
	if pid := h.pid(); pid != os.Getpid() {
		generator, err := observe.ProcessCPU(pid)
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
		if n := s.server.Node(); n.Remote || n.PID == os.Getpid() {
			continue
		}
		u, err := usage(s.server)
		if err != nil {
			return 0, err
		}
		sum += u.CPU
	}
	return sum, nil
}

func (h *hostWatch) ownProcesses() []int {
	own := append([]int{h.pid()}, h.beside...)
	if h.target != nil {
		tree, err := h.target.tree()
		if err == nil { // if err is not nil, ownCPU has failed too
			own = append(own, tree.PIDs()...)
		}
	}
	for _, s := range h.servers {
		if n := s.server.Node(); !n.Remote {
			own = append(own, n.PID)
		}
	}
	return own
}

func (h *hostWatch) sample() {
	h.generator.sample()
	if h.pid() == os.Getpid() {
		h.generator.goroutines = max(h.generator.goroutines, observe.OwnRuntime().Goroutines)
	}
	for i, p := range h.each {
		if !h.servers[i].server.Node().Remote { // remote servers are sampled by a remoteWatch
			p.sample()
		}
	}
}

// sample updates the maximums. It ignores figures that cannot be read, for example while a server
// is down.
func (p *processWatch) sample() {
	pid := p.pid()
	if rss, err := observe.RSS(pid); err == nil && rss > 0 {
		p.rss, p.rssKnown = max(p.rss, rss), true
	}
	if fds, err := observe.FDs(pid); err == nil {
		p.fds, p.fdsKnown = max(p.fds, fds), true
	}
}

func (h *hostWatch) stop(context.Context) error {
	if h.watch == nil || h.signals != nil {
		return nil
	}
	signals := h.watch.Stop()
	h.signals = &signals
	h.others.stop()
	if h.pid() != os.Getpid() {
		h.err = errors.New("the runtime figures of another process are unknown")
		return nil
	}
	h.runtime, h.err = observe.OwnRuntime().Since(h.before)
	return nil
}

// fill adds the signals of the host, and the peak memory of the servers.
func (h *hostWatch) fill(m *measured) error {
	m.round.Signals = h.signals
	var peak uint64
	for i, s := range h.servers {
		if s.server.Node().Remote {
			s.readRemotePeak(h.each[i])
		} else if err := s.readPeak(); err != nil {
			return err
		}
		peak += s.peak
		m.warnings = append(m.warnings, s.warnings...)
	}
	if len(h.servers) > 0 && h.servers.peaksKnown() {
		m.round.Metrics[result.ServerRSSMBMax] = float64(peak) / 1e6
	}
	return nil
}

// process returns the figures of one process. spent and runtime are its resource usage and its
// runtime figures in the window.
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

// runtime returns the figures of the server's Go runtime in the window. It returns an error if the
// server was restarted, because the counters of the new process do not cover the window.
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

// processes adds the figures of all processes. generator is the usage of the generator. If all
// servers report their allocations, it also adds the servers' allocations in each of the given
// number of cycles.
func (h *hostWatch) processes(m *measured, generator observe.Spent, cycles float64) {
	if h.signals == nil {
		return
	}
	m.round.Processes = append(m.round.Processes, h.generator.process("generator", generator, h.runtime, h.err))
	var bytes, objects uint64
	goroutines := 0
	all := len(h.servers) > 0
	for i, s := range h.servers {
		if s.server.Node().PID == os.Getpid() {
			all = false // the figures of the generator include this server
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
	if all && cycles > 0 {
		m.round.Metrics[result.ServerAllocsPerCycle] = float64(objects) / cycles
		m.round.Metrics[result.ServerAllocBytesPerCycle] = float64(bytes) / cycles
	}
}
