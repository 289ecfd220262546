package storage

import "sync/atomic"

// Step is the kind of command that caused an operation on the store.
type Step uint8

// The steps of a task's cycle, and StepOther.
const (
	// StepOther is everything else: look-ups, administration, recovery, and the expiry of leases
	// and of times to live.
	StepOther Step = iota
	// StepEnqueue is the enqueue of tasks, including the look-up of their idempotency keys.
	StepEnqueue
	// StepClaim is the lease of ready tasks, including the reads of tasks that are not in memory.
	StepClaim
	// StepSettle is the end of leases by their workers.
	StepSettle
	// StepCommit is the work that the commands of a commit share. It writes the records of the
	// shard and of the queues, and the extensions of leases. It also stores earlier tasks and
	// leases whose log is due for removal.
	StepCommit
	stepCount
)

var stepNames = [stepCount]string{"other", "enqueue", "claim", "settle", "commit"}

// String returns the step's name in metrics.
func (s Step) String() string { return stepNames[s] }

// Steps returns all steps, with StepOther last.
func Steps() []Step { return []Step{StepEnqueue, StepClaim, StepSettle, StepCommit, StepOther} }

// Operations counts operations on a store's keys and records. A record that is written to the log
// only is counted in Encodes, but not in Sets.
type Operations struct {
	Sets     uint64
	SetBytes uint64 // bytes of the keys and values that were set
	Deletes  uint64
	Gets     uint64
	// Scanned counts the keys that scans visited, including deleted keys and old versions of keys.
	Scanned uint64
	// Encodes counts the encoded records. EncodedBytes counts the bytes of these records without
	// their keys.
	Encodes, EncodedBytes uint64
	// Decodes counts the decoded records, except those decoded by lists, recovery and snapshots.
	Decodes uint64
}

// Plus returns the field-wise sum.
func (o Operations) Plus(p Operations) Operations {
	return Operations{
		Sets: o.Sets + p.Sets, SetBytes: o.SetBytes + p.SetBytes, Deletes: o.Deletes + p.Deletes,
		Gets: o.Gets + p.Gets, Scanned: o.Scanned + p.Scanned,
		Encodes: o.Encodes + p.Encodes, EncodedBytes: o.EncodedBytes + p.EncodedBytes, Decodes: o.Decodes + p.Decodes,
	}
}

type stepCounters struct {
	sets, setBytes, deletes, gets, scanned, encodes, encodedBytes, decodes atomic.Uint64
}

// written adds the operations of a batch. Most batches have no operations of some steps, so it
// skips counters that would not change.
func (c *stepCounters) written(o *Operations) {
	if o.Encodes > 0 {
		c.encodes.Add(o.Encodes)
		c.encodedBytes.Add(o.EncodedBytes)
	}
	if o.Sets > 0 {
		c.sets.Add(o.Sets)
		c.setBytes.Add(o.SetBytes)
	}
	if o.Deletes > 0 {
		c.deletes.Add(o.Deletes)
	}
}

func (c *stepCounters) load() Operations {
	return Operations{
		Sets: c.sets.Load(), SetBytes: c.setBytes.Load(), Deletes: c.deletes.Load(), Gets: c.gets.Load(), Scanned: c.scanned.Load(),
		Encodes: c.encodes.Load(), EncodedBytes: c.encodedBytes.Load(), Decodes: c.decodes.Load(),
	}
}

func (s *Reads) by(step Step) *stepCounters { return &s.count.steps[step] }

// Begin attributes later writes to the step. It returns the previous step.
func (b *Batch) Begin(step Step) (before Step) {
	before, b.step = b.step, step
	return before
}

func (b *Batch) encoded() *Operations {
	o := &b.written[b.step]
	o.Encodes++
	o.EncodedBytes += uint64(len(b.enc.Bytes()))
	return o
}
