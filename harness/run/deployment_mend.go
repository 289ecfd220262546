package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/audit"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

const (
	// revivalsMax bounds how often servers are started again while a window drains.
	revivalsMax = 5
	// emptyQuiet is the time between two looks that must both find nothing on the servers: an enqueue that was under way when its
	// caller died may take effect in between.
	emptyQuiet = 500 * time.Millisecond
)

// ServerEnd is the unplanned end of a server, and its next start.
type ServerEnd struct {
	Node   string        `json:"node"` // "" of a server that stands alone
	Ended  time.Time     `json:"ended"`
	Down   time.Duration `json:"down_ns"` // until it was ready again
	Killed bool          `json:"killed"`  // by SIGKILL, which comes from another process or the kernel
	Status string        `json:"status"`  // "exit status 2", "signal: killed"
	Lines  []string      `json:"lines"`   // the last ones of its log
}

// revive starts servers again that have ended, and notes those that ended by themselves.
func (d *Deployment) revive(ctx context.Context, w *DeploymentWindow) error {
	if d.cluster.Failure() == nil && !slices.ContainsFunc(d.cluster.Servers(), func(s *topology.Server) bool { return !s.Running() }) {
		return nil
	}
	d.warm = false
	revived, err := d.cluster.Revive(ctx)
	for _, r := range revived {
		w.Ends = append(w.Ends, ServerEnd{Node: r.Server, Ended: r.Ended, Down: r.Down, Killed: r.Killed, Status: r.Failure.Status, Lines: r.Failure.Lines})
	}
	return err
}

// settle sees to it that nothing of a window comes later, where the outcome of some of its tasks is not known.
func (d *Deployment) settle(ctx context.Context, loads *loads, m *measured) error {
	if !slices.ContainsFunc(loads.accounts, func(a *ledger.Ledger) bool { return a.Totals().Outstanding > 0 }) {
		return nil
	}
	ctx, cancel := untilFailure(ctx, d.cluster)
	defer cancel()
	left, err := d.drain(ctx, loads)
	m.faultLeft(left)
	return err
}

// faultLeft judges what the servers still hold after a window.
func (m *measured) faultLeft(tasks uint64) {
	if tasks > 0 {
		m.fault(result.Incorrect, fmt.Sprintf("the servers still hold %d tasks that no worker got", tasks))
	}
}

// mend closes the account of a window that was cut short: it starts the servers again and drains what is left.
func (d *Deployment) mend(ctx context.Context, loads *loads, m *measured, w *DeploymentWindow) error {
	before := len(w.Ends)
	left, err := d.drainThrough(ctx, loads, w)
	if err != nil {
		return err
	}
	broken := newRound(plannedRound{number: m.round.Number})
	broken.Started, broken.Faults = m.round.Started, m.round.Faults
	m.round, m.histograms, m.ofWorkloads = broken, result.Histograms{}, nil
	m.faultLeft(left)
	m.round.Ledger = loads.balance()
	m.checkBalance()
	if slices.Contains(loads.runner.scenario.Invariants, scenario.Invariant{Kind: "conserved"}) {
		loads.runner.checkConserved(ctx, d.cluster, m)
	}
	for _, end := range w.Ends[before:] {
		verdict := result.Incorrect
		if end.Killed {
			verdict = result.Invalid
		}
		m.fault(verdict, fmt.Sprintf("server %q ended by itself, and was ready again after %v: %s", end.Node, end.Down.Round(time.Millisecond), end.Status))
	}
	if len(w.Ends) == before {
		m.fault(brokenOff(m.cause))
	}
	return nil
}

// drainThrough drains what is left on the servers, and starts those again that end meanwhile.
func (d *Deployment) drainThrough(ctx context.Context, loads *loads, w *DeploymentWindow) (left uint64, err error) {
	for range revivalsMax {
		if err := d.revive(ctx, w); err != nil {
			return 0, err
		}
		running, cancel := untilFailure(ctx, d.cluster)
		left, err = d.drain(running, loads)
		cancel()
		if err == nil || ctx.Err() != nil {
			return left, err
		}
		select { // a broken connection may be known before the end of its server
		case <-d.cluster.Failed():
		case <-ctx.Done():
		case <-time.After(exitWait):
			return left, err
		}
	}
	return left, fmt.Errorf("servers ended %d times while the window drained: %w", revivalsMax, err)
}

// drain claims and completes all that the servers hold. It returns how many tasks are left when the time is up: that of a drain, and that
// of a lease, which a worker may have that is gone.
func (d *Deployment) drain(ctx context.Context, loads *loads) (left uint64, err error) {
	lease := slices.MaxFunc(loads.workloads, func(a, b scenario.Workload) int { return int(a.Lease - b.Lease) }).Lease
	deadline := time.Now().Add(loads.runner.scenario.Phases.Drain + lease)
	empty := false
	for {
		counts, err := audit.Read(ctx, d.cluster)
		if err != nil {
			return 0, err
		}
		left = counts.Deliverable()
		switch {
		case left == 0 && empty, left > 0 && time.Now().After(deadline):
			return left, nil
		case left > 0:
			_, err := stage(ctx, loads, func(cfgs []load.Config) (struct{}, error) {
				for _, cfg := range cfgs {
					cfg.Persist = true // what is in doubt may not be there
					if _, err := load.Drain(ctx, cfg, max(time.Until(deadline), time.Second)); err != nil {
						return struct{}{}, err
					}
				}
				return struct{}{}, nil
			})
			if err != nil {
				return left, err
			}
		}
		empty = left == 0
		select {
		case <-time.After(emptyQuiet):
		case <-ctx.Done():
			return left, ctx.Err()
		}
	}
}

// Recover closes the account of the window that was under way when the process before this one died, if there is one: it restores the
// ledgers, and drains what is left of the window's tasks. What a ledger's checkpoint and its journal prove is judged: see
// ledger.Ledger.Checkpoint. If the host was started again since, tasks that were outstanding are in doubt and not lost. Recover may be
// interrupted, and called again. It takes as long as a lease that a worker had, and a drain, at most.
func (d *Deployment) Recover(ctx context.Context) (w DeploymentWindow, found bool, err error) {
	w, found, err = d.recover(ctx)
	if err != nil {
		err = fmt.Errorf("recover an interrupted window: %w", err)
	}
	return w, found, err
}

func (d *Deployment) recover(ctx context.Context) (w DeploymentWindow, found bool, err error) {
	window, found, err := readWindow(d.windowPath())
	if err != nil || !found {
		return w, found, err
	}
	boot, err := d.options.bootID()
	if err != nil {
		return w, true, err
	}
	r := d.windowRunner(false)
	if window.Accounts != len(r.scenario.Workloads) {
		return w, true, fmt.Errorf("it had %d workloads, the scenario has %d", window.Accounts, len(r.scenario.Workloads))
	}
	restored, err := restoreAccounts(d.windowPath(), window, boot)
	if err != nil {
		return w, true, err
	}
	p := plannedRound{number: window.Number, kind: timed}
	loads := &loads{runner: r, cluster: d.cluster, number: p.number, workloads: r.workloads(p)}
	loads.account(restored)
	rebooted := window.Boot != boot || window.Rebooted
	window.Rebooted = rebooted
	accounts, err := openWindow(d.windowPath(), window, d.options.bootID, restored)
	if err != nil {
		return w, true, err
	}
	left, err := d.drainThrough(ctx, loads, &w)
	if err != nil {
		return w, true, errors.Join(err, accounts.close())
	}
	m := measured{round: newRound(p)}
	m.round.Started, m.round.Ledger = window.Started, loads.balance()
	m.faultLeft(left)
	m.checkBalance()
	d.checkRecovered(ctx, window, rebooted, &m)
	m.fault(result.Invalid, "the harness ended in the window: the window has an account, and no figures")
	w.Interrupted = true
	return w, true, d.finish(ctx, accounts, &m, &w)
}

// checkRecovered holds the servers' account against itself and against what is known of a window that was interrupted. What was enqueued
// and completed after the last checkpoint is in no ledger. Servers may have lost what they had acknowledged if the host was started again
// and they do not wait for each fsync.
func (d *Deployment) checkRecovered(ctx context.Context, w openAccount, rebooted bool, m *measured) {
	conserved := scenario.Invariant{Kind: "conserved"}
	if !slices.Contains(d.runner.scenario.Invariants, conserved) || rebooted && d.runner.scenario.Topology.Durability != "sync" {
		return
	}
	counts, err := audit.Read(ctx, d.cluster)
	if err != nil {
		m.fault(result.Invalid, fmt.Sprintf("the server could not be audited: %v", err))
		return
	}
	known := m.round.Ledger
	known.Unknown = counts.Enqueued
	m.judgeConserved(counts, w.Before, &known)
}
