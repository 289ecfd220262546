package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// A list consists of one queue's tasks in one state, in the order of their keys. It is returned in
// pages. Each page starts after a Place and is read from one snapshot.

// Place is a position in a list: the position just after the last key that was read. The empty
// Place is the start of the list.
type Place []byte

// Listed is one task of a list.
type Listed struct {
	queue.Stored
	DeadRecord queue.Dead        // set for a dead task
	Attempts   []NumberedAttempt // set for a dead task, oldest first
}

func (l *Listed) bytes() int {
	n := len(l.Task.Payload) + len(l.Note)
	for i := range l.Attempts {
		n += len(l.Attempts[i].Error)
	}
	return n
}

// Page is the request for one page of a list.
type Page struct {
	After Place
	Limit int // maximum number of tasks in the page
	// LookMax limits the number of records read for the page, and lookBytesMax limits their bytes.
	// So even before the last page, a page may contain fewer than Limit tasks, or none.
	LookMax int
	// BytesMax limits the bytes of payloads and errors in the page. The page ends with the task
	// that reaches the limit. 0 means no limit.
	BytesMax int
	// Match selects the tasks of the page; nil selects all.
	Match func(*Listed) bool
}

// lookBytesMax limits the bytes of records read for a page, including records that are not
// returned.
const lookBytesMax = 64 << 20

// ListReturned lists the tasks of a queue whose Due record is for a time in [fromMs, beforeMs).
// Such a task is ready again or delayed.
func (s *Reads) ListReturned(queueID uint32, fromMs, beforeMs int64, p Page) (out []Listed, next Place, err error) {
	var spans []span
	for lane := range uint8(queue.Lanes) {
		spans = append(spans, span{record.DueKey(queue.Ref{Queue: queueID}, lane, fromMs), record.DueKey(queue.Ref{Queue: queueID}, lane, beforeMs)})
	}
	return s.list(queueID, spans, p, func(r reader, k, v []byte) (l Listed, ok bool, err error) {
		ref, _, dueAtMs, err := record.ParseDueKey(k)
		if err != nil {
			return l, false, err
		}
		due, err := record.DecodeDue(v, dueAtMs)
		if err != nil {
			return l, false, record.Named(err, "due record of task", ref)
		}
		ref.Priority = ref.Shifted(-due.PriorityShift)
		l.Stored, ok, err = s.look(r, ref, true)
		return l, ok, err
	})
}

// ListDead lists the dead tasks of a queue.
func (s *Reads) ListDead(queueID uint32, p Page) (out []Listed, next Place, err error) {
	all := binary.BigEndian.AppendUint32([]byte{record.PrefixDead}, queueID)
	return s.list(queueID, []span{{all, record.PrefixEnd(all)}}, p, func(r reader, k, _ []byte) (l Listed, ok bool, err error) {
		ref, err := record.ParseRefKey(k)
		if err != nil {
			return l, false, err
		}
		if l.Stored, ok, err = s.look(r, ref, true); err != nil || !ok {
			return l, false, err
		}
		if l.DeadRecord, err = deadOf(r, ref); err != nil {
			return l, false, err
		}
		if l.Attempts, err = attempts(r, ref); err != nil {
			return l, false, err
		}
		return l, true, nil
	})
}

// list reads a page of the list of the records in some spans, which are in the order of their keys
// and have the same prefix. A page does not read the records between them.
func (s *Reads) list(queueID uint32, spans []span, p Page, visit func(r reader, k, v []byte) (Listed, bool, error)) (out []Listed, next Place, err error) {
	after := []byte(p.After)
	if len(after) > 0 {
		within := spans[0].from[:1+4] // the prefix and the queue
		if len(after) <= len(within) || string(after[:len(within)]) != string(within) {
			return nil, nil, ErrPlace
		}
		after = append(append([]byte(nil), after...), 0)
	}
	snap := s.frozen(tasksOf(queueID))
	defer closeAfter(snap, &err)
	page := pageOf{Page: p}
	for _, in := range spans {
		from := in.from
		if string(from) < string(after) {
			from = after
		}
		if string(from) >= string(in.before) {
			continue
		}
		stepped, err := scanSpan(snap, span{from, in.before}, func(k, v []byte) (bool, error) {
			l, ok, err := visit(snap, k, v)
			if err != nil {
				return false, fmt.Errorf("list tasks: %w", err)
			}
			if page.add(&l, ok, len(v)) {
				next = append(Place(nil), k...)
				return false, nil
			}
			return true, nil
		})
		s.by(StepOther).scanned.Add(stepped)
		if err != nil || len(next) > 0 {
			return page.out, next, err
		}
	}
	return page.out, nil, nil
}

// pageOf is a page that is being read.
type pageOf struct {
	Page
	out                        []Listed
	looked, lookedBytes, bytes int
}

// add counts a task that was read with a record of the given size, and adds it to the page if ok is
// true and it matches. full is true if the page must end here.
func (p *pageOf) add(l *Listed, ok bool, recordBytes int) (full bool) {
	p.lookedBytes += recordBytes + l.bytes()
	if ok && (p.Match == nil || p.Match(l)) {
		p.out = append(p.out, *l)
		p.bytes += l.bytes()
	}
	p.looked++
	return len(p.out) >= p.Limit || p.looked >= p.LookMax || p.BytesMax > 0 && p.bytes >= p.BytesMax || p.lookedBytes >= lookBytesMax
}
