package shard

import (
	"errors"

	"github.com/pronybench/prony/engine/queue"
)

// Enqueue stores tasks of one tenant. reply is called once, when the tasks are durable; it must not
// block. If the tasks go to several shards and some refuse their parts, the tasks of these parts
// have the refusal as their error. If all shards refuse, Enqueue returns the refusal and does not
// call reply. The caller must not change tasks before reply is called.
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

// sameShard reports whether all settlements are for one existing shard.
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

// parts holds a call's items grouped by shard.
type parts[T any] struct {
	items  []T     // sorted by shard
	places []int32 // index of each item in the call
	ends   []int   // end of each shard's items
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
	for s, n := range p.ends { // from here on: the index of each shard's next item
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

// of returns the items of a shard and their places. With the number of shards as argument, it
// returns the items of nonexistent shards.
func (p *parts[T]) of(shard int) (items []T, places []int32) {
	from := 0
	if shard > 0 {
		from = p.ends[shard-1]
	}
	return p.items[from:p.ends[shard]], p.places[from:p.ends[shard]]
}

// scatter sends each shard its part, and replies once all parts are answered, in the call's order.
// outcome returns an item's answer: made from its shard's answer, or from the error if the shard is
// nil, refused its part or lost leadership. If all shards refuse, scatter returns the error and
// does not reply. Another error of one part is the error of the whole reply.
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
				// The other parts have their own outcomes.
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
