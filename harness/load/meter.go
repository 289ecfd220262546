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
	// SendersMax is how many producers the ledger of a Meter should have: that many senders have an account each, and
	// more share them.
	SendersMax = 1 << 14
	// NextMax is the most tasks that Meter.Next hands out at once.
	NextMax = 1 << 16
	// meterRecorders bounds the recorders of senders, and of settlers, of which each has some 60 KB of histograms: more share
	// them, so that memory does not grow with the sessions that a script opens.
	meterRecorders = 64
)

// MeterConfig says what load a Meter takes the figures of.
type MeterConfig struct {
	// Workload is that of the load: its Arrivals, InFlight and Batch count, and its Producers, over whose number the start of
	// a closed load is spread.
	Workload scenario.Workload
	// Phases are those of the load. A Window of 0 has no end; arrivals must be closed then. The warm-up takes Warmup.
	Phases scenario.Phases
	// Ledger is a new ledger, of SendersMax or fewer.
	Ledger *ledger.Ledger
	// Epoch is when the warm-up begins. It may lie a little in the future. The zero time leaves that to Meter.Begin.
	Epoch time.Time

	// pause is what waits for the next task of an open load to be due; nil: a timer of the kernel.
	pause pauser
}

// Meter takes the figures of a load whose calls somebody else makes: it says when tasks are due, seals them, enters them
// in the ledger, and records what became of them by the rules of Run for a load that persists. Its methods are safe for
// concurrent use, but for Outcome.
type Meter struct {
	accounting
	workload scenario.Workload
	phases   scenario.Phases
	endless  bool
	places   *places

	ctx    context.Context // of what waits
	cancel context.CancelFunc
	kernel *kernelPause // nil for a closed load
	early  atomic.Int64 // calls of Next before the load began

	beginning sync.Once
	start     int64 // when the load begins, since the epoch

	mu        sync.Mutex // guards what follows, and what it points to only where it says so
	senders   int
	settlers  int
	sending   []*sendRecorder // at most meterRecorders, as are these
	settling  []*settleRecorder
	failed    Refusals
	looked    time.Time // when Done last looked at the ledger
	remainder remainder
	finished  time.Time // zero before the end
	drained   bool
	draining  bool
}

// NewMeter returns a meter, or all that is wrong with a configuration. What waits ends when ctx is done. Close it when it is
// not needed any more.
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

// Begin sets when the warm-up of a meter without an epoch begins, and which share of the arrivals is the meter's own: above 0
// and up to 1. The ledger has the tasks that were sent before, no window has them. Only the first call counts.
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

// begun reports whether it is known when the load begins. Only then may be read what Begin sets.
func (m *Meter) begun() bool {
	select {
	case <-m.window.known:
		return true
	default:
		return false
	}
}

// Close ends what waits, and frees the meter's timers. Its figures can still be read.
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

// Now returns the time, in nanoseconds since the epoch, before which it is negative.
func (m *Meter) Now() int64 { return m.clock.now() }

// Next waits until tasks are to be sent, and returns when each of up to n was due, in nanoseconds since the epoch; n is
// 1 to NextMax. In an open load those are returned that are due by now, and the wait is for the first. In a closed load
// tasks are due at once, or with an in-flight limit once fewer tasks are in flight: then for at most Batch of them.
// It returns none when the window is over, and before the load begins waits for that. Each place that it hands out is for one task:
// see Sender.Seal. The error is that of ctx, or of the meter being closed.
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

// awaitStart waits for the load to begin, and a little longer in those that wait for it: they begin as producers of Run do.
// It returns false when ctx is done before.
func (m *Meter) awaitStart(ctx context.Context) bool {
	if m.clock.now() >= m.start {
		return ctx.Err() == nil
	}
	producers := max(m.workload.Producers, 1)
	number := int((m.early.Add(1) - 1) % int64(producers))
	return m.clock.sleepUntil(ctx, m.start+stagger(m.phases.Warmup, number, producers))
}

// Progress returns how far the load is, as Hooks.Progress gets it.
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

// Failed counts a call that failed and that is neither an enqueue nor a completion. One that was cancelled counts for
// nothing.
func (m *Meter) Failed(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed.note(1, err)
}

// Done reports whether the load is over: the window is over and no task is outstanding, or the time of the drain is up. Done
// waits for tasks of unknown outcome as long as others are completed. The load ends when Done first returns true. A load with an
// endless window is not over before Finish was called.
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
		return false // looking takes a while, and every VU asks
	}
	m.looked = at
	left := m.left()
	if m.remainder.none(left, at) || up {
		m.end(at, left)
	}
	return !m.finished.IsZero()
}

// left are the ledger's totals, and beside them the tasks that may still be sent.
func (m *Meter) left() ledger.Totals {
	t, unused := m.ledger.Totals(), uint64(m.places.count())
	t.Outstanding += unused
	t.Doubtful += unused
	return t
}

// Finish says that the load has ended, if it had not before: nothing is sent or completed any more.
func (m *Meter) Finish() {
	m.Begin(time.Now(), 1) // of a load that never began all is unsent
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finished.IsZero() {
		m.end(m.clock.at(m.clock.now()), m.left())
	}
}

// end notes when the load ended, whether nothing was outstanding, and whether it was still draining. mu is held.
func (m *Meter) end(at time.Time, left ledger.Totals) {
	m.finished = at
	over := m.endless || m.clock.now() >= m.window.end()
	m.drained = over && left.Outstanding == left.Doubtful
	m.draining = over && !m.drained && m.remainder.moving(at)
}

// Outcome returns what was measured so far. No call of a sender or settler, or of Next, may be under way. It may be called
// at any later time again. A window without an end is over when the load has ended, or now.
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
