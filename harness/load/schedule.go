package load

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// schedule says when the tasks of an open load are due: task 0 at the window's start, earlier tasks in the warm-up. Intended
// starts are computed from the window's start, so a late task delays no later one: this avoids coordinated omission.
//
// One producer at a time waits for the next due task, takes it, and lets another producer wait while it makes its call. A task
// that is due while all producers make calls is sent late, and its latency counts from its intended start.
type schedule struct {
	clock  clock
	window span
	pacer  pacer
	bound  int64 // the in-flight limit: tasks sent and not settled
	pause  pauser
	// emptied is called when nothing is in flight any more; nil where that does not matter.
	emptied func()

	inFlight atomic.Int64
	free     freeTime
	turn     chan struct{} // has an element when no producer waits

	beat heartbeat

	// The producer that has the turn reads and writes the following fields.
	next    int64 // the number of the task due next
	taken   int64 // when tasks were last taken
	debt    int64 // what owed returned then
	slip    latencies
	held    uint64 // tasks of the window that were due before a producer was free
	dropped uint64 // tasks of the window that were never sent, because the in-flight limit was reached
	idle    int64  // since when a producer was free at the window's end, with tasks due; after it if none was

	mu       sync.Mutex
	censored latencies // of tasks that were dropped, refused or not sent: their latency is at least until the window's end
	refused  uint64
	// For a Meter: the tasks of the window that were withdrawn, and the unused places; nil for Run.
	withdrawn uint64
	unused    *places
}

// newSchedule returns a schedule; begin starts it.
func newSchedule(c clock, bound int, p pauser) *schedule {
	s := &schedule{
		clock: c, bound: int64(bound), pause: p,
		turn: make(chan struct{}, 1), slip: newLatencies(), censored: newLatencies(),
	}
	s.turn <- struct{}{}
	return s
}

// begin starts the schedule at a time. It must come before any other call, and may come again when no producer uses the schedule.
func (s *schedule) begin(from int64, window span, p pacer) {
	s.window, s.pacer, s.idle = window, p, window.end
	s.next = int64(math.Ceil(p.count(float64(from - window.start))))
	s.taken, s.debt = from, 0
	s.beat.start(from)
}

// at returns when task k is due, in nanoseconds since the epoch.
func (s *schedule) at(k int64) int64 {
	return s.window.start + int64(math.Floor(s.pacer.due(float64(k))))
}

// take waits until a task is due, takes the tasks that are due, at most len(into), and writes their intended starts into into. It
// returns 0 when the window is over or ctx is done.
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

// takeDue takes the tasks that are due now, and drops those beyond the in-flight limit.
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
				if late >= int64(lossLeast) { // the limit was reached because the tasks came all at once
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
	// lossLeast is the shortest time lost by the generator that later tasks inherit. A producer always needs a little time from one call to
	// the next, and over the calls of a server that is behind all window long this sums up to more than any stop.
	lossLeast = time.Millisecond
	// lossShare: the generator answers for a wait if it caused at least this share of the wait, one part in so many. Otherwise the server
	// is so far behind that the task would have waited anyway.
	lossShare = 10
)

// owed returns the time that the generator has lost since its queue was last empty: by so much earlier could it send the first due
// task. The generator loses time in two ways: a task is due and a producer is free, or its process does not run. Due tasks form a queue
// then, and all tasks of that queue inherit the loss. Each waits for an answer, but the server is not the cause. The loss is never longer
// than the wait of the first task, so it ends with the queue.
func (s *schedule) owed(now, free int64) int64 {
	first := s.at(s.next)
	since := max(first, s.taken)
	lost := max(now-max(since, free), s.beat.stopped(since, now))
	if lost < int64(lossLeast) {
		lost = 0
	}
	return min(now-first, s.debt+lost)
}

// lateness returns by how much the generator, and not the server, is late with a task that is sent now. Before a producer was free the
// server was the cause, except for what the generator owes.
func lateness(due, now, free, debt int64) int64 {
	wait := now - due
	late := now - max(due, free)
	if inherited := min(wait, debt); inherited >= wait/lossShare {
		return max(late, inherited)
	}
	return late
}

// freeTime keeps since when at least one producer has been without a call in flight.
type freeTime struct {
	mu    sync.Mutex
	n     int // producers without a call
	start int64
}

// enter says that a producer has no call under way.
func (f *freeTime) enter(c clock) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 {
		f.start = c.now()
	}
	f.n++
}

// leave says that one makes a call.
func (f *freeTime) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n--
}

// since is asked by a producer without a call.
func (f *freeTime) since() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.start
}

// sent says that n tasks are in flight now.
func (s *schedule) sent(n int) { s.inFlight.Add(int64(n)) }

// settled says that n of the tasks in flight will not be heard of again.
func (s *schedule) settled(n int) {
	if s.inFlight.Add(-int64(n)) <= 0 && s.emptied != nil {
		s.emptied()
	}
}

// censor enters the latency of a task that is known only to exceed what was left of the window when it was due.
func (s *schedule) censor(due int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.censored.record(s.window.end-due, 1)
}

// refuse notes that the server refused a task of the window.
func (s *schedule) refuse(due int64) {
	s.censor(due)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
}

// withdraw notes that a task that was taken has not been sent after all.
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

// abandoned enters the tasks of the window that were taken and never sent.
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

// censorsMax is how many tasks that no producer took are recorded one by one.
const censorsMax = 1 << 20

// unsent records the tasks of the window that no producer took, as censored at the window's end. All producers must have ended. Tasks
// that were due while a producer was free, or behind a stop of the generator, slipped until the window's end. Beyond censorsMax, tasks that
// were due within a millionth of the window are recorded together.
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

// scheduled is how many tasks are due inside the window.
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
