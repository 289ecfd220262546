package queue

import (
	"fmt"
	"math"
)

// A task may wait for other tasks: for those that it names (After), and for the members of its batch,
// which are enqueued later and name it. Its dependencies may be in other shards. See dependencies.go.
//
// A client that passes only ids that it got from the server cannot make a cycle. After then leads to
// earlier tasks. A member of a batch names no tasks in After, so from a member only members of further
// batches can be reached, which are later tasks.

const (
	// AfterMax is the maximum number of tasks that a task names in After.
	AfterMax = 100
	// BatchSizeMax is the maximum number of members of a batch.
	BatchSizeMax = 100_000
	// WaitersMax is the maximum number of tasks that name the same task in After. It bounds what is
	// stored for a task after the tasks that named it were removed.
	WaitersMax = 10_000
	// DependencyResultMax is the maximum length of a result that is kept for a waiting task.
	DependencyResultMax = 4 << 10
	// NeverMs is the due time of a waiting task.
	NeverMs = math.MaxInt64 - 1
)

// DeadDependency is what happens to a waiting task if a task that it waits for dies, or is cancelled
// or purged.
type DeadDependency uint8

// The policies.
const (
	WaitForDead DeadDependency = iota // it continues to wait: a dead task can be redriven
	RunAnyway                         // the dead task counts as finished
	DieToo                            // it becomes a dead letter
)

// Dependencies is what a new task waits for, and the batch that it is a member of.
type Dependencies struct {
	After     []ID
	BatchSize uint32
	Dead      DeadDependency
	InBatch   bool
	Batch     ID // if InBatch: the final task of the batch
}

// Depends is the immutable part of Dependencies that a task needs when it finishes.
type Depends struct {
	Waits   bool // it has or had a Waiting record
	InBatch bool
	Batch   ID
}

// Depend sets the dependencies of a new task. It returns an error that names a field with an invalid
// value.
func (t *NewTask) Depend(after []string, batchSize uint32, batch string, dead DeadDependency) *FieldError {
	d := &Dependencies{BatchSize: batchSize, Dead: dead}
	switch {
	case len(after) > AfterMax:
		return &FieldError{"after", fmt.Sprintf("names %d tasks: name at most %d, or use a batch", len(after), AfterMax)}
	case batchSize > BatchSizeMax:
		return Outside("batch_size", batchSize, 0, uint32(BatchSizeMax))
	case batch != "" && len(after) > 0:
		return &FieldError{"after", "is set together with batch, which could close a cycle: set one of them"}
	case dead > DieToo:
		return &FieldError{"dead_dependency", "is not known: use WAIT, RUN or DIE"}
	case dead != WaitForDead && len(after) == 0 && batchSize == 0:
		return &FieldError{"dead_dependency", "is set, but the task waits for none: set after or batch_size too"}
	}
	seen := make(map[ID]bool, len(after))
	for i, text := range after {
		id, err := ParseID(text)
		if err != nil {
			return &FieldError{fmt.Sprintf("after[%d]", i), err.Error()}
		}
		if seen[id] {
			return &FieldError{fmt.Sprintf("after[%d]", i), fmt.Sprintf("%s is named twice", id)}
		}
		seen[id] = true
		d.After = append(d.After, id)
	}
	if batch != "" {
		id, err := ParseID(batch)
		if err != nil {
			return &FieldError{"batch", err.Error()}
		}
		d.InBatch, d.Batch = true, id
	}
	if d.waits() || d.InBatch {
		t.Dependencies = d
	}
	return nil
}

func (d *Dependencies) waits() bool { return d != nil && (len(d.After) > 0 || d.BatchSize > 0) }

// total returns the number of tasks that the task waits for.
func (d *Dependencies) total() uint32 { return uint32(len(d.After)) + d.BatchSize }

// bytes returns the charge of a waiting task's records, in addition to TaskBytes and to the results
// that it gets.
func (d *Dependencies) bytes() int64 {
	if !d.waits() {
		return 0
	}
	return waitingRecordBytes + int64(d.total())*dependencyRecordBytes
}

func (d *Dependencies) stored() *Depends {
	if d == nil {
		return nil
	}
	return &Depends{Waits: d.waits(), InBatch: d.InBatch, Batch: d.Batch}
}

// check returns an error if the task waits and has a due time.
func (d *Dependencies) check(t *NewTask) *FieldError {
	switch {
	case !d.waits():
	case t.DelayMs > 0:
		return &FieldError{"delay_ms", "is set on a task that waits for other tasks: leave it out"}
	case t.NotBeforeMs > 0:
		return &FieldError{"not_before_ms", "is set on a task that waits for other tasks: leave it out"}
	}
	return nil
}

// DependencyOutcome is how a task finished that another task waited for.
type DependencyOutcome uint8

// The outcomes.
const (
	DependencyDone    DependencyOutcome = iota + 1
	DependencyDead                      // it may still be redriven and finish
	DependencyRemoved                   // cancelled or purged
	DependencyMissing                   // it was gone when its shard got the Link, without a retained result
	DependencyRefused                   // WaitersMax tasks waited for it already
)

// rank orders the outcomes that a waiting task may get of one task: a lower one is outdated.
func (o DependencyOutcome) rank() int {
	switch o {
	case 0:
		return 0
	case DependencyDead:
		return 1
	case DependencyMissing, DependencyRefused:
		return 2
	case DependencyRemoved, DependencyDone:
	}
	return 3
}

// Dependency is the record of a finished task that another task waited for.
type Dependency struct {
	ID      ID
	Outcome DependencyOutcome
	Result  []byte // of a task that is done
	Omitted bool   // the result is not stored: it is too long, or exceeds the tenant's quota of bytes
}

// Waiting is the record of a task with dependencies. It exists until the task is removed, so that its
// charge is known.
type Waiting struct {
	After    uint32 // number of unfinished tasks that it named
	Members  uint32 // number of unfinished members of its batch
	Total    uint32 // number of tasks that it waited for at its enqueue
	Recorded uint32 // number of its Dependency records
	Dead     DeadDependency
	Bytes    uint64 // the charge for this record and the Dependency records
}

// Unfinished returns the number of tasks that a waiting task still waits for.
func (w *Waiting) Unfinished() uint32 { return w.After + w.Members }

// counts reports whether an outcome makes the number of unfinished tasks smaller.
func (w *Waiting) counts(o DependencyOutcome) bool {
	switch o {
	case DependencyDone, DependencyMissing:
		return true
	case DependencyDead, DependencyRemoved:
		return w.Dead == RunAnyway
	case DependencyRefused:
	}
	return false
}

// DependencyCounts describes the dependencies of the tasks of one queue.
type DependencyCounts struct {
	Waiting uint32 // number of waiting tasks; part of Counts.Returned
	Linked  uint32 // number of tasks with links: see dependencies
	Bytes   uint64 // sum of Waiting.Bytes
}
