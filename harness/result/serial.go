package result

import (
	"fmt"
	"path/filepath"
	"time"
)

// SerialVersion is the version of Serial's schema.
const SerialVersion = 1

// SerialFile is the file of a serial budget in its folder.
const SerialFile = "serial.json"

// How the threads of the server and of the generator wait for data from their connections.
const (
	WaitsParking  = "parking"  // they sleep
	WaitsSpinning = "spinning" // they poll for a moment before they sleep
)

// Serial is the serial budget of a server: the largest amount of work per request that the deciding
// goroutine can do while the rate of no-op requests stays at a given share of the rate without
// work.
type Serial struct {
	Version  int       `json:"version"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Manifest contains a topology with the procs and the waits of the first point.
	Manifest Manifest `json:"manifest"`
	// KeptShare is the share of the unloaded rate that must remain at the budget.
	KeptShare float64       `json:"kept_share"`
	SliceMs   float64       `json:"slice_ms"` // of the search
	Points    []SerialPoint `json:"points"`
}

// SerialPoint is the measurement of one setting of the server and the generator.
type SerialPoint struct {
	Waits string `json:"waits"` // "parking" or "spinning"
	// ServerProcs is GOMAXPROCS of the server: the threads for I/O and everything else.
	ServerProcs    int `json:"server_procs"`
	GeneratorProcs int `json:"generator_procs"` // GOMAXPROCS of the generator
	Connections    int `json:"connections"`
	InFlight       int `json:"in_flight"` // outstanding requests per connection
	// Skipped is the reason why the point was not measured. If it is "", all following fields are
	// set.
	Skipped string        `json:"skipped,omitempty"`
	Budget  *SerialBudget `json:"budget,omitempty"`
	// Unloaded and AtBudget are the windows without work and with the work of the budget.
	Unloaded *SerialWindow `json:"unloaded,omitempty"`
	AtBudget *SerialWindow `json:"at_budget,omitempty"`
}

// Name returns the name of the point.
func (p SerialPoint) Name() string { return p.Waits + " waits, " + p.Setting() }

// Setting describes the point without its waits.
func (p SerialPoint) Setting() string {
	return fmt.Sprintf("server procs %d, generator procs %d, connections %d, in flight %d", p.ServerProcs, p.GeneratorProcs, p.Connections, p.InFlight)
}

// SerialBudget is the result of a search.
type SerialBudget struct {
	WorkNs float64 `json:"work_ns"` // per request
	// LowNs and HighNs are the 95 % confidence interval of the work. The search for the interval's
	// bounds stops at a factor of 1.3 below or above WorkNs.
	LowNs  float64 `json:"low_ns"`
	HighNs float64 `json:"high_ns"`
	Pairs  int     `json:"pairs"` // of slices without and with work
	// PairNoise is the standard deviation of the ratio of one pair, as a fraction of the ratio.
	PairNoise float64 `json:"pair_noise"`
	Seconds   float64 `json:"seconds"` // of the search
	// BaseNs is the time between two answers without work at the start of the search.
	BaseNs float64 `json:"base_ns"`
	// NsPerStep is the time of one step of work, measured by the server.
	NsPerStep float64 `json:"ns_per_step"`
	// Unsettled is the reason why the search ended with a wider interval than intended; "" if it
	// did not.
	Unsettled string `json:"unsettled,omitempty"`
}

// SerialWindow contains the costs of requests with one amount of work. Times are per request unless
// stated otherwise.
type SerialWindow struct {
	WorkNs       float64 `json:"work_ns"`
	Seconds      float64 `json:"seconds"`
	Requests     uint64  `json:"requests"`
	RequestsPerS float64 `json:"requests_per_s"`
	// LongestMs is the longest response time in a part of the window where each request was timed,
	// and LongestOf the number of these requests.
	LongestMs      float64 `json:"longest_ms"`
	LongestOf      uint64  `json:"longest_of"`
	ServerCPUNs    float64 `json:"server_cpu_ns"`
	GeneratorCPUNs float64 `json:"generator_cpu_ns"`
	// DecideNs is the wall-clock time of the deciding goroutine's decisions, from the server's
	// stages. It includes the work.
	DecideNs float64 `json:"decide_ns"`
	// Efficiency is the work's share of the server's CPU time, 0 to 1.
	Efficiency float64 `json:"efficiency"`
	// IdlePercent is the share of idle time of all CPUs of the host; nil if the host does not
	// report it.
	IdlePercent         *float64 `json:"idle_percent"`
	VoluntarySwitches   float64  `json:"voluntary_switches"` // of the server's threads
	InvoluntarySwitches float64  `json:"involuntary_switches"`
	// Profile is the server's CPU profile, recorded in separate slices.
	Profile SerialProfile `json:"profile"`
}

// SerialProfile splits the server's CPU time per request into parts, based on a CPU profile.
type SerialProfile struct {
	Samples  int    `json:"samples"`
	Requests uint64 `json:"requests"`
	// SerialNs is the CPU time of the deciding goroutine, including the work.
	SerialNs float64 `json:"serial_ns"`
	// FutexNs is the time in system calls that put threads to sleep and wake them, and YieldNs the
	// time in system calls that let other threads run. The stages include both times.
	FutexNs float64 `json:"futex_ns"`
	YieldNs float64 `json:"yield_ns"`
	// Stages are parts that add up to all of the CPU time.
	Stages []SerialStage `json:"stages"`
}

// SerialStage is a part of the server's CPU time.
type SerialStage struct {
	Name string  `json:"name"`
	Ns   float64 `json:"ns"`
}

// Largest returns the point with the given kind of waits that has the largest budget. It returns
// nil if no point has this kind.
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

// IsSerial reports whether a folder contains a serial budget.
func IsSerial(dir string) (bool, error) { return Exists(dir, SerialFile) }

// ReadSerial reads the serial budget stored in dir.
func ReadSerial(dir string) (*Serial, error) {
	path := filepath.Join(dir, SerialFile)
	var s Serial
	if err := readJSON(path, only(SerialVersion), &s); err != nil {
		return nil, err
	}
	for i, p := range s.Points {
		if p.Skipped == "" && (p.Budget == nil || p.Unloaded == nil || p.AtBudget == nil) {
			return nil, fmt.Errorf("read %s: corrupt: point %d was measured but lacks its budget or a window", path, i+1)
		}
		if p.Skipped == "" && len(p.Unloaded.Profile.Stages) != len(p.AtBudget.Profile.Stages) {
			return nil, fmt.Errorf("read %s: corrupt: the windows of point %d have different stages", path, i+1)
		}
	}
	return &s, nil
}
