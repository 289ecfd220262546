package run

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// meter measures something in the window of a round.
type meter interface {
	// start is called at the start of the window, which was at began. It does not wait for answers
	// of the servers.
	start(ctx context.Context, began time.Time) error
	// stop is called at the end of the window. If ctx is done, the round is aborted: stop ends all
	// goroutines and need not measure anything. It may be called repeatedly, and without start.
	stop(ctx context.Context) error
	// fill adds what was measured. It is called after stop, before the cycles are known.
	fill(m *measured) error
}

// preparedMeter is a meter that asks the servers before the window starts.
type preparedMeter interface {
	meter
	// prepare is called in the background, shortly before the window.
	prepare(ctx context.Context) error
}

// windowProbe measures the window of a round. It reads the CPU clocks of all processes at both
// edges, before anything else, and orders the meters.
type windowProbe struct {
	cluster   *topology.Cluster
	servers   serverProbes
	loads     *loads
	kind      kind
	point     int // number of the point; 0 without a sweep
	workloads []scenario.Workload

	clocks   clocks
	rates    *steadiness // nil if the rate of the round is not sampled
	host     hostWatch
	between  *betweenHosts // nil if the nodes have no separate hosts
	scraper  scraper
	profiles profiles
	counters counters
	trace    *traceProbe
	series   series

	once       sync.Once
	prepared   chan struct{} // closed when all meters are prepared; nil until near is called
	prepareErr error
}

func newWindowProbe(r *runner, cluster *topology.Cluster, loads *loads, p plannedRound) *windowProbe {
	point := r.points[p.point]
	w := &windowProbe{cluster: cluster, loads: loads, kind: p.kind, workloads: point.Workloads, trace: newTraceProbe(r.scenario, p.kind, p.number, r.folder)}
	var target *targetServers
	if loads != nil {
		target = loads.target
		loads.slow = w.trace.watch()
	}
	if len(r.scenario.Points) > 0 {
		w.point = p.point + 1
	}
	for _, s := range cluster.Servers() {
		w.servers = append(w.servers, &serverProbe{server: s, admin: admin(cluster, s)})
	}
	w.clocks = clocks{servers: w.servers, target: newTargetProbe(target), generator: w.generator, mark: w.mark, topology: point.Topology.Kind}
	w.host = hostWatch{root: r.options.hostRoot, servers: w.servers, target: target, pid: w.generator}
	w.counters = counters{servers: w.servers, cluster: cluster, mark: w.mark}
	w.profiles = profiles{servers: w.servers, mark: w.mark, folder: r.folder, point: w.point, kept: p.kind == profiled}
	switch observe := point.Observe; {
	case p.kind == profiled:
		w.profiles.captures = r.scenario.Captures
		w.profiles.ofGenerator = func() bool { return w.clocks.separate() && w.generator() == os.Getpid() }
	case p.kind == timed && observe != nil:
		w.profiles.captures = observe.Captures()
		w.scraper = scraper{every: observe.Scrape, cluster: cluster, observed: &result.Observed{ScrapeS: observe.Scrape.Seconds()}}
		for _, c := range w.profiles.captures {
			if len(w.servers) == 0 {
				break // nothing is profiled
			}
			w.scraper.observed.Profiles = append(w.scraper.observed.Profiles, c.Kind)
		}
	}
	if every := r.scenario.SeriesEvery; p.kind == timed && every > 0 {
		w.series = series{every: every, n: int(r.scenario.Phases.Window / every), cluster: cluster, counted: loads.count}
	}
	return w
}

func admin(cluster *topology.Cluster, s *topology.Server) adminhttp.Client {
	return cluster.Client(s.Node().Admin)
}

// meters returns all meters in the order in which they start, stop and fill. Those that depend on
// the exact edge of the window come first, then those that ask the servers, and last those that may
// wait.
func (w *windowProbe) meters() []meter {
	return []meter{w.rates, &w.host, w.between, &w.scraper, &w.profiles, &w.counters, w.trace, &w.series}
}

// near is the hook shortly before the window. It prepares the meters in the background: the
// servers' counters are read over HTTP and the profiles are started, except CPU profiles. The hook
// start waits for both.
func (w *windowProbe) near(ctx context.Context) error {
	w.once.Do(func() {
		w.prepared = make(chan struct{})
		w.profiles.choose()
		go func() {
			defer close(w.prepared)
			for _, of := range w.meters() {
				if p, is := of.(preparedMeter); is && w.prepareErr == nil {
					w.prepareErr = p.prepare(ctx)
				}
			}
		}()
	})
	return nil
}

// mark returns the current time. If the generator is this process, it also returns the number of
// completed cycles.
func (w *windowProbe) mark() profile.Mark {
	if w.loads != nil {
		if own, is := w.loads.generator.(inProcess); is {
			c := own.count()
			return profile.Mark{At: c.at, Cycles: c.completed}
		}
	}
	return profile.Mark{At: time.Now()}
}

// start is the hook at the start of the window. It first reads the CPU clocks of all processes.
// Everything that must wait for an answer happens earlier, in prepare, or later.
func (w *windowProbe) start(ctx context.Context) error {
	if err := w.clocks.start(ctx); err != nil {
		return err
	}
	for _, of := range w.meters() {
		if err := of.start(ctx, w.clocks.span.From.At); err != nil {
			return err
		}
	}
	_ = w.near(ctx) // a load without a warm-up may not have called near
	<-w.prepared
	if w.prepareErr != nil {
		return w.prepareErr
	}
	return w.profiles.startCPU(ctx)
}

// end is the hook at the end of the window. Like start, it first reads the CPU clocks. If a server
// ended unplanned, end returns an error, which ends the round.
func (w *windowProbe) end(ctx context.Context) error {
	err := w.clocks.stop(ctx)
	for _, of := range w.meters() {
		if failure := w.cluster.Failure(); failure != nil {
			return failure
		}
		if err != nil {
			return err
		}
		err = of.stop(ctx)
	}
	return err
}

// abandon ends the meters of an aborted round. It discards their figures and errors.
func (w *windowProbe) abandon(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if w.prepared != nil {
		<-w.prepared
	}
	for _, of := range w.meters() {
		_ = of.stop(ctx)
	}
}

func (w *windowProbe) finish(m *measured) error {
	for _, of := range w.meters() {
		if err := of.fill(m); err != nil {
			return err
		}
	}
	return w.clocks.target.finish(m)
}

// generator returns the ID of the process that runs the load. Without a load it is this process.
func (w *windowProbe) generator() int {
	if w.loads == nil {
		return os.Getpid()
	}
	return w.loads.pid()
}

// spent adds the CPU usage of the generator and the servers to the round, and the storage and log
// usage of the servers. The cycles of the round must already be set.
func (w *windowProbe) spent(m *measured, loaded bool) error {
	if err := w.clocks.cores(m); err != nil {
		return err
	}
	w.counters.nodes(m, w.clocks.span, loaded)
	w.host.processes(m, w.clocks.client, w.counters.completed(m))
	if average, same := averageThink(w.workloads); same {
		m.round.CycleTime = &result.CycleTime{WorkMs: 1e3 * average.Seconds()}
	}
	w.counters.stages(m)
	w.counters.turns(m)
	w.counters.lossWindow(m)
	if !w.clocks.remote() {
		w.counters.stalls(m, w.clocks.span)
	}
	if !loaded {
		return nil
	}
	w.counters.storage(m)
	w.counters.raft(m)
	return w.clocks.perCycle(m)
}

// covered records the period that each figure of the round covers, and how many cycles were
// completed during each profile. The number of cycles in the window must already be set.
func (w *windowProbe) covered(m *measured, o *outcomes) {
	began := o.all[0].WindowStart
	add := func(of, node string, s profile.Span) uint64 {
		cycles := m.cyclesOf(s)
		m.round.Covered = append(m.round.Covered, result.Covered{
			Of: of, Node: node, FromS: s.From.At.Sub(began).Seconds(), ToS: s.To.At.Sub(began).Seconds(), Cycles: cycles,
		})
		return cycles
	}
	add(result.CoveredCPU, "", w.clocks.span)
	for _, s := range w.servers {
		if s.countersAfter != nil && !s.partial {
			add(result.CoveredCounters, s.server.ID, s.counters)
		}
	}
	w.profiles.covered(m, add)
}

// cyclesOf returns the number of cycles completed in a span. The cycles are not counted at the ends
// of the span if, for example, the generator is another process. cyclesOf then scales the window's
// number of cycles to the length of the span. If the span is empty, it returns the window's number
// of cycles.
func (m *measured) cyclesOf(s profile.Span) uint64 {
	switch passed := s.To.At.Sub(s.From.At).Seconds(); {
	case s.Cycles() > 0:
		return s.Cycles()
	case passed > 0 && m.round.WindowSeconds > 0:
		return uint64(float64(m.round.Cycles)*passed/m.round.WindowSeconds + 0.5)
	}
	return m.round.Cycles
}
