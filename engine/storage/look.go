package storage

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// LookHead returns the records of one task, with the payload's size but without the payload.
func (s *Reads) LookHead(ref queue.Ref) (out queue.Stored, found bool, err error) {
	s.by(StepOther).gets.Add(1)
	out, found, err = s.look(s.live(), ref, false)
	s.by(StepOther).decodes.Add(decodesOf(&out, found))
	return out, found, err
}

func (s *Reads) look(r reader, ref queue.Ref, withPayload bool) (out queue.Stored, found bool, err error) {
	out.Ref = ref
	found, err = view(r, record.RefKey(record.PrefixTask, ref), func(v []byte) (err error) {
		var payload []byte
		if out.Task, payload, err = record.DecodeTaskHead(v); err != nil {
			return record.Named(err, "task", ref)
		}
		out.Bytes = uint32(len(payload))
		s.count.read.Add(uint64(len(v)))
		if withPayload && len(payload) > 0 {
			out.Task.Payload = append([]byte(nil), payload...)
			s.count.payloads.Add(uint64(len(payload)))
		}
		return nil
	})
	if err != nil || !found {
		return out, false, err
	}
	var v []byte
	v, out.HasProgress, err = get(r, record.RefKey(record.PrefixProgress, ref))
	if err != nil || !out.HasProgress {
		return out, true, err // a dead or returned task always has a Progress record
	}
	if out.Progress, err = record.DecodeProgress(v); err != nil {
		return out, false, record.Named(err, "progress of task", ref)
	}
	for _, lane := range [...]uint8{out.Priority(), queue.DelayedLane(out.Priority())} {
		if out.HasDue, err = exists(r, record.DueKey(ref, lane, out.Progress.DueAtMs)); err != nil {
			return out, false, err
		}
		if out.HasDue {
			out.Lane = lane
			break
		}
	}
	if out.Waits() {
		if out.Waiting, err = waitingOf(r, ref); err != nil {
			return out, false, err
		}
	}
	if withPayload && out.Progress.NoteBytes > 0 {
		if out.Note, err = noteOf(r, ref); err != nil {
			return out, false, err
		}
	}
	out.Dead, err = exists(r, record.RefKey(record.PrefixDead, ref))
	return out, true, err
}

func decodesOf(t *queue.Stored, found bool) uint64 {
	switch {
	case !found:
		return 0
	case t.HasProgress:
		return 2
	}
	return 1
}

// Looked is the result of looking up one task.
type Looked struct {
	queue.Stored
	Found     bool
	LastError string // error of the last failed attempt
}

// LookAll returns the records of several tasks from one snapshot. If withPayload is false, it
// returns the sizes of the payloads, but not the payloads. noted must be true if a task may have a
// note from its current lease.
func (s *Reads) LookAll(refs []queue.Ref, withPayload, noted bool) (out []Looked, err error) {
	snap := s.frozenTasks(refs)
	defer closeAfter(snap, &err)
	out = make([]Looked, len(refs))
	for i, ref := range refs {
		l := &out[i]
		s.by(StepOther).gets.Add(1)
		if l.Stored, l.Found, err = s.look(snap, ref, withPayload); err != nil {
			return nil, err
		}
		s.by(StepOther).decodes.Add(decodesOf(&l.Stored, l.Found))
		if l.Found && noted {
			if l.Note, err = noteOf(snap, ref); err != nil {
				return nil, err
			}
		}
		if l.Found && l.Progress.Attempts > 0 {
			if l.LastError, err = s.lastError(StepOther, snap, ref, l.Progress.Attempts); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// noteOf returns the note of a task, or "" if it has none.
func noteOf(r reader, ref queue.Ref) (note string, err error) {
	_, err = view(r, record.RefKey(record.PrefixNote, ref), func(v []byte) (err error) {
		note, err = record.DecodeNote(v)
		return record.Named(err, "note of task", ref)
	})
	return note, err
}

func deadOf(r reader, ref queue.Ref) (queue.Dead, error) {
	v, found, err := get(r, record.RefKey(record.PrefixDead, ref))
	if err != nil || !found {
		return queue.Dead{}, err
	}
	x, err := record.DecodeDead(v)
	return x, record.Named(err, "dead task", ref)
}

// Expired answers a queue.Refill of queue.StreamExpired. It returns up to limit tasks, without
// their payloads, whose time to live ended at nowMs or before. nextMs is the time when the next
// task's time to live ends, or math.MaxInt64 if there is no further task. Expired stops after it
// has read tasks with bytesMax bytes of payloads; 0 means no limit.
func (s *Reads) Expired(nowMs int64, limit int, bytesMax int64) (out []queue.Expired, nextMs int64, err error) {
	nextMs = math.MaxInt64
	bytes := int64(0)
	err = s.scan(StepOther, []byte{record.PrefixExpiry}, []byte{record.PrefixExpiry}, func(k, _ []byte) (bool, error) {
		ref, atMs, err := record.ParseTimedKey(k)
		if err != nil {
			return false, err
		}
		if atMs > nowMs || len(out) >= limit || bytesMax > 0 && bytes >= bytesMax {
			nextMs = atMs
			return false, nil
		}
		e := queue.Expired{AtMs: atMs}
		e.Stored, e.Found, err = s.LookHead(ref)
		bytes += int64(e.Bytes)
		out = append(out, e)
		return true, err
	})
	return out, nextMs, err
}

// Attempts returns the stored failed attempts of a task, the oldest first.
func (s *Reads) Attempts(ref queue.Ref) ([]NumberedAttempt, error) { return attempts(s.live(), ref) }

func attempts(r reader, ref queue.Ref) (out []NumberedAttempt, err error) {
	prefix := record.RefKey(record.PrefixAttempt, ref)
	err = scan(r, prefix, prefix, func(k, v []byte) (bool, error) {
		if len(k) != record.AttemptKeyLen {
			return false, fmt.Errorf("key %x has %d bytes, expected %d", k, len(k), record.AttemptKeyLen)
		}
		a, err := record.DecodeAttempt(v)
		out = append(out, NumberedAttempt{Number: binary.BigEndian.Uint32(k[record.RefKeyLen:]), Attempt: a})
		return true, record.Named(err, "attempt of task", ref)
	})
	return out, err
}

// NumberedAttempt is an attempt with its number, from 1.
type NumberedAttempt struct {
	Number uint32
	queue.Attempt
}

// LastError returns the error of a task's failed attempt, or "" if the attempt has no record. The
// operations are attributed to step.
func (s *Reads) LastError(step Step, ref queue.Ref, attempt uint32) (string, error) {
	s.by(step).gets.Add(1)
	return s.lastError(step, s.live(), ref, attempt)
}

func (s *Reads) lastError(step Step, r reader, ref queue.Ref, attempt uint32) (string, error) {
	v, found, err := get(r, record.AttemptKey(ref, attempt))
	if err != nil || !found {
		return "", err
	}
	a, err := record.DecodeAttempt(v)
	s.by(step).decodes.Add(1)
	return a.Error, record.Named(err, "attempt of task", ref)
}

// Result looks up a result in the buckets that may contain it.
func (s *Reads) Result(ref queue.Ref, buckets []int64) (r queue.Result, found bool, err error) {
	p, err := s.points(StepOther, record.PrefixResult)
	if err != nil {
		return r, false, err
	}
	defer closeAfter(p, &err)
	for _, bucket := range buckets {
		v, found, err := p.get(record.TimedKey(record.PrefixResult, bucket, ref))
		if err != nil {
			return r, false, err
		}
		if found {
			r, err = record.DecodeResult(v)
			s.by(StepOther).decodes.Add(1)
			return r, true, record.Named(err, "result of task", ref)
		}
	}
	return r, false, nil
}

// key looks up an idempotency key in the buckets that may contain it. If several buckets contain a
// record of the key, it returns the record that expires last. The operations are attributed to
// step.
func (s *Reads) key(step Step, queueID uint32, key string, buckets []int64) (k queue.KeyRef, found bool, err error) {
	p, err := s.points(step, record.PrefixKey)
	if err != nil {
		return k, false, err
	}
	defer closeAfter(p, &err)
	for _, bucket := range buckets {
		v, stored, err := p.get(record.KeyKey(bucket, queueID, key))
		var one queue.KeyRef
		if err == nil && stored {
			one, err = record.DecodeKey(v)
			s.by(step).decodes.Add(1)
		}
		if err != nil {
			return k, false, fmt.Errorf("idempotency key of queue %d: %w", queueID, err)
		}
		if stored && (!found || one.ExpiresAtMs > k.ExpiresAtMs) {
			k, found = one, true
		}
	}
	return k, found, nil
}

// unique looks up a unique key in the buckets that may contain it. The operations are attributed to
// step.
func (s *Reads) unique(step Step, queueID uint32, key queue.KeyHash, buckets []int64) (k queue.UniqueRef, found bool, err error) {
	p, err := s.points(step, record.PrefixUnique)
	if err != nil {
		return k, false, err
	}
	defer closeAfter(p, &err)
	for _, bucket := range buckets {
		v, found, err := p.get(record.UniqueKey(bucket, queueID, key))
		if err == nil && found {
			k, err = record.DecodeUnique(bucket, queueID, v)
			s.by(step).decodes.Add(1)
		}
		if err != nil {
			return k, false, fmt.Errorf("unique key of queue %d: %w", queueID, err)
		}
		if found {
			return k, true, nil
		}
	}
	return k, false, nil
}

// buckets returns the times of the buckets that contain keys with the prefix, in ascending order.
// It needs one seek per bucket.
func (s *Reads) buckets(prefix byte) (out []int64, err error) {
	it, err := s.on.db.NewIter(&pebble.IterOptions{LowerBound: []byte{prefix}, UpperBound: []byte{prefix + 1}})
	if err != nil {
		return nil, fmt.Errorf("scan %c: %w", prefix, err)
	}
	defer closeAfter(it, &err)
	for ok := it.First(); ok; {
		k := it.Key()
		if len(k) < 1+8 {
			return nil, fmt.Errorf("key %x has %d bytes, expected at least 9", k, len(k))
		}
		at := int64(binary.BigEndian.Uint64(k[1:]))
		out = append(out, at)
		ok = it.SeekGE(record.TimePrefix(prefix, at+1))
	}
	return out, it.Error()
}

// SystemRecord is a record that belongs to the node and not to a shard's state machine.
type SystemRecord struct {
	Key   string
	Value []byte
}

// System returns all of the node's records.
func (s *Reads) System() (out []SystemRecord, err error) {
	err = s.scan(StepOther, []byte{record.PrefixSystem}, []byte{record.PrefixSystem}, func(k, v []byte) (bool, error) {
		value, err := record.DecodeSystem(v)
		if err != nil {
			return false, fmt.Errorf("system record %q: %w", k[1:], err)
		}
		out = append(out, SystemRecord{Key: string(k[1:]), Value: append([]byte{}, value...)})
		return true, nil
	})
	return out, err
}

// Holds reports whether the store contains a task, a queue, an idempotency key, a result, a
// finished task or a system record.
func (s *Reads) Holds() (bool, error) {
	found := false
	for _, prefix := range []byte{
		record.PrefixTask, record.PrefixProgress, record.PrefixDue, record.PrefixAttempt, record.PrefixDead, record.PrefixExpiry, record.PrefixLease, record.PrefixQueue, record.PrefixKey, record.PrefixUnique, record.PrefixFinished, record.PrefixWaiting, record.PrefixLink, record.PrefixMessage, record.PrefixResult, record.PrefixSystem,
	} {
		err := s.scan(StepOther, []byte{prefix}, []byte{prefix}, func(_, _ []byte) (bool, error) {
			found = true
			return false, nil
		})
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}
