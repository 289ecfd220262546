package queue

func (qs *queues) touch(q *Queue) {
	qs.show(q)
	if !q.dirty {
		q.dirty = true
		qs.dirty = append(qs.dirty, q)
		qs.used(q)
	}
}

func (qs *queues) show(q *Queue) {
	if !q.unseen {
		q.unseen = true
		qs.unseen.push(q)
	}
}

// heat marks the queue as one that may have both ready tasks and waiters.
func (qs *queues) heat(q *Queue) {
	if !q.hot && !q.starved && !q.record.Paused && q.waiting.len() > 0 {
		q.hot = true
		qs.hot.push(q)
	}
}

func (qs *queues) resume(q *Queue) {
	q.awaits = false
	qs.heat(q)
}

func (qs *queues) used(q *Queue) {
	q.keep(qs.nowMs + int64(qs.cfg.IdleMs))
	qs.watchIdle(q)
}

func (qs *queues) watchIdle(q *Queue) {
	if at := qs.nowMs + qs.cfg.trimAfterMs; q.stored && (q.index < 0 || q.idleMs > at) {
		q.idleMs = at
		qs.idle.set(q)
	}
}

// ChangedQueues returns the number of queues that TakeChanged can return.
func (qs *queues) ChangedQueues() int { return qs.unseen.len() }

// TakeChanged returns a queue whose figures may have changed since TakeChanged last returned it.
// ChangedQueues must be above 0. A queue with a lane that is behind remains a changed queue,
// because its figures change with time.
func (qs *queues) TakeChanged() *Queue {
	qs.worked++
	q := qs.unseen.pop()
	q.unseen = false
	for _, l := range q.lanes {
		if l != nil && l.behind {
			qs.show(q)
		}
	}
	return q
}

// flushQueues writes the records of the changed queues to the journal, and removes the records of
// the deleted queues. It returns false if no queue was changed or deleted.
func (qs *queues) flushQueues() bool {
	if len(qs.dirty) == 0 && len(qs.deleted) == 0 {
		return false
	}
	for _, id := range qs.deleted {
		qs.journal.DropQueue(id)
	}
	qs.deleted = qs.deleted[:0]
	for i, q := range qs.dirty {
		qs.dirty[i] = nil
		if q.dirty = false; !q.stored { // the queue was deleted after the change
			continue
		}
		for n, l := range q.lanes {
			if l == nil {
				continue
			}
			q.record.Lanes |= 1 << n
			if n <= MaxPriority {
				q.record.Cursors[n] = l.firstFresh()
			}
			l.unsaved = 0
		}
		if lim := q.limits; lim != nil {
			lim.holes = lim.holes && !q.noHoles()
			q.record.Holes = lim.holes
		}
		if q.record.Counts.Returned > 0 {
			q.record.Due = qs.countsOf(q)
		}
		if c := &q.record.Counts; !c.addUp() && !q.unsound {
			broken("the counts of queue %q of tenant %q do not add up: %+v", q.record.Name, q.record.Tenant, *c)
		}
		q.rates.update(&q.record.Counts, qs.nowMs)
		qs.seqMax = max(qs.seqMax, q.record.NextSeq)
		qs.journal.PutQueue(&q.record)
		q.record.Due = nil
	}
	qs.dirty = qs.dirty[:0]
	return true
}

// countsOf returns the counts of due tasks of a queue's lanes. They are valid until the next call.
func (qs *queues) countsOf(q *Queue) *[Lanes]DueCount {
	for n, l := range q.lanes {
		qs.dueCounts[n] = DueCount{}
		if l != nil {
			qs.dueCounts[n] = l.dueCount(qs.nowMs)
		}
	}
	return &qs.dueCounts
}
