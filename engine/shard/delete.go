package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/queue"
)

// deleteTries limits the attempts of Group.Delete, since producers may enqueue tasks faster than
// Delete removes them.
const deleteTries = 3

// Group.Delete waits this long, and then twice as long each time, up to toldWaitMax.
const (
	toldWaitMin = 5 * time.Millisecond
	toldWaitMax = 2 * time.Second
)

// Delete removes a queue that has no tasks. It fails with queue.ErrQueueNotEmpty if the queue has
// tasks. Existing waiters of the queue continue to wait, and get the tasks of a new queue of the
// same name.
func (s *Shard) Delete(tenant, name string, reply func(struct{}, error)) error {
	return put(s, &query[struct{}]{
		decided: func(d *decider, _ int64) (none struct{}, err error) {
			q, ok := d.state.Named(tenant, name)
			if !ok {
				return none, ErrNoQueue
			}
			return none, d.state.Delete(q)
		},
		refused: refuseAll[struct{}],
		reply:   reply,
	})
}

// Delete removes a queue from all shards of this process. With force, it first removes the queue's
// recurring tasks, and its tasks in any state, and returns how many tasks it removed. Without
// force, Delete fails with queue.ErrQueueNotEmpty and changes nothing if a shard has tasks or
// recurring tasks of the queue. If Delete fails in another way, or ctx ends, some shards may have
// deleted the queue.
func (g *Group) Delete(ctx context.Context, tenant, name string, force bool) (removed uint64, err error) {
	for try := range deleteTries {
		st, err := g.QueueStats(ctx, tenant, name)
		if err != nil {
			return removed, err
		}
		if err := g.dropRecurring(ctx, tenant, name, force); err != nil {
			return removed, err
		}
		held := st.Stored()
		switch {
		case held == 0:
			return removed, g.deleteTold(ctx, &st)
		case !force:
			return removed, fmt.Errorf("%w: it has %d tasks; remove them, or force the deletion", queue.ErrQueueNotEmpty, held)
		case try == deleteTries-1:
			return removed, fmt.Errorf("%w: producers enqueue tasks as fast as they are removed; stop the producers", queue.ErrQueueNotEmpty)
		}
		n, err := g.empty(ctx, tenant, name)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// empty removes all tasks, in any state, that the queue contains when empty is called.
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

// deleteTold deletes a queue without tasks. It waits until the tasks that waited for the queue's last tasks
// have been told of their ends.
func (g *Group) deleteTold(ctx context.Context, st *queue.Stats) error {
	for wait := toldWaitMin; ; wait *= 2 {
		err := g.deleteEmpty(ctx, st)
		if !errors.Is(err, queue.ErrEndsPending) || wait > toldWaitMax {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

func (g *Group) deleteEmpty(ctx context.Context, st *queue.Stats) error {
	shards, err := g.here.Load().all()
	if err != nil {
		return err
	}
	_, err = AwaitReply(ctx, func(reply func([]struct{}, error)) error {
		return gather(shards, func(s *Shard, reply func(struct{}, error)) error {
			return s.Delete(st.Tenant, st.Name, func(none struct{}, err error) {
				if errors.Is(err, ErrNoQueue) {
					err = nil // the queue exists only in other shards
				}
				reply(none, err)
			})
		}, reply)
	})
	if err == nil && st.PolicyVersion > 0 {
		q := queueName{st.Tenant, st.Name}
		// If the queue is created again, its tasks are placed as those of a queue that was never
		// configured.
		g.places.follow(q, &queue.Policy{}, g.places.next(q))
	}
	return err
}
