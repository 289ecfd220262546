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
	// revivalsMax bounds how often servers are restarted while a window drains.
	revivalsMax = 5
	// emptyQuiet is the time between the two audits that must both find the servers empty. An
	// enqueue that was in flight when its caller died may take effect between them.
	emptyQuiet = 500 * time.Millisecond
)

// ServerEnd is the unplanned end of a server and its restart.
type ServerEnd struct {
	Node  string        `json:"node"` // "" if there is only one server
	Ended time.Time     `json:"ended"`
	Down  time.Duration `json:"down_ns"` // time until it was ready again
	// ended by SIGKILL, which another process or the kernel sent
	Killed bool     `json:"killed"`
	Status string   `json:"status"` // for example "exit status 2" or "signal: killed"
	Lines  []string `json:"lines"`  // last lines of its log
}

// revive restarts the servers that have ended. It records the unplanned ends in w.
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

// settle drains the servers if the outcome of some of the window's tasks is unknown, so that none
// of these tasks is delivered in a later window.
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

func (m *measured) faultLeft(tasks uint64) {
	if tasks > 0 {
		m.fault(result.Incorrect, fmt.Sprintf("the servers still hold %d tasks that no worker received", tasks))
	}
}

// mend closes the account of a window that was cut short: it restarts the servers and drains the
// remaining tasks.
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
		m.fault(verdict, fmt.Sprintf("server %q ended unplanned and was ready again after %v: %s", end.Node, end.Down.Round(time.Millisecond), end.Status))
	}
	if len(w.Ends) == before {
		m.fault(brokenOff(m.cause))
	}
	return nil
}

// drainThrough drains the servers and restarts those that end during the drain.
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
		select { // the loss of a connection may be noticed before the end of its server
		case <-d.cluster.Failed():
		case <-ctx.Done():
		case <-time.After(exitWait):
			return left, err
		}
	}
	return left, fmt.Errorf("servers ended %d times while the window drained: %w", revivalsMax, err)
}

// drain claims and completes all tasks on the servers. It returns the number of tasks that remain
// at the deadline. The deadline is the scenario's drain time plus the longest lease, because a dead
// worker may still hold a lease.
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
					cfg.Persist = true // a task whose enqueue has an unknown outcome may not exist
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

// Recover closes the account of the window that was in progress when the previous process died.
// found is false if no window was in progress. Recover restores the ledgers and drains the
// remaining tasks of the window. Its verdict uses only facts that the checkpoint and the journal of
// each ledger prove: see ledger.Ledger.Checkpoint. If the host was rebooted since, outstanding
// tasks are in doubt, not lost. Recover may be interrupted and called again. It drains at most
// revivalsMax times, each time for at most the scenario's drain time plus the longest lease.
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
		return w, true, fmt.Errorf("the window had %d workloads, the scenario has %d", window.Accounts, len(r.scenario.Workloads))
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
	m.fault(result.Invalid, "the harness ended in the window: the window has an account but no figures")
	w.Interrupted = true
	return w, true, d.finish(ctx, accounts, &m, &w)
}

// checkRecovered checks that the servers' account is consistent, and that it agrees with the known
// part of an interrupted window. Tasks that were enqueued and completed after the last checkpoint
// are in no ledger. After a reboot, servers that do not wait for each fsync may have lost
// acknowledged tasks, so such servers are not judged.
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
