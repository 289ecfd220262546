package run

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// backlog fills the server with tasks that nobody claims, starts it again if the scenario says so, and drains it. It
// returns the server to go on with, which is another one after a restart, and nil where a restart failed.
func (r *runner) backlog(ctx context.Context, node *topology.Node, account *ledger.Ledger, w scenario.Workload, m *measured,
) (*topology.Node, error) {
	plan := r.scenario.Backlog
	b := &result.Backlog{Restart: plan.Restart}
	if err := observe.ResetPeak(node.PID); err != nil {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s covers the window too: %v", m.round.Number, result.BacklogRSSMBMax, err))
	}
	filled, err := stage(r, node, account, w, m.round.Number, func(cfg load.Config) (*load.Filled, error) {
		return load.Fill(ctx, cfg, uint64(plan.Tasks), plan.Fill)
	})
	if err != nil {
		return node, err
	}
	b.Tasks, b.FillS = filled.Tasks, filled.Finished.Sub(filled.Started).Seconds()
	if b.RSSMBFillMax, err = peakMB(node); err != nil {
		return node, err
	}
	if plan.Restart != "none" {
		how := topology.Kill
		if plan.Restart == "term" {
			how = topology.Term
		}
		if node, err = node.Restart(ctx, how); err != nil {
			return nil, err
		}
	}
	drained, err := stage(r, node, account, w, m.round.Number, func(cfg load.Config) (*load.Drained, error) {
		return load.Drain(ctx, cfg, plan.Drain)
	})
	if err != nil {
		return node, err
	}
	if b.RSSMBDrainMax, err = peakMB(node); err != nil {
		return node, err
	}
	b.Cycles, b.DrainS = drained.Cycles, drained.LastComplete.Sub(drained.FirstClaim).Seconds()
	if plan.Restart != "none" {
		b.FirstClaimS = drained.FirstClaim.Sub(node.Began).Seconds()
	}
	if !drained.Complete {
		m.fault(result.Incorrect, fmt.Sprintf("not all tasks of the backlog were completed in %v", plan.Drain))
	}
	if refused := drained.RefusedCompletions; refused.Count > 0 {
		m.fault(result.Incorrect, fmt.Sprintf("the server refused %d completions of tasks that it had leased: %s", refused.Count, refused.First))
	}
	m.round.Backlog = b
	return node, nil
}

// stage opens connections, carries a part of a round's load out over them, and closes them.
func stage[T any](r *runner, node *topology.Node, account *ledger.Ledger, w scenario.Workload, number int,
	do func(load.Config) (T, error),
) (done T, err error) {
	conns, closeAll, err := dial(node, w)
	if err != nil {
		return done, err
	}
	defer func() {
		// Connections that broke don't close in order, which says no more than why they broke.
		if closeErr := closeAll(); err == nil {
			err = closeErr
		}
	}()
	return do(load.Config{
		Workload: w, Phases: r.scenario.Phases, Conns: conns, Ledger: account,
		Hooks: load.Hooks{Progress: func(p load.Progress) { r.progress.load(number, p) }},
	})
}

func peakMB(node *topology.Node) (float64, error) {
	peak, err := observe.PeakRSS(node.PID)
	return float64(peak) / 1e6, err
}
