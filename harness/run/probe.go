package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// windowProbe reads both processes at the window's edges, samples the server in between, and profiles it.
type windowProbe struct {
	scenario *scenario.Scenario
	folder   *result.Folder
	node     *topology.Node
	account  *ledger.Ledger
	kind     kind
	point    int // its number, 0 without a sweep

	session        *profile.Session
	series         *series // nil where none is wanted
	serverBefore   observe.Usage
	clientBefore   observe.Usage
	server         observe.Spent
	client         observe.Spent
	countersBefore map[string]float64
	countersAfter  map[string]float64
	samples        []result.Sample
	warnings       []string
}

func admin(node *topology.Node) observe.Admin {
	return observe.Admin{Address: node.Admin, Token: node.Token}
}

// start comes at the window's start. What it asks of the server is done before it reads what the server has used.
func (w *windowProbe) start(ctx context.Context) (err error) {
	began := time.Now()
	if err := observe.ResetPeak(w.node.PID); err != nil {
		w.warnings = append(w.warnings, fmt.Sprintf("%s covers the warm-up too: %v", result.ServerRSSMBMax, err))
	}
	if w.kind == profiled {
		w.session, err = profile.Start(ctx, admin(w.node), w.scenario.Captures, w.scenario.Phases.Window)
		if err != nil {
			return fmt.Errorf("start the profiles: %w", err)
		}
	}
	if w.countersBefore, err = observe.Scrape(ctx, admin(w.node)); err != nil {
		return err
	}
	if w.kind == timed && w.scenario.SeriesEvery > 0 {
		w.series = startSeries(ctx, began, w.scenario.SeriesEvery, int(w.scenario.Phases.Window/w.scenario.SeriesEvery), w.node, w.account)
	}
	if w.serverBefore, err = observe.Sample(w.node.PID); err != nil {
		return err
	}
	w.clientBefore, err = observe.Sample(os.Getpid())
	return err
}

// end comes at the window's end, and reads first what both have used.
func (w *windowProbe) end(ctx context.Context) error {
	server, err := observe.Sample(w.node.PID)
	if err != nil {
		return err
	}
	client, err := observe.Sample(os.Getpid())
	if err != nil {
		return err
	}
	w.server, w.client = server.Since(w.serverBefore), client.Since(w.clientBefore)
	if w.series != nil {
		if w.samples, err = w.series.stop(ctx); err != nil {
			return err
		}
	}
	if w.countersAfter, err = observe.Scrape(ctx, admin(w.node)); err != nil {
		return err
	}
	if w.session != nil {
		if err := w.session.Stop(ctx); err != nil {
			return fmt.Errorf("stop the profiles: %w", err)
		}
	}
	return nil
}

// abandon ends what a round that broke off had begun. What that yields, an error included, is of no use.
func (w *windowProbe) abandon(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if w.session != nil {
		_ = w.session.Stop(ctx)
	}
	if w.series != nil {
		_, _ = w.series.stop(ctx)
	}
}

// finish reads the server's peak of memory, and stores the profiles.
func (w *windowProbe) finish(m *measured) error {
	m.warnings = append(m.warnings, w.warnings...)
	peak, err := observe.PeakRSS(w.node.PID)
	if err != nil {
		return err
	}
	m.round.Metrics[result.ServerRSSMBMax] = float64(peak) / 1e6
	m.round.Series = w.samples
	if w.session != nil {
		m.profiles, err = w.session.Write(w.folder.Path(), path.Join("profiles", pointFolder(w.point)))
		for i := range m.profiles {
			m.profiles[i].Point = w.point
		}
	}
	return err
}

// pointFolder is where a point's profiles lie; without a sweep there is no such folder.
func pointFolder(point int) string {
	if point == 0 {
		return ""
	}
	return "point-" + strconv.Itoa(point)
}

// spent fills in what both sides used of their CPUs, and the server of its store.
func (w *windowProbe) spent(m *measured, loaded bool) error {
	cores, err := w.server.Cores()
	if err != nil {
		return err
	}
	m.round.Metrics[result.ServerCPUCores] = cores
	if !loaded {
		return nil
	}
	w.storage(m)
	return w.perCycle(m)
}

// perCycle divides the CPU time of both sides by the window's cycles.
func (w *windowProbe) perCycle(m *measured) error {
	server, serverErr := w.server.CPUMicrosecondsPer(m.round.Cycles)
	client, clientErr := w.client.CPUMicrosecondsPer(m.round.Cycles)
	if err := errors.Join(serverErr, clientErr); err != nil {
		return fmt.Errorf("no CPU time per cycle: %w", err)
	}
	m.round.Metrics[result.ServerCPUUsPerCycle] = server
	m.round.Metrics[result.ClientCPUUsPerCycle] = client
	return nil
}

// completedCounter counts, over the queues, the tasks that the server completed.
const completedCounter = "prony_queue_completed_total"

// storage divides what the server did with its store by the tasks that it completed meanwhile. It takes the server's own
// count of these, since both were read at once; the window's edges are a little apart from that. A server that does not
// count what it does with its store has no such figures.
func (w *windowProbe) storage(m *measured) {
	delta := func(counter string) (float64, bool) {
		after, there := w.countersAfter[counter]
		return after - w.countersBefore[counter], there
	}
	cycles, counted := delta(completedCounter)
	if !counted {
		cycles = float64(m.round.Cycles)
	}
	if cycles <= 0 {
		return
	}
	for counter, metric := range map[string]string{
		"prony_storage_sets_total":    result.StorageSetsPerCycle,
		"prony_storage_gets_total":    result.StorageGetsPerCycle,
		"prony_storage_deletes_total": result.StorageDeletesPerCycle,
	} {
		if operations, there := delta(counter); there {
			m.round.Metrics[metric] = operations / cycles
		}
	}
}
