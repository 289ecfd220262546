// Package queue is the state machine of one shard: tasks, leases, retries. It is pure: no I/O, no
// clock, no goroutines. Each call decides at a time it is told, changes the state in memory, and
// writes what must be stored to a Journal; the caller commits the journal's writes in the order of
// the decisions and releases answers only after that.
//
// Memory is bounded by windows: a lane keeps a bounded number of its next tasks in memory and
// asks for a Refill, from the store, when a window ran empty and more is stored.
//
// A State is not safe for concurrent use: one goroutine owns it.
package queue

// Journal takes the mutations of decisions, in order. The implementation turns them into one
// atomic write. Arguments are only valid during the call, except payloads, which are immutable.
type Journal interface {
	// PutTask stores a new task. A ref is put exactly once.
	PutTask(ref Ref, t Task)
	// DropTask removes a task that is done.
	DropTask(ref Ref)
	// PutDue indexes a task by the time it becomes ready; DropDue takes it out, when it is claimed.
	PutDue(ref Ref, due Due)
	DropDue(ref Ref, dueAtMs int64)
	// PutProgress stores what past attempts left; DropProgress removes it with the task.
	PutProgress(ref Ref, p Progress)
	DropProgress(ref Ref)
	// PutLease stores a lease batch, anew after an extension; DropLease removes it when all of its tasks are settled.
	PutLease(batch uint64, refs []LeaseRef)
	DropLease(batch uint64)
	PutDead(ref Ref, d Dead)
	PutQueue(r *Record)
	PutMeta(m Meta)
}
