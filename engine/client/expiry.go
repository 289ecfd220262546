package client

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// expiredError means that the server refused to settle a task after the task's lease had expired.
type expiredError struct{ refused error }

func (e *expiredError) Error() string   { return fmt.Sprintf("%v: %v", ErrLeaseExpired, e.refused) }
func (e *expiredError) Unwrap() []error { return []error{ErrLeaseExpired, e.refused} }

// WorkerStats are counters of expired leases since a worker session was opened.
type WorkerStats struct {
	// LeasesExpired is the number of leases that expired before the server confirmed a settlement.
	// Either the handler took too long or never settled the task, or Receive did not return the
	// task in time. The server delivers these tasks again.
	LeasesExpired uint64
	// ExpiredUnreceived is the number of these tasks that Receive never returned. If it grows, the
	// session has more slots than its handlers can use.
	ExpiredUnreceived uint64
}

// Stats returns the counters. It may be called concurrently with other methods.
func (w *Worker) Stats() WorkerStats {
	return WorkerStats{LeasesExpired: w.slots.expiry.expired.Load(), ExpiredUnreceived: w.slots.expiry.unreceived.Load()}
}

// sweepEvery is the minimum time between two sweeps of expired leases.
const sweepEvery = 20 * time.Millisecond

// endedMin is the number of expired leases that a session remembers. A session with more slots
// remembers one lease per slot.
const endedMin = 1_024

// expiry ends leases that expire while the worker has their tasks. All times are durations since
// began, by the session's monotonic clock. The server sends each task with the remaining time of
// its lease. The client measures that time from the arrival of the task, so it never ends a lease
// before the server does. The mutex of leases guards all fields except began, drop and the
// counters.
type expiry struct {
	began time.Time
	// drop removes tasks that wait for Receive, and returns the leases of the removed tasks.
	drop func(over map[leaseKey]struct{}) []leaseKey

	timer   *time.Timer
	due     time.Duration // time at which the timer fires; 0 if it is not set
	stopped bool
	ended   endedLeases

	expired, unreceived atomic.Uint64
}

// leaseKey identifies a lease.
type leaseKey struct {
	id    string
	token uint64
}

// endedLeases contains the leases that expired most recently. It is used to recognize late
// settlements.
type endedLeases struct {
	set   leaseSet
	order []leaseKey // in order of expiry; a ring once it is full
	next  int        // index of the oldest element of the full ring
}

// add adds a lease. If there are then more than max, it removes the oldest one.
func (e *endedLeases) add(k leaseKey, max int) {
	if len(e.order) < max {
		e.order = append(e.order, k)
	} else {
		e.set.remove(e.order[e.next].id, e.order[e.next].token)
		e.order[e.next] = k
		e.next = (e.next + 1) % max
	}
	e.set.put(lease{id: k.id, token: k.token})
}

func (x *expiry) now() time.Duration { return time.Since(x.began) }

// holdsUntil returns the expiry time of a lease that arrives now. expiresMs is the end of the
// lease, and serverMs the time when the server sent it, both by the server's clock. If serverMs is
// 0, the server does not send its time, and holdsUntil returns 0, which means never.
func holdsUntil(now time.Duration, expiresMs, serverMs int64) time.Duration {
	const leaseMsMax = 1 << 40 // in milliseconds: more than thirty years
	if serverMs == 0 || expiresMs == 0 {
		return 0
	}
	return max(now+time.Duration(min(max(expiresMs-serverMs, 0), leaseMsMax))*time.Millisecond, 1)
}

// expires makes the timer fire when a lease expires at the given time, unless it fires earlier
// anyway.
func (s *slots) expires(at time.Duration) {
	x := &s.expiry
	if at == 0 || x.stopped || x.due != 0 && x.due <= at {
		return
	}
	x.due = at
	wait := max(at-x.now(), sweepEvery)
	if x.timer == nil {
		x.timer = time.AfterFunc(wait, s.sweep)
		return
	}
	x.timer.Reset(wait)
}

// sweep ends leases that have expired: Receive no longer returns their tasks, and their slots
// become free.
func (s *slots) sweep() {
	x := &s.expiry
	s.leases.mu.Lock()
	expired := map[leaseKey]struct{}{}
	now := x.now()
	for i := range s.leases.entries {
		if l := &s.leases.entries[i]; l.over(now) {
			expired[leaseKey{l.id, l.token}] = struct{}{}
		}
	}
	s.leases.mu.Unlock()
	unreceived := 0
	if len(expired) > 0 {
		// Drop the tasks before their slots become free, since the server may fill free slots
		// immediately.
		unreceived = len(x.drop(expired))
	}
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	count, freed := 0, false
	for k := range expired {
		// The lease may have been settled or extended after the search above.
		if i := s.leases.find(k.id, k.token); i >= 0 && s.leases.entries[i].over(now) {
			cancelled := s.leases.entries[i].cancelled
			s.freeLease(k.id, k.token)
			freed = true
			if cancelled { // its lease did not expire
				continue
			}
			x.ended.add(k, max(endedMin, int(s.total)))
			count++
		}
	}
	x.expired.Add(uint64(count))
	x.unreceived.Add(uint64(unreceived))
	if freed {
		s.grantSpare()
	}
	next := time.Duration(0)
	for i := range s.leases.entries {
		if l := &s.leases.entries[i]; l.until != 0 && (next == 0 || l.until < next) {
			next = l.until
		}
	}
	x.due = 0
	s.expires(next)
}

func (s *slots) stopExpiry() {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	s.expiry.stopped = true
	if s.expiry.timer != nil {
		s.expiry.timer.Stop()
	}
}

// tooLate wraps a refusal as ErrLeaseExpired if the session knows that the lease had expired. The
// caller must hold the mutex.
func (s *slots) tooLate(t *queuepb.Task, err error) error {
	if !errors.Is(err, ErrStaleToken) && !errors.Is(err, ErrNotFound) || errors.Is(err, ErrLeaseExpired) || errors.Is(err, ErrCancelled) {
		return err
	}
	i := s.leases.find(t.GetId(), t.GetToken())
	if i >= 0 && s.leases.entries[i].over(s.expiry.now()) || s.expiry.ended.set.find(t.GetId(), t.GetToken()) >= 0 {
		return &expiredError{err}
	}
	return err
}

// extended records that the server has extended a lease or, if confirmed is false, may have
// extended it. The caller must hold the mutex.
func (s *slots) extended(t *queuepb.Task, leaseMs uint64, confirmed bool) {
	i := s.leases.find(t.GetId(), t.GetToken())
	if i < 0 || s.leases.entries[i].until == 0 {
		return
	}
	until := s.expiry.now() + time.Duration(leaseMs)*time.Millisecond
	if !confirmed {
		until = max(until, s.leases.entries[i].until)
	}
	s.leases.entries[i].until = until
	s.expires(until)
}

// LeaseLeft returns the remaining time of a task's lease by the session's monotonic clock. The error
// is ErrCancelled if the server has reported that the task was cancelled, and ErrStaleToken if the
// lease has ended, or if the session does not know when it ends.
func (w *Worker) LeaseLeft(t *queuepb.Task) (time.Duration, error) {
	w.slots.leases.mu.Lock()
	defer w.slots.leases.mu.Unlock()
	i := w.slots.leases.find(t.GetId(), t.GetToken())
	if i < 0 || w.slots.leases.entries[i].until == 0 {
		return 0, ErrStaleToken
	}
	if w.slots.leases.entries[i].cancelled {
		return 0, ErrCancelled
	}
	left := w.slots.leases.entries[i].until - w.slots.expiry.now()
	if left <= 0 {
		return 0, ErrStaleToken
	}
	return left, nil
}
