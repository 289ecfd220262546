package queue

import "math"

// roomKept is the largest capacity, in tasks, of an empty window that shrink does not free.
const roomKept = 64

// lanes contains the schedule of the lanes of all queues, and the sizes of their windows.
type lanes struct {
	*env
	queues  *queues
	watches *watches

	due       deadlines[*lane]
	behind    ring[*lane] // lanes that must read the store to count their due tasks
	counting  int         // number of lanes with an unanswered Refill of StreamDue or StreamNotDue
	countAtMs int64       // earliest time at which askCounts requests further counts

	windowsTasks  int // number of fresh tasks in all windows
	freshRoom     int // capacity of all windows of fresh tasks
	returnedTasks int // number of returned tasks in all windows
	cacheBytes    int64
}

// recoverQueue restores a queue with empty windows, which are filled when a waiter first claims
// from the queue.
func (ls *lanes) recoverQueue(r Record) {
	q := ls.queues.newQueue(r)
	for n := range uint8(Lanes) {
		if r.Lanes&(1<<n) == 0 {
			continue
		}
		l := q.lane(n)
		if n <= MaxPriority {
			l.freshEnd = l.cursor
			l.freshAll = r.Counts.Fresh == 0
		}
		if r.Due != nil {
			l.returnedAll = false
			l.returnedEnd = returnedKey{math.MinInt64, 0}
			ls.recoverDue(l, r.Due[n])
		}
	}
	q.record.Due = nil
}

func (ls *lanes) removeLanes(q *Queue) {
	for n, l := range q.lanes {
		if l != nil { // its window contains only removed tasks, or a Refill is unanswered
			ls.windowsTasks -= l.fresh.len()
			ls.returnedTasks -= l.returned.Len()
			ls.freshRoom -= l.fresh.room()
			ls.due.remove(l)
			if l.reads(StreamDue) {
				ls.counting--
			}
			l.behind = false
			q.lanes[n] = nil
		}
	}
}

// trimLanes frees the memory of a queue's empty windows and lanes. A lane without tasks can be
// restored from the queue's record.
func (ls *lanes) trimLanes(q *Queue) {
	for n, l := range q.lanes {
		if l == nil {
			continue
		}
		ls.dropGone(l)
		if l.fresh.len() == 0 {
			ls.freshRoom -= l.fresh.room()
			l.fresh = ring[freshTask]{}
		}
		if l.empty() && !q.dirty {
			q.lanes[n] = nil
		}
	}
}

// schedule sets the lane's deadline: the time when the next returned task becomes due, or may
// become due. If a returned task has become due, schedule also marks the queue as hot.
func (ls *lanes) schedule(l *lane) {
	l.dueMs = l.counted.dueAtMs
	if l.behind {
		l.dueMs = ls.windowNextMs(l)
	}
	if l.dueMs >= NeverMs {
		ls.due.remove(l)
	} else {
		ls.due.set(l)
	}
	if l.nextDueMs() <= ls.nowMs {
		ls.queues.heat(l.queue)
	}
}

// windowNextMs returns the time when the window's next task becomes due, or the first task beyond
// the window may become due.
func (ls *lanes) windowNextMs(l *lane) int64 {
	next := int64(math.MaxInt64)
	l.returned.AscendGreaterOrEqual(returnedTask{returnedKey: returnedKey{ls.nowMs + 1, 0}}, func(t returnedTask) bool {
		next = t.dueAtMs
		return false
	})
	if next == math.MaxInt64 && !l.returnedAll && l.returnedEnd.dueAtMs > ls.nowMs {
		return l.returnedEnd.dueAtMs
	}
	return next
}

// servable reports whether the queue has, or may have, a task to lease now.
func (ls *lanes) servable(q *Queue) bool {
	if q.record.Paused || q.starved {
		return false
	}
	if lim := q.limits; lim != nil {
		switch {
		case lim.all.room(q.record.Counts.Leased, &lim.own.bucket, ls.nowMs) == 0:
			return false
		case lim.open.Len() > 0:
			return true
		case lim.stuck:
			return false
		}
	}
	for _, l := range q.lanes {
		if l == nil {
			continue
		}
		ls.dropGone(l)
		if l.fresh.len() > 0 || !l.freshAll || l.nextDueMs() <= ls.nowMs {
			return true
		}
	}
	return false
}

// nextLane returns the lane that contains the next ready task of a queue and priority, or nil.
//
// Tasks that were claimed before come first, in the order of their due times. They were at the front
// of the queue already, so they are older than all others. Then the delayed lane is merged with the
// fresh tasks: a delayed or redriven task is as old as its due time, and a fresh task as its enqueue
// time. So neither a stream of delayed tasks nor a stream of fresh tasks starves the other. If the
// times are equal, the task that was enqueued first comes first.
//
// blocked is true if the order depends on a fresh task that is only stored. nextLane then requests
// it.
func (ls *lanes) nextLane(q *Queue, priority uint8) (l *lane, blocked bool) {
	l, delayed := q.lanes[priority], q.lanes[DelayedLane(priority)]
	switch {
	case delayed == nil || delayed.nextDueMs() > ls.nowMs:
		return l, false
	case l == nil:
		return delayed, false
	case l.nextDueMs() <= ls.nowMs:
		return l, false
	}
	ls.dropGone(l)
	switch {
	case l.fresh.len() > 0:
		if f := l.fresh.front(); (returnedKey{f.task.EnqueuedAtMs, f.seq}).less(delayed.nextDue()) {
			return l, false
		}
	case !l.freshAll:
		ls.askFresh(l, ls.cfg.WindowTasks, ls.cfg.RefillBytesMax)
		return nil, true
	}
	return delayed, false
}

// pop removes the lane's next task, so that it can be leased or purged. Returned tasks that are due
// by dueBy come first, then fresh tasks. pop fills in d, which must be zero: the LeaseRef, and
// those other fields that are in memory. blocked is true if pop must wait for the answer to a
// Refill.
func (ls *lanes) pop(l *lane, dueBy int64, d *Delivery) (ok, blocked bool) {
	if l.nextDueMs() <= dueBy {
		t, found := l.returned.DeleteMin()
		if !found {
			ls.askReturned(l, ls.cfg.WindowTasks)
			return false, true
		}
		ls.returnedTasks--
		ls.leaveReturned(l, &t, d)
		return true, false
	}
	for l.fresh.len() > 0 {
		cursor := l.cursor
		f := ls.popFresh(l)
		if f.gone {
			continue
		}
		if f.seq < cursor {
			broken("task %d of queue %q is claimed again, although all tasks below %d were claimed", f.seq, l.queue.record.Name, cursor)
		}
		ls.leaveFresh(l, &f, d)
		return true, false
	}
	if l.freshAll {
		return false, false
	}
	ls.askFresh(l, ls.cfg.WindowTasks, ls.cfg.RefillBytesMax)
	return false, true
}

// leaveReturned removes a task, which left the window, from the returned tasks of its lane, and
// fills in d.
func (ls *lanes) leaveReturned(l *lane, t *returnedTask, d *Delivery) {
	l.noteDropped(t.returnedKey)
	l.dropDue(t.returnedKey)
	ls.schedule(l)
	d.LeaseRef = LeaseRef{
		Ref: l.ref(t.seq), Attempt: t.due.Attempts + 1, MaxAttempts: t.due.MaxAttempts, PriorityShift: t.due.PriorityShift,
		LeaseMs: t.due.LeaseMs, Bytes: t.due.Bytes, History: t.due.History, NoteBytes: t.due.NoteBytes, HasProgress: true, Extras: t.due.Extras,
	}
	d.Priority = d.Shifted(-t.due.PriorityShift)
	ls.watches.changed(d.Ref)
	ls.journal.DropDue(d.Ref, l.number, t.dueAtMs)
	l.leftWaiting(t.dueAtMs)
	l.queue.record.Counts.Returned--
}

// leaveFresh removes a task, which left the window, from the fresh tasks of its lane, and fills in
// d.
func (ls *lanes) leaveFresh(l *lane, f *freshTask, d *Delivery) {
	d.Ref, d.Attempt, d.MaxAttempts, d.LeaseMs = l.ref(f.seq), 1, f.task.MaxAttempts, f.task.LeaseMs
	d.Bytes, d.Extras = f.bytes, f.task.Extras
	d.EnqueuedAtMs, d.Payload, d.HasHeaders, d.Cached = f.task.EnqueuedAtMs, f.task.Payload, f.task.HasHeaders, f.cached
	ls.watches.changed(d.Ref)
	l.queue.record.Counts.Fresh--
}
