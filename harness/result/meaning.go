package result

import (
	"fmt"
	"strings"
)

// meanings describes the figure of each metric outside the latency families.
var meanings = map[string]string{
	CyclesPerS:               "task cycles per second: enqueued, claimed and completed, with the completion acknowledged",
	CPUUsPerCycle:            "CPU time of servers and load generator together for each cycle",
	ServerCPUUsPerCycle:      "CPU time of the servers for each cycle",
	ClientCPUUsPerCycle:      "CPU time of the load generator for each cycle",
	ServerSwitchesPerCycle:   "voluntary context switches of the servers' threads for each cycle: how often a thread slept to wait",
	ClientSwitchesPerCycle:   "voluntary context switches of the load generator's threads for each cycle",
	ServerCPUCores:           "CPUs that the servers kept busy",
	ServerRSSMBMax:           "largest resident memory of the servers",
	StorageSetsPerCycle:      "keys that the servers set in their stores for each cycle",
	StorageGetsPerCycle:      "keys that the servers looked up in their stores for each cycle",
	StorageDeletesPerCycle:   "keys that the servers deleted in their stores for each cycle",
	StorageSetBytesPerCycle:  "bytes of keys and values that the servers set in their stores for each cycle",
	WrittenBytesPerCycle:     "bytes that the kernel sent to storage for a server for each cycle",
	StorageFsyncsPerCycle:    "fsyncs of stores and Raft logs for each cycle",
	StorageFsyncUsPerCycle:   "time in fsyncs of the stores for each cycle, those in the background included",
	StorageScannedPerCycle:   "keys that scans of the stores stepped over for each cycle, deleted ones included",
	ServerGoroutinesMax:      "largest number of goroutines of all servers together",
	ServerAllocsPerCycle:     "objects that the servers allocated for each cycle",
	ServerAllocBytesPerCycle: "bytes that the servers allocated for each cycle",
	RaftEntriesPerCycle:      "entries of the Raft log for each cycle",
	RaftEntryBytesMean:       "mean size of an entry of the Raft log",
	RaftLogBytesPerCycle:     "bytes that each node appended to its Raft log for each cycle",
	RaftAppendMsMean:         "mean time of a call that appends entries to a node's Raft log",
	RaftCommitMsMean:         "mean time from the proposal of a Raft entry to its effect",
	RaftElections:            "elections in the window, over all nodes",
	ShardTurnsAbove2MsRatio:  "fraction of the shards' turns that took longer than 2 ms",
	ShardTurnMsMax:           "upper bound of the longest turn of a shard, from the servers' histogram",
	ShardTurnItemsMax:        "largest number of items that one turn of a shard handled",
	UnsyncedTasksP99:         "upper bound of 99 % of the peaks of acknowledged enqueues and completions without an fsync, per shard",
	UnsyncedTasksMax:         "largest number of acknowledged enqueues and completions without an fsync, per shard: the loss in a power failure",
	UnsyncedMsP99:            "upper bound of 99 % of the peaks of the age of the oldest acknowledgement without an fsync",
	UnsyncedMsMax:            "largest age of the oldest acknowledgement without an fsync",
	CycleUnattributedPercent: "difference between the mean time of a cycle and the sum of its parts",
	FaultFirstAckMsMedian:    "median time from a fault to the first acknowledged cycle after the outage",
	FaultFirstAckMsMax:       "longest time from a fault to the first acknowledged cycle after the outage",
	FaultRecoveryMsMedian:    "median time from a fault until the rate recovered",
	FaultRecoveryMsMax:       "longest time from a fault until the rate recovered",
	FaultDipPercent:          "median relative drop of the rate after a fault",
	FaultsNotRecovered:       "faults after which the rate did not recover",
	FaultLevelRatio:          "rate after the last faults divided by the rate before the first fault",
	FaultLastToFirstRatio:    "rate after the last faults divided by the rate after the first faults",
	FaultsBackSoon:           "faults after which the rate returned to 95 % of its previous value within a second",
	FailedCalls:              "calls of the load whose outcome is unknown",
	RateCost:                 "rate of the point with the first value of the first sweep divided by the rate of this point",
	ProfilingOverheadRatio:   "profiling overhead: the rate of unprofiled rounds divided by the rate of the profiled round",
	ProfilingCPURatio:        "profiling overhead: the CPU time per cycle of the profiled round divided by that of unprofiled rounds",
	OfferedPerS:              "tasks per second that the schedule of an open load offered",
	ReadsPerS:                "reads of tasks per second that were answered",
	ReadFoundRatio:           "fraction of the reads of own tasks that were answered with the task",
	ReadsDropped:             "reads that were due in the window but not made, because too many waited",
	TenantFairness:           "Jain's index of the cycles of tenants with equal load: 1 if all completed equally many, 1/n if one of n completed all",
	TenantCyclesMinRatio:     "cycles of the tenant with the fewest divided by the mean of all tenants",
	Unfinished:               "tasks of an open load that were sent in the window and not completed in it",
	Unsent:                   "tasks of an open load that were due in the window but not sent in it",
	Dropped:                  "tasks of an open load that were never sent",
	Held:                     "tasks of an open load that were sent late because of the in-flight limit",
	SteadyRateRatio:          "rate in the last tenth of the window divided by the rate in its second tenth",
	DecayPercent:             "loss of the rate over the window relative to its mean; a limit applies to the upper 95 % bound",
	DiskMBMax:                "largest disk space of the servers' data",
	DiskMBEnd:                "disk space of the servers' data at the end of the window",
	FillTasksPerS:            "tasks per second while the backlog was filled",
	EnqueuesPerS:             "acknowledged enqueues per second of a workload without workers",
	DrainCyclesPerS:          "cycles per second while the backlog was drained",
	DrainRatio:               "rate of the drain divided by the rate with an empty queue",
	DrainSmallRatio:          "rate of the drain divided by the drain rate of a small backlog",
	BacklogRSSMBMax:          "largest resident memory of the servers with the backlog",
	RestartFirstClaimS:       "time from the start of a server to the answer of the first claim",
	Lost:                     "acknowledged tasks that were never completed, over all rounds",
	Duplicated:               "tasks that were completed twice, over all rounds",
	Corrupted:                "tasks whose claimed payload or priority differed from the enqueued one, over all rounds",
	ReadMismatches:           "reads with a wrong answer or another tenant's task, over all rounds",
	ListsPerS:                "lists of a queue's tasks that were answered per second",
	ListsDropped:             "lists of a queue's tasks that were due but not made, because too many waited",
	StatsPerS:                "reads of a queue's figures that were answered per second",
	StatsDropped:             "reads of a queue's figures that were due but not made, because too many waited",
	AwaitsPerS:               "waits for the end of a task that were answered per second",
	AwaitEndedRatio:          "fraction of the waits for the end of an own task that ended with the task's completion",
	AwaitsDropped:            "waits for the end of a task that were due but not made, because too many waited",
}

// familyMeanings describes the time that each latency family measures.
var familyMeanings = map[string]string{
	EnqueueLatencyMs: "from the due time of a task, or the call of enqueue in a closed loop, to its acknowledgement",
	SettleLatencyMs:  "from the claim of a task to its acknowledged settle",
	CycleLatencyMs:   "from the due time of a task, or the call of enqueue in a closed loop, to its acknowledged completion",
	ServiceLatencyMs: "from the call of enqueue to its acknowledgement",
	SlipMs:           "from the earliest possible send of a task to its send by the generator",
	ReadLatencyMs:    "from the call of a read to its answer",
	ListLatencyMs:    "from the call for the list of a queue's tasks to its answer",
	StatsLatencyMs:   "from the call for a queue's figures to its answer",
	AwaitLatencyMs:   "from the call that waits for the end of a task to its answer",
	ExtendLatencyMs:  "from the call that extends a lease to its acknowledgement",
	CancelNoticeMs:   "from the call that cancels a leased task to the notice at its worker",
	RecurringLateMs:  "from the due time of a recurring task to the arrival of its task at a worker",
	LateMs:           "from the end of a task's delay to its first claim",
}

// Meaning describes the figure as a phrase without its unit.
func (s Spec) Meaning() string {
	if s.Family == "" {
		return meanings[s.Name]
	}
	of := familyMeanings[s.Family]
	switch suffix := strings.TrimPrefix(s.Name, s.Family); suffix {
	case "_n":
		return "number of samples of the times " + of
	case "_max":
		return "the longest time " + of
	default:
		for _, p := range percentiles {
			if p.suffix == suffix {
				return fmt.Sprintf("the time that %v %% of the tasks do not exceed, %s", p.percent, of)
			}
		}
	}
	return ""
}
