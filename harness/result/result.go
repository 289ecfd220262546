package result

import (
	"strings"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// Version is the version of the schema of result.json, rounds.json and histograms.json. Programs of
// this version reject every other version.
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
	// Repeated are invalid rounds that were measured again at the end of the run. No metric
	// includes them.
	Repeated []Round `json:"repeated,omitempty"`
	// Metrics are computed over all rounds. For a run with a sweep they contain only the counts of
	// tasks at fault (Spec.OfLedger), because other metrics cannot be combined over different
	// points.
	Metrics map[string]Metric `json:"metrics"`
	// Points are the points of a sweep in its order. Their numbers start at 1.
	Points []Point `json:"points,omitempty"`
	// NotMeasured are the points, or the whole run, that were skipped because this machine does not
	// meet their requirements.
	NotMeasured []NotMeasured `json:"not_measured,omitempty"`
	// Workloads are the metrics of each workload. They are empty if the scenario has only one
	// workload or a sweep.
	Workloads []Workload `json:"workloads,omitempty"`
	// References measure the host's capacity during the run, in the scenario's order; empty if the
	// scenario lists none.
	References []Reference `json:"references,omitempty"`
	Profiles   []Profile   `json:"profiles,omitempty"`
	Locks      []Lock      `json:"locks,omitempty"`
	Causes     []Cause     `json:"causes,omitempty"` // where the time went, most likely first
	// Bound is the resource that limits the rate. It is nil if no figure shows a limit, and for a
	// run with a sweep, whose points have separate bounds.
	Bound *Bound `json:"bound,omitempty"`
}

// Workload contains the metrics of one workload of a scenario with several workloads.
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
	// Workloads are the metrics of each workload; empty if the scenario has only one.
	Workloads []Workload `json:"workloads,omitempty"`
	Bound     *Bound     `json:"bound,omitempty"`
}

// Swept returns the values of the point as values of its scenario.
func (p Point) Swept() (values []scenario.Value) {
	for _, v := range p.Values {
		values = append(values, scenario.Value{Path: v.Path, Text: v.Text})
	}
	return values
}

// Value is a point's value for one sweep.
type Value struct {
	Path string `json:"path"` // "workload.main.workers"
	Key  string `json:"key"`  // "workers"
	Text string `json:"text"`
}

// Settings returns the value as "workers=8". If the sweep changes several settings together, it
// returns one text per setting.
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
	// Servers are the settings that the servers reported. The first element contains all settings
	// of one server. The elements of further points and nodes contain only the settings that differ
	// from the first element. Servers is empty if the servers did not report their settings.
	Servers []ServerSettings `json:"servers,omitempty"`
	// Targets are the kinds of servers that a driver program launched, one per point; empty for
	// Prony's own servers.
	Targets []Target `json:"targets,omitempty"`
	// Hosts are the hosts of servers that do not run on Host, where the generator runs; empty if
	// everything runs on one host.
	Hosts []ServerHost `json:"hosts,omitempty"`
}

// ServerSettings are the settings that a running server reported. Addresses and paths are omitted,
// because they differ in each round.
type ServerSettings struct {
	Point int    `json:"point,omitempty"` // number of its point in a run with a sweep
	Node  string `json:"node,omitempty"`  // its id in a cluster
	// Settings contains the server's settings, under the names that `queued config show` prints,
	// and the settings of the Go runtime.
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
	// FsyncMsP99 is the 99th percentile of at most about 200 fsyncs; with fewer than 100 fsyncs it
	// is the slowest one.
	FsyncMsP99 float64 `json:"fsync_ms_p99,omitempty"`
	FsyncMsMax float64 `json:"fsync_ms_max"`
	// ThreadHopUsP50 is the median time in which a byte passes through a pipe from one OS thread to
	// another: from the write until the waiting thread has read it. It is half of a round trip; the
	// kernel chooses the CPUs of both threads. It is measured before the first round.
	ThreadHopUsP50 float64 `json:"thread_hop_us_p50,omitempty"`
	ThreadHopUsP99 float64 `json:"thread_hop_us_p99,omitempty"`
	// PressureCPUPercent is the share of the ten seconds before the run in which at least one task
	// of the host waited for a CPU (PSI); nil if the kernel does not report it. Signals contains
	// the value for each window.
	PressureCPUPercent *float64 `json:"pressure_cpu_percent,omitempty"`
	// Virtualisation is the hypervisor of the machine, "none", or "" if not recorded.
	Virtualisation string `json:"virtualisation,omitempty"`
	// Container is the kind of container that this process runs in, "none", or "" if not recorded.
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
	// K6 is the SHA-256 of the k6 binary; "" unless a k6 script generated the load.
	K6 string `json:"k6,omitempty"`
}

// Round is the measurement of one fresh start of the topology.
type Round struct {
	Number int `json:"number"` // from 1
	// Point is the number of the round's point in a run with a sweep.
	Point    int  `json:"point,omitempty"`
	Profiled bool `json:"profiled"`
	// Calibration marks a round that only measured the peak rate of its point, with a closed load.
	Calibration   bool      `json:"calibration,omitempty"`
	Verdict       Verdict   `json:"verdict"`
	Reasons       []string  `json:"reasons,omitempty"`
	Started       time.Time `json:"started"`
	WindowSeconds float64   `json:"window_seconds"`
	// Cycles counts completions acknowledged inside the window.
	Cycles uint64 `json:"cycles"`
	// Enqueues counts enqueues acknowledged inside the window. It is set only for a workload
	// without workers, which has no cycles.
	Enqueues uint64             `json:"enqueues,omitempty"`
	Metrics  map[string]float64 `json:"metrics"`
	Ledger   Ledger             `json:"ledger"`
	// Server contains the servers' counters at the end of the round, summed over the nodes of a
	// cluster.
	Server map[string]float64 `json:"server,omitempty"`
	// Nodes are the figures of a cluster's nodes, in the order of the nodes' ids.
	Nodes    []Node    `json:"nodes,omitempty"`
	Arrivals *Arrivals `json:"arrivals,omitempty"`
	Reads    *Reads    `json:"reads,omitempty"` // gets: the reads of single tasks
	// OtherReads are the load's reads of other kinds, by kind: "list", "stats" and "await".
	OtherReads map[string]Reads `json:"other_reads,omitempty"`
	// TenantShares is nil unless the scenario has a single workload and its tenants all send the
	// same load.
	TenantShares *TenantShares `json:"tenant_shares,omitempty"`
	Backlog      *Backlog      `json:"backlog,omitempty"`
	Series       []Sample      `json:"series,omitempty"`
	Faults       *Faults       `json:"faults,omitempty"`
	Attacks      []Attack      `json:"attacks,omitempty"` // one per kind, in the scenario's order
	Recurring    *Recurring    `json:"recurring,omitempty"`
	// Workloads are the measurements of each workload, in the scenario's order; empty if it has
	// only one. All other fields are for all workloads together.
	Workloads []RoundWorkload `json:"workloads,omitempty"`
	Stages    []Stage         `json:"stages,omitempty"`
	// StagesOf is the time between the two readings of the servers' counters that Stages is derived
	// from. It is slightly longer than the window, and nil in older results.
	StagesOf *Covering `json:"stages_of,omitempty"`
	// StorageSteps is nil unless the servers counted storage operations by step during the whole
	// window.
	StorageSteps *StorageSteps `json:"storage_steps,omitempty"`
	// CycleTime is nil if the servers do not measure how long ready tasks wait, if the load has no
	// cycles, or if its workloads differ in the work time per task. Until Derive is called, only
	// its WorkMs is set.
	CycleTime *CycleTime `json:"cycle_time,omitempty"`
	// Observed is nil if the scenario does not observe its timed rounds.
	Observed *Observed `json:"observed,omitempty"`
	Turns    *Turns    `json:"turns,omitempty"` // nil if the server does not measure turns
	// LossWindow is nil if no server reports its figures.
	LossWindow *LossWindow `json:"loss_window,omitempty"`
	Stalls     *Stalls     `json:"stalls,omitempty"` // nil if no server records slow commits
	Signals    *Signals    `json:"signals,omitempty"`
	Warmup     *Warmup     `json:"warmup,omitempty"`
	Balances   []Balance   `json:"balances,omitempty"` // of the closed workloads
	// Traces are the execution traces of a profiled round with a cycle slower than its ceiling, one
	// per server.
	Traces    []Trace   `json:"traces,omitempty"`
	Processes []Process `json:"processes,omitempty"` // the generator first, then the servers
	// Hosts is nil unless the nodes of a cluster run on separate hosts.
	Hosts *Hosts `json:"hosts,omitempty"`
	// Covered lists, for each source of figures, the time during which they were recorded.
	Covered []Covered `json:"covered,omitempty"`
}

// RoundWorkload is the measurement, in one round, of one workload of a scenario with several.
type RoundWorkload struct {
	Name     string             `json:"name"`
	Cycles   uint64             `json:"cycles"`
	Metrics  map[string]float64 `json:"metrics"`
	Arrivals *Arrivals          `json:"arrivals,omitempty"`
	Reads    *Reads             `json:"reads,omitempty"`
	// OtherReads is defined as in Round.
	OtherReads map[string]Reads `json:"other_reads,omitempty"`
	// TenantShares is nil unless the workload's tenants send the same load.
	TenantShares *TenantShares `json:"tenant_shares,omitempty"`
}

// PartOfCycle returns how long goroutines wait for the lock per cycle, divided by the time per
// cycle (the reciprocal of the rate). The result exceeds 1 if several goroutines wait
// simultaneously. known is false if the run or the lock's point has no rate.
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

// Timed reports whether the round's figures are included in the metrics. Figures of profiled rounds
// and of calibration rounds are not.
func (r *Round) Timed() bool { return !r.Profiled && !r.Calibration }

// Node contains the figures of one node of a cluster in a round's window. Unavailable figures are
// omitted: a node that was down at the end of the window has no counters.
type Node struct {
	ID    string `json:"id"`              // "n1"
	Leads []int  `json:"leads,omitempty"` // the shards that it led at the end of the window
	// Metrics are the metrics of Specs that apply to a single server, under the same names. Values
	// per cycle are per cycle of the whole cluster.
	Metrics map[string]float64 `json:"metrics"`
	Server  map[string]float64 `json:"server,omitempty"` // its counters at the end of the round
}

// Arrivals counts the tasks of an open load that were due inside the window: scheduled = finished +
// unfinished + unsent + dropped + refused. The latencies include all of them. A task that was not
// finished is included with the time from its due time to the end of the window.
type Arrivals struct {
	PerSecond float64 `json:"per_second"` // rate at which tasks were due
	// PeakPerSecond is the calibrated peak, in cycles per second, of which the rate is a fraction.
	PeakPerSecond float64 `json:"peak_per_second,omitempty"`
	Scheduled     uint64  `json:"scheduled"`
	Finished      uint64  `json:"finished"`   // completed inside the window
	Unfinished    uint64  `json:"unfinished"` // sent but not completed by the end of the window
	// Unsent counts tasks that were not sent before the end of the window, because every producer
	// had a pending call until then or the generator was late.
	Unsent  uint64 `json:"unsent"`
	Dropped uint64 `json:"dropped"` // not sent because of the in-flight limit
	Refused uint64 `json:"refused"` // refused by the server
	Held    uint64 `json:"held"`    // sent late because every producer had a pending call
}

// Attack counts the actions of one kind of hostile client in a round. The count starts before the
// warm-up and ends with the round's load.
type Attack struct {
	Kind    string `json:"kind"`
	Tries   uint64 `json:"tries"`   // tries that began, including refused and failed ones
	Refused uint64 `json:"refused"` // tries that the server refused
	Failed  uint64 `json:"failed"`  // tries without an answer: cut, timed out or not connected
}

// Backlog contains the measurements that a round makes after its window: it fills a backlog, may
// restart the server, and drains the backlog.
type Backlog struct {
	Tasks   uint64  `json:"tasks"`
	FillS   float64 `json:"fill_s"`
	Restart string  `json:"restart"` // "none", "term" or "kill"
	// FirstClaimS is the time from the start of the new process to the answer to the first claim.
	FirstClaimS float64 `json:"first_claim_s,omitempty"`
	// ColdCache is nil unless the servers' files were dropped from the page cache before the
	// restart.
	ColdCache *ColdCache `json:"cold_cache,omitempty"`
	DrainS    float64    `json:"drain_s"` // from the first claim's answer to the last completion's
	Cycles    uint64     `json:"cycles"`
	// ReferenceTasks and ReferenceDrainS describe a small backlog that was drained first in the
	// same way; 0 without such a backlog.
	ReferenceTasks  uint64  `json:"reference_tasks,omitempty"`
	ReferenceDrainS float64 `json:"reference_drain_s,omitempty"`
	RSSMBFillMax    float64 `json:"rss_mb_fill_max"` // largest resident memory of the server
	// RSSMBDrainMax is the largest resident memory of the process that served the drain. Without a
	// restart, it includes the fill.
	RSSMBDrainMax float64 `json:"rss_mb_drain_max"`
}

// ColdCache reports how much of the servers' data was in the page cache at their restart. DataMB is
// the size of the data and LeftMB the cached part, both in millions of bytes.
type ColdCache struct {
	DataMB float64 `json:"data_mb"`
	LeftMB float64 `json:"left_mb"`
}

// Sample is one interval of a window's series.
type Sample struct {
	// AtS is the end of the interval, in seconds since the start of the window.
	AtS         float64 `json:"at_s"`
	CyclesPerS  float64 `json:"cycles_per_s"` // completions acknowledged in the interval
	ServerRSSMB float64 `json:"server_rss_mb"`
	DiskMB      float64 `json:"disk_mb"` // allocated to the server's data folder
}

// Metric summarises a metric over the timed rounds. The meaning of Median, Low and High depends on
// the metric:
//
//   - A latency percentile is computed from the merged histogram of the timed rounds, never as a
//     mean of rounds. Low and High are its 95 % interval by a bootstrap over rounds if Resampled is
//     set, otherwise the lowest and the highest round.
//   - A latency maximum and the number of samples of a latency (_n) are from the merged histogram;
//     Low and High are the lowest and the highest round.
//   - The figures of turns are computed from the turns of all timed rounds together; Low and High
//     are the lowest and the highest round.
//   - The figures of the window of loss are computed from all peaks of the timed rounds together;
//     Low and High are the lowest and the highest round.
//   - The figures of faults are computed from the faults of all timed rounds together, and
//     not_recovered and failed_calls are sums; Low and High are the lowest and the highest round.
//   - Lost, duplicated, corrupted and read_mismatches are the SUM over all rounds, including
//     profiled ones, because a loss in one round of seven would vanish in a median; Low and High
//     are the lowest and the highest round.
//   - All other metrics are the median over rounds. Low and High are its 95 % interval for at least
//     six rounds, and the lowest and the highest round otherwise.
type Metric struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"` // number of rounds used
	Unit   string  `json:"unit"`
	// Resampled is true if Low and High are the bootstrap 95 % interval of a latency percentile.
	Resampled bool `json:"resampled,omitempty"`
}

// Profile summarises one kind of profile, summed over the profiled rounds.
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
	// Areas divides the total of a server's CPU profile by code area; the areas sum to Total. It is
	// empty for a generator's profile.
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
