package shard

import (
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
)

// subscriptions contains the subscriptions of a shard that need more than their waiters. The
// deciding goroutine owns it.
type subscriptions struct {
	state   *queue.State
	count   *atomic.Int64              // Shard.subscribers
	open    map[*Subscription]struct{} // to fail when leadership is lost; nil if not replicated
	leaving []*Subscription            // subscriptions that are closed, but have not ended
}

func (s *subscriptions) begin(sub *Subscription) (err error) {
	if sub.waiter, err = s.state.Subscribe(sub.claim, sub); err == nil {
		s.count.Add(1)
	}
	return err
}

// leave ends the closed subscriptions, except those for which stays returns true. It runs after
// dispatch, because a claim that does not wait is closed immediately and must still get the ready
// tasks.
func (s *subscriptions) leave(stays func(*Subscription) bool) {
	left := s.leaving[:0]
	for _, sub := range s.leaving {
		if stays(sub) {
			left = append(left, sub)
			continue
		}
		if sub.waiter != nil { // the subscription may have been closed twice
			sub.paused = sub.waiter.Paused()
			s.state.Unsubscribe(sub.waiter)
			s.count.Add(-1)
		}
		sub.waiter = nil
		delete(s.open, sub)
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
