package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/open"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// loads contains the workloads of a round and their ledgers. The embedded generator runs the
// workloads.
type loads struct {
	runner    *runner
	cluster   *topology.Cluster
	target    *targetServers // nil if the round runs on Prony's own servers
	number    int            // number of the round
	workloads []scenario.Workload
	generator
	accounts []*ledger.Ledger // one per workload if this process is the generator; nil for k6
	steady   func() bool      // reports whether the rate is steady; nil if rates are not measured
	slow     *load.Slow       // reports the first slow cycle; nil if slow cycles are not reported
	// settle waits until the servers contain no deliverable task. It is nil unless the same servers
	// will be measured again.
	settle func(context.Context, *measured) error
}

func newLoads(r *runner, cluster *topology.Cluster, p plannedRound) *loads {
	l := &loads{runner: r, cluster: cluster, number: p.number, workloads: r.workloads(p)}
	// Each account has a unique ID, which distinguishes its tasks from those of other workloads and
	// rounds.
	id := uint64(r.result.Started.UnixNano()) + uint64(p.number)*scenario.WorkloadsMax
	if l.workloads[0].Driver == scenario.DriverK6 {
		l.generator = newScripted(l, id)
		return l
	}
	var accounts []*ledger.Ledger
	for i, w := range l.workloads {
		account := load.NewLedger(id+uint64(i), w)
		if slices.Contains(r.scenario.Invariants, scenario.Invariant{Kind: scenario.Ordered, On: w.Name}) {
			account.WatchOrder()
		}
		if slices.Contains(r.scenario.Invariants, scenario.Invariant{Kind: scenario.Exclusive}) {
			account.WatchLeases()
		}
		accounts = append(accounts, account)
	}
	l.account(accounts)
	return l
}

// account makes this process the generator. accounts contains one account per workload.
func (l *loads) account(accounts []*ledger.Ledger) {
	l.generator, l.accounts = inProcess{l}, accounts
	for i, account := range accounts {
		account.Beside(slices.Delete(slices.Clone(accounts), i, i+1)...)
	}
}

func (l *loads) any() bool { return slices.Contains(partsOfLoad(l.workloads...), result.OfLoad) }

// done returns the result of count. For a workload that only enqueues, completed is the number of
// acknowledged enqueues.
func (l *loads) done() count {
	c := l.count()
	if l.workloads[0].EnqueuesAlone() {
		c.completed = c.enqueued
	}
	return c
}

// stage opens the connections of all workloads, calls do with their configurations, and closes the
// connections.
func stage[T any](ctx context.Context, l *loads, do func([]load.Config) (T, error)) (done T, err error) {
	var opened [][]driver.Conn
	defer func() {
		for _, conns := range opened {
			// A broken connection does not close cleanly. The error of Close adds nothing to the
			// error that do returned.
			if closeErr := open.Close(conns); err == nil {
				err = closeErr
			}
		}
	}()
	var cfgs []load.Config
	for i, w := range l.workloads {
		conns, err := dial(ctx, l.cluster, l.target, w)
		if err != nil {
			return done, err
		}
		opened = append(opened, conns)
		cfgs = append(cfgs, load.Config{Workload: w, Phases: l.runner.scenario.Phases, Conns: conns, Ledger: l.accounts[i]})
	}
	cfgs[0].Hooks.Progress = l.runner.progress.hook(l.number)
	return do(cfgs)
}

// run runs all workloads at the same time. It calls the hooks of w at the edges of the window.
func (l *loads) run(ctx context.Context, h *injection, w *windowProbe) (*outcomes, error) {
	all, err := l.load(ctx, h, load.Hooks{
		WindowNear: w.near, WindowStart: w.start, WindowEnd: w.end, Steady: l.steady, Progress: l.runner.progress.hook(l.number),
	})
	if err != nil {
		return nil, err
	}
	return &outcomes{all: all, workloads: l.workloads}, nil
}

// outcomes contains the measurements of a round's workloads.
type outcomes struct {
	all       []*load.Outcome
	workloads []scenario.Workload
}

func (o *outcomes) warmup() time.Duration { return o.all[0].WindowStart.Sub(o.all[0].Launched) }

func (o *outcomes) drained() bool {
	return !slices.ContainsFunc(o.all, func(of *load.Outcome) bool { return !of.Drained })
}

// draining reports whether every workload that did not drain was still completing tasks at the
// deadline. It returns false if all workloads drained.
func (o *outcomes) draining() bool {
	return !o.drained() && !slices.ContainsFunc(o.all, func(of *load.Outcome) bool { return !of.Drained && !of.Draining })
}

func (o *outcomes) sum(of func(*load.Outcome) load.Refusals) (sum load.Refusals) {
	for _, outcome := range o.all {
		sum.Add(of(outcome))
	}
	return sum
}

func refusedCompletions(o *load.Outcome) load.Refusals { return o.RefusedCompletions }
func refusedEnqueues(o *load.Outcome) load.Refusals    { return o.RefusedEnqueues }
func failedCalls(o *load.Outcome) load.Refusals        { return o.FailedCalls }

// take stores the measurements of the window in m.
func (r *runner) take(o *outcomes, p plannedRound, m *measured) error {
	m.round.WindowSeconds = o.all[0].Window.Seconds()
	several := len(o.all) > 1
	var sets []result.Histograms
	for i, outcome := range o.all {
		m.round.Cycles += outcome.Cycles
		if o.workloads[i].EnqueuesAlone() {
			m.round.Enqueues += outcome.Enqueued
		}
		// A workload that only claims works on tasks that were enqueued before the window, so its
		// latencies may exceed the bound.
		if outcome.Clamped > 0 && p.kind != profiled && !o.workloads[i].ClaimsAlone() {
			m.fault(result.Invalid, fmt.Sprintf("%d latencies exceeded %v, the highest recorded value: percentiles would be too low; shorten the window or lower the load",
				outcome.Clamped, result.LatencyHighest))
		}
		h := result.Histograms{Enqueue: outcome.EnqueueLatency, Settle: outcome.SettleLatency, Cycle: outcome.CycleLatency}
		w := result.RoundWorkload{Name: o.workloads[i].Name, Cycles: outcome.Cycles}
		if outcome.Open != nil {
			h.Slip, h.Service = outcome.Open.Slip, outcome.Open.Service
			w.Arrivals = new(outcome.Open.Arrivals)
			w.Arrivals.PeakPerSecond = r.peaks[p.point]
			if m.round.Arrivals == nil {
				m.round.Arrivals = new(*w.Arrivals)
			} else {
				m.round.Arrivals.Add(*w.Arrivals)
			}
			r.checkSlip(outcome.Open, w.Name, several, p.kind, m)
		}
		h.Late, h.Extend, h.Cancel = outcome.Late, outcome.Extend, outcome.Cancel
		for _, of := range outcome.Reads {
			h.SetRead(of.Kind, of.Latency)
			w.Reads, w.OtherReads = result.AddReads(w.Reads, w.OtherReads, of.Kind, of.Account)
			m.round.Reads, m.round.OtherReads = result.AddReads(m.round.Reads, m.round.OtherReads, of.Kind, of.Account)
		}
		w.TenantShares = result.TenantSharesOf(outcome.TenantCycles)
		if !several {
			m.round.TenantShares = w.TenantShares
		}
		sets = append(sets, h)
		if several {
			w.Derive(m.round.WindowSeconds, h)
			m.round.Workloads = append(m.round.Workloads, w)
			m.ofWorkloads = append(m.ofWorkloads, result.WorkloadHistograms{Name: w.Name, Histograms: h})
		}
	}
	var err error
	m.histograms, err = result.Union(sets...)
	return err
}
