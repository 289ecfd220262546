package queue

import "github.com/google/btree"

// A queue may limit how many of its tasks are leased at once, and how many per second, both in all
// and for each group of its tasks. If the next task of a queue belongs to a group without room, the
// dispatcher parks it: the task leaves the window of its lane, so that the tasks behind it can be
// leased, and waits in the order of the queue until its group has room. For the store and all
// counts, a parked task is a task that waits, as before:
//
//	lane:   window │ stored only          the next task of a queue is the first of the lane,
//	group:  parked tasks in order         or the first parked task of the groups that have room
//
// A group is in memory only while it has leased or parked tasks or its bucket is not full. Nothing of
// it is stored: the number of leased tasks of a group follows from the leases, and buckets are full
// after a recovery.

// limiting contains the limits of a queue and its counts of leases. It is nil for a queue that
// never had limits.
type limiting struct {
	all, each bound // of the queue, and of each of its groups
	own       group // the bucket of the queue; its leased tasks are in Counts
	groups    groupTable
	// open contains the groups with parked tasks and with room, in the order of their first parked
	// tasks.
	open   *btree.BTreeG[*group]
	parked int
	full   bool // the queue had no room for leases at its last turn
	stuck  bool // the next task can't be parked, because too many are
	halted bool // the last turn parked tasks until it reached its limit
	// holes is true if leased tasks may have higher seqs than tasks that are fresh. The windows of
	// a recovered state then skip leased tasks below holesEnd.
	holes    bool
	holesEnd uint64
}

// group is the state of a group with a bucket or with parked tasks. The number of its leased tasks is in
// its groupSlot, since most groups need nothing else.
type group struct {
	queue  *Queue
	hash   uint64
	bucket bucket
	at     uint32        // place in limiter.states
	parked []*parkedTask // in the order of the queue
	opened bool          // the group is in limiting.open
	wakeMs int64         // deadline in limiter.due
	index  int           // place in limiter.due
}

func (g *group) deadlineMs() int64 { return g.wakeMs }
func (g *group) place() *int       { return &g.index }

// limiter applies the limits of all queues.
type limiter struct {
	*env
	queues *queues
	lanes  *lanes
	leases *leases

	due    deadlines[*group] // groups, and queues, that wait for a token or for a full bucket
	states []*group          // by groupSlot.state; the first is nil
	unused []uint32          // the places in states that no slot has
	parked int               // number of parked tasks of all queues
}

const (
	// statesKept is the number of places in limiter.states that keep their unused groups.
	statesKept = 1_024
	// fullEveryMs is the resolution of the times when the states of idle groups are dropped.
	fullEveryMs = 64
)

func newLimiting(q *Queue) *limiting {
	return &limiting{
		own:  group{queue: q, index: -1},
		open: btree.NewG(8, func(a, b *group) bool { return a.parked[0].less(&b.parked[0].parkedKey) }),
	}
}

// bounds returns the bounds of a policy in this shard.
func (c *Config) bounds(p *Policy) (all, each bound) {
	limit := p.Limit
	if p.Placement == Spread {
		limit = limit.share(c.Shard, c.Shards)
	}
	return limit.bound(), p.GroupLimit.bound()
}

// configure applies the limits of the queue's policy, which was changed.
func (li *limiter) configure(q *Queue) {
	all, each := li.cfg.bounds(&q.record.Policy)
	lim := q.limits
	if lim == nil {
		if !all.on() && !each.on() {
			return
		}
		lim = newLimiting(q)
		q.limits = lim
	}
	lim.own.bucket.rebound(&lim.all, &all, li.nowMs)
	counted, before := lim.each.on(), lim.each
	lim.all, lim.each, lim.full, lim.stuck = all, each, false, false
	if each.on() && !counted {
		li.countLeased(q)
	}
	for s := range lim.groups.all() {
		g := li.stateOf(&s)
		switch {
		case g != nil:
			li.shut(g)
			if g.bucket.rebound(&before, &each, li.nowMs); !each.on() {
				lim.groups.get(s.hash).leased = 0
			}
			li.review(g, lim.groups.get(s.hash))
		case !each.on():
			lim.groups.remove(s.hash)
		}
	}
	if lim.parked == 0 && !all.on() && !each.on() && !lim.holes {
		li.forget(q)
	}
	li.queues.heat(q)
}

// recover restores the limits of the queues, and counts the leased tasks of their groups.
func (li *limiter) recover() {
	grouped := false
	for _, q := range li.queues.byID {
		all, each := li.cfg.bounds(&q.record.Policy)
		if !all.on() && !each.on() && !q.record.Holes {
			continue
		}
		lim := newLimiting(q)
		lim.all, lim.each, lim.own.bucket = all, each, bucket{all.full, li.nowMs}
		lim.holes, lim.holesEnd = q.record.Holes, q.record.NextSeq
		q.limits = lim
		grouped = grouped || each.on()
	}
	if !grouped {
		return
	}
	for _, b := range li.leases.batches {
		for i := range b.refs {
			ref := &b.refs[i]
			if hash := ref.Extras.group(); ref.Attempt != 0 && hash != 0 {
				if q := li.queues.numbered(ref.Queue); q.limits != nil && q.limits.each.on() {
					q.limits.groups.claim(hash).leased++
				}
			}
		}
	}
}

// countLeased counts the leased tasks of each group of a queue that gets a limit of groups.
func (li *limiter) countLeased(q *Queue) {
	if q.record.Counts.Leased == 0 {
		return
	}
	for _, b := range li.leases.batches {
		for i := range b.refs {
			if ref := &b.refs[i]; ref.Attempt != 0 && ref.Queue == q.record.ID && ref.Extras.group() != 0 {
				q.limits.groups.claim(ref.Extras.Group).leased++
			}
		}
	}
}

// forget drops the limits of a queue without parked tasks.
func (li *limiter) forget(q *Queue) {
	if q.limits == nil {
		return
	}
	for s := range q.limits.groups.all() {
		if g := li.stateOf(&s); g != nil {
			li.dropState(g)
		}
	}
	li.due.remove(&q.limits.own)
	q.limits = nil
}

// tookBreak reports whether the last turn parked tasks until it reached its limit.
func (lim *limiting) tookBreak() bool {
	halted := lim.halted
	lim.halted = false
	return halted
}

// firstOpen returns the group with room whose parked task is the first of the queue, or nil.
func (lim *limiting) firstOpen() *group {
	if lim.parked == 0 {
		return nil
	}
	g, _ := lim.open.Min()
	return g
}

// stateOf returns the state of a group, or nil if it has none.
func (li *limiter) stateOf(s *groupSlot) *group {
	if s.state == 0 {
		return nil
	}
	return li.states[s.state]
}

// group returns the state of a group, and creates it if it has none.
func (li *limiter) group(q *Queue, s *groupSlot) *group {
	if s.state != 0 {
		return li.states[s.state]
	}
	if n := len(li.unused); n > 0 {
		s.state = li.unused[n-1]
		li.unused = li.unused[:n-1]
	} else {
		if len(li.states) == 0 {
			li.states = append(li.states, nil)
		}
		s.state = uint32(len(li.states))
		li.states = append(li.states, nil)
	}
	g := li.states[s.state]
	if g == nil {
		g = &group{at: s.state, index: -1}
		li.states[s.state] = g
	}
	g.queue, g.hash, g.bucket = q, s.hash, bucket{q.limits.each.full, li.nowMs}
	return g
}

// room returns how many of n further tasks the limit of a queue allows. If it allows none, the queue
// gets a turn when there is room again.
func (li *limiter) room(q *Queue, n int) int {
	lim := q.limits
	n = min(n, lim.all.room(q.record.Counts.Leased, &lim.own.bucket, li.nowMs))
	if n > 0 {
		return n
	}
	lim.full = true
	if lim.all.leasedMax == 0 || q.record.Counts.Leased < uint64(lim.all.leasedMax) { // it lacks a token
		li.wakeAt(&lim.own, lim.own.bucket.reaches(&lim.all, tokenUnits))
	}
	return 0
}

// took counts n leases of a queue against the limit of the queue.
func (li *limiter) took(q *Queue, n int) {
	if q.limits.all.rate > 0 {
		q.limits.own.bucket.level -= int64(n) * tokenUnits
	}
}

// admit counts the lease of a task of a group, if the limit of groups allows it.
func (li *limiter) admit(q *Queue, hash uint64) bool {
	lim := q.limits
	s := lim.groups.claim(hash)
	if each := &lim.each; each.rate == 0 && s.state == 0 {
		if s.leased >= each.leasedMax {
			return false
		}
		s.leased++
		return true
	}
	g := li.group(q, s)
	if lim.each.room(uint64(s.leased), &g.bucket, li.nowMs) == 0 {
		return false
	}
	li.shut(g)
	li.lease(g, s)
	return true
}

// lease counts the lease of a task of a group, which was shut.
func (li *limiter) lease(g *group, s *groupSlot) {
	if each := &g.queue.limits.each; each.on() {
		s.leased++
		if each.rate > 0 {
			// A full bucket gains nothing from the time before the lease.
			g.bucket.refill(each, li.nowMs)
			g.bucket.level -= tokenUnits
		}
	}
	li.review(g, s)
}

// ended notes that the lease of a task ended.
func (li *limiter) ended(q *Queue, ref *LeaseRef) {
	lim := q.limits
	if lim.full {
		lim.full = false
		li.queues.heat(q)
	}
	if lim.holes && ref.Priority <= MaxPriority {
		if l := q.lanes[ref.Priority]; l != nil {
			l.noteGone(ref.Seq)
		}
	}
	hash := ref.Extras.group()
	if hash == 0 || !lim.each.on() {
		return
	}
	s := lim.groups.get(hash)
	if s == nil || s.leased == 0 {
		broken("a lease of group %x of queue %q ends, and the group has none", hash, q.record.Name)
	}
	s.leased--
	switch {
	case s.state != 0:
		g := li.states[s.state]
		li.shut(g)
		li.review(g, s)
	case s.leased == 0:
		lim.groups.remove(hash)
	}
}

// shut removes a group from the groups with room, before a change of its parked tasks or of its
// room. review must be called after the change.
func (li *limiter) shut(g *group) {
	if g.opened {
		g.queue.limits.open.Delete(g)
		g.opened = false
	}
}

// review puts a group into the lists that its state requires, and drops an idle group. s is the slot of
// the group.
func (li *limiter) review(g *group, s *groupSlot) {
	lim := g.queue.limits
	each := &lim.each
	if each.rate > 0 {
		g.bucket.refill(each, li.nowMs)
	}
	switch {
	case len(g.parked) > 0 && each.room(uint64(s.leased), &g.bucket, li.nowMs) > 0:
		lim.open.ReplaceOrInsert(g)
		g.opened = true
		lim.stuck = false
		li.queues.heat(g.queue)
	case len(g.parked) > 0:
		if each.rate > 0 && (each.leasedMax == 0 || s.leased < each.leasedMax) {
			li.wakeAt(g, g.bucket.reaches(each, tokenUnits))
		}
	case s.leased > 0:
	case each.rate > 0 && g.bucket.level < each.full:
		if g.index < 0 {
			li.wakeAt(g, bucketAt(g.bucket.reaches(each, each.full), fullEveryMs))
		}
	default:
		lim.groups.remove(g.hash)
		li.dropState(g)
	}
}

// dropState ends the use of a state, whose slot was removed.
func (li *limiter) dropState(g *group) {
	li.due.remove(g)
	li.unused = append(li.unused, g.at)
	if g.at < statesKept {
		*g = group{at: g.at, parked: g.parked[:0], index: -1}
	} else {
		li.states[g.at] = nil
	}
}

func (li *limiter) wakeAt(g *group, atMs int64) {
	g.wakeMs = atMs
	li.due.set(g)
}

// wake visits the groups and queues whose buckets have a token, or are full. A later Tick continues
// if there are many.
func (li *limiter) wake() {
	for range li.cfg.turnMax {
		g, ok := li.due.next()
		if !ok || g.wakeMs > li.nowMs {
			return
		}
		li.worked++
		li.due.remove(g)
		lim := g.queue.limits
		if g == &lim.own {
			lim.full = false
			li.queues.heat(g.queue)
			continue
		}
		li.shut(g)
		li.review(g, lim.groups.get(g.hash))
	}
}
