package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	// SendersMax is the recommended number of producers in the ledger of a Meter. The first
	// SendersMax senders each have a separate account. Further senders share these accounts.
	SendersMax = 1 << 14
	// NextMax is the largest number of tasks that one Meter.Next call returns.
	NextMax = 1 << 16
	// meterRecorders bounds the number of send recorders, and also the number of settle recorders.
	// Each recorder has about 60 KB of histograms. Further senders share the recorders, so that
	// memory does not grow with the number of sessions that a script opens.
	meterRecorders = 64
)

// MeterConfig defines the load that a Meter measures.
type MeterConfig struct {
	// Workload describes the load. The Meter reads its fields Arrivals, InFlight, Batch and
	// Producers. Producers is the number of steps over which the start of a closed load is spread.
	Workload scenario.Workload
	// Phases are the phases of the load. If Window is 0, the window has no end, and arrivals must
	// be closed. The warm-up always takes Warmup.
	Phases scenario.Phases
	// Ledger must be a new ledger. It should have at most SendersMax producers.
	Ledger *ledger.Ledger
	// Epoch is when the warm-up begins. It may be in the near future. If Epoch is zero, Meter.Begin
	// sets the start of the warm-up.
	Epoch time.Time

	// pause waits for the due time of the next task of an open load. nil selects a kernel timer.
	pause pauser
}

// Meter measures a load whose calls its users make. It computes intended starts, seals payloads,
// enters tasks in the ledger, and records outcomes. It follows the rules of Run with
// Config.Persist. All methods except Outcome are safe for concurrent use.
type Meter struct {
	accounting
	workload scenario.Workload
	phases   scenario.Phases
	endless  bool
	places   *places

	ctx    context.Context // ends all waits
	cancel context.CancelFunc
	kernel *kernelPause // nil for a closed load
	early  atomic.Int64 // number of calls of Next before the load began

	beginning sync.Once
	start     int64 // start of the load, in nanoseconds since the epoch

	mu        sync.Mutex // guards the fields below, but not what they point to
	senders   int
	settlers  int
	sending   []*sendRecorder // at most meterRecorders; the same bound applies to settling
	settling  []*settleRecorder
	failed    Refusals
	looked    time.Time // when Done last read the ledger
	remainder remainder
	finished  time.Time // zero before the end
	drained   bool
	draining  bool
}

// NewMeter returns a meter, or an error that lists all problems of the configuration. All waits end
// when ctx is done. The caller must close the meter.
func NewMeter(ctx context.Context, cfg MeterConfig) (*Meter, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	epoch := cfg.Epoch
	if epoch.IsZero() {
		epoch = time.Now()
	}
	m := &Meter{
		accounting: accounting{
			ledger: cfg.Ledger, clock: clock{epoch: epoch}, live: &live{}, window: newWindowEdges(never), persist: true,
		},
		workload: cfg.Workload, phases: cfg.Phases, endless: cfg.Phases.Window == 0,
		remainder: remainder{persist: true},
	}
	m.ctx, m.cancel = context.WithCancel(ctx)
	w := cfg.Workload
	switch {
	case w.Arrivals.Timed():
		pause := cfg.pause
		if pause == nil {
			kernel, err := newKernelPause(m.ctx)
			if err != nil {
				m.cancel()
				return nil, fmt.Errorf("load: %w", err)
			}
			pause, m.kernel = interruptible{kernel}, kernel
		}
		m.schedule = newSchedule(m.clock, w.InFlight, pause)
		m.places = newPlaces(true)
		m.schedule.unused = m.places
		go m.schedule.beat.run(m.ctx, m.clock)
	case w.Arrivals.Kind == scenario.Closed && w.InFlight > 0:
		m.limit = newInFlightLimit(w.InFlight, w.Batch)
		m.places = newPlaces(true)
	default:
		m.places = newPlaces(false)
	}
	if !cfg.Epoch.IsZero() {
		m.Begin(cfg.Epoch, 1)
	}
	return m, nil
}

// Begin sets the time when the warm-up of a meter without an epoch begins. share is the part of the
// arrivals that this meter generates, above 0 and at most 1. Tasks sent before Begin are in the
// ledger but belong to no window. Only the first call has an effect.
func (m *Meter) Begin(at time.Time, share float64) {
	m.beginning.Do(func() {
		m.start = int64(at.Sub(m.clock.epoch))
		window := span{start: m.start + int64(m.phases.Warmup), end: never}
		over := int64(never)
		if !m.endless {
			window.end = window.start + int64(m.phases.Window)
			over = window.end + int64(m.phases.Drain)
		}
		if m.schedule != nil {
			m.schedule.begin(m.start, window, newPacer(m.workload.Arrivals.Share(share)))
		}
		if m.limit != nil && !m.endless {
			m.limit.closeIn(m.clock.until(window.end))
		}
		m.window.settle(window, over)
	})
}

// begun reports whether Begin was called. Fields that Begin sets may be read only if begun returns
// true.
func (m *Meter) begun() bool {
	select {
	case <-m.window.known:
		return true
	default:
		return false
	}
}

// Close ends all waits and frees the meter's timers. The figures remain readable.
func (m *Meter) Close() error {
	m.cancel()
	if m.begun() && m.limit != nil && m.limit.finish != nil {
		m.limit.finish.Stop()
	}
	if m.kernel != nil {
		if err := m.kernel.close(); err != nil && !errors.Is(err, os.ErrClosed) {
			return fmt.Errorf("load: close the schedule's timer: %w", err)
		}
	}
	return nil
}

// Now returns the time in nanoseconds since the epoch. It is negative before the epoch.
func (m *Meter) Now() int64 { return m.clock.now() }

// Next waits for due tasks and returns the intended starts of up to n tasks, in nanoseconds since
// the epoch. n must be from 1 to NextMax.
//
// In an open load Next waits for the first task and returns all due tasks. In a closed load without
// an in-flight limit it returns n tasks immediately. With a limit it waits until the limit allows a
// batch, and returns at most Batch tasks. Before the load begins, Next waits for its start. After
// the window has ended, it returns no task. Each returned intended start is for one task: see
// Sender.Seal. An error reports that ctx is done or that the meter is closed.
func (m *Meter) Next(ctx context.Context, n int) ([]int64, error) {
	if n < 1 || n > NextMax {
		return nil, fmt.Errorf("load: next for %d tasks; it must be from 1 to %d", n, NextMax)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if m.ctx.Err() != nil {
		cancel(errMeterClosed)
	}
	defer context.AfterFunc(m.ctx, func() { cancel(errMeterClosed) })()
	var due []int64
	if ctx.Err() == nil {
		due = m.next(ctx, n)
	}
	switch {
	case len(due) > 0:
		m.places.add(due)
		return due, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("load: next: %w", context.Cause(ctx))
	}
	return nil, nil
}

var errMeterClosed = errors.New("the meter is closed")

func (m *Meter) next(ctx context.Context, n int) []int64 {
	select {
	case <-m.window.known:
	case <-ctx.Done():
		return nil
	}
	switch {
	case m.schedule != nil:
		due := make([]int64, n)
		return due[:m.schedule.take(ctx, due)]
	case m.workload.Arrivals.Kind == scenario.None || !m.awaitStart(ctx) || m.clock.now() >= m.window.end():
		return nil
	case m.limit != nil:
		if !m.limit.take(ctx) {
			return nil
		}
		n = min(n, m.workload.Batch)
		m.limit.settled(m.workload.Batch - n)
	}
	due, now := make([]int64, n), m.clock.now()
	for i := range due {
		due[i] = now
	}
	return due
}

// awaitStart waits for the load to begin. Waiting callers start one after the other, as the
// producers of Run do. awaitStart returns false if ctx is done first.
func (m *Meter) awaitStart(ctx context.Context) bool {
	if m.clock.now() >= m.start {
		return ctx.Err() == nil
	}
	producers := max(m.workload.Producers, 1)
	number := int((m.early.Add(1) - 1) % int64(producers))
	return m.clock.sleepUntil(ctx, m.start+stagger(m.phases.Warmup, number, producers))
}

// Progress returns the progress of the load, as Hooks.Progress would receive it.
func (m *Meter) Progress() Progress {
	p := m.progress(m.ledger)
	if !m.begun() {
		p.Elapsed = 0
		return p
	}
	p.Elapsed = max(0, p.Elapsed-time.Duration(m.start))
	if p.Warmup > 0 {
		p.Warmup -= time.Duration(m.start)
	}
	return p
}

// Failed counts a failed call that is neither an enqueue nor a completion. Cancelled calls do not
// count.
func (m *Meter) Failed(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed.note(1, err)
}

// Done reports whether the load has ended. The load ends when the window has ended and no task is
// outstanding, or when the drain has reached its time limit. Done waits for tasks of unknown
// outcome while other tasks are being completed. The load ends when Done first returns true. If the
// window has no end, the load ends only when Finish is called.
func (m *Meter) Done() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.now()
	if !m.finished.IsZero() || m.endless || now < m.window.end() {
		return !m.finished.IsZero()
	}
	at := m.clock.at(now)
	up := now >= m.window.deadline()
	if !up && !m.looked.IsZero() && at.Sub(m.looked) < drainPoll {
		return false // reading the ledger takes a while, and every VU calls Done
	}
	m.looked = at
	left := m.left()
	if m.remainder.none(left, at) || up {
		m.end(at, left)
	}
	return !m.finished.IsZero()
}

// left returns the ledger's totals plus the tasks that Next has returned and that may still be
// sent.
func (m *Meter) left() ledger.Totals {
	t, unused := m.ledger.Totals(), uint64(m.places.count())
	t.Outstanding += unused
	t.Doubtful += unused
	return t
}

// Finish ends the load if it has not ended. No task may be sent or completed afterwards.
func (m *Meter) Finish() {
	m.Begin(time.Now(), 1) // if the load never began, all of its tasks are unsent
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finished.IsZero() {
		m.end(m.clock.at(m.clock.now()), m.left())
	}
}

// end records when the load ended, and whether it was drained or still draining. The caller must
// hold mu.
func (m *Meter) end(at time.Time, left ledger.Totals) {
	m.finished = at
	over := m.endless || m.clock.now() >= m.window.end()
	m.drained = over && left.Outstanding == left.Doubtful
	m.draining = over && !m.drained && m.remainder.moving(at)
}

// Outcome returns the measurements so far. No call of Next, a sender or a settler may be in
// progress. Outcome may be called repeatedly. If the window has no end, WindowEnd is the end of the
// load, or the current time if the load has not ended.
func (m *Meter) Outcome() *Outcome {
	m.Begin(time.Now(), 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	ended := m.finished
	if ended.IsZero() {
		ended = m.clock.at(m.clock.now())
	}
	o := m.newOutcome(m.phases.Window)
	o.Launched = m.clock.at(m.start)
	if m.endless {
		o.WindowEnd = ended
		if o.WindowEnd.Before(o.WindowStart) {
			o.WindowEnd = o.WindowStart
		}
		o.Window = o.WindowEnd.Sub(o.WindowStart)
	}
	o.Finished, o.Drained, o.Draining = ended, m.drained, m.draining
	o.FailedCalls.Add(m.failed)
	for _, r := range m.sending {
		r.mergeInto(o)
	}
	for _, r := range m.settling {
		r.mergeInto(o)
	}
	m.mergeOpen(o)
	return o
}
