package shard

import (
	"context"
	"errors"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// QueueStats returns the figures of one queue over all shards, or ErrNoQueue.
func (g *Group) QueueStats(ctx context.Context, tenant, name string) (queue.Stats, error) {
	shards, err := g.here.Load().all()
	if err != nil {
		return queue.Stats{}, err
	}
	all, err := AwaitReply(ctx, func(reply func([][]queue.Stats, error)) error {
		return gather(shards, func(s *Shard, reply func([]queue.Stats, error)) error {
			return s.QueueStats(tenant, name, func(st queue.Stats, err error) {
				if errors.Is(err, ErrNoQueue) {
					reply(nil, nil) // other shards may have it
					return
				}
				reply([]queue.Stats{st}, err)
			})
		}, reply)
	})
	if err != nil {
		return queue.Stats{}, err
	}
	merged := MergeStats(all)
	if len(merged) == 0 {
		return queue.Stats{}, ErrNoQueue
	}
	return merged[0], nil
}

// Purge removes ready, delayed and waiting tasks of a queue: in each shard at most the number of them
// when its purge began. It returns the number of removed tasks. Shards decide other commands in
// between. If ctx ends, Purge stops part-way.
func (g *Group) Purge(ctx context.Context, tenant, name string) (removed uint64, err error) {
	shards, err := g.here.Load().all()
	if err != nil {
		return 0, err
	}
	missing := 0
	for _, s := range shards {
		n, err := s.purgeAll(ctx, tenant, name)
		removed += n
		if errors.Is(err, ErrNoQueue) {
			missing++
			continue
		}
		if err != nil {
			return removed, err
		}
	}
	if missing == len(shards) {
		return 0, ErrNoQueue
	}
	return removed, nil
}

func (s *Shard) purgeAll(ctx context.Context, tenant, name string) (removed uint64, err error) {
	st, err := AwaitReply(ctx, func(reply func(queue.Stats, error)) error { return s.QueueStats(tenant, name, reply) })
	if err != nil {
		return 0, err
	}
	most := st.Ready + st.Delayed + st.Waiting
	for removed < most {
		p, err := AwaitReply(ctx, func(reply func(Purged, error)) error {
			return s.Purge(tenant, name, int(min(purgeMax, most-removed)), reply)
		})
		if err != nil {
			return removed, err
		}
		removed += uint64(p.Removed)
		if !p.More {
			break
		}
	}
	return removed, nil
}

// Change changes tasks of one tenant. For each task it returns ErrNotFound, the result of the change,
// or the error if the task's shard refused the call.
func (g *Group) Change(ctx context.Context, what Change, tenant string, ids []queue.ID) ([]error, error) {
	each, refs := make([]uint16, len(ids)), make([]queue.Ref, len(ids))
	for i, id := range ids {
		each[i], refs[i] = id.Shard, id.Ref
	}
	return AwaitReply(ctx, func(reply func([]error, error)) error {
		return scatter(g.here.Load().shards, split(refs, each, g.size), reply,
			func(s *Shard, part []queue.Ref, reply func([]error, error)) error {
				return s.Change(what, tenant, part, reply)
			}, outcomeOf)
	})
}

// EditDead edits a dead task of a tenant: see Shard.EditDead.
func (g *Group) EditDead(ctx context.Context, tenant string, id queue.ID, e *queue.Edit) error {
	s, err := g.of(id)
	if err != nil {
		return err
	}
	_, err = AwaitReply(ctx, func(reply func(struct{}, error)) error { return s.EditDead(tenant, id.Ref, e, reply) })
	return err
}

// outcomeOf is an outcome function for scatter, for calls that answer each item with an error or
// nil.
func outcomeOf(_ int, outcome, refused error) error {
	if refused != nil {
		return refused
	}
	return outcome
}

// Await calls reply once, when a task is done, dead or removed: see Shard.Await.
func (g *Group) Await(tenant string, id queue.ID, reply func(Awaited, error)) (cancel func(), err error) {
	s, err := g.of(id)
	if err != nil {
		return nil, err
	}
	return s.Await(tenant, id.Ref, reply)
}

// ListPlace is a position in a list over all shards. The zero value is the beginning.
type ListPlace struct {
	Shard int
	After storage.Place
}

// ListPage is a page of a list over all shards. The list contains the tasks of one shard after the
// other.
type ListPage struct {
	Tasks []Found
	IDs   []queue.ID // the id of each task
	// Next is the position of the next page, or nil for the last page. Other pages too may contain
	// fewer tasks than List.Limit, or none.
	Next *ListPlace
}

// List lists tasks of the shards that this node leads, starting at from. It ignores l.After. It
// returns ErrNoQueue if no shard has the queue, and storage.ErrPlace if from is not a position of
// this list.
func (g *Group) List(ctx context.Context, l List, from ListPlace) (page ListPage, err error) {
	if from.Shard < 0 || from.Shard >= g.size {
		return page, storage.ErrPlace
	}
	v := g.here.Load()
	if len(v.led) == 0 {
		return page, &NotLeaderError{from.Shard}
	}
	left := l
	missing := 0
	last := v.led[len(v.led)-1]
	for _, i := range v.led {
		if i < from.Shard {
			continue
		}
		left.After = nil
		if i == from.Shard {
			left.After = from.After
		}
		part, err := AwaitReply(ctx, func(reply func(Listed, error)) error { return v.shards[i].List(left, reply) })
		if errors.Is(err, ErrNoQueue) {
			missing++
			continue
		}
		if err != nil {
			return page, err
		}
		for k := range part.Tasks {
			page.IDs = append(page.IDs, queue.ID{Shard: uint16(i), Ref: part.Tasks[k].Ref})
			if l.BytesMax > 0 {
				left.BytesMax -= part.Tasks[k].bytes()
			}
		}
		page.Tasks = append(page.Tasks, part.Tasks...)
		left.Limit = l.Limit - len(page.Tasks)
		if len(part.Next) > 0 {
			page.Next = &ListPlace{Shard: i, After: part.Next}
			return page, nil
		}
		if i < last && (left.Limit <= 0 || l.BytesMax > 0 && left.BytesMax <= 0) {
			page.Next = &ListPlace{Shard: i + 1}
			return page, nil
		}
	}
	if missing == len(v.led) {
		return page, ErrNoQueue
	}
	return page, nil
}

func (f *Found) bytes() int {
	n := len(f.Task.Payload)
	for i := range f.Attempts {
		n += len(f.Attempts[i].Error)
	}
	return n
}

const (
	deadPage      = 500     // maximum number of tasks that one call of Change changes
	deadPageBytes = 8 << 20 // approximate limit of payload and error bytes in one page
)

// ChangeDead redrives or purges the matching dead tasks of a queue, and returns the number of
// changed tasks. It may or may not find tasks that die during the call, so match should select
// tasks by their time of death. If ctx ends, ChangeDead stops part-way.
func (g *Group) ChangeDead(ctx context.Context, what Change, tenant, name string, match func(*Found) bool) (changed uint64, err error) {
	return g.changeAll(ctx, what, List{Tenant: tenant, Queue: name, State: Dead, Limit: deadPage, BytesMax: deadPageBytes, Match: match})
}

func (g *Group) changeAll(ctx context.Context, what Change, l List) (changed uint64, err error) {
	var at ListPlace
	for {
		page, err := g.List(ctx, l, at)
		if err != nil {
			return changed, err
		}
		if len(page.IDs) > 0 {
			outcomes, err := g.Change(ctx, what, l.Tenant, page.IDs)
			if err != nil {
				return changed, err
			}
			for _, outcome := range outcomes {
				switch {
				case outcome == nil:
					changed++
				case !errors.Is(outcome, ErrNotFound) && !errors.Is(outcome, ErrNotDead) && !errors.Is(outcome, queue.ErrKeyTaken):
					// ErrNotFound and ErrNotDead only mean that another call changed the task
					// first. With ErrKeyTaken the task stays dead.
					return changed, outcome
				}
			}
		}
		if page.Next == nil {
			return changed, nil
		}
		at = *page.Next
	}
}

// Checkpoint writes a consistent copy of one shard's store into the folder dir, which must not
// exist yet. The copy includes everything that was acknowledged before the call. Copies of several
// shards are made at different moments. Each task is still consistent, because it is stored in one
// shard only. But a message about the end of a task may be in neither copy: the waiting task then
// continues to wait after a restore, until an operator reschedules it.
func (g *Group) Checkpoint(shard int, dir string) error {
	s, err := g.here.Load().at(shard)
	if err != nil {
		return err
	}
	return s.Checkpoint(dir)
}

// System reads the node's system records, which shard 0 stores.
func (g *Group) System() ([]storage.SystemRecord, error) {
	s, err := g.here.Load().at(0)
	if err != nil {
		return nil, err
	}
	return s.System()
}

// PutSystem stores the node's system records in shard 0. A nil value removes a record. reply is
// called as for Lookup.
func (g *Group) PutSystem(records []storage.SystemRecord, reply func(struct{}, error)) error {
	s, err := g.here.Load().at(0)
	if err != nil {
		return err
	}
	return s.PutSystem(records, reply)
}
