package shard

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/pronybench/prony/engine/queue"
)

// RecurringShard returns the shard that stores a queue's recurring tasks and enqueues their tasks.
// It is the shard that stores the queue's tasks if the queue has ordered placement.
func (g *Group) RecurringShard(tenant, name string) int { return g.owner(tenant, name) }

// A recurring task enqueues in the shard of its queue, which need not be the shard of a group.
const groupsOfRecurring = "but the shard of a group and that of the recurring tasks may differ in a spread queue with a group limit: use placement ORDERED"

func (g *Group) pinsGroups(tenant, name string) bool {
	return (*g.places.pins.Load())[queueName{tenant, name}] == byGroup
}

// checkGroupLimit returns a *queue.FieldError if the queue has recurring tasks whose groups could not
// be limited by the policy p. It does nothing if another node leads their shard.
func (g *Group) checkGroupLimit(ctx context.Context, tenant, name string, p *queue.Policy) error {
	if g.size == 1 || pinOf(p) != byGroup || g.here.Load().shards[g.RecurringShard(tenant, name)] == nil {
		return nil
	}
	_, err := ofRecurring(ctx, g, tenant, name, nil, func(d *decider, _ *queue.Queue) (none struct{}, err error) {
		after := ""
		for {
			page := d.state.ListRecurring(tenant, name, name, after, recurringDeletesMax)
			for i := range page {
				if after = page[i].Name; page[i].Spec.Template.Headers[queue.GroupHeader] != "" {
					return none, &queue.FieldError{Field: "policy.group_limit", Problem: fmt.Sprintf("is set, and the recurring task %q has a group, %s", after, groupsOfRecurring)}
				}
			}
			if len(page) < recurringDeletesMax {
				return none, nil
			}
		}
	})
	return err
}

// ofRecurring decides a command on recurring tasks of a queue in their shard. refused is as in query.
// q is nil if the queue does not exist.
func ofRecurring[T any](ctx context.Context, g *Group, tenant, queueName string, refused func(error) (T, error), decided func(d *decider, q *queue.Queue) (T, error)) (T, error) {
	s, err := g.here.Load().at(g.RecurringShard(tenant, queueName))
	if err != nil {
		var none T
		return none, err
	}
	return AwaitReply(ctx, func(reply func(T, error)) error {
		return put(s, &query[T]{
			decided: func(d *decider, _ int64) (T, error) {
				q, _ := d.state.Named(tenant, queueName)
				return decided(d, q)
			},
			refused: refused,
			reply:   reply,
		})
	})
}

// SetRecurring creates a recurring task, or replaces its spec: see queue.State.SetRecurring. The
// caller must not change the spec's payload and headers afterwards.
func (g *Group) SetRecurring(ctx context.Context, tenant, queueName, name string, spec queue.RecurringSpec) (queue.RecurringView, error) {
	if g.size > 1 && spec.Template.Headers[queue.GroupHeader] != "" && g.pinsGroups(tenant, queueName) {
		return queue.RecurringView{}, &queue.FieldError{Field: "task.headers", Problem: "has a group, " + groupsOfRecurring}
	}
	return ofRecurring(ctx, g, tenant, queueName, refuseAll[queue.RecurringView], func(d *decider, _ *queue.Queue) (v queue.RecurringView, err error) {
		if err := d.shard.admit(); err != nil {
			return v, err
		}
		if err := d.state.SetRecurring(tenant, queueName, name, spec); err != nil {
			return v, err
		}
		q, _ := d.state.Named(tenant, queueName) // SetRecurring has created it
		v, _ = d.state.Recurring(q, name)
		return v, nil
	})
}

// Recurring returns a recurring task, or ErrNoRecurring.
func (g *Group) Recurring(ctx context.Context, tenant, queueName, name string) (queue.RecurringView, error) {
	return ofRecurring(ctx, g, tenant, queueName, nil, func(d *decider, q *queue.Queue) (queue.RecurringView, error) {
		v, found := d.state.Recurring(q, name)
		return v, orNoRecurring(found)
	})
}

func orNoRecurring(found bool) error {
	if !found {
		return ErrNoRecurring
	}
	return nil
}

// PauseRecurring stops or resumes the runs of a recurring task. The error is ErrNoRecurring if
// there is no such task.
func (g *Group) PauseRecurring(ctx context.Context, tenant, queueName, name string, paused bool) error {
	_, err := ofRecurring(ctx, g, tenant, queueName, refuseAll[struct{}], func(d *decider, q *queue.Queue) (none struct{}, err error) {
		return none, orNoRecurring(d.state.PauseRecurring(q, name, paused))
	})
	return err
}

// DeleteRecurring removes a recurring task. Tasks that it enqueued stay. The error is
// ErrNoRecurring if there is no such task.
func (g *Group) DeleteRecurring(ctx context.Context, tenant, queueName, name string) error {
	_, err := ofRecurring(ctx, g, tenant, queueName, refuseAll[struct{}], func(d *decider, q *queue.Queue) (none struct{}, err error) {
		return none, orNoRecurring(d.state.DeleteRecurring(q, name))
	})
	return err
}

// RunRecurring enqueues a task of a recurring task immediately, and returns the task's id. The
// error is ErrNoRecurring, a *queue.QuotaError or a *disk.FullError.
func (g *Group) RunRecurring(ctx context.Context, tenant, queueName, name string) (queue.ID, error) {
	return ofRecurring(ctx, g, tenant, queueName, refuseAll[queue.ID], func(d *decider, q *queue.Queue) (id queue.ID, err error) {
		out, found := d.state.RunRecurring(q, name)
		if !found {
			return id, ErrNoRecurring
		}
		return queue.ID{Shard: uint16(d.shard.opts.Number), Ref: out.Ref}, out.Err
	})
}

// RecurringList is the request for one page of a tenant's recurring tasks, in the order of queue
// and name.
type RecurringList struct {
	Tenant string
	Queue  string // list only the recurring tasks of this queue; "" lists those of all queues
	// AfterQueue and AfterName are the names of the last recurring task of the previous page; they
	// are empty for the first page.
	AfterQueue, AfterName string
	Limit                 int
}

func (s *Shard) listRecurring(l RecurringList, reply func([]queue.RecurringView, error)) error {
	return put(s, &query[[]queue.RecurringView]{
		decided: func(d *decider, _ int64) ([]queue.RecurringView, error) {
			return d.state.ListRecurring(l.Tenant, l.Queue, l.AfterQueue, l.AfterName, l.Limit), nil
		},
		reply: reply,
	})
}

// ListRecurring lists recurring tasks of the shards that this node leads.
func (g *Group) ListRecurring(ctx context.Context, l RecurringList) ([]queue.RecurringView, error) {
	shards, err := g.here.Load().all()
	if err != nil {
		return nil, err
	}
	all, err := AwaitReply(ctx, func(reply func([][]queue.RecurringView, error)) error {
		return gather(shards, func(s *Shard, reply func([]queue.RecurringView, error)) error {
			return s.listRecurring(l, reply)
		}, reply)
	})
	if err != nil {
		return nil, err
	}
	merged := slices.Concat(all...)
	slices.SortFunc(merged, func(a, b queue.RecurringView) int {
		return cmp.Or(cmp.Compare(a.QueueName, b.QueueName), cmp.Compare(a.Name, b.Name))
	})
	return merged[:min(l.Limit, len(merged))], nil
}

// recurringDeletesMax limits the number of recurring tasks that one command removes.
const recurringDeletesMax = 512

// dropRecurring removes the recurring tasks of a queue that is to be deleted. Without force, it
// fails with queue.ErrQueueNotEmpty if there are any. It does nothing if another node leads their
// shard.
func (g *Group) dropRecurring(ctx context.Context, tenant, name string, force bool) error {
	if g.here.Load().shards[g.RecurringShard(tenant, name)] == nil {
		return nil
	}
	for {
		n, err := ofRecurring(ctx, g, tenant, name, refuseAll[int], func(d *decider, q *queue.Queue) (int, error) {
			if q == nil { // the queue exists only in other shards
				return 0, nil
			}
			if !force && len(d.state.ListRecurring(tenant, name, "", "", 1)) > 0 {
				return 0, fmt.Errorf("%w: it has recurring tasks; delete them, or force the deletion", queue.ErrQueueNotEmpty)
			}
			return d.state.DeleteRecurringOf(q, recurringDeletesMax), nil
		})
		if err != nil || n < recurringDeletesMax {
			return err
		}
	}
}
