package queue

// A worker can report the progress of a task with a note, which is part of an extension. The note
// has a separate record, so an extension without a note writes no further record. A new note
// replaces the old one. The state keeps the note while the task waits for its next attempt, and
// drops it when the task is completed, removed or dead.

// NoteBytesMax is the maximum length of a note.
const NoteBytesMax = 1 << 10

// keepNote stores the note of a leased task. If the tenant's quota of bytes has no room for it, the
// task keeps its old note, because an extension must always take effect.
func (r *retention) keepNote(ref *LeaseRef, note string) {
	q := r.queues.numbered(ref.Queue)
	more := int64(len(note)) - int64(ref.NoteBytes)
	switch {
	case more > 0:
		if r.accounts.charge(q.account, more) != nil {
			return
		}
	case more < 0:
		r.accounts.free(q).bytes -= more
	}
	q.record.Counts.HistoryBytes += uint64(more)
	ref.NoteBytes = uint16(len(note))
	r.journal.PutNote(ref.Ref, note)
	r.queues.touch(q)
}

// dropNote removes the note of a task, if it has one. The caller subtracts its charge from the
// tenant's account.
func (r *retention) dropNote(ref *LeaseRef) {
	if ref.NoteBytes == 0 {
		return
	}
	r.journal.DropNote(ref.Ref)
	r.queues.numbered(ref.Queue).record.Counts.HistoryBytes -= uint64(ref.NoteBytes)
}
