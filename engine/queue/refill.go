package queue

// Refill asks for the next tasks of a lane's stream, from the store, because its window ran empty
// or was never filled. Everything decided so far must be visible in the store when it is read.
type Refill struct {
	Queue    uint32
	Priority uint8
	Returned bool // the Due records from (FromDueMs, FromSeq); otherwise the tasks from FromSeq that are not Delayed
	FromSeq  uint64
	// FromDueMs is the first due time, with Returned.
	FromDueMs int64
	Limit     int
}

// SeqTask is a stored fresh task.
type SeqTask struct {
	Seq  uint64
	Task Task
}

// SeqDue is a stored Due record.
type SeqDue struct {
	Seq uint64
	Due Due
}

func (s *State) askRefill(r Refill) {
	for _, asked := range s.refills {
		if asked.Queue == r.Queue && asked.Priority == r.Priority && asked.Returned == r.Returned {
			return
		}
	}
	s.refills = append(s.refills, r)
}

// Refills returns what the last Dispatch could not go on without, and forgets it.
func (s *State) Refills() []Refill {
	r := s.refills
	s.refills = nil
	return r
}

// RefillFresh answers a Refill that is not Returned. fewer than r.Limit tasks means that there are
// no more.
func (s *State) RefillFresh(r Refill, tasks []SeqTask) {
	l := s.queues[r.Queue].lane(r.Priority)
	if l.freshAll || l.fresh.len() > 0 || l.freshEnd != r.FromSeq {
		return
	}
	for i, t := range tasks {
		if i >= s.cfg.windowFloor() && s.windowsTasks >= s.cfg.WindowsTasks {
			return // the rest stays stored only
		}
		s.appendFresh(l, t.Seq, t.Task)
		l.freshEnd = t.Seq + 1
	}
	if len(tasks) < r.Limit {
		l.freshAll = true
	}
}

// RefillReturned answers a Refill that is Returned, as RefillFresh does.
func (s *State) RefillReturned(r Refill, due []SeqDue, now int64) {
	l := s.queues[r.Queue].lane(r.Priority)
	if l.returnedAll || l.returned.Len() > 0 || l.returnedEnd != (returnedKey{r.FromDueMs, r.FromSeq}) {
		return
	}
	l.returnedAll = len(due) < r.Limit
	for i, d := range due {
		if i >= s.cfg.windowFloor() && s.returnedTasks >= s.cfg.WindowsTasks {
			l.returnedAll = false // the rest stays stored only
			break
		}
		l.returned.ReplaceOrInsert(returnedTask{returnedKey{d.Due.DueAtMs, d.Seq}, d.Due})
		l.returnedEnd = returnedKey{d.Due.DueAtMs, d.Seq + 1}
		s.returnedTasks++
	}
	s.schedule(l, now)
}
