// Package load puts a workload on a target through a driver: producers that enqueue, worker slots
// that claim and complete, and recorders that time both. Every task is entered in a ledger.
//
// The load is closed-loop: each producer has one call in flight and makes the next when the last was
// answered. A round's load has three parts: a warm-up, the window, whose edges are fixed when the load
// is launched, and a drain, in which the workers complete what is left.
package load

import (
	"context"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
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
	Hooks  Hooks

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
)

// NewLedger returns the ledger for one round of a workload. The id tells the round's tasks from those
// of any other.
func NewLedger(round uint64, w scenario.Workload) *ledger.Ledger {
	var routes []ledger.Route
	for t := range w.Tenants {
		for q := range w.Queues {
			routes = append(routes, ledger.Route{Tenant: TenantName(t), Queue: QueueName(q)})
		}
	}
	return ledger.New(round, w.Producers, routes)
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

	// Latencies in nanoseconds, one value per task, with the resolution of result.NewHistogram.

	EnqueueLatency *hdrhistogram.Histogram // from the call to its acknowledgement
	SettleLatency  *hdrhistogram.Histogram // from the claim's return to the completion's acknowledgement
	CycleLatency   *hdrhistogram.Histogram // from the intended start to the completion's acknowledgement
	// Clamped counts the latencies beyond result.LatencyHighest; they are in the histograms as that.
	Clamped uint64

	RefusedEnqueues    Refusals // of all phases
	RefusedCompletions Refusals // of all phases

	// Drained is whether nothing was outstanding at the end. If not, the drain's time was up, and the
	// ledger's balance says what is lost.
	Drained bool
}

// Refusals are tasks for which the server refused a call.
type Refusals struct {
	Count uint64
	First string // the first reason of one of the goroutines that met any
}

// Run puts the load on the target and returns when it has drained, or the drain's time is up. It
// returns an error and no outcome when the configuration cannot be run, a call's outcome is unknown, a
// hook fails or ctx is done; it then stops at once. The ledger is good in any case. Run takes at most
// 15 s to open sessions, the time of the phases, and 10 s to stop. It leaves no goroutine behind, except
// where a call of the driver or a hook goes on though its context is done, which is an error.
//
// The sessions are opened with a context that is done when Run returns.
func Run(ctx context.Context, cfg Config) (*Outcome, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.margin == 0 {
		cfg.margin = stopMargin
	}
	r := newRound(ctx, cfg)
	defer r.cancel()
	if err := r.open(); err != nil {
		return nil, err
	}
	r.launch()
	drained := r.conduct()
	finished := time.Now()
	stopped := r.stop(drained)
	if err := r.failure.err(); err != nil {
		return nil, err
	}
	if !stopped {
		return nil, fmt.Errorf("load: calls of the driver or a hook had not returned %v after they were cancelled", cfg.margin)
	}
	if ctx.Err() != nil {
		return nil, r.orCause(nil)
	}
	outcome := r.merge()
	outcome.Drained = drained
	outcome.Finished = finished
	return outcome, nil
}
