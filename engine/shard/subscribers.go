package shard

import "github.com/pronybench/prony/engine/queue"

// subscribe makes a waiter, and counts it.
func (s *Shard) subscribe(c queue.Claim, owner any) (*queue.Waiter, error) {
	w, err := s.state.Subscribe(c, owner)
	if err == nil {
		s.subscribers.Add(1)
	}
	return w, err
}

// unsubscribe ends a waiter.
func (s *Shard) unsubscribe(w *queue.Waiter) {
	s.state.Unsubscribe(w)
	s.subscribers.Add(-1)
}

// leave ends the closed subscriptions. It runs after dispatch, so that a claim that does not wait gets the ready tasks.
func (s *Shard) leave() {
	for i, sub := range s.leaving {
		if sub.waiter != nil { // the subscription may have been closed twice
			s.unsubscribe(sub.waiter)
		}
		sub.waiter = nil
		delete(s.subs, sub)
		s.leaving[i] = nil
	}
	s.leaving = s.leaving[:0]
}

// Subscribers returns how many worker streams and claims wait for tasks at the shards of this process. Each counts once per shard.
func (g *Group) Subscribers() (n int64) {
	for _, s := range g.here.Load().shards {
		if s != nil {
			n += s.subscribers.Load()
		}
	}
	return n
}
