package result

import (
	"fmt"
	"path/filepath"
	"time"
)

// SerialVersion is that of Serial's schema.
const SerialVersion = 1

// SerialFile is the name of the document in the folder of a serial budget.
const SerialFile = "serial.json"

// How the threads of the server and of the generator wait for data of their connections.
const (
	WaitsParking  = "parking"  // they sleep
	WaitsSpinning = "spinning" // they poll for a moment before they sleep
)

// Serial is the serial budget of a server: the most work for each request that the goroutine which decides bears, while no-op requests keep
// a share of the rate that they have without work.
type Serial struct {
	Version  int       `json:"version"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Manifest Manifest  `json:"manifest"` // whose topology has the procs and the waits of the first point
	// KeptShare is the share of the unloaded rate that a budget keeps.
	KeptShare float64       `json:"kept_share"`
	SliceMs   float64       `json:"slice_ms"` // of the search
	Points    []SerialPoint `json:"points"`
}

// SerialPoint is what one setting of the server and the generator measured.
type SerialPoint struct {
	Waits          string `json:"waits"`           // "parking" or "spinning"
	ServerProcs    int    `json:"server_procs"`    // GOMAXPROCS of the server: the threads that do I/O and all else
	GeneratorProcs int    `json:"generator_procs"` // GOMAXPROCS of the generator
	Connections    int    `json:"connections"`
	InFlight       int    `json:"in_flight"` // requests of each connection
	// Skipped says why the point was not measured; "" if it was, and then all that follows is set.
	Skipped string        `json:"skipped,omitempty"`
	Budget  *SerialBudget `json:"budget,omitempty"`
	// Unloaded and AtBudget are the windows without work and with the work of the budget.
	Unloaded *SerialWindow `json:"unloaded,omitempty"`
	AtBudget *SerialWindow `json:"at_budget,omitempty"`
}

// Name is what the point is called.
func (p SerialPoint) Name() string { return p.Waits + " waits, " + p.Setting() }

// Setting is the point in words, but for its waits.
func (p SerialPoint) Setting() string {
	return fmt.Sprintf("server procs %d, generator procs %d, connections %d, in flight %d", p.ServerProcs, p.GeneratorProcs, p.Connections, p.InFlight)
}

// SerialBudget is what a search found.
type SerialBudget struct {
	WorkNs float64 `json:"work_ns"` // for each request
	// LowNs and HighNs are the interval of the work at 95 % confidence. It is looked for up to a factor of 1.3 from the work.
	LowNs  float64 `json:"low_ns"`
	HighNs float64 `json:"high_ns"`
	Pairs  int     `json:"pairs"` // of slices without and with work
	// PairNoise is the standard deviation of the ratio that one pair measured, as a share of the ratio.
	PairNoise float64 `json:"pair_noise"`
	Seconds   float64 `json:"seconds"` // of the search
	// BaseNs is the time between two answers without work, when the search began.
	BaseNs float64 `json:"base_ns"`
	// NsPerStep is the time of one step of work, as the server measured it.
	NsPerStep float64 `json:"ns_per_step"`
	// Unsettled says why the search ended with an interval wider than it was to be; "" if it did not.
	Unsettled string `json:"unsettled,omitempty"`
}

// SerialWindow is what requests with one amount of work cost. The figures of time are for each request, unless they say otherwise.
type SerialWindow struct {
	WorkNs       float64 `json:"work_ns"`
	Seconds      float64 `json:"seconds"`
	Requests     uint64  `json:"requests"`
	RequestsPerS float64 `json:"requests_per_s"`
	// LongestMs is the longest response time of all requests of a part of the window in which each request was timed, and LongestOf
	// how many they were.
	LongestMs      float64 `json:"longest_ms"`
	LongestOf      uint64  `json:"longest_of"`
	ServerCPUNs    float64 `json:"server_cpu_ns"`
	GeneratorCPUNs float64 `json:"generator_cpu_ns"`
	// DecideNs is the time, not the CPU time, in which the deciding goroutine decided, as the server's stages count it. The work is a part.
	DecideNs float64 `json:"decide_ns"`
	// Efficiency is the work's share of the server's CPU time, 0 to 1.
	Efficiency float64 `json:"efficiency"`
	// IdlePercent is the share of the time of all CPUs of the host in which they had nothing to do; nil where the host does not say.
	IdlePercent         *float64 `json:"idle_percent"`
	VoluntarySwitches   float64  `json:"voluntary_switches"` // of the server's threads
	InvoluntarySwitches float64  `json:"involuntary_switches"`
	// Profile is the server's CPU profile, from slices of their own.
	Profile SerialProfile `json:"profile"`
}

// SerialProfile is how a CPU profile divides the server's CPU time for each request.
type SerialProfile struct {
	Samples  int    `json:"samples"`
	Requests uint64 `json:"requests"`
	// SerialNs is the CPU time of the deciding goroutine, the work included.
	SerialNs float64 `json:"serial_ns"`
	// FutexNs is the time in system calls that put threads to sleep and wake them, and YieldNs that in those that let other threads run.
	// Both are parts of the stages.
	FutexNs float64 `json:"futex_ns"`
	YieldNs float64 `json:"yield_ns"`
	// Stages divide all of the CPU time.
	Stages []SerialStage `json:"stages"`
}

// SerialStage is a part of the server's CPU time.
type SerialStage struct {
	Name string  `json:"name"`
	Ns   float64 `json:"ns"`
}

// Largest returns the point with the largest budget of those with a kind of waits; nil without one.
func (s *Serial) Largest(waits string) *SerialPoint {
	var largest *SerialPoint
	for i := range s.Points {
		p := &s.Points[i]
		if p.Waits == waits && p.Budget != nil && (largest == nil || p.Budget.WorkNs > largest.Budget.WorkNs) {
			largest = p
		}
	}
	return largest
}

// WriteSerial stores s in dir. It fails, and writes nothing, if a number is NaN or infinite.
func WriteSerial(dir string, s *Serial) error {
	path := filepath.Join(dir, SerialFile)
	data, err := encode(s)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, data)
}

// IsSerial reports whether a folder has a serial budget.
func IsSerial(dir string) (bool, error) { return Exists(dir, SerialFile) }

// ReadSerial reads the serial budget stored in dir.
func ReadSerial(dir string) (*Serial, error) {
	path := filepath.Join(dir, SerialFile)
	var s Serial
	if err := readJSON(path, &s); err != nil {
		return nil, err
	}
	if s.Version > SerialVersion {
		return nil, fmt.Errorf("read %s: it has version %d and this program reads up to %d: use a newer prony", path, s.Version, SerialVersion)
	}
	for i, p := range s.Points {
		if p.Skipped == "" && (p.Budget == nil || p.Unloaded == nil || p.AtBudget == nil) {
			return nil, fmt.Errorf("read %s: corrupt: point %d was measured and lacks its budget or a window", path, i+1)
		}
		if p.Skipped == "" && len(p.Unloaded.Profile.Stages) != len(p.AtBudget.Profile.Stages) {
			return nil, fmt.Errorf("read %s: corrupt: the windows of point %d have different stages", path, i+1)
		}
	}
	return &s, nil
}
