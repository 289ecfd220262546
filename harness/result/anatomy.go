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
	StepCommit  = "commit" // what the commands of a commit share
	StepOther   = "other"  // what is no step of a cycle
)

// The areas of a server's code, in the order in which a page shows them. Scheduler, GC and memory are the runtime's.
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

// StorageSteps are the operations of the servers on their stores in a round's window, by the step of a task's cycle that caused them.
type StorageSteps struct {
	Cycles float64       `json:"cycles"` // completed meanwhile
	Steps  []StorageStep `json:"steps"`
}

// StorageStep is what one step did with the stores, over all nodes and shards.
type StorageStep struct {
	Name         string  `json:"name"` // one of the constants
	Gets         float64 `json:"gets"`
	ScannedKeys  float64 `json:"scanned_keys"` // that scans stepped over, deleted ones included
	Sets         float64 `json:"sets"`
	SetBytes     float64 `json:"set_bytes"` // of keys and values
	Deletes      float64 `json:"deletes"`
	Encodes      float64 `json:"encodes"` // records; one that is in the log only is encoded and not set
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

// MergeStorageSteps adds up the operations of the timed rounds among these that have them.
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

// UnattributedPercentMax is how much of the mean time of a cycle its parts may leave out, or exceed: more says that a part is missing or
// measured wrongly.
const UnattributedPercentMax = 5

// CycleTime has the mean times of a cycle's parts. Each part is measured by itself, and means add up where percentiles do not. The parts may
// leave some of the cycle's mean time unattributed.
//
// A task goes to the server as an enqueue, and its acknowledgement is not on the way of the cycle. It waits until a turn leases it, goes to
// its worker, and comes back to the server as a settlement, whose acknowledgement ends the cycle. The ways between the processes are known
// as round trips only: of enqueue and of settle, without the time in the server and in the worker. Each way counts as half of its
// round trip. With the time in the server, this makes
//
//	cycle = enqueue / 2 + ready + (settle - work) / 2 + settle + not attributed
//
// Of tasks that are delayed or retried, the time until their last lease is not attributed.
type CycleTime struct {
	Cycles    uint64  `json:"cycles"`
	CycleMs   float64 `json:"cycle_ms"`   // from the enqueue to the acknowledged completion, by the client
	EnqueueMs float64 `json:"enqueue_ms"` // from the enqueue to its acknowledgement, by the client
	ReadyMs   float64 `json:"ready_ms"`   // from the turn of the shard that enqueued the task until the turn that leased it, by the server
	SettleMs  float64 `json:"settle_ms"`  // from the arrival of the leased task until its completion was acknowledged, by the client
	// WorkMs is how long the workers take for a task, according to the scenario.
	WorkMs float64 `json:"work_ms,omitempty"`
}

// UnattributedMs is what the parts leave of the cycle; below 0 where they exceed it.
func (c CycleTime) UnattributedMs() float64 {
	return c.CycleMs - c.EnqueueMs/2 - c.ReadyMs - (c.SettleMs-c.WorkMs)/2 - c.SettleMs
}

// UnattributedPercent is the amount of UnattributedMs in percent of the cycle.
func (c CycleTime) UnattributedPercent() float64 {
	return 100 * math.Abs(c.UnattributedMs()) / c.CycleMs
}

// deriveCycleTime computes the parts of the mean cycle. Before the call, CycleTime has WorkMs only. CycleTime is nil after the call if the servers do
// not time the wait of ready tasks, or if the client has no enqueue, settle or cycle latency.
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

// MergeCycleTimes returns the means over the cycles of the timed rounds among these that have them; Cycles is 0 if none has.
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
