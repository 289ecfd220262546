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

// fillProducers enqueue the backlog of a workload that claims alone: enough for the server to commit many calls together.
const fillProducers = 64

// Filled is what putting a backlog in place took.
type Filled struct {
	Started  time.Time // of the first call; with monotonic reading, as all times here
	Finished time.Time
	Tasks    uint64 // acknowledged: as many as were asked for
}

// Fill enqueues a number of tasks that no worker claims, in a closed loop, and returns when all are acknowledged. It needs the
// Workload, Conns and Ledger of cfg; the ledger may have been used before. Progress is the only hook that it calls. Fill fails
// if a task is refused, the outcome of a call is unknown, ctx is done, or the time is up. As Run, it leaves nothing behind. A workload
// without producers is filled by fillProducers.
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
		return nil, fmt.Errorf("load: %d of %d tasks of the backlog were acknowledged after %v; give it more time", filled.Tasks, tasks, within)
	}
	return filled, nil
}

// Drained is what taking a backlog away took.
type Drained struct {
	Started      time.Time // the start of the workers; with monotonic reading, as all times here
	FirstClaim   time.Time // when the first claim returned; zero, as LastComplete, if nothing was claimed where Config.Persist
	LastComplete time.Time // when the last completion was answered
	Cycles       uint64    // completions acknowledged, of tasks with a sound payload
	// SettleLatency is in nanoseconds, as in Outcome.
	SettleLatency      *hdrhistogram.Histogram
	RefusedCompletions Refusals
	// Complete is whether nothing was outstanding at the end. If not, the time was up.
	Complete bool
}

// Drain claims and completes what the ledger says is outstanding, and returns when it is done or the time is up. It
// needs what Fill does. As Run, it leaves nothing behind.
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
	case last < 0 && cfg.Persist: // all that was outstanding may never have been there
		return d, nil
	case last < 0:
		return nil, errors.New("load: nothing of the backlog was claimed and completed")
	}
	d.FirstClaim, d.LastComplete = r.clock.at(first), r.clock.at(last)
	return d, nil
}

// newStage is newRound for a part of a round that has no window.
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

// begin starts the stage's clock, once its sessions are open.
func (r *round) begin() { r.clock.epoch = time.Now() }

// end stops all goroutines and returns why the stage failed, if it did.
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
