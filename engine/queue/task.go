package queue

// NewTask is a task from a producer. It must have passed Limits.CheckTask.
type NewTask struct {
	Queue       string
	Priority    uint8
	HasHeaders  bool  // the payload begins with headers; see AddHeaders
	KeyScope    Scope // NotUnique means ForATime if the queue's policy has a window
	KeyConflict Conflict
	Payload     []byte // the state retains it: the caller must not change it
	DelayMs     uint64
	NotBeforeMs int64  // not with DelayMs
	MaxAttempts uint32 // 0 here and below selects the value of the queue's policy or of Config
	KeyWindowMs uint32 // of ForATime
	LeaseMs     uint64
	TTLMs       uint64
	Backoff     Backoff
	RetentionMs uint64
	Key         string // "" means none
	Group       uint64 // HashGroup of the header GroupHeader; 0 if there is none
	// Dependencies is nil if the task neither waits for tasks nor is in a batch. See Depend. It is a
	// pointer, because NewTasks are allocated in blocks, in which each task pays for its size.
	Dependencies *Dependencies
}

// Task is the immutable part of a stored task. It is written when the task is enqueued, and again
// only when a dead task gets another payload.
type Task struct {
	EnqueuedAtMs int64
	MaxAttempts  uint32
	LeaseMs      uint64
	// Delayed is true if the task was enqueued with a delay. Such a task is found through its Due
	// record. The scan for fresh tasks skips delayed tasks and tasks with a Progress record.
	Delayed    bool
	HasHeaders bool // the payload begins with headers; see Split
	Extras     *Extras
	Payload    []byte
}

// Due is the record of a task that becomes ready at DueAtMs: a task that was enqueued with a delay,
// failed, released or redriven, or whose lease expired. Due records are indexed by time.
type Due struct {
	DueAtMs     int64
	Attempts    uint32 // number of attempts used so far
	MaxAttempts uint32
	LeaseMs     uint64
	Bytes       uint32 // of the payload, including headers
	History     History
	NoteBytes   uint16 // of the task's note; 0 means that it has none
	// PriorityShift is the priority of the task's lane minus the priority in its Ref.
	PriorityShift int8
	Extras        *Extras
}

// Progress is the record of a task's past attempts. A task that was never delayed, returned or dead
// has no such record.
type Progress struct {
	DueAtMs     int64
	Attempts    uint32
	MaxAttempts uint32 // a redrive increases it
	Token       uint64 // of the last lease; lease records up to this token are obsolete
	// ExpiresAtMs is the end of the task's time to live; 0 means no end. A redrive sets it to 0.
	ExpiresAtMs int64
	History     History
	NoteBytes   uint16 // as in Due; outdated while the task is leased
	// PriorityShift is the current priority of the task minus the priority in its Ref, which is the
	// priority at the enqueue.
	PriorityShift int8
	Claims        Claims // zero unless the queue has a history
}

// Outcome is how a failed attempt ended.
type Outcome uint8

// The outcomes.
const (
	Failed       Outcome = iota + 1 // the worker reported the failure
	LeaseExpired                    // the worker did not settle in time
)

// Attempt is one failed attempt.
type Attempt struct {
	EndedAtMs int64
	Outcome   Outcome
	Error     string
}

// LeaseRef is one task of a lease record.
type LeaseRef struct {
	Ref
	Attempt     uint32 // number of this attempt, from 1
	MaxAttempts uint32
	LeaseMs     uint64
	Bytes       uint32 // of the payload, including headers
	History     History
	// HasProgress is true if the task has a Progress record, which must be removed with the task.
	HasProgress   bool
	PriorityShift int8   // as in Progress
	NoteBytes     uint16 // as in Due
	ExpiresAtMs   int64
	Extras        *Extras
}

// CurrentPriority returns the priority of the task's queue position.
func (r *LeaseRef) CurrentPriority() uint8 { return r.Shifted(r.PriorityShift) }

// Reason is the reason why a task is dead.
type Reason uint8

// The reasons.
const (
	AttemptsUsedUp Reason = iota + 1
	TimeToLiveOver
	FailedPermanently
	DependencyDied // or was cancelled or purged, or had too many waiting tasks
	reasons        // the number of reasons, including 0
)

// Dead is the record of a dead task.
type Dead struct {
	DiedAtMs int64
	Reason   Reason
}

// Delivery is one task leased to a waiter.
type Delivery struct {
	LeaseRef
	Queue        *Queue
	Token        uint64
	EnqueuedAtMs int64
	Payload      []byte
	HasHeaders   bool // the payload begins with headers; see Split
	// Cached is true if EnqueuedAtMs, Payload and HasHeaders are set. If it is false, the caller
	// must read them, and the error of the last attempt, from the store once the decision is
	// committed.
	Cached bool
	// LastError is the error of the last failed attempt. The state never sets it.
	LastError string
}

// Counts contains a queue's counters. Fresh + Returned + Leased + Dead is the number of stored
// tasks. Enqueued is the sum of the number of stored tasks, Completed and Removed.
type Counts struct {
	Enqueued  uint64 // ever
	Completed uint64 // ever
	Removed   uint64 // ever; purged or cancelled
	Fresh     uint64 // tasks that were never claimed and not enqueued with a delay
	Returned  uint64 // tasks with a Due record
	Leased    uint64
	Dead      uint64
	Bytes     uint64 // total size of the payloads and headers of the stored tasks
	// HistoryBytes is the charge for the stored attempts and notes of these tasks. It excludes attempts
	// stored by older servers that did not charge for them.
	HistoryBytes uint64
}

func (c *Counts) held() uint64 { return c.Fresh + c.Returned + c.Leased + c.Dead }

// addUp reports whether the sums above are correct and no count is negative.
func (c *Counts) addUp() bool {
	return c.Enqueued == c.held()+c.Completed+c.Removed && int64(c.Fresh|c.Returned|c.Leased|c.Dead|c.Bytes) >= 0
}

// Record is the stored form of a queue. It is written once per commit that changes the queue.
type Record struct {
	ID            uint32
	Tenant        string
	Name          string
	NextSeq       uint64
	Counts        Counts
	Policy        Policy
	PolicyVersion uint64 // 0 means never configured
	Paused        bool
	Finished      FinishedCounts
	Dependencies  DependencyCounts
	// Bit n of Lanes is set if the lane with the number n ever had a task.
	Lanes uint32
	// Cursors contains, for each priority, a lower bound of the seqs of fresh tasks.
	Cursors [MaxPriority + 1]uint64
	// Due contains the count of due returned tasks of each lane. It is nil if Counts.Returned is 0.
	// A State sets it only while it passes the record to the journal, which must not retain it.
	Due *[Lanes]DueCount
	// Holes is true if leased tasks without a Progress record may not be below the cursors.
	Holes bool
}

// Meta is the record of the shard, written with each commit.
type Meta struct {
	// NextBatch is the number of the next lease batch. It only grows, so tokens are never issued
	// twice.
	NextBatch uint64
	NextQueue uint32
}
