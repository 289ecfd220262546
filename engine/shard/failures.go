package shard

import (
	"cmp"
	"context"
	"slices"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// Failure is a recent failure with the id of its task.
type Failure struct {
	queue.Failure
	ID queue.ID
}

// RecentFailures returns the latest failures in the shards that this node leads, the latest first:
// at most queue.RecentMax of each shard, since the node began to lead it. An empty tenant or queue
// means all of them.
func (g *Group) RecentFailures(ctx context.Context, tenant, name string) ([]Failure, error) {
	shards, err := g.here.Load().all()
	if err != nil {
		return nil, err
	}
	parts, err := AwaitReply(ctx, func(reply func([][]Failure, error)) error {
		return gather(shards, func(s *Shard, reply func([]Failure, error)) error {
			return put(s, &query[[]Failure]{
				decided: func(d *decider, _ int64) (out []Failure, err error) {
					for _, f := range d.state.RecentFailures(tenant, name) {
						out = append(out, Failure{f, queue.ID{Shard: uint16(s.opts.Number), Ref: f.Ref}})
					}
					return out, nil
				},
				reply: reply,
			})
		}, reply)
	})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(parts...)
	slices.SortStableFunc(all, func(f, g Failure) int { return cmp.Compare(g.EndedAtMs, f.EndedAtMs) })
	return all, nil
}

// Attempts returns the stored failed attempts of one task of a tenant, the oldest first. The error
// is ErrNotFound if the task is not stored.
func (g *Group) Attempts(ctx context.Context, tenant string, id queue.ID) ([]storage.NumberedAttempt, error) {
	s, err := g.of(id)
	if err != nil {
		return nil, err
	}
	return AwaitReply(ctx, func(reply func([]storage.NumberedAttempt, error)) error {
		return s.Lookup(tenant, id.Ref, func(_ Found, err error) {
			if err != nil {
				reply(nil, err)
				return
			}
			s.reading.Go(func() { reply(s.store.Attempts(id.Ref)) })
		})
	})
}
