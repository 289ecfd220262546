package queue

import (
	"math"
	"sort"

	"github.com/google/btree"
)

// A lane contains the tasks of one queue and priority that are neither leased nor dead. The tasks
// form two streams, each with its own order. The first tasks of each stream are also in memory, in
// the stream's window:
//
//	fresh     never claimed, by seq:            window │ stored only, from freshEnd │ newest
//	returned  delayed or back, by due and seq:  window │ stored only, from returnedEnd
//
// freshAll and returnedAll are true while the window contains all tasks of its stream.
type lane struct {
	queue    *Queue
	priority uint8

	fresh    ring[freshTask]
	cursor   uint64 // no fresh task has a lower seq
	freshEnd uint64
	freshAll bool

	returned    *btree.BTreeG[returnedTask]
	returnedEnd returnedKey
	returnedAll bool

	// due is the number of returned tasks whose place is before counted, whether in memory or only
	// stored.
	due     uint64
	counted returnedKey // due includes the returned tasks before this place
	unsaved uint64      // number of tasks counted since the queue's record was stored
	behind  bool        // the count can only continue by reading the store
	// unsure means that the count was recovered: due may include tasks that are not due by this
	// node's clock.
	unsure  bool
	listed  bool     // the lane is in State.behind
	reading *reading // changes to the lane while a Refill is unanswered; else nil

	dueMs int64 // deadline in State.due
	index int   // place in State.due
}

type freshTask struct {
	seq    uint64
	task   Task
	bytes  uint32 // size of the payload
	cached bool   // the payload is in task
	gone   bool   // cancelled or dead, so dispatch skips it
}

type returnedKey struct {
	dueAtMs int64
	seq     uint64
}

type returnedTask struct {
	returnedKey
	due Due
}

func (k returnedKey) less(o returnedKey) bool {
	return k.dueAtMs < o.dueAtMs || k.dueAtMs == o.dueAtMs && k.seq < o.seq
}

func newLane(q *Queue, priority uint8) *lane {
	return &lane{
		queue: q, priority: priority, index: -1, cursor: q.record.Cursors[priority],
		freshAll: true, returnedAll: true, counted: dueNone,
		returned: btree.NewG(32, func(a, b returnedTask) bool { return a.less(b.returnedKey) }),
	}
}

func (l *lane) deadlineMs() int64 { return l.dueMs }
func (l *lane) place() *int       { return &l.index }

func (l *lane) ref(seq uint64) Ref {
	return Ref{Queue: l.queue.record.ID, Priority: l.priority, Seq: seq}
}

// pushFresh adds a new task to the window, if the window contains all tasks of the stream and is
// not full. It returns true if it added the task, which will then probably be claimed soon.
func (s *State) pushFresh(l *lane, seq uint64, t Task) (soon bool) {
	if !l.freshAll {
		s.noteLate(l, seq, t)
		return false
	}
	if l.fresh.len() >= s.cfg.WindowTasks || s.windowsTasks >= s.cfg.WindowsTasks {
		l.freshAll, l.freshEnd = false, seq
		return false
	}
	s.appendFresh(l, seq, t, uint32(len(t.Payload)))
	return true
}

// appendFresh adds a task to the window. It keeps the payload in memory if t contains it and
// CacheBytesMax allows it.
func (s *State) appendFresh(l *lane, seq uint64, t Task, bytes uint32) {
	f := freshTask{seq: seq, task: t, bytes: bytes}
	if n := int64(len(t.Payload)); n == int64(bytes) && s.cacheBytes+n <= s.cfg.CacheBytesMax {
		f.cached = true
		s.cacheBytes += n
	} else {
		f.task.Payload = nil
	}
	s.windowsTasks++
	room := l.fresh.room()
	l.fresh.push(f)
	s.freshRoom += l.fresh.room() - room
}

func (s *State) popFresh(l *lane) freshTask {
	f := l.fresh.pop()
	l.cursor = f.seq + 1
	s.windowsTasks--
	if f.cached {
		s.cacheBytes -= int64(len(f.task.Payload))
	}
	if l.fresh.len() == 0 {
		s.shrink(l)
	}
	return f
}

// passOver marks a fresh task as gone. If the task is in the window, it stays there until it
// reaches the front.
func (s *State) passOver(l *lane, seq uint64) {
	l.noteGone(seq)
	n := l.fresh.len()
	i := sort.Search(n, func(i int) bool { return l.fresh.at(i).seq >= seq })
	if i == n || l.fresh.at(i).seq != seq {
		return
	}
	f := l.fresh.at(i)
	if f.cached {
		s.cacheBytes -= int64(len(f.task.Payload))
	}
	f.gone, f.cached, f.task = true, false, Task{}
}

// pushReturned adds a task with a new Due record to the window, if its place is before the window's
// end. Otherwise the task is in the store only. If the window is then too large, pushReturned
// removes its last task from memory.
func (s *State) pushReturned(l *lane, seq uint64, due Due) {
	t := returnedTask{returnedKey{due.DueAtMs, seq}, due}
	l.noteMoved(&t)
	s.addDue(l, t.returnedKey)
	if l.returnedAll || t.less(l.returnedEnd) {
		s.insertReturned(l, t)
		n := l.returned.Len()
		if n > s.cfg.WindowTasks || n > s.cfg.windowFloor() && s.returnedTasks > s.cfg.WindowsTasks {
			if last, ok := l.returned.DeleteMax(); ok {
				s.returnedTasks--
				l.returnedAll, l.returnedEnd = false, last.returnedKey
			}
		}
	}
	s.schedule(l)
}

func (s *State) insertReturned(l *lane, t returnedTask) {
	l.returned.ReplaceOrInsert(t)
	s.returnedTasks++
}

// nextDueMs returns the due time of the lane's first returned task. If the window is empty, it
// returns a lower bound of this time; math.MaxInt64 if there is no returned task.
func (l *lane) nextDueMs() int64 {
	if t, ok := l.returned.Min(); ok {
		return t.dueAtMs
	}
	if !l.returnedAll {
		return l.returnedEnd.dueAtMs
	}
	return math.MaxInt64
}

// schedule sets the lane's deadline: the time when the next returned task becomes due, or may
// become due. If a returned task has become due, schedule also marks the queue as hot.
func (s *State) schedule(l *lane) {
	l.dueMs = l.counted.dueAtMs
	if l.behind {
		l.dueMs = s.windowNextMs(l)
	}
	if l.dueMs == math.MaxInt64 {
		s.due.remove(l)
	} else {
		s.due.set(l)
	}
	if l.nextDueMs() <= s.nowMs {
		s.heat(l.queue)
	}
}

// windowNextMs returns the time when the window's next task becomes due, or the first task beyond
// the window may become due.
func (s *State) windowNextMs(l *lane) int64 {
	next := int64(math.MaxInt64)
	l.returned.AscendGreaterOrEqual(returnedTask{returnedKey: returnedKey{s.nowMs + 1, 0}}, func(t returnedTask) bool {
		next = t.dueAtMs
		return false
	})
	if next == math.MaxInt64 && !l.returnedAll && l.returnedEnd.dueAtMs > s.nowMs {
		return l.returnedEnd.dueAtMs
	}
	return next
}

// take claims the lane's next ready task. Returned tasks that are due come before fresh tasks,
// since they are usually older. If the time to live of a task has ended, take moves it to the dead
// letters and continues with the next task. Like pop, it fills in d, which must be zero. blocked is
// true if take must wait for the answer to a Refill.
func (s *State) take(l *lane, d *Delivery) (ok, blocked bool) {
	for {
		ok, blocked = s.pop(l, s.nowMs, d)
		if !ok || !d.Extras.expired(s.nowMs) {
			return ok, blocked
		}
		d.Attempt-- // no waiter got the task
		s.die(&d.LeaseRef, s.lastToken(), TimeToLiveOver)
		*d = Delivery{}
	}
}

// pop removes the lane's next task, so that it can be leased or purged. Returned tasks that are due
// by dueBy come first, then fresh tasks. pop fills in d, which must be zero: the LeaseRef, and
// those other fields that are in memory. blocked is true if pop must wait for the answer to a
// Refill.
func (s *State) pop(l *lane, dueBy int64, d *Delivery) (ok, blocked bool) {
	if l.nextDueMs() <= dueBy {
		t, found := l.returned.DeleteMin()
		if !found {
			s.askReturned(l, s.cfg.WindowTasks)
			return false, true
		}
		s.returnedTasks--
		l.noteDropped(t.returnedKey)
		l.dropDue(t.returnedKey)
		s.schedule(l)
		d.LeaseRef = LeaseRef{
			Ref: l.ref(t.seq), Attempt: t.due.Attempts + 1, MaxAttempts: t.due.MaxAttempts,
			LeaseMs: t.due.LeaseMs, Bytes: t.due.Bytes, History: t.due.History, HasProgress: true, Extras: t.due.Extras,
		}
		s.changed(d.Ref)
		s.journal.DropDue(d.Ref, t.dueAtMs)
		l.queue.record.Counts.Returned--
		return true, false
	}
	for l.fresh.len() > 0 {
		cursor := l.cursor
		f := s.popFresh(l)
		if f.gone {
			continue
		}
		if f.seq < cursor {
			broken("task %d of queue %q is claimed again, although all tasks below %d were claimed", f.seq, l.queue.record.Name, cursor)
		}
		d.Ref, d.Attempt, d.MaxAttempts, d.LeaseMs = l.ref(f.seq), 1, f.task.MaxAttempts, f.task.LeaseMs
		d.Bytes, d.Extras = f.bytes, f.task.Extras
		d.EnqueuedAtMs, d.Payload, d.Cached = f.task.EnqueuedAtMs, f.task.Payload, f.cached
		s.changed(d.Ref)
		l.queue.record.Counts.Fresh--
		return true, false
	}
	if l.freshAll {
		return false, false
	}
	s.askFresh(l, s.cfg.WindowTasks, s.cfg.RefillBytesMax)
	return false, true
}
