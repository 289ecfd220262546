package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/stream"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// measured is what one round yields.
type measured struct {
	round      result.Round
	histograms result.Histograms
	profiles   []result.Profile
	warnings   []string
	broken     bool // the server failed, or the load could not go on: no further round makes sense
	serverEnd  bool // why the server ended is among the reasons
	stopErr    error
}

func (m *measured) fault(verdict result.Verdict, reason string) {
	m.round.Verdict = result.Worst(m.round.Verdict, verdict)
	m.round.Reasons = append(m.round.Reasons, reason)
}

// round carries one round out on a topology of its own.
func (r *runner) round(ctx context.Context, number int, profiled bool) (m measured) {
	m.round = result.Round{
		Number: number, Profiled: profiled, Verdict: result.Pass, Started: time.Now(), Metrics: map[string]float64{},
	}
	node, err := topology.Start(ctx, topology.Config{
		Binary: r.options.Server, Dir: r.data, Topology: r.scenario.Topology,
		LogPath: r.folder.File(filepath.Join(logsDir, fmt.Sprintf("server-%02d.log", number))),
	})
	if err != nil {
		m.broken = true
		m.fault(serverFailed(err, false))
		return m
	}
	r.loadOn(ctx, node, &m)
	// Stopping must not be cut short by what ended the round: nothing may be left behind.
	m.stopErr = node.Stop(context.WithoutCancel(ctx))
	if m.stopErr != nil && !m.serverEnd {
		m.broken = true
		m.fault(serverFailed(m.stopErr, true))
	}
	return m
}

// loadOn puts the load on a running server and fills in what it measured.
func (r *runner) loadOn(ctx context.Context, node *topology.Node, m *measured) {
	account := load.NewLedger(uint64(r.result.Started.UnixNano())+uint64(m.round.Number), r.scenario.Workload)
	window := &windowProbe{runner: r, node: node, profiled: m.round.Profiled}
	outcome, err := r.load(ctx, node, account, window, m.round.Number)
	m.round.Ledger = account.Balance()
	if err == nil {
		err = window.finish(m)
	}
	if err != nil {
		window.abandon(ctx)
		m.breakOff(ctx, err, node)
		return
	}
	m.round.WindowSeconds = outcome.Window.Seconds()
	m.round.Cycles = outcome.Cycles
	m.histograms = result.Histograms{
		Enqueue: outcome.EnqueueLatency, Settle: outcome.SettleLatency, Cycle: outcome.CycleLatency,
	}
	if err := window.perCycle(m); err != nil {
		m.fault(result.Invalid, err.Error())
	}
	r.checkLedger(ctx, node, outcome, m)
	m.round.Derive(m.histograms)
}

// load opens the connections, runs the load, and closes them.
func (r *runner) load(ctx context.Context, node *topology.Node, account *ledger.Ledger, window *windowProbe, number int,
) (outcome *load.Outcome, err error) {
	var conns []driver.Conn
	defer func() {
		for _, c := range conns {
			if closeErr := c.Close(); closeErr != nil && err == nil {
				err = fmt.Errorf("close a connection: %w", closeErr)
			}
		}
	}()
	for range r.scenario.Workload.Connections {
		c, err := stream.Dial(driver.Target{Address: node.Address}, r.scenario.Workload.Lease)
		if err != nil {
			return nil, err
		}
		conns = append(conns, c)
	}
	return load.Run(ctx, load.Config{
		Workload: r.scenario.Workload, Phases: r.scenario.Phases, Conns: conns, Ledger: account,
		Hooks: load.Hooks{
			WindowStart: window.start, WindowEnd: window.end,
			Progress: func(p load.Progress) { r.progress.load(number, p) },
		},
	})
}

// exitWait is how long a broken connection may come before the news that the server ended.
const exitWait = 2 * time.Second

// breakOff says why a round's load ended early: the server's end explains a broken connection. Tasks that
// were under way are not lost, since nobody waited for them; tasks at fault are at fault all the same.
func (m *measured) breakOff(ctx context.Context, err error, node *topology.Node) {
	m.broken = true
	l := &m.round.Ledger
	l.Lost = 0
	l.Samples = slices.DeleteFunc(l.Samples, func(sample string) bool { return strings.HasPrefix(sample, "lost: ") })
	m.checkBalance()
	select {
	case <-node.Exited():
	case <-ctx.Done():
	case <-time.After(exitWait):
	}
	if exit := node.ExitError(); exit != nil {
		m.serverEnd = true
		m.fault(serverFailed(exit, true))
		return
	}
	m.fault(result.Invalid, "the load could not go on: "+err.Error())
}

// windowProbe reads both processes at the window's edges, and profiles the server in between.
type windowProbe struct {
	runner   *runner
	node     *topology.Node
	profiled bool

	session      *profile.Session
	serverBefore observe.Usage
	clientBefore observe.Usage
	server       observe.Spent
	client       observe.Spent
	warnings     []string
}

func (w *windowProbe) start(ctx context.Context) (err error) {
	if err := observe.ResetPeak(w.node.PID); err != nil {
		w.warnings = append(w.warnings, fmt.Sprintf("%s covers the warm-up too: %v", result.ServerRSSMBMax, err))
	}
	if w.profiled {
		w.session, err = profile.Start(ctx, w.node.Admin, w.runner.scenario.Captures, w.runner.scenario.Phases.Window)
		if err != nil {
			return fmt.Errorf("start the profiles: %w", err)
		}
	}
	if w.serverBefore, err = observe.Sample(w.node.PID); err != nil {
		return err
	}
	w.clientBefore, err = observe.Sample(os.Getpid())
	return err
}

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
	if w.session != nil {
		if err := w.session.Stop(ctx); err != nil {
			return fmt.Errorf("stop the profiles: %w", err)
		}
	}
	return nil
}

// abandon ends the profiles of a round that broke off. What that yields, an error included, is of no use.
func (w *windowProbe) abandon(ctx context.Context) {
	if w.session == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_ = w.session.Stop(ctx)
}

// finish reads the server's peak of memory and stores the profiles.
func (w *windowProbe) finish(m *measured) error {
	m.warnings = append(m.warnings, w.warnings...)
	peak, err := observe.PeakRSS(w.node.PID)
	if err != nil {
		return err
	}
	m.round.Metrics[result.ServerRSSMBMax] = float64(peak) / 1e6
	if w.session != nil {
		m.profiles, err = w.session.Write(w.runner.folder.Path(), "profiles")
	}
	return err
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
