package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
)

// fillProducers is the number of producers that enqueue the backlog of a workload that has no
// producers. With this number the server can commit many calls together.
const fillProducers = 64

// Filled is the result of Fill.
type Filled struct {
	Started  time.Time // start of the first call; all times here have a monotonic reading
	Finished time.Time
	Tasks    uint64 // acknowledged; equals the requested number
}

// Fill enqueues the given number of tasks in a closed loop, without workers, and returns when all
// are acknowledged. It reads only Workload, Conns, Ledger and Hooks.Progress of cfg; the ledger may
// have been used before. Fill fails if the server refuses a task, if the outcome of a call is
// unknown, if ctx is done, or if the backlog is not acknowledged within the given time. Like Run,
// it leaves no goroutine behind. For a workload that has no producers, Fill uses fillProducers of
// them.
func Fill(ctx context.Context, cfg Config, tasks uint64, within time.Duration) (*Filled, error) {
	if cfg.Workload.Producers == 0 {
		cfg.Workload.Producers = fillProducers
	}
	r, err := newStage(ctx, cfg, "filling", within)
	if err != nil {
		return nil, err
	}
	defer r.cancel()
	if err := r.open(r.openProducers); err != nil {
		return nil, err
	}
	var left atomic.Int64
	left.Store(int64(tasks))
	r.begin()
	r.start(func(p *producer) { p.runFill(r.calls, &left) })
	done := r.wait(r.producersDone, r.window.deadline())
	if err := r.end(done); err != nil {
		return nil, err
	}
	filled := &Filled{Started: r.clock.epoch, Finished: time.Now()}
	for _, p := range r.producers {
		filled.Tasks += p.filled
	}
	if !done {
		return nil, fmt.Errorf("load: acknowledged %d of the backlog's %d tasks within %v; allow more time", filled.Tasks, tasks, within)
	}
	return filled, nil
}

// Drained is the result of Drain.
type Drained struct {
	Started time.Time // start of the workers; all times here have a monotonic reading
	// FirstClaim is when the first claim returned. With Config.Persist, FirstClaim and LastComplete
	// are zero if no task was claimed.
	FirstClaim   time.Time
	LastComplete time.Time // when the last completion was answered
	Cycles       uint64    // acknowledged completions of tasks whose payload was intact
	// SettleLatency is in nanoseconds, as in Outcome.
	SettleLatency      *hdrhistogram.Histogram
	RefusedCompletions Refusals
	// Complete reports whether no task was outstanding at the end. If false, the time limit ended
	// the drain.
	Complete bool
}

// Drain claims and completes the tasks that are outstanding in the ledger. It returns when none are
// left or after the given time. Drain reads the same fields of cfg as Fill. Like Run, it leaves no
// goroutine behind.
func Drain(ctx context.Context, cfg Config, within time.Duration) (*Drained, error) {
	r, err := newStage(ctx, cfg, "draining", within)
	if err != nil {
		return nil, err
	}
	defer r.cancel()
	if err := r.open(r.openSlots); err != nil {
		return nil, err
	}
	r.begin()
	r.start(nil)
	drained := r.drain()
	if err := r.end(drained); err != nil {
		return nil, err
	}
	d := &Drained{Started: r.clock.epoch, SettleLatency: result.NewHistogram(), Complete: drained}
	first, last := int64(math.MaxInt64), int64(-1)
	for _, s := range r.slots {
		d.Cycles += s.record.cycles
		d.RefusedCompletions.Add(s.record.refused)
		s.record.settle.mergeInto(d.SettleLatency)
		last = max(last, s.lastComplete)
		if s.firstClaim >= 0 {
			first = min(first, s.firstClaim)
		}
	}
	switch {
	case last < 0 && cfg.Persist:
		// A task whose enqueue had an unknown outcome may never have reached the server.
		return d, nil
	case last < 0:
		return nil, errors.New("load: no task of the backlog was claimed and completed")
	}
	d.FirstClaim, d.LastComplete = r.clock.at(first), r.clock.at(last)
	return d, nil
}

// newStage returns a round for Fill or Drain. Such a round has no window.
func newStage(ctx context.Context, cfg Config, phase string, within time.Duration) (*round, error) {
	if err := errors.Join(*cfg.validateWorkload()...); err != nil {
		return nil, err
	}
	cfg.Hooks.WindowNear, cfg.Hooks.WindowStart, cfg.Hooks.WindowEnd = nil, nil, nil
	if cfg.margin == 0 {
		cfg.margin = stopMargin
	}
	r := newRound(ctx, cfg)
	r.ledgers = []*ledger.Ledger{cfg.Ledger}
	r.phase, r.untimed = phase, true
	r.window = settledEdges(span{end: math.MaxInt64}, int64(within))
	return r, nil
}

// begin starts the stage's clock. All sessions must be open.
func (r *round) begin() { r.clock.epoch = time.Now() }

// end stops all goroutines and returns the reason if the stage failed.
func (r *round) end(done bool) error {
	stopped := r.stop(done)
	if err := r.failure.err(); err != nil {
		return err
	}
	if !stopped {
		return fmt.Errorf("load: calls of the driver or a hook had not returned %v after they were cancelled", r.cfg.margin)
	}
	if r.caller.Err() != nil {
		return r.orCause(nil)
	}
	return nil
}
