package queue

// runRecurring enqueues a task for each due time that has passed. It settles up to Config.runsMax
// due times. If more have passed, the next Tick runs immediately and continues.
// The task and the progress are in one commit, so each due time becomes at most one task.
func (s *State) runRecurring() {
	for left := s.cfg.runsMax; left > 0; {
		r, ok := s.recurring.due.next()
		if !ok || r.startMs > s.nowMs {
			return
		}
		left = s.runDue(r, left)
	}
}

// runDue settles due times of a recurring task that have passed. It collects and runs about most due
// times, and returns how many remain of most, which is less than most.
func (s *State) runDue(r *recurringTask, most int) (left int) {
	b, p := &r.backlog, &r.Progress
	before := uint64(len(b.Times)) + b.Dropped
	all := r.schedule.Collect(b, r.Name, s.nowMs, r.Spec.keep(), most)
	looked := int(min(uint64(most), uint64(len(b.Times))+b.Dropped-before))
	s.worked += looked
	if !all { // the policy for missed due times needs to know the last one
		r.startMs = s.nowMs
		s.recurring.due.set(r)
		return 0
	}
	if r.Spec.Missed == MissedSkip && len(b.Times) > 0 && s.nowMs-r.schedule.StartMs(r.Name, b.Times[0]) >= lateMs {
		b.Times, b.Dropped = nil, b.Dropped+1
	}
	p.Missed += b.Dropped
	b.Dropped = 0
	for left = max(1, most-looked); len(b.Times) > 0 && left > 0; left-- {
		p.AfterMs = b.Times[0]
		s.run(r, b.Times[0])
		b.Times = b.Times[1:]
	}
	if len(b.Times) == 0 {
		b.Times, p.AfterMs = nil, b.AfterMs
	}
	s.saveRecurring(r)
	return min(left, most-1)
}

// run settles one due time: it enqueues the task, unless the last task is unfinished and must not
// overlap, or the task is refused.
func (s *State) run(r *recurringTask, dueMs int64) {
	switch {
	case r.Spec.Overlap == OverlapSkip && r.unfinished:
		r.Progress.Overlapped++
	case s.enqueueRun(r, dueMs).Err != nil:
		r.Progress.Refused++
	}
}

func (s *State) enqueueRun(r *recurringTask, dueMs int64) Enqueued {
	if s.cfg.Growth != nil {
		if err := s.cfg.Growth(); err != nil {
			return Enqueued{Err: err}
		}
	}
	q := &r.queue.record
	out := s.enqueue(s.nowMs, q.Tenant, r.Spec.Template.task(q.Name, r.Name, dueMs))
	if out.Err == nil {
		s.worked++
		r.Progress.Runs++
		s.forgetRun(r)
		r.Progress.Last, r.unfinished = out.Ref, true
		s.runs[out.Ref] = r
	}
	return out
}

func (s *State) forgetRun(r *recurringTask) {
	if s.runs[r.Progress.Last] == r {
		delete(s.runs, r.Progress.Last)
	}
}

// RunRecurring enqueues a task of a recurring task immediately, even if the recurring task is
// paused or its last task is unfinished. It does not change the due times. It returns false if
// there is no such recurring task.
func (s *State) RunRecurring(q *Queue, name string) (out Enqueued, found bool) {
	r := s.recurring.find(q, name)
	if r == nil {
		return out, false
	}
	if out = s.enqueueRun(r, 0); out.Err == nil {
		s.saveRecurring(r)
	}
	return out, true
}
