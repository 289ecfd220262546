package shard

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/queue"
)

// deleteTries is how often Group.Delete removes what is in a queue before it gives up: producers may go on.
const deleteTries = 3

// Delete removes a queue that has no tasks: queue.ErrQueueNotEmpty says that it has some. Waiters go on waiting for a queue of
// the name.
func (s *Shard) Delete(tenant, name string, reply func(struct{}, error)) error {
	return put(s, &query[struct{}]{
		decided: func(s *Shard, _ int64) (none struct{}, err error) {
			q, ok := s.state.Named(tenant, name)
			if !ok {
				return none, ErrNoQueue
			}
			return none, s.state.Delete(q)
		},
		reply: reply,
	})
}

// Delete removes a queue from all shards that are here. With force the queue's tasks are removed first, in whatever state;
// removed says how many. Without force a queue with tasks is refused with queue.ErrQueueNotEmpty, and no shard deletes it.
// When Delete fails later, or ctx ends, the queue may be gone from some shards.
func (g *Group) Delete(ctx context.Context, tenant, name string, force bool) (removed uint64, err error) {
	for try := range deleteTries {
		st, err := g.QueueStats(ctx, tenant, name)
		if err != nil {
			return removed, err
		}
		held := st.Ready + st.Delayed + st.Leased + st.Dead
		switch {
		case held == 0:
			return removed, g.deleteEmpty(ctx, &st)
		case !force:
			return removed, fmt.Errorf("%w: it has %d tasks; remove them, or force it", queue.ErrQueueNotEmpty, held)
		case try == deleteTries-1:
			return removed, fmt.Errorf("%w: tasks come as fast as they are removed; stop the producers, or pause the queue", queue.ErrQueueNotEmpty)
		}
		n, err := g.empty(ctx, tenant, name)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// empty removes the tasks of a queue that are there when it begins, in whatever state.
func (g *Group) empty(ctx context.Context, tenant, name string) (removed uint64, err error) {
	if removed, err = g.Purge(ctx, tenant, name); err != nil {
		return removed, err
	}
	for state, change := range map[TaskState]Change{Leased: Cancel, Dead: PurgeDead} {
		n, err := g.changeAll(ctx, change, List{Tenant: tenant, Queue: name, State: state, Limit: deadPage, BytesMax: deadPageBytes})
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// deleteEmpty removes a queue with these figures from all shards that are here.
func (g *Group) deleteEmpty(ctx context.Context, st *queue.Stats) error {
	shards, err := g.here.Load().all()
	if err != nil {
		return err
	}
	_, err = answered(ctx, func(reply func([]struct{}, error)) error {
		return gather(shards, func(s *Shard, reply func(struct{}, error)) error {
			return s.Delete(st.Tenant, st.Name, func(none struct{}, err error) {
				if errors.Is(err, ErrNoQueue) {
					err = nil // others had it
				}
				reply(none, err)
			})
		}, reply)
	})
	if err == nil && st.PolicyVersion > 0 {
		q := queueName{st.Tenant, st.Name}
		g.places.follow(q, queue.Spread, g.places.next(q)) // as a queue that was never configured
	}
	return err
}
