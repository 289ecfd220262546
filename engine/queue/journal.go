package queue

// Journal receives the mutations of decisions, in order. The implementation commits the mutations
// of a turn with one atomic write. Arguments are valid only during the call, except payloads, which
// are immutable.
type Journal interface {
	// PutTask stores a new task. For each task, either PutTask or PutFresh is called, once.
	PutTask(ref Ref, t Task)
	// PutFresh stores a new task that is ready and near the front of its lane. Such a task will
	// probably be dropped soon.
	PutFresh(ref Ref, t Task)
	// ReplaceTask stores a dead task again, with another payload.
	ReplaceTask(ref Ref, t Task)
	// DropTask removes a task.
	DropTask(ref Ref)
	// PutDue indexes a task of a lane by the time when it becomes ready. DropDue removes the entry.
	PutDue(ref Ref, lane uint8, due Due)
	DropDue(ref Ref, lane uint8, dueAtMs int64)
	// PutProgress stores the state of a task after past attempts. DropProgress removes it when the
	// task is removed.
	PutProgress(ref Ref, p Progress)
	DropProgress(ref Ref)
	// PutAttempt stores a failed attempt. DropAttempts removes the attempts first to last; some of
	// them may not be stored.
	PutAttempt(ref Ref, attempt uint32, a Attempt)
	DropAttempts(ref Ref, first, last uint32)
	// PutNote stores the note of a task, and replaces an older one. DropNote removes it.
	PutNote(ref Ref, note string)
	DropNote(ref Ref)
	// PutExpiry indexes a task by the end of its time to live. DropExpiry removes the entry, if
	// present.
	PutExpiry(ref Ref, atMs int64)
	DropExpiry(ref Ref, atMs int64)
	// PutLease stores a new lease batch. Each batch has a higher number than all earlier batches.
	// ReplaceLease stores the batch again, after many extensions. DropLease removes it when all of
	// its tasks are settled.
	// claimedMs is the time of the claim, or 0 if none of the tasks needs it for a history.
	PutLease(batch uint64, refs []LeaseRef, claimedMs int64)
	ReplaceLease(batch uint64, refs []LeaseRef, claimedMs int64)
	DropLease(batch uint64)
	// PutExtension stores the expiry of the batch's i-th task, which overrides the batch's record.
	// DropExtension removes it.
	PutExtension(batch uint64, i int, untilMs int64)
	DropExtension(batch uint64, i int)
	PutDead(ref Ref, d Dead)
	DropDead(ref Ref)
	// PutKey stores an idempotency key in a bucket. DropKeys removes all buckets up to and
	// including the given bucket, with their sums.
	PutKey(queue uint32, key string, bucket int64, k KeyRef)
	DropKeys(bucket int64)
	// FindKey finds an idempotency key in buckets, whether committed or put by this batch. If
	// several buckets contain a record of the key, it returns the record that expires last. FindKey,
	// HasKey, FindUnique, FindLinked, FindHead, FindClaims and FindError are the only methods that read the store.
	FindKey(queue uint32, key string, buckets []int64) (KeyRef, bool)
	// HasKey reports whether a bucket contains a record of a key.
	HasKey(queue uint32, key string, bucket int64) bool
	// PutUnique stores a unique key in the bucket k.Bucket, in place of an earlier record there.
	// DropUnique removes it. DropUniques removes all buckets up to and including the given bucket,
	// with their sums.
	PutUnique(queue uint32, key KeyHash, k UniqueRef)
	DropUnique(queue uint32, key KeyHash, bucket int64)
	DropUniques(bucket int64)
	// FindUnique finds a unique key in buckets, whether committed or put by this batch.
	FindUnique(queue uint32, key KeyHash, buckets []int64) (UniqueRef, bool)
	// PutResult stores a result in a bucket. DropResults removes all buckets up to and including
	// the given bucket, with their sums.
	PutResult(ref Ref, bucket int64, r Result)
	DropResults(bucket int64)
	// PutSum stores a tenant's charge for its records in a bucket. It removes a charge of 0.
	PutSum(s Sum)
	// PutFinished stores an entry of the history of a queue. DropFinished removes the entries with the
	// positions first to before-1.
	PutFinished(position uint64, f *Finished)
	DropFinished(queue uint32, first, before uint64)
	// FindHead, FindClaims and FindError return what is stored about a task that is about to finish:
	// its time of enqueue and its headers, the times of its claims, and the error of an attempt. They
	// return zero values for records that reads do not see yet. The caller may retain the results.
	FindHead(ref Ref) (enqueuedAtMs int64, h Headers)
	FindClaims(ref Ref) Claims
	FindError(ref Ref, attempt uint32) string
	// PutRecurring stores the spec of a queue's recurring task. PutRecurringProgress stores its
	// progress. DropRecurring removes both.
	PutRecurring(queue uint32, name string, s *RecurringSpec)
	PutRecurringProgress(queue uint32, name string, p *RecurringProgress)
	DropRecurring(queue uint32, name string)
	// PutWaiting stores what a task waits for. DropWaiting removes it.
	PutWaiting(ref Ref, w Waiting)
	DropWaiting(ref Ref)
	// PutDependency stores a finished task that a task waited for. DropDependency removes it.
	PutDependency(ref Ref, d *Dependency)
	DropDependency(ref Ref, of ID)
	// PutLinked stores the number of links of a task, and PutLink a link to a waiting task.
	PutLinked(ref Ref, links uint32)
	DropLinked(ref Ref)
	PutLink(ref Ref, to ID)
	DropLink(ref Ref, to ID)
	// FindLinked reports whether a task has links, whether committed or put by this batch.
	FindLinked(ref Ref) bool
	// PutMessage stores a message to a shard, and replaces one with the same Seq.
	PutMessage(to uint16, m *Message)
	DropMessage(to uint16, seq uint64)
	PutQueue(r *Record)
	// DropQueue removes the record of a queue that has no tasks, if it is stored.
	DropQueue(id uint32)
	PutMeta(m Meta)
	// PutReserved stores a reservation of numbers. The commit that contains it must be durable
	// before its answers are sent, in every durability mode.
	PutReserved(r Reserved)
}
