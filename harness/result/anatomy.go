package result

import (
	"math"
	"slices"
)

// The steps of a task's cycle, as the servers name them.
const (
	StepEnqueue = "enqueue"
	StepClaim   = "claim"
	StepSettle  = "settle"
	StepCommit  = "commit" // shared by the commands of a commit
	StepOther   = "other"  // not a step of a cycle
)

// The areas of a server's code, in the order of the page. Scheduler, GC and memory belong to the
// runtime.
const (
	AreaRPC         = "rpc"
	AreaCodec       = "codec"
	AreaQueue       = "queue"
	AreaGet         = "get"
	AreaIterator    = "iterator"
	AreaCommit      = "commit"
	AreaCompaction  = "compaction"
	AreaReplication = "replication"
	AreaScheduler   = "runtime: scheduler"
	AreaGC          = "runtime: GC"
	AreaMemory      = "runtime: memory"
	AreaSyscalls    = "syscalls"
	AreaOther       = "other"
)

// StorageSteps counts the servers' operations on their stores in a round's window. The counts are
// by the step of a task's cycle that caused the operation.
type StorageSteps struct {
	Cycles float64       `json:"cycles"` // completed in the window
	Steps  []StorageStep `json:"steps"`
}

// StorageStep counts the operations of one step on the stores, over all nodes and shards.
type StorageStep struct {
	Name string  `json:"name"` // one of the Step constants
	Gets float64 `json:"gets"`
	// ScannedKeys counts the keys that scans stepped over, including deleted ones.
	ScannedKeys float64 `json:"scanned_keys"`
	Sets        float64 `json:"sets"`
	SetBytes    float64 `json:"set_bytes"` // of keys and values
	Deletes     float64 `json:"deletes"`
	// Encodes counts encoded records. A record that is only in the log is encoded but not set.
	Encodes      float64 `json:"encodes"`
	EncodedBytes float64 `json:"encoded_bytes"`
	Decodes      float64 `json:"decodes"`
}

// Plus returns the sums of two steps, under the name of the first.
func (s StorageStep) Plus(o StorageStep) StorageStep {
	return StorageStep{
		Name: s.Name, Gets: s.Gets + o.Gets, ScannedKeys: s.ScannedKeys + o.ScannedKeys, Sets: s.Sets + o.Sets, SetBytes: s.SetBytes + o.SetBytes,
		Deletes: s.Deletes + o.Deletes, Encodes: s.Encodes + o.Encodes, EncodedBytes: s.EncodedBytes + o.EncodedBytes, Decodes: s.Decodes + o.Decodes,
	}
}

// MergeStorageSteps adds up the storage operations of the timed rounds that have them.
func MergeStorageSteps(rounds []Round) (sum StorageSteps) {
	for i := range rounds {
		of := rounds[i].StorageSteps
		if of == nil || !rounds[i].Timed() {
			continue
		}
		sum.Cycles += of.Cycles
		for _, s := range of.Steps {
			k := slices.IndexFunc(sum.Steps, func(m StorageStep) bool { return m.Name == s.Name })
			if k < 0 {
				sum.Steps = append(sum.Steps, s)
				continue
			}
			sum.Steps[k] = sum.Steps[k].Plus(s)
		}
	}
	return sum
}

// UnattributedPercentMax is the largest tolerated difference between the mean time of a cycle and
// the sum of its parts, in percent. A larger difference means that a part is missing or measured
// incorrectly.
const UnattributedPercentMax = 5

// CycleTime contains the mean times of a cycle's parts. The parts are measured separately. They are
// means because means add up, while percentiles do not. Some of the cycle's mean time may remain
// unattributed to any part.
//
// A cycle starts when an enqueue sends the task to the server; the acknowledgement of the enqueue
// is not part of the cycle. The task waits until a turn leases it and is then sent to its worker.
// The worker settles it, and the acknowledgement of the settle ends the cycle. Only round trips
// between the processes can be measured: the enqueue, and the settle without the work. Each one-way
// trip is estimated as half of a round trip. Adding the time in the server gives
//
//	cycle = enqueue / 2 + ready + (settle - work) / 2 + settle + not attributed
//
// For delayed or retried tasks, the time until their last lease is unattributed.
type CycleTime struct {
	Cycles uint64 `json:"cycles"`
	// CycleMs is the time from the enqueue to the acknowledged completion, measured by the client.
	CycleMs float64 `json:"cycle_ms"`
	// EnqueueMs is the time from the enqueue to its acknowledgement, measured by the client.
	EnqueueMs float64 `json:"enqueue_ms"`
	// ReadyMs is the time from the shard's turn that enqueued the task to the turn that leased it,
	// measured by the server.
	ReadyMs float64 `json:"ready_ms"`
	// SettleMs is the time from the arrival of the leased task to the acknowledgement of its
	// completion, measured by the client.
	SettleMs float64 `json:"settle_ms"`
	// WorkMs is the time that the workers take for a task, from the scenario.
	WorkMs float64 `json:"work_ms,omitempty"`
}

// UnattributedMs returns the cycle's time minus that of its parts. It is negative if the parts
// exceed the cycle.
func (c CycleTime) UnattributedMs() float64 {
	return c.CycleMs - c.EnqueueMs/2 - c.ReadyMs - (c.SettleMs-c.WorkMs)/2 - c.SettleMs
}

// UnattributedPercent returns the absolute value of UnattributedMs in percent of the cycle.
func (c CycleTime) UnattributedPercent() float64 {
	return 100 * math.Abs(c.UnattributedMs()) / c.CycleMs
}

// deriveCycleTime computes the parts of the mean cycle. Before the call, only CycleTime.WorkMs is
// set. After the call CycleTime is nil if the servers do not measure how long ready tasks wait, or
// if the client measured no enqueue, settle or cycle latency.
func (r *Round) deriveCycleTime(h Histograms) {
	if r.CycleTime == nil {
		return
	}
	work := r.CycleTime.WorkMs
	r.CycleTime = nil
	ready := slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Name == StageReady && s.Count > 0 })
	if ready < 0 {
		return
	}
	for _, of := range h.Kinds()[:3] {
		if of.Histogram == nil || of.Histogram.TotalCount() == 0 {
			return
		}
	}
	r.CycleTime = &CycleTime{
		Cycles: uint64(h.Cycle.TotalCount()), WorkMs: work,
		CycleMs: h.Cycle.Mean() / 1e6, EnqueueMs: h.Enqueue.Mean() / 1e6, SettleMs: h.Settle.Mean() / 1e6, ReadyMs: r.Stages[ready].MeanMs(),
	}
	r.Metrics[CycleUnattributedPercent] = r.CycleTime.UnattributedPercent()
}

// MergeCycleTimes returns the means over the cycles of the timed rounds that have cycle times.
// Cycles is 0 if no round has them.
func MergeCycleTimes(rounds []Round) (sum CycleTime) {
	for i := range rounds {
		if rounds[i].CycleTime != nil && rounds[i].Timed() {
			sum.Cycles += rounds[i].CycleTime.Cycles
		}
	}
	for i := range rounds {
		if of := rounds[i].CycleTime; of != nil && of.Cycles > 0 && rounds[i].Timed() {
			weight := float64(of.Cycles) / float64(sum.Cycles)
			sum.CycleMs += weight * of.CycleMs
			sum.EnqueueMs += weight * of.EnqueueMs
			sum.ReadyMs += weight * of.ReadyMs
			sum.SettleMs += weight * of.SettleMs
			sum.WorkMs += weight * of.WorkMs
		}
	}
	return sum
}
