package queue

import "math"

// A lane counts its returned tasks that are due, in memory or not, so that the numbers of a queue's
// ready and delayed tasks are exact at any time. The count advances with the time, in the order of
// the due times:
//
//	counted as due │ lane.counted (a place) │ not counted; not due, unless the lane is behind
//
// Within the window, a lane counts immediately. Beyond the window, it counts by reading the store:
// a bounded number of records at a time, and at most every countEveryMs unless the queue's figures
// are requested. The queue's record stores the place and the number, so that a recovery continues
// from there.

const (
	// countEveryMs bounds the lag of the count, in milliseconds, while the queue's figures are not
	// requested.
	countEveryMs = 1_000
	// countLanesMax bounds the lanes whose counts are read from the store simultaneously.
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

// addDue updates the count for a task that joins the returned ones.
func (s *State) addDue(l *lane, k returnedKey) {
	switch {
	case !k.less(l.counted):
	case k.dueAtMs <= s.nowMs || l.unsure:
		l.due++
	default:
		l.counted = k // k is not due, so all counted tasks are before it
	}
}

// dropDue updates the count for a task that leaves the returned ones.
func (l *lane) dropDue(k returnedKey) {
	if k.less(l.counted) {
		l.due--
	}
}

func (s *State) countDue(l *lane) {
	if !l.behind && l.counted.dueAtMs <= s.nowMs {
		s.show(l.queue)
		s.countWindow(l)
		if l.counted.dueAtMs <= s.nowMs {
			s.fallBehind(l)
		}
	}
	s.schedule(l)
}

func (s *State) countWindow(l *lane) {
	end := dueNone
	if !l.returnedAll {
		end = l.counted
		if l.counted.less(l.returnedEnd) {
			end = l.returnedEnd
		}
	}
	n := uint64(0)
	l.returned.AscendGreaterOrEqual(returnedTask{returnedKey: l.counted}, func(t returnedTask) bool {
		if t.dueAtMs > s.nowMs {
			end = t.returnedKey
			return false
		}
		n++
		return true
	})
	l.due += n
	l.counted = end
	s.noteCounted(l, n)
}

// noteCounted stores the queue's record after many tasks were counted, so that a recovery does not
// count them again.
func (s *State) noteCounted(l *lane, n uint64) {
	if l.unsaved += n; l.unsaved >= uint64(s.cfg.LookMax) {
		s.touch(l.queue)
	}
}

// fallBehind records that the lane must read the store to continue the count.
func (s *State) fallBehind(l *lane) {
	l.behind = true
	s.show(l.queue)
	if !l.listed {
		l.listed = true
		s.behind.push(l)
	}
}

// askCounts requests the counts of lanes that are behind, at most every countEveryMs.
func (s *State) askCounts() {
	if s.counting > 0 || s.nowMs < s.countAtMs {
		return
	}
	n := min(s.behind.len(), countLanesMax)
	for range n {
		l := s.behind.pop()
		l.listed = false
		s.askCount(l, s.cfg.LookMax/n)
	}
	if n > 0 && s.behind.len() == 0 {
		s.countAtMs = s.nowMs + countEveryMs
	}
}

// askCount requests the count of a lane that is behind. A recovered count may be ahead of this
// clock, if a node with a faster clock made it. Then the request counts backwards.
func (s *State) askCount(l *lane, limit int) {
	if !l.behind || l.reads(StreamDue) {
		return
	}
	s.counting++
	r := Refill{
		Stream: StreamDue, Queue: l.queue.record.ID, Priority: l.priority,
		FromMs: l.counted.dueAtMs, FromSeq: l.counted.seq, UntilMs: s.nowMs, Limit: max(1, limit),
	}
	if (returnedKey{s.nowMs + 1, 0}).less(l.counted) {
		r.Stream = StreamNotDue
	}
	s.ask(l, r)
}

// RefillDue answers a Refill of StreamDue or StreamNotDue. tasks are the places of the records.
// next is the place of the first record after them, or of the last record that was counted back.
// more reports that the reading stopped at r.Limit.
func (s *State) RefillDue(r Refill, tasks []DueKey, next DueKey, more bool) {
	s.worked += len(tasks)
	l, while := s.answered(r)
	if l == nil {
		return
	}
	s.counting--
	s.show(l.queue)
	from := returnedKey{r.FromMs, r.FromSeq}
	if l.behind && l.counted == from {
		back := r.Stream == StreamNotDue
		to := returnedKey{next.AtMs, next.Seq}
		for k, t := range while.moved { // count everything before to, nothing after it
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
		l.behind = more || l.counted.dueAtMs <= s.nowMs
		s.noteCounted(l, n)
	}
	if l.behind {
		s.fallBehind(l)
		if more {
			s.countAtMs = s.nowMs
		}
	}
	s.schedule(l)
}

// dueCount returns the count in its stored form.
func (l *lane) dueCount(nowMs int64) DueCount {
	before := l.counted
	if !l.unsure && before.dueAtMs > nowMs {
		before = returnedKey{nowMs + 1, 0}
	}
	return DueCount{Tasks: l.due, BeforeMs: before.dueAtMs, BeforeSeq: before.seq}
}

func (s *State) recoverDue(l *lane, c DueCount) {
	l.due, l.counted, l.unsure = c.Tasks, returnedKey{c.BeforeMs, c.BeforeSeq}, true
	s.fallBehind(l)
}
