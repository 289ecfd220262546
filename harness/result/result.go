package result

import (
	"strings"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// Version is the version of the schema of result.json, rounds.json and histograms.json. No other
// version can be read.
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
	// Reasons explains in sentences why the verdict is not pass.
	Reasons  []string `json:"reasons,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Manifest Manifest `json:"manifest"`
	Rounds   []Round  `json:"rounds"`
	// Repeated are invalid rounds that were measured again at the end of the run. No metric counts
	// them.
	Repeated []Round `json:"repeated,omitempty"`
	// Metrics are those of all rounds. A run with a sweep has only the counts of tasks at fault
	// here, because rounds of different points have nothing else in common.
	Metrics map[string]Metric `json:"metrics"`
	// Points are the points of a sweep in its order. Their numbers start at 1.
	Points []Point `json:"points,omitempty"`
	// NotMeasured are the points, or the whole run, that were skipped because this machine does not
	// meet their requirements.
	NotMeasured []NotMeasured `json:"not_measured,omitempty"`
	// Workloads are the metrics of each workload of a scenario with several and without a sweep.
	Workloads []Workload `json:"workloads,omitempty"`
	// References measure the host's capacity during the run, in the order of the scenario; empty if
	// it requests none.
	References []Reference `json:"references,omitempty"`
	Profiles   []Profile   `json:"profiles,omitempty"`
	Locks      []Lock      `json:"locks,omitempty"`
	Causes     []Cause     `json:"causes,omitempty"` // where the time went, most likely first
	// Bound is nil if no figure shows a limit, and for a run with a sweep.
	Bound *Bound `json:"bound,omitempty"`
}

// Workload is one workload of several, with the measurements of its rounds.
type Workload struct {
	Name    string            `json:"name"`
	Metrics map[string]Metric `json:"metrics"`
}

// Point is one combination of swept values, with the measurements of its rounds.
type Point struct {
	Number  int               `json:"number"` // from 1
	Name    string            `json:"name"`   // "shards=4", or "shards=4, workers=8"
	Values  []Value           `json:"values"`
	Metrics map[string]Metric `json:"metrics"`
	// Workloads are the metrics of each workload of a scenario with several.
	Workloads []Workload `json:"workloads,omitempty"`
	Bound     *Bound     `json:"bound,omitempty"`
}

// Value is a point's value for one sweep.
type Value struct {
	Path string `json:"path"` // "workload.main.workers"
	Key  string `json:"key"`  // "workers"
	Text string `json:"text"`
}

// Settings returns the value as "workers=8". It splits the value of a sweep over several settings
// into one text per setting.
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

// Manifest describes a measurement, its host and build, and how to repeat it. It is also stored as
// manifest.json.
type Manifest struct {
	Command []string `json:"command"`
	// The working directory, relative to the repository if inside one.
	Dir      string            `json:"dir,omitempty"`
	Scenario scenario.Scenario `json:"scenario"` // with all defaults filled in
	Host     Host              `json:"host"`
	Build    Build             `json:"build"`
	// Servers are the settings that the servers reported. The first has all its settings; the
	// others, of further points and nodes, have those that differ from the first's. It is empty if
	// the servers did not report them.
	Servers []ServerSettings `json:"servers,omitempty"`
	// Targets are the kinds of servers that a driver program launched, one per point; empty for
	// Prony's own servers.
	Targets []Target `json:"targets,omitempty"`
	// Hosts are the hosts of servers that do not run on Host, the generator's; empty for a topology
	// on one host.
	Hosts []ServerHost `json:"hosts,omitempty"`
}

// ServerSettings are the settings that a running server reported. Addresses and paths are omitted,
// because they differ in each round.
type ServerSettings struct {
	Point int    `json:"point,omitempty"` // number of its point in a run with a sweep
	Node  string `json:"node,omitempty"`  // its id in a cluster
	// Settings has the settings by the names of `queued config show`, and those of the Go runtime.
	Settings []ServerSetting `json:"settings"`
}

// ServerSetting is one setting of a server.
type ServerSetting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // "default", "file", "environment", "flag" or "runtime"
}

// Host describes the machine of a run. A value that could not be read is "unknown" or 0, never
// guessed.
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
	// FsyncMsP99 is from at most about 200 fsyncs; with fewer than 100 it is the slowest.
	FsyncMsP99 float64 `json:"fsync_ms_p99,omitempty"`
	FsyncMsMax float64 `json:"fsync_ms_max"`
	// ThreadHopUs is the time from the write of a byte into a pipe by one OS thread until another
	// one, which waited for it, has read it: half of a round trip between two threads that the
	// kernel places. It is measured before the first round.
	ThreadHopUsP50 float64 `json:"thread_hop_us_p50,omitempty"`
	ThreadHopUsP99 float64 `json:"thread_hop_us_p99,omitempty"`
	// PressureCPUPercent is the share of the ten seconds before the run in which at least one task
	// of the host waited for a CPU (PSI); nil if the kernel does not report it. Signals has the
	// value of each window.
	PressureCPUPercent *float64 `json:"pressure_cpu_percent,omitempty"`
	// Virtualisation is the hypervisor of the machine, "none", or "" if not recorded.
	Virtualisation string `json:"virtualisation,omitempty"`
	// Container is the container of this process, "none", or "" if not recorded.
	Container string `json:"container,omitempty"`
}

// CommitUnknown is the commit of a build without build information.
const CommitUnknown = "unknown"

// Build identifies the measured code.
type Build struct {
	GoVersion string `json:"go_version"`
	Commit    string `json:"commit"`
	Dirty     bool   `json:"dirty"`
	Server    string `json:"server"` // SHA-256 of the queued binary
	// K6 is the SHA-256 of the k6 binary, if a script of k6 made the load.
	K6 string `json:"k6,omitempty"`
}

// Round is one fresh start of the topology.
type Round struct {
	Number int `json:"number"` // from 1
	// Point is the number of the round's point in a run with a sweep.
	Point    int  `json:"point,omitempty"`
	Profiled bool `json:"profiled"`
	// Calibration marks a closed load that found the peak of its point.
	Calibration   bool      `json:"calibration,omitempty"`
	Verdict       Verdict   `json:"verdict"`
	Reasons       []string  `json:"reasons,omitempty"`
	Started       time.Time `json:"started"`
	WindowSeconds float64   `json:"window_seconds"`
	// Cycles counts completions acknowledged inside the window.
	Cycles uint64 `json:"cycles"`
	// Enqueues counts enqueues acknowledged inside the window. Only a workload without workers,
	// which has no cycles, sets it.
	Enqueues uint64             `json:"enqueues,omitempty"`
	Metrics  map[string]float64 `json:"metrics"`
	Ledger   Ledger             `json:"ledger"`
	// Server counters at the end of the round; in a cluster summed over its nodes.
	Server map[string]float64 `json:"server,omitempty"`
	// Nodes are the nodes of a cluster in the order of their ids.
	Nodes    []Node    `json:"nodes,omitempty"`
	Arrivals *Arrivals `json:"arrivals,omitempty"`
	Reads    *Reads    `json:"reads,omitempty"` // gets: the reads of single tasks
	// OtherReads are the reads of the load's other kinds, by kind: "list", "stats" and "await".
	OtherReads map[string]Reads `json:"other_reads,omitempty"`
	// TenantShares is nil unless the scenario has one workload whose tenants send the same load.
	TenantShares *TenantShares `json:"tenant_shares,omitempty"`
	Backlog      *Backlog      `json:"backlog,omitempty"`
	Series       []Sample      `json:"series,omitempty"`
	Faults       *Faults       `json:"faults,omitempty"`
	Attacks      []Attack      `json:"attacks,omitempty"` // one per kind, in the scenario's order
	// Workloads are those of a scenario with several, in its order. The other figures are over all
	// of them.
	Workloads []RoundWorkload `json:"workloads,omitempty"`
	Stages    []Stage         `json:"stages,omitempty"`
	// StagesOf is the time between the two readings of the servers' counters that Stages are
	// derived from, a little longer than the window. It is nil in older results.
	StagesOf *Covering `json:"stages_of,omitempty"`
	// StorageSteps is nil if the servers do not count by step, or not over the whole window.
	StorageSteps *StorageSteps `json:"storage_steps,omitempty"`
	// CycleTime is nil if the servers do not time the wait of ready tasks, the load has no cycles,
	// or the work time per task differs between its workloads. Before Derive it has only WorkMs.
	CycleTime *CycleTime `json:"cycle_time,omitempty"`
	// Observed is nil if the scenario does not observe its timed rounds.
	Observed *Observed `json:"observed,omitempty"`
	Turns    *Turns    `json:"turns,omitempty"` // nil if the server does not time turns
	// LossWindow is nil if no server counts it.
	LossWindow *LossWindow `json:"loss_window,omitempty"`
	Stalls     *Stalls     `json:"stalls,omitempty"` // nil if no server records slow commits
	Signals    *Signals    `json:"signals,omitempty"`
	Warmup     *Warmup     `json:"warmup,omitempty"`
	Balances   []Balance   `json:"balances,omitempty"` // of the closed workloads
	// Traces are those of a profiled round with a slow cycle, one per server.
	Traces    []Trace   `json:"traces,omitempty"`
	Processes []Process `json:"processes,omitempty"` // the generator first, then the servers
	// Hosts is nil if the nodes of a cluster have no separate hosts.
	Hosts *Hosts `json:"hosts,omitempty"`
	// Covered lists the time that the figures from each source cover.
	Covered []Covered `json:"covered,omitempty"`
}

// RoundWorkload is the measurement of one workload of several in a round.
type RoundWorkload struct {
	Name     string             `json:"name"`
	Cycles   uint64             `json:"cycles"`
	Metrics  map[string]float64 `json:"metrics"`
	Arrivals *Arrivals          `json:"arrivals,omitempty"`
	Reads    *Reads             `json:"reads,omitempty"`
	// OtherReads are as in Round.
	OtherReads map[string]Reads `json:"other_reads,omitempty"`
	// TenantShares is nil unless the workload's tenants send the same load.
	TenantShares *TenantShares `json:"tenant_shares,omitempty"`
}

// PartOfCycle returns the time that goroutines wait for a lock per cycle, as a fraction of the time
// per cycle, which is the reciprocal of the rate. It exceeds 1 if several wait simultaneously.
// known is false if the run or the lock's point has no rate.
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

// Timed reports whether the round's figures count. Those of profiled rounds and of rounds that only
// found the peak do not.
func (r *Round) Timed() bool { return !r.Profiled && !r.Calibration }

// Node has the figures of one node of a cluster in a round's window. Unavailable figures are
// omitted: a node that was down at the end of the window has no counters.
type Node struct {
	ID    string `json:"id"`              // "n1"
	Leads []int  `json:"leads,omitempty"` // the shards that it led at the end of the window
	// Metrics are the metrics of the table that apply to one server, under the same names. Per
	// cycle means per cycle of the cluster.
	Metrics map[string]float64 `json:"metrics"`
	Server  map[string]float64 `json:"server,omitempty"` // its counters at the end of the round
}

// Arrivals counts the tasks of an open load that were due inside the window: scheduled = finished +
// unfinished + unsent + dropped + refused. All of them are in the latencies. Tasks that were not
// finished count with the time from their due time to the end of the window.
type Arrivals struct {
	PerSecond float64 `json:"per_second"` // due
	// The peak that the rate is a fraction of: cycles, in the calibration.
	PeakPerSecond float64 `json:"peak_per_second,omitempty"`
	Scheduled     uint64  `json:"scheduled"`
	Finished      uint64  `json:"finished"`   // completed inside the window
	Unfinished    uint64  `json:"unfinished"` // sent but not completed by the end of the window
	// Unsent counts tasks that were due while every producer had a pending call until the end of
	// the window, or slipped past it.
	Unsent  uint64 `json:"unsent"`
	Dropped uint64 `json:"dropped"` // not sent because of the in-flight limit
	Refused uint64 `json:"refused"` // by the server
	Held    uint64 `json:"held"`    // sent late because every producer had a pending call
}

// Attack counts the actions of one kind of hostile client in a round, from before its warm-up to
// the end of its load.
type Attack struct {
	Kind    string `json:"kind"`
	Tries   uint64 `json:"tries"`   // tries that began, including refused and failed ones
	Refused uint64 `json:"refused"` // tries that the server refused
	Failed  uint64 `json:"failed"`  // tries without an answer: cut, timed out or not connected
}

// Backlog has the measurements of a round after its window.
type Backlog struct {
	Tasks   uint64  `json:"tasks"`
	FillS   float64 `json:"fill_s"`
	Restart string  `json:"restart"` // "none", "term" or "kill"
	// FirstClaimS is the time from the start of the new process to the first claim's answer.
	FirstClaimS float64 `json:"first_claim_s,omitempty"`
	// ColdCache is nil unless the servers' files were dropped from the page cache before the
	// restart.
	ColdCache *ColdCache `json:"cold_cache,omitempty"`
	DrainS    float64    `json:"drain_s"` // from the first claim's answer to the last completion's
	Cycles    uint64     `json:"cycles"`
	// Figures of the small backlog that was drained first in the same way; 0 without one.
	ReferenceTasks  uint64  `json:"reference_tasks,omitempty"`
	ReferenceDrainS float64 `json:"reference_drain_s,omitempty"`
	RSSMBFillMax    float64 `json:"rss_mb_fill_max"` // of the server's resident memory
	// RSSMBDrainMax is that of the process that drained: with a restart since its start, otherwise
	// including the fill.
	RSSMBDrainMax float64 `json:"rss_mb_drain_max"`
}

// ColdCache has the amount of the servers' data in the page cache at their restart, in millions of
// bytes.
type ColdCache struct {
	DataMB float64 `json:"data_mb"`
	LeftMB float64 `json:"left_mb"`
}

// Sample is one interval of a window's series.
type Sample struct {
	// AtS is the end of the interval, in seconds since the start of the window.
	AtS         float64 `json:"at_s"`
	CyclesPerS  float64 `json:"cycles_per_s"` // completions acknowledged in it
	ServerRSSMB float64 `json:"server_rss_mb"`
	DiskMB      float64 `json:"disk_mb"` // allocated to the server's data folder
}

// Ledger is a round's account of its tasks, including warm-up and drain.
type Ledger struct {
	Enqueued uint64 `json:"enqueued"` // acknowledged
	// Unknown counts tasks sent but neither acknowledged nor refused.
	Unknown   uint64 `json:"unknown"`
	Completed uint64 `json:"completed"` // acknowledged
	// InDoubt counts tasks enqueued but not completed, unless an unanswered completion took effect.
	InDoubt uint64 `json:"in_doubt,omitempty"`
	// Left counts tasks enqueued and left on the server: no worker claims them, or the drain was
	// too short.
	Left       uint64 `json:"left,omitempty"`
	Lost       uint64 `json:"lost"`       // enqueued but never completed
	Duplicated uint64 `json:"duplicated"` // completed more than once
	// Corrupted counts tasks claimed with another payload or priority than enqueued.
	Corrupted uint64 `json:"corrupted"`
	// Misrouted counts tasks claimed from another tenant or queue than the one of their enqueue.
	Misrouted uint64 `json:"misrouted,omitempty"`
	// Reordered counts tasks claimed after a later task of the same producer and queue, if checked.
	Reordered uint64 `json:"reordered,omitempty"`
	// Contested counts claims of a task with another valid lease, if checked.
	Contested uint64 `json:"contested,omitempty"`
	// Revoked counts completions refused despite a valid lease, if checked.
	Revoked uint64 `json:"revoked,omitempty"`
	// Reads of tasks that were answered and judged.
	Reads uint64 `json:"reads,omitempty"`
	// Misread counts the answers in Reads with another task or payload, with another tenant's task,
	// or without an existing task.
	Misread uint64 `json:"misread,omitempty"`
	// Failed counts acknowledged failures of attempts by workers.
	Failed uint64 `json:"failed,omitempty"`
	// Retried counts deliveries of tasks whose previous attempt failed.
	Retried uint64 `json:"retried,omitempty"`
	// Dead counts tasks whose last attempt failed. They count neither as completed nor as lost.
	Dead uint64 `json:"dead,omitempty"`
	// Miscounted counts tasks claimed with an attempt other than the one after the last failed one.
	Miscounted uint64 `json:"miscounted,omitempty"`
	// Delayed counts deliveries of tasks that were enqueued with a delay.
	Delayed uint64 `json:"delayed,omitempty"`
	// Early counts the deliveries in Delayed before the end of the delay.
	Early uint64 `json:"early,omitempty"`
	// Results of completed tasks that were read back.
	Results uint64 `json:"results,omitempty"`
	// WrongResults counts the answers in Results with another result or none.
	WrongResults uint64 `json:"wrong_results,omitempty"`
	Extended     uint64 `json:"extended,omitempty"` // acknowledged extensions of leases
	// Unextended counts extensions refused despite a valid lease.
	Unextended uint64 `json:"unextended,omitempty"`
	// Repeated counts tasks enqueued again under their idempotency key, acknowledged.
	Repeated uint64 `json:"repeated,omitempty"`
	// Rekeyed counts the tasks in Repeated whose second enqueue returned another id than the first.
	Rekeyed uint64 `json:"rekeyed,omitempty"`
	// Samples names some of the tasks at fault, bounded in number.
	Samples []string `json:"samples,omitempty"`
}

// Metric summarises a metric over the timed rounds. The meaning of Median, Low and High depends on
// the metric:
//
//   - A latency percentile is that of the merged histogram of the timed rounds, never an average of
//     rounds. Low and High are its 95 % interval by a bootstrap over rounds if Resampled is set,
//     otherwise the lowest and the highest round.
//   - A latency maximum is that of the merged histogram; Low and High are the lowest and the highest round.
//   - The sample count of a latency (_n) is that of the merged histogram; Low and High are the smallest and the
//     largest round.
//   - The figures of turns are computed from the turns of all timed rounds together; Low and High
//     are the lowest and the highest round.
//   - The figures of the window of loss are computed from all peaks of the timed rounds together;
//     Low and High are the lowest and the highest round.
//   - The figures of faults are computed from the faults of all timed rounds together, and
//     not_recovered and failed_calls are sums; Low and High are the lowest and the highest round.
//   - Lost, duplicated, corrupted and read_mismatches are the SUM over all rounds, including
//     profiled ones, because a loss in one round of seven would vanish in a median; Low and High
//     are the lowest and the highest round.
//   - All others are the median over rounds, with its 95 % interval for at least six rounds and its
//     range otherwise.
type Metric struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"` // number of rounds used
	Unit   string  `json:"unit"`
	// Resampled reports that Low and High are the 95 % interval of a percentile of merged
	// histograms.
	Resampled bool `json:"resampled,omitempty"`
}

// Profile is one kind of profile, added up over the profiled rounds and summarised.
type Profile struct {
	Point int `json:"point,omitempty"` // number of its point in a run with a sweep
	// Node is the id of the node in a cluster, or GeneratorNode for the generator.
	Node string `json:"node,omitempty"`
	Kind string `json:"kind"` // "cpu", "mutex", "block", "allocs" or "goroutine"
	File string `json:"file"` // in the run folder
	Unit string `json:"unit"`
	// Rounds is the number of rounds with this profile, and Cycles the completions during its
	// recording, over all nodes.
	Rounds int    `json:"rounds,omitempty"`
	Cycles uint64 `json:"cycles,omitempty"`
	// Total is the sum over the windows, in Unit.
	Total float64        `json:"total"`
	Top   []ProfileEntry `json:"top"`
	// Charges are the largest charges of a CPU or allocation profile.
	Charges []Charge `json:"charges,omitempty"`
	// Areas are the code areas with a part of a CPU profile's total, which they sum to; empty for a
	// generator's profile.
	Areas []ProfileArea `json:"areas,omitempty"`
}

// ProfileArea is the part of a CPU profile in one area of a server's code. Each sample belongs to
// one area.
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
