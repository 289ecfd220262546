package queue

import "math"

// Pool is credit that the waiters of one subscriber share, each in a state of its own. Its methods are safe
// for concurrent use and never block.
type Pool interface {
	// Take returns how many of n further tasks the waiter may be given; they count at once. After 0 the waiter gets no tasks until it is
	// given Credit. weight, at least 1, says how much of that should go to this state, in proportion to the other states' weights.
	Take(n, weight int) int
	// Return gives back credit that was not used.
	Return(n int)
}

// draw takes credit from the pool of a waiter that has none left, for the tasks that its queues may have.
func (s *State) draw(w *Waiter) {
	if w.credits > 0 {
		return
	}
	n := math.MaxInt // the first shard that serves a claim serves all of it
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

// share is the weight of a queue with its waiter, in this state. A spread queue has about an equal part of its tasks in each of the
// states that share the pool; an ordered queue has all of them in one, and so all of its weight.
func (sub *subscription) share() int {
	if sub.queue.record.Policy.Placement == Ordered {
		return sub.weight * max(1, sub.waiter.states)
	}
	return sub.weight
}

// demand is about how many tasks the waiter's queues have for it now, but at most a few quanta: credit that is drawn and not used is
// missing in the other states meanwhile.
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

// returnDrawn gives unused credit back to the pools. A waiter whose grant is held back keeps its credit.
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
