// Package load applies a workload to a target through a driver: producers enqueue tasks, worker
// slots claim and complete them, and recorders measure both. A ledger accounts for every task.
//
// In a closed loop a producer makes its next call after its last call was answered. In an open loop
// tasks are due on a schedule that does not depend on earlier tasks. Latency is measured from the
// intended start, so it includes stalls of the target (no coordinated omission). In both loops each
// producer has one call in flight.
//
// The load of a round has three parts: the warm-up, the window and the drain. In the drain the
// workers complete the remaining tasks. The edges of the window are determined at the launch, or
// once the rate of a closed load is steady. Fill and Drain add and remove a backlog.
//
// Run makes all calls and returns when its goroutines have ended. A Meter records the same figures,
// by the same rules, for calls that its users make. A Meter is safe for concurrent use. Errors of
// the configuration name the field, its value and the expected range.
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
	// Conns are the connections that the producers and workers use. The caller owns them and closes
	// them after Run has returned.
	Conns []driver.Conn
	// Ledger must be a new ledger that NewLedger returned for this workload. It identifies the
	// round.
	Ledger *ledger.Ledger
	// Readers make the reads of a workload that has reads.
	Readers Readers
	Hooks   Hooks
	// Slow reports the first slow cycle. nil disables the report.
	Slow *Slow
	// Persist makes the load continue after failed calls, for loads under fault injection. After a
	// failed call the call is counted, the outcome of its tasks is unknown, and the next call
	// follows after a pause. The drain then waits for all tasks of known outcome. It waits for
	// tasks of unknown outcome only while some tasks are still being completed.
	Persist bool

	// pause waits for the due time of the next task of an open load. nil selects a kernel timer.
	pause pauser
	// margin bounds the time that Run waits for cancelled calls, and for a hook that is still
	// running after the drain. 0 selects stopMargin.
	margin time.Duration
}

const (
	// stopMargin is the default of Config.margin.
	stopMargin = 5 * time.Second
	// openTimeout bounds the time to open all sessions.
	openTimeout = 10 * time.Second
	// drainPoll is the time between two checks for outstanding tasks.
	drainPoll = 2 * time.Millisecond
	// drainQuiet is how long a drain waits without seeing a completion before it gives up on tasks
	// of unknown outcome.
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
	if w.CancelsTasks() {
		l.WatchReads() // a cancelled task need no longer exist, as a completed one
	}
	if w.HasUniqueKeys() {
		l.WatchUnique()
	}
	if w.FinalTasks {
		l.WatchFinals(w.EnqueueBatch())
	}
	return l
}

// Outcome contains the measurements of one round's load. Unless stated otherwise, counts and
// latencies include only tasks whose acknowledgement arrived inside the window.
type Outcome struct {
	Launched    time.Time // start of the warm-up; all times here have a monotonic reading
	WindowStart time.Time
	WindowEnd   time.Time // first instant after the window
	Window      time.Duration
	Finished    time.Time // end of the drain

	StartHook HookTimes
	EndHook   HookTimes

	Cycles   uint64 // acknowledged completions of tasks whose payload was intact
	Enqueued uint64 // acknowledged enqueues
	// TenantCycles is the number of cycles of each tenant, in the order of the tenants. It is nil
	// if the tenants have unequal shares of the load.
	TenantCycles []uint64

	// Outstanding is the number of tasks that were sent and neither refused nor completed. It is
	// read after the window's end, once all enqueues have been answered.
	Outstanding uint64

	// Latencies in nanoseconds, one value per task, with the resolution of result.NewHistogram.

	// EnqueueLatency is the time from the intended start to the acknowledgement of the enqueue.
	EnqueueLatency *hdrhistogram.Histogram
	// SettleLatency is the time from the return of the claim to the acknowledgement of the
	// completion.
	SettleLatency *hdrhistogram.Histogram
	// CycleLatency is the time from the intended start, or from the end of the task's delay, to the
	// acknowledgement of the completion. It includes failed attempts.
	CycleLatency *hdrhistogram.Histogram
	// Open is the account of an open load. It is nil for any other load.
	Open *Open
	// Reads has one entry for each kind of read in the workload, in the order of
	// scenario.ReadKinds. It is nil if the workload has no reads.
	Reads []*KindReads

	// Late is the time in nanoseconds from the end of a task's delay to its first claim, for claims
	// inside the window. It is nil if the workload has no delays.
	Late *hdrhistogram.Histogram

	// Extend is the service time in nanoseconds of lease extensions that were acknowledged inside
	// the window. It is nil if the workload extends no leases.
	Extend *hdrhistogram.Histogram

	// Cancel is the time in nanoseconds from the call that cancels a leased task to the notice at its
	// worker, for notices inside the window. It is nil if the workload cancels no tasks.
	Cancel *hdrhistogram.Histogram

	// Clamped is the number of latencies above result.LatencyHighest. The histograms contain them
	// as LatencyHighest.
	Clamped uint64

	RefusedEnqueues    Refusals // of all phases
	RefusedCompletions Refusals // of all phases
	FailedCalls        Refusals // of all phases; counts calls; zero without Config.Persist

	// Drained reports whether no task was outstanding at the end. With Config.Persist, tasks of
	// unknown outcome are ignored. If Drained is false, the drain's time limit ended the load, and
	// the ledger's balance shows the lost tasks. A workload without workers has no drain: its tasks
	// stay on the server, and Drained reports whether all enqueues were answered.
	Drained bool

	// Draining reports whether tasks were still being completed when the drain reached its time
	// limit. If so, more time would have drained more tasks.
	Draining bool
}

// Open accounts for the tasks of an open load whose intended start was inside the window. The
// histograms of enqueue and cycle latency contain each of these tasks once. If a task was done by
// the window's end, its latency is the response time since the intended start. Otherwise its
// latency is censored: the histogram contains the time from the intended start to the window's end.
// A task of unknown outcome counts as not done.
type Open struct {
	result.Arrivals // PeakPerSecond is not set, because a load does not know it

	// Slip is the delay that the generator caused. It is measured from the time when the task was
	// due and a producer was free. It ends when the task was sent, or at the window's end if the
	// task was not sent.
	Slip *hdrhistogram.Histogram
	// Service is the service time of an enqueue. It starts with the call, and omits the wait before
	// the call.
	Service *hdrhistogram.Histogram

	sent, back *hdrhistogram.Histogram // see censorUnheard
}

// Refusals counts tasks whose call the server refused, or it counts failed calls.
type Refusals struct {
	Count uint64
	First string // first reason that one of the counting goroutines recorded
}

// Run applies the load to the target and returns when the load has drained or the drain has reached
// its time limit. It returns an error and no outcome if the configuration is invalid, a call fails
// without Config.Persist, a hook fails, or ctx is done. In these cases it stops immediately. The
// ledger is valid in every case.
//
// Run takes at most 15 s to open sessions, the time of the phases, and 10 s to stop. When it
// returns, no goroutine remains. The only exception is a call of the driver or a hook that does not
// return after its context is done; Run then returns an error.
//
// The sessions are opened with a context that is done when Run returns.
func Run(ctx context.Context, cfg Config) (*Outcome, error) {
	outcomes, err := RunAll(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return outcomes[0], nil
}

// RunAll is Run for several workloads at the same time. They start together once all sessions are
// open. The phases and the hooks of the first workload apply to all of them, so they share one
// window. Progress covers all workloads. If one workload fails, all stop.
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

// openAll creates the rounds of all workloads and opens their sessions. On error it returns the
// rounds that it has already created.
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
		r.live = rounds[0].live // progress covers all workloads
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

func named(cfg Config, of int, err error) error {
	if of == 1 {
		return err
	}
	return fmt.Errorf("workload %q: %w", cfg.Workload.Name, err)
}

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
