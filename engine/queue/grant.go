package queue

// grantRoom is the maximum initial capacity of a grant, in tasks.
const grantRoom = 512

// lease leases up to n tasks of the queue to the waiter, most urgent priority first. blocked is
// true if the waiter could get more tasks, but only after a Refill is answered.
func (d *dispatcher) lease(q *Queue, w *Waiter, n int) (took int, blocked bool) {
	if q.limits != nil {
		if n = d.limiter.room(q, n); n == 0 {
			return 0, false
		}
	}
	allowed := q.account.Lease(n)
	if allowed == 0 {
		if d.lanes.servable(q) {
			d.starve(q)
		}
		return 0, false
	}
	took, blocked = d.leaseAllowed(q, w, allowed)
	if took < allowed {
		q.account.EndLeases(allowed - took)
	}
	if q.limits != nil {
		d.limiter.took(q, took)
	}
	return took, blocked
}

func (d *dispatcher) leaseAllowed(q *Queue, w *Waiter, n int) (took int, blocked bool) {
	for p := MaxPriority; p >= 0 && took < n; p-- {
		if q.lanes[p] == nil && q.lanes[DelayedLane(uint8(p))] == nil {
			continue
		}
		for took < n && w.open() {
			slot := d.slot(w, q)
			ok, blocked := d.take(q, uint8(p), slot)
			if !ok {
				d.takeBack(w)
				// tasks of lower priority must not be leased before
				if blocked || q.limits != nil && (q.limits.halted || q.limits.stuck) {
					return took, blocked
				}
				break
			}
			d.addLease(q, w, slot)
			took++
		}
	}
	return took, false
}

func (d *dispatcher) slot(w *Waiter, q *Queue) *Delivery {
	if w.grant == nil {
		switch {
		case w.once || d.cfg.Deliveries == nil:
			w.grant = make([]Delivery, 0, min(w.credits, max(1, int(q.ready())+1), grantRoom))
		case d.unused != nil:
			w.grant, d.unused = d.unused, nil
		default:
			w.grant = d.cfg.Deliveries()
		}
	}
	w.grant = append(w.grant, Delivery{})
	return &w.grant[len(w.grant)-1]
}

// takeBack removes the unused last slot of the waiter's grant, and the list if it is then empty.
func (d *dispatcher) takeBack(w *Waiter) {
	w.grant = w.grant[:len(w.grant)-1]
	if len(w.grant) > 0 {
		return
	}
	if !w.once {
		d.unused = w.grant
	}
	w.grant = nil
}

// addLease leases the task in slot, the last slot of the waiter's grant.
func (d *dispatcher) addLease(q *Queue, w *Waiter, slot *Delivery) {
	if w.batch == nil {
		w.batch = d.leases.newLease()
		w.batch.holder = w.holder
		d.granted = append(d.granted, w)
		w.batch.refs = d.leases.takeRefs()
	}
	b := w.batch
	slot.ExpiresAtMs = d.nowMs + int64(orDefault(w.leaseMs, slot.LeaseMs))
	slot.Queue, slot.Token = q, Token(b.id, len(b.refs))
	b.add(&slot.LeaseRef)
	if before := d.leases.pages.noteLeased(q, slot.Seq, slot.Token); before != 0 {
		broken("task %d of queue %q is leased twice, with the tokens %d and %d", slot.Seq, q.record.Name, before, slot.Token)
	}
	if q.record.Policy.keepsHistory() {
		d.leases.noteClaimed(b, d.nowMs)
	}
	w.credits--
	w.bytes += int64(slot.Bytes)
	q.record.Counts.Leased++
	d.queues.touch(q)
	if u := slot.Extras.unique(); u != nil && slot.Attempt == 1 {
		d.retention.started(q, slot.Ref, u)
	}
}

// take claims the next ready task of a queue and priority. If the time to live of a task has ended,
// take moves it to the dead letters and continues with the next task. Like pop, it fills in slot,
// which must be zero. blocked is true if take must wait for the answer to a Refill.
func (d *dispatcher) take(q *Queue, priority uint8, slot *Delivery) (ok, blocked bool) {
	if q.limits != nil {
		return d.takeLimited(q, priority, slot)
	}
	for {
		l, blocked := d.lanes.nextLane(q, priority)
		if l == nil {
			return false, blocked
		}
		ok, blocked = d.lanes.pop(l, d.nowMs, slot)
		if !ok || !d.expires(slot) {
			return ok, blocked
		}
	}
}

// expires moves a task that was just taken to the dead letters if its time to live has ended. It
// then clears slot.
func (d *dispatcher) expires(slot *Delivery) bool {
	if !slot.Extras.expired(d.nowMs) {
		return false
	}
	slot.Attempt-- // no waiter got the task
	d.retention.die(&slot.LeaseRef, d.leases.lastToken(), TimeToLiveOver, lastAttempt{})
	*slot = Delivery{}
	return true
}
