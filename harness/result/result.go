// Package result is what a run measured: its schema, how it is stored in a run folder, and its
// export in the Go benchmark format.
package result

import "time"

// Version is the version of the schema of result.json.
const Version = 1

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
	Reasons  []string          `json:"reasons,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	Manifest Manifest          `json:"manifest"`
	Rounds   []Round           `json:"rounds"`
	Metrics  map[string]Metric `json:"metrics"`
	Profiles []Profile         `json:"profiles,omitempty"`
}

// Manifest says what was measured, on what, and how to do it again. It is stored as manifest.json too.
type Manifest struct {
	Command  []string `json:"command"`
	Dir      string   `json:"dir,omitempty"` // the working directory, relative to the repository where it is inside one
	Scenario any      `json:"scenario"`      // the scenario as expanded
	Host     Host     `json:"host"`
	Build    Build    `json:"build"`
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
	FsyncMsMax       float64 `json:"fsync_ms_max"`
}

// Build says which code was measured.
type Build struct {
	GoVersion string `json:"go_version"`
	Commit    string `json:"commit"`
	Dirty     bool   `json:"dirty"`
	Server    string `json:"server"` // SHA-256 of the queued binary
}

// Round is one fresh start of the topology.
type Round struct {
	Number        int                `json:"number"` // from 1
	Profiled      bool               `json:"profiled"`
	Verdict       Verdict            `json:"verdict"`
	Reasons       []string           `json:"reasons,omitempty"`
	Started       time.Time          `json:"started"`
	WindowSeconds float64            `json:"window_seconds"`
	Cycles        uint64             `json:"cycles"` // completions acknowledged inside the window
	Metrics       map[string]float64 `json:"metrics"`
	Ledger        Ledger             `json:"ledger"`
	Server        map[string]float64 `json:"server,omitempty"` // counters of the server at the round's end
}

// Ledger is a round's account of its tasks, warm-up and drain included.
type Ledger struct {
	Enqueued   uint64   `json:"enqueued"`          // acknowledged
	Unknown    uint64   `json:"unknown"`           // sent, neither acknowledged nor refused
	Completed  uint64   `json:"completed"`         // acknowledged
	Lost       uint64   `json:"lost"`              // enqueued and never completed
	Duplicated uint64   `json:"duplicated"`        // completed more than once
	Corrupted  uint64   `json:"corrupted"`         // claimed with a payload other than the one enqueued
	Samples    []string `json:"samples,omitempty"` // some of the tasks at fault, a bounded number, named
}

// Metric summarises a metric over the timed rounds. What Median, Low and High are depends on the metric:
//
//   - A latency percentile or maximum is that of the merged histogram of the timed rounds, never an average of
//     rounds; Low and High are the lowest and the highest round.
//   - The sample count of a latency (_n) is that of the merged histogram; Low and High are the smallest and the
//     largest round.
//   - Lost, duplicated and corrupted are the SUM over all rounds, the profiled ones included, because a loss in
//     one round of seven would vanish in a median; Low and High are the lowest and the highest round.
//   - All others are the median over rounds, with its 95 % interval where there are at least six rounds and its
//     range otherwise.
type Metric struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"` // rounds that went into it
	Unit   string  `json:"unit"`
}

// Profile is one capture of the profiled round, summarised.
type Profile struct {
	Kind string `json:"kind"` // "cpu", "mutex", "block", "allocs" or "goroutine"
	File string `json:"file"` // in the run folder
	Unit string `json:"unit"`
	// Total is the sum over the window, in Unit.
	Total float64        `json:"total"`
	Top   []ProfileEntry `json:"top"`
}

// ProfileEntry is a function's share of a profile.
type ProfileEntry struct {
	Function string  `json:"function"`
	Flat     float64 `json:"flat"`
	Cum      float64 `json:"cum"`
	Share    float64 `json:"share"` // Flat / Total, 0 to 1
}
