package queue

// lease leases up to n tasks of the queue to the waiter, most urgent priority first. blocked is
// true if the waiter could get more tasks, but only after a Refill is answered.
func (s *State) lease(q *Queue, w *Waiter, n int) (took int, blocked bool) {
	allowed := q.account.Lease(n)
	if allowed == 0 {
		if s.servable(q) {
			s.starve(q, s.nowMs)
		}
		return 0, false
	}
	took, blocked = s.leaseAllowed(q, w, allowed)
	if took < allowed {
		q.account.EndLeases(allowed - took)
	}
	return took, blocked
}

func (s *State) leaseAllowed(q *Queue, w *Waiter, n int) (took int, blocked bool) {
	for p := MaxPriority; p >= 0 && took < n; p-- {
		l := q.lanes[p]
		if l == nil {
			continue
		}
		for took < n && w.open() {
			d := w.slot(s, q)
			ok, blocked := s.take(l, d)
			if !ok {
				s.takeBack(w)
				if blocked { // tasks of lower priority must not be leased before
					return took, true
				}
				break
			}
			s.addLease(q, w, d)
			took++
		}
	}
	return took, false
}

func (w *Waiter) slot(s *State, q *Queue) *Delivery {
	if w.grant == nil {
		switch {
		case w.once || s.cfg.Deliveries == nil:
			w.grant = make([]Delivery, 0, min(w.credits, max(1, int(q.ready())+1), grantRoom))
		case s.unused != nil:
			w.grant, s.unused = s.unused, nil
		default:
			w.grant = s.cfg.Deliveries()
		}
	}
	w.grant = append(w.grant, Delivery{})
	return &w.grant[len(w.grant)-1]
}

// takeBack removes the unused last slot of the waiter's grant, and the list if it is then empty.
func (s *State) takeBack(w *Waiter) {
	w.grant = w.grant[:len(w.grant)-1]
	if len(w.grant) > 0 {
		return
	}
	if !w.once {
		s.unused = w.grant
	}
	w.grant = nil
}

// addLease leases the task in d, the last slot of the waiter's grant.
func (s *State) addLease(q *Queue, w *Waiter, d *Delivery) {
	if w.batch == nil {
		w.batch = s.newLease()
		s.granted = append(s.granted, w)
		w.batch.refs = s.takeRefs()
	}
	b := w.batch
	d.ExpiresAtMs = s.nowMs + int64(orDefault(w.leaseMs, d.LeaseMs))
	d.Queue, d.Token = q, Token(b.id, len(b.refs))
	b.add(&d.LeaseRef)
	if before := s.pages.noteLeased(q, d.Seq, d.Token); before != 0 {
		broken("task %d of queue %q is leased twice, with the tokens %d and %d", d.Seq, q.record.Name, before, d.Token)
	}
	w.credits--
	w.bytes += int64(d.Bytes)
	q.record.Counts.Leased++
	s.touch(q)
}
