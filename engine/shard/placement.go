package shard

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
)

// directory knows which queues are ordered, and the versions of their policies. Placing a task reads it without a lock; a change copies
// it.
type directory struct {
	ordered atomic.Pointer[map[queueName]struct{}]

	mu       sync.Mutex
	versions map[queueName]policyVersions // of the queues that were ever configured
}

// policyVersions are the versions of one queue's policy. Versions only grow, so that every shard ends with the same one of two concurrent
// changes.
type policyVersions struct {
	given  uint64 // the highest that was given to a change
	placed uint64 // the one that the directory follows
}

// next returns the version of a change that begins.
func (d *directory) next(q queueName) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.versions[q]
	v.given++
	d.versions[q] = v
	return v.given
}

// follow makes placement follow a policy that every shard has, unless it follows a later one.
func (d *directory) follow(q queueName, p queue.Placement, version uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.versions[q]
	if version < v.placed {
		return
	}
	v.placed = version
	v.given = max(v.given, version)
	d.versions[q] = v
	ordered := *d.ordered.Load()
	if _, is := ordered[q]; is == (p == queue.Ordered) {
		return
	}
	ordered = maps.Clone(ordered)
	if p == queue.Ordered {
		ordered[q] = struct{}{}
	} else {
		delete(ordered, q)
	}
	d.ordered.Store(&ordered)
}

// begin sets what holds when the group starts.
func (d *directory) begin(ordered map[queueName]struct{}, versions map[queueName]policyVersions) {
	d.versions = versions
	d.ordered.Store(&ordered)
}

// pinned returns the shard that a task has to go to; false for one that may go to any. A key lies in one shard, so
// that it is found again.
func (g *Group) pinned(ordered map[queueName]struct{}, tenant string, t *queue.NewTask) (shard int, is bool) {
	if len(ordered) > 0 {
		if _, is := ordered[queueName{tenant, t.Queue}]; is {
			return g.owner(tenant, t.Queue), true
		}
	}
	if t.Key != "" {
		return g.owner(tenant, t.Queue, t.Key), true
	}
	return 0, false
}

// owner returns the shard that a name belongs to. It must not change: stored tasks are where owner placed them.
func (g *Group) owner(name ...string) int {
	// FNV-1a (Fowler, Noll and Vo), folded because its low bits are the weaker ones.
	h := uint64(0xcbf29ce484222325)
	for _, part := range name {
		for i := range len(part) {
			h = (h ^ uint64(part[i])) * 0x100000001b3
		}
		h = (h ^ 0xff) * 0x100000001b3 // no text has this byte: parts can't be mistaken for others
	}
	return int((h ^ h>>32) % uint64(g.size))
}

// target is where the tasks of one call go: all to one shard, or each to its own.
type target struct {
	one  int
	each []uint16 // nil: all go to one
}

// place decides where the tasks of a call go. The spread tasks of one call go to one shard, so that a batch
// stays a batch. The spread tasks of the next call go to the next shard.
func (g *Group) place(v *view, tenant string, tasks []queue.NewTask) target {
	ordered := *g.places.ordered.Load()
	to := target{one: -1}
	spread := -1
	for i := range tasks {
		shard, is := g.pinned(ordered, tenant, &tasks[i])
		if !is {
			if spread < 0 {
				spread = v.led[(g.spread.Add(1)-1)%uint32(len(v.led))]
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
