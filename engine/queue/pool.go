package queue

import "math"

// Pool is credit that the waiters of one subscriber share. Each waiter is in a different state. The
// methods of a Pool are safe for concurrent use and never block.
type Pool interface {
	// Take returns how many of n further tasks the waiter may get, and subtracts them from the
	// credit. If it returns 0, the pool later passes new credit to the waiter with State.Credit.
	// weight, at least 1, is this state's share of that credit in proportion to the other states'
	// weights.
	Take(n, weight int) int
	// Return returns unused credit.
	Return(n int)
}

// draw takes credit from the pool of a waiter without credit, for the tasks that its queues may
// have.
func (s *State) draw(w *Waiter) {
	if w.credits > 0 {
		return
	}
	n := math.MaxInt // the first shard that serves a claim serves the whole claim
	if !w.once {
		n = w.demand()
	}
	w.credits = w.pool.Take(n, s.weight(w))
	w.starved = w.credits == 0
	s.noteDrawn(w)
}

// weight returns the sum of the weights of the waiter's queues that have a task for it now.
func (s *State) weight(w *Waiter) int {
	if len(w.subs) == 1 {
		return 1
	}
	sum := 0
	for _, sub := range w.subs {
		if s.servable(sub.queue) {
			sum += sub.share()
		}
	}
	return max(1, sum)
}

// share returns the weight of a queue for its waiter in this state. A spread queue has about an
// equal part of its tasks in each of the states that share the pool. An ordered queue has all of
// its tasks in one state, and therefore its whole weight.
func (sub *subscription) share() int {
	if sub.queue.record.Policy.Placement == Ordered {
		return sub.weight * max(1, sub.waiter.states)
	}
	return sub.weight
}

// demand estimates how many tasks the waiter's queues have for it now. It is at most a few quanta,
// because drawn credit is not available to the other states until it is returned.
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

func (s *State) noteDrawn(w *Waiter) {
	if w.pool != nil && w.credits > 0 && !w.drawn {
		w.drawn = true
		s.drawn = append(s.drawn, w)
	}
}

// returnDrawn returns unused credit to the pools. A waiter whose grant is retained keeps its
// credit.
func (s *State) returnDrawn() {
	kept := s.drawn[:0]
	for _, w := range s.drawn {
		if w.held {
			kept = append(kept, w)
			continue
		}
		if w.credits > 0 {
			w.pool.Return(w.credits)
		}
		w.credits, w.drawn = 0, false
	}
	clear(s.drawn[len(kept):])
	s.drawn = kept
}
