package queue

import "encoding/binary"

// When a task is cancelled or purged, its idempotency key can be used again. The state cannot drop
// the record of the key, because a task does not store its key. Instead, if the task's queue may
// have unexpired keys, the state writes a mark that the task is removed. findKey ignores a key
// whose task has a mark. A mark is stored like an idempotency key, under a name that no producer's
// key can have. So marks are found, charged, dropped and replicated like keys. A server without
// support for marks never looks one up.

// removedMark is the first byte of a mark's name. Valid UTF-8 never contains this byte.
const removedMark = 0xff

// removedMarkLen is the length of a mark's name: removedMark, the priority and the seq.
const removedMarkLen = 1 + 1 + 8

func removedName(ref Ref) string {
	name := [removedMarkLen]byte{removedMark, ref.Priority}
	binary.BigEndian.PutUint64(name[2:], ref.Seq)
	return string(name[:])
}

// remove drops a cancelled or purged task, and frees its key. attempts is as in drop. The mark is
// charged less than the task that is dropped, so no quota can refuse it.
func (s *State) remove(ref *LeaseRef, attempts uint32) {
	s.drop(ref, attempts)
	q := s.numbered(ref.Queue)
	q.record.Counts.Removed++
	if n, until := len(s.keys.live), q.keyedUntilMs(); n > 0 && until > s.nowMs {
		// The last bucket contains the keys that expire last. Putting the mark into a later bucket
		// would cost each lookup another read.
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
	// The record found may be a producer's key and no mark: older servers accepted keys that are
	// not UTF-8. Such a key belongs to another task.
	mark, found := s.journal.FindKey(q.record.ID, removedName(ref), s.keys.live)
	return found && mark.Ref == ref
}
