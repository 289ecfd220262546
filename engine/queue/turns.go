package queue

// quantum limits the number of tasks that one waiter gets in one turn of a queue.
const quantum = 64

// passedMax limits the number of waiters that one turn of a queue skips because they prefer another
// queue's task. A later turn continues with the next waiters. This limits a turn's duration.
const passedMax = 64

type turn uint8

const (
	turnEmpty    turn = iota // the queue has no task or no waiter
	turnTaken                // a waiter got tasks
	turnBlocked              // a batch is full, or the shard's turn reached its limit
	turnAwaits               // a Refill must be answered first
	turnDeferred             // all waiters prefer another queue's task
)

// turns runs turns of the hot queues until no queue has both a task and a waiter for it. It returns
// the queues that must continue in the next Dispatch; they stay marked as hot.
func (d *dispatcher) turns() (blocked []*Queue) {
	var deferred []*Queue // queues whose waiters all prefer another queue's task
	progressed := false   // a task was leased since the deferred queues were last tried
	for {
		for d.queues.hot.len() > 0 {
			// the other queues stay hot
			if d.given >= d.cfg.turnMax {
				d.exhausted = true
				break
			}
			q := d.queues.hot.pop()
			switch d.dispatchTurn(q) {
			case turnTaken:
				d.queues.hot.push(q)
				progressed, d.ignorePreference = true, false
			case turnBlocked:
				blocked = append(blocked, q)
			case turnAwaits:
				q.hot, q.awaits = false, true
			case turnDeferred:
				deferred = append(deferred, q)
			case turnEmpty:
				q.hot = false
			}
		}
		if len(deferred) == 0 || d.exhausted {
			d.ignorePreference = false
			return append(blocked, deferred...)
		}
		// The preferred tasks may be leased by now. If no task was leased in this round, the
		// waiters take tasks of any queue.
		d.ignorePreference = !progressed
		progressed = false
		for _, q := range deferred {
			d.queues.hot.push(q)
		}
		deferred = deferred[:0]
	}
}

func (d *dispatcher) dispatchTurn(q *Queue) turn {
	if q.record.Paused || q.starved || q.limits != nil && d.limiter.room(q, 1) == 0 {
		return turnEmpty
	}
	passed := 0
	for q.waiting.len() > passed {
		sub := q.waiting.front()
		w := sub.waiter
		d.worked++
		if d.given >= d.cfg.turnMax {
			d.exhausted = true
			return turnBlocked
		}
		if !w.open() {
			d.given++
			q.waiting.remove(sub)
			continue
		}
		if len(w.grant) == maxBatch { // the next Dispatch continues
			return turnBlocked
		}
		if w.pool != nil {
			if !d.lanes.servable(q) { // do not take credit that other states could use
				return turnEmpty
			}
			d.draw(w)
			if w.starved {
				continue // the pool is empty: the waiter is no longer open
			}
		}
		if d.prefersAnother(sub) {
			q.waiting.rotate()
			if passed++; passed == passedMax {
				return turnDeferred
			}
			continue
		}
		share := max(1, int(q.ready())/q.waiting.len())
		took, blocked := d.lease(q, w, min(sub.allowance(), share, w.credits, maxBatch-len(w.grant)))
		d.given += took
		d.worked += took
		if took > 0 {
			q.waiting.rotate() // the queue's next turn starts with the next waiter
			d.took(sub, took)
		}
		switch {
		case blocked:
			return turnAwaits
		case took > 0 || q.limits != nil && q.limits.tookBreak():
			return turnTaken
		}
		return turnEmpty
	}
	if passed > 0 {
		return turnDeferred
	}
	return turnEmpty
}

// prefersAnother reports whether the waiter has few credits and should spend them on another queue,
// which has a ready task and an earlier turn.
func (d *dispatcher) prefersAnother(sub *subscription) bool {
	w := sub.waiter
	if len(w.subs) == 1 || d.ignorePreference || w.credits >= 2*len(w.subs) {
		return false
	}
	for i := w.turn; i != sub.index; i = (i + 1) % len(w.subs) {
		if d.lanes.servable(w.subs[i].queue) {
			return true
		}
	}
	return false
}

func (d *dispatcher) took(sub *subscription, n int) {
	w := sub.waiter
	if len(w.subs) == 1 {
		return
	}
	sub.left -= n
	if sub.left > 0 && d.lanes.servable(sub.queue) {
		w.turn = sub.index
		return
	}
	sub.left = 0
	w.turn = (sub.index + 1) % len(w.subs)
}

// allowance returns how many tasks the queue may lease to the waiter in its current turn. The
// credits of a waiter of several queues are divided among the queues by deficit round robin
// (Shreedhar and Varghese, SIGCOMM 1995): in each turn, a queue may lease a number of tasks in
// proportion to its weight. If the credits run out during a turn, the turn continues when there is
// new credit. Otherwise a waiter that gets one credit at a time would always spend it on the first
// queue.
func (sub *subscription) allowance() int {
	w := sub.waiter
	if len(w.subs) == 1 {
		return quantum
	}
	if sub.left <= 0 {
		// Since each turn costs time, turns are longer if there are more credits. The unit is the
		// same for all queues in a round. A new round starts when a queue would get its second turn
		// in the current round.
		if sub.round == w.round {
			w.round++
			w.unit = max(1, min(quantum, w.credits/(2*len(w.subs))))
		}
		sub.round = w.round
		sub.left = sub.share() * w.unit
	}
	return sub.left
}
