package shard

import "github.com/pronybench/prony/engine/queue"

func (s *Shard) subscribe(c queue.Claim, owner any) (*queue.Waiter, error) {
	w, err := s.state.Subscribe(c, owner)
	if err == nil {
		s.subscribers.Add(1)
	}
	return w, err
}

func (s *Shard) unsubscribe(w *queue.Waiter) {
	s.state.Unsubscribe(w)
	s.subscribers.Add(-1)
}

// leave ends the closed subscriptions, except those for which stays returns true. It runs after
// dispatch, because a claim that does not wait is closed immediately and must still get the ready
// tasks.
func (s *Shard) leave(stays func(*Subscription) bool) {
	left := s.leaving[:0]
	for _, sub := range s.leaving {
		if stays(sub) {
			left = append(left, sub)
			continue
		}
		if sub.waiter != nil { // the subscription may have been closed twice
			sub.paused = sub.waiter.Paused()
			s.unsubscribe(sub.waiter)
		}
		sub.waiter = nil
		delete(s.subs, sub)
	}
	clear(s.leaving[len(left):])
	s.leaving = left
}

// Subscribers returns the number of worker streams and claims that wait for tasks in the shards of
// this process. A stream or claim that waits in several shards is counted once for each of them.
func (g *Group) Subscribers() (n int64) {
	for _, s := range g.here.Load().shards {
		if s != nil {
			n += s.subscribers.Load()
		}
	}
	return n
}
