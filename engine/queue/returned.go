package queue

// returnTask puts a task into a lane of its priority, where it becomes ready at p.DueAtMs. due
// contains the fields of the task's Due record that are not in p.
func (ls *lanes) returnTask(ref Ref, lane uint8, p Progress, due Due) {
	q := ls.queues.numbered(ref.Queue)
	due.DueAtMs, due.Attempts = p.DueAtMs, p.Attempts
	due.PriorityShift = int8(LanePriority(lane)) - int8(ref.Priority)
	p.MaxAttempts, p.History, p.NoteBytes, p.PriorityShift = due.MaxAttempts, due.History, due.NoteBytes, due.PriorityShift
	if due.Extras != nil {
		p.ExpiresAtMs = due.Extras.ExpiresAtMs
	}
	ls.journal.PutProgress(ref, p)
	ls.journal.PutDue(ref, lane, due)
	q.record.Counts.Returned++
	if p.DueAtMs == NeverMs {
		q.record.Dependencies.Waiting++
	}
	ls.queues.touch(q)
	ls.pushReturned(q.lane(lane), ref.Seq, due)
}

// pushReturned adds a task with a new Due record to the window, if its place is before the window's
// end. Otherwise the task is in the store only. If the window is then too large, pushReturned
// removes its last task from memory.
func (ls *lanes) pushReturned(l *lane, seq uint64, due Due) {
	t := returnedTask{returnedKey{due.DueAtMs, seq}, due}
	l.noteMoved(&t)
	ls.addDue(l, t.returnedKey)
	if l.returnedAll || t.less(l.returnedEnd) {
		ls.insertReturned(l, t)
		n := l.returned.Len()
		if n > ls.cfg.WindowTasks || n > ls.cfg.windowFloor() && ls.returnedTasks > ls.cfg.WindowsTasks {
			if last, ok := l.returned.DeleteMax(); ok {
				ls.returnedTasks--
				l.returnedAll, l.returnedEnd = false, last.returnedKey
			}
		}
	}
	ls.schedule(l)
}

func (ls *lanes) insertReturned(l *lane, t returnedTask) {
	l.returned.ReplaceOrInsert(t)
	ls.returnedTasks++
}

// removeReturned removes a task that is cancelled or died, or whose place changes.
func (ls *lanes) removeReturned(l *lane, ref Ref, dueAtMs int64) {
	k := returnedKey{dueAtMs, ref.Seq}
	ls.journal.DropDue(ref, l.number, dueAtMs)
	l.leftWaiting(dueAtMs)
	l.noteDropped(k)
	l.dropDue(k)
	if _, found := l.returned.Delete(returnedTask{returnedKey: k}); found {
		ls.returnedTasks--
		ls.schedule(l)
	}
}

// leftWaiting counts a task of the lane that left it. The task waited if its due time is NeverMs.
func (l *lane) leftWaiting(dueAtMs int64) {
	if dueAtMs == NeverMs {
		l.queue.record.Dependencies.Waiting--
	}
}

// RefillReturned answers a Refill of StreamReturned. more is true if the stream contains further
// records.
func (ls *lanes) RefillReturned(r Refill, due []SeqDue, more bool) {
	l, while := ls.answered(r, len(due))
	if l == nil {
		return
	}
	ls.queues.resume(l.queue)
	from, end := returnedKey{r.FromMs, r.FromSeq}, dueNone
	if l.returnedAll || l.returnedEnd != from {
		return
	}
	ls.queues.show(l.queue)
	if n := len(due); more && n > 0 {
		end = returnedKey{due[n-1].Due.DueAtMs, due[n-1].Seq + 1}
	}
	l.returnedAll, l.returnedEnd = !more, end
	n := 0
	for _, t := range while.current(due, from, end) {
		if l.parked.find(t.returnedKey, true) != nil {
			continue
		}
		if l.returned.Len() >= ls.cfg.WindowTasks || n >= ls.cfg.windowFloor() && ls.returnedTasks >= ls.cfg.WindowsTasks {
			l.returnedAll, l.returnedEnd = false, t.returnedKey // the rest is in the store only
			break
		}
		ls.insertReturned(l, t)
		n++
	}
	ls.schedule(l)
}
