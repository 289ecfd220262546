package queue

import "math"

// Pool is credit that several waiters of one subscriber share. Each of these waiters belongs to a
// different State. The methods of a Pool are safe for concurrent use and never block.
type Pool interface {
	// Take returns how many of n further tasks the waiter may get, and subtracts that number from
	// the credit. If it returns 0, the pool later passes new credit to the waiter with
	// State.Credit. weight is at least 1. The pool divides new credit among the states in
	// proportion to their weights.
	Take(n, weight int) int
	// Return adds unused credit to the pool.
	Return(n int)
}

// draw takes credit from the waiter's pool, for about as many tasks as the waiter's queues contain.
// It does nothing if the waiter still has credit.
func (d *dispatcher) draw(w *Waiter) {
	if w.credits > 0 {
		return
	}
	n := math.MaxInt // a Once claim gets all of its tasks from the first shard that has any
	if !w.once {
		n = w.demand()
	}
	w.credits = w.pool.Take(n, d.weight(w))
	w.starved = w.credits == 0
	d.noteDrawn(w)
}

func (d *dispatcher) weight(w *Waiter) int {
	if len(w.subs) == 1 {
		return 1
	}
	sum := 0
	for _, sub := range w.subs {
		if d.lanes.servable(sub.queue) {
			sum += sub.share()
		}
	}
	return max(1, sum)
}

// demand estimates how many tasks of its queues the waiter could get now. It returns at most a few
// quanta, because other states cannot use drawn credit until it is returned.
func (w *Waiter) demand() int {
	const most = 4 * quantum
	n := 0
	for _, sub := range w.subs {
		n += int(min(most, sub.queue.ready()/uint64(max(1, sub.queue.waiting.len()))))
		if n >= most {
			return most
		}
	}
	return max(1, n)
}

// share returns the weight of a queue for its waiter in this state. The tasks of a spread queue are
// divided about equally among the states that use the pool. All tasks of an ordered queue are in
// one state, so its weight there is multiplied by the number of states.
func (sub *subscription) share() int {
	if sub.queue.record.Policy.Placement == Ordered {
		return sub.weight * max(1, sub.waiter.states)
	}
	return sub.weight
}

func (d *dispatcher) noteDrawn(w *Waiter) {
	if w.pool != nil && w.credits > 0 && !w.drawn {
		w.drawn = true
		d.drawn = append(d.drawn, w)
	}
}

func (d *dispatcher) returnDrawn() {
	kept := d.drawn[:0]
	for _, w := range d.drawn {
		if w.held {
			kept = append(kept, w)
			continue
		}
		if w.credits > 0 {
			w.pool.Return(w.credits)
		}
		w.credits, w.drawn = 0, false
	}
	clear(d.drawn[len(kept):])
	d.drawn = kept
}
