package shard

import (
	"context"

	"github.com/pronybench/prony/engine/queue"
)

// Page lists tasks of the shard from.Shard, starting at from. It ignores l.After. It returns
// ErrNoQueue if the shard does not have the queue, ErrNotLeader if another node leads the shard,
// and storage.ErrPlace if from is not a position of this list.
func (g *Group) Page(ctx context.Context, l List, from ListPlace) (page ListPage, err error) {
	s, err := g.of(queue.ID{Shard: uint16(from.Shard)})
	if err != nil {
		return page, err
	}
	l.After = from.After
	part, err := AwaitReply(ctx, func(reply func(Listed, error)) error { return s.List(l, reply) })
	if err != nil {
		return page, err
	}
	page.Tasks = part.Tasks
	for i := range part.Tasks {
		page.IDs = append(page.IDs, queue.ID{Shard: uint16(from.Shard), Ref: part.Tasks[i].Ref})
	}
	if len(part.Next) > 0 {
		page.Next = &ListPlace{Shard: from.Shard, After: part.Next}
	}
	return page, nil
}
