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

// windowProbe reads all processes at the window's edges, samples the servers in between, and profiles them.
type windowProbe struct {
	scenario *scenario.Scenario
	folder   *result.Folder
	cluster  *topology.Cluster
	servers  []*serverProbe
	loads    *loads
	kind     kind
	topology string // its kind
	// attackers are the processes that attack the servers. They belong to the run: their CPU time is not foreign load.
	attackers []int
	point     int // its number, 0 without a sweep

	series       *series     // nil without a series
	rates        *steadiness // nil in rounds without a rate
	host         *hostWatch  // nil before the window
	hostRoot     string
	trace        *traceProbe
	clientBefore observe.Usage
	server       observe.Spent // all servers together
	client       observe.Spent
	ledBefore    []string // the node that led each shard; empty names of a server that stands alone
	ledAfter     []string
	samples      []result.Sample
	warnings     []string
}

func newWindowProbe(r *runner, cluster *topology.Cluster, loads *loads, p plannedRound) *windowProbe {
	w := &windowProbe{scenario: r.scenario, folder: r.folder, cluster: cluster, loads: loads, kind: p.kind, hostRoot: r.options.hostRoot, topology: r.points[p.point].Topology.Kind}
	w.trace = newTraceProbe(r.scenario, p.kind, p.number, r.folder)
	if loads != nil {
		loads.slow = w.trace.watch()
	}
	if len(r.scenario.Points) > 0 {
		w.point = p.point + 1
	}
	for _, s := range cluster.Servers() {
		w.servers = append(w.servers, &serverProbe{server: s, admin: admin(cluster, s)})
	}
	return w
}

// admin returns the client of the admin listener of a server's current process.
func admin(cluster *topology.Cluster, s *topology.Server) adminhttp.Client {
	return adminhttp.Client{Address: s.Node().Admin, Token: cluster.Token}
}

// each calls do for all servers concurrently, and returns all errors.
func (w *windowProbe) each(do func(*serverProbe) error) error {
	errs := make([]error, len(w.servers))
	var all sync.WaitGroup
	for i, s := range w.servers {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// start is the hook at the window's start. It reads the usage of the servers last, so that the usage includes none of its calls.
func (w *windowProbe) start(ctx context.Context) (err error) {
	began := time.Now()
	w.trace.windowBegins(began)
	w.rates.windowBegins()
	for _, s := range w.servers {
		s.resetPeak()
	}
	if w.kind == profiled {
		if err := w.each(func(s *serverProbe) error { return s.profile(ctx, w.scenario) }); err != nil {
			return fmt.Errorf("start the profiles: %w", err)
		}
	}
	if w.ledBefore, err = w.cluster.Leaders(ctx); err != nil {
		return err
	}
	if err := w.each(func(s *serverProbe) error { return s.scrapeBefore(ctx) }); err != nil {
		return err
	}
	if w.kind == timed && w.scenario.SeriesEvery > 0 {
		w.series = startSeries(ctx, began, w.scenario.SeriesEvery, int(w.scenario.Phases.Window/w.scenario.SeriesEvery), w.cluster, w.loads.count)
	}
	for _, s := range w.servers {
		if err := s.sampleBefore(); err != nil {
			return err
		}
	}
	w.host = watchHost(w.hostRoot, w.cluster.Servers(), w.generator(), w.attackers...)
	w.clientBefore, err = observe.Sample(w.generator())
	return err
}

// end is the hook at the window's end. It reads the usage of the servers first. A server that ended by itself ends the round.
func (w *windowProbe) end(ctx context.Context) error {
	if err := w.cluster.Failure(); err != nil {
		return err
	}
	w.rates.windowEnds()
	w.host.stop()
	for i, s := range w.servers {
		if err := s.sampleAfter(); err != nil {
			return err
		}
		if i == 0 {
			w.server = s.spent
		} else {
			w.server = w.server.Plus(s.spent)
		}
	}
	client, err := observe.Sample(w.generator())
	if err != nil {
		return err
	}
	w.client = client.Since(w.clientBefore)
	w.trace.stop(ctx)
	if w.series != nil {
		if w.samples, err = w.series.stop(ctx); err != nil {
			return err
		}
	}
	if err := w.each(func(s *serverProbe) error { return s.scrapeAfter(ctx, w.cluster) }); err != nil {
		return err
	}
	if w.ledAfter, err = w.cluster.Leaders(ctx); err != nil {
		return err
	}
	return w.each(func(s *serverProbe) error {
		if s.session == nil {
			return nil
		}
		if err := s.session.Stop(ctx); err != nil {
			return fmt.Errorf("stop the profiles: %w", err)
		}
		return nil
	})
}

// abandon ends the probes of a round that was aborted. Their figures and errors are of no use.
func (w *windowProbe) abandon(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	w.rates.stop()
	w.host.stop()
	for _, s := range w.servers {
		if s.session != nil {
			_ = s.session.Stop(ctx)
		}
	}
	if w.series != nil {
		_, _ = w.series.stop(ctx)
	}
	w.trace.stop(ctx)
}

// finish reads the servers' peaks of memory, and stores the profiles.
func (w *windowProbe) finish(m *measured) error {
	m.warnings = append(m.warnings, w.warnings...)
	var peak uint64
	for _, s := range w.servers {
		if err := s.readPeak(); err != nil {
			return err
		}
		peak += s.peak
		m.warnings = append(m.warnings, s.warnings...)
	}
	if len(w.servers) > 0 {
		m.round.Metrics[result.ServerRSSMBMax] = float64(peak) / 1e6
	}
	m.round.Series = w.samples
	if w.trace != nil {
		m.round.Traces = w.trace.traces
		m.warnings = append(m.warnings, w.trace.warnings...)
	}
	for _, s := range w.servers {
		if s.session == nil {
			continue
		}
		of := profile.Source{Round: m.round.Number, Point: w.point, Node: s.server.ID}
		if _, err := s.session.Write(w.folder.Path(), of.Dir()); err != nil {
			return err
		}
		m.captured = append(m.captured, of)
	}
	return nil
}

// generator returns the process that puts the load on the servers, or this process without a load.
func (w *windowProbe) generator() int {
	if w.loads == nil {
		return os.Getpid()
	}
	return w.loads.pid()
}

// separate reports whether servers run in processes separate from the generator.
func (w *windowProbe) separate() bool {
	return len(w.servers) > 0 && w.topology != scenario.Embedded
}

// spent adds the CPU usage of both sides and the storage and log usage of the servers.
func (w *windowProbe) spent(m *measured, loaded bool) error {
	if w.separate() {
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
	if !loaded {
		return nil
	}
	w.storage(m)
	w.raft(m)
	return w.perCycle(m)
}

// perCycle adds the CPU time per cycle of generator and servers. If no server has a process of its own, it adds that of the
// generator's process only.
func (w *windowProbe) perCycle(m *measured) error {
	if !w.separate() {
		us, err := w.client.CPUMicrosecondsPer(m.round.Cycles)
		if err != nil {
			return fmt.Errorf("no CPU time per cycle: %w", err)
		}
		m.round.Metrics[result.CPUUsPerCycle] = us
		return nil
	}
	server, serverErr := w.server.CPUMicrosecondsPer(m.round.Cycles)
	client, clientErr := w.client.CPUMicrosecondsPer(m.round.Cycles)
	if err := errors.Join(serverErr, clientErr); err != nil {
		return fmt.Errorf("no CPU time per cycle: %w", err)
	}
	m.round.Metrics[result.ServerCPUUsPerCycle] = server
	m.round.Metrics[result.ClientCPUUsPerCycle] = client
	return nil
}
