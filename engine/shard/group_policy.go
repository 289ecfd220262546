package shard

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/disk"
)

// Configure sets the policy of a queue in every shard, and creates the queue if it does not exist.
// If it fails, or ctx ends, only some shards may have the new policy. All shards agree again after
// the next Configure of the queue or a restart.
//
// The error is a *queue.FieldError if the shards cannot apply the limits of the policy.
func (g *Group) Configure(ctx context.Context, tenant, name string, p queue.Policy) error {
	q := queueName{tenant, name}
	if err := p.CheckShards(g.size); err != nil {
		return err
	}
	if err := g.checkGroupLimit(ctx, tenant, name, &p); err != nil {
		return err
	}
	shards, err := g.here.Load().all()
	if err != nil {
		return err
	}
	version := g.places.next(q)
	_, err = AwaitReply(ctx, func(reply func([]struct{}, error)) error {
		return gather(shards, func(s *Shard, reply func(struct{}, error)) error {
			return s.Configure(tenant, name, p, version, reply)
		}, func(none []struct{}, err error) {
			if err == nil {
				g.places.follow(q, &p, version)
			}
			reply(none, err)
		})
	})
	return err
}

// Pause stops or resumes the delivery of a queue's tasks in every shard, and creates the queue if
// it does not exist. If it fails, or ctx ends, it may have taken effect in some shards.
func (g *Group) Pause(ctx context.Context, tenant, name string, paused bool) error {
	shards, err := g.here.Load().all()
	if err != nil {
		return err
	}
	_, err = AwaitReply(ctx, func(reply func([]struct{}, error)) error {
		return gather(shards, func(s *Shard, reply func(struct{}, error)) error {
			return s.Pause(tenant, name, paused, reply)
		}, reply)
	})
	return err
}

// policies requests the policies of all queues. It does not read the store, so the other figures
// may be incomplete. In a cluster, it does not confirm that this node still leads. A new leader
// therefore need not wait for the store or for other nodes before it serves the shard.
func (s *Shard) policies(reply func([]queue.Stats, error)) error {
	return put(s, &query[[]queue.Stats]{
		decided: func(d *decider, nowMs int64) (out []queue.Stats, err error) {
			for _, id := range d.state.QueueIDs() {
				if q, ok := d.state.Queue(id); ok {
					out = append(out, d.state.Stats(q, nowMs))
				}
			}
			return out, nil
		},
		reply: reply, stale: true,
	})
}

// learnPolicies reads the queues' policies when the group starts, and completes changes that a
// crash interrupted: afterwards every shard has the latest policy, and a queue that was paused in
// one shard is paused in all.
func (g *Group) learnPolicies() error {
	ctx := context.Background() // a shard answers every accepted command
	shards := g.here.Load().shards
	all, err := AwaitReply(ctx, func(reply func([][]queue.Stats, error)) error {
		return gather(shards, (*Shard).policies, reply)
	})
	if err != nil {
		return fmt.Errorf("read the queues' policies: %w", err)
	}
	merged := MergeStats(all)
	pins, versions := map[queueName]pin{}, map[queueName]policyVersions{}
	for i := range merged {
		q := &merged[i]
		name := queueName{q.Tenant, q.Name}
		if q.PolicyVersion > 0 {
			versions[name] = policyVersions{given: q.PolicyVersion, placed: q.PolicyVersion}
		}
		if to := pinOf(&q.Policy); to != notPinned {
			pins[name] = to
		}
	}
	g.places.begin(pins, versions)
	if len(all) == 1 {
		return nil
	}
	for i, stats := range all {
		if err := g.completePolicies(ctx, shards[i], stats, merged); err != nil {
			return err
		}
	}
	return nil
}

func (g *Group) learnPoliciesOf(s *Shard) error {
	// A shard answers every accepted command, also if it loses leadership.
	stats, err := AwaitReply(context.Background(), s.policies)
	if err != nil {
		return fmt.Errorf("read the queues' policies: %w", err)
	}
	for i := range stats {
		if q := &stats[i]; q.PolicyVersion > 0 {
			g.places.follow(queueName{q.Tenant, q.Name}, &q.Policy, q.PolicyVersion)
		}
	}
	return nil
}

// completePolicies sets the policies and pauses of the group in one shard. stats are the figures of
// the shard, and merged are the figures of the group.
func (g *Group) completePolicies(ctx context.Context, s *Shard, stats, merged []queue.Stats) error {
	own := make(map[queueName]*queue.Stats, len(stats))
	for i := range stats {
		own[queueName{stats[i].Tenant, stats[i].Name}] = &stats[i]
	}
	for i := range merged {
		q := &merged[i]
		has := own[queueName{q.Tenant, q.Name}]
		if has == nil {
			has = &queue.Stats{}
		}
		var err error
		var full *disk.FullError
		if has.PolicyVersion < q.PolicyVersion {
			_, err = AwaitReply(ctx, func(reply func(struct{}, error)) error {
				return s.Configure(q.Tenant, q.Name, q.Policy, q.PolicyVersion, reply)
			})
		}
		if err == nil && q.Paused && !has.Paused {
			_, err = AwaitReply(ctx, func(reply func(struct{}, error)) error {
				return s.Pause(q.Tenant, q.Name, true, reply)
			})
		}
		switch {
		case errors.Is(err, queue.ErrTooManyQueues):
			// The shard cannot store tasks of this queue either, so it needs no policy.
			g.log.Warn("a shard could not store a queue's policy", "tenant", q.Tenant, "queue", q.Name, "shard", s.opts.Number, "error", err)
		case errors.As(err, &full):
			// The next start, or the next change of the policy, completes the change.
			g.log.Warn("a shard could not store a queue's policy", "tenant", q.Tenant, "queue", q.Name, "shard", s.opts.Number, "error", err)
		case err != nil:
			return fmt.Errorf("complete the policy of queue %q of tenant %q in shard %d: %w", q.Name, q.Tenant, s.opts.Number, err)
		}
	}
	return nil
}
