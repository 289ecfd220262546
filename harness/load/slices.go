package load

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	// SliceMax bounds the length of a slice.
	SliceMax = time.Minute
	// SliceDrainMax bounds how long tasks may remain in flight after a slice's end.
	SliceDrainMax = 10 * time.Second
	// sliceArrivalsMax bounds the arrivals of an open-loop slice.
	sliceArrivalsMax = 1 << 22
	// openLead is the time between the announcement and the start of an open-loop slice. Producers
	// use it to prepare.
	openLead = time.Millisecond
	// forever is a deadline that no load reaches. It is small enough to add a margin without
	// overflow.
	forever = math.MaxInt64 / 2
)

// Slices is a load that is sent in slices. Between slices no task is in flight, but the sessions,
// producers and worker slots stay alive. Slices is not safe for concurrent use.
type Slices struct {
	round *round
	next  *shift
	// parked is the number of producers that wait for the next slice. quiet receives an element
	// when all producers are parked and the number of tasks in flight reaches 0.
	parked atomic.Int64
	quiet  chan struct{}

	// The following fields are sums over the open-loop slices so far.
	due            uint64 // arrivals
	slip           latencies
	cycle, enqueue *hdrhistogram.Histogram
}

// shift is the work that all producers do in one slice. The fields are set before begun is closed.
type shift struct {
	begun   chan struct{}
	produce func(*producer)
	next    *shift
}

// OpenSlices opens the sessions of a load and starts its producers and worker slots, which wait for
// the first slice. It reads only Workload, Conns and Ledger of cfg. The slices decide when tasks
// are sent; Workload.Arrivals is ignored. The caller must call End. The load ends when a call
// fails, when tasks stay in flight for too long, or when ctx is done.
func OpenSlices(ctx context.Context, cfg Config) (*Slices, error) {
	cfg.Workload.Arrivals = scenario.Arrivals{Kind: scenario.Closed}
	cfg.Phases, cfg.Hooks, cfg.Persist = scenario.Phases{}, Hooks{}, false
	if w := cfg.Workload; w.Producers < 1 || w.Workers < 1 {
		return nil, fmt.Errorf("load: workload.producers is %d and workload.workers is %d; slices need at least 1 of each", w.Producers, w.Workers)
	}
	r, err := newStage(ctx, cfg, "", forever)
	if err != nil {
		return nil, err
	}
	s := &Slices{
		round: r, next: &shift{begun: make(chan struct{})}, quiet: make(chan struct{}, 1),
		slip: newLatencies(), cycle: result.NewHistogram(), enqueue: result.NewHistogram(),
	}
	r.untimed, r.sliced = false, true
	r.window.move(nowhere)
	if err := r.open(r.openProducers, r.openSlots); err != nil {
		r.cancel()
		return nil, err
	}
	pause, err := r.newPause()
	if err != nil {
		r.cancel()
		return nil, err
	}
	bound := math.MaxInt
	if most := cfg.Workload.InFlight; most > 0 {
		bound = most
		r.limit = newInFlightLimit(most, cfg.Workload.EnqueueBatch())
	}
	r.begin()
	r.schedule = newSchedule(r.clock, bound, pause)
	r.schedule.emptied = s.emptied
	s.parked.Store(int64(len(r.producers)))
	first := s.next
	r.start(func(p *producer) { s.work(p, first) })
	return s, nil
}

// work calls the produce function of each slice for one producer until the load ends. The first
// slice is first.
func (s *Slices) work(p *producer, first *shift) {
	for at := first; ; at = at.next {
		select {
		case <-at.begun:
		case <-s.round.calls.Done():
			return
		}
		at.produce(p)
		s.parked.Add(1)
		s.emptied()
	}
}

// emptied wakes drain if all producers are parked.
func (s *Slices) emptied() {
	if s.parked.Load() < int64(len(s.round.producers)) {
		return
	}
	select {
	case s.quiet <- struct{}{}:
	default:
	}
}

// Slice sends tasks in a closed loop for the given time, then waits until no task is in flight. It
// returns the number of completed cycles and the total time. If Slice returns an error, the load
// has ended.
func (s *Slices) Slice(ctx context.Context, length time.Duration) (cycles uint64, took time.Duration, err error) {
	if err := s.check(length); err != nil {
		return 0, 0, err
	}
	r := s.round
	before := r.ledger.Totals().Completed
	start := r.clock.now()
	end := start + int64(length)
	// This window contains no instant: a closed slice records no latencies.
	r.window.move(span{start: never, end: end})
	r.schedule.window = nowhere
	if r.limit != nil {
		r.limit.begin(length)
	}
	s.begin(func(p *producer) { p.runClosed(r.calls) })
	drained, err := s.drain(ctx, end)
	return r.ledger.Totals().Completed - before, time.Duration(drained - start), err
}

// OpenSlice sends tasks at the random times of a Poisson process for the given time, then waits
// until no task is in flight. perSecond is the mean rate; the seed determines the times. If a task
// is not completed by the slice's end, its latency is censored there. If OpenSlice returns an
// error, the load has ended.
func (s *Slices) OpenSlice(ctx context.Context, seed uint64, perSecond float64, length time.Duration) error {
	if err := s.check(length); err != nil {
		return err
	}
	if arrivals := perSecond * length.Seconds(); !(perSecond > 0) || arrivals > sliceArrivalsMax {
		return fmt.Errorf("load: an open-loop slice of %v at %v arrivals a second; the rate must be positive, with at most %d arrivals",
			length, perSecond, sliceArrivalsMax)
	}
	arrivals := newPoisson(seed, perSecond, length)
	r := s.round
	start := r.clock.now() + int64(openLead)
	window := span{start: start, end: start + int64(length)}
	r.window.move(window)
	r.schedule.begin(start, window, arrivals)
	s.begin(func(p *producer) { p.runOpen(r.calls, r.schedule) })
	if _, err := s.drain(ctx, window.end); err != nil {
		return err
	}
	s.due += r.schedule.scheduled()
	r.schedule.unsent(&r.schedule.censored, &s.slip)
	s.collect()
	return nil
}

// collect moves the latencies of an open-loop slice from the recorders of producers and slots to s.
// No task may be in flight.
func (s *Slices) collect() {
	for _, slot := range s.round.slots {
		slot.record.cycle.moveInto(s.cycle)
	}
	for _, p := range s.round.producers {
		p.record.latency.moveInto(s.enqueue)
	}
	// A task that was not sent or was refused has a censored latency for the enqueue as well as for
	// the cycle.
	s.round.schedule.censored.mergeInto(s.enqueue)
	s.round.schedule.censored.moveInto(s.cycle)
}

func (s *Slices) check(length time.Duration) error {
	if length <= 0 || length > SliceMax {
		return fmt.Errorf("load: a slice of %v; it must be above 0 and at most %v", length, SliceMax)
	}
	if s.round.caller.Err() != nil {
		return s.round.orCause(nil)
	}
	return s.round.failure.err()
}

func (s *Slices) begin(produce func(*producer)) {
	select {
	case <-s.quiet: // left over from the last slice
	default:
	}
	s.parked.Store(0)
	now := s.next
	s.next = &shift{begun: make(chan struct{})}
	now.produce, now.next = produce, s.next
	close(now.begun)
}

// drain waits for the end of a slice, and then until no task is in flight. drained is the time when
// this was the case. If tasks are still in flight SliceDrainMax after the end, the load fails.
func (s *Slices) drain(ctx context.Context, end int64) (drained int64, err error) {
	r := s.round
	look := time.NewTimer(r.clock.until(end))
	defer look.Stop()
	for {
		select {
		case <-s.quiet:
		case <-look.C:
			// If the payload of a completed task is unreadable, the load appears quiet too early.
			look.Reset(drainPoll)
		case <-r.failure.failed:
			return r.clock.now(), r.failure.err()
		case <-r.caller.Done():
			r.failure.set(r.orCause(nil))
		case <-ctx.Done():
			r.failure.set(fmt.Errorf("load: a slice was stopped: %w", context.Cause(ctx)))
		}
		now := r.clock.now()
		calls, tasks := int64(len(r.producers))-s.parked.Load(), r.ledger.Totals().Outstanding
		switch {
		case now < end:
		case calls == 0 && tasks == 0:
			return now, r.failure.err()
		case now >= end+int64(SliceDrainMax):
			r.failure.set(fmt.Errorf("load: %v after a slice's end, %d tasks were not completed and %d producers had no answer; the target stalls or lost tasks",
				SliceDrainMax, tasks, calls))
		}
	}
}

// End stops the load and returns the measurements of the open-loop slices, or nil if there was
// none. If the load has failed, End returns its error. No goroutine remains, unless a driver call
// does not return after its context is done; End then returns an error.
func (s *Slices) End() (*result.DuetLatency, error) {
	r := s.round
	defer r.cancel()
	if err := r.end(r.failure.err() == nil); err != nil {
		return nil, err
	}
	if s.due == 0 {
		return nil, nil
	}
	finished := uint64(0)
	for _, slot := range r.slots {
		finished += slot.record.finished
	}
	slip := result.NewHistogram()
	r.schedule.slip.mergeInto(slip)
	s.slip.mergeInto(slip)
	d := &result.DuetLatency{Arrivals: s.due, Unfinished: s.due - min(s.due, finished), Enqueue: &result.DuetEnqueue{}}
	for _, p := range []struct {
		of         *hdrhistogram.Histogram
		percentile float64
		into       *float64
	}{
		{s.cycle, 50, &d.P50Ms},
		{s.cycle, 95, &d.P95Ms},
		{s.cycle, 99, &d.P99Ms},
		{s.enqueue, 50, &d.Enqueue.P50Ms},
		{s.enqueue, 95, &d.Enqueue.P95Ms},
		{s.enqueue, 99, &d.Enqueue.P99Ms},
		{slip, 99, &d.SlipMsP99},
	} {
		*p.into = float64(p.of.ValueAtPercentile(p.percentile)) / 1e6
	}
	return d, nil
}

// Refused returns the refusals of all slices. It must be called after End.
func (s *Slices) Refused() (enqueues, completions Refusals) {
	for _, p := range s.round.producers {
		enqueues.Add(p.record.refused)
	}
	for _, slot := range s.round.slots {
		completions.Add(slot.record.refused)
	}
	return enqueues, completions
}
