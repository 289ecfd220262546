package queue

// dispatcher leases the tasks of the lanes to the waiters.
type dispatcher struct {
	*env
	queues    *queues
	lanes     *lanes
	leases    *leases
	retention *retention
	limiter   *limiter

	ignorePreference bool // prefersAnother returns false for all waiters
	// given is the number of leases granted plus the number of closed waiters removed in this turn.
	given     int
	exhausted bool      // given reached Config.turnMax in the last Dispatch
	granted   []*Waiter // waiters with a batch that the running Dispatch fills
	drawn     []*Waiter // waiters that may have credit from their pools
	// Once waiters whose grant is retained, because the next Dispatch may add tasks to it
	held   []*Waiter
	unused []Delivery // an empty list for a grant, or nil

	// holders contains the waiters that are not Once waiters. A lease batch names its waiter by its
	// key in this map, so that it does not keep a waiter that has ended in memory.
	holders    map[uint32]*Waiter
	lastHolder uint32

	starved        []*Queue // queues that starve excluded from dispatch
	starvedRetryMs int64
}

// Dispatch leases ready tasks to waiters: round robin over the queues, and within a queue over its
// waiters. It appends one Grant for each waiter that got tasks. A Once waiter gets only one grant.
// Dispatch therefore retains the grant while it may still grow: while a Refill may add tasks, or
// after a turn that reached its limit.
func (s *State) Dispatch(now int64, out []Grant) []Grant {
	s.advance(now)
	s.reportFreed()
	return s.dispatch(out)
}

func (d *dispatcher) dispatch(out []Grant) []Grant {
	d.exhausted = false
	blocked := d.turns()
	for _, q := range blocked {
		d.queues.hot.push(q)
	}
	for i, w := range d.granted {
		d.leases.fit(w.batch)
		d.journal.PutLease(w.batch.id, w.batch.refs, d.leases.claimedMs(w.batch))
		d.leases.expiry.set(w.batch)
		w.batch, d.granted[i] = nil, nil
		switch {
		case !w.once:
			out = append(out, Grant{Waiter: w, Deliveries: w.grant})
			w.grant = nil
		case !w.held:
			w.held = true
			d.held = append(d.held, w)
		}
	}
	d.granted = d.granted[:0]
	if d.exhausted {
		d.given = 0
	} else {
		out = d.releaseHeld(out)
	}
	d.returnDrawn()
	return out
}

// releaseHeld appends to out the retained grants that can no longer grow. Their waiters lose the
// rest of their credit.
func (d *dispatcher) releaseHeld(out []Grant) []Grant {
	kept := d.held[:0]
	for _, w := range d.held {
		if d.Awaits(w) {
			kept = append(kept, w)
			continue
		}
		out = append(out, Grant{Waiter: w, Deliveries: w.grant})
		w.grant, w.held, w.credits = nil, false, 0
	}
	clear(d.held[len(kept):])
	d.held = kept
	return out
}

// Unfinished reports whether Dispatch has more work now. It ignores queues that wait for the answer
// to a Refill.
func (d *dispatcher) Unfinished() bool { return d.queues.hot.len() > 0 }

// Exhausted reports whether the last Dispatch stopped at the limit of one turn (Config.turnMax).
// The next Dispatch continues.
func (d *dispatcher) Exhausted() bool { return d.exhausted }

// leaseRetryMs is the time after which dispatch retries a queue whose tenant was at its quota of
// leases. The retry is necessary because leases of the tenant may end in another shard, which does
// not notify this shard.
const leaseRetryMs = 50

// starve excludes a queue from dispatch until a lease of this shard ends, or leaseRetryMs has
// passed.
func (d *dispatcher) starve(q *Queue) {
	if !q.starved {
		q.starved = true
		d.starved = append(d.starved, q)
		d.starvedRetryMs = d.nowMs + leaseRetryMs
	}
}

func (d *dispatcher) feed() {
	for i, q := range d.starved {
		q.starved = false
		d.starved[i] = nil
		d.queues.heat(q)
	}
	d.starved = d.starved[:0]
}
