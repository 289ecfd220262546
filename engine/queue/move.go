package queue

// An administrator can change the due time and the priority of a task that waits in its queue. The
// task keeps its Ref, and so its id, which contains the priority at the enqueue. A task that was
// fresh becomes a returned task of the delayed lane, where its due time decides its place among the
// fresh tasks.

// Reschedule makes a waiting task due at dueAtMs, or now if that is earlier. A ready task that is to
// be due now keeps its place. Reschedule returns false if the task is leased or dead.
func (s *State) Reschedule(t *Stored, dueAtMs int64) bool {
	p := s.part(t)
	if dueAtMs <= s.nowMs && (p == partFresh || p == partReturned && t.Progress.DueAtMs <= s.nowMs) {
		return true
	}
	return s.move(t, t.Priority(), max(dueAtMs, s.nowMs))
}

// Prioritize sets the priority of a waiting or dead task. A waiting task keeps its due time: a fresh
// task gets its time of enqueue, so that it is as old as before among the tasks of its new priority.
// A dead task gets the priority when it is redriven. Prioritize returns false if the task is leased.
func (s *State) Prioritize(t *Stored, priority uint8) bool {
	p := s.part(t)
	switch {
	case p == partLeased:
		return false
	case t.Priority() == priority:
		return true
	case p == partDead:
		s.changed(t.Ref)
		t.Progress.PriorityShift = int8(priority) - int8(t.Ref.Priority)
		s.journal.PutProgress(t.Ref, t.Progress)
		s.touch(s.numbered(t.Ref.Queue))
		return true
	case p == partFresh:
		return s.move(t, priority, t.Task.EnqueuedAtMs)
	}
	return s.move(t, priority, t.Progress.DueAtMs)
}

// move changes the place of a waiting task. It returns false if the task is leased or dead. The
// task's charge stays the same, because it includes the progress and the due record.
func (s *State) move(t *Stored, priority uint8, dueAtMs int64) bool {
	p := s.part(t)
	if p != partFresh && p != partReturned {
		return false
	}
	lane := DelayedLane(priority)
	if p == partReturned && t.Lane <= MaxPriority { // it was claimed before
		lane = priority
	}
	ref := t.ref()
	if u := ref.Extras.unique(); u != nil {
		s.movedUnique(t.Ref, u, priority, dueAtMs)
	}
	s.withdraw(t)
	s.returnTask(t.Ref, lane, Progress{DueAtMs: dueAtMs, Attempts: ref.Attempt, Token: t.Progress.Token, Claims: t.Progress.Claims}, Due{
		MaxAttempts: ref.MaxAttempts, LeaseMs: ref.LeaseMs, Bytes: ref.Bytes, History: ref.History, NoteBytes: ref.NoteBytes, Extras: ref.Extras,
	})
	return true
}
