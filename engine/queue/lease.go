package queue

import "math"

// lease is a batch of tasks that one waiter was given at once. It has one stored record.
type lease struct {
	id        uint64
	refs      []LeaseRef // Attempt 0: settled
	live      int        // refs that are not settled
	expiresMs int64      // no live ref expires earlier
	index     int        // place in State.expiry
}

func (b *lease) deadlineMs() int64 { return b.expiresMs }
func (b *lease) place() *int       { return &b.index }

// Token is the fencing token of a lease batch's i-th task. Batches are numbered upward and never
// again, also across restarts, so that a later lease of a task has a greater token.
func Token(batch uint64, i int) uint64 { return batch<<batchBits | uint64(i) }

func (s *State) newLease() *lease {
	b := &lease{id: s.meta.NextBatch, index: -1, expiresMs: math.MaxInt64}
	s.meta.NextBatch++
	s.leases[b.id] = b
	return b
}

// find returns the lease of a task by its token, or nil if it is not the task's current one.
func (s *State) find(ref Ref, token uint64) (*lease, *LeaseRef) {
	b := s.leases[token>>batchBits]
	i := int(token & (maxBatch - 1))
	if b == nil || i >= len(b.refs) || b.refs[i].Attempt == 0 || b.refs[i].Ref != ref {
		return nil, nil
	}
	return b, &b.refs[i]
}

// endLease takes a task out of its batch, and the batch away with its last task.
func (s *State) endLease(b *lease, ref *LeaseRef) {
	q := s.queues[ref.Queue]
	q.record.Counts.Leased--
	s.touch(q)
	ref.Attempt = 0
	b.live--
	if b.live == 0 {
		delete(s.leases, b.id)
		s.expiry.remove(b)
		s.journal.DropLease(b.id)
	}
}

// Tick lets time pass: leases that expired end, and queues whose tasks became due are dispatched next.
func (s *State) Tick(now int64) {
	for {
		b, ok := s.expiry.next()
		if !ok || b.expiresMs > now {
			break
		}
		s.expire(b, now)
	}
	for {
		l, ok := s.due.next()
		if !ok || l.dueMs > now {
			break
		}
		s.schedule(l, now)
	}
}

func (s *State) expire(b *lease, now int64) {
	next := int64(math.MaxInt64)
	for i := range b.refs {
		ref := &b.refs[i]
		switch {
		case ref.Attempt == 0:
		case ref.ExpiresAtMs <= now:
			s.attemptFailed(b, ref, Token(b.id, i), now, now, "lease expired")
		default:
			next = min(next, ref.ExpiresAtMs)
		}
	}
	if b.live > 0 {
		b.expiresMs = next
		s.expiry.set(b)
	}
}

// NextDeadlineMs is when Tick has something to do next; math.MaxInt64 if nothing is scheduled.
func (s *State) NextDeadlineMs() int64 {
	next := int64(math.MaxInt64)
	if b, ok := s.expiry.next(); ok {
		next = b.expiresMs
	}
	if l, ok := s.due.next(); ok {
		next = min(next, l.dueMs)
	}
	return next
}

// FindLease returns the current lease of a task, or false if it is not leased. It looks at every
// lease batch: it is for people who ask after one task, not for the hot path.
func (s *State) FindLease(ref Ref) (LeaseRef, bool) {
	for _, b := range s.leases {
		for i := range b.refs {
			if b.refs[i].Ref == ref && b.refs[i].Attempt != 0 {
				return b.refs[i], true
			}
		}
	}
	return LeaseRef{}, false
}
