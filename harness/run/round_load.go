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

// loads are the workloads of a round, each with its ledger.
type loads struct {
	runner    *runner
	cluster   *topology.Cluster
	target    *targetServers // nil of a round on Prony's own servers
	number    int            // of the round
	workloads []scenario.Workload
	generator
	accounts []*ledger.Ledger // of the workloads of the in-process generator
	steady   func() bool      // whether the rate is steady; nil if not measured
	slow     *load.Slow       // reports the first slow cycle; nil without a limit
	// settle waits until the servers hold nothing any more that may be delivered, where they are measured again; else nil.
	settle func(context.Context, *measured) error
}

func newLoads(r *runner, cluster *topology.Cluster, p plannedRound) *loads {
	l := &loads{runner: r, cluster: cluster, number: p.number, workloads: r.workloads(p)}
	// Each account has an id of its own, by which it tells its tasks from those of other workloads and rounds.
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

// account makes this process the generator, with the accounts of all workloads.
func (l *loads) account(accounts []*ledger.Ledger) {
	l.generator, l.accounts = inProcess{l}, accounts
	for i, account := range accounts {
		account.Beside(slices.Delete(slices.Clone(accounts), i, i+1)...)
	}
}

// any reports whether any workload completes tasks.
func (l *loads) any() bool { return slices.Contains(partsOfLoad(l.workloads...), result.OfLoad) }

// done is count, with the acknowledged enqueues of a workload that enqueues alone in place of completions.
func (l *loads) done() count {
	c := l.count()
	if l.workloads[0].EnqueuesAlone() {
		c.completed = c.enqueued
	}
	return c
}

// stage opens the connections of all workloads, executes a part of the round's load over them, and closes them.
func stage[T any](ctx context.Context, l *loads, do func([]load.Config) (T, error)) (done T, err error) {
	var opened [][]driver.Conn
	defer func() {
		for _, conns := range opened {
			// Connections that broke don't close in order, which says no more than why they broke.
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

// run has the generator put all workloads on the servers at once, and calls the hooks at the window's edges.
func (l *loads) run(ctx context.Context, h *injection, w *windowProbe) (*outcomes, error) {
	all, err := l.load(ctx, h, load.Hooks{
		WindowNear: w.near, WindowStart: w.start, WindowEnd: w.end, Steady: l.steady, Progress: l.runner.progress.hook(l.number),
	})
	if err != nil {
		return nil, err
	}
	return &outcomes{all: all, workloads: l.workloads}, nil
}

// outcomes are what the workloads of a round measured.
type outcomes struct {
	all       []*load.Outcome
	workloads []scenario.Workload
}

// warmup is how long it took.
func (o *outcomes) warmup() time.Duration { return o.all[0].WindowStart.Sub(o.all[0].Launched) }

// drained reports whether nothing of any workload was outstanding at the end.
func (o *outcomes) drained() bool {
	return !slices.ContainsFunc(o.all, func(of *load.Outcome) bool { return !of.Drained })
}

// draining reports whether each workload that was not drained was still being drained when the time was up.
func (o *outcomes) draining() bool {
	return !o.drained() && !slices.ContainsFunc(o.all, func(of *load.Outcome) bool { return !of.Drained && !of.Draining })
}

// sum adds up what was refused or failed, over all workloads.
func (o *outcomes) sum(of func(*load.Outcome) load.Refusals) (sum load.Refusals) {
	for _, outcome := range o.all {
		sum.Add(of(outcome))
	}
	return sum
}

func refusedCompletions(o *load.Outcome) load.Refusals { return o.RefusedCompletions }
func refusedEnqueues(o *load.Outcome) load.Refusals    { return o.RefusedEnqueues }
func failedCalls(o *load.Outcome) load.Refusals        { return o.FailedCalls }

// take fills in what the workloads measured in the window.
func (r *runner) take(o *outcomes, p plannedRound, m *measured) error {
	m.round.WindowSeconds = o.all[0].Window.Seconds()
	several := len(o.all) > 1
	var sets []result.Histograms
	for i, outcome := range o.all {
		m.round.Cycles += outcome.Cycles
		if o.workloads[i].EnqueuesAlone() {
			m.round.Enqueues += outcome.Enqueued
		}
		if outcome.Clamped > 0 && p.kind != profiled && !o.workloads[i].ClaimsAlone() { // what waited before the window is as old as it is
			m.fault(result.Invalid, fmt.Sprintf("%d latencies were above %v, the longest that is kept: percentiles would be too low; a shorter window or less load helps",
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
		h.Late, h.Extend = outcome.Late, outcome.Extend
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
