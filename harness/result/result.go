package result

import (
	"strings"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// Version is the version of the schema of result.json. Results of all versions up to it are read, but for the histograms of version 1. Version 2
// added the points of a sweep, rounds that calibrate, arrivals, backlogs and series, and histograms by name. Version 3 added the nodes of a cluster,
// in rounds and of profiles, and faults. Version 4 added workloads, stages, signals, the judgement of the warm-up, processes, locks and causes.
const Version = 4

// Result is one run of one scenario. It is stored as result.json.
type Result struct {
	Version  int       `json:"version"`
	Run      string    `json:"run"` // the run's id, which is its folder's name
	Scenario string    `json:"scenario"`
	Title    string    `json:"title"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Verdict  Verdict   `json:"verdict"`
	// Reasons says, one sentence each, why the verdict is not pass.
	Reasons  []string `json:"reasons,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Manifest Manifest `json:"manifest"`
	Rounds   []Round  `json:"rounds"`
	// Repeated are rounds that were invalid, as they were before they were measured once more at the end of the run. No metric counts them.
	Repeated []Round `json:"repeated,omitempty"`
	// Metrics are those of all rounds. A run with a sweep has only the counts of tasks at fault here: rounds of different points have
	// nothing else in common.
	Metrics map[string]Metric `json:"metrics"`
	Points  []Point           `json:"points,omitempty"` // of a sweep, in its order; their numbers count from 1
	// NotMeasured are points that were left out, or the whole run, since this machine cannot do what they ask for.
	NotMeasured []NotMeasured `json:"not_measured,omitempty"`
	// Workloads are the metrics of each workload of a scenario with several and without a sweep.
	Workloads []Workload `json:"workloads,omitempty"`
	// References are what the host was worth meanwhile, in the order of the scenario; empty where it asks for none.
	References []Reference `json:"references,omitempty"`
	Profiles   []Profile   `json:"profiles,omitempty"`
	Locks      []Lock      `json:"locks,omitempty"`
	Causes     []Cause     `json:"causes,omitempty"` // where the time went, the most likely first
	Bound      *Bound      `json:"bound,omitempty"`  // nil where nothing tells, and of a run with a sweep
}

// Workload is one workload of several, with what its rounds measured.
type Workload struct {
	Name    string            `json:"name"`
	Metrics map[string]Metric `json:"metrics"`
}

// Point is one combination of swept values, with what its rounds measured.
type Point struct {
	Number  int               `json:"number"` // from 1
	Name    string            `json:"name"`   // "shards=4", or "shards=4, workers=8"
	Values  []Value           `json:"values"`
	Metrics map[string]Metric `json:"metrics"`
	// Workloads are the metrics of each workload of a scenario with several.
	Workloads []Workload `json:"workloads,omitempty"`
	Bound     *Bound     `json:"bound,omitempty"`
}

// Value is what a point takes for one sweep.
type Value struct {
	Path string `json:"path"` // "workload.main.workers"
	Key  string `json:"key"`  // "workers"
	Text string `json:"text"`
}

// Settings returns the value as "workers=8", and those of a sweep that changes several settings together as one for each.
func (v Value) Settings() (all []string) {
	keys, texts := strings.Split(v.Key, ", "), strings.Split(v.Text, ", ")
	if len(keys) != len(texts) {
		return []string{v.Key + "=" + v.Text}
	}
	for i := range keys {
		all = append(all, keys[i]+"="+texts[i])
	}
	return all
}

// Manifest says what was measured, on what, and how to do it again. It is stored as manifest.json too.
type Manifest struct {
	Command  []string          `json:"command"`
	Dir      string            `json:"dir,omitempty"` // the working directory, relative to the repository where it is inside one
	Scenario scenario.Scenario `json:"scenario"`      // with every default filled in
	Host     Host              `json:"host"`
	Build    Build             `json:"build"`
	// Servers are what the servers said that they run with: the first has all its settings, and the others, of further points and
	// nodes, have those that differ from the first's. It is empty if the servers did not say it.
	Servers []ServerSettings `json:"servers,omitempty"`
	// Targets are the kinds of servers that a driver program launched, one of each point; empty of Prony's own servers.
	Targets []Target `json:"targets,omitempty"`
	// Hosts are those of servers on other hosts than the generator's, which Host is; empty of a topology on one host.
	Hosts []ServerHost `json:"hosts,omitempty"`
}

// ServerSettings are what a server said, when it served, that it runs with. Addresses and paths, which each round has others of, are
// left out.
type ServerSettings struct {
	Point    int             `json:"point,omitempty"` // the number of its point, of a run with a sweep
	Node     string          `json:"node,omitempty"`  // its id, of a cluster
	Settings []ServerSetting `json:"settings"`        // by the names of `queued config show`, and those of its Go runtime
}

// ServerSetting is one of them.
type ServerSetting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // "default", "file", "environment", "flag" or "runtime"
}

// Host describes the machine of a run. A value that could not be read is "unknown" or 0, never guessed.
type Host struct {
	OS               string  `json:"os"`
	Kernel           string  `json:"kernel"`
	Arch             string  `json:"arch"`
	CPUModel         string  `json:"cpu_model"`
	CPUs             int     `json:"cpus"`
	GOMAXPROCS       int     `json:"gomaxprocs"`
	GOMAXPROCSSource string  `json:"gomaxprocs_source"` // "env", "cgroup", "cpus" or "scenario"
	MemoryMB         float64 `json:"memory_mb"`
	CgroupCPUMax     string  `json:"cgroup_cpu_max"`
	CgroupMemoryMax  string  `json:"cgroup_memory_max"`
	Filesystem       string  `json:"filesystem"`   // of the data folder
	FsyncMsP50       float64 `json:"fsync_ms_p50"` // measured there, before the first round
	// FsyncMsP99 is that of some 200 fsyncs at most: of fewer than 100 it is the slowest.
	FsyncMsP99 float64 `json:"fsync_ms_p99,omitempty"`
	FsyncMsMax float64 `json:"fsync_ms_max"`
	// ThreadHopUs is the time from the write of a byte into a pipe by one OS thread until another one, which waited for it, has read it:
	// half of a round trip between two threads, which the kernel places. Measured before the first round.
	ThreadHopUsP50 float64 `json:"thread_hop_us_p50,omitempty"`
	ThreadHopUsP99 float64 `json:"thread_hop_us_p99,omitempty"`
	// PressureCPUPercent is the share of the ten seconds before the run in which some task of the host waited for a CPU (PSI); nil where
	// the kernel does not tell. That of each window is in Signals.
	PressureCPUPercent *float64 `json:"pressure_cpu_percent,omitempty"`
	// Virtualisation is the hypervisor that the machine runs under, "none", or "" if it was not recorded.
	Virtualisation string `json:"virtualisation,omitempty"`
	// Container is what this process is confined by, "none", or "" if it was not recorded.
	Container string `json:"container,omitempty"`
}

// CommitUnknown is the commit of a build that does not say what it was built from.
const CommitUnknown = "unknown"

// Build says which code was measured.
type Build struct {
	GoVersion string `json:"go_version"`
	Commit    string `json:"commit"`
	Dirty     bool   `json:"dirty"`
	Server    string `json:"server"`       // SHA-256 of the queued binary
	K6        string `json:"k6,omitempty"` // SHA-256 of the k6 binary, where a script of k6's made the load
}

// Round is one fresh start of the topology.
type Round struct {
	Number        int                `json:"number"`          // from 1
	Point         int                `json:"point,omitempty"` // the number of its point, of a run with a sweep
	Profiled      bool               `json:"profiled"`
	Calibration   bool               `json:"calibration,omitempty"` // a closed load that found the peak of its point
	Verdict       Verdict            `json:"verdict"`
	Reasons       []string           `json:"reasons,omitempty"`
	Started       time.Time          `json:"started"`
	WindowSeconds float64            `json:"window_seconds"`
	Cycles        uint64             `json:"cycles"`             // completions acknowledged inside the window
	Enqueues      uint64             `json:"enqueues,omitempty"` // acknowledged inside the window; only of a workload without workers, which has no cycles
	Metrics       map[string]float64 `json:"metrics"`
	Ledger        Ledger             `json:"ledger"`
	Server        map[string]float64 `json:"server,omitempty"` // counters of the server at the round's end; of a cluster summed over its nodes
	Nodes         []Node             `json:"nodes,omitempty"`  // of a cluster, in the order of their ids
	Arrivals      *Arrivals          `json:"arrivals,omitempty"`
	Reads         *Reads             `json:"reads,omitempty"` // of a load that reads single tasks: the gets
	// OtherReads are the reads of the other kinds that the load has, by kind: "list", "stats" and "await".
	OtherReads map[string]Reads `json:"other_reads,omitempty"`
	// TenantShares is nil unless the scenario has one workload, whose tenants send the same load.
	TenantShares *TenantShares `json:"tenant_shares,omitempty"`
	Backlog      *Backlog      `json:"backlog,omitempty"`
	Series       []Sample      `json:"series,omitempty"`
	Faults       *Faults       `json:"faults,omitempty"`
	Attacks      []Attack      `json:"attacks,omitempty"` // one of each kind, in the scenario's order
	// Workloads are those of a scenario with several, in its order. What stands beside them is over all of them.
	Workloads []RoundWorkload `json:"workloads,omitempty"`
	Stages    []Stage         `json:"stages,omitempty"`
	// StagesOf is the time between the two readings of the servers' counters that Stages come from, which is a little longer than the window. Nil
	// in older results.
	StagesOf *Covering `json:"stages_of,omitempty"`
	// StorageSteps is nil where the servers do not count by step, or not all of the window.
	StorageSteps *StorageSteps `json:"storage_steps,omitempty"`
	// CycleTime is nil where the servers do not time the wait of ready tasks, the load has no cycles, or its workloads differ in how long the
	// workers take for a task. Before Derive it has WorkMs alone.
	CycleTime *CycleTime `json:"cycle_time,omitempty"`
	Observed  *Observed  `json:"observed,omitempty"` // nil of a scenario that does not observe its timed rounds
	Turns     *Turns     `json:"turns,omitempty"`    // nil where the server does not time them
	// LossWindow is nil where no server counts it.
	LossWindow *LossWindow `json:"loss_window,omitempty"`
	Stalls     *Stalls     `json:"stalls,omitempty"` // nil where no server records slow commits
	Signals    *Signals    `json:"signals,omitempty"`
	Warmup     *Warmup     `json:"warmup,omitempty"`
	Balances   []Balance   `json:"balances,omitempty"`  // of the closed workloads
	Traces     []Trace     `json:"traces,omitempty"`    // of a profiled round with a slow cycle, one of each server
	Processes  []Process   `json:"processes,omitempty"` // the generator first, then the servers
	Hosts      *Hosts      `json:"hosts,omitempty"`     // nil where the nodes of a cluster have no hosts of their own
	// Covered says which time the figures from each source cover.
	Covered []Covered `json:"covered,omitempty"`
}

// RoundWorkload is what one workload of several measured in a round.
type RoundWorkload struct {
	Name     string             `json:"name"`
	Cycles   uint64             `json:"cycles"`
	Metrics  map[string]float64 `json:"metrics"`
	Arrivals *Arrivals          `json:"arrivals,omitempty"`
	Reads    *Reads             `json:"reads,omitempty"`
	// OtherReads are as those of a round.
	OtherReads map[string]Reads `json:"other_reads,omitempty"`
	// TenantShares is nil unless the workload's tenants send the same load.
	TenantShares *TenantShares `json:"tenant_shares,omitempty"`
}

// PartOfCycle returns the time that goroutines wait for a lock per cycle, as a part of the time per cycle, which is the reciprocal of the rate. It
// is above 1 if several wait at once. known is false if the run or the lock's point has no rate.
func (r *Result) PartOfCycle(l Lock) (part float64, known bool) {
	metrics := r.Metrics
	for _, p := range r.Points {
		if p.Number == l.Point {
			metrics = p.Metrics
		}
	}
	rate := metrics[CyclesPerS].Median
	return l.WaitNsPerCycle * rate / 1e9, rate > 0
}

// Timed reports whether the round's figures count: not if it was profiled, or only found the peak.
func (r *Round) Timed() bool { return !r.Profiled && !r.Calibration }

// Node is what one node of a cluster did in a round's window. A figure that it has none of is left out: a node that was
// down at the window's end counts nothing.
type Node struct {
	ID    string `json:"id"`              // "n1"
	Leads []int  `json:"leads,omitempty"` // the shards that it led at the window's end
	// Metrics are those of the table that hold for one server, under the same names. Per cycle means per cycle of the
	// cluster.
	Metrics map[string]float64 `json:"metrics"`
	Server  map[string]float64 `json:"server,omitempty"` // its counters at the round's end
}

// Arrivals is the account of the tasks of an open load that were due inside the window:
// scheduled = finished + unfinished + unsent + dropped + refused. All of them are in the latencies: those that were not
// finished with what was left of the window when they were due.
type Arrivals struct {
	PerSecond     float64 `json:"per_second"`                // due
	PeakPerSecond float64 `json:"peak_per_second,omitempty"` // which the rate is a part of: cycles, in the calibration
	Scheduled     uint64  `json:"scheduled"`
	Finished      uint64  `json:"finished"`   // completed inside the window
	Unfinished    uint64  `json:"unfinished"` // sent, and not completed by its end
	Unsent        uint64  `json:"unsent"`     // due when every producer had a call under way until its end, or slipped beyond it
	Dropped       uint64  `json:"dropped"`    // not sent, since as many were in flight as may be
	Refused       uint64  `json:"refused"`    // by the server
	Held          uint64  `json:"held"`       // sent late, since every producer had a call under way
}

// Attack counts what the hostile clients of one kind did in a round, from before its warm-up until its load had ended.
type Attack struct {
	Kind    string `json:"kind"`
	Tries   uint64 `json:"tries"`   // tries that began, including refused and failed ones
	Refused uint64 `json:"refused"` // tries that the server refused
	Failed  uint64 `json:"failed"`  // tries without an answer: cut, timed out or not connected
}

// Backlog is what a round did after its window.
type Backlog struct {
	Tasks       uint64  `json:"tasks"`
	FillS       float64 `json:"fill_s"`
	Restart     string  `json:"restart"`                 // "none", "term" or "kill"
	FirstClaimS float64 `json:"first_claim_s,omitempty"` // from the start of the new process to the first claim's answer
	// ColdCache is nil unless the kernel was made to forget the servers' files before the restart.
	ColdCache *ColdCache `json:"cold_cache,omitempty"`
	DrainS    float64    `json:"drain_s"` // from the first claim's answer to the last completion's
	Cycles    uint64     `json:"cycles"`
	// Of the small backlog that was drained first, in the same way; 0 where there was none.
	ReferenceTasks  uint64  `json:"reference_tasks,omitempty"`
	ReferenceDrainS float64 `json:"reference_drain_s,omitempty"`
	RSSMBFillMax    float64 `json:"rss_mb_fill_max"` // of the server's resident memory
	// RSSMBDrainMax is that of the process that drained: with a restart from its start, else including the fill.
	RSSMBDrainMax float64 `json:"rss_mb_drain_max"`
}

// ColdCache says how much of the servers' data was in the page cache when they started again, in millions of bytes.
type ColdCache struct {
	DataMB float64 `json:"data_mb"`
	LeftMB float64 `json:"left_mb"`
}

// Sample is one interval of a window's series.
type Sample struct {
	AtS         float64 `json:"at_s"`         // the interval's end, in seconds from the window's start
	CyclesPerS  float64 `json:"cycles_per_s"` // completions acknowledged in it
	ServerRSSMB float64 `json:"server_rss_mb"`
	DiskMB      float64 `json:"disk_mb"` // allocated to the server's data folder
}

// Ledger is a round's account of its tasks, warm-up and drain included.
type Ledger struct {
	Enqueued     uint64   `json:"enqueued"`                // acknowledged
	Unknown      uint64   `json:"unknown"`                 // sent, neither acknowledged nor refused
	Completed    uint64   `json:"completed"`               // acknowledged
	InDoubt      uint64   `json:"in_doubt,omitempty"`      // enqueued and not completed, unless a completion that was never answered took effect
	Left         uint64   `json:"left,omitempty"`          // enqueued and left on the server: no worker claims them, or the drain was too short
	Lost         uint64   `json:"lost"`                    // enqueued and never completed
	Duplicated   uint64   `json:"duplicated"`              // completed more than once
	Corrupted    uint64   `json:"corrupted"`               // claimed with a payload or a priority other than that of the enqueue
	Misrouted    uint64   `json:"misrouted,omitempty"`     // claimed from another tenant or queue than they were enqueued for
	Reordered    uint64   `json:"reordered,omitempty"`     // claimed after a later task of the same producer and queue, where that was watched
	Contested    uint64   `json:"contested,omitempty"`     // claims of a task while another lease of it was valid, where that was watched
	Revoked      uint64   `json:"revoked,omitempty"`       // completions refused although their lease was valid, where that was watched
	Reads        uint64   `json:"reads,omitempty"`         // reads of tasks that were answered and judged
	Misread      uint64   `json:"misread,omitempty"`       // of them those answered with another task or payload, with another tenant's task, or without a task that was there
	Failed       uint64   `json:"failed,omitempty"`        // attempts that workers failed, acknowledged
	Retried      uint64   `json:"retried,omitempty"`       // deliveries of tasks whose attempt before was failed
	Dead         uint64   `json:"dead,omitempty"`          // tasks whose last attempt was failed: they count neither as completed nor as lost
	Miscounted   uint64   `json:"miscounted,omitempty"`    // claimed with another attempt than the one after the last that was failed
	Delayed      uint64   `json:"delayed,omitempty"`       // deliveries of tasks that were enqueued with a delay
	Early        uint64   `json:"early,omitempty"`         // of them those before the delay was over
	Results      uint64   `json:"results,omitempty"`       // results of completed tasks that were read back
	WrongResults uint64   `json:"wrong_results,omitempty"` // of them those answered with another result, or with none
	Extended     uint64   `json:"extended,omitempty"`      // extensions of leases that were acknowledged
	Unextended   uint64   `json:"unextended,omitempty"`    // extensions that were refused although the lease was valid
	Repeated     uint64   `json:"repeated,omitempty"`      // tasks that were enqueued again under their idempotency key, acknowledged
	Rekeyed      uint64   `json:"rekeyed,omitempty"`       // of them those whose second enqueue was answered with another id than the first
	Samples      []string `json:"samples,omitempty"`       // some of the tasks at fault, a bounded number, named
}

// Metric summarises a metric over the timed rounds. What Median, Low and High are depends on the metric:
//
//   - A latency percentile is that of the merged histogram of the timed rounds, never an average of rounds. Low and High are
//     its 95 % interval by a bootstrap over rounds if Resampled says so, and otherwise the lowest and the highest round.
//   - A latency maximum is that of the merged histogram; Low and High are the lowest and the highest round.
//   - The sample count of a latency (_n) is that of the merged histogram; Low and High are the smallest and the
//     largest round.
//   - The figures of turns are those of the turns of all timed rounds together; Low and High are the lowest and the highest
//     round.
//   - The figures of the window of loss are those of all peaks of the timed rounds together; Low and High are the lowest and the
//     highest round.
//   - The figures of faults are those of the faults of all timed rounds together, and not_recovered and failed_calls their sums; Low
//     and High are the lowest and the highest round.
//   - Lost, duplicated, corrupted and read_mismatches are the SUM over all rounds, the profiled ones included, because a loss in
//     one round of seven would vanish in a median; Low and High are the lowest and the highest round.
//   - All others are the median over rounds, with its 95 % interval where there are at least six rounds and its
//     range otherwise.
type Metric struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"` // rounds that went into it
	Unit   string  `json:"unit"`
	// Resampled says that Low and High are the 95 % interval of a percentile of merged histograms.
	Resampled bool `json:"resampled,omitempty"`
}

// Profile is one capture of the profiled rounds, added up and summarised.
type Profile struct {
	Point int    `json:"point,omitempty"` // the number of its point, of a run with a sweep
	Node  string `json:"node,omitempty"`  // the id of the node, of a cluster; GeneratorNode of the generator
	Kind  string `json:"kind"`            // "cpu", "mutex", "block", "allocs" or "goroutine"
	File  string `json:"file"`            // in the run folder
	Unit  string `json:"unit"`
	// Rounds are those that it was captured in, and Cycles the completions while it was recorded, over all nodes.
	Rounds int    `json:"rounds,omitempty"`
	Cycles uint64 `json:"cycles,omitempty"`
	// Total is the sum over the windows, in Unit.
	Total float64        `json:"total"`
	Top   []ProfileEntry `json:"top"`
	// Charges are the largest, of a CPU and an allocation profile.
	Charges []Charge `json:"charges,omitempty"`
	// Areas are those of the code that have a part of a CPU profile's total, and sum to it; empty of a generator's profile.
	Areas []ProfileArea `json:"areas,omitempty"`
}

// ProfileArea is what one area of a server's code has of a CPU profile: each sample belongs to one area.
type ProfileArea struct {
	Name  string  `json:"name"`  // "codec", "get", "rpc", ...
	Value float64 `json:"value"` // in the profile's unit
}

// ProfileEntry is a function's share of a profile.
type ProfileEntry struct {
	Function string  `json:"function"`
	Flat     float64 `json:"flat"`
	Cum      float64 `json:"cum"`
	Share    float64 `json:"share"` // Flat / Total, 0 to 1
}
