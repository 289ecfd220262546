package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// windowProbe reads all processes at the edges of the window. During the window it samples and
// profiles the servers.
type windowProbe struct {
	scenario *scenario.Scenario
	folder   *result.Folder
	cluster  *topology.Cluster
	servers  []*serverProbe
	target   *targetProbe // nil if the round runs on Prony's own servers
	loads    *loads
	kind     kind
	topology string // kind of the topology
	// beside contains processes of the run that are neither generator nor server: attackers, and
	// the forwarder between hosts. Their CPU time must not count as foreign load.
	beside []int
	point  int // number of the point; 0 without a sweep

	once       sync.Once
	prepared   chan struct{} // closed when prepare has returned; nil until near is called
	prepareErr error
	profiled   []*profiledProcess // empty unless the window takes profiles
	clocks     profile.Span       // period that the CPU figures cover

	series       *series // nil without a series
	observe      *scenario.Observe
	workloads    []scenario.Workload
	scraper      *scraper    // nil if no metrics are read during the window
	rates        *steadiness // nil if the rate of the round is not sampled
	host         *hostWatch  // nil until the window starts
	others       *remoteWatch
	hostRoot     string
	trace        *traceProbe
	between      *betweenHosts // nil if the nodes have no separate hosts
	clientBefore observe.Usage
	server       observe.Spent // sum of all servers
	client       observe.Spent
	// leader of each shard at the start of the window; names are "" for a single server
	ledBefore []string
	ledAfter  []string
	samples   []result.Sample
	warnings  []string
}

func newWindowProbe(r *runner, cluster *topology.Cluster, loads *loads, p plannedRound) *windowProbe {
	w := &windowProbe{scenario: r.scenario, folder: r.folder, cluster: cluster, loads: loads, kind: p.kind, hostRoot: r.options.hostRoot, topology: r.points[p.point].Topology.Kind}
	w.trace = newTraceProbe(r.scenario, p.kind, p.number, r.folder)
	if loads != nil {
		w.target = newTargetProbe(loads.target)
		loads.slow = w.trace.watch()
	}
	w.observe, w.workloads = r.points[p.point].Observe, r.points[p.point].Workloads
	if len(r.scenario.Points) > 0 {
		w.point = p.point + 1
	}
	for _, s := range cluster.Servers() {
		w.servers = append(w.servers, &serverProbe{server: s, admin: admin(cluster, s)})
	}
	return w
}

func admin(cluster *topology.Cluster, s *topology.Server) adminhttp.Client {
	return cluster.Client(s.Node().Admin)
}

func (w *windowProbe) each(do func(*serverProbe) error) error {
	errs := make([]error, len(w.servers))
	var all sync.WaitGroup
	for i, s := range w.servers {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// near is the hook shortly before the window. In the background it starts to read the servers'
// counters over HTTP and to start the profiles, except CPU profiles. The hook start waits for both.
func (w *windowProbe) near(ctx context.Context) error {
	w.once.Do(func() {
		w.prepared, w.profiled = make(chan struct{}), w.toProfile()
		go func() {
			defer close(w.prepared)
			w.prepareErr = w.prepare(ctx)
		}()
	})
	return nil
}

func (w *windowProbe) prepare(ctx context.Context) (err error) {
	if err := w.startProfiles(ctx); err != nil {
		return err
	}
	if w.ledBefore, err = w.cluster.Leaders(ctx); err != nil {
		return err
	}
	return w.each(func(s *serverProbe) error { return s.scrapeBefore(ctx, w.mark) })
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
func (w *windowProbe) start(ctx context.Context) (err error) {
	if err := w.readClocks(&w.clientBefore, func(s *serverProbe) error { return s.sampleBefore(ctx) }); err != nil {
		return err
	}
	if err := w.target.start(); err != nil {
		return err
	}
	w.clocks.From = w.mark()
	began := w.clocks.From.At
	w.trace.windowBegins(began)
	w.rates.windowBegins()
	w.host = watchHost(w.hostRoot, w.cluster.Servers(), w.targetServers(), w.generator(), w.beside...)
	if err := w.between.windowBegins(); err != nil {
		return err
	}
	w.others = watchRemote(ctx, w.servers, w.host.each)
	for _, s := range w.servers {
		s.resetPeak()
	}
	if w.kind == timed && w.scenario.SeriesEvery > 0 {
		w.series = startSeries(ctx, began, w.scenario.SeriesEvery, int(w.scenario.Phases.Window/w.scenario.SeriesEvery), w.cluster, w.loads.count)
	}
	if w.observes() && w.observe.Scrape > 0 {
		w.scraper = startScraper(ctx, began, w.observe.Scrape, w.cluster)
	}
	_ = w.near(ctx) // a load without a warm-up may not have called near
	<-w.prepared
	if w.prepareErr != nil {
		return w.prepareErr
	}
	return w.startCPUProfiles(ctx)
}

func (w *windowProbe) readClocks(client *observe.Usage, server func(*serverProbe) error) (err error) {
	if w.remote() { // each read is a request over the network
		err = w.each(server)
		return errors.Join(err, w.readGenerator(client))
	}
	for _, s := range w.servers {
		if err := server(s); err != nil {
			return err
		}
	}
	return w.readGenerator(client)
}

func (w *windowProbe) readGenerator(client *observe.Usage) (err error) {
	*client, err = observe.Sample(w.generator())
	return err
}

// end is the hook at the end of the window. Like start, it first reads the CPU clocks. If a server
// ended unplanned, end returns an error, which ends the round.
func (w *windowProbe) end(ctx context.Context) error {
	var client observe.Usage
	clocksErr := w.readClocks(&client, func(s *serverProbe) error { return s.sampleAfter(ctx) })
	clocksErr = errors.Join(clocksErr, w.target.end())
	w.clocks.To = w.mark()
	w.rates.windowEnds()
	w.host.stop()
	w.others.stop()
	if err := w.cluster.Failure(); err != nil {
		return err
	}
	if err := w.between.windowEnds(); err != nil {
		return err
	}
	if clocksErr != nil {
		return clocksErr
	}
	for i, s := range w.servers {
		if i == 0 {
			w.server = s.spent
		} else {
			w.server = w.server.Plus(s.spent)
		}
	}
	w.client = client.Since(w.clientBefore)
	if w.target != nil {
		w.server, w.client = w.target.spent, w.client.Plus(w.target.program)
	}
	if _, err := w.scraper.stop(); err != nil {
		return err
	}
	if err := w.stopProfiles(ctx); err != nil {
		return err
	}
	if err := w.each(func(s *serverProbe) error { return s.scrapeAfter(ctx, w.cluster, w.mark) }); err != nil {
		return err
	}
	var err error
	if w.ledAfter, err = w.cluster.Leaders(ctx); err != nil {
		return err
	}
	w.trace.stop(ctx)
	if w.series != nil {
		w.samples, err = w.series.stop(ctx)
	}
	return err
}

// abandon ends the probes of an aborted round. It discards their figures and errors.
func (w *windowProbe) abandon(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	w.rates.stop()
	w.host.stop()
	w.others.stop()
	if w.prepared != nil {
		<-w.prepared
	}
	_ = w.stopProfiles(ctx)
	_, _ = w.scraper.stop()
	if w.series != nil {
		_, _ = w.series.stop(ctx)
	}
	w.trace.stop(ctx)
}

func (w *windowProbe) finish(m *measured) error {
	m.warnings = append(m.warnings, w.warnings...)
	var peak uint64
	for i, s := range w.servers {
		if s.server.Node().Remote {
			s.readRemotePeak(w.host.each[i])
		} else if err := s.readPeak(); err != nil {
			return err
		}
		peak += s.peak
		m.warnings = append(m.warnings, s.warnings...)
	}
	if len(w.servers) > 0 && w.peaksKnown() {
		m.round.Metrics[result.ServerRSSMBMax] = float64(peak) / 1e6
	}
	if err := w.target.finish(m); err != nil {
		return err
	}
	m.round.Series = w.samples
	w.observed(m)
	if w.trace != nil {
		m.round.Traces = w.trace.traces
		m.warnings = append(m.warnings, w.trace.warnings...)
	}
	return w.writeProfiles(m)
}

func (w *windowProbe) targetServers() *targetServers {
	if w.loads == nil {
		return nil
	}
	return w.loads.target
}

// generator returns the ID of the process that runs the load. Without a load it is this process.
func (w *windowProbe) generator() int {
	if w.loads == nil {
		return os.Getpid()
	}
	return w.loads.pid()
}

// separate reports whether the servers and the generator are different processes.
func (w *windowProbe) separate() bool {
	return len(w.servers) > 0 && w.topology != scenario.Embedded || w.target.separate()
}

// spent adds the CPU usage of the generator and the servers to the round, and the storage and log
// usage of the servers.
func (w *windowProbe) spent(m *measured, loaded bool) error {
	if w.separate() && w.cpuKnown() {
		cores, err := w.server.Cores()
		if err != nil {
			return err
		}
		m.round.Metrics[result.ServerCPUCores] = cores
	}
	w.nodes(m, loaded)
	w.processes(m)
	w.stages(m)
	w.turns(m)
	w.lossWindow(m)
	w.stalls(m)
	if !loaded {
		return nil
	}
	w.storage(m)
	w.raft(m)
	return w.perCycle(m)
}

// perCycle adds the CPU time per cycle of the generator and of the servers. If no server has a
// separate process, it adds only the CPU time of the generator's process.
func (w *windowProbe) perCycle(m *measured) error {
	cycles := m.cyclesOf(w.clocks)
	if !w.separate() {
		us, err := w.client.CPUMicrosecondsPer(cycles)
		if err != nil {
			return fmt.Errorf("no CPU time per cycle: %w", err)
		}
		m.round.Metrics[result.CPUUsPerCycle] = us
		return nil
	}
	client, clientErr := w.client.CPUMicrosecondsPer(cycles)
	if !w.cpuKnown() {
		m.round.Metrics[result.ClientCPUUsPerCycle] = client
		return clientErr
	}
	server, serverErr := w.server.CPUMicrosecondsPer(cycles)
	if err := errors.Join(serverErr, clientErr); err != nil {
		return fmt.Errorf("no CPU time per cycle: %w", err)
	}
	m.round.Metrics[result.ServerCPUUsPerCycle] = server
	m.round.Metrics[result.ClientCPUUsPerCycle] = client
	return nil
}
