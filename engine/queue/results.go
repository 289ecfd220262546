package queue

import "fmt"

// resultBucketMs is the width of the buckets of results, in milliseconds.
const resultBucketMs = 3600_000

// Result is the result of a completed task.
type Result struct {
	CompletedAtMs   int64
	RetainedUntilMs int64
	Value           []byte
}

// keepResult stores the result of a task that is about to be dropped. The tenant's charge for the
// task becomes the charge for the result. Only a result that is larger than the task with its
// history needs an additional charge, which the quota may refuse.
func (r *retention) keepResult(ref *LeaseRef, retentionMs uint64, value []byte) error {
	q := r.queues.numbered(ref.Queue)
	bytes, task := ResultBytes(len(value)), ref.chargedBytes()
	if more := bytes - task; more > 0 {
		if err := r.accounts.charge(q.account, more); err != nil {
			return fmt.Errorf("keep a result of %d bytes: %w, or complete the task without a result", len(value), err)
		}
	}
	r.accounts.free(q).bytes -= min(bytes, task) // drop later subtracts the whole charge of the task
	until := r.nowMs + int64(retentionMs)
	bucket := r.results.at(until)
	q.keep(until)
	r.results.note(bucket)
	r.results.add(bucket, q.record.Tenant, bytes)
	r.journal.PutResult(ref.Ref, bucket, Result{CompletedAtMs: r.nowMs, RetainedUntilMs: until, Value: value})
	return nil
}

// ResultBuckets returns the times of the buckets that may contain results, oldest first. The caller
// must not change the slice.
func (r *retention) ResultBuckets() []int64 { return r.results.live }
