package queue

// NewTask is a task as a producer hands it over. It must have passed Limits.CheckTask.
type NewTask struct {
	Queue       string
	Priority    uint8
	Payload     []byte // the state keeps it: the caller must not change it afterwards
	DelayMs     uint64
	NotBeforeMs int64  // not with DelayMs
	MaxAttempts uint32 // here and below, 0 means the queue's policy or Config
	LeaseMs     uint64
	TTLMs       uint64
	Backoff     Backoff
	RetentionMs uint64
	Key         string // idempotency key; "": none
}

// Task is the immutable part of a stored task: written once, when it is enqueued.
type Task struct {
	EnqueuedAtMs int64
	MaxAttempts  uint32
	LeaseMs      uint64
	// Delayed says that the task was enqueued with a delay: it is found through its Due record, and
	// the forward scan for fresh tasks passes it over, as it does tasks that have a Progress record.
	Delayed bool
	Extras  *Extras
	Payload []byte
}

// Due is a task that waits to become ready (again): delayed at its enqueue, failed, released,
// redriven, or its lease expired. It is indexed by time.
type Due struct {
	DueAtMs     int64
	Attempts    uint32 // used up so far
	MaxAttempts uint32
	LeaseMs     uint64
	Bytes       uint32 // of the payload
	History     History
	Extras      *Extras
}

// Progress is the record of a task's past attempts. A task that was never delayed, settled or dead has no such record.
type Progress struct {
	DueAtMs     int64
	Attempts    uint32
	MaxAttempts uint32 // a redrive adds to it
	Token       uint64 // of the last lease: lease records with this token or a lower one are void
	// ExpiresAtMs is the end of the task's time to live; 0 means no end. A redrive sets it to 0.
	ExpiresAtMs int64
	History     History
}

// Outcome is how an attempt ended that did not complete its task.
type Outcome uint8

// The outcomes.
const (
	Failed       Outcome = iota + 1 // the worker said so
	LeaseExpired                    // the worker did not settle in time
)

// Attempt is one attempt that did not complete its task.
type Attempt struct {
	EndedAtMs int64
	Outcome   Outcome
	Error     string
}

// LeaseRef is one task of a lease record.
type LeaseRef struct {
	Ref
	Attempt     uint32 // which attempt this is, from 1
	MaxAttempts uint32
	LeaseMs     uint64
	Bytes       uint32 // of the payload
	History     History
	// HasProgress says that the task has a Progress record, which is to be removed with the task.
	HasProgress bool
	ExpiresAtMs int64
	Extras      *Extras
}

// Reason is why a task is dead.
type Reason uint8

// The reasons.
const (
	AttemptsUsedUp Reason = iota + 1
	TimeToLiveOver
)

// Dead is the record of a dead task.
type Dead struct {
	DiedAtMs int64
	Reason   Reason
}

// Delivery is one task handed to a waiter.
type Delivery struct {
	LeaseRef
	Queue        *Queue
	Token        uint64
	EnqueuedAtMs int64
	Payload      []byte
	// Cached says that EnqueuedAtMs and Payload are filled in. Otherwise the Task, and what its last
	// attempt left, must be read from the store once the decision is committed.
	Cached bool
	// LastError is what the last failed attempt reported.
	LastError string
}

// Counts are a queue's counters. Fresh + Returned + Leased + Dead is what the queue holds, and
// Enqueued = that + Completed + Removed.
type Counts struct {
	Enqueued  uint64 // ever
	Completed uint64 // ever
	Removed   uint64 // ever purged or cancelled
	Fresh     uint64 // never claimed, and not delayed at enqueue
	Returned  uint64 // have a Due record
	Leased    uint64
	Dead      uint64
	Bytes     uint64 // of the payloads of what the queue holds
	// HistoryBytes is what the kept attempts of these tasks are charged. It excludes attempts stored by an older server that did
	// not count them.
	HistoryBytes uint64
}

func (c *Counts) held() uint64 { return c.Fresh + c.Returned + c.Leased + c.Dead }

// addUp reports whether each enqueued task is counted once, and no count went below zero.
func (c *Counts) addUp() bool {
	return c.Enqueued == c.held()+c.Completed+c.Removed && int64(c.Fresh|c.Returned|c.Leased|c.Dead|c.Bytes) >= 0
}

// Record is a queue as it is stored: written once per commit that touches the queue.
type Record struct {
	ID            uint32
	Tenant        string
	Name          string
	NextSeq       uint64
	Counts        Counts
	Policy        Policy
	PolicyVersion uint64 // 0: never configured
	Paused        bool
	// Lanes has bit p set when the queue ever held a task of priority p.
	Lanes uint16
	// Cursors holds, for each priority, the seq from which tasks were never claimed.
	Cursors [MaxPriority + 1]uint64
	// Due holds the count of due returned tasks for each priority. It is stored while Counts.Returned is above 0.
	Due [MaxPriority + 1]DueCount
}

// Meta is what a shard stores about itself: written with each commit.
type Meta struct {
	NextBatch uint64 // the next lease batch; tokens derive from it, so they never repeat
	NextQueue uint32
}
