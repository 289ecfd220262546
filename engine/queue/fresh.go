package queue

import (
	"math"
	"sort"
)

// pushFresh adds a new task to the window, if the window contains all tasks of the stream and is
// not full. It returns true if it added the task, which will then probably be claimed soon.
func (ls *lanes) pushFresh(l *lane, seq uint64, t Task) (soon bool) {
	if !l.freshAll {
		ls.noteLate(l, seq, t)
		return false
	}
	if l.fresh.len() >= ls.cfg.WindowTasks || ls.windowsTasks >= ls.cfg.WindowsTasks {
		l.freshAll, l.freshEnd = false, seq
		return false
	}
	ls.appendFresh(l, seq, t, uint32(len(t.Payload)))
	return true
}

// appendFresh adds a task to the window. It keeps the payload in memory if t contains it and
// CacheBytesMax allows it.
func (ls *lanes) appendFresh(l *lane, seq uint64, t Task, bytes uint32) {
	f := freshTask{seq: seq, task: t, bytes: bytes}
	if n := int64(len(t.Payload)); n == int64(bytes) && ls.cacheBytes+n <= ls.cfg.CacheBytesMax {
		f.cached = true
		ls.cacheBytes += n
	} else {
		f.task.Payload = nil
	}
	ls.windowsTasks++
	room := l.fresh.room()
	l.fresh.push(f)
	ls.freshRoom += l.fresh.room() - room
}

// RefillFresh answers a Refill of StreamFresh. Tasks from nextSeq on were not read. A nextSeq of
// math.MaxUint64 means that the store contains no further task below r.UntilSeq. nextSeq must be
// above r.FromSeq, even if tasks is empty.
func (ls *lanes) RefillFresh(r Refill, tasks []SeqTask, nextSeq uint64) {
	l, while := ls.answered(r, len(tasks))
	if l == nil {
		return
	}
	ls.queues.resume(l.queue)
	if l.freshAll || l.fresh.len() > 0 || l.freshEnd != r.FromSeq {
		return
	}
	ls.queues.show(l.queue)
	for _, t := range tasks {
		if while.gone[t.Seq] || l.skips(t.Seq) {
			continue
		}
		if ls.windowIsFull(l) {
			l.freshEnd = t.Seq
			return // the remaining tasks are in the store only
		}
		ls.appendFresh(l, t.Seq, t.Task, t.Bytes)
	}
	if l.fresh.len() == 0 { // a recovery then does not read the skipped tasks again
		l.cursor = max(l.cursor, min(nextSeq, r.UntilSeq))
	}
	l.freshEnd = min(nextSeq, r.UntilSeq)
	if nextSeq == math.MaxUint64 {
		ls.appendLate(l, &while)
	}
}

func (ls *lanes) appendLate(l *lane, while *reading) {
	for _, t := range while.late {
		if while.gone[t.Seq] {
			continue
		}
		if ls.windowIsFull(l) {
			l.freshEnd = t.Seq
			return
		}
		ls.appendFresh(l, t.Seq, t.Task, t.Bytes)
	}
	if while.lateLeft {
		l.freshEnd = while.lateEnd
		return
	}
	l.freshAll = true
}

func (ls *lanes) windowIsFull(l *lane) bool {
	n := l.fresh.len()
	return n >= ls.cfg.WindowTasks || n >= ls.cfg.windowFloor() && ls.windowsTasks >= ls.cfg.WindowsTasks
}

func (ls *lanes) popFresh(l *lane) freshTask {
	f := l.fresh.pop()
	l.cursor = f.seq + 1
	ls.windowsTasks--
	if f.cached {
		ls.cacheBytes -= int64(len(f.task.Payload))
	}
	if l.fresh.len() == 0 {
		ls.shrink(l)
	}
	return f
}

// dropGone removes tasks that are gone from the front of the window.
func (ls *lanes) dropGone(l *lane) {
	for l.fresh.len() > 0 && l.fresh.front().gone {
		ls.popFresh(l)
	}
}

// shrink frees the memory of an empty window if the capacity of all windows exceeds
// Config.WindowsTasks.
func (ls *lanes) shrink(l *lane) {
	if room := l.fresh.room(); room > roomKept && ls.freshRoom > ls.cfg.WindowsTasks {
		ls.freshRoom -= room
		l.fresh = ring[freshTask]{}
	}
}

// passOver marks a fresh task as gone. If the task is in the window, it stays there until it
// reaches the front.
func (ls *lanes) passOver(l *lane, seq uint64) {
	l.noteGone(seq)
	n := l.fresh.len()
	i := sort.Search(n, func(i int) bool { return l.fresh.at(i).seq >= seq })
	if i == n || l.fresh.at(i).seq != seq {
		return
	}
	f := l.fresh.at(i)
	if f.cached {
		ls.cacheBytes -= int64(len(f.task.Payload))
	}
	f.gone, f.cached, f.task = true, false, Task{}
}
