package queue

import (
	"fmt"
	"math"
)

// A queue gets a stored record with its first task, policy or pause. A claim of a queue that does
// not exist stores nothing: the queue exists only in memory, until no waiter waits for its first
// task.
//
// A queue that is not used for Config.trimAfterMs frees its memory. An empty queue that was never
// configured is deleted Config.IdleMs after its last use. A deleted queue's number is never issued
// again.

const (
	// visitsMax limits the number of unused queues that one Tick visits.
	visitsMax = 256
	// recovered is the deadline in queues.idle of a queue that was not visited since the recovery.
	recovered = math.MinInt64
)

// Delete removes a queue without tasks, and its policy. It returns ErrQueueNotEmpty if the queue
// has tasks or recurring tasks. Results and idempotency keys of its tasks can no longer be found, but stay stored
// until they expire. Waiters of the queue continue to wait, for a new queue of the same name.
func (s *State) Delete(q *Queue) error {
	if held := q.record.Counts.held(); held > 0 {
		return fmt.Errorf("%w: it has %d tasks", ErrQueueNotEmpty, held)
	}
	if q.record.Dependencies != (DependencyCounts{}) {
		return ErrEndsPending
	}
	if n := len(s.recurring.ofQueue(q)); n > 0 {
		return fmt.Errorf("%w: it has %d recurring tasks", ErrQueueNotEmpty, n)
	}
	s.trim(q)
	s.removeLanes(q)
	s.dropHistory(q)
	s.limiter.forget(q)
	s.deleteRecord(q)
	return nil
}

// visitIdle visits a bounded number of queues whose deadline in queues.idle has passed: it trims or
// deletes them.
func (s *State) visitIdle() {
	for range visitsMax {
		q, ok := s.idle.next()
		if !ok || q.idleMs > s.nowMs {
			return
		}
		if q.idleMs == recovered {
			q.keep(s.nowMs + int64(s.cfg.IdleMs))
		}
		s.trim(q)
		switch {
		case !q.removable() || len(s.recurring.ofQueue(q)) > 0:
			s.idle.remove(q) // until the queue is used again
		case s.nowMs < q.removableMs:
			q.idleMs = q.removableMs
			s.idle.set(q)
		default:
			_ = s.Delete(q) // cannot fail: the queue is removable
		}
	}
}

// trim frees the memory of a queue's empty windows and lanes, and of its leases if it has none.
func (s *State) trim(q *Queue) {
	s.trimLanes(q)
	if q.record.Counts.Leased == 0 {
		if last := q.leased.last; last != nil {
			s.pages.dropPage(&q.leased, last)
		}
		q.leased = leasedRefs{}
	}
}
