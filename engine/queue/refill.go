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

// Refill asks for what is stored and not in memory. The reading must see everything that was decided before Refills returned
// the Refill. The reading may also see later decisions, up to any of them. The answer may come at any time.
type Refill struct {
	Stream   Stream
	Queue    uint32
	Priority uint8
	FromSeq  uint64
	UntilSeq uint64 // StreamFresh reads no seq from here on; 0: all
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

// DueKey is the place of a stored Due record.
type DueKey struct {
	AtMs int64
	Seq  uint64
}

// Refills returns what the last calls need from the store, and forgets it. The caller answers each Refill once.
func (s *State) Refills() []Refill {
	r := s.refills
	s.refills = nil
	return r
}

// Awaits reports whether the waiter may be given more tasks of a queue once a Refill is answered.
func (s *State) Awaits(w *Waiter) bool {
	if !w.open() {
		return false
	}
	for _, sub := range w.subs {
		if sub.queue.awaits {
			return true
		}
	}
	return false
}

// ask asks for records of a lane, unless the lane waits for the answer to such a Refill.
func (s *State) ask(l *lane, r Refill) {
	if l.reads(r.Stream) {
		return
	}
	if l.reading == nil {
		l.reading = &reading{}
	}
	*l.reading.of(r.Stream) = true
	s.refills = append(s.refills, r)
}

// askFresh and askReturned read on from the end of a window.
func (s *State) askFresh(l *lane, limit int, bytesMax int64) {
	s.ask(l, Refill{
		Stream: StreamFresh, Queue: l.queue.record.ID, Priority: l.priority,
		FromSeq: l.freshEnd, UntilSeq: l.queue.record.NextSeq, Limit: min(limit, refillMax), LookMax: s.cfg.LookMax,
		BytesMax: bytesMax, PayloadBytesMax: max(0, s.cfg.CacheBytesMax-s.cacheBytes),
	})
}

func (s *State) askReturned(l *lane, limit int) {
	s.ask(l, Refill{
		Stream: StreamReturned, Queue: l.queue.record.ID, Priority: l.priority,
		FromMs: l.returnedEnd.dueAtMs, FromSeq: l.returnedEnd.seq, Limit: min(limit, refillMax),
	})
}

// answered returns the lane of a Refill, and what happened to the lane's records since the Refill was asked for. It returns
// nil if the queue was deleted, or the lane does not wait for the answer.
func (s *State) answered(r Refill) (*lane, reading) {
	q := s.queues[r.Queue]
	if q == nil {
		return nil, reading{}
	}
	l := q.lanes[r.Priority]
	if l == nil || !l.reads(r.Stream) {
		return nil, reading{}
	}
	while := *l.reading
	if l.reading.end(r.Stream); !l.reading.fresh && !l.reading.returned && !l.reading.due {
		l.reading = nil
	}
	return l, while
}

// resume lets the queue take part in dispatch again after a Refill was answered.
func (s *State) resume(q *Queue) {
	q.awaits = false
	s.heat(q)
}

// RefillFresh answers a Refill of StreamFresh. Tasks from nextSeq on were not read; math.MaxUint64 says that no further one is stored
// below r.UntilSeq. nextSeq is above r.FromSeq also when the answer has no task.
func (s *State) RefillFresh(r Refill, tasks []SeqTask, nextSeq uint64) {
	s.worked += len(tasks)
	l, while := s.answered(r)
	if l == nil {
		return
	}
	s.resume(l.queue)
	if l.freshAll || l.fresh.len() > 0 || l.freshEnd != r.FromSeq {
		return
	}
	s.show(l.queue)
	for _, t := range tasks {
		if while.gone[t.Seq] {
			continue
		}
		if s.windowIsFull(l) {
			l.freshEnd = t.Seq
			return // the rest stays stored only
		}
		s.appendFresh(l, t.Seq, t.Task, t.Bytes)
	}
	if l.fresh.len() == 0 { // so that a recovery does not read them again
		l.cursor = max(l.cursor, min(nextSeq, r.UntilSeq))
	}
	l.freshEnd = min(nextSeq, r.UntilSeq)
	if nextSeq == math.MaxUint64 {
		s.appendLate(l, &while)
	}
}

// windowIsFull reports whether the window has no room, so that further fresh tasks are only in the store.
func (s *State) windowIsFull(l *lane) bool {
	n := l.fresh.len()
	return n >= s.cfg.WindowTasks || n >= s.cfg.windowFloor() && s.windowsTasks >= s.cfg.WindowsTasks
}

// appendLate appends the tasks that were enqueued while the ones before them were read.
func (s *State) appendLate(l *lane, while *reading) {
	for _, t := range while.late {
		if while.gone[t.Seq] {
			continue
		}
		if s.windowIsFull(l) {
			l.freshEnd = t.Seq
			return
		}
		s.appendFresh(l, t.Seq, t.Task, t.Bytes)
	}
	if while.lateLeft {
		l.freshEnd = while.lateEnd
		return
	}
	l.freshAll = true
}

// RefillReturned answers a Refill of StreamReturned. more says that the stream has further records.
func (s *State) RefillReturned(r Refill, due []SeqDue, more bool) {
	s.worked += len(due)
	l, while := s.answered(r)
	if l == nil {
		return
	}
	s.resume(l.queue)
	from, end := returnedKey{r.FromMs, r.FromSeq}, dueNone
	if l.returnedAll || l.returnedEnd != from {
		return
	}
	s.show(l.queue)
	if n := len(due); more && n > 0 {
		end = returnedKey{due[n-1].Due.DueAtMs, due[n-1].Seq + 1}
	}
	l.returnedAll, l.returnedEnd = !more, end
	n := 0
	for _, t := range while.current(due, from, end) {
		if l.returned.Len() >= s.cfg.WindowTasks || n >= s.cfg.windowFloor() && s.returnedTasks >= s.cfg.WindowsTasks {
			l.returnedAll, l.returnedEnd = false, t.returnedKey // the rest stays stored only
			break
		}
		s.insertReturned(l, t)
		n++
	}
	s.schedule(l)
}

// askExpired asks for the tasks whose time to live is over, if there may be any.
func (s *State) askExpired() {
	if s.ttlMs <= s.nowMs && s.expiring == nil {
		s.refills = append(s.refills, Refill{Stream: StreamExpired, FromMs: s.nowMs, Limit: s.cfg.SweepMax, BytesMax: s.cfg.RefillBytesMax})
		s.ttlMs, s.expiring = math.MaxInt64, map[Ref]bool{}
	}
}

// RefillExpired answers a Refill of StreamExpired. nextMs is the end of the first time to live that was not read, or math.MaxInt64 if
// all were.
func (s *State) RefillExpired(r Refill, tasks []Expired, nextMs int64) {
	s.worked += len(tasks)
	changed := s.expiring
	s.expiring = nil
	for i := range tasks {
		if changed[tasks[i].Ref] { // what was read may be outdated
			nextMs = min(nextMs, r.FromMs)
			continue
		}
		s.expireTask(&tasks[i])
	}
	// If further tasks expired, the next Tick, which is due at once, asks for them: other commands are decided in between.
	s.ttlMs = min(s.ttlMs, nextMs)
}
