package queue

// A tenant is charged for all data that is stored for it, up to its quota of bytes. The charge of a
// record is the number of bytes that the tenant sent, plus a fixed part. Without the fixed part, a
// tenant could fill the disk with empty records.

// The fixed parts, in bytes. The fixed part of a task includes all of its records of fixed size:
// the task, its progress, its entries in the indexes by time, its part of a lease, and its dead
// record.
const (
	taskRecordBytes      = 128
	attemptRecordBytes   = 64
	resultRecordBytes    = 64
	keyRecordBytes       = 64
	finishedRecordBytes  = 128 // at most taskRecordBytes, so that the end of a task pays for its entry
	queueRecordBytes     = 512
	recurringRecordBytes = 512
	waitingRecordBytes   = 64
	// dependencyRecordBytes includes the link, the message and the record of a finished task.
	dependencyRecordBytes = 64
)

// TaskBytes returns the charge of a task without its history. payload includes the headers.
func TaskBytes(payload int) int64 { return taskRecordBytes + int64(payload) }

// AttemptBytes returns the charge of a failed attempt in a task's history.
func AttemptBytes(text string) int64 { return attemptRecordBytes + int64(len(text)) }

// ResultBytes returns the charge of a stored result.
func ResultBytes(value int) int64 { return resultRecordBytes + int64(value) }

// FinishedBytes returns the charge of an entry of a history.
func FinishedBytes(headers, text int) int64 {
	return finishedRecordBytes + int64(headers) + int64(text)
}

// KeyBytes returns the charge of a stored idempotency key.
func KeyBytes(key int) int64 { return keyRecordBytes + int64(key) }

// UniqueBytes is the charge of a unique key, whose hash is in a record and in the task.
const UniqueBytes = keyRecordBytes + 2*int64(len(KeyHash{}))

// QueueBytes returns the charge of a queue without its tasks.
func QueueBytes(tenant, name string) int64 {
	return queueRecordBytes + int64(len(tenant)) + int64(len(name))
}

func (r *Record) chargedBytes() int64 {
	return QueueBytes(r.Tenant, r.Name) + int64(r.Counts.held())*taskRecordBytes + int64(r.Counts.Bytes+r.Counts.HistoryBytes+r.Finished.Bytes+r.Dependencies.Bytes)
}

func (r *LeaseRef) chargedBytes() int64 {
	return TaskBytes(int(r.Bytes)) + r.History.bytes() + int64(r.NoteBytes)
}
