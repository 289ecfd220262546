package scenario

import (
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// RoundsMax is how many timed rounds a run has at most.
const RoundsMax = 1000

// ProcsMax is the largest GOMAXPROCS that a scenario may ask for.
const ProcsMax = 1024

// ProfiledRoundsMax is how many profiled rounds a point has at most.
const ProfiledRoundsMax = 100

// PointsMax is how many points all sweeps of a scenario make together at most.
const PointsMax = 64

// Scenario is one checked scenario block, every default filled in.
type Scenario struct {
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	Tags   []string `json:"tags"`
	File   string   `json:"file"`   // the path it was read from, as given
	Rounds int      `json:"rounds"` // timed rounds of each point
	// FileRounds are the rounds that the file says, where a command line has set Rounds, or a value
	// for a variable has made them fewer; else 0.
	FileRounds int        `json:"file_rounds,omitzero"`
	Variables  []Variable `json:"variables,omitempty"` // of its file and of what that includes, in the order of the files
	// ProfiledRounds are those of each point that are profiled and not timed, where Captures is not
	// empty; 0 stands for 1.
	ProfiledRounds int      `json:"profiled_rounds,omitzero"`
	Topology       Topology `json:"topology"` // with a sweep: of the first point
	// Workloads are put on the topology at once, at least one, in the file's order; with a sweep
	// those of the first point.
	Workloads []Workload `json:"workloads,omitempty"`
	Phases    Phases     `json:"phases"`
	Backlog   *Backlog   `json:"backlog,omitempty"`
	// Soak is nil of a scenario that has rounds. With it Rounds is 1, and each window of the soak
	// is like a round's.
	Soak *Soak `json:"soak,omitempty"`
	// SeriesEvery is the time between the samples of a window's series; 0: no series is taken.
	SeriesEvery time.Duration `json:"-"`
	Sweeps      []Sweep       `json:"sweeps,omitempty"`
	Captures    []Capture     `json:"captures"`
	Invariants  []Invariant   `json:"invariants"`
	Validity    Validity      `json:"validity"`
	// References are measured beside the rounds, in the order of the file: names of ReferenceNames.
	References []string `json:"references,omitempty"`
	Faults     []Fault  `json:"faults,omitempty"`  // in the order in which they first begin; no two overlap
	Attack     *Attack  `json:"attack,omitempty"`  // with a sweep: of the first point; nil without one
	Observe    *Observe `json:"observe,omitempty"` // likewise
	Scripts    []Script `json:"scripts,omitempty"` // those of all points, where a sweep runs more than one
	// Limits are what its runs are judged by, besides the baseline of its name, in the order of the
	// file.
	Limits []Limit `json:"limits,omitempty"`
	// Score is what `prony ratchet` scores a change by; nil: DefaultScore.
	Score *Score `json:"score,omitempty"`
	// Points are all combinations of the swept values, the last sweep's changing fastest; nil
	// without a sweep.
	Points []Point `json:"-"`

	validityUnrecorded bool // the file that s was read from says nothing about validity
}

// OverrideRounds sets the number of timed rounds of each point, and keeps the file's.
func (s *Scenario) OverrideRounds(n int) {
	if s.FileRounds == 0 {
		s.FileRounds = s.Rounds
	}
	s.Rounds = n
}

// Variable is a value of a file that can be given from outside.
type Variable = hclfile.Variable
