package result

import (
	"math"
	"slices"
)

// The names of the metrics. They must not change: baselines, pages and other people's scripts refer
// to them.
const (
	CyclesPerS          = "cycles_per_s"
	ServerCPUUsPerCycle = "server_cpu_us_per_cycle"
	ClientCPUUsPerCycle = "client_cpu_us_per_cycle"
	CPUUsPerCycle       = "cpu_us_per_cycle" // both sides together
	ServerRSSMBMax      = "server_rss_mb_max"
	ServerCPUCores      = "server_cpu_cores" // CPUs that the servers kept busy
	Lost                = "lost"
	Duplicated          = "duplicated"
	Corrupted           = "corrupted"

	// The number of keys set, looked up and deleted in the server's store during the window, per
	// task completed in the window.
	StorageSetsPerCycle    = "storage_sets_per_cycle"
	StorageGetsPerCycle    = "storage_gets_per_cycle"
	StorageDeletesPerCycle = "storage_deletes_per_cycle"

	// WrittenBytesPerCycle is the number of bytes that the kernel sent to storage for the server,
	// per completed task; in a cluster the mean over the nodes.
	WrittenBytesPerCycle = "written_bytes_per_cycle"

	// The number of times that a thread of the servers or of the load generator gave up its CPU to
	// wait, per completed task: the voluntary context switches.
	ServerSwitchesPerCycle = "server_switches_per_cycle"
	ClientSwitchesPerCycle = "client_switches_per_cycle"

	// StorageSetBytesPerCycle is the size of the keys and values that were set in the store, per
	// completed task.
	StorageSetBytesPerCycle = "storage_set_bytes_per_cycle"

	// Allocations of the servers' runtimes, per completed task, over all nodes.
	ServerAllocsPerCycle     = "server_allocs_per_cycle"
	ServerGoroutinesMax      = "server_goroutines_max"
	ServerAllocBytesPerCycle = "server_alloc_bytes_per_cycle"
	// StorageFsyncsPerCycle is the number of fsyncs of the servers' stores and of a cluster's Raft
	// logs, over all nodes.
	StorageFsyncsPerCycle = "storage_fsyncs_per_cycle"
	// StorageFsyncUsPerCycle is the time of the stores' fsyncs, including fsyncs in the background.
	StorageFsyncUsPerCycle = "storage_fsync_us_per_cycle"
	// StorageScannedPerCycle is the number of keys that scans of the stores stepped over, including
	// deleted keys.
	StorageScannedPerCycle = "storage_scanned_keys_per_cycle"
	// Metrics of a cluster. An entry of the Raft log contains the commands that arrived while the
	// previous entry was proposed. Each node appends all entries. The mean time of appends is over
	// all nodes, the mean time of commits over the leaders.
	RaftEntriesPerCycle  = "raft_entries_per_cycle"
	RaftEntryBytesMean   = "raft_entry_bytes_mean"
	RaftLogBytesPerCycle = "raft_log_bytes_per_cycle" // bytes that each node appended to its log
	// RaftAppendMsMean is the mean time of one call that appends entries to a node's log.
	RaftAppendMsMean = "raft_append_ms_mean"
	RaftCommitMsMean = "raft_commit_ms_mean" // from the proposal of an entry to its effect
	RaftElections    = "raft_elections"      // in the window, over all nodes

	// The turns of the shards' deciding goroutines; see Turns.
	ShardTurnsAbove2MsRatio = "shard_turns_above_2ms_ratio"
	ShardTurnMsMax          = "shard_turn_ms_max"
	ShardTurnItemsMax       = "shard_turn_items_max"

	// The window of loss; see LossWindow.
	UnsyncedTasksP99 = "unsynced_tasks_p99"
	UnsyncedTasksMax = "unsynced_tasks_max"
	UnsyncedMsP99    = "unsynced_ms_p99"
	UnsyncedMsMax    = "unsynced_ms_max"

	// CycleUnattributedPercent is the difference between the mean time of a cycle and the sum of
	// its parts; see CycleTime.
	CycleUnattributedPercent = "cycle_unattributed_percent"

	// RateCost compares a point of a run with sweeps to its reference point. The reference has the
	// first value of the first sweep, and the same values of all other sweeps. RateCost is the rate
	// of the reference divided by the rate of the point. A turn contains one round of each point;
	// RateCost is the median of this ratio over the turns.
	RateCost = "rate_cost"

	// ProfilingOverheadRatio is the rate of the timed rounds next to a profiled round, divided by
	// the rate of the profiled round. ProfilingCPURatio is the CPU time per cycle of the profiled
	// round, divided by that of the timed rounds. In both, 1.05 is an overhead of 5 %.
	ProfilingOverheadRatio = "profiling_overhead_ratio"
	ProfilingCPURatio      = "profiling_cpu_ratio"

	// Metrics of an open load; see Arrivals.
	OfferedPerS = "offered_per_s"
	Unfinished  = "unfinished"
	Unsent      = "unsent"
	Dropped     = "dropped"
	Held        = "held"

	// EnqueuesPerS is the rate of acknowledged enqueues of a workload without workers.
	EnqueuesPerS = "enqueues_per_s"

	// The evenness of service for tenants that send the same load; see TenantShares.
	TenantFairness       = "tenant_fairness"
	TenantCyclesMinRatio = "tenant_cycles_min_ratio"

	// Metrics of a load that reads tasks; see Reads.
	ReadsPerS = "reads_per_s" // answered
	// ReadFoundRatio is the fraction of the reads by a task's own tenant that were answered with
	// the task.
	ReadFoundRatio = "read_found_ratio"
	ReadsDropped   = "reads_dropped"
	ReadMismatches = "read_mismatches" // Misread of the ledger, for all kinds of reads

	// The metrics of lists, of reads of a queue's figures, and of waits for the end of a task; see
	// Reads.
	ListsPerS    = "lists_per_s"
	ListsDropped = "lists_dropped"
	StatsPerS    = "stats_per_s"
	StatsDropped = "stats_dropped"
	AwaitsPerS   = "awaits_per_s"
	// AwaitEndedRatio is the fraction of the awaits by a task's own tenant that ended with the
	// task's completion.
	AwaitEndedRatio = "await_ended_ratio"
	AwaitsDropped   = "awaits_dropped"

	// Metrics of a backlog.
	FillTasksPerS   = "fill_tasks_per_s"
	DrainCyclesPerS = "drain_cycles_per_s"
	// DrainRatio is DrainCyclesPerS divided by CyclesPerS, the rate with an empty queue.
	DrainRatio = "drain_ratio"
	// DrainSmallRatio is DrainCyclesPerS divided by the drain rate of a small backlog that was
	// drained first.
	DrainSmallRatio = "drain_small_ratio"
	BacklogRSSMBMax = "backlog_rss_mb_max"
	// RestartFirstClaimS is the time from the start of the process to the answer to the first
	// claim.
	RestartFirstClaimS = "restart_first_claim_s"

	// Metrics of a series. SteadyRateRatio is the rate in the window's last tenth divided by the
	// rate in its second tenth.
	SteadyRateRatio = "steady_rate_ratio"
	// DecayPercent is the loss of the rate over the window relative to its mean: see Decay.
	DecayPercent = "decay_percent"
	DiskMBMax    = "disk_mb_max"
	DiskMBEnd    = "disk_mb_end"
)

// The metrics of the faults in the timed rounds' windows: medians, worst values and sums over all
// faults.
const (
	// FaultFirstAckMsMedian is the median time from the fault to the first acknowledged cycle after
	// the outage; 0 without an outage.
	FaultFirstAckMsMedian = "fault_first_ack_ms_median"
	FaultFirstAckMsMax    = "fault_first_ack_ms_max"
	// FaultRecoveryMsMedian is the median time from the fault until the rate reached
	// Faults.RecoveredShare of the rate before the fault. Faults after which it was not reached are
	// excluded.
	FaultRecoveryMsMedian = "fault_recovery_ms_median"
	FaultRecoveryMsMax    = "fault_recovery_ms_max"
	// FaultsNotRecovered counts the faults after which that rate was not reached.
	FaultsNotRecovered = "not_recovered"
	// FaultDipPercent is the median drop of the rate after a fault, relative to the rate before it.
	FaultDipPercent       = "fault_dip_percent"
	FaultLevelRatio       = "fault_level_ratio"         // of each round: see Faults.Level
	FaultLastToFirstRatio = "fault_last_to_first_ratio" // of each round: see Faults.LastToFirst
	// FaultsBackSoon counts the faults after which the rate returned to 95 % within a second.
	FaultsBackSoon = "back_at_95_percent_in_1s"
	FailedCalls    = "failed_calls" // calls of the load with an unknown outcome
)

// The latency families. The metrics of a family are named by the family and a suffix: _p50, _p90,
// _p95, _p99, _p999, _max or _n.
const (
	EnqueueLatencyMs = "enqueue_latency_ms" // from the call of enqueue to its acknowledgement
	SettleLatencyMs  = "settle_latency_ms"  // from the claim to the acknowledged settle
	// CycleLatencyMs is the time from the call of enqueue to the acknowledged completion.
	CycleLatencyMs = "cycle_latency_ms"

	// ServiceLatencyMs is for an open load, whose enqueue and cycle latencies start at the due time
	// of the task.
	ServiceLatencyMs = "enqueue_service_ms" // from the call of enqueue to its acknowledgement
	// SlipMs is the delay of the generator: from the earliest time at which it could send a task
	// until it sent the task.
	SlipMs = "slip_ms"

	// For a load that reads tasks.
	ReadLatencyMs = "read_latency_ms" // from the call of a read to its answer

	// The latencies of lists, of reads of a queue's figures, and of waits for the end of a task,
	// from the call to the answer.
	ListLatencyMs  = "list_latency_ms"
	StatsLatencyMs = "stats_latency_ms"
	AwaitLatencyMs = "await_latency_ms"

	// LateMs is the time from the end of a task's delay to the first claim of the task.
	LateMs = "late_ms"

	// ExtendLatencyMs is the time from the call that extends a lease to its acknowledgement.
	ExtendLatencyMs = "extend_latency_ms"

	// CancelNoticeMs is the time from the call that cancels a leased task to the notice at its worker.
	CancelNoticeMs = "cancel_notice_ms"

	// RecurringLateMs is the time from the due time of a recurring task to the arrival of its task at
	// a worker, by the clock of the host.
	RecurringLateMs = "recurring_late_ms"
)

// Part is a part of a scenario with separate metrics.
type Part string

// The parts. A metric without a part is required in every round.
const (
	OfLoad      Part = "load"    // tasks are completed in the window
	OfEnqueue   Part = "enqueue" // tasks are enqueued in the window but not claimed
	OfOpen      Part = "open load"
	OfReads     Part = "reads" // of single tasks
	OfLists     Part = "lists"
	OfStats     Part = "queue figures"
	OfAwaits    Part = "awaits"
	OfDelays    Part = "delays"
	OfExtends   Part = "extensions"
	OfCancels   Part = "cancellations"
	OfRecurring Part = "recurring tasks"
	OfTenants   Part = "tenants" // several tenants send the same load
	OfBacklog   Part = "backlog"
	OfRestart   Part = "restart"
	// OfReference is a small backlog that is drained in addition to the large one.
	OfReference Part = "reference"
	OfSeries    Part = "series"
	OfStorage   Part = "storage" // the server counts the operations of its store
	OfRuntime   Part = "runtime" // the server reports its runtime's allocations
	OfRaft      Part = "raft"
	OfTurns     Part = "turns"   // the server measures the turns of its shards
	OfLoss      Part = "loss"    // the server counts its window of loss
	OfAnatomy   Part = "anatomy" // the server measures how long ready tasks wait
	OfSweep     Part = "sweep"
	OfFaults    Part = "faults"
	OfProfiling Part = "profiling"

	// InOneProcess removes the metrics of resource use that need separate processes, because the
	// server runs in the generator's process. NoServer also removes the server's memory.
	InOneProcess Part = "in one process"
	NoServer     Part = "no server"
	// ClaimsAlone removes the latencies of enqueues and cycles, because the tasks were enqueued
	// before the warm-up.
	ClaimsAlone Part = "claims alone"
	// Elsewhere makes the CPU time and the memory of servers on other hosts optional: the servers
	// themselves report both, so nothing is known of a killed process.
	Elsewhere Part = "elsewhere"
)

// Better is the direction of a metric's improvement.
type Better string

// The two directions.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Spec describes a metric.
type Spec struct {
	Name   string
	Unit   string
	Better Better
	// Family is the latency family that the metric belongs to, or "".
	Family string
	Part   Part
	// Zero reports that 0 is a valid value. For any other metric, 0 means that nothing was
	// measured.
	Zero bool
	// Partial reports that a round may lack the metric. It is then summarised over the rounds that
	// have a value.
	Partial bool
	// Promised reports that the servers guarantee a minimum value of the metric, although lower is
	// better. A baseline may set a floor for such a metric.
	Promised bool
	// Bounded reports that Low and High of the metric are one-sided 95 % bounds of its true value,
	// and that any of the three may be negative. A limit is compared with the bounds.
	Bounded bool
}

// SamplesLeast returns the smallest number of samples that includes one sample beyond the
// percentile, for example 100 for p99. It is 0 for a metric that is not a percentile.
func (s Spec) SamplesLeast() int {
	for _, p := range percentiles {
		if s.Family != "" && s.Name == s.Family+p.suffix {
			return int(math.Ceil(100/(100-p.percent) - 1e-9))
		}
	}
	return 0
}

type percentile struct {
	suffix  string // of the metric, after its family
	percent float64
}

// percentiles are the percentiles of every latency family.
var percentiles = []percentile{{"_p50", 50}, {"_p90", 90}, {"_p95", 95}, {"_p99", 99}, {"_p999", 99.9}}

// specs is the table of all metrics in display order.
var specs = func() []Spec {
	table := []Spec{
		{Name: CyclesPerS, Unit: "1/s", Better: Higher, Part: OfLoad},
		{Name: EnqueuesPerS, Unit: "1/s", Better: Higher, Part: OfEnqueue},
		{Name: CPUUsPerCycle, Unit: "us", Better: Lower, Part: OfLoad},
		{Name: ServerCPUUsPerCycle, Unit: "us", Better: Lower, Part: OfLoad},
		{Name: ClientCPUUsPerCycle, Unit: "us", Better: Lower, Part: OfLoad},
		{Name: ServerSwitchesPerCycle, Unit: "switches", Better: Lower, Part: OfLoad, Zero: true, Partial: true},
		{Name: ClientSwitchesPerCycle, Unit: "switches", Better: Lower, Part: OfLoad, Zero: true, Partial: true},
		{Name: ServerCPUCores, Unit: "CPUs", Better: Lower},
		{Name: ServerRSSMBMax, Unit: "MB", Better: Lower},
		{Name: StorageSetsPerCycle, Unit: "keys", Better: Lower, Part: OfStorage},
		{Name: StorageGetsPerCycle, Unit: "keys", Better: Lower, Part: OfStorage, Zero: true},
		{Name: StorageDeletesPerCycle, Unit: "keys", Better: Lower, Part: OfStorage, Zero: true},
		{Name: StorageSetBytesPerCycle, Unit: "bytes", Better: Lower, Part: OfStorage},
		{Name: WrittenBytesPerCycle, Unit: "bytes", Better: Lower, Part: OfStorage, Zero: true},
		{Name: StorageFsyncsPerCycle, Unit: "fsyncs", Better: Lower, Part: OfStorage, Zero: true, Promised: true},
		{Name: StorageFsyncUsPerCycle, Unit: "us", Better: Lower, Part: OfStorage, Zero: true},
		{Name: StorageScannedPerCycle, Unit: "keys", Better: Lower, Part: OfStorage, Zero: true},
		{Name: ServerAllocsPerCycle, Unit: "objects", Better: Lower, Part: OfRuntime},
		{Name: ServerAllocBytesPerCycle, Unit: "bytes", Better: Lower, Part: OfRuntime},
		{Name: ServerGoroutinesMax, Unit: "goroutines", Better: Lower, Part: OfRuntime, Partial: true},
		{Name: RaftEntriesPerCycle, Unit: "entries", Better: Lower, Part: OfRaft},
		{Name: RaftEntryBytesMean, Unit: "bytes", Better: Higher, Part: OfRaft},
		{Name: RaftLogBytesPerCycle, Unit: "bytes", Better: Lower, Part: OfRaft},
		{Name: RaftAppendMsMean, Unit: "ms", Better: Lower, Part: OfRaft},
		{Name: RaftCommitMsMean, Unit: "ms", Better: Lower, Part: OfRaft},
		{Name: RaftElections, Unit: "elections", Better: Lower, Part: OfRaft, Zero: true},
		{Name: ShardTurnsAbove2MsRatio, Unit: "ratio", Better: Lower, Part: OfTurns, Zero: true},
		{Name: ShardTurnMsMax, Unit: "ms", Better: Lower, Part: OfTurns},
		{Name: ShardTurnItemsMax, Unit: "items", Better: Lower, Part: OfTurns},
		{Name: UnsyncedTasksP99, Unit: "tasks", Better: Lower, Part: OfLoss, Zero: true, Partial: true},
		{Name: UnsyncedTasksMax, Unit: "tasks", Better: Lower, Part: OfLoss, Zero: true, Partial: true},
		{Name: UnsyncedMsP99, Unit: "ms", Better: Lower, Part: OfLoss, Zero: true, Partial: true},
		{Name: UnsyncedMsMax, Unit: "ms", Better: Lower, Part: OfLoss, Zero: true, Partial: true},
		{Name: CycleUnattributedPercent, Unit: "%", Better: Lower, Part: OfAnatomy, Zero: true, Partial: true},
		{Name: FaultFirstAckMsMedian, Unit: "ms", Better: Lower, Part: OfFaults, Zero: true},
		{Name: FaultFirstAckMsMax, Unit: "ms", Better: Lower, Part: OfFaults, Zero: true},
		{Name: FaultRecoveryMsMedian, Unit: "ms", Better: Lower, Part: OfFaults, Zero: true, Partial: true},
		{Name: FaultRecoveryMsMax, Unit: "ms", Better: Lower, Part: OfFaults, Zero: true, Partial: true},
		{Name: FaultDipPercent, Unit: "%", Better: Lower, Part: OfFaults, Zero: true},
		{Name: FaultsNotRecovered, Unit: "faults", Better: Lower, Part: OfFaults, Zero: true},
		{Name: FaultLevelRatio, Unit: "ratio", Better: Higher, Part: OfFaults, Zero: true},
		{Name: FaultLastToFirstRatio, Unit: "ratio", Better: Higher, Part: OfFaults, Zero: true, Partial: true},
		{Name: FaultsBackSoon, Unit: "faults", Better: Higher, Part: OfFaults, Zero: true, Partial: true},
		{Name: FailedCalls, Unit: "calls", Better: Lower, Part: OfFaults, Zero: true},
		{Name: RateCost, Unit: "ratio", Better: Lower, Part: OfSweep},
		{Name: ProfilingOverheadRatio, Unit: "ratio", Better: Lower, Part: OfProfiling},
		{Name: ProfilingCPURatio, Unit: "ratio", Better: Lower, Part: OfProfiling},
		{Name: OfferedPerS, Unit: "1/s", Better: Higher, Part: OfOpen},
		{Name: Unfinished, Unit: "tasks", Better: Lower, Part: OfOpen, Zero: true},
		{Name: Unsent, Unit: "tasks", Better: Lower, Part: OfOpen, Zero: true},
		{Name: Dropped, Unit: "tasks", Better: Lower, Part: OfOpen, Zero: true},
		{Name: Held, Unit: "tasks", Better: Lower, Part: OfOpen, Zero: true},
		{Name: ReadsPerS, Unit: "1/s", Better: Higher, Part: OfReads},
		{Name: ReadFoundRatio, Unit: "ratio", Better: Higher, Part: OfReads, Zero: true, Partial: true},
		{Name: ReadsDropped, Unit: "reads", Better: Lower, Part: OfReads, Zero: true},
		{Name: ListsPerS, Unit: "1/s", Better: Higher, Part: OfLists},
		{Name: ListsDropped, Unit: "reads", Better: Lower, Part: OfLists, Zero: true},
		{Name: StatsPerS, Unit: "1/s", Better: Higher, Part: OfStats},
		{Name: StatsDropped, Unit: "reads", Better: Lower, Part: OfStats, Zero: true},
		{Name: AwaitsPerS, Unit: "1/s", Better: Higher, Part: OfAwaits},
		{Name: AwaitEndedRatio, Unit: "ratio", Better: Higher, Part: OfAwaits, Zero: true, Partial: true},
		{Name: AwaitsDropped, Unit: "reads", Better: Lower, Part: OfAwaits, Zero: true},
		{Name: TenantFairness, Unit: "ratio", Better: Higher, Part: OfTenants},
		{Name: TenantCyclesMinRatio, Unit: "ratio", Better: Higher, Part: OfTenants, Zero: true},
		{Name: SteadyRateRatio, Unit: "ratio", Better: Higher, Part: OfSeries},
		{Name: DecayPercent, Unit: "%", Better: Lower, Part: OfSeries, Partial: true, Bounded: true},
		{Name: DiskMBMax, Unit: "MB", Better: Lower, Part: OfSeries},
		{Name: DiskMBEnd, Unit: "MB", Better: Lower, Part: OfSeries},
		{Name: FillTasksPerS, Unit: "1/s", Better: Higher, Part: OfBacklog},
		{Name: DrainCyclesPerS, Unit: "1/s", Better: Higher, Part: OfBacklog},
		{Name: DrainRatio, Unit: "ratio", Better: Higher, Part: OfBacklog},
		{Name: DrainSmallRatio, Unit: "ratio", Better: Higher, Part: OfReference},
		{Name: BacklogRSSMBMax, Unit: "MB", Better: Lower, Part: OfBacklog},
		{Name: RestartFirstClaimS, Unit: "s", Better: Lower, Part: OfRestart},
	}
	for _, family := range []struct {
		name string
		part Part
	}{
		{EnqueueLatencyMs, OfLoad},
		{SettleLatencyMs, OfLoad},
		{CycleLatencyMs, OfLoad},
		{ServiceLatencyMs, OfOpen},
		{SlipMs, OfOpen},
		{ReadLatencyMs, OfReads},
		{ListLatencyMs, OfLists},
		{StatsLatencyMs, OfStats},
		{AwaitLatencyMs, OfAwaits},
		{LateMs, OfDelays},
		{ExtendLatencyMs, OfExtends},
		{CancelNoticeMs, OfCancels},
		{RecurringLateMs, OfRecurring},
	} {
		for _, p := range percentiles {
			table = append(table, Spec{Name: family.name + p.suffix, Unit: "ms", Better: Lower, Family: family.name, Part: family.part})
		}
		table = append(table,
			Spec{Name: family.name + "_max", Unit: "ms", Better: Lower, Family: family.name, Part: family.part},
			Spec{Name: family.name + "_n", Unit: "samples", Better: Higher, Family: family.name, Part: family.part})
	}
	for _, name := range []string{Lost, Duplicated, Corrupted} {
		table = append(table, Spec{Name: name, Unit: "tasks", Better: Lower, Zero: true})
	}
	table = append(table, Spec{Name: ReadMismatches, Unit: "reads", Better: Lower, Part: OfReads, Zero: true})
	return table
}()

// Merged reports whether the metric of several rounds is computed from all their samples together
// instead of as a median over rounds.
func (s Spec) Merged() bool {
	return s.Family != "" || s.Part == OfTurns || s.Part == OfLoss || s.Part == OfFaults && s.Name != FaultLevelRatio && s.Name != FaultLastToFirstRatio
}

// Percentile reports whether the metric is a percentile of a latency.
func (s Spec) Percentile() bool { return s.SamplesLeast() > 0 }

// Specs returns every metric in display order. The caller owns the slice.
func Specs() []Spec { return slices.Clone(specs) }

// Lookup returns the metric of the given name.
func Lookup(name string) (Spec, bool) {
	i := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == name })
	if i < 0 {
		return Spec{}, false
	}
	return specs[i], true
}

// OfLedger reports whether the metric counts tasks or reads at fault. Such a metric is a sum over
// all rounds. It is published even if the ledger does not balance, because it shows the imbalance.
func (s Spec) OfLedger() bool {
	return s.Name == Lost || s.Name == Duplicated || s.Name == Corrupted || s.Name == ReadMismatches
}

// Sum reports whether a run's value is the sum over its rounds.
func (s Spec) Sum() bool {
	return s.OfLedger() || s.Name == FaultsNotRecovered || s.Name == FaultsBackSoon || s.Name == FailedCalls
}

// OfWorkload reports whether the metric is also computed for each workload of a scenario with
// several workloads.
func (s Spec) OfWorkload() bool {
	switch s.Part {
	case OfReads, OfLists, OfStats, OfAwaits:
		return !s.OfLedger()
	default:
		return s.Family != "" || s.Name == CyclesPerS || s.Part == OfOpen || s.Part == OfTenants
	}
}
