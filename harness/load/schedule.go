package load

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// schedule defines the intended starts of the tasks of an open load. Task 0 is due at the window's
// start; tasks with negative numbers are due in the warm-up. Intended starts are computed from the
// window's start, so a late task does not delay later ones: this avoids coordinated omission.
//
// One producer at a time has the turn: it waits for the next due task and takes it. It then passes
// the turn to another producer and makes its call. If a task becomes due while all producers make
// calls, it is sent late, and its latency is measured from its intended start.
type schedule struct {
	clock  clock
	window span
	pacer  pacer
	bound  int64 // the in-flight limit: maximum number of tasks that are sent and not settled
	pause  pauser
	// emptied is called when no task remains in flight. It may be nil.
	emptied func()

	inFlight atomic.Int64
	free     freeTime
	turn     chan struct{} // has one element if no producer has the turn

	beat heartbeat

	// Only the producer that has the turn may use the following fields.
	next    int64 // number of the next due task
	taken   int64 // when tasks were last taken
	debt    int64 // result of owed at the time taken
	slip    latencies
	held    uint64 // tasks of the window that were due before a producer was free
	dropped uint64 // tasks of the window that were not sent because the in-flight limit was reached
	// idle is set at the window's end if tasks are due. It is the time since which at least one
	// producer has been free. If no producer is free then, idle is the window's end.
	idle int64

	mu sync.Mutex
	// censored contains the latencies of tasks that were dropped, refused or not sent. Each is the
	// time to the window's end, which is a lower bound.
	censored latencies
	refused  uint64
	// withdrawn and unused are used only by a Meter. withdrawn is the number of the window's tasks
	// that were withdrawn; unused contains the unused places, and is nil for Run.
	withdrawn uint64
	unused    *places
}

// newSchedule returns a schedule. begin must be called before it is used.
func newSchedule(c clock, bound int, p pauser) *schedule {
	s := &schedule{
		clock: c, bound: int64(bound), pause: p,
		turn: make(chan struct{}, 1), slip: newLatencies(), censored: newLatencies(),
	}
	s.turn <- struct{}{}
	return s
}

// begin starts the schedule at the given time. It must be called before any other method. It may be
// called again while no producer uses the schedule.
func (s *schedule) begin(from int64, window span, p pacer) {
	s.window, s.pacer, s.idle = window, p, window.end
	s.next = int64(math.Ceil(p.count(float64(from - window.start))))
	s.taken, s.debt = from, 0
	s.beat.start(from)
}

func (s *schedule) at(k int64) int64 {
	return s.window.start + int64(math.Floor(s.pacer.due(float64(k))))
}

// take waits for the next due task, takes up to len(into) due tasks, and writes their intended
// starts to into. It returns 0 if the window has ended or ctx is done.
func (s *schedule) take(ctx context.Context, into []int64) (n int) {
	s.free.enter(s.clock)
	defer s.free.leave()
	select {
	case <-s.turn:
	case <-ctx.Done():
		return 0
	}
	defer func() { s.turn <- struct{}{} }()
	now := s.clock.now()
	for n == 0 {
		due := s.at(s.next)
		if due >= s.window.end {
			return 0
		}
		for now < due {
			s.pause.pause(ctx, due-now)
			if ctx.Err() != nil {
				return 0
			}
			now = s.clock.now()
		}
		if now >= s.window.end {
			s.idle = min(s.idle, s.free.since())
			return 0
		}
		n = s.takeDue(now, into)
	}
	return n
}

// takeDue takes the due tasks, and drops the due tasks that exceed the in-flight limit.
func (s *schedule) takeDue(now int64, into []int64) (n int) {
	allowed, free := s.bound-s.inFlight.Load(), s.free.since()
	s.beat.saw(now)
	s.debt = s.owed(now, free)
	for range into {
		due := s.at(s.next)
		if due > now || due >= s.window.end {
			break
		}
		s.next++
		inside, late := due >= s.window.start, lateness(due, now, free, s.debt)
		if int64(n) >= allowed {
			if inside {
				s.dropped++
				s.censor(due)
				// The tasks were late, so they arrived in a burst, and the burst reached the limit.
				if late >= int64(lossLeast) {
					s.slip.record(late, 1)
				}
			}
			continue
		}
		into[n] = due
		n++
		if inside {
			s.slip.record(late, 1)
			if due < free {
				s.held++
			}
		}
	}
	s.taken = now
	s.sent(n)
	return n
}

const (
	// lossLeast is the shortest loss of the generator's time that is passed on to later tasks. A
	// producer always needs some time between two calls. If a server lags during the whole window,
	// these short times add up to more than any stop, so they are ignored.
	lossLeast = time.Millisecond
	// lossShare decides whether the generator is responsible for a wait. It is responsible if it
	// caused at least 1/lossShare of the wait. Otherwise the server lags so far behind that the
	// task would have waited anyway.
	lossShare = 10
)

// owed returns the time that the generator has lost since its queue was last empty. Without this
// loss it could have sent the first due task earlier by the same time. The generator loses time if
// a task is due and a producer is free, or if the generator's process does not run. The due tasks
// then form a queue, and all tasks of that queue inherit the loss: each waits for the answers
// before it, but the server is not the cause. The loss is at most the wait of the first task, so it
// ends with the queue.
func (s *schedule) owed(now, free int64) int64 {
	first := s.at(s.next)
	since := max(first, s.taken)
	lost := max(now-max(since, free), s.beat.stopped(since, now))
	if lost < int64(lossLeast) {
		lost = 0
	}
	return min(now-first, s.debt+lost)
}

// lateness returns the part of a task's delay that the generator caused, if the task is sent now.
// The server caused the delay until a producer was free, except for the generator's debt.
func lateness(due, now, free, debt int64) int64 {
	wait := now - due
	late := now - max(due, free)
	if inherited := min(wait, debt); inherited >= wait/lossShare {
		return max(late, inherited)
	}
	return late
}

// freeTime records the time since which at least one producer has had no call in flight.
type freeTime struct {
	mu    sync.Mutex
	n     int // producers without a call in flight
	start int64
}

func (f *freeTime) enter(c clock) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 {
		f.start = c.now()
	}
	f.n++
}

func (f *freeTime) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n--
}

// since returns the start of the current free time. The caller must be a producer without a call in
// flight.
func (f *freeTime) since() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.start
}

func (s *schedule) sent(n int) { s.inFlight.Add(int64(n)) }

// settled subtracts n from the number of tasks in flight. It is called when no further answer about
// the n tasks can arrive.
func (s *schedule) settled(n int) {
	if s.inFlight.Add(-int64(n)) <= 0 && s.emptied != nil {
		s.emptied()
	}
}

// censor records the time from a task's intended start to the window's end. It is a lower bound of
// the task's latency.
func (s *schedule) censor(due int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.censored.record(s.window.end-due, 1)
}

func (s *schedule) refuse(due int64) {
	s.censor(due)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
}

func (s *schedule) withdraw(due int64) {
	s.settled(1)
	if due < s.window.start {
		return
	}
	s.censor(due)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withdrawn++
}

// abandoned records the tasks of the window that a producer took and never sent, and returns their
// number.
func (s *schedule) abandoned(censored *latencies) (n uint64) {
	if s.unused == nil {
		return 0
	}
	s.unused.each(func(due int64, tasks int) {
		if due >= s.window.start {
			censored.record(s.window.end-due, tasks)
			n += uint64(tasks)
		}
	})
	return n
}

// censorsMax bounds the number of values that unsent records.
const censorsMax = 1 << 20

// unsent records the tasks of the window that no producer took, and returns their number. Their
// latencies are censored at the window's end. All producers must have ended. If a task was due
// while a producer was free, or was delayed by a stop of the generator, its slip lasts until the
// window's end. If there are more than censorsMax tasks, unsent records consecutive tasks together,
// so that it records at most about censorsMax values.
func (s *schedule) unsent(censored, slip *latencies) (n uint64) {
	first := max(s.next, 0)
	last := first + max(0, int64(s.scheduled())-first)
	stride := (last-first)/censorsMax + 1
	debt := s.owed(s.window.end, s.idle)
	for k := first; k < last; k += stride {
		due, tasks := s.at(k), int(min(stride, last-k))
		censored.record(s.window.end-due, tasks)
		if late := lateness(due, s.window.end, s.idle, debt); late > 0 {
			slip.record(late, tasks)
		}
	}
	return uint64(last - first)
}

// scheduled returns the number of intended starts inside the window.
func (s *schedule) scheduled() uint64 {
	k := int64(s.pacer.count(float64(s.window.end - s.window.start)))
	for k > 0 && s.at(k-1) >= s.window.end {
		k--
	}
	for s.at(k) < s.window.end {
		k++
	}
	return uint64(k)
}
