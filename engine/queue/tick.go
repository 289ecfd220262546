package queue

// Tick advances the time: expired leases end, tasks become due, recurring tasks run, and expired
// keys and results are dropped. All decisions until the next Tick are made as of this time.
func (s *State) Tick(now int64) {
	s.nowMs = now
	s.countAllDue() // must run first, because the calls below may put due tasks into lanes
	s.askCounts()
	s.dropBuckets()
	s.visitIdle()
	s.trimDue()
	s.askExpired()
	if len(s.starved) > 0 && now >= s.starvedRetryMs {
		s.feed()
	}
	s.given = 0
	s.sweepLeases()
	s.limiter.wake()
	s.runRecurring()
}

func (s *State) advance(now int64) {
	if now != s.nowMs {
		s.Tick(now)
	}
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
		left = s.expire(b, left)
	}
}

// expire ends up to most expired leases of a batch, and returns most minus the number of leases
// that it ended. If it cannot end all leases of the batch, it builds a heap by expiry for the
// batch. Without the heap, each further call would visit all tasks of the batch.
func (s *State) expire(b *lease, most int) (left int) {
	left = most
	if b.ext == nil && int(b.live) <= most && b.expiresAlike(s.nowMs) {
		for i := range b.refs {
			if s.expireRef(b, i) {
				left--
			}
		}
		return left
	}
	for x := b.extended(); len(x.byTime) > 0 && left > 0; {
		i := int(x.byTime[0])
		if ref := &b.refs[i]; ref.Attempt != 0 && ref.ExpiresAtMs > s.nowMs {
			break
		}
		b.dropFirst()
		if s.expireRef(b, i) {
			left--
		}
	}
	if b.live > 0 {
		s.reschedule(b)
	}
	return left
}

func (s *State) expireRef(b *lease, i int) bool {
	ref := &b.refs[i]
	if ref.Attempt == 0 {
		return false
	}
	s.worked++
	s.attemptFailed(b, ref, Token(b.id, i), s.nowMs, Attempt{EndedAtMs: s.nowMs, Outcome: LeaseExpired, Error: "lease expired"})
	return true
}

func (b *lease) expiresAlike(now int64) bool {
	for i := range b.refs {
		if b.refs[i].Attempt != 0 && b.refs[i].ExpiresAtMs > now {
			return false
		}
	}
	return true
}

// NextDeadlineMs returns the time of Tick's next work, or math.MaxInt64 if nothing is scheduled.
func (s *State) NextDeadlineMs() int64 {
	next := min(
		s.keys.next(), s.uniques.next(), s.results.next(), s.idle.nextMs(), s.expiry.nextMs(), s.due.nextMs(), s.finishing.nextMs(), s.recurring.due.nextMs(), s.limiter.due.nextMs(),
	)
	if s.expiring == nil {
		next = min(next, s.ttlMs)
	}
	if len(s.starved) > 0 {
		next = min(next, s.starvedRetryMs)
	}
	if s.behind.len() > 0 && s.counting == 0 {
		next = min(next, s.countAtMs)
	}
	return next
}
