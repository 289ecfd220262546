package shard

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
)

// directory records which queues do not let any shard store any task, and the versions of the
// queues' policies. Placing a task reads pins without a lock; a change replaces the map with a
// changed copy.
type directory struct {
	pins atomic.Pointer[map[queueName]pin]

	mu       sync.Mutex
	versions map[queueName]policyVersions // of each queue that was ever configured
}

// pin determines which tasks of a queue go to the same shard.
type pin uint8

const (
	notPinned pin = iota
	byQueue       // all
	byGroup       // those of each group, so that this shard can apply the limit of the group
)

// pinOf returns how the tasks of a queue with a policy are placed.
func pinOf(p *queue.Policy) pin {
	switch {
	case p.Placement == queue.Ordered:
		return byQueue
	case p.GroupLimit != queue.Limit{}:
		return byGroup
	}
	return notPinned
}

// policyVersions contains the versions of one queue's policy. Versions only grow. Of two concurrent
// changes, the one with the higher version therefore wins in every shard.
type policyVersions struct {
	given  uint64 // the highest version given to a change
	placed uint64 // the version that placement follows
}

func (d *directory) next(q queueName) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.versions[q]
	v.given++
	d.versions[q] = v
	return v.given
}

// follow makes placement use the policy p of a queue, unless placement already uses a later
// version. Every shard that the node serves must already have the policy.
func (d *directory) follow(q queueName, p *queue.Policy, version uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.versions[q]
	if version < v.placed {
		return
	}
	v.placed = version
	v.given = max(v.given, version)
	d.versions[q] = v
	pins, to := *d.pins.Load(), pinOf(p)
	if pins[q] == to {
		return
	}
	pins = maps.Clone(pins)
	if to == notPinned {
		delete(pins, q)
	} else {
		pins[q] = to
	}
	d.pins.Store(&pins)
}

// begin sets the initial contents, before the group serves calls.
func (d *directory) begin(pins map[queueName]pin, versions map[queueName]policyVersions) {
	d.versions = versions
	d.pins.Store(&pins)
}

// pinned returns the shard that must store a task, or false if any shard may store it. All tasks of
// a queue with the same idempotency key go to one shard, so that this shard finds duplicates. In a
// queue with a limit of groups, all tasks of a group go to one shard, whatever keys they have.
func (g *Group) pinned(pins map[queueName]pin, tenant string, t *queue.NewTask) (shard int, is bool) {
	if len(pins) > 0 {
		switch pins[queueName{tenant, t.Queue}] {
		case byQueue:
			return g.owner(tenant, t.Queue), true
		case byGroup:
			if t.Group != 0 {
				return g.groupOwner(t.Group), true
			}
		case notPinned:
		}
	}
	if t.Key != "" {
		return g.owner(tenant, t.Queue, t.Key), true
	}
	return 0, false
}

// groupOwner returns the shard that a group is assigned to.
func (g *Group) groupOwner(group uint64) int { return int(group % uint64(g.size)) }

// owner returns the shard that a name is assigned to. Its results must never change, because tasks
// are stored in the shards that it chose.
func (g *Group) owner(name ...string) int {
	// FNV-1a (Fowler, Noll and Vo). Its low bits are weaker than its high bits, so both halves are
	// combined.
	h := uint64(0xcbf29ce484222325)
	for _, part := range name {
		for i := range len(part) {
			h = (h ^ uint64(part[i])) * 0x100000001b3
		}
		// Separate the parts with a byte that valid UTF-8 never contains.
		h = (h ^ 0xff) * 0x100000001b3
	}
	return int((h ^ h>>32) % uint64(g.size))
}

type target struct {
	one  int
	each []uint16 // nil if all go to one
}

// place chooses the shards of a call's tasks. All tasks of a call that are not pinned go to the
// same shard, so that a batch is not split. Those of the next call go to the next shard.
func (g *Group) place(v *view, tenant string, tasks []queue.NewTask) target {
	pins := *g.places.pins.Load()
	to := target{one: -1}
	spread := -1
	for i := range tasks {
		shard, is := g.pinned(pins, tenant, &tasks[i])
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
	to.one = max(to.one, 0) // it is -1 for a call without tasks
	return to
}
