package shard

import (
	"errors"

	"github.com/pronybench/prony/engine/queue"
)

// Enqueue stores tasks of one tenant. reply is called once, when the tasks are durable; it must not
// block. The tasks may go to several shards. If some shards refuse their tasks, each of these tasks
// gets the refusal as its error. If all shards refuse, Enqueue returns the error of one of them and
// does not call reply. The caller must not change tasks before reply is called.
func (g *Group) Enqueue(tenant string, tasks []queue.NewTask, reply func([]queue.Enqueued, error)) error {
	v := g.here.Load()
	if g.size == 1 {
		s, err := v.at(0)
		if err != nil {
			return err
		}
		return s.Enqueue(tenant, tasks, reply)
	}
	if len(v.led) == 0 {
		return &NotLeaderError{0}
	}
	to := g.place(v, tenant, tasks)
	if to.each == nil {
		s, err := v.at(to.one)
		if err != nil {
			return err
		}
		return s.Enqueue(tenant, tasks, func(out []queue.Enqueued, err error) {
			for i := range out {
				out[i].Shard = uint16(to.one)
			}
			reply(out, err)
		})
	}
	return scatter(v.shards, split(tasks, to.each, g.size), reply,
		func(s *Shard, part []queue.NewTask, reply func([]queue.Enqueued, error)) error {
			return s.Enqueue(tenant, part, reply)
		},
		func(shard int, out queue.Enqueued, refused error) queue.Enqueued {
			out.Shard = uint16(shard)
			if refused != nil {
				out.Err = refused
			}
			return out
		})
}

// Settle ends or extends leases of one tenant. reply is called as for Enqueue, with one error for
// each settlement: nil, queue.ErrStaleToken, ErrNotFound if the group has no such shard, or the
// refusal of the shard.
func (g *Group) Settle(tenant string, settlements []queue.Settlement, reply func([]error, error)) error {
	if one, same := g.sameShard(settlements); same {
		s, err := g.here.Load().at(int(one))
		if err != nil {
			return err
		}
		return s.Settle(tenant, settlements, reply)
	}
	each := make([]uint16, len(settlements))
	for i := range settlements {
		each[i] = settlements[i].Shard
	}
	return scatter(g.here.Load().shards, split(settlements, each, g.size), reply,
		func(s *Shard, part []queue.Settlement, reply func([]error, error)) error {
			return s.Settle(tenant, part, reply)
		},
		outcomeOf)
}

// sameShard reports whether all settlements are for one existing shard, and returns that shard. For
// no settlements it returns shard 0.
func (g *Group) sameShard(settlements []queue.Settlement) (shard uint16, same bool) {
	if len(settlements) == 0 {
		return 0, true
	}
	shard = settlements[0].Shard
	for i := range settlements {
		if settlements[i].Shard != shard {
			return 0, false
		}
	}
	return shard, int(shard) < g.size
}

// parts contains a call's items, grouped by shard.
type parts[T any] struct {
	items  []T     // sorted by shard
	places []int32 // index of each item in the call
	ends   []int   // index after the last item of each shard
}

// split sorts items by shard and preserves their order within a shard. Items of nonexistent shards
// come last.
func split[T any](items []T, each []uint16, shards int) parts[T] {
	p := parts[T]{items: make([]T, len(items)), places: make([]int32, len(items)), ends: make([]int, shards+1)}
	part := func(i int) int { return min(int(each[i]), shards) }
	for i := range items {
		p.ends[part(i)]++
	}
	at := 0
	for s, n := range p.ends { // ends is now the index where each shard's next item goes
		p.ends[s] = at
		at += n
	}
	for i := range items {
		k := p.ends[part(i)]
		p.items[k], p.places[k] = items[i], int32(i)
		p.ends[part(i)]++
	}
	return p
}

// of returns the items of a shard and their places. If shard equals the number of shards, it
// returns the items of nonexistent shards.
func (p *parts[T]) of(shard int) (items []T, places []int32) {
	from := 0
	if shard > 0 {
		from = p.ends[shard-1]
	}
	return p.items[from:p.ends[shard]], p.places[from:p.ends[shard]]
}

// scatter sends each shard its part. When all parts are answered, it replies with one answer per
// item, in the order of the call's items. outcome computes the answer of an item from the answer of
// its shard. If the shard is nil, refused its part or lost leadership, outcome computes the answer
// from that error instead. Any other error of a part is the error of the whole reply. If all shards
// refuse, scatter returns an error and does not reply.
func scatter[T, U any](shards []*Shard, p parts[T], reply func([]U, error),
	send func(*Shard, []T, func([]U, error)) error, outcome func(shard int, answer U, refused error) U,
) error {
	j := newJoin(make([]U, len(p.items)), len(shards)+1, reply)
	refuse := func(shard int, places []int32, err error) {
		var none U
		for _, place := range places {
			j.out[place] = outcome(shard, none, err)
		}
	}
	taken, idle := false, 0
	var refused error
	for i, s := range shards {
		items, places := p.of(i)
		if len(items) == 0 {
			idle++
			continue
		}
		err := error(&NotLeaderError{i})
		if s != nil {
			err = send(s, items, func(answers []U, err error) {
				// Only this part fails: the other parts may succeed.
				if errors.Is(err, ErrNotLeader) || errors.Is(err, ErrUnknownOutcome) {
					refuse(i, places, err)
					err = nil
				} else {
					for k := range answers {
						j.out[places[k]] = outcome(i, answers[k], nil)
					}
				}
				j.done(1, err)
			})
		}
		if err != nil {
			refuse(i, places, err)
			refused = err
			idle++
			continue
		}
		taken = true
	}
	_, unknown := p.of(len(shards))
	if !taken && refused != nil && len(unknown) == 0 {
		return refused
	}
	refuse(len(shards), unknown, ErrNotFound)
	j.done(idle+1, nil)
	return nil
}
