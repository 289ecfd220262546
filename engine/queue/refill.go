package queue

import "math"

// Stream is the kind of records that a Refill reads.
type Stream uint8

// The streams.
const (
	// StreamFresh reads those tasks of a lane, from FromSeq on, that are not Delayed and have no
	// Progress record.
	StreamFresh Stream = iota + 1
	// StreamReturned reads a lane's Due records from (FromMs, FromSeq) on.
	StreamReturned
	// StreamExpired reads the shard's tasks whose time to live ended by FromMs, earliest end first.
	StreamExpired
	// StreamDue reads the places of a lane's Due records from (FromMs, FromSeq) to UntilMs.
	StreamDue
	// StreamNotDue reads, backwards, the places of a lane's Due records that are before (FromMs,
	// FromSeq) and after UntilMs.
	StreamNotDue
)

// Refill is a request for records that are in the store, but not in memory. The reading must see
// all decisions that were made before Refills returned the Refill. It may also see a prefix of the
// later decisions. The answer may arrive at any later time.
type Refill struct {
	Stream   Stream
	Queue    uint32
	Priority uint8
	FromSeq  uint64
	UntilSeq uint64 // StreamFresh stops before this seq; 0 means no limit
	FromMs   int64
	UntilMs  int64
	Limit    int
	// LookMax limits the number of tasks that the reading of StreamFresh visits, including skipped
	// tasks; 0 means no limit.
	LookMax int
	// BytesMax limits the bytes of tasks that are read, but at least one task is read; 0 means no
	// limit.
	BytesMax int64
	// PayloadBytesMax limits the payload bytes in the answer. Tasks beyond the limit are answered
	// without payloads.
	PayloadBytesMax int64
}

// SeqTask is a stored fresh task.
type SeqTask struct {
	Seq   uint64
	Task  Task   // without its payload if the payload would exceed Refill.PayloadBytesMax
	Bytes uint32 // size of the payload in bytes
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

// Awaits reports whether the waiter may get more tasks once a Refill is answered.
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

// ask adds a Refill for a lane, unless a Refill for the same stream of the lane is unanswered.
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

// askFresh and askReturned request the records after the end of a window.
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

// answered returns the lane of a Refill, and the changes to the lane's records since the request.
// The lane is nil if the queue was deleted, or if the lane does not wait for this answer.
func (s *State) answered(r Refill) (*lane, reading) {
	q := s.byID[r.Queue]
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

// RefillFresh answers a Refill of StreamFresh. Tasks from nextSeq on were not read. A nextSeq of
// math.MaxUint64 means that the store contains no further task below r.UntilSeq. nextSeq must be
// above r.FromSeq, even if tasks is empty.
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
			return // the remaining tasks are in the store only
		}
		s.appendFresh(l, t.Seq, t.Task, t.Bytes)
	}
	if l.fresh.len() == 0 { // a recovery then does not read the skipped tasks again
		l.cursor = max(l.cursor, min(nextSeq, r.UntilSeq))
	}
	l.freshEnd = min(nextSeq, r.UntilSeq)
	if nextSeq == math.MaxUint64 {
		s.appendLate(l, &while)
	}
}

func (s *State) windowIsFull(l *lane) bool {
	n := l.fresh.len()
	return n >= s.cfg.WindowTasks || n >= s.cfg.windowFloor() && s.windowsTasks >= s.cfg.WindowsTasks
}

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

// RefillReturned answers a Refill of StreamReturned. more is true if the stream contains further
// records.
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
			l.returnedAll, l.returnedEnd = false, t.returnedKey // the rest is in the store only
			break
		}
		s.insertReturned(l, t)
		n++
	}
	s.schedule(l)
}

func (s *State) askExpired() {
	if s.ttlMs <= s.nowMs && s.expiring == nil {
		s.refills = append(s.refills, Refill{Stream: StreamExpired, FromMs: s.nowMs, Limit: s.cfg.SweepMax, BytesMax: s.cfg.RefillBytesMax})
		s.ttlMs, s.expiring = math.MaxInt64, map[Ref]bool{}
	}
}

// RefillExpired answers a Refill of StreamExpired. nextMs is the earliest end of a time to live
// among the entries that were not read, or math.MaxInt64 if all were read.
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
	// If further tasks have expired, the next Tick is due immediately and requests them. Other
	// commands are decided in between.
	s.ttlMs = min(s.ttlMs, nextMs)
}
