package queue

import (
	"cmp"
	"slices"
)

// reading records the changes to a lane's records while the store is read for a Refill. The result
// of the reading may or may not include such a change. For a changed record, the change recorded
// here therefore replaces the result of the reading.
type reading struct {
	fresh, returned, due bool // whether a Refill of this stream is unanswered

	gone  map[uint64]bool // seqs of fresh tasks that were cancelled or died
	moved map[returnedKey]moved

	// late contains the fresh tasks enqueued during the reading, without payloads; at most
	// Config.WindowTasks.
	late     []SeqTask
	lateLeft bool   // more tasks were enqueued than fit into late
	lateEnd  uint64 // the seq of the first task that is not in late
}

// moved is the last change at a place in the order of returned tasks: a task was added there or, if
// dropped is true, removed.
type moved struct {
	due     Due
	dropped bool
}

func (r *reading) of(stream Stream) *bool {
	switch stream {
	case StreamReturned:
		return &r.returned
	case StreamDue, StreamNotDue:
		return &r.due
	case StreamFresh, StreamExpired, StreamFinished: // no lane reads the last two
	}
	return &r.fresh
}

func (l *lane) reads(stream Stream) bool { return l.reading != nil && *l.reading.of(stream) }

// end marks the Refill of a stream as answered, and drops the recorded changes that no other stream
// needs.
func (r *reading) end(stream Stream) {
	*r.of(stream) = false
	if !r.fresh {
		r.gone, r.late, r.lateLeft = nil, nil, false
	}
	if !r.returned && !r.due {
		r.moved = nil
	}
}

func (l *lane) noteGone(seq uint64) {
	if !l.reads(StreamFresh) {
		return
	}
	if l.reading.gone == nil {
		l.reading.gone = map[uint64]bool{}
	}
	l.reading.gone[seq] = true
}

func (l *lane) noteMoved(t *returnedTask) {
	if l.reading != nil {
		l.reading.note(t.returnedKey, moved{due: t.due})
	}
}

func (l *lane) noteDropped(k returnedKey) {
	if l.reading != nil {
		l.reading.note(k, moved{dropped: true})
	}
}

func (r *reading) note(k returnedKey, m moved) {
	if !r.returned && !r.due {
		return
	}
	if r.moved == nil {
		r.moved = map[returnedKey]moved{}
	}
	r.moved[k] = m
}

// current returns the returned tasks whose places are now in [from, to). stored contains the tasks
// of this range that were in the store at some moment of the reading.
func (r *reading) current(stored []SeqDue, from, to returnedKey) []returnedTask {
	out := make([]returnedTask, 0, len(stored))
	for _, d := range stored {
		k := returnedKey{d.Due.DueAtMs, d.Seq}
		if _, changed := r.moved[k]; !changed {
			out = append(out, returnedTask{k, d.Due})
		}
	}
	n := len(out)
	for k, m := range r.moved {
		if !m.dropped && !k.less(from) && k.less(to) {
			out = append(out, returnedTask{k, m.due})
		}
	}
	if len(out) > n {
		slices.SortFunc(out, func(a, b returnedTask) int { return a.compare(b.returnedKey) })
	}
	return out
}

// count returns the number of returned tasks whose places are now in [from, to), or in [to, from)
// if to is less. stored contains the places of this range that were in the store at some moment of
// the reading.
func (r *reading) count(stored []DueKey, from, to returnedKey) (n uint64) {
	if to.less(from) {
		from, to = to, from
	}
	within := func(k returnedKey) bool { return !k.less(from) && k.less(to) }
	for _, d := range stored {
		k := returnedKey{d.AtMs, d.Seq}
		if _, changed := r.moved[k]; !changed && within(k) {
			n++
		}
	}
	for k, m := range r.moved {
		if !m.dropped && within(k) {
			n++
		}
	}
	return n
}

func (k returnedKey) compare(o returnedKey) int {
	return cmp.Or(cmp.Compare(k.dueAtMs, o.dueAtMs), cmp.Compare(k.seq, o.seq))
}

// noteLate records a new fresh task that is not in the window.
func (ls *lanes) noteLate(l *lane, seq uint64, t Task) {
	if !l.reads(StreamFresh) || l.reading.lateLeft {
		return
	}
	r := l.reading
	if len(r.late) == ls.cfg.WindowTasks {
		r.lateLeft, r.lateEnd = true, seq
		return
	}
	bytes := uint32(len(t.Payload))
	t.Payload = nil
	r.late = append(r.late, SeqTask{Seq: seq, Task: t, Bytes: bytes})
}
