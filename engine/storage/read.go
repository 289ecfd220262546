package storage

import (
	"bytes"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// Reads reads the records of a store. It is safe for concurrent use.
type Reads struct {
	on    *database
	young *youngRecords
	count counters
	// No lease batch with a number below firstLease exists, now or later. See SkipEndedLeases.
	firstLease atomic.Uint64
}

// Task returns a task for a claim. found is false if the task is not stored, because it is done or
// was removed.
func (s *Reads) Task(ref queue.Ref) (t queue.Task, found bool, err error) {
	s.by(StepClaim).gets.Add(1)
	found, err = view(s.live(), record.RefKey(record.PrefixTask, ref), func(v []byte) (err error) {
		t, err = record.DecodeTask(v)
		s.by(StepClaim).decodes.Add(1)
		s.count.read.Add(uint64(len(v)))
		s.count.payloads.Add(uint64(len(t.Payload)))
		return record.Named(err, "task", ref)
	})
	return t, found, err
}

// Fresh answers a queue.Refill of queue.StreamFresh. It returns up to r.Limit tasks from r.FromSeq
// on, and obeys the limits r.BytesMax and r.LookMax. nextSeq is the first seq that was not read;
// math.MaxUint64 means that there are no further tasks.
func (s *Reads) Fresh(r queue.Refill) (tasks []queue.SeqTask, nextSeq uint64, err error) {
	nextSeq = math.MaxUint64
	looked, read, kept := 0, int64(0), int64(0)
	from := queue.Ref{Queue: r.Queue, Priority: r.Lane, Seq: r.FromSeq}
	touched, err := newLaneSeqs(s.on.db, record.RefKey(record.PrefixProgress, from))
	if err != nil {
		return nil, 0, err
	}
	defer closeAfter(touched, &err)
	defer func() { s.by(StepClaim).scanned.Add(steps(touched.it)) }()
	err = s.scan(StepClaim, record.RefKey(record.PrefixTask, from), record.RefKey(record.PrefixTask, from)[:1+4+1], func(k, v []byte) (bool, error) {
		ref, err := record.ParseRefKey(k)
		if err != nil {
			return false, err
		}
		if r.UntilSeq > 0 && ref.Seq >= r.UntilSeq {
			return false, nil
		}
		looked++
		read += int64(len(v))
		// A task with a Progress record is not fresh: it was returned or delayed, or is dead.
		touched, err := touched.has(ref.Seq)
		if err != nil {
			return false, err
		}
		t, payload, err := record.DecodeTaskHead(v)
		if err != nil {
			return false, record.Named(err, "task", ref)
		}
		if !t.Delayed && !touched {
			if n := int64(len(payload)); n > 0 && kept+n <= r.PayloadBytesMax {
				t.Payload = append([]byte(nil), payload...)
				kept += n
			}
			tasks = append(tasks, queue.SeqTask{Seq: ref.Seq, Task: t, Bytes: uint32(len(payload))})
		}
		if len(tasks) >= r.Limit || r.BytesMax > 0 && read >= r.BytesMax || r.LookMax > 0 && looked >= r.LookMax {
			nextSeq = ref.Seq + min(1, math.MaxUint64-ref.Seq)
			return false, nil
		}
		return true, nil
	})
	s.by(StepClaim).decodes.Add(uint64(looked))
	s.count.read.Add(uint64(read))
	s.count.payloads.Add(uint64(kept))
	return tasks, nextSeq, err
}

// points looks up single keys. Unlike Get, it uses the filters of the last level of tables, which
// contains most keys. Use it to look up several keys, or keys that usually do not exist: creating a
// points costs more than a Get of a key in memory, but then each look-up costs only a fraction of a
// Get.
type points struct {
	gets *atomic.Uint64 // counts the look-ups
	it   *pebble.Iterator
}

// points returns a points for the store's current keys with the prefix. Its look-ups are attributed
// to step.
func (s *Reads) points(step Step, prefix byte) (*points, error) {
	return pointsOf(s.on.db, prefix, &s.by(step).gets)
}

func pointsOf(r pebble.Reader, prefix byte, gets *atomic.Uint64) (*points, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: []byte{prefix}, UpperBound: []byte{prefix + 1}, UseL6Filters: true})
	if err != nil {
		return nil, fmt.Errorf("look up %x: %w", prefix, err)
	}
	return &points{gets, it}, nil
}

// get returns the value of a key, which is valid until the next call. found is false if the key
// does not exist.
func (p *points) get(key []byte) (value []byte, found bool, err error) {
	p.gets.Add(1)
	if !p.it.SeekPrefixGE(key) {
		if err := p.it.Error(); err != nil {
			return nil, false, fmt.Errorf("read key %x: %w", key, err)
		}
		return nil, false, nil
	}
	if value, err = p.it.ValueAndErr(); err != nil {
		return nil, false, fmt.Errorf("read key %x: %w", key, err)
	}
	return value, true, nil
}

func (p *points) Close() error { return p.it.Close() }

// laneSeqs reports for which seqs of one lane a key exists.
type laneSeqs struct {
	it *pebble.Iterator
	ok bool
}

func newLaneSeqs(r pebble.Reader, from []byte) (*laneSeqs, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: record.PrefixEnd(from[:1+4+1])})
	if err != nil {
		return nil, fmt.Errorf("scan %x: %w", from[:1], err)
	}
	return &laneSeqs{it: it, ok: it.First()}, nil
}

func (s *laneSeqs) Close() error { return s.it.Close() }

// has reports whether a key with this seq exists in the lane. seq must not be lower than in the
// previous call.
func (s *laneSeqs) has(seq uint64) (bool, error) {
	for s.ok {
		ref, err := record.ParseRefKey(s.it.Key())
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

// Returned answers a queue.Refill of queue.StreamReturned. more is true if it stopped at r.Limit
// tasks.
func (s *Reads) Returned(r queue.Refill) (due []queue.SeqDue, more bool, err error) {
	from := record.DueKey(queue.Ref{Queue: r.Queue, Seq: r.FromSeq}, r.Lane, r.FromMs)
	err = s.scan(StepClaim, from, record.DueLanePrefix(r.Queue, r.Lane), func(k, v []byte) (bool, error) {
		ref, _, dueAtMs, err := record.ParseDueKey(k)
		if err != nil {
			return false, err
		}
		d, err := record.DecodeDue(v, dueAtMs)
		if err != nil {
			return false, record.Named(err, "due record of task", ref)
		}
		due = append(due, queue.SeqDue{Seq: ref.Seq, Due: d})
		more = len(due) >= r.Limit
		return !more, nil
	})
	s.by(StepClaim).decodes.Add(uint64(len(due)))
	return due, more, err
}

// scan calls visit for the keys with a prefix, starting at from, until visit returns false. k and v
// are valid only during the call of visit.
func (s *Reads) scan(step Step, from, prefix []byte, visit func(k, v []byte) (bool, error)) error {
	stepped, err := scanSpan(s.live(), span{from, record.PrefixEnd(prefix)}, visit)
	s.by(step).scanned.Add(stepped)
	return err
}

func scan(r reader, from, prefix []byte, visit func(k, v []byte) (bool, error)) error {
	_, err := scanSpan(r, span{from, record.PrefixEnd(prefix)}, visit)
	return err
}

// steps returns the number of keys that an iterator stepped over, including keys that it did not
// return.
func steps(it *pebble.Iterator) uint64 {
	stats := it.Stats()
	return uint64(stats.ForwardSeekCount[pebble.InternalIterCall] + stats.ForwardStepCount[pebble.InternalIterCall])
}

func scanSpan(r reader, in span, visit func(k, v []byte) (bool, error)) (stepped uint64, err error) {
	it, recent, err := r.open(in.from, in.before)
	if err != nil {
		return 0, fmt.Errorf("scan from %x: %w", in.from, err)
	}
	defer closeAfter(it, &err)
	for ok := it.First(); ok; ok = it.Next() {
		for len(recent) > 0 && bytes.Compare(recent[0].key, it.Key()) < 0 {
			if more, err := visit(recent[0].key, recent[0].value); err != nil || !more {
				return steps(it), err
			}
			recent = recent[1:]
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return steps(it), fmt.Errorf("scan from %x: %w", in.from, err)
		}
		more, err := visit(it.Key(), v)
		if err != nil || !more {
			return steps(it), err
		}
	}
	if err := it.Error(); err != nil {
		return steps(it), err
	}
	for i := range recent {
		if more, err := visit(recent[i].key, recent[i].value); err != nil || !more {
			return steps(it), err
		}
	}
	return steps(it), nil
}

// Recover returns what queue.New needs to start a shard. Its duration is proportional to the number
// of queues, plus the number of leases, plus the number of tenants times the number of live
// buckets.
func (s *Reads) Recover() (queue.Recovered, error) {
	var out queue.Recovered
	v, found, err := s.get([]byte{record.PrefixMeta})
	if err != nil {
		return out, err
	}
	if found {
		if out.Meta, err = record.DecodeMeta(v); err != nil {
			return out, fmt.Errorf("the shard's own record: %w", err)
		}
	}
	if v, found, err = s.get([]byte{record.PrefixReserved}); err == nil && found {
		out.Reserved, err = record.DecodeReserved(v)
	}
	if err != nil {
		return out, fmt.Errorf("the record of reserved numbers: %w", err)
	}
	if out.Queues, err = readQueues(s.live()); err != nil {
		return out, err
	}
	err = scanLeases(s.live(), s.firstLease.Load(), func(l queue.RecoveredLease) (bool, error) {
		out.Leases = append(out.Leases, l)
		return true, nil
	})
	if err != nil {
		return out, err
	}
	if err := s.voidSettled(out.Leases); err != nil {
		return out, err
	}
	if out.KeyBuckets, err = s.buckets(record.PrefixKey); err != nil {
		return out, err
	}
	if out.UniqueBuckets, err = s.buckets(record.PrefixUnique); err != nil {
		return out, err
	}
	if out.ResultBuckets, err = s.buckets(record.PrefixResult); err != nil {
		return out, err
	}
	err = s.scan(StepOther, []byte{record.PrefixSum}, []byte{record.PrefixSum}, func(k, v []byte) (bool, error) {
		sum, err := record.DecodeSum(k, v)
		if err != nil {
			return false, fmt.Errorf("a bucket's sum: %w", err)
		}
		out.Sums = append(out.Sums, sum)
		return true, nil
	})
	if err != nil {
		return out, err
	}
	if out.Recurring, err = s.recurring(); err != nil {
		return out, err
	}
	if out.Outgoing, err = s.outgoing(); err != nil {
		return out, err
	}
	_, out.NextExpiryMs, err = s.Expired(0, 0, 0)
	return out, err
}

func readQueues(r reader) (queues []queue.Record, err error) {
	err = scan(r, []byte{record.PrefixQueue}, []byte{record.PrefixQueue}, func(k, v []byte) (bool, error) {
		if len(k) != 1+4 {
			return false, fmt.Errorf("key %x of a queue has %d bytes, expected 5", k, len(k))
		}
		q, err := record.DecodeQueue(record.QueueID(k), v)
		if err != nil {
			return false, fmt.Errorf("queue %d: %w", record.QueueID(k), err)
		}
		queues = append(queues, q)
		return true, nil
	})
	return queues, err
}
