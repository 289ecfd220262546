package queue

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
	// StreamFinished reads the sizes of the entries of a queue's history from the position FromSeq on.
	StreamFinished
)

// Refill is a request for records that are in the store, but not in memory. The reading must see
// all decisions that were made before Refills returned the Refill. It may also see a prefix of the
// later decisions. The answer may arrive at any later time.
type Refill struct {
	Stream   Stream
	Queue    uint32
	Lane     uint8 // number of the lane; for StreamFresh, this is the priority
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

// ask adds a Refill for a lane, unless a Refill for the same stream of the lane is unanswered.
func (ls *lanes) ask(l *lane, r Refill) {
	if l.reads(r.Stream) {
		return
	}
	if l.reading == nil {
		l.reading = &reading{}
	}
	*l.reading.of(r.Stream) = true
	ls.refills = append(ls.refills, r)
}

// askFresh and askReturned request the records after the end of a window.
func (ls *lanes) askFresh(l *lane, limit int, bytesMax int64) {
	ls.ask(l, Refill{
		Stream: StreamFresh, Queue: l.queue.record.ID, Lane: l.number,
		FromSeq: l.freshEnd, UntilSeq: l.queue.record.NextSeq, Limit: min(limit, refillMax), LookMax: ls.cfg.LookMax,
		BytesMax: bytesMax, PayloadBytesMax: max(0, ls.cfg.CacheBytesMax-ls.cacheBytes),
	})
}

func (ls *lanes) askReturned(l *lane, limit int) {
	ls.ask(l, Refill{
		Stream: StreamReturned, Queue: l.queue.record.ID, Lane: l.number,
		FromMs: l.returnedEnd.dueAtMs, FromSeq: l.returnedEnd.seq, Limit: min(limit, refillMax),
	})
}

// answered begins the answer to a Refill, which has a number of records. It returns the lane of the
// Refill, and the changes to the lane's records since the request. The lane is nil if the queue was
// deleted, or if the lane does not wait for this answer.
func (ls *lanes) answered(r Refill, records int) (*lane, reading) {
	ls.worked += records
	q := ls.queues.byID[r.Queue]
	if q == nil {
		return nil, reading{}
	}
	l := q.lanes[r.Lane]
	if l == nil || !l.reads(r.Stream) {
		return nil, reading{}
	}
	while := *l.reading
	if l.reading.end(r.Stream); !l.reading.fresh && !l.reading.returned && !l.reading.due {
		l.reading = nil
	}
	return l, while
}
