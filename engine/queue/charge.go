package queue

// Everything that is stored for a tenant counts against its quota of bytes, with the sizes below. Each size is the bytes that the
// tenant sent plus a fixed part for the record. Without the fixed part, a tenant could fill the disk with empty records.

// The fixed parts, in bytes. That of a task covers all of its records that do not grow: the task, its progress, its entries in
// the indexes by time, its part of a lease, and its dead record.
const (
	taskRecordBytes    = 128
	attemptRecordBytes = 64
	resultRecordBytes  = 64
	keyRecordBytes     = 64
	queueRecordBytes   = 512
)

// TaskBytes is what a task is charged, without its history.
func TaskBytes(payload int) int64 { return taskRecordBytes + int64(payload) }

// AttemptBytes is what a failed attempt in a task's history is charged.
func AttemptBytes(text string) int64 { return attemptRecordBytes + int64(len(text)) }

// ResultBytes is what a result is charged while it is kept.
func ResultBytes(value int) int64 { return resultRecordBytes + int64(value) }

// KeyBytes is what an idempotency key is charged while it is kept.
func KeyBytes(key int) int64 { return keyRecordBytes + int64(key) }

// QueueBytes is what a queue is charged, without its tasks.
func QueueBytes(tenant, name string) int64 {
	return queueRecordBytes + int64(len(tenant)) + int64(len(name))
}

// chargedBytes is what the queue and all of its tasks are charged.
func (r *Record) chargedBytes() int64 {
	return QueueBytes(r.Tenant, r.Name) + int64(r.Counts.held())*taskRecordBytes + int64(r.Counts.Bytes+r.Counts.HistoryBytes)
}

// chargedBytes is what the task is charged, with its history.
func (r *LeaseRef) chargedBytes() int64 { return TaskBytes(int(r.Bytes)) + r.History.bytes() }
