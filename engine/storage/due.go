package storage

import (
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// CountDue answers a queue.Refill of queue.StreamDue or queue.StreamNotDue. It returns the
// positions of up to r.Limit Due records, and the arguments next and more for State.RefillDue. It
// reads keys only.
func (s *Reads) CountDue(r queue.Refill) (tasks []queue.DueKey, next queue.DueKey, more bool, err error) {
	o := &pebble.IterOptions{
		LowerBound: record.DueKey(queue.Ref{Queue: r.Queue, Seq: r.FromSeq}, r.Lane, r.FromMs),
		UpperBound: record.PrefixEnd(record.DueLanePrefix(r.Queue, r.Lane)),
	}
	back := r.Stream == queue.StreamNotDue
	if back {
		o.LowerBound, o.UpperBound = record.DueKey(queue.Ref{Queue: r.Queue}, r.Lane, r.UntilMs+1), o.LowerBound
	}
	it, err := s.on.db.NewIter(o)
	if err != nil {
		return nil, next, false, fmt.Errorf("count due tasks: %w", err)
	}
	defer closeAfter(it, &err)
	defer func() { s.by(StepClaim).scanned.Add(steps(it)) }()
	step, ok := it.Next, it.First()
	next = queue.DueKey{AtMs: math.MaxInt64, Seq: math.MaxUint64}
	if back {
		step, ok = it.Prev, it.Last()
		next = queue.DueKey{AtMs: r.FromMs, Seq: r.FromSeq}
	}
	for ; ok; ok = step() {
		ref, _, dueAtMs, err := record.ParseDueKey(it.Key())
		if err != nil {
			return nil, next, false, err
		}
		at, full := queue.DueKey{AtMs: dueAtMs, Seq: ref.Seq}, len(tasks) >= r.Limit
		if back && full {
			return tasks, next, true, nil
		}
		if back {
			next = at
		} else if due := dueAtMs <= r.UntilMs; !due || full {
			return tasks, at, due, nil
		}
		tasks = append(tasks, at)
	}
	return tasks, next, false, it.Error()
}
