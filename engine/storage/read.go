package storage

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
)

// Task reads a task that is not done.
func (s *Store) Task(ref queue.Ref) (t queue.Task, found bool, err error) {
	v, found, err := s.get(refKey(prefixTask, ref))
	if err != nil || !found {
		return t, false, err
	}
	t, err = decodeTask(v)
	return t, true, named(err, "task", ref)
}

// Progress reads what a task's past attempts left.
func (s *Store) Progress(ref queue.Ref) (p queue.Progress, found bool, err error) {
	v, found, err := s.get(refKey(prefixProgress, ref))
	if err != nil || !found {
		return p, false, err
	}
	p, err = decodeProgress(v)
	return p, true, named(err, "progress of task", ref)
}

// Dead reads the record of a dead task.
func (s *Store) Dead(ref queue.Ref) (x queue.Dead, found bool, err error) {
	v, found, err := s.get(refKey(prefixDead, ref))
	if err != nil || !found {
		return x, false, err
	}
	x, err = decodeDead(v)
	return x, true, named(err, "dead task", ref)
}

func named(err error, what string, ref queue.Ref) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s (queue %d, priority %d, seq %d): %w", what, ref.Queue, ref.Priority, ref.Seq, err)
}

// Fresh answers a queue.Refill of fresh tasks: up to r.Limit from r.FromSeq on.
func (s *Store) Fresh(r queue.Refill) (tasks []queue.SeqTask, err error) {
	from := queue.Ref{Queue: r.Queue, Priority: r.Priority, Seq: r.FromSeq}
	touched, err := newLaneSeqs(s.db, refKey(prefixProgress, from))
	if err != nil {
		return nil, err
	}
	defer closeAfter(touched, &err)
	defer func() { s.count.scanned.Add(steps(touched.it)) }()
	err = s.scan(refKey(prefixTask, from), refKey(prefixTask, from)[:1+4+1], func(k, v []byte) (bool, error) {
		ref, err := parseRefKey(k)
		if err != nil {
			return false, err
		}
		// A task with progress was delayed, or is dead or was redriven before it was ever claimed.
		if has, err := touched.has(ref.Seq); err != nil || has {
			return true, err
		}
		t, err := decodeTask(v)
		if err != nil {
			return false, named(err, "task", ref)
		}
		if !t.Delayed {
			tasks = append(tasks, queue.SeqTask{Seq: ref.Seq, Task: t})
		}
		return len(tasks) < r.Limit, nil
	})
	return tasks, err
}

// laneSeqs walks the keys of one lane beside a scan that asks for ascending seqs.
type laneSeqs struct {
	it *pebble.Iterator
	ok bool
}

func newLaneSeqs(r pebble.Reader, from []byte) (*laneSeqs, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: prefixEnd(from[:1+4+1])})
	if err != nil {
		return nil, fmt.Errorf("scan %x: %w", from[:1], err)
	}
	return &laneSeqs{it: it, ok: it.First()}, nil
}

func (s *laneSeqs) Close() error { return s.it.Close() }

// has says whether there is a key of that seq.
func (s *laneSeqs) has(seq uint64) (bool, error) {
	for s.ok {
		ref, err := parseRefKey(s.it.Key())
		if err != nil {
			return false, err
		}
		if ref.Seq >= seq {
			return ref.Seq == seq, nil
		}
		s.ok = s.it.Next()
	}
	return false, s.it.Error()
}

// reread looks for the first task of a lane from so many before one on, as a claim would that keeps no cursor.
func (s *Store) reread(ref queue.Ref, before uint64) error {
	ref.Seq -= min(ref.Seq, before)
	from := refKey(prefixTask, ref)
	return s.scan(from, from[:1+4+1], func(_, _ []byte) (bool, error) { return false, nil })
}

// Returned answers a queue.Refill of returned tasks.
func (s *Store) Returned(r queue.Refill) (due []queue.SeqDue, err error) {
	from := dueKey(queue.Ref{Queue: r.Queue, Priority: r.Priority, Seq: r.FromSeq}, r.FromMs)
	err = s.scan(from, from[:1+4+1], func(k, v []byte) (bool, error) {
		ref, dueAtMs, err := parseDueKey(k)
		if err != nil {
			return false, err
		}
		d, err := decodeDue(v, dueAtMs)
		if err != nil {
			return false, named(err, "due record of task", ref)
		}
		due = append(due, queue.SeqDue{Seq: ref.Seq, Due: d})
		return len(due) < r.Limit, nil
	})
	return due, err
}

// scan calls visit for the keys from a key on that have the prefix, until it returns false. The
// slices are only valid during the call.
func (s *Store) scan(from, prefix []byte, visit func(k, v []byte) (bool, error)) error {
	stepped, err := scanSteps(s.db, from, prefix, visit)
	s.count.scanned.Add(stepped)
	return err
}

func scan(r pebble.Reader, from, prefix []byte, visit func(k, v []byte) (bool, error)) error {
	_, err := scanSteps(r, from, prefix, visit)
	return err
}

// steps is how many keys an iterator stepped over, those included that it did not show.
func steps(it *pebble.Iterator) uint64 {
	stats := it.Stats()
	return uint64(stats.ForwardSeekCount[pebble.InternalIterCall] + stats.ForwardStepCount[pebble.InternalIterCall])
}

func scanSteps(r pebble.Reader, from, prefix []byte, visit func(k, v []byte) (bool, error)) (stepped uint64, err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return 0, fmt.Errorf("scan %x: %w", prefix, err)
	}
	defer closeAfter(it, &err)
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return steps(it), fmt.Errorf("scan %x: %w", prefix, err)
		}
		more, err := visit(it.Key(), v)
		if err != nil || !more {
			return steps(it), err
		}
	}
	return steps(it), it.Error()
}

// Recover reads what a shard's state starts from: in time proportional to queues and leases.
func (s *Store) Recover() (queue.Recovered, error) {
	var out queue.Recovered
	v, found, err := s.get([]byte{prefixMeta})
	if err != nil {
		return out, err
	}
	if found {
		if out.Meta, err = decodeMeta(v); err != nil {
			return out, fmt.Errorf("the shard's own record: %w", err)
		}
	}
	if out.Queues, err = readQueues(s.db); err != nil {
		return out, err
	}
	err = s.scan([]byte{prefixLease}, []byte{prefixLease}, func(k, v []byte) (bool, error) {
		if len(k) != idKeyLen {
			return false, fmt.Errorf("key %x of a lease has %d bytes, not %d", k, len(k), idKeyLen)
		}
		refs, err := decodeLease(v)
		if err != nil {
			return false, fmt.Errorf("lease %x: %w", k[1:], err)
		}
		out.Leases = append(out.Leases, queue.RecoveredLease{Batch: idOf(k), Refs: refs})
		return true, nil
	})
	if err != nil {
		return out, err
	}
	for _, l := range out.Leases {
		s.count.gets.Add(2 * uint64(len(l.Refs)))
		if err := voidSettled(s.db, l.Batch, l.Refs); err != nil {
			return out, err
		}
	}
	if out.KeyBuckets, err = s.buckets(prefixKey); err != nil {
		return out, err
	}
	if out.ResultBuckets, err = s.buckets(prefixResult); err != nil {
		return out, err
	}
	_, out.NextExpiryMs, err = s.Expired(0, 0)
	return out, err
}

// voidSettled marks the refs of a stored lease that were settled after it was written: the task
// is gone, or its progress names this lease's token or a later one.
func voidSettled(r pebble.Reader, batch uint64, refs []queue.LeaseRef) error {
	for i := range refs {
		ref := &refs[i]
		if ref.Attempt == 0 {
			continue
		}
		_, found, err := get(r, refKey(prefixTask, ref.Ref))
		if err != nil {
			return err
		}
		if !found {
			ref.Attempt = 0
			continue
		}
		v, found, err := get(r, refKey(prefixProgress, ref.Ref))
		if err != nil {
			return err
		}
		p := queue.Progress{}
		if found {
			if p, err = decodeProgress(v); err != nil {
				return named(err, "progress of task", ref.Ref)
			}
		}
		if found && p.Token >= queue.Token(batch, i) {
			ref.Attempt = 0
		}
	}
	return nil
}

func readQueues(r pebble.Reader) (queues []queue.Record, err error) {
	err = scan(r, []byte{prefixQueue}, []byte{prefixQueue}, func(k, v []byte) (bool, error) {
		if len(k) != 1+4 {
			return false, fmt.Errorf("key %x of a queue has %d bytes, not 5", k, len(k))
		}
		q, err := decodeQueue(queueID(k), v)
		if err != nil {
			return false, fmt.Errorf("queue %d: %w", queueID(k), err)
		}
		queues = append(queues, q)
		return true, nil
	})
	return queues, err
}

// AuditedQueue is a queue's stored record, with the tasks that were really found.
type AuditedQueue struct {
	queue.Record
	Stored uint64
}

// Audit counts the stored tasks of each queue, in one snapshot together with the queues' own
// records. It reads every task's key.
func (s *Store) Audit() (audited []AuditedQueue, err error) {
	snap := s.db.NewSnapshot()
	defer closeAfter(snap, &err)
	queues, err := readQueues(snap)
	if err != nil {
		return nil, err
	}
	for _, q := range queues {
		a := AuditedQueue{Record: q}
		prefix := append([]byte{prefixTask}, queueKey(q.ID)[1:]...)
		err := scan(snap, prefix, prefix, func(k, _ []byte) (bool, error) {
			a.Stored++
			return bytes.HasPrefix(k, prefix), nil
		})
		if err != nil {
			return nil, err
		}
		audited = append(audited, a)
	}
	return audited, nil
}
