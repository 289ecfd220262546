// Package load puts a workload on a target through a driver: producers enqueue tasks, worker slots
// claim and complete them, and recorders time both. A ledger accounts for every task.
//
// In a closed loop a producer makes its next call when its last one was answered. In an open loop
// tasks are due on a schedule that does not depend on earlier tasks. Latency counts from the
// intended start, so it includes the stalls of the target (no coordinated omission). In both loops
// each producer has one call in flight.
//
// The load of a round has three parts: the warm-up, the window and the drain, in which the workers
// complete the remaining tasks. The edges of the window are fixed at the launch, or once the rate
// of a closed load is steady. Fill and Drain add and remove a backlog.
//
// Run makes all calls and returns when its goroutines have ended. A Meter records the same figures,
// by the same rules, for calls that its users make; it is safe for concurrent use. Configuration
// errors name the field, its value and the expected range.
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

// Config defines a load and the connections that it uses.
type Config struct {
	Workload scenario.Workload
	Phases   scenario.Phases
	// Conns are the connections that carry the producers and workers. The caller owns them and
	// closes them after Run has returned.
	Conns []driver.Conn
	// Ledger is a new ledger from NewLedger for the workload. It identifies the round.
	Ledger *ledger.Ledger
	// Readers serve the reads of a workload.
	Readers Readers
	Hooks   Hooks
	// Slow reports the first slow cycle; nil disables the report.
	Slow *Slow
	// Persist makes the load continue after failed calls, which fault injection causes. A failed
	// call is counted, the outcome of its tasks is unknown, and the next call follows after a
	// pause. The drain then waits for all tasks of known outcome, and for tasks of unknown outcome
	// while some tasks are still being completed.
	Persist bool

	// pause waits for the next task of an open load; nil means a kernel timer.
	pause pauser
	// margin bounds how long Run waits for cancelled calls, and for a hook that still runs after
	// the drain. 0 means stopMargin.
	margin time.Duration
}

const (
	// stopMargin is the default of Config.margin.
	stopMargin = 5 * time.Second
	// openTimeout bounds the opening of all sessions.
	openTimeout = 10 * time.Second
	// drainPoll is the time between two checks for outstanding tasks.
	drainPoll = 2 * time.Millisecond
	// drainQuiet is the time without a completion after which a drain gives up on tasks of unknown
	// outcome.
	drainQuiet = time.Second
)

// NewLedger returns the ledger for one round of a workload. The round's ID must be unique: it
// distinguishes the round's tasks from those of other rounds.
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

// Outcome holds the measurements of one round's load. Unless stated otherwise, counts and latencies
// are those of tasks whose acknowledgement arrived inside the window.
type Outcome struct {
	Launched    time.Time // start of the warm-up; all times here have a monotonic reading
	WindowStart time.Time
	WindowEnd   time.Time // first instant after the window
	Window      time.Duration
	Finished    time.Time // end of the drain

	StartHook HookTimes
	EndHook   HookTimes

	Cycles   uint64 // acknowledged completions of tasks with a sound payload
	Enqueued uint64 // acknowledged enqueues
	// TenantCycles are the cycles of each tenant, in the order of the tenants; nil if the tenants
	// have unequal shares of the load.
	TenantCycles []uint64

	// Outstanding counts the tasks that were sent and neither refused nor completed after the
	// window's end, when all enqueues were answered.
	Outstanding uint64

	// Latencies in nanoseconds, one value per task, with the resolution of result.NewHistogram.

	// EnqueueLatency is from the intended start to the acknowledgement.
	EnqueueLatency *hdrhistogram.Histogram
	// SettleLatency is from the return of the claim to the acknowledgement of the completion.
	SettleLatency *hdrhistogram.Histogram
	// CycleLatency is from the intended start, or from the end of the task's delay, to the
	// acknowledgement of the completion. It includes failed attempts.
	CycleLatency *hdrhistogram.Histogram
	// Open is the account of an open load; nil for any other load.
	Open *Open
	// Reads has one entry for each kind of read in the workload, in the order of
	// scenario.ReadKinds; nil without reads.
	Reads []*KindReads

	// Late is the time in nanoseconds from the end of a task's delay to its first claim, for claims
	// inside the window; nil for a workload without delays.
	Late *hdrhistogram.Histogram

	// Extend is the service time in nanoseconds of lease extensions that were acknowledged inside
	// the window; nil for a workload without extensions.
	Extend *hdrhistogram.Histogram

	// Clamped counts the latencies above result.LatencyHighest. The histograms contain them as
	// LatencyHighest.
	Clamped uint64

	RefusedEnqueues    Refusals // of all phases
	RefusedCompletions Refusals // of all phases
	FailedCalls        Refusals // of all phases, in calls; always zero without Config.Persist

	// Drained reports whether no task was outstanding at the end. With Config.Persist it ignores
	// tasks of unknown outcome. If false, the drain's time limit ended the load, and the ledger's
	// balance shows the lost tasks. A workload without workers has no drain: its tasks stay on the
	// server, and Drained reports whether all enqueues were answered.
	Drained bool

	// Draining reports whether tasks were still being completed when the time limit of the drain
	// was reached. More time would have drained more.
	Draining bool
}

// Open accounts for the tasks of an open load whose intended start was inside the window. The
// histograms of enqueue and cycle latency contain each of these tasks once. A task that was done by
// the window's end has its response time from the intended start. Any other task is censored: it
// has the time from its intended start to the window's end. A task of unknown outcome is not done.
type Open struct {
	result.Arrivals // without PeakPerSecond, which a load cannot know

	// Slip is the delay that the generator caused: from the time when the task was due and a
	// producer was free, to the time when the task was sent, or to the window's end if it was not.
	Slip *hdrhistogram.Histogram
	// Service is the service time of an enqueue: it begins with the call and omits the wait before
	// it.
	Service *hdrhistogram.Histogram

	sent, back *hdrhistogram.Histogram // see censorUnheard
}

// Refusals counts tasks for which the server refused a call, or failed calls.
type Refusals struct {
	Count uint64
	First string // first reason of one of the goroutines that counted any
}

// Run puts the load on the target and returns when it has drained, or when the time limit of the
// drain is reached. It returns an error and no outcome if the configuration is invalid, a call
// fails without Config.Persist, a hook fails, or ctx is done; it then stops at once. The ledger is
// valid in every case.
//
// Run takes at most 15 s to open sessions, the time of the phases, and 10 s to stop. It leaves no
// goroutine behind, unless a call of the driver or a hook does not return after its context is
// done, which is an error.
//
// The sessions are opened with a context that is done when Run returns.
func Run(ctx context.Context, cfg Config) (*Outcome, error) {
	outcomes, err := RunAll(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return outcomes[0], nil
}

// RunAll is Run for several workloads together. They begin together once all sessions are open. The
// phases, and therefore the window, and the hooks are those of the first workload; progress covers
// all workloads. If one fails, all end.
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

// openAll creates the rounds of all workloads and opens their sessions. On error it also returns
// the rounds that it has created.
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
		r.live = rounds[0].live // progress covers all workloads together
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

// named adds the workload's name to an error if there are several workloads.
func named(cfg Config, of int, err error) error {
	if of == 1 {
		return err
	}
	return fmt.Errorf("workload %q: %w", cfg.Workload.Name, err)
}

// finish conducts a launched round to its end and returns its outcome.
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
