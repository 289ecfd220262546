// Package load puts a workload on a target through a driver: producers enqueue tasks, worker slots claim and complete them, and
// recorders time both. A ledger accounts for every task.
//
// In a closed loop a producer makes its next call when the last one was answered. In an open loop tasks are due on a schedule
// whatever becomes of earlier ones, and latency counts from the intended start, so that a stall of the target is in the figures
// (no coordinated omission). Each producer has one call in flight in both.
//
// The load of a round has three parts: the warm-up, the window and the drain, in which the workers complete the tasks that are
// left. The edges of the window are fixed at the launch, or once the rate of a closed load is steady. Fill and Drain add and
// remove a backlog.
//
// Run makes all calls itself and returns when its goroutines have ended. A Meter records the same figures, by the same rules,
// for calls that its users make; it is safe for concurrent use. Errors of a configuration name the field, its value and what the
// field must be.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Config says what load to put on which connections.
type Config struct {
	Workload scenario.Workload
	Phases   scenario.Phases
	// Conns are the connections that producers and workers are spread over. They stay the caller's,
	// who closes them when Run has returned.
	Conns []driver.Conn
	// Ledger is a new ledger, as NewLedger makes it for the workload. It identifies the round.
	Ledger *ledger.Ledger
	// Readers are those of a workload with reads.
	Readers Readers
	Hooks   Hooks
	// Slow reports the first slow cycle; nil: no cycle is slow.
	Slow *Slow
	// Persist makes the load go on when calls fail, as they do under fault injection. A failed call is counted, the outcome of
	// its tasks is unknown, and the next call follows after a pause. The drain then waits for the tasks that must be left, and
	// for those of unknown outcome as long as some are completed.
	Persist bool

	// pause is what waits for the next task of an open load to be due; nil: a timer of the kernel.
	pause pauser
	// margin is how long Run waits for what it has cancelled, and for a hook that is still at work
	// when the drain is over. 0 means stopMargin.
	margin time.Duration
}

const (
	// stopMargin is Config.margin where a test does not set another.
	stopMargin = 5 * time.Second
	// openTimeout bounds the opening of all sessions.
	openTimeout = 10 * time.Second
	// drainPoll is the time between looks at whether anything is outstanding.
	drainPoll = 2 * time.Millisecond
	// drainQuiet is for how long nothing was completed when a drain gives up on tasks that may not be there.
	drainQuiet = time.Second
)

// NewLedger returns the ledger for one round of a workload. The id tells the round's tasks from those
// of any other.
func NewLedger(round uint64, w scenario.Workload) *ledger.Ledger {
	var routes []ledger.Route
	for _, tenant := range tenantsOf(w) {
		for q := range w.QueuesOfTenant() {
			routes = append(routes, ledger.Route{Tenant: tenant, Queue: QueueName(q)})
		}
	}
	producers := max(w.Producers, 1)
	if w.ClaimsAlone() {
		producers = fillProducers
	}
	l := ledger.New(round, producers, routes)
	if w.EnqueuesAlone() {
		l.LeaveTasks()
	}
	if w.FailsTasks() {
		l.WatchAttempts(uint32(w.MaxAttempts))
	}
	return l
}

// Outcome is what one round's load measured. Counts and latencies are those of tasks whose
// acknowledgement arrived inside the window, unless said otherwise.
type Outcome struct {
	Launched    time.Time // the start of the warm-up; with monotonic reading, as all times here
	WindowStart time.Time
	WindowEnd   time.Time // the first instant after the window
	Window      time.Duration
	Finished    time.Time // the end of the drain

	StartHook HookTimes
	EndHook   HookTimes

	Cycles   uint64 // completions acknowledged, of tasks with a sound payload
	Enqueued uint64 // enqueues acknowledged
	// TenantCycles are the cycles of each tenant, in the order of the tenants; nil where the tenants have different shares of the load.
	TenantCycles []uint64

	// Outstanding is how many tasks were sent and neither refused nor completed when the window had ended and all enqueues were answered.
	Outstanding uint64

	// Latencies in nanoseconds, one value per task, with the resolution of result.NewHistogram.

	EnqueueLatency *hdrhistogram.Histogram // from the intended start to the acknowledgement
	SettleLatency  *hdrhistogram.Histogram // from the claim's return to the completion's acknowledgement
	// CycleLatency is from the intended start, or from the end of the task's delay, to the completion's acknowledgement, failed attempts included.
	CycleLatency *hdrhistogram.Histogram
	// Open is the account of an open load; nil of any other.
	Open *Open
	// Reads has one entry for each kind of reads of the workload, in the order of scenario.ReadKinds; nil without reads.
	Reads []*KindReads

	// Late is the time in nanoseconds from the end of a task's delay to the first claim of the task, of claims inside the window; nil for a
	// workload without delays.
	Late *hdrhistogram.Histogram

	// Extend is the service time in nanoseconds of extensions of leases that were acknowledged inside the window; nil for a workload without
	// extensions.
	Extend *hdrhistogram.Histogram

	// Clamped counts the latencies beyond result.LatencyHighest; they are in the histograms as that.
	Clamped uint64

	RefusedEnqueues    Refusals // of all phases
	RefusedCompletions Refusals // of all phases
	FailedCalls        Refusals // of all phases, in calls; none unless Config.Persist

	// Drained is whether nothing was outstanding at the end, but for tasks of unknown outcome where Config.Persist. If
	// not, the drain's time was up, and the ledger's balance says what is lost. A workload that enqueues alone has no drain: its tasks stay
	// on the server, and Drained is whether all enqueues were answered.
	Drained bool

	// Draining is whether tasks were still being completed when the drain's time was up: more time would have drained more.
	Draining bool
}

// Open accounts for the tasks of an open load that were due inside the window. The histograms of the enqueue and the cycle
// latency have each of these tasks once: with its response time from the intended start or, censored, with the time that was
// left of the window at the intended start, if the task was not done by the window's end. A task whose outcome stays unknown was not.
type Open struct {
	result.Arrivals // without PeakPerSecond, which a load does not know

	// Slip is how late the generator itself sent a task, or did not send it until the window's end: counted from when the task
	// was due and a producer was free.
	Slip *hdrhistogram.Histogram
	// Service is the service time of an enqueue: from the call, without the wait before it.
	Service *hdrhistogram.Histogram

	sent, back *hdrhistogram.Histogram // see censorUnheard
}

// Refusals are tasks for which the server refused a call, or calls that failed.
type Refusals struct {
	Count uint64
	First string // the first reason of one of the goroutines that met any
}

// Run puts the load on the target and returns when it has drained, or the drain's time is up. It
// returns an error and no outcome when the configuration cannot be run, a call fails and the load is not
// to persist, a hook fails or ctx is done; it then stops at once. The ledger is good in any case. Run takes at most
// 15 s to open sessions, the time of the phases, and 10 s to stop. It leaves no goroutine behind, except
// where a call of the driver or a hook goes on though its context is done, which is an error.
//
// The sessions are opened with a context that is done when Run returns.
func Run(ctx context.Context, cfg Config) (*Outcome, error) {
	outcomes, err := RunAll(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return outcomes[0], nil
}

// RunAll is Run for several workloads at once. They begin together once the sessions of all are open, and their phases,
// and so their windows, are those of the first, as are the hooks; reports of progress are of all together. When one
// fails all end.
func RunAll(ctx context.Context, cfgs ...Config) ([]*Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rounds, err := openAll(ctx, cfgs)
	defer func() {
		for _, r := range rounds {
			r.cancel()
		}
	}()
	if err != nil {
		return nil, err
	}
	warmup := newWarmup(time.Now(), cfgs)
	for _, r := range rounds {
		if err := r.plan(warmup); err != nil {
			return nil, err
		}
	}
	for _, r := range rounds {
		r.launch()
	}
	outcomes := make([]*Outcome, len(rounds))
	var first failureOfOne
	var all sync.WaitGroup
	all.Go(func() { warmup.wait(ctx) })
	for i, r := range rounds {
		all.Go(func() {
			var err error
			if outcomes[i], err = r.finish(); err != nil {
				first.note(err)
				cancel()
			}
		})
	}
	all.Wait()
	if first.err != nil {
		return nil, first.err
	}
	return outcomes, nil
}

// openAll makes the rounds of all workloads and opens their sessions. It returns those it has made also beside an error.
func openAll(ctx context.Context, cfgs []Config) ([]*round, error) {
	if len(cfgs) == 0 {
		return nil, errors.New("load: no workload given")
	}
	if tasks := cfgs[0].Phases.Tasks; tasks > 0 && len(cfgs) > 1 {
		return nil, fmt.Errorf("load: phases.tasks is %d; it must be 0 with several workloads, whose windows end together", tasks)
	}
	var rounds []*round
	var reads []*tenantReads
	for i, cfg := range cfgs {
		cfg.Phases = cfgs[0].Phases
		if i > 0 {
			cfg.Hooks = Hooks{}
		}
		if err := cfg.validate(); err != nil {
			return rounds, named(cfg, len(cfgs), err)
		}
		if cfg.margin == 0 {
			cfg.margin = stopMargin
		}
		r := newRound(ctx, cfg)
		rounds = append(rounds, r)
		r.live = rounds[0].live // whoever watches watches all together
		reads = r.openReads(reads)
		if err := r.open(r.openProducers, r.openSlots); err != nil {
			return rounds, named(cfg, len(cfgs), err)
		}
		rounds[0].ledgers = append(rounds[0].ledgers, cfg.Ledger)
	}
	for _, r := range rounds {
		r.allReads = reads
	}
	return rounds, nil
}

// named says which of several workloads an error is of.
func named(cfg Config, of int, err error) error {
	if of == 1 {
		return err
	}
	return fmt.Errorf("workload %q: %w", cfg.Workload.Name, err)
}

// finish sees a launched round through.
func (r *round) finish() (*Outcome, error) {
	drained := r.conduct()
	finished := time.Now()
	if err := r.end(drained); err != nil {
		return nil, err
	}
	outcome := r.merge()
	outcome.Outstanding = r.atWindowEnd
	outcome.Drained, outcome.Draining = drained, r.draining
	outcome.Finished = finished
	return outcome, nil
}
