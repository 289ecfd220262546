package storage

import (
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
)

// CountDue answers a queue.Refill of queue.StreamDue or queue.StreamNotDue: how many Due records there are, up to
// r.Limit, and the place that the answer needs. It reads keys only.
func (s *Store) CountDue(r queue.Refill) (tasks uint64, nextMs int64, nextSeq uint64, more bool, err error) {
	lane := queue.Ref{Queue: r.Queue, Priority: r.Priority}
	from := queue.Ref{Queue: r.Queue, Priority: r.Priority, Seq: r.FromSeq}
	o := &pebble.IterOptions{LowerBound: dueKey(from, r.FromMs), UpperBound: prefixEnd(dueKey(lane, 0)[:1+4+1])}
	back := r.Stream == queue.StreamNotDue
	if back {
		o.LowerBound, o.UpperBound = dueKey(lane, r.UntilMs+1), o.LowerBound
	}
	it, err := s.db.NewIter(o)
	if err != nil {
		return 0, 0, 0, false, fmt.Errorf("count due tasks: %w", err)
	}
	defer closeAfter(it, &err)
	defer func() { s.count.scanned.Add(steps(it)) }()
	next, ok := it.Next, it.First()
	nextMs, nextSeq = math.MaxInt64, math.MaxUint64
	if back {
		next, ok = it.Prev, it.Last()
		nextMs, nextSeq = r.FromMs, r.FromSeq
	}
	for ; ok; ok = next() {
		ref, dueAtMs, err := parseDueKey(it.Key())
		if err != nil {
			return 0, 0, 0, false, err
		}
		full := tasks >= uint64(r.Limit)
		if back && full {
			return tasks, nextMs, nextSeq, true, nil
		}
		if back {
			nextMs, nextSeq = dueAtMs, ref.Seq
		} else if due := dueAtMs <= r.UntilMs; !due || full {
			return tasks, dueAtMs, ref.Seq, due, nil
		}
		tasks++
	}
	return tasks, nextMs, nextSeq, false, it.Error()
}
