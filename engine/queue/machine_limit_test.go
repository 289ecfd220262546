package queue

import (
	"math"
	"slices"

	"pgregory.net/rapid"
)

// modelBucket is a token bucket with exact arithmetic: the level is in millionths of a token. A
// bucket that is not in modelQueue.buckets is full.
type modelBucket struct {
	level float64
	atMs  int64
}

// The number of the bucket of the queue itself, which is no group's number.
const ownBucket = 0

func drawLimit(t *rapid.T) Limit {
	return Limit{
		LeasedMax: rapid.SampledFrom([]uint32{0, 0, 1, 2, 3}).Draw(t, "leased max"),
		RateMilli: rapid.SampledFrom([]uint64{0, 0, 0, 1_000, 70_000, 333_333, 1_500_000}).Draw(t, "rate"),
		Burst:     rapid.SampledFrom([]uint32{0, 1, 2, 3}).Draw(t, "burst"),
	}
}

// partOf returns the limit that applies in shard 0 of several.
func partOf(p *Policy, shards int) Limit {
	l := p.Limit
	if p.Placement == Ordered || shards < 2 {
		return l
	}
	up := func(n uint64) uint64 { return (n + uint64(shards) - 1) / uint64(shards) }
	if l.RateMilli > 0 {
		if l.Burst == 0 {
			l.Burst = uint32(max(1, (l.RateMilli+999)/1_000))
		}
		l.RateMilli, l.Burst = up(l.RateMilli), uint32(up(uint64(l.Burst)))
	}
	l.LeasedMax = uint32(up(uint64(l.LeasedMax)))
	return l
}

func fullOf(l Limit) float64 {
	burst := float64(l.Burst)
	if burst == 0 {
		burst = math.Max(1, math.Ceil(float64(l.RateMilli)/1_000))
	}
	return burst*1e6 + min(float64(l.RateMilli), 999_999)
}

func (q *modelQueue) level(hash uint64, l Limit, now int64) float64 {
	b := q.buckets[hash]
	if b == nil {
		return fullOf(l)
	}
	return min(fullOf(l), b.level+float64(now-b.atMs)*float64(l.RateMilli))
}

func (q *modelQueue) setLevel(hash uint64, level float64, now int64) {
	if q.buckets == nil {
		q.buckets = map[uint64]*modelBucket{}
	}
	q.buckets[hash] = &modelBucket{level, now}
}

// limit changes the limits of a queue.
func (m *machine) limit(q *modelQueue, p *Policy) {
	for hash := range q.buckets {
		before, after := q.policy.GroupLimit, p.GroupLimit
		if hash == ownBucket {
			before, after = partOf(&q.policy, m.cfg.Shards), partOf(p, m.cfg.Shards)
		}
		level := q.level(hash, before, m.now)
		if before.RateMilli == 0 || after.RateMilli == 0 || level >= fullOf(before) {
			delete(q.buckets, hash)
		} else {
			q.setLevel(hash, min(level, fullOf(after)), m.now)
		}
	}
	q.own = partOf(p, m.cfg.Shards)
	q.grouped = q.grouped || p.GroupLimit.LeasedMax > 0 || p.GroupLimit.RateMilli > 0
}

// took takes the tokens of a lease.
func (q *modelQueue) took(task *modelTask, now int64) {
	if l := q.own; l.RateMilli > 0 {
		q.setLevel(ownBucket, q.level(ownBucket, l, now)-1e6, now)
	}
	if l, hash := q.policy.GroupLimit, task.extras.Group; l.RateMilli > 0 && hash != 0 {
		q.setLevel(hash, q.level(hash, l, now)-1e6, now)
	}
}

func (q *modelQueue) leased(hash uint64) (n uint32) {
	for _, task := range q.tasks {
		if task.phase == leased && (hash == ownBucket || task.extras.Group == hash) {
			n++
		}
	}
	return n
}

// admitted returns the tasks that may be leased now, in the required order: the ready tasks without
// those that would exceed a limit.
func (q *modelQueue) admitted(now int64) (out []*modelTask) {
	held, tokens := map[uint64]uint32{ownBucket: q.leased(ownBucket)}, map[uint64]float64{}
	admit := func(hash uint64, l Limit) bool {
		if _, is := held[hash]; !is {
			held[hash] = q.leased(hash)
		}
		if _, is := tokens[hash]; !is {
			tokens[hash] = q.level(hash, l, now)
		}
		return (l.LeasedMax == 0 || held[hash] < l.LeasedMax) && (l.RateMilli == 0 || tokens[hash] >= 1e6)
	}
	for _, task := range q.ready(now) {
		hash := task.extras.Group
		if !admit(ownBucket, q.own) {
			break
		}
		if hash != 0 {
			if !admit(hash, q.policy.GroupLimit) {
				continue
			}
			held[hash]++
			tokens[hash] -= 1e6
		}
		held[ownBucket]++
		tokens[ownBucket] -= 1e6
		out = append(out, task)
	}
	return out
}

// nextToken returns the earliest time when a ready task that lacks only a token has it.
func (q *modelQueue) nextToken(now int64) int64 {
	next := int64(math.MaxInt64)
	wait := func(hash uint64, l Limit) (at int64, possible bool) {
		if l.LeasedMax > 0 && q.leased(hash) >= l.LeasedMax {
			return 0, false
		}
		if level := q.level(hash, l, now); l.RateMilli > 0 && level < 1e6 {
			return now + int64(math.Ceil((1e6-level)/float64(l.RateMilli))), true
		}
		return now, true
	}
	for _, task := range q.ready(now) {
		at, possible := wait(ownBucket, q.own)
		if hash := task.extras.Group; possible && hash != 0 && at <= now {
			at, possible = wait(hash, q.policy.GroupLimit)
		}
		if possible && at > now {
			next = min(next, at)
		}
	}
	return next
}

// isStuck reports whether the queue has parked so many tasks that it must not lease those behind
// them.
func (m *machine) isStuck(t *rapid.T, q *modelQueue) bool {
	lim := m.state.byID[q.id].limits
	if lim == nil || !lim.stuck {
		return false
	}
	if lim.parked < m.cfg.parkedMax && m.state.limiter.parked < m.cfg.WindowsTasks {
		t.Fatalf("queue %s of %s is stuck with %d parked tasks, of %d", q.name, q.tenant, lim.parked, m.state.limiter.parked)
	}
	return true
}

// checkLimits compares the state of the limits with the model.
func (m *machine) checkLimits(t *rapid.T) {
	total := 0
	for _, q := range m.order {
		sq := m.state.byID[q.id]
		lim := sq.limits
		if each := q.policy.GroupLimit; lim == nil {
			if q.own.LeasedMax > 0 || q.own.RateMilli > 0 || each.LeasedMax > 0 || each.RateMilli > 0 {
				t.Fatalf("queue %s of %s has no limits, want %+v", q.name, q.tenant, q.policy)
			}
			continue
		}
		parked := 0
		for _, l := range sq.lanes {
			if l == nil {
				continue
			}
			parked += l.parked.len()
			for i := range l.fresh.len() {
				if f := l.fresh.at(i); !f.gone && l.parked.find(returnedKey{seq: f.seq}, false) != nil {
					t.Fatalf("task %d is parked and in the window", f.seq)
				}
			}
			l.returned.Ascend(func(r returnedTask) bool {
				if l.parked.find(r.returnedKey, true) != nil {
					t.Fatalf("task %d is parked and in the window", r.seq)
				}
				return true
			})
		}
		inGroups, opened := 0, 0
		for s := range lim.groups.all() {
			hash, g := s.hash, m.state.limiter.stateOf(&s)
			if got := lim.groups.get(hash); got == nil || *got != s || g != nil && (g.queue != sq || g.hash != hash) {
				t.Fatalf("group %x is listed as %+v", hash, g)
			}
			if lim.each.on() && s.leased != q.leased(hash) {
				t.Fatalf("group %x has %d leased tasks, want %d", hash, s.leased, q.leased(hash))
			}
			if s.leased == 0 && (g == nil || len(g.parked) == 0 && g.index < 0) {
				t.Fatalf("an idle group is kept: %+v", g)
			}
			if g == nil {
				continue
			}
			inGroups += len(g.parked)
			if g.opened {
				opened++
			}
			if !slices.IsSortedFunc(g.parked, compareParked) {
				t.Fatalf("the parked tasks of group %x are not in order", hash)
			}
			for _, p := range g.parked {
				task := m.byRef[Ref{Queue: q.id, Priority: uint8(int8(p.lane.ref(0).Priority) - p.due.PriorityShift), Seq: p.seq}]
				if task == nil || !task.waits() || task.extras.Group != hash || task.priority() != p.priority || task.sinceMs() != p.dueAtMs || task.claimed == p.fresh {
					t.Fatalf("%+v is parked in group %x: %+v", task, hash, *p)
				}
			}
		}
		if parked != inGroups || parked != lim.parked || opened != lim.open.Len() {
			t.Fatalf("lanes have %d parked tasks, groups %d, counted %d; %d groups are open, counted %d", parked, inGroups, lim.parked, opened, lim.open.Len())
		}
		total += parked
	}
	if total != m.state.limiter.parked {
		t.Fatalf("%d tasks are parked, counted %d", total, m.state.limiter.parked)
	}
}
