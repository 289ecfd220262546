package storage

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// readyPlace is a position in the list of the ready tasks of a queue. The list is in claim order:
// first all tasks of a higher priority; within a priority, first the tasks that were claimed before,
// by due time; then the tasks of the delayed lane and the fresh tasks, by due time and time of
// enqueue. As a Place:
//
//	priority 1 byte │ part 1 │ due 8 │ due seq 8 │ fresh seq 8, big-endian
type readyPlace struct {
	priority uint8
	part     uint8 // partAgain or partMerged
	// The next Due record of the lane is not before dueMs and dueSeq. The next fresh task has at
	// least freshSeq.
	dueMs    int64
	dueSeq   uint64
	freshSeq uint64
}

const (
	partAgain = iota
	partMerged
	readyPlaceLen = 1 + 1 + 8 + 8 + 8
)

func (p *readyPlace) place() Place {
	b := binary.BigEndian.AppendUint64(Place{p.priority, p.part}, uint64(p.dueMs))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, p.dueSeq), p.freshSeq)
}

func parseReadyPlace(b Place) (p readyPlace, err error) {
	if len(b) == 0 {
		return readyPlace{priority: queue.MaxPriority, dueMs: math.MinInt64}, nil
	}
	if len(b) != readyPlaceLen || b[0] > queue.MaxPriority || b[1] > partMerged {
		return p, ErrPlace
	}
	return readyPlace{
		priority: b[0], part: b[1], dueMs: int64(binary.BigEndian.Uint64(b[2:])),
		dueSeq: binary.BigEndian.Uint64(b[10:]), freshSeq: binary.BigEndian.Uint64(b[18:]),
	}, nil
}

// ListReady lists the tasks of a queue that are ready at nowMs, in claim order. cursors
// contains, for each priority, a lower bound of the seqs of fresh tasks. next is empty after the last
// page.
func (s *Reads) ListReady(queueID uint32, cursors [queue.MaxPriority + 1]uint64, nowMs int64, p Page) (out []Listed, next Place, err error) {
	at, err := parseReadyPlace(p.After)
	if err != nil {
		return nil, nil, err
	}
	snap := s.frozen(tasksOf(queueID))
	defer closeAfter(snap, &err)
	l := readyList{reads: s, snap: snap, queueID: queueID, nowMs: nowMs, readyPlace: at, pageOf: pageOf{Page: p}}
	for {
		l.freshSeq = max(l.freshSeq, cursors[l.priority])
		full, err := l.lane()
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("list tasks: %w", err)
		case full:
			return l.out, l.place(), nil
		case l.part == partAgain:
			l.readyPlace = readyPlace{priority: l.priority, part: partMerged, dueMs: math.MinInt64}
		case l.priority == 0:
			return l.out, nil, nil
		default:
			l.readyPlace = readyPlace{priority: l.priority - 1, dueMs: math.MinInt64}
		}
	}
}

type readyList struct {
	reads   *Reads
	snap    reader
	queueID uint32
	nowMs   int64
	readyPlace
	pageOf
}

// lane reads the rest of the current part. full is true if the page is full.
func (l *readyList) lane() (full bool, err error) {
	lane := l.priority
	if l.part == partMerged {
		lane = queue.DelayedLane(l.priority)
	}
	due, more, err := l.dueTasks(lane)
	if err != nil {
		return false, err
	}
	if l.part == partMerged {
		if due, full, err = l.merge(due, more); full || err != nil {
			return full, err
		}
	}
	for _, d := range due {
		if full, err = l.addDue(d); full || err != nil {
			return full, err
		}
	}
	return more, nil
}

type dueTask struct {
	ref   queue.Ref
	dueMs int64
}

// dueTasks returns the next due tasks of a lane: at most the number that fits in the page. more is
// true if there are further ones.
func (l *readyList) dueTasks(lane uint8) (due []dueTask, more bool, err error) {
	most := min(l.Limit-len(l.out), l.LookMax-l.looked)
	from := record.DueKey(queue.Ref{Queue: l.queueID, Seq: l.dueSeq}, lane, l.dueMs)
	err = l.scan(from, record.DueLanePrefix(l.queueID, lane), func(k, v []byte) (bool, error) {
		ref, _, dueMs, err := record.ParseDueKey(k)
		if err != nil || dueMs > l.nowMs {
			return false, err
		}
		if more = len(due) == most; more {
			return false, nil
		}
		d, err := record.DecodeDue(v, dueMs)
		ref.Priority = ref.Shifted(-d.PriorityShift)
		due = append(due, dueTask{ref, dueMs})
		return true, record.Named(err, "due record of task", ref)
	})
	return due, more, err
}

// merge adds the fresh tasks to the page, each after the due tasks that are older. It returns the due
// tasks that are left. more is true if due does not contain all due tasks: the page then ends with
// the last one of due.
func (l *readyList) merge(due []dueTask, more bool) (left []dueTask, full bool, err error) {
	from := record.RefKey(record.PrefixTask, queue.Ref{Queue: l.queueID, Priority: l.priority, Seq: l.freshSeq})
	err = l.scan(from, from[:1+4+1], func(k, v []byte) (bool, error) {
		ref, err := record.ParseRefKey(k)
		if err != nil {
			return false, err
		}
		t, _, err := record.DecodeTaskHead(v)
		if err != nil {
			return false, record.Named(err, "task", ref)
		}
		for len(due) > 0 && (due[0].dueMs < t.EnqueuedAtMs || due[0].dueMs == t.EnqueuedAtMs && due[0].ref.Seq < ref.Seq) {
			if full, err = l.addDue(due[0]); full || err != nil {
				return false, err
			}
			due = due[1:]
		}
		if full = more && len(due) == 0; full {
			return false, nil
		}
		stored, found, err := l.reads.look(l.snap, ref, true)
		if err != nil {
			return false, err
		}
		l.freshSeq = ref.Seq + 1
		full = l.add(&Listed{Stored: stored}, found && !stored.HasProgress, len(v))
		return !full, nil
	})
	return due, full, err
}

func (l *readyList) scan(from, prefix []byte, visit func(k, v []byte) (bool, error)) error {
	stepped, err := scanSpan(l.snap, span{from, record.PrefixEnd(prefix)}, visit)
	l.reads.by(StepOther).scanned.Add(stepped)
	return err
}

func (l *readyList) addDue(d dueTask) (full bool, err error) {
	stored, found, err := l.reads.look(l.snap, d.ref, true)
	if err != nil {
		return false, err
	}
	l.dueMs, l.dueSeq = d.dueMs, d.ref.Seq+1
	return l.add(&Listed{Stored: stored}, found, 0), nil
}
