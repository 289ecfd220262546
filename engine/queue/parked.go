package queue

import (
	"math"
	"slices"

	"github.com/google/btree"
)

// parkedKey is the place of a parked task in the order of its queue.
type parkedKey struct {
	priority uint8
	fresh    bool // not claimed before; see nextLane
	returnedKey
}

func (k *parkedKey) less(o *parkedKey) bool {
	switch {
	case k.priority != o.priority:
		return k.priority > o.priority
	case k.fresh != o.fresh:
		return o.fresh
	}
	return k.returnedKey.less(o.returnedKey)
}

// parkedTask is a task that left the window of its lane, because its group has no room.
type parkedTask struct {
	parkedKey // dueAtMs is the time of the enqueue if the task is in no Due record
	group     *group
	lane      *lane
	hasDue    bool
	due       Due // without DueAtMs if the task is in no Due record
}

// parkedTasks contains the parked tasks of a lane.
type parkedTasks struct {
	fresh    *btree.BTreeG[*parkedTask] // without a Due record, by seq
	returned *btree.BTreeG[*parkedTask] // by due time and seq
}

func newParkedTasks() *parkedTasks {
	return &parkedTasks{
		fresh:    btree.NewG(8, func(a, b *parkedTask) bool { return a.seq < b.seq }),
		returned: btree.NewG(8, func(a, b *parkedTask) bool { return a.returnedKey.less(b.returnedKey) }),
	}
}

func (p *parkedTasks) of(t *parkedTask) *btree.BTreeG[*parkedTask] {
	if t.hasDue {
		return p.returned
	}
	return p.fresh
}

func (p *parkedTasks) len() int {
	if p == nil {
		return 0
	}
	return p.fresh.Len() + p.returned.Len()
}

// find returns the parked task of a lane with a seq or, if it has a Due record, with a place. It returns nil
// if no such task is parked.
func (p *parkedTasks) find(k returnedKey, hasDue bool) *parkedTask {
	if p == nil {
		return nil
	}
	t := &parkedTask{parkedKey: parkedKey{returnedKey: k}, hasDue: hasDue}
	found, _ := p.of(t).Get(t)
	return found
}

func (p *parkedTasks) returnedLen() int {
	if p == nil {
		return 0
	}
	return p.returned.Len()
}

// first returns the lane's parked task that became ready first, or nil.
func (p *parkedTasks) first() *parkedTask {
	if p == nil {
		return nil
	}
	t, ok := p.returned.Min()
	if f, has := p.fresh.Min(); has && (!ok || f.returnedKey.less(t.returnedKey)) {
		return f
	}
	return t
}

// firstFresh returns a lower bound of the seqs of the lane's fresh tasks, including parked ones.
func (l *lane) firstFresh() uint64 {
	if l.parked != nil {
		if t, ok := l.parked.fresh.Min(); ok {
			return min(t.seq, l.cursor)
		}
	}
	return l.cursor
}

// headKey returns the place of the next task of a lane that nextLane returned, or a lower bound.
// Fresh tasks that are only stored come after all parked ones.
func (ls *lanes) headKey(l *lane, priority uint8) parkedKey {
	ls.dropGone(l)
	k := parkedKey{priority: priority, fresh: l.number > MaxPriority, returnedKey: l.nextDue()}
	if k.dueAtMs > ls.nowMs {
		k.fresh, k.returnedKey = true, returnedKey{math.MaxInt64, 0}
		if l.fresh.len() > 0 {
			f := l.fresh.front()
			k.returnedKey = returnedKey{f.task.EnqueuedAtMs, f.seq}
		}
	}
	return k
}

// head returns the extras of the next task of a lane that nextLane returned. It returns false if
// the task is not in memory, or does not exist.
func (ls *lanes) head(l *lane) (*Extras, bool) {
	if l.nextDueMs() <= ls.nowMs {
		t, ok := l.returned.Min()
		return t.due.Extras, ok
	}
	if ls.dropGone(l); l.fresh.len() == 0 {
		return nil, false
	}
	return l.fresh.front().task.Extras, true
}

// takeLimited is take for a queue with limits.
func (d *dispatcher) takeLimited(q *Queue, priority uint8, slot *Delivery) (ok, blocked bool) {
	lim := q.limits
	for {
		l, wait := d.lanes.nextLane(q, priority)
		if g := lim.firstOpen(); g != nil && g.parked[0].priority == priority {
			t := g.parked[0]
			next := l
			if wait { // for a fresh task, which comes after the parked ones
				next = q.lanes[DelayedLane(priority)]
			}
			if next != nil {
				if k := d.lanes.headKey(next, priority); k.less(&t.parkedKey) {
					t = nil
				}
			}
			if t != nil {
				d.limiter.unpark(t)
				t.deliver(d.lanes, slot)
				s := lim.groups.get(g.hash)
				if d.expires(slot) {
					d.limiter.review(g, s)
					continue
				}
				d.limiter.lease(g, s)
				return true, false
			}
		}
		if l == nil {
			return false, wait
		}
		extras, known := d.lanes.head(l)
		// pop returns this task, if it is known
		if hash := extras.group(); known && hash != 0 && lim.each.on() && !extras.expired(d.nowMs) && !d.limiter.admit(q, hash) {
			switch {
			case !d.limiter.canPark(lim):
				lim.stuck = true
				return false, false
			case d.given >= d.cfg.turnMax:
				lim.halted = true
				return false, false
			}
			d.given++
			d.worked++
			d.limiter.park(l, lim.groups.get(hash), priority)
			continue
		}
		ok, blocked = d.lanes.pop(l, d.nowMs, slot)
		if !ok || !d.expires(slot) {
			return ok, blocked
		}
	}
}

// canPark reports whether one more task may be parked. A queue may park some tasks even if those of
// all queues reach the limit.
func (li *limiter) canPark(lim *limiting) bool {
	return lim.parked < li.cfg.parkedMax && (lim.parked < li.cfg.windowFloor() || li.parked < li.cfg.WindowsTasks)
}

// park parks the next task of a lane, which is in memory, in the group of a slot.
func (li *limiter) park(l *lane, s *groupSlot, priority uint8) {
	g := li.group(l.queue, s)
	t := &parkedTask{group: g, lane: l, parkedKey: li.lanes.headKey(l, priority)}
	if l.nextDueMs() <= li.nowMs {
		r, _ := l.returned.DeleteMin()
		li.lanes.returnedTasks--
		t.hasDue, t.due = true, r.due
		li.lanes.schedule(l)
	} else {
		f := li.lanes.popFresh(l)
		t.due = Due{MaxAttempts: f.task.MaxAttempts, LeaseMs: f.task.LeaseMs, Bytes: f.bytes, Extras: g.extras(f.task.Extras)}
		g.queue.limits.holes = true
	}
	if l.parked == nil {
		l.parked = newParkedTasks()
	}
	l.parked.of(t).ReplaceOrInsert(t)
	i, _ := slices.BinarySearchFunc(g.parked, t, compareParked)
	g.parked = slices.Insert(g.parked, i, t)
	g.queue.limits.parked++
	li.parked++
	li.review(g, s)
	li.queues.show(g.queue)
}

// extras returns a copy of the extras of a task that is parked last in a group. Equal extras are shared,
// because most tasks of a group have no other extras.
func (g *group) extras(x *Extras) *Extras {
	if n := len(g.parked); n > 0 {
		if last := g.parked[n-1].due.Extras; last != nil && *last == *x {
			return last
		}
	}
	return x.own()
}

func compareParked(a, b *parkedTask) int {
	switch {
	case a.less(&b.parkedKey):
		return -1
	case b.less(&a.parkedKey):
		return 1
	}
	return 0
}

// unpark removes a task from the parked tasks. The caller must call review, or lease, for its group.
func (li *limiter) unpark(t *parkedTask) {
	g := t.group
	li.shut(g)
	i, _ := slices.BinarySearchFunc(g.parked, t, compareParked)
	if i == 0 {
		g.parked[0] = nil
		g.parked = g.parked[1:]
	} else {
		g.parked = slices.Delete(g.parked, i, i+1)
	}
	t.lane.parked.of(t).Delete(t)
	g.queue.limits.parked--
	g.queue.limits.stuck = false
	li.parked--
}

// withdrawn removes a task from the parked tasks of a lane, if it is parked, because it is
// cancelled or dead, or because its place changes.
func (li *limiter) withdrawn(l *lane, k returnedKey, hasDue bool) {
	if t := l.parked.find(k, hasDue); t != nil {
		li.unpark(t)
		li.review(t.group, t.slot())
	}
}

// take removes the first parked task of a lane from the lane, and fills in d, as pop does. It returns
// false if the lane has no parked task.
func (li *limiter) take(l *lane, d *Delivery) bool {
	t := l.parked.first()
	if t == nil {
		return false
	}
	li.unpark(t)
	t.deliver(li.lanes, d)
	li.review(t.group, t.slot())
	return true
}

func (t *parkedTask) slot() *groupSlot { return t.lane.queue.limits.groups.get(t.group.hash) }

// deliver removes a task that was parked from its lane, and fills in d, as pop does. The payload is
// not in memory.
func (t *parkedTask) deliver(ls *lanes, d *Delivery) {
	if t.hasDue {
		ls.leaveReturned(t.lane, &returnedTask{t.returnedKey, t.due}, d)
		return
	}
	ls.leaveFresh(t.lane, &freshTask{seq: t.seq, task: Task{MaxAttempts: t.due.MaxAttempts, LeaseMs: t.due.LeaseMs, Extras: t.due.Extras, EnqueuedAtMs: t.dueAtMs}, bytes: t.due.Bytes}, d)
}

// skips reports whether a stored fresh task is leased or parked. Only a recovered state reads such
// tasks: otherwise a window begins after all tasks that were leased or parked.
func (l *lane) skips(seq uint64) bool {
	q := l.queue
	return q.limits != nil && q.limits.holes && (q.leased.token(seq) != 0 || l.parked.find(returnedKey{seq: seq}, false) != nil)
}

// noHoles reports whether the stored cursors of the queue are above all leased tasks that were
// never claimed before. It moves the cursors of lanes without fresh tasks.
func (q *Queue) noHoles() bool {
	for n := range q.record.Cursors {
		l := q.lanes[n]
		switch {
		case l == nil:
			q.record.Cursors[n] = max(q.record.Cursors[n], q.limits.holesEnd)
		case l.parked != nil && l.parked.fresh.Len() > 0:
			return false
		case l.freshAll && l.fresh.len() == 0:
			l.cursor = max(l.cursor, q.record.NextSeq)
		case l.cursor < q.limits.holesEnd:
			return false
		}
	}
	return true
}

// Holes reports whether leased tasks without a Progress record may have seqs from the Cursor of their
// priority on.
func (q *Queue) Holes() bool { return q.limits != nil && q.limits.holes }

// Parked returns the number of tasks that wait because their groups have no room.
func (q *Queue) Parked() int {
	if q.limits == nil {
		return 0
	}
	return q.limits.parked
}
