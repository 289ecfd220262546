package queue

// Stream is what a Refill reads.
type Stream uint8

// The streams.
const (
	StreamFresh    Stream = iota + 1 // a lane's tasks from FromSeq on that are neither Delayed nor have a Progress record
	StreamReturned                   // a lane's Due records from (FromMs, FromSeq) on
	StreamExpired                    // of the whole shard: tasks whose time to live was over at FromMs, earliest first
)

// Refill asks for what is stored and not in memory. Everything decided so far must be visible in the store
// when it is read, and nothing may be decided between the reading and the answer.
type Refill struct {
	Stream   Stream
	Queue    uint32
	Priority uint8
	FromSeq  uint64
	FromMs   int64
	Limit    int
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
		if asked.Queue == r.Queue && asked.Priority == r.Priority && asked.Stream == r.Stream {
			return
		}
	}
	s.refills = append(s.refills, r)
}

// Refills returns what the last calls could not go on without, and forgets it.
func (s *State) Refills() []Refill {
	r := s.refills
	s.refills = nil
	return r
}

// RefillFresh answers a Refill of StreamFresh. fewer than r.Limit tasks means that there are
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

// RefillReturned answers a Refill of StreamReturned, as RefillFresh does.
func (s *State) RefillReturned(r Refill, due []SeqDue) {
	l := s.queues[r.Queue].lane(r.Priority)
	if l.returnedAll || l.returned.Len() > 0 || l.returnedEnd != (returnedKey{r.FromMs, r.FromSeq}) {
		return
	}
	l.returnedAll = len(due) < r.Limit
	for i, d := range due {
		if i >= s.cfg.windowFloor() && s.returnedTasks >= s.cfg.WindowsTasks {
			l.returnedAll = false // the rest stays stored only
			break
		}
		s.insertReturned(l, returnedTask{returnedKey{d.Due.DueAtMs, d.Seq}, d.Due})
		l.returnedEnd = returnedKey{d.Due.DueAtMs, d.Seq + 1}
	}
	s.schedule(l)
}

// expiriesMax is how many tasks whose time to live is over are read at once.
const expiriesMax = 1_000

// askExpired asks for the tasks whose time to live is over, if there may be any.
func (s *State) askExpired() {
	if s.ttlMs <= s.nowMs && !s.ttlAsked {
		s.ttlAsked = true
		s.askRefill(Refill{Stream: StreamExpired, FromMs: s.nowMs, Limit: expiriesMax})
	}
}

// RefillExpired answers a Refill of StreamExpired. nextMs is the end of the first time to live that was not
// read; math.MaxInt64 if there is none.
func (s *State) RefillExpired(_ Refill, tasks []Expired, nextMs int64) {
	for i := range tasks {
		s.expireTask(&tasks[i])
	}
	// If more are over, the next Tick asks for them, which is due at once: in between others have their turn.
	s.ttlMs, s.ttlAsked = nextMs, false
}
