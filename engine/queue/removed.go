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

// mark writes a mark for a task that was just dropped, if the task's queue may have unexpired keys.
// The mark is charged less than the task was, so no quota can refuse it.
func (r *retention) mark(q *Queue, ref Ref) {
	n, until := len(r.keys.live), q.keyedUntilMs()
	if n == 0 || until <= r.nowMs {
		return
	}
	// The last bucket contains the keys that expire last. Putting the mark into a later bucket
	// would cost each lookup another read.
	bucket := min(r.keys.at(until), r.keys.live[n-1])
	r.accounts.free(q).bytes -= KeyBytes(removedMarkLen)
	r.keys.note(bucket)
	r.keys.add(bucket, q.record.Tenant, KeyBytes(removedMarkLen))
	r.markedUntilMs = max(r.markedUntilMs, bucket)
	r.journal.PutKey(q.record.ID, removedName(ref), bucket, KeyRef{ref, until})
}

// removed reports whether a task has a mark.
func (r *retention) removed(q *Queue, ref Ref) bool {
	if r.markedUntilMs <= r.nowMs {
		return false
	}
	// The record found may be a producer's key and no mark: older servers accepted keys that are
	// not UTF-8. Such a key belongs to another task.
	mark, found := r.journal.FindKey(q.record.ID, removedName(ref), r.keys.live)
	return found && mark.Ref == ref
}
