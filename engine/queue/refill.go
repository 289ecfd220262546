package queue

import "math"

// Stream is what a Refill reads.
type Stream uint8

// The streams.
const (
	StreamFresh    Stream = iota + 1 // a lane's tasks from FromSeq on that are neither Delayed nor have a Progress record
	StreamReturned                   // a lane's Due records from (FromMs, FromSeq) on
	StreamExpired                    // of the whole shard: tasks whose time to live was over at FromMs, earliest first
	StreamDue                        // how many Due records a lane has from (FromMs, FromSeq) to UntilMs
	StreamNotDue                     // how many Due records a lane has before (FromMs, FromSeq), back to those after UntilMs
)

// Refill asks for what is stored and not in memory. Everything decided so far must be visible in the store
// when it is read, and nothing may be decided between the reading and the answer.
type Refill struct {
	Stream   Stream
	Queue    uint32
	Priority uint8
	FromSeq  uint64
	FromMs   int64
	UntilMs  int64
	Limit    int
	// LookMax is the number of the lane's tasks after which the reading of StreamFresh stops, including tasks that it passes
	// over; 0 means no bound.
	LookMax int
	// BytesMax is the number of bytes of tasks after which the reading stops, after at least one task; 0 means no bound.
	BytesMax int64
	// PayloadBytesMax is how many bytes of payloads the answer may have. It leaves out further payloads.
	PayloadBytesMax int64
}

// SeqTask is a stored fresh task.
type SeqTask struct {
	Seq   uint64
	Task  Task   // without its payload if Refill.PayloadBytesMax leaves no room for it
	Bytes uint32 // of the payload
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

// RefillFresh answers a Refill of StreamFresh. nextSeq is the first seq that was not read, and math.MaxUint64 at the end of the
// stream. It is above r.FromSeq even if the answer has no task.
func (s *State) RefillFresh(r Refill, tasks []SeqTask, nextSeq uint64) {
	q := s.queues[r.Queue]
	if q == nil {
		return // it was deleted
	}
	l := q.lane(r.Priority)
	if l.freshAll || l.fresh.len() > 0 || l.freshEnd != r.FromSeq {
		return
	}
	s.show(l.queue)
	for i, t := range tasks {
		if i >= s.cfg.windowFloor() && s.windowsTasks >= s.cfg.WindowsTasks {
			l.freshEnd = t.Seq
			return // the rest stays stored only
		}
		s.appendFresh(l, t.Seq, t.Task, t.Bytes)
	}
	l.freshEnd, l.freshAll = nextSeq, nextSeq == math.MaxUint64
	if len(tasks) == 0 { // store the progress, so that a recovery does not pass over these tasks again
		l.cursor = max(l.cursor, min(nextSeq, l.queue.record.NextSeq))
	}
}

// RefillReturned answers a Refill of StreamReturned. more says that the stream has further records.
func (s *State) RefillReturned(r Refill, due []SeqDue, more bool) {
	q := s.queues[r.Queue]
	if q == nil {
		return // it was deleted
	}
	l := q.lane(r.Priority)
	if l.returnedAll || l.returned.Len() > 0 || l.returnedEnd != (returnedKey{r.FromMs, r.FromSeq}) {
		return
	}
	s.show(l.queue)
	l.returnedAll = !more
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

// askExpired asks for the tasks whose time to live is over, if there may be any.
func (s *State) askExpired() {
	if s.ttlMs <= s.nowMs && !s.ttlAsked {
		s.ttlAsked = true
		s.askRefill(Refill{Stream: StreamExpired, FromMs: s.nowMs, Limit: s.cfg.SweepMax, BytesMax: s.cfg.RefillBytesMax})
	}
}

// RefillExpired answers a Refill of StreamExpired. nextMs is the end of the first time to live that was not
// read; math.MaxInt64 if there is none.
func (s *State) RefillExpired(_ Refill, tasks []Expired, nextMs int64) {
	s.worked += len(tasks)
	for i := range tasks {
		s.expireTask(&tasks[i])
	}
	// If more are over, the next Tick asks for them, which is due at once: in between others have their turn.
	s.ttlMs, s.ttlAsked = nextMs, false
}
