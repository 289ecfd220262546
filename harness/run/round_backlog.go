package run

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// notRestartedError reports that the servers could not be restarted, so none of them is running.
type notRestartedError struct{ error }

func (e notRestartedError) Unwrap() error { return e.error }

// backlog fills the servers with tasks that no worker claims. It then restarts the servers if the
// scenario asks for it, and drains them.
func (r *runner) backlog(ctx context.Context, loads *loads, m *measured) error {
	plan, cluster := r.scenario.Backlog, loads.cluster
	b := &backlogRound{runner: r, ctx: ctx, loads: loads, m: m, result: result.Backlog{Restart: plan.Restart}}
	if err := b.reference(); err != nil {
		return err
	}
	for _, s := range cluster.Servers() {
		if err := observe.ResetPeak(s.Node().PID); err != nil {
			m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s covers the window too: %v", m.round.Number, result.BacklogRSSMBMax, err))
		}
	}
	filled, err := b.fill(plan.Tasks)
	if err != nil {
		return err
	}
	b.result.Tasks, b.result.FillS = filled.Tasks, filled.Finished.Sub(filled.Started).Seconds()
	if b.result.RSSMBFillMax, err = peakMB(cluster); err != nil {
		return err
	}
	if plan.Restart != "none" {
		how := topology.Kill
		if plan.Restart == "term" {
			how = topology.Term
		}
		var between func() error
		if plan.ColdCache {
			between = b.dropPageCache
		}
		if err := cluster.Restart(ctx, how, between); err != nil {
			return notRestartedError{err}
		}
	}
	drained, err := b.drain()
	if err != nil {
		return err
	}
	if b.result.RSSMBDrainMax, err = peakMB(cluster); err != nil {
		return err
	}
	b.result.Cycles, b.result.DrainS = drained.Cycles, took(drained)
	if plan.Restart != "none" {
		b.result.FirstClaimS = drained.FirstClaim.Sub(cluster.Began()).Seconds()
	}
	m.round.Backlog = &b.result
	return nil
}

// coldLeftMax bounds the part of the servers' data that may remain in the page cache before a cold
// start, as a fraction of the data.
const coldLeftMax = 0.01

// dropPageCache drops the servers' files from the kernel's page cache. If too much of them remains
// in the cache, the round is invalid.
func (b *backlogRound) dropPageCache() error {
	cold, err := b.loads.cluster.DropPageCache()
	if err != nil {
		return err
	}
	b.result.ColdCache = &result.ColdCache{DataMB: float64(cold.Data) / 1e6, LeftMB: float64(cold.Left) / 1e6}
	if float64(cold.Left) > coldLeftMax*float64(cold.Data) {
		b.m.fault(result.Invalid, fmt.Sprintf("the kernel kept %.1f of %.1f MB of the servers' files in its page cache, so the restart was not cold:"+
			" up to %.0f %% may stay (backlog.cold_cache)", b.result.ColdCache.LeftMB, b.result.ColdCache.DataMB, 100*coldLeftMax))
	}
	return nil
}

// backlogRound is the state of a round with a backlog.
type backlogRound struct {
	*runner
	ctx    context.Context // the context of the round
	loads  *loads          // has a single workload
	m      *measured
	result result.Backlog
}

func (b *backlogRound) reference() error {
	tasks := b.scenario.Backlog.Reference
	if tasks == 0 {
		return nil
	}
	if _, err := b.fill(tasks); err != nil {
		return err
	}
	drained, err := b.drain()
	if err != nil {
		return err
	}
	b.result.ReferenceTasks, b.result.ReferenceDrainS = drained.Cycles, took(drained)
	return nil
}

func (b *backlogRound) fill(tasks int) (*load.Filled, error) {
	return stage(b.ctx, b.loads, func(cfgs []load.Config) (*load.Filled, error) {
		return load.Fill(b.ctx, cfgs[0], uint64(tasks), b.scenario.Backlog.Fill)
	})
}

// drain completes a backlog. Its faults become faults of the round.
func (b *backlogRound) drain() (*load.Drained, error) {
	limit := b.scenario.Backlog.Drain
	drained, err := stage(b.ctx, b.loads, func(cfgs []load.Config) (*load.Drained, error) {
		return load.Drain(b.ctx, cfgs[0], limit)
	})
	if err != nil {
		return nil, err
	}
	if !drained.Complete {
		b.m.fault(result.Incorrect, fmt.Sprintf("not all tasks of the backlog were completed in %v", limit))
	}
	if refused := drained.RefusedCompletions; refused.Count > 0 {
		b.m.fault(result.Incorrect, fmt.Sprintf("the server refused %d completions of tasks that it had leased: %s", refused.Count, refused.First))
	}
	return drained, nil
}

// took returns the duration of a drain in seconds. It starts when the first claim is answered, and
// ends when the last completion is answered.
func took(d *load.Drained) float64 { return d.LastComplete.Sub(d.FirstClaim).Seconds() }

// peakMB returns the sum of the servers' peak RSS in MB. The servers need not have reached their
// peaks at the same time.
func peakMB(cluster *topology.Cluster) (float64, error) {
	var sum uint64
	for _, s := range cluster.Servers() {
		peak, err := observe.PeakRSS(s.Node().PID)
		if err != nil {
			return 0, err
		}
		sum += peak
	}
	return float64(sum) / 1e6, nil
}
