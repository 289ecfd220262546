package queue

// NewTask is a task as a producer hands it over. It must have passed Limits.CheckTask.
type NewTask struct {
	Queue       string
	Priority    uint8
	Payload     []byte // the state keeps it: the caller must not change it afterwards
	DelayMs     uint64
	MaxAttempts uint32 // 0: Config.MaxAttempts
	LeaseMs     uint64 // 0: Config.LeaseMs
}

// Task is the immutable part of a stored task: written once, when it is enqueued.
type Task struct {
	EnqueuedAtMs int64
	MaxAttempts  uint32
	LeaseMs      uint64
	// Delayed says that the task was enqueued with a delay: it is found through its Due record, and
	// the forward scan for fresh tasks passes it over.
	Delayed bool
	Payload []byte
}

// Due is a task that waits to become ready (again): delayed at its enqueue, failed, released, or
// its lease expired. It is indexed by time.
type Due struct {
	DueAtMs     int64
	Attempts    uint32 // used up so far
	MaxAttempts uint32
	LeaseMs     uint64
	Bytes       uint32 // of the payload
}

// Progress is what a task's past attempts left behind; a task that was never settled has none.
type Progress struct {
	DueAtMs   int64
	Attempts  uint32
	Token     uint64 // of the last lease: one lease record with this token or a lower one is void
	LastError string
}

// LeaseRef is one task of a lease record.
type LeaseRef struct {
	Ref
	Attempt     uint32 // which attempt this is, from 1
	MaxAttempts uint32
	LeaseMs     uint64
	Bytes       uint32 // of the payload
	ExpiresAtMs int64
	// HasProgress says that a Progress record exists and goes when the task does.
	HasProgress bool
}

// Dead is the record of a task whose attempts were used up.
type Dead struct {
	DiedAtMs  int64
	Attempts  uint32
	LastError string
}

// Delivery is one task handed to a waiter.
type Delivery struct {
	LeaseRef
	Queue        *Queue
	Token        uint64
	EnqueuedAtMs int64
	Payload      []byte
	// Cached says that EnqueuedAtMs and Payload are filled in. Otherwise the Task, and what Progress
	// there is, must be read from the store once the decision is committed.
	Cached bool
	// LastError is what the last failed attempt reported.
	LastError string
}

// Counts are a queue's counters. Fresh + Returned + Leased + Dead is what the queue holds.
type Counts struct {
	Enqueued  uint64 // ever
	Completed uint64 // ever
	Fresh     uint64 // never claimed, and not delayed at enqueue
	Returned  uint64 // have a Due record
	Leased    uint64
	Dead      uint64
}

// Record is a queue as it is stored: written once per commit that touches the queue.
type Record struct {
	ID      uint32
	Tenant  string
	Name    string
	NextSeq uint64
	Counts  Counts
	// Lanes has bit p set when the queue ever held a task of priority p.
	Lanes uint16
	// Cursors holds, for each priority, the seq from which tasks were never claimed.
	Cursors [MaxPriority + 1]uint64
}

// Meta is what a shard stores about itself: written with each commit.
type Meta struct {
	NextBatch uint64 // the next lease batch; tokens derive from it, so they never repeat
	NextQueue uint32
}
