package queue

// Journal takes the mutations of decisions, in order. The implementation turns them into one
// atomic write. Arguments are only valid during the call, except payloads, which are immutable.
type Journal interface {
	// PutTask stores a new task. A ref is put exactly once.
	PutTask(ref Ref, t Task)
	// PutFresh stores a new task that is ready and has few others before it, so that it will probably be dropped soon.
	PutFresh(ref Ref, t Task)
	// DropTask removes a task that is done.
	DropTask(ref Ref)
	// PutDue indexes a task by the time it becomes ready; DropDue takes it out, when it is claimed.
	PutDue(ref Ref, due Due)
	DropDue(ref Ref, dueAtMs int64)
	// PutProgress stores what past attempts left; DropProgress removes it with the task.
	PutProgress(ref Ref, p Progress)
	DropProgress(ref Ref)
	// PutAttempt stores how an attempt ended; DropAttempts removes attempts first to last; some may not be stored.
	PutAttempt(ref Ref, attempt uint32, a Attempt)
	DropAttempts(ref Ref, first, last uint32)
	// PutExpiry indexes a task by the end of its time to live; DropExpiry takes it out, if it is in.
	PutExpiry(ref Ref, atMs int64)
	DropExpiry(ref Ref, atMs int64)
	// PutLease stores a new lease batch: each has a greater number than those before. ReplaceLease stores it again, after many extensions.
	// DropLease removes it when all of its tasks are settled.
	PutLease(batch uint64, refs []LeaseRef)
	ReplaceLease(batch uint64, refs []LeaseRef)
	DropLease(batch uint64)
	// PutExtension stores until when the batch's i-th task is leased, which overrides the batch's record; DropExtension removes
	// that.
	PutExtension(batch uint64, i int, untilMs int64)
	DropExtension(batch uint64, i int)
	PutDead(ref Ref, d Dead)
	DropDead(ref Ref)
	// PutKey stores an idempotency key in a bucket; DropKeys removes all buckets up to one, with their sums.
	PutKey(queue uint32, key string, bucket int64, k KeyRef)
	DropKeys(bucket int64)
	// FindKey finds an idempotency key in buckets, both stored and just put. If several buckets have a record, it returns the one
	// that expires last. Decisions read only with FindKey and HasKey.
	FindKey(queue uint32, key string, buckets []int64) (KeyRef, bool)
	// HasKey reports whether a bucket has a record of a key.
	HasKey(queue uint32, key string, bucket int64) bool
	// PutResult stores a result in a bucket; DropResults removes all buckets up to one, with their sums.
	PutResult(ref Ref, bucket int64, r Result)
	DropResults(bucket int64)
	// PutSum stores what a tenant is charged for the records of a bucket.
	PutSum(s Sum)
	PutQueue(r *Record)
	// DropQueue removes the record of a queue that has no tasks, if it is stored.
	DropQueue(id uint32)
	PutMeta(m Meta)
	// PutReserved reserves numbers. Unlike other commits, one with a reservation is durable before its answers are released.
	PutReserved(r Reserved)
}
