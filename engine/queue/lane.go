package queue

import "github.com/google/btree"

// Lanes is the number of lanes of a queue. Lane p contains the tasks of priority p, except those in
// DelayedLane(p): tasks that were enqueued with a delay or redriven, and were not claimed since.
// nextLane determines the order between the two lanes.
const Lanes = 2 * (MaxPriority + 1)

// DelayedLane returns the number of the lane of the delayed and redriven tasks of a priority.
func DelayedLane(priority uint8) uint8 { return MaxPriority + 1 + priority }

// LanePriority returns the priority of the tasks of a lane.
func LanePriority(number uint8) uint8 { return number % (MaxPriority + 1) }

// A lane contains tasks of one queue and priority that are neither leased nor dead. The tasks form
// two streams, each with its own order. The first tasks of each stream are also in memory, in the
// stream's window:
//
//	fresh     never claimed nor delayed, by seq:  window │ stored only, from freshEnd │ newest
//	returned  with a Due record, by due and seq:  window │ stored only, from returnedEnd
//
// freshAll and returnedAll are true while the window contains all tasks of its stream. A delayed
// lane has no fresh tasks.
type lane struct {
	queue  *Queue
	number uint8

	fresh    ring[freshTask]
	cursor   uint64 // no fresh task has a lower seq
	freshEnd uint64
	freshAll bool

	returned    *btree.BTreeG[returnedTask]
	returnedEnd returnedKey
	returnedAll bool

	parked *parkedTasks // tasks that left the windows and are not leased; nil if there never were any

	// due is the number of returned tasks whose place is before counted, whether in memory or only
	// stored.
	due     uint64
	counted returnedKey // due includes the returned tasks before this place
	unsaved uint64      // number of tasks counted since the queue's record was stored
	behind  bool        // the count can only continue by reading the store
	// unsure means that the count was recovered: due may include tasks that are not due by this
	// node's clock.
	unsure  bool
	listed  bool     // the lane is in lanes.behind
	reading *reading // changes to the lane while a Refill is unanswered; else nil

	dueMs int64 // deadline in lanes.due
	index int   // place in lanes.due
}

type freshTask struct {
	seq    uint64
	task   Task
	bytes  uint32 // size of the payload
	cached bool   // the payload is in task
	gone   bool   // cancelled or dead, so dispatch skips it
}

type returnedKey struct {
	dueAtMs int64
	seq     uint64
}

type returnedTask struct {
	returnedKey
	due Due
}

func (k returnedKey) less(o returnedKey) bool {
	return k.dueAtMs < o.dueAtMs || k.dueAtMs == o.dueAtMs && k.seq < o.seq
}

func newLane(q *Queue, number uint8) *lane {
	l := &lane{
		queue: q, number: number, index: -1,
		freshAll: true, returnedAll: true, counted: dueNone,
		returned: btree.NewG(32, func(a, b returnedTask) bool { return a.less(b.returnedKey) }),
	}
	if number <= MaxPriority {
		l.cursor = q.record.Cursors[number]
	}
	return l
}

func (q *Queue) lane(number uint8) *lane {
	l := q.lanes[number]
	if l == nil {
		l = newLane(q, number)
		q.lanes[number] = l
	}
	return l
}

func (l *lane) deadlineMs() int64 { return l.dueMs }
func (l *lane) place() *int       { return &l.index }

func (l *lane) ref(seq uint64) Ref {
	return Ref{Queue: l.queue.record.ID, Priority: LanePriority(l.number), Seq: seq}
}

// nextDue returns the place of the lane's first returned task. If the window is empty, it returns a
// lower bound of this place; dueNone if there is no returned task.
func (l *lane) nextDue() returnedKey {
	if t, ok := l.returned.Min(); ok {
		return t.returnedKey
	}
	if !l.returnedAll {
		return l.returnedEnd
	}
	return dueNone
}

func (l *lane) nextDueMs() int64 { return l.nextDue().dueAtMs }

func (l *lane) empty() bool {
	return l.freshAll && l.fresh.len() == 0 && l.returnedAll && l.returned.Len() == 0 && l.parked.len() == 0 &&
		l.due == 0 && !l.behind && l.reading == nil && !l.listed && l.index < 0
}
