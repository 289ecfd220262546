package queue

import "encoding/binary"

// A removed task frees its idempotency key. The state cannot drop the key's record, because a task
// does not store its key. Instead, if the task's queue has unexpired keys, the state marks the task
// as removed, and findKey ignores a key whose task has a mark. The mark is a record under an
// idempotency key with a name that no producer's key can have. So marks are found, charged, dropped
// and replicated like keys. A program without support for marks never looks for one.

// removedMark is the first byte of a mark's name. Valid UTF-8 has no such byte.
const removedMark = 0xff

// removedMarkLen is the length of a mark's name: removedMark, the priority and the seq.
const removedMarkLen = 1 + 1 + 8

func removedName(ref Ref) string {
	name := [removedMarkLen]byte{removedMark, ref.Priority}
	binary.BigEndian.PutUint64(name[2:], ref.Seq)
	return string(name[:])
}

// remove drops a cancelled or purged task, and frees its key. attempts is as in drop. The mark
// takes a part of the room that the task frees, so no quota can refuse it.
func (s *State) remove(ref *LeaseRef, attempts uint32) {
	s.drop(ref, attempts)
	q := s.numbered(ref.Queue)
	q.record.Counts.Removed++
	if n, until := len(s.keys.live), q.keyedUntilMs(); n > 0 && until > s.nowMs {
		// The last bucket has the keys that expire last. A later bucket would cost each lookup
		// another read.
		bucket := min(s.keys.at(until), s.keys.live[n-1])
		s.free(q).bytes -= KeyBytes(removedMarkLen)
		s.keys.note(bucket)
		s.keys.add(bucket, q.record.Tenant, KeyBytes(removedMarkLen))
		s.markedUntilMs = max(s.markedUntilMs, bucket)
		s.journal.PutKey(q.record.ID, removedName(ref.Ref), bucket, KeyRef{ref.Ref, until})
	}
	s.end(Ended{Ref: ref.Ref, How: Removed})
}

// removed reports whether a task has a mark.
func (s *State) removed(q *Queue, ref Ref) bool {
	if s.markedUntilMs <= s.nowMs {
		return false
	}
	// A store may have keys that are not UTF-8, written by older servers that accepted them. These
	// belong to other tasks.
	mark, found := s.journal.FindKey(q.record.ID, removedName(ref), s.keys.live)
	return found && mark.Ref == ref
}

// keyed records that a key of the queue expires at a time.
func (q *Queue) keyed(untilMs int64) { q.keyedUntilS = max(q.keyedUntilS, uint32((untilMs+999)/1_000)) }

// keyedUntilMs returns a time after which no key of the queue is valid.
func (q *Queue) keyedUntilMs() int64 { return int64(q.keyedUntilS) * 1_000 }
