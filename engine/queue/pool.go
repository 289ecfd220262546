package queue

import "math"

// Pool is credit that the waiters of one subscriber share, each in a state of its own. Its methods are safe
// for concurrent use and never block.
type Pool interface {
	// Take returns how many of n further tasks the waiter may be given; they count at once. After 0 the waiter is
	// passed over until it is given Credit, of which weight is how much should go to this state: in proportion to the
	// others' weights, at least 1.
	Take(n, weight int) int
	// Return gives back credit that was taken, or given, and not used.
	Return(n int)
}

// draw gives a waiter that has no credit left some from its pool, for what its queues may have for it.
func (s *State) draw(w *Waiter) {
	if w.credits > 0 {
		return
	}
	n := math.MaxInt // who grants a claim first, grants all of it
	if !w.once {
		n = w.appetite()
	}
	w.credits = w.pool.Take(n, s.weight(w))
	w.starved = w.credits == 0
	s.noteDrawn(w)
}

// weight is how much the waiter's queues weigh that have a task for it just now.
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

// share is the weight of a queue with its waiter, in this state. Of a queue that is spread, each of the states that
// share the pool has about an equal part; an ordered one has all of its weight here.
func (sub *subscription) share() int {
	if sub.queue.record.Policy.Placement == Ordered {
		return sub.weight * max(1, sub.waiter.states)
	}
	return sub.weight
}

// appetite is about how many tasks the waiter's queues have for it just now, but no more than a few turns' worth:
// what is drawn and not used, another state has to do without meanwhile.
func (w *Waiter) appetite() int {
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

// returnDrawn gives the pools back what was not used. A waiter whose grant is held back goes on using it.
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
