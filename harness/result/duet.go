package result

import (
	"fmt"
	"path/filepath"
	"time"
)

// DuetFile is where a duet's folder keeps it.
const DuetFile = "duet.json"

// DuetVersion is that of Duet's schema.
const DuetVersion = 2

// Duet is what two builds measured beside each other: both alive on one host, the load given to one and the other in alternating
// slices, in several generations of fresh processes. It is stored as duet.json.
type Duet struct {
	Version  int       `json:"version"`
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Manifest has the host, the command and the scenario. Its build is that of the harness; those of the sides are in Sides.
	Manifest Manifest `json:"manifest"`
	// Sides are base and change, in this order.
	Sides [2]DuetSide `json:"sides"`
	// Together says that both sides had load at the same time, on cores of their own; otherwise their slices alternate.
	Together bool `json:"together,omitempty"`
	// CPUs are the two sets of CPUs that the sides have by turns; Generation.CPUs says which. Nil: each process may run on all CPUs.
	CPUs        []SideCPUs   `json:"cpus,omitempty"`
	SliceMs     float64      `json:"slice_ms"`       // that was wanted; a slice ends when nothing is in flight any more
	OpenPerS    float64      `json:"open_per_s"`     // arrivals a second of the open-loop phase, the same for both sides; 0 without one
	Generations []Generation `json:"generations"`    // in order
	Work        *FixedWork   `json:"work,omitempty"` // counters from fixed work; nil if not measured
	// ProfiledS are the seconds that the profiled generations took, which are not in Generations.
	ProfiledS float64  `json:"profiled_s,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

// SideCPUs are the numbers of the CPUs that the processes of one side may use.
type SideCPUs struct {
	Servers   []int `json:"servers"` // all of them together
	Generator []int `json:"generator"`
}

// DuetSide says what one side of a duet is.
type DuetSide struct {
	Name    string   `json:"name"` // "base" or "change"
	Commit  string   `json:"commit"`
	Dirty   bool     `json:"dirty"`
	Servers []string `json:"servers"` // SHA-256 of the queued binaries: one for each layout that the linker made
	// Generator is the SHA-256 of the load generator. OwnClient says that the generator was built with this side's client
	// package; otherwise it was built with the client of the harness's own tree.
	Generator string   `json:"generator"`
	OwnClient bool     `json:"own_client"`
	Env       []string `json:"env,omitempty"` // of the servers and the generator, beside the harness's own
	// Settings are what the servers of the first generation said that they run with, as those of a Manifest. Nil if they did not say it.
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
	// CPUs is an index into the CPUs of the duet: the set of the side that started first. The other side has the same set if the slices
	// alternate, and the other set if both sides have load at the same time.
	CPUs  int               `json:"cpus,omitempty"`
	Sides [2]GenerationSide `json:"sides"`
	// Points are those of a sweep, in the scenario's order; nil without one. Sides then has their sums, and no Open.
	Points []GenerationPoint `json:"points,omitempty"`
	// Slices are those of the closed loop, in the order in which they were measured.
	Slices []Slice `json:"slices,omitempty"`
	// Signals are what the host said of itself from the first slice to the end of the open phase.
	Signals *Signals `json:"signals,omitempty"`
	// Verdict is pass if the generation counts. Reasons say why it does not.
	Verdict Verdict  `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`
	// Marks name slices that a stall of the host or the server disturbed. A marked slice counts like any other.
	Marks []string `json:"marks,omitempty"`
}

// GenerationSide is what one side measured in a generation. CPU time covers the time from the first slice's begin to the last
// slice's end, slices of the other side included, so that flushes, compactions and collections are charged to the side that they
// belong to.
type GenerationSide struct {
	Cycles      uint64  `json:"cycles"`        // acknowledged, of the closed loop
	ServerCPUNs int64   `json:"server_cpu_ns"` // all processes of the side's servers
	ClientCPUNs int64   `json:"client_cpu_ns"` // the side's generator
	IdleCPUNs   int64   `json:"idle_cpu_ns"`   // the part of ServerCPUNs that was used in slices of the other side
	ActiveS     float64 `json:"active_s"`      // the sum of the side's slices
	// Stages are those of the servers in the closed phase, and PerCycle what the servers counted in it, by the name of the metric. They
	// explain a loss and judge nothing. Both are nil if they could not be read.
	Stages   []Stage            `json:"stages,omitempty"`
	PerCycle map[string]float64 `json:"per_cycle,omitempty"`
	// RSSMB is the largest resident memory of all processes of the side's servers together; 0 if it was not taken.
	RSSMB float64 `json:"rss_mb,omitempty"`
	// Goroutines is the number of goroutines of all servers of the side together at the begin or the end of the closed phase, whichever is
	// larger; 0 if it was not read.
	Goroutines int `json:"goroutines,omitempty"`
	// ServerCode and ClientCode say how the kernel mapped the program code of the servers, all together, and of the generator. Both are nil
	// if it does not say, and ClientCode is nil in a sweep.
	ServerCode *CodePages `json:"server_code,omitempty"`
	ClientCode *CodePages `json:"client_code,omitempty"`
	// Open is the cycle latency of the open-loop phase; nil without one.
	Open *DuetLatency `json:"open,omitempty"`
	// Ledger is the balance of all the side's tasks.
	Ledger Ledger `json:"ledger"`
	// Faults say why the generation does not count, where the reason is of this side alone: a process that ended, calls that failed, a
	// rate of 0. The gate tests whether the change has more of such generations than the base.
	Faults []string `json:"faults,omitempty"`
}

// CodePages says how the kernel mapped program code at the end of a generation. The same code runs faster in large pages.
type CodePages struct {
	ResidentMB float64 `json:"resident_mb"`    // code that was in memory
	LargeMB    float64 `json:"large_pages_mb"` // the part of it that was mapped by large pages, of 2 MiB on amd64
}

// DuetLatency is the response time of a cycle from its intended start. Arrivals that were not finished at the end of their slice count with
// the time that they had waited until then.
type DuetLatency struct {
	Arrivals   uint64 `json:"arrivals"`
	Unfinished uint64 `json:"unfinished"`
	// The percentiles are of the merged histogram of the side's open slices. P95Ms is 0 in files of before it was taken.
	P50Ms float64 `json:"p50_ms"`
	P95Ms float64 `json:"p95_ms,omitempty"`
	P99Ms float64 `json:"p99_ms"`
	// Enqueue has the latency from the intended start to the acknowledgement of the enqueue; nil in files of before it was taken.
	Enqueue   *DuetEnqueue `json:"enqueue,omitempty"`
	SlipMsP99 float64      `json:"slip_ms_p99"` // by how much the generator itself sent late
}

// DuetEnqueue has percentiles of enqueues as DuetLatency has them of cycles. P95Ms and P99Ms are 0 in files of before they were taken.
type DuetEnqueue struct {
	P50Ms float64 `json:"p50_ms"`
	P95Ms float64 `json:"p95_ms"`
	P99Ms float64 `json:"p99_ms"`
}

// GenerationPoint is what both sides measured of one point of a sweep in a generation.
type GenerationPoint struct {
	Name string `json:"name"` // of the scenario's point
	// OpenPerS is the rate of arrivals of the open-loop phase, the same in all generations.
	OpenPerS float64           `json:"open_per_s"`
	Sides    [2]GenerationSide `json:"sides"`
}

// Slice is the shortest measured piece of a duet.
type Slice struct {
	Side        int     `json:"side"`
	Seconds     float64 `json:"seconds"` // until nothing was in flight
	Cycles      uint64  `json:"cycles"`
	ServerCPUNs int64   `json:"server_cpu_ns"`
	ClientCPUNs int64   `json:"client_cpu_ns"`
	// OtherCPUNs is what the other side's servers used meanwhile, 0 if both sides had load together. It and ServerCPUNs begin where the
	// slice before ended, so that what a side's servers used in all slices adds up to the whole of the generation.
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
	if err := readJSON(path, &d); err != nil {
		return nil, err
	}
	if d.Version > DuetVersion {
		return nil, fmt.Errorf("read %s: it has version %d and this program reads up to %d: use a newer prony", path, d.Version, DuetVersion)
	}
	for _, g := range d.Generations {
		if !g.Verdict.Known() {
			return nil, fmt.Errorf("read %s: corrupt: %q, of generation %d, is not a verdict", path, g.Verdict, g.Number)
		}
	}
	return &d, nil
}
