package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
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
func (r *runner) round(ctx context.Context, p plannedRound) (m measured) {
	m.round = result.Round{
		Number: p.number, Profiled: p.kind == profiled, Calibration: p.kind == calibration,
		Verdict: result.Pass, Started: time.Now(), Metrics: map[string]float64{},
	}
	if len(r.scenario.Points) > 0 {
		m.round.Point = p.point + 1
	}
	w := r.workload(p)
	defer useProcs(w.Procs)()
	config := topology.Config{
		Binary: r.options.Server, Dir: r.data, Topology: r.points[p.point].Topology,
		LogPath: r.folder.File(filepath.Join(logsDir, fmt.Sprintf("server-%02d.log", p.number))),
	}
	harm, err := newHarm(r.scenario, &config)
	if err == nil {
		defer func() { m.stopErr = errors.Join(m.stopErr, harm.close()) }()
	}
	var cluster *topology.Cluster
	if err == nil {
		cluster, err = topology.Start(ctx, config)
	}
	if err != nil {
		m.broken = true
		m.fault(serverFailed(err, false))
		return m
	}
	r.loadOn(ctx, cluster, p, w, harm, &m)
	r.calibrate(p, &m)
	// Stopping must not be cut short by what ended the round: nothing may be left behind.
	stopErr := cluster.Stop(context.WithoutCancel(ctx))
	m.stopErr = errors.Join(m.stopErr, stopErr)
	if stopErr != nil && !m.serverEnd {
		m.broken = true
		m.fault(serverFailed(stopErr, true))
	}
	return m
}

// loadOn puts the load on running servers and fills in what it measured.
func (r *runner) loadOn(ctx context.Context, cluster *topology.Cluster, p plannedRound, w scenario.Workload, harm *harm, m *measured) {
	account := load.NewLedger(uint64(r.result.Started.UnixNano())+uint64(m.round.Number), w)
	window := newWindowProbe(r, cluster, account, p)
	outcome, err := stage(r, cluster, account, w, m.round.Number, func(cfg load.Config) (*load.Outcome, error) {
		cfg.Hooks.WindowStart, cfg.Hooks.WindowEnd = window.start, window.end
		whileAll, cancel := untilFailure(ctx, cluster)
		defer cancel()
		return harm.load(whileAll, cfg, cluster)
	})
	if err == nil {
		err = window.finish(m)
	}
	if err != nil {
		window.abandon(ctx)
		m.breakOff(ctx, err, cluster, account)
		return
	}
	r.take(outcome, p, m)
	harm.score(outcome, m)
	if err := window.spent(m, w.Arrivals.Kind != scenario.None); err != nil {
		m.fault(result.Invalid, err.Error())
	}
	if r.scenario.Backlog != nil && p.kind == timed && outcome.Drained {
		err := r.backlog(ctx, cluster, account, w, m)
		var gone notRestartedError
		switch {
		case errors.As(err, &gone):
			m.broken, m.serverEnd, m.stopErr = true, true, err
			m.round.Ledger = withoutLost(account)
			m.fault(serverFailed(err, true))
			return
		case err != nil:
			m.breakOff(ctx, err, cluster, account)
			return
		}
	}
	m.round.Ledger = account.Balance()
	r.checkLedger(ctx, cluster, outcome, m)
	m.round.Derive(m.histograms)
}

// untilFailure is a context that ends when a server has ended by itself: the load of a cluster might go on without it.
func untilFailure(ctx context.Context, cluster *topology.Cluster) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-cluster.Failed():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// take fills in what the load of the window measured.
func (r *runner) take(o *load.Outcome, p plannedRound, m *measured) {
	m.round.WindowSeconds = o.Window.Seconds()
	m.round.Cycles = o.Cycles
	m.histograms = result.Histograms{Enqueue: o.EnqueueLatency, Settle: o.SettleLatency, Cycle: o.CycleLatency}
	a := o.Open
	if a == nil {
		return
	}
	m.histograms.Slip, m.histograms.Service = a.Slip, a.Service
	m.round.Arrivals = &result.Arrivals{
		PerSecond: a.PerSecond, PeakPerSecond: r.peaks[p.point],
		Scheduled: a.Scheduled, Finished: a.Finished, Unfinished: a.Unfinished, Unsent: a.Unsent,
		Shed: a.Shed, Refused: a.Refused, Held: a.Held,
	}
	if slip := time.Duration(a.Slip.ValueAtPercentile(99)); slip > r.options.slipMax {
		m.fault(result.Invalid, fmt.Sprintf("the generator did not keep up with its schedule: it sent one in a hundred tasks"+
			" %v late or more, through its own fault; up to %v is sound", slip.Round(10*time.Microsecond), r.options.slipMax))
	}
}

// exitWait is how long a broken connection may come before the news that the server ended.
const exitWait = 2 * time.Second

// breakOff says why a round's load ended early: the server's end explains a broken connection. Tasks that
// were under way are not lost, since nobody waited for them; tasks at fault are at fault all the same.
func (m *measured) breakOff(ctx context.Context, err error, cluster *topology.Cluster, account *ledger.Ledger) {
	m.broken = true
	m.round.Ledger = withoutLost(account)
	m.checkBalance()
	select {
	case <-cluster.Failed():
	case <-ctx.Done():
	case <-time.After(exitWait):
	}
	if exit := cluster.Failure(); exit != nil {
		m.serverEnd = true
		m.fault(serverFailed(exit, true))
		return
	}
	m.fault(result.Invalid, "the load could not go on: "+err.Error())
}

// withoutLost is the balance of a round that ended early.
func withoutLost(account *ledger.Ledger) result.Ledger {
	l := account.Balance()
	l.Lost = 0
	l.Samples = slices.DeleteFunc(l.Samples, func(sample string) bool { return strings.HasPrefix(sample, "lost: ") })
	return l
}
