package queue

import "math"

// lease is a batch of tasks that one waiter was given at once. It has one stored record.
type lease struct {
	id        uint64
	refs      []LeaseRef // Attempt 0: settled
	live      int        // refs that are not settled
	expiresMs int64      // no live ref expires earlier
	seqMin    uint64     // of its tasks, of whatever queues
	seqMax    uint64
	index     int // place in State.expiry
}

func (b *lease) deadlineMs() int64 { return b.expiresMs }
func (b *lease) place() *int       { return &b.index }

// Token is the fencing token of a lease batch's i-th task. Batches are numbered upward and never
// again, also across restarts, so that a later lease of a task has a greater token.
func Token(batch uint64, i int) uint64 { return batch<<batchBits | uint64(i) }

// lastToken is above or equal to all tokens given out so far, and below all later ones.
func (s *State) lastToken() uint64 { return Token(s.meta.NextBatch, 0) - 1 }

func (s *State) newLease() *lease {
	b := &lease{id: s.meta.NextBatch, index: -1, expiresMs: math.MaxInt64, seqMin: math.MaxUint64}
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
	q := s.numbered(ref.Queue)
	q.record.Counts.Leased--
	s.free(q).leases++
	s.touch(q)
	if len(s.starved) > 0 {
		s.feed()
	}
	ref.Attempt = 0
	b.live--
	if b.live == 0 {
		delete(s.leases, b.id)
		s.expiry.remove(b)
		s.journal.DropLease(b.id)
	}
}

// Tick lets time pass: leases that expired end, queues whose tasks became due are dispatched next, and what
// is kept for a time goes. Everything that is decided until the next Tick is decided at this time.
func (s *State) Tick(now int64) {
	before := s.nowMs
	s.nowMs = now
	for { // first: what follows may put tasks into lanes that count as due already
		l, ok := s.due.next()
		if !ok || l.dueMs > now {
			break
		}
		s.becomeDue(l, before)
	}
	s.dropBuckets(now)
	s.askExpired()
	if len(s.starved) > 0 && now >= s.starvedRetryMs {
		s.feed()
	}
	for {
		b, ok := s.expiry.next()
		if !ok || b.expiresMs > now {
			break
		}
		s.expire(b, now)
	}
}

func (s *State) expire(b *lease, now int64) {
	next := int64(math.MaxInt64)
	for i := range b.refs {
		ref := &b.refs[i]
		switch {
		case ref.Attempt == 0:
		case ref.ExpiresAtMs <= now:
			s.attemptFailed(b, ref, Token(b.id, i), now, Attempt{EndedAtMs: now, Outcome: LeaseExpired, Error: "lease expired"})
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
	next := min(s.keys.next(), s.results.next())
	if !s.ttlAsked {
		next = min(next, s.ttlMs)
	}
	if len(s.starved) > 0 {
		next = min(next, s.starvedRetryMs)
	}
	if b, ok := s.expiry.next(); ok {
		next = min(next, b.expiresMs)
	}
	if l, ok := s.due.next(); ok {
		next = min(next, l.dueMs)
	}
	return next
}

// FindLease returns the current lease of a task, or false if it is not leased. It looks at every
// lease batch that may hold it: it is for people who ask after one task, not for the hot path.
func (s *State) FindLease(ref Ref) (LeaseRef, bool) {
	if _, r := s.findLease(ref); r != nil {
		return *r, true
	}
	return LeaseRef{}, false
}

func (s *State) findLease(ref Ref) (*lease, *LeaseRef) {
	for _, b := range s.leases {
		if ref.Seq < b.seqMin || ref.Seq > b.seqMax {
			continue
		}
		for i := range b.refs {
			if b.refs[i].Ref == ref && b.refs[i].Attempt != 0 {
				return b, &b.refs[i]
			}
		}
	}
	return nil, nil
}

// add puts one more task into the batch.
func (b *lease) add(ref LeaseRef) {
	b.refs = append(b.refs, ref)
	b.note(&ref)
}

// note accounts for a live task of the batch.
func (b *lease) note(ref *LeaseRef) {
	b.live++
	b.expiresMs = min(b.expiresMs, ref.ExpiresAtMs)
	b.seqMin, b.seqMax = min(b.seqMin, ref.Seq), max(b.seqMax, ref.Seq)
}
