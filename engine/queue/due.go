package queue

import "math"

// A lane counts its returned tasks that are due, whether in memory or only stored, so that the
// numbers of a queue's ready and delayed tasks are exact at any time. The count advances with the
// time, in the order of the due times:
//
//	counted as due │ lane.counted (a place) │ not counted; not due, unless the lane is behind
//
// A lane counts the tasks in its window as soon as they become due. To count tasks beyond its
// window, it reads the store: a limited number of records at a time, and at most every countEveryMs
// unless the queue's figures are requested. The queue's record contains the count and the place up
// to which it counted, so that a recovery continues from there.

const (
	// countEveryMs is the interval, in milliseconds, between the reads of the store for lanes that
	// are behind, while the queue's figures are not requested.
	countEveryMs = 1_000
	// countLanesMax limits the number of lanes whose counts are read from the store at the same
	// time.
	countLanesMax = 16
)

// DueCount is the number of a lane's returned tasks before a place in the order of due times and
// seqs.
type DueCount struct {
	Tasks     uint64
	BeforeMs  int64
	BeforeSeq uint64
}

// dueNone is the place after all tasks.
var dueNone = returnedKey{math.MaxInt64, math.MaxUint64}

func (l *lane) dropDue(k returnedKey) {
	if k.less(l.counted) {
		l.due--
	}
}

func (l *lane) dueCount(nowMs int64) DueCount {
	before := l.counted
	if !l.unsure && before.dueAtMs > nowMs {
		before = returnedKey{nowMs + 1, 0}
	}
	return DueCount{Tasks: l.due, BeforeMs: before.dueAtMs, BeforeSeq: before.seq}
}

// countAllDue counts the tasks that became due.
func (ls *lanes) countAllDue() {
	for {
		l, ok := ls.due.next()
		if !ok || l.dueMs > ls.nowMs {
			return
		}
		ls.countDue(l)
	}
}

func (ls *lanes) addDue(l *lane, k returnedKey) {
	switch {
	case !k.less(l.counted):
	case k.dueAtMs <= ls.nowMs || l.unsure:
		l.due++
	default:
		l.counted = k // k is not due, so all counted tasks are before it
	}
}

func (ls *lanes) countDue(l *lane) {
	if !l.behind && l.counted.dueAtMs <= ls.nowMs {
		ls.queues.show(l.queue)
		ls.countWindow(l)
		if l.counted.dueAtMs <= ls.nowMs {
			ls.fallBehind(l)
		}
	}
	ls.schedule(l)
}

func (ls *lanes) countWindow(l *lane) {
	end := dueNone
	if !l.returnedAll {
		end = l.counted
		if l.counted.less(l.returnedEnd) {
			end = l.returnedEnd
		}
	}
	n := uint64(0)
	l.returned.AscendGreaterOrEqual(returnedTask{returnedKey: l.counted}, func(t returnedTask) bool {
		if t.dueAtMs > ls.nowMs {
			end = t.returnedKey
			return false
		}
		n++
		return true
	})
	l.due += n
	l.counted = end
	ls.noteCounted(l, n)
}

// noteCounted stores the queue's record after many tasks were counted, so that a recovery does not
// count them again.
func (ls *lanes) noteCounted(l *lane, n uint64) {
	if l.unsaved += n; l.unsaved >= uint64(ls.cfg.LookMax) {
		ls.queues.touch(l.queue)
	}
}

func (ls *lanes) fallBehind(l *lane) {
	l.behind = true
	ls.queues.show(l.queue)
	if !l.listed {
		l.listed = true
		ls.behind.push(l)
	}
}

// askCounts requests the counts of lanes that are behind, at most every countEveryMs.
func (ls *lanes) askCounts() {
	if ls.counting > 0 || ls.nowMs < ls.countAtMs {
		return
	}
	n := min(ls.behind.len(), countLanesMax)
	for range n {
		l := ls.behind.pop()
		l.listed = false
		ls.askCount(l, ls.cfg.LookMax/n)
	}
	if n > 0 && ls.behind.len() == 0 {
		ls.countAtMs = ls.nowMs + countEveryMs
	}
}

// askCount requests the records that a lane that is behind must count. A recovered count may be
// ahead of this node's clock, if a node with a faster clock stored it. The request then counts
// backwards.
func (ls *lanes) askCount(l *lane, limit int) {
	if !l.behind || l.reads(StreamDue) {
		return
	}
	ls.counting++
	r := Refill{
		Stream: StreamDue, Queue: l.queue.record.ID, Lane: l.number,
		FromMs: l.counted.dueAtMs, FromSeq: l.counted.seq, UntilMs: ls.nowMs, Limit: max(1, limit),
	}
	if (returnedKey{ls.nowMs + 1, 0}).less(l.counted) {
		r.Stream = StreamNotDue
	}
	ls.ask(l, r)
}

// RefillDue answers a Refill of StreamDue or StreamNotDue. tasks contains the places of the
// records. For StreamDue, next is the place of the first record after them; for StreamNotDue, the
// place of the last record that was read backwards. more is true if the reading stopped at r.Limit.
func (ls *lanes) RefillDue(r Refill, tasks []DueKey, next DueKey, more bool) {
	l, while := ls.answered(r, len(tasks))
	if l == nil {
		return
	}
	ls.counting--
	ls.queues.show(l.queue)
	from := returnedKey{r.FromMs, r.FromSeq}
	if l.behind && l.counted == from {
		back := r.Stream == StreamNotDue
		to := returnedKey{next.AtMs, next.Seq}
		for k, t := range while.moved { // tasks before to are counted, the others are not
			if !t.dropped && k.dueAtMs > r.UntilMs && k.less(to) && (!back && !k.less(from) || back && !more) {
				to = k
			}
		}
		n := while.count(tasks, from, to)
		if back {
			l.due -= n
		} else {
			l.due += n
		}
		l.counted = to
		l.unsure = back && more
		l.behind = more || l.counted.dueAtMs <= ls.nowMs
		ls.noteCounted(l, n)
	}
	if l.behind {
		ls.fallBehind(l)
		if more {
			ls.countAtMs = ls.nowMs
		}
	}
	ls.schedule(l)
}

func (ls *lanes) recoverDue(l *lane, c DueCount) {
	l.due, l.counted, l.unsure = c.Tasks, returnedKey{c.BeforeMs, c.BeforeSeq}, true
	ls.fallBehind(l)
}
