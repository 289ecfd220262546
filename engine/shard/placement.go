package shard

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
)

// directory knows which queues are ordered. Who places a task reads it without a lock; a change copies it.
type directory struct {
	ordered atomic.Pointer[map[queueName]struct{}]
	mu      sync.Mutex // held by who changes it
}

// SetOrdered says whether a queue's tasks all go to one shard, or (spread) each call's go to the next one.
// Tasks that are stored stay where they are.
func (g *Group) SetOrdered(tenant, name string, ordered bool) {
	d := &g.places
	d.mu.Lock()
	defer d.mu.Unlock()
	next := map[queueName]struct{}{}
	if old := d.ordered.Load(); old != nil {
		next = maps.Clone(*old)
	}
	if ordered {
		next[queueName{tenant, name}] = struct{}{}
	} else {
		delete(next, queueName{tenant, name})
	}
	d.ordered.Store(&next)
}

// pinned returns the shard that a task has to go to; false for one that may go to any.
func (g *Group) pinned(ordered map[queueName]struct{}, tenant string, t *queue.NewTask) (shard int, is bool) {
	if len(ordered) > 0 {
		if _, is := ordered[queueName{tenant, t.Queue}]; is {
			return g.owner(tenant, t.Queue), true
		}
	}
	return 0, false
}

// owner returns the shard that a name belongs to. It must stay as it is: what is stored lies where it says.
func (g *Group) owner(name ...string) int {
	// FNV-1a (Fowler, Noll and Vo), folded since its low bits alone are the weaker ones.
	h := uint64(0xcbf29ce484222325)
	for _, part := range name {
		for i := range len(part) {
			h = (h ^ uint64(part[i])) * 0x100000001b3
		}
		h = (h ^ 0xff) * 0x100000001b3 // no name has this byte: parts can't be mistaken for others
	}
	return int((h ^ h>>32) % uint64(len(g.shards)))
}

// target is where the tasks of one call go: all to one shard, or each to its own.
type target struct {
	one  int
	each []uint16 // nil: all go to one
}

// place decides where the tasks of a call go. Spread tasks go to one shard, and those of the next call to the
// next shard: a batch stays a batch.
func (g *Group) place(tenant string, tasks []queue.NewTask) target {
	var ordered map[queueName]struct{}
	if p := g.places.ordered.Load(); p != nil {
		ordered = *p
	}
	to := target{one: -1}
	spread := -1
	for i := range tasks {
		shard, is := g.pinned(ordered, tenant, &tasks[i])
		if !is {
			if spread < 0 {
				spread = int((g.spread.Add(1) - 1) % uint32(len(g.shards)))
			}
			shard = spread
		}
		switch {
		case to.each != nil:
			to.each[i] = uint16(shard)
		case to.one < 0:
			to.one = shard
		case shard != to.one:
			to.each = make([]uint16, len(tasks))
			for k := range i {
				to.each[k] = uint16(to.one)
			}
			to.each[i] = uint16(shard)
		}
	}
	to.one = max(to.one, 0) // no task at all
	return to
}
