package queue

// lease is a batch of tasks that one Dispatch leased to one waiter. It is stored as one record.
type lease struct {
	id        uint64
	refs      []LeaseRef // Attempt is 0 if the lease has ended
	live      int        // number of refs whose lease has not ended
	expiresMs int64      // a lower bound of the expiries of all live refs
	ext       *extensions
	index     int // place in leases.expiry
}

func (b *lease) deadlineMs() int64 { return b.expiresMs }
func (b *lease) place() *int       { return &b.index }

// Token returns the fencing token of the i-th task of a lease batch. Each batch has a higher number
// than all earlier batches, even after a restart. Each lease of a task therefore has a higher token
// than the task's earlier leases.
func Token(batch uint64, i int) uint64 { return batch<<batchBits | uint64(i) }

// TokenPlace returns the number of a token's lease batch, and the task's place in the batch.
func TokenPlace(token uint64) (batch uint64, i int) {
	return token >> batchBits, int(token & (maxBatch - 1))
}

// endLease ends the lease of a task.
func (s *State) endLease(b *lease, ref *LeaseRef) {
	q := s.numbered(ref.Queue)
	q.record.Counts.Leased--
	s.free(q).leases++
	s.touch(q)
	if len(s.starved) > 0 {
		s.feed()
	}
	s.changed(ref.Ref)
	s.removeLease(q, b, ref)
}

// Tick advances the time: expired leases end, tasks become due, and expired keys and results are
// dropped. All decisions until the next Tick are made as of this time.
func (s *State) Tick(now int64) {
	s.nowMs = now
	s.countAllDue() // must run first, because the calls below may put due tasks into lanes
	s.askCounts()
	s.dropBuckets(now)
	s.visitIdle()
	s.askExpired()
	if len(s.starved) > 0 && now >= s.starvedRetryMs {
		s.feed()
	}
	s.given = 0
	s.sweepLeases()
}

// sweepLeases ends up to SweepMax expired leases. If more leases have expired, the next Tick is due
// immediately and continues. Commands are decided in between, but none of them can settle an
// expired lease.
func (s *State) sweepLeases() {
	for left := s.cfg.SweepMax; left > 0; {
		b, ok := s.expiry.next()
		if !ok || b.expiresMs > s.nowMs {
			return
		}
		left = s.expire(b, s.nowMs, left)
	}
}

// expire ends up to most expired leases of a batch, and returns most minus the number of leases
// that it ended. If it cannot end all leases of the batch, it builds a heap by expiry for the
// batch. Without the heap, each further call would visit all tasks of the batch.
func (s *State) expire(b *lease, now int64, most int) (left int) {
	left = most
	if b.ext == nil && b.live <= most && b.expiresAlike(now) {
		for i := range b.refs {
			if s.expireRef(b, i, now) {
				left--
			}
		}
		return left
	}
	for x := b.extended(); len(x.byTime) > 0 && left > 0; {
		i := int(x.byTime[0])
		if ref := &b.refs[i]; ref.Attempt != 0 && ref.ExpiresAtMs > now {
			break
		}
		b.dropFirst()
		if s.expireRef(b, i, now) {
			left--
		}
	}
	if b.live > 0 {
		s.reschedule(b)
	}
	return left
}

func (b *lease) expiresAlike(now int64) bool {
	for i := range b.refs {
		if b.refs[i].Attempt != 0 && b.refs[i].ExpiresAtMs > now {
			return false
		}
	}
	return true
}

func (s *State) expireRef(b *lease, i int, now int64) bool {
	ref := &b.refs[i]
	if ref.Attempt == 0 {
		return false
	}
	s.worked++
	s.attemptFailed(b, ref, Token(b.id, i), now, Attempt{EndedAtMs: now, Outcome: LeaseExpired, Error: "lease expired"})
	return true
}

// NextDeadlineMs returns the time of Tick's next work, or math.MaxInt64 if nothing is scheduled.
func (s *State) NextDeadlineMs() int64 {
	next := min(s.keys.next(), s.results.next())
	if s.expiring == nil {
		next = min(next, s.ttlMs)
	}
	if len(s.starved) > 0 {
		next = min(next, s.starvedRetryMs)
	}
	if s.behind.len() > 0 && s.counting == 0 {
		next = min(next, s.countAtMs)
	}
	if q, ok := s.idle.next(); ok {
		next = min(next, q.idleMs)
	}
	if b, ok := s.expiry.next(); ok {
		next = min(next, b.expiresMs)
	}
	if l, ok := s.due.next(); ok {
		next = min(next, l.dueMs)
	}
	return next
}

func (b *lease) add(ref *LeaseRef) {
	b.refs = append(b.refs, *ref)
	b.note(ref)
}

func (b *lease) note(ref *LeaseRef) {
	b.live++
	b.expiresMs = min(b.expiresMs, ref.ExpiresAtMs)
}
