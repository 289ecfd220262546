package result

import (
	"fmt"
	"strings"
)

// meanings say of each metric outside the latency families what its figure is.
var meanings = map[string]string{
	CyclesPerS:               "task cycles per second: enqueued, claimed and completed, with the completion acknowledged",
	CPUUsPerCycle:            "CPU time of servers and load generator together for each cycle",
	ServerCPUUsPerCycle:      "CPU time of the servers for each cycle",
	ClientCPUUsPerCycle:      "CPU time of the load generator for each cycle",
	ServerCPUCores:           "CPUs that the servers kept busy",
	ServerRSSMBMax:           "the most memory that the servers held",
	StorageSetsPerCycle:      "keys that the servers set in their stores for each cycle",
	StorageGetsPerCycle:      "keys that the servers looked up in their stores for each cycle",
	StorageDeletesPerCycle:   "keys that the servers deleted in their stores for each cycle",
	StorageSetBytesPerCycle:  "bytes of keys and values that the servers set in their stores for each cycle",
	WrittenBytesPerCycle:     "bytes that the kernel sent to storage for a server for each cycle",
	StorageFsyncsPerCycle:    "fsyncs of stores and Raft logs for each cycle",
	StorageFsyncUsPerCycle:   "time in fsyncs of the stores for each cycle, those in the background included",
	StorageScannedPerCycle:   "keys that scans of the stores stepped over for each cycle, deleted ones included",
	ServerGoroutinesMax:      "the most goroutines that the servers had, added up",
	ServerAllocsPerCycle:     "objects that the servers allocated for each cycle",
	ServerAllocBytesPerCycle: "bytes that the servers allocated for each cycle",
	RaftEntriesPerCycle:      "entries of the Raft log for each cycle",
	RaftEntryBytesMean:       "mean size of an entry of the Raft log",
	RaftLogBytesPerCycle:     "bytes that each node appended to its Raft log for each cycle",
	RaftAppendMsMean:         "mean time of a call that appends entries to a node's Raft log",
	RaftCommitMsMean:         "mean time from the proposal of a Raft entry to its effect",
	RaftElections:            "elections in the window, over all nodes",
	ShardTurnsAbove2MsRatio:  "part of the turns of the shards that took longer than 2 ms",
	ShardTurnMsMax:           "bound of the highest bucket of the servers' histogram that a turn of a shard fell into",
	ShardTurnItemsMax:        "the most items that one turn of a shard handled",
	UnsyncedTasksP99:         "bound that 99 of 100 peaks of the acknowledged enqueues and completions that no fsync covered were not above, of one shard",
	UnsyncedTasksMax:         "the most acknowledged enqueues and completions that no fsync covered, of one shard: what a loss of power would have taken",
	UnsyncedMsP99:            "bound that 99 of 100 peaks of the age of the oldest acknowledgement that no fsync covered were not above",
	UnsyncedMsMax:            "greatest age of the oldest acknowledgement that no fsync covered",
	CycleUnattributedPercent: "part of the mean time of a cycle that its parts leave out or exceed",
	FaultFirstAckMsMedian:    "median time from a fault to the first acknowledged cycle after the outage",
	FaultFirstAckMsMax:       "longest time from a fault to the first acknowledged cycle after the outage",
	FaultRecoveryMsMedian:    "median time from a fault until the rate was back",
	FaultRecoveryMsMax:       "longest time from a fault until the rate was back",
	FaultDipPercent:          "median of how far the rate fell below that before the fault",
	FaultsNotRecovered:       "faults after which the rate did not come back",
	FaultLevelRatio:          "the rate after the faults to that before them",
	FaultLastToFirstRatio:    "the rate before the last fault to that before the first",
	FaultsBackSoon:           "faults a second after which the rate was at 95 % of that before them",
	FailedCalls:              "calls of the load whose outcome is unknown",
	RateCost:                 "how many times as many cycles per second the point had that differs only in the first sweep's first value",
	ProfilingOverheadRatio:   "how many times as many cycles per second timed rounds have as profiled ones",
	ProfilingCPURatio:        "how many times as much CPU for each cycle profiled rounds need as timed ones",
	OfferedPerS:              "tasks per second that the schedule of an open load offered",
	ReadsPerS:                "reads of tasks per second that were answered",
	ReadFoundRatio:           "reads of own tasks that were answered with the task, to all reads of own tasks",
	ReadsDropped:             "reads that came due in the window while too many waited",
	TenantFairness:           "Jain's index of the cycles of tenants that send the same load: 1 if each did as many, 1/n if one of n did all",
	TenantCyclesMinRatio:     "cycles of the tenant that did the fewest, to the mean of all tenants",
	Unfinished:               "tasks of an open load that were sent in the window and not completed in it",
	Unsent:                   "tasks of an open load that were due in the window and not sent in it",
	Dropped:                  "tasks of an open load that were never sent",
	Held:                     "tasks of an open load that waited for the bound on tasks in flight",
	SteadyRateRatio:          "the rate in the window's last tenth to that in its second",
	DecayPercent:             "the loss of the rate over the window, of its mean; a limit is on its upper 95 % bound",
	DiskMBMax:                "the most disk space that the servers' data took",
	DiskMBEnd:                "disk space that the servers' data took in the end of the window",
	FillTasksPerS:            "tasks per second while the backlog was filled",
	EnqueuesPerS:             "acknowledged enqueues per second of a workload without workers",
	DrainCyclesPerS:          "cycles per second while the backlog was drained",
	DrainRatio:               "the rate while the backlog was drained to that of an empty queue",
	DrainSmallRatio:          "the rate while the backlog was drained to that of a small backlog",
	BacklogRSSMBMax:          "the most memory that the servers held with the backlog",
	RestartFirstClaimS:       "time from the start of a server to the answer of the first claim",
	Lost:                     "acknowledged tasks that were never handed out or are gone, over all rounds",
	Duplicated:               "tasks that were completed twice, over all rounds",
	Corrupted:                "tasks that were claimed with another payload or priority than they were enqueued with, over all rounds",
	ReadMismatches:           "reads that were answered wrongly, or with another tenant's task, over all rounds",
	ListsPerS:                "lists of a queue's tasks that were answered per second",
	ListsDropped:             "lists of a queue's tasks that came due and were not made, because too many waited",
	StatsPerS:                "reads of a queue's figures that were answered per second",
	StatsDropped:             "reads of a queue's figures that came due and were not made, because too many waited",
	AwaitsPerS:               "waits for the end of a task that were answered per second",
	AwaitEndedRatio:          "the share of the waits for the end of an own task that ended with the task's completion",
	AwaitsDropped:            "waits for the end of a task that came due and were not made, because too many waited",
}

// familyMeanings say what each latency family times.
var familyMeanings = map[string]string{
	EnqueueLatencyMs: "from when a task was due, or in a closed loop from the call of enqueue, to its acknowledgement",
	SettleLatencyMs:  "from the claim of a task to its acknowledged settle",
	CycleLatencyMs:   "from when a task was due, or in a closed loop from the call of enqueue, to its acknowledged completion",
	ServiceLatencyMs: "from the call of enqueue to its acknowledgement",
	SlipMs:           "how much later than it could the generator sent a task",
	ReadLatencyMs:    "from the call of a read to its answer",
	ListLatencyMs:    "from the call for the list of a queue's tasks to its answer",
	StatsLatencyMs:   "from the call for a queue's figures to its answer",
	AwaitLatencyMs:   "from the call that waits for the end of a task to its answer",
	ExtendLatencyMs:  "from the call of an extension of a lease to its acknowledgement",
	LateMs:           "from when the delay of a task was over to its first claim",
}

// Meaning says what the figure is, as a part of a sentence without its unit.
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
