package result

import (
	"fmt"
	"path/filepath"
	"time"
)

// DuetFile is the file of a duet in its folder.
const DuetFile = "duet.json"

// DuetVersion is the version of Duet's schema.
const DuetVersion = 2

// Duet is the joint measurement of two builds. Both run on one host and receive the load in
// alternating slices, in several generations of fresh processes. It is stored as duet.json.
type Duet struct {
	Version  int       `json:"version"`
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Manifest contains the host, the command and the scenario. Its build is the build of the
	// harness; Sides contains the builds of the sides.
	Manifest Manifest `json:"manifest"`
	// Sides are base and change, in this order.
	Sides [2]DuetSide `json:"sides"`
	// Together reports that both sides had load simultaneously on separate cores; otherwise their
	// slices alternate.
	Together bool `json:"together,omitempty"`
	// CPUs are the two sets of CPUs that the sides use in turns; Generation.CPUs selects the set.
	// If nil, each process may run on all CPUs.
	CPUs []SideCPUs `json:"cpus,omitempty"`
	// SliceMs is the intended length of a slice. A slice ends when nothing is in flight.
	SliceMs float64 `json:"slice_ms"`
	// OpenPerS is the arrival rate per second of the open-loop phase, the same for both sides; 0
	// without this phase.
	OpenPerS    float64      `json:"open_per_s"`
	Generations []Generation `json:"generations"` // in order
	// Work contains the counters measured on fixed work; nil if not measured.
	Work *FixedWork `json:"work,omitempty"`
	// ProfiledS is the duration in seconds of the profiled generations, which are not in
	// Generations.
	ProfiledS float64  `json:"profiled_s,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

// SideCPUs are the numbers of the CPUs that the processes of one side may use.
type SideCPUs struct {
	Servers   []int `json:"servers"` // shared by all servers of the side
	Generator []int `json:"generator"`
}

// DuetSide describes one side of a duet.
type DuetSide struct {
	Name    string   `json:"name"` // "base" or "change"
	Commit  string   `json:"commit"`
	Dirty   bool     `json:"dirty"`
	Servers []string `json:"servers"` // SHA-256 of the queued binaries, one for each linker layout
	// Generator is the SHA-256 of the load generator. OwnClient reports that the generator was
	// built with this side's client package; otherwise it was built with the harness's client
	// package.
	Generator string `json:"generator"`
	OwnClient bool   `json:"own_client"`
	// Env is the environment of the servers and the generator, in addition to the harness's own.
	Env []string `json:"env,omitempty"`
	// Settings are the settings that the servers of the first generation reported, as in a
	// Manifest; nil if they reported none.
	Settings []ServerSettings `json:"settings,omitempty"`
}

// Generation is one start of fresh processes of both sides, with new data folders.
type Generation struct {
	Number  int       `json:"number"` // from 1
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"` // from the start of the processes to their end
	// First is the side whose processes started first: 0 is the base, 1 the change.
	First  int `json:"first"`
	Layout int `json:"layout"` // index into the Servers of both sides
	// CPUs is the index in Duet.CPUs of the set that is used by the side that started first. The
	// second side uses the same set if the slices alternate, and the other set if both sides have
	// load simultaneously.
	CPUs  int               `json:"cpus,omitempty"`
	Sides [2]GenerationSide `json:"sides"`
	// Points are the points of a sweep in the scenario's order; nil without one. With points, Sides
	// contains the sums over the points, and its Open is nil.
	Points []GenerationPoint `json:"points,omitempty"`
	// Slices are the slices of the closed loop in the order of measurement.
	Slices []Slice `json:"slices,omitempty"`
	// Signals are the host's signals from the first slice to the end of the open phase.
	Signals *Signals `json:"signals,omitempty"`
	// Verdict is pass if the generation enters the comparison. Otherwise Reasons explain why not.
	Verdict Verdict  `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`
	// Marks name slices that a stall of the host or the server disturbed. Marked slices are
	// compared like any other slice.
	Marks []string `json:"marks,omitempty"`
}

// GenerationSide is the measurement of one side in a generation. CPU time is measured from the
// start of the first slice to the end of the last slice, including slices of the other side.
// Flushes, compactions and garbage collections are therefore charged to the side that caused them.
type GenerationSide struct {
	Cycles      uint64 `json:"cycles"`        // acknowledged in the closed loop
	ServerCPUNs int64  `json:"server_cpu_ns"` // of all processes of the side's servers
	ClientCPUNs int64  `json:"client_cpu_ns"` // of the side's generator
	// IdleCPUNs is the part of ServerCPUNs that was used in slices of the other side.
	IdleCPUNs int64   `json:"idle_cpu_ns"`
	ActiveS   float64 `json:"active_s"` // the sum of the side's slices
	// Stages are the servers' stages in the closed phase. PerCycle contains the servers' counters
	// in that phase, by the name of the metric. Both explain a loss and are not judged; each is nil
	// if it could not be read.
	Stages   []Stage            `json:"stages,omitempty"`
	PerCycle map[string]float64 `json:"per_cycle,omitempty"`
	// RSSMB is the largest resident memory of all processes of the side's servers together; 0 if
	// not measured.
	RSSMB float64 `json:"rss_mb,omitempty"`
	// Goroutines is the number of goroutines of all servers of the side together at the start or
	// the end of the closed phase, whichever is larger; 0 if not read.
	Goroutines int `json:"goroutines,omitempty"`
	// ServerCode and ClientCode report how the kernel mapped the program code of all servers
	// together and of the generator. Both are nil if the kernel does not report it, and ClientCode
	// is nil in a sweep.
	ServerCode *CodePages `json:"server_code,omitempty"`
	ClientCode *CodePages `json:"client_code,omitempty"`
	// Open is the cycle latency of the open-loop phase; nil without this phase.
	Open *DuetLatency `json:"open,omitempty"`
	// Ledger is the balance of all the side's tasks.
	Ledger Ledger `json:"ledger"`
	// Faults are those reasons to exclude the generation that only this side caused: a process that
	// ended, calls that failed, a rate of 0. The gate tests whether the change caused more excluded
	// generations than the base.
	Faults []string `json:"faults,omitempty"`
}

// CodePages reports how the kernel mapped program code at the end of a generation. The same code
// runs faster in large pages.
type CodePages struct {
	ResidentMB float64 `json:"resident_mb"`    // code in memory
	LargeMB    float64 `json:"large_pages_mb"` // the part in large pages (2 MiB on amd64)
}

// DuetLatency is the response time of a cycle from its intended start. An arrival that was not
// finished at the end of its slice is included with the time that it had waited by then.
type DuetLatency struct {
	Arrivals   uint64 `json:"arrivals"`
	Unfinished uint64 `json:"unfinished"`
	// The percentiles are from the merged histogram of the side's open slices. P95Ms is 0 in files
	// of earlier versions.
	P50Ms float64 `json:"p50_ms"`
	P95Ms float64 `json:"p95_ms,omitempty"`
	P99Ms float64 `json:"p99_ms"`
	// Enqueue is the latency from the intended start to the acknowledgement of the enqueue; nil in
	// files of earlier versions.
	Enqueue   *DuetEnqueue `json:"enqueue,omitempty"`
	SlipMsP99 float64      `json:"slip_ms_p99"` // delay of the generator's sends
}

// DuetEnqueue contains the percentiles of the enqueue latency, computed like those of DuetLatency.
// P95Ms and P99Ms are 0 in files of earlier versions.
type DuetEnqueue struct {
	P50Ms float64 `json:"p50_ms"`
	P95Ms float64 `json:"p95_ms"`
	P99Ms float64 `json:"p99_ms"`
}

// GenerationPoint is the measurement of both sides at one point of a sweep in a generation.
type GenerationPoint struct {
	Name string `json:"name"` // of the scenario's point
	// OpenPerS is the rate of arrivals of the open-loop phase, the same in all generations.
	OpenPerS float64           `json:"open_per_s"`
	Sides    [2]GenerationSide `json:"sides"`
}

// Slice is the shortest measured part of a duet.
type Slice struct {
	Side        int     `json:"side"`
	Seconds     float64 `json:"seconds"` // including the time until nothing was in flight
	Cycles      uint64  `json:"cycles"`
	ServerCPUNs int64   `json:"server_cpu_ns"`
	ClientCPUNs int64   `json:"client_cpu_ns"`
	// OtherCPUNs is the CPU time of the other side's servers in the slice; 0 if both sides had load
	// simultaneously. Like ServerCPUNs, it is measured from the end of the previous slice, so the
	// CPU times of a side's servers over all slices add up to those of the generation.
	OtherCPUNs int64 `json:"other_cpu_ns"`
}

// WriteDuet stores d in dir. It fails, and writes nothing, if a number is NaN or infinite.
func WriteDuet(dir string, d *Duet) error {
	path := filepath.Join(dir, DuetFile)
	data, err := encode(d)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, data)
}

// ReadDuet reads the duet stored in dir.
func ReadDuet(dir string) (*Duet, error) {
	path := filepath.Join(dir, DuetFile)
	var d Duet
	if err := readJSON(path, only(DuetVersion), &d); err != nil {
		return nil, err
	}
	for _, g := range d.Generations {
		if !g.Verdict.Known() {
			return nil, fmt.Errorf("read %s: corrupt: %q, of generation %d, is not a verdict", path, g.Verdict, g.Number)
		}
	}
	return &d, nil
}
