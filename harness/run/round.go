package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// measured is the outcome of one round.
type measured struct {
	round      result.Round
	histograms result.Histograms // merged over all workloads

	ofWorkloads []result.WorkloadHistograms // one per workload if there are several; otherwise nil
	captured    []profile.Captured          // stored profiles
	warnings    []string
	broken      bool  // the server or the load failed, so no further round can be measured
	cause       error // the error that ended the load
	// before is the audit of the run's tenants before the round, for servers that ran before the
	// round.
	before    observe.Audit
	serverEnd bool // set if the reasons explain why the server ended
	stopErr   error
}

func (m *measured) fault(verdict result.Verdict, reason string) {
	m.round.Verdict = result.Worst(m.round.Verdict, verdict)
	m.round.Reasons = append(m.round.Reasons, reason)
}

// startTimeout bounds the time to start the servers. 0 selects the default of package topology.
// Tests set a longer timeout.
var startTimeout time.Duration

func (r *runner) round(ctx context.Context, p plannedRound) (m measured) {
	m.round = newRound(p)
	if len(r.scenario.Points) > 0 {
		m.round.Point = p.point + 1
	}
	if w := r.points[p.point].Workloads[0]; w.Driver != scenario.DriverK6 {
		defer useProcs(w.Procs)() // all workloads have the same number of procs
	}
	config := topology.Config{
		Binary: r.options.binary(r.points[p.point].Topology), Dir: r.data, Topology: r.points[p.point].Topology, Env: r.env,
		LogPath: r.folder.File(filepath.Join(logsDir, fmt.Sprintf("server-%02d.log", p.number))), StartTimeout: startTimeout,
	}
	between, err := r.startHosts(ctx, p, &config)
	if err != nil {
		m.broken = true
		m.fault(result.Invalid, err.Error())
		return m
	}
	defer func() { m.stopErr = errors.Join(m.stopErr, between.close()) }()
	faults := newInjection(r.scenario, &config)
	defer func() { m.stopErr = errors.Join(m.stopErr, faults.close()) }()
	cluster, err := topology.Start(ctx, config)
	if err != nil {
		m.broken = true
		m.fault(serverFailed(err, false))
		return m
	}
	r.recordServers(cluster, m.round.Point)
	target, err := r.launch(ctx, p)
	if err != nil {
		m.broken = true
		m.fault(result.Misconfigured, err.Error())
	} else if m.before, err = tasksBefore(ctx, cluster, r.points[p.point].Workloads); err != nil {
		m.broken = true
		m.fault(result.Misconfigured, err.Error())
	} else {
		loads := newLoads(r, cluster, p)
		loads.target = target
		r.loadOn(ctx, loads, p, faults, between, &m)
		r.calibrate(p, &m)
	}
	// If ctx is done, the round ends, but the servers must still be stopped: no process may remain.
	if targetErr := target.close(context.WithoutCancel(ctx)); targetErr != nil {
		m.stopErr = errors.Join(m.stopErr, targetErr)
		m.broken = true
		m.fault(result.Invalid, "the target's servers did not stop cleanly: "+targetErr.Error())
	}
	stopErr := cluster.Stop(context.WithoutCancel(ctx))
	m.stopErr = errors.Join(m.stopErr, stopErr)
	if stopErr != nil && !m.serverEnd {
		m.broken = true
		m.fault(serverFailed(stopErr, true))
	}
	return m
}

func newRound(p plannedRound) result.Round {
	return result.Round{
		Number: p.number, Profiled: p.kind == profiled, Calibration: p.kind == calibration,
		Verdict: result.Pass, Started: time.Now(), Metrics: map[string]float64{},
	}
}

// loadOn runs the load on running servers and stores its measurements in m.
func (r *runner) loadOn(ctx context.Context, loads *loads, p plannedRound, faults *injection, between *betweenHosts, m *measured) {
	cluster := loads.cluster
	window := newWindowProbe(r, cluster, loads, p)
	window.watchBetween(between)
	attackers, err := r.startAttack(cluster, p)
	if err != nil {
		m.fault(result.Invalid, err.Error())
		return
	}
	if attackers != nil {
		window.host.beside = append(window.host.beside, attackers.PID())
	}
	jobs, err := r.startRecurring(ctx, cluster, p)
	if err != nil {
		endAttack(attackers, m)
		m.breakOff(ctx, err, loads)
		return
	}
	defer func() { m.stopErr = errors.Join(m.stopErr, jobs.close()) }()
	if err := r.prefill(ctx, loads); err != nil {
		endAttack(attackers, m)
		m.breakOff(ctx, err, loads)
		return
	}
	window.rates = watchRates(r.scenario.Phases, loads.done)
	loads.steady = window.rates.settled
	window.trace.record(ctx, window.servers)
	whileAll, cancel := untilFailure(ctx, cluster)
	outcome, err := loads.run(whileAll, faults, window)
	cancel()
	endAttack(attackers, m)
	if err == nil {
		err = window.finish(m)
	}
	if err != nil {
		window.abandon(ctx)
		m.breakOff(ctx, err, loads)
		return
	}
	window.rates.took = outcome.warmup()
	if err := r.take(outcome, p, m); err != nil {
		m.fault(result.Invalid, err.Error())
	}
	window.covered(m, outcome)
	faults.score(outcome, m)
	if err := window.spent(m, loads.any()); err != nil {
		m.fault(result.Invalid, err.Error())
	}
	r.judgeHost(window, m)
	r.judgeBetween(window, m)
	r.judgeGenerator(window, m)
	if r.scenario.Backlog != nil && p.kind == timed && outcome.drained() && !loads.workloads[0].ClaimsAlone() {
		err := r.backlog(ctx, loads, m)
		var gone notRestartedError
		switch {
		case errors.As(err, &gone):
			m.broken, m.serverEnd, m.stopErr = true, true, err
			m.round.Ledger = withoutLost(loads.balance())
			m.fault(serverFailed(err, true))
			return
		case err != nil:
			m.breakOff(ctx, err, loads)
			return
		}
	}
	if loads.settle != nil {
		if err := loads.settle(ctx, m); err != nil {
			m.breakOff(ctx, err, loads)
			return
		}
	}
	jobs.judge(ctx, r.scenario.Phases.Drain, m)
	m.round.Ledger = loads.balance()
	loads.judge(outcome, m)
	m.judgeRole(outcome)
	m.judgeVolume(r.scenario.Phases)
	r.checkLedger(ctx, cluster, outcome, m)
	m.round.Derive(m.histograms)
}

// untilFailure returns a context that is cancelled when a server ends unplanned. Without it the
// load of a cluster might continue on the other servers.
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

// exitWait bounds the wait for the end of a server after a connection broke.
const exitWait = 2 * time.Second

// breakOff records why a round's load ended early. If a server has ended, its end is the reason,
// because it explains a broken connection. Tasks in flight do not count as lost, because the round
// did not wait for them. Other faults of tasks still count.
func (m *measured) breakOff(ctx context.Context, err error, loads *loads) {
	m.broken, m.cause = true, err
	cluster := loads.cluster
	m.round.Ledger = withoutLost(loads.balance())
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
	m.fault(brokenOff(err))
}

// brokenOff returns the verdict and the reason for a load that ended early. If a k6 script cannot
// run or ends early, the round is misconfigured. If the script's thresholds failed, its target
// regressed.
func brokenOff(err error) (result.Verdict, string) {
	var script *k6run.Error
	switch {
	case errors.As(err, &script) && script.Thresholds != "":
		return result.Regressed, err.Error()
	case errors.As(err, &script):
		return result.Misconfigured, err.Error()
	}
	return result.Invalid, "the load failed: " + err.Error()
}

// withoutLost returns the balance of a round that did not wait for all of its tasks. It differs
// from l in that no task is lost.
func withoutLost(l result.Ledger) result.Ledger {
	l.Lost = 0
	l.Samples = slices.DeleteFunc(slices.Clone(l.Samples), func(sample string) bool { return strings.Contains(sample, "lost: ") })
	return l
}
