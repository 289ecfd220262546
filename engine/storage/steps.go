package storage

import "sync/atomic"

// Step is the kind of command that caused an operation on the store.
type Step uint8

// The steps of a task's cycle, and what belongs to none of them.
const (
	// StepOther is everything else: look-ups, administration, recovery, and the end of leases and of times to live.
	StepOther Step = iota
	// StepEnqueue is the enqueue of tasks, with the look-up of their idempotency keys.
	StepEnqueue
	// StepClaim is the lease of ready tasks, with the reading of tasks that are not in memory.
	StepClaim
	// StepSettle is the end of leases by their workers.
	StepSettle
	// StepCommit is what the commands of a commit share: the records of the shard and of the queues, extensions of leases, and tasks and
	// leases of earlier commits that are stored because their log is to go.
	StepCommit
	stepCount
)

var stepNames = [stepCount]string{"other", "enqueue", "claim", "settle", "commit"}

// String returns the step's name, as it is exported.
func (s Step) String() string { return stepNames[s] }

// Steps returns the steps.
func Steps() []Step { return []Step{StepEnqueue, StepClaim, StepSettle, StepCommit, StepOther} }

// Operations are operations on a store's keyspace and on its records. A record that is in the log only is encoded and not set.
type Operations struct {
	Sets     uint64
	SetBytes uint64 // of the keys and values that were set
	Deletes  uint64
	Gets     uint64
	// Scanned counts the keys that scans stepped over, including deleted keys and older versions of keys.
	Scanned uint64
	// Encodes counts the records that were encoded, and EncodedBytes their bytes, without their keys.
	Encodes, EncodedBytes uint64
	// Decodes counts the records that were decoded, except by lists, recovery and snapshots.
	Decodes uint64
}

// Plus returns the sums.
func (o Operations) Plus(p Operations) Operations {
	return Operations{
		Sets: o.Sets + p.Sets, SetBytes: o.SetBytes + p.SetBytes, Deletes: o.Deletes + p.Deletes,
		Gets: o.Gets + p.Gets, Scanned: o.Scanned + p.Scanned,
		Encodes: o.Encodes + p.Encodes, EncodedBytes: o.EncodedBytes + p.EncodedBytes, Decodes: o.Decodes + p.Decodes,
	}
}

// stepCounters are the operations of one step.
type stepCounters struct {
	sets, setBytes, deletes, gets, scanned, encodes, encodedBytes, decodes atomic.Uint64
}

// written adds what a batch wrote. Most commits have no operation of some steps.
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

// by returns the counters of a step.
func (s *Store) by(step Step) *stepCounters { return &s.count.steps[step] }

// Begin says that the step causes what is written to the batch from now on. It returns the step before.
func (b *Batch) Begin(step Step) (before Step) {
	before, b.step = b.step, step
	return before
}

// encoded counts the record that was encoded last, and returns the counts of the step.
func (b *Batch) encoded() *Operations {
	o := &b.written[b.step]
	o.Encodes++
	o.EncodedBytes += uint64(len(b.enc.Bytes()))
	return o
}
