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
	// recovered is the deadline in State.idle of a queue that was not visited since the recovery.
	recovered = math.MinInt64
	// roomKept is the largest capacity, in tasks, of an empty window that shrink does not free.
	roomKept = 64
)

// queue returns the queue with a name. If there is no such queue with a record, it creates one.
func (s *State) queue(tenant, name string) (*Queue, error) {
	if q := s.last; q != nil && q.record.Name == name && q.record.Tenant == tenant {
		return q, nil
	}
	key := queueName{tenant, name}
	q := s.byName[key]
	if q == nil {
		switch n := s.perTenant[tenant]; {
		case len(s.queues) >= s.cfg.Queues:
			return nil, fmt.Errorf("%w: the shard has %d", ErrTooManyQueues, len(s.queues))
		case n >= s.cfg.QueuesPerTenant:
			return nil, fmt.Errorf("%w: tenant %q has %d in the shard", ErrTooManyQueues, tenant, n)
		}
		if err := s.charge(s.cfg.Account(tenant), QueueBytes(tenant, name)); err != nil {
			return nil, err
		}
		q = s.newQueue(Record{ID: s.meta.NextQueue, Tenant: tenant, Name: name})
		s.meta.NextQueue++
		s.touch(q)
	}
	s.last = q
	return q, nil
}

// awaited returns the queue of a name for a waiter. If the queue does not exist, awaited creates it
// without a record.
func (s *State) awaited(tenant, name string) (*Queue, error) {
	key := queueName{tenant, name}
	if q := s.byName[key]; q != nil {
		return q, nil
	}
	q := s.absent[key]
	if q == nil {
		if len(s.absent) >= s.cfg.Queues {
			return nil, fmt.Errorf("%w: %d are waited for", ErrTooManyQueues, len(s.absent))
		}
		q = &Queue{record: Record{Tenant: tenant, Name: name}, account: s.cfg.Account(tenant), index: -1}
		s.absent[key] = q
	}
	return q, nil
}

// newQueue creates the queue of a record. If waiters wait for a queue of this name that has no
// record, newQueue uses that queue, with its waiters. The rates of the queue start at zero.
func (s *State) newQueue(r Record) *Queue {
	r.NextSeq = max(r.NextSeq, s.seqMin)
	key := queueName{r.Tenant, r.Name}
	q := s.absent[key]
	if q == nil {
		q = &Queue{account: s.cfg.Account(r.Tenant), index: -1}
	}
	delete(s.absent, key)
	q.record, q.stored = r, true
	q.unsound = !r.Counts.addUp()
	q.rates.enqueuedSeen, q.rates.completedSeen = r.Counts.Enqueued, r.Counts.Completed
	q.setPolicy(r.Policy)
	s.show(q)
	s.byName[key] = q
	s.queues[r.ID] = q
	s.perTenant[r.Tenant]++
	return q
}

func (s *State) left(q *Queue) {
	q.subscriptions--
	if q.subscriptions == 0 && !q.stored {
		delete(s.absent, queueName{q.record.Tenant, q.record.Name})
	}
	s.watchIdle(q)
}

// Delete removes a queue without tasks, and its policy. It returns ErrQueueNotEmpty if the queue
// has tasks. Results and idempotency keys of its tasks can no longer be found, but stay stored
// until they expire. Waiters of the queue continue to wait, for a new queue of the same name.
func (s *State) Delete(q *Queue) error {
	if held := q.record.Counts.held(); held > 0 {
		return fmt.Errorf("%w: it has %d tasks", ErrQueueNotEmpty, held)
	}
	s.trim(q)
	for p, l := range q.lanes {
		if l != nil { // its window contains only removed tasks, or a Refill is unanswered
			s.windowsTasks -= l.fresh.len()
			s.returnedTasks -= l.returned.Len()
			s.freshRoom -= l.fresh.room()
			s.due.remove(l)
			if l.reads(StreamDue) {
				s.counting--
			}
			l.behind = false
			q.lanes[p] = nil
		}
	}
	key := queueName{q.record.Tenant, q.record.Name}
	delete(s.byName, key)
	delete(s.queues, q.record.ID)
	s.deleted, s.gone = append(s.deleted, q.record.ID), append(s.gone, q.record.ID)
	if s.perTenant[q.record.Tenant]--; s.perTenant[q.record.Tenant] == 0 {
		delete(s.perTenant, q.record.Tenant)
	}
	s.idle.remove(q)
	s.last, q.awaits = nil, false
	s.free(q).bytes += QueueBytes(q.record.Tenant, q.record.Name)
	s.reportFreed() // before the queue loses its record
	q.record, q.stored = Record{Tenant: q.record.Tenant, Name: q.record.Name}, false
	q.setPolicy(Policy{})
	q.keyedUntilS = 0
	if q.subscriptions > 0 {
		s.absent[key] = q
	}
	return nil
}

// TakeDeleted returns the numbers of the queues that were deleted since the last call.
func (s *State) TakeDeleted() []uint32 {
	gone := s.gone
	s.gone = nil
	return gone
}

// Stored reports whether the queue has a record. A queue without a record exists only for its
// waiters.
func (q *Queue) Stored() bool { return q.stored }

func (q *Queue) deadlineMs() int64 { return q.idleMs }
func (q *Queue) place() *int       { return &q.index }

func (s *State) used(q *Queue) {
	q.keep(s.nowMs + int64(s.cfg.IdleMs))
	s.watchIdle(q)
}

func (s *State) watchIdle(q *Queue) {
	if at := s.nowMs + s.cfg.trimAfterMs; q.stored && (q.index < 0 || q.idleMs > at) {
		q.idleMs = at
		s.idle.set(q)
	}
}

// visitIdle visits a bounded number of queues whose deadline in State.idle has passed: it trims or
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
		case !q.removable():
			s.idle.remove(q) // until the queue is used again
		case s.nowMs < q.removableMs:
			q.idleMs = q.removableMs
			s.idle.set(q)
		default:
			_ = s.Delete(q) // cannot fail: the queue is empty
		}
	}
}

// removable reports whether deleting the queue would lose only its figures.
func (q *Queue) removable() bool {
	return q.record.Counts.held() == 0 && q.record.PolicyVersion == 0 && !q.record.Paused && q.subscriptions == 0
}

// keepRecovered prevents the deletion of all recovered queues until the last recovered key and
// result are dropped. The state knows neither which queues these belong to, nor which of the keys
// are marks of removed tasks.
func (s *State) keepRecovered() {
	if n := len(s.keys.live); n > 0 {
		s.markedUntilMs = s.keys.live[n-1]
	}
	for _, q := range s.queues {
		q.keyed(s.markedUntilMs)
		for _, b := range []*buckets{&s.keys, &s.results} {
			if n := len(b.live); n > 0 {
				q.keep(b.live[n-1])
			}
		}
		q.idleMs = recovered
		s.idle.set(q)
	}
}

// keep prevents the deletion of the queue until untilMs, because the queue was used, or because a
// key or result is stored under its number.
func (q *Queue) keep(untilMs int64) { q.removableMs = max(q.removableMs, untilMs) }

// trim frees the memory of a queue's empty windows and lanes. A lane without tasks can be restored
// from the queue's record.
func (s *State) trim(q *Queue) {
	for p, l := range q.lanes {
		if l == nil {
			continue
		}
		l.dropGone(s)
		if l.fresh.len() == 0 {
			s.freshRoom -= l.fresh.room()
			l.fresh = ring[freshTask]{}
		}
		if l.empty() && !q.dirty {
			q.lanes[p] = nil
		}
	}
	if q.record.Counts.Leased == 0 {
		if last := q.leased.last; last != nil {
			s.dropPage(&q.leased, last)
		}
		q.leased = leasedRefs{}
	}
}

func (l *lane) empty() bool {
	return l.freshAll && l.fresh.len() == 0 && l.returnedAll && l.returned.Len() == 0 &&
		l.due == 0 && !l.behind && l.reading == nil && !l.listed && l.index < 0
}

// shrink frees the memory of an empty window if the capacity of all windows exceeds
// Config.WindowsTasks.
func (s *State) shrink(l *lane) {
	if room := l.fresh.room(); room > roomKept && s.freshRoom > s.cfg.WindowsTasks {
		s.freshRoom -= room
		l.fresh = ring[freshTask]{}
	}
}
