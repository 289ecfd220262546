package queue

import "math"

type queueName struct{ tenant, name string }

// Queue is one queue of a shard.
type Queue struct {
	record  Record
	account Account
	freed   freed
	shared  *Extras // Extras of all tasks that set no option themselves
	lanes   [Lanes]*lane
	waiting waiters // subscriptions of waiters that may get tasks
	leased  leasedRefs
	limits  *limiting // nil if the queue never had limits
	rates   rates
	events  *Events // nil while all counters are 0
	// finished is nil if the queue has no history, or an empty one.
	finished *finishedTasks
	hot      bool
	starved  bool
	awaits   bool // it gets no turn until a Refill is answered
	dirty    bool
	unseen   bool // the queue is in queues.unseen
	stored   bool // the queue has a record
	uniques  bool // the queue may have unique keys
	// unsound means that the recovered counts, from an older server, did not add up: Flush does not
	// check them.
	unsound bool

	subscriptions int32 // number of subscriptions, including those of waiters without credit
	// keyedUntilS is the time after which no key of the queue is valid. It is in seconds to save
	// memory, since a node may have many queues.
	keyedUntilS uint32
	// removableMs is the earliest time of deletion: Config.IdleMs after the last use of the queue,
	// but not before its last result and key have expired.
	removableMs int64
	idleMs      int64 // deadline in queues.idle
	index       int   // place in queues.idle
}

// Tenant returns the queue's tenant.
func (q *Queue) Tenant() string { return q.record.Tenant }

// Name returns the queue's name.
func (q *Queue) Name() string { return q.record.Name }

func (q *Queue) ready() uint64 { return q.record.Counts.Fresh + q.record.Counts.Returned }

// ID returns the queue's number in its shard.
func (q *Queue) ID() uint32 { return q.record.ID }

// Cursor returns a lower bound of the seqs of a lane's fresh tasks. The bound is exact while the
// first one is in memory. It is math.MaxUint64 for a lane without fresh tasks.
func (q *Queue) Cursor(priority uint8) uint64 {
	l := q.lanes[priority]
	if l != nil && l.parked != nil {
		if t, ok := l.parked.fresh.Min(); ok {
			return t.seq
		}
	}
	switch {
	case q.record.Counts.Fresh == 0 || l != nil && l.freshAll && l.fresh.len() == 0:
		return math.MaxUint64
	case l == nil:
		return q.record.Cursors[priority]
	case l.fresh.len() > 0:
		return l.fresh.front().seq
	default:
		return l.cursor
	}
}

// Stored reports whether the queue has a record. A queue without a record exists only for its
// waiters.
func (q *Queue) Stored() bool { return q.stored }

// removable reports whether deleting the queue would lose only its figures.
func (q *Queue) removable() bool {
	return q.record.Counts.held() == 0 && q.record.Dependencies == (DependencyCounts{}) && q.record.PolicyVersion == 0 && !q.record.Paused && q.subscriptions == 0
}

// keep prevents the deletion of the queue until untilMs, because the queue was used, or because a
// key or result is stored under its number.
func (q *Queue) keep(untilMs int64) { q.removableMs = max(q.removableMs, untilMs) }

func (q *Queue) keyed(untilMs int64) { q.keyedUntilS = max(q.keyedUntilS, uint32((untilMs+999)/1_000)) }

// keyedUntilMs returns a time after which no key of the queue is valid.
func (q *Queue) keyedUntilMs() int64 { return int64(q.keyedUntilS) * 1_000 }

func (q *Queue) deadlineMs() int64 { return q.idleMs }
func (q *Queue) place() *int       { return &q.index }
