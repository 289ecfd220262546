package scenario

import (
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// RoundsMax is the largest number of timed rounds of a point.
const RoundsMax = 1000

// ProcsMax is the largest GOMAXPROCS that a scenario may ask for.
const ProcsMax = 1024

// ProfiledRoundsMax is the largest number of profiled rounds of a point.
const ProfiledRoundsMax = 100

// PointsMax is the largest number of points of all sweeps of a scenario.
const PointsMax = 64

// Scenario is one validated scenario block, with every default filled in.
type Scenario struct {
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	Tags   []string `json:"tags"`
	File   string   `json:"file"`   // the path of its file, as passed to Load
	Rounds int      `json:"rounds"` // timed rounds of each point
	// FileRounds is the number of rounds in the file, if a command line replaced Rounds or a value
	// for a variable reduced it; else 0.
	FileRounds int `json:"file_rounds,omitzero"`
	// Variables are those of its file and of the included files, in the order of the files.
	Variables []Variable `json:"variables,omitempty"`
	// ProfiledRounds is the number of additional rounds of each point that are profiled and not
	// timed, if Captures is not empty. 0 means 1.
	ProfiledRounds int      `json:"profiled_rounds,omitzero"`
	Topology       Topology `json:"topology"` // with a sweep: of the first point
	// Workloads run simultaneously. There is at least one. They are in the file's order, and with a
	// sweep those of the first point.
	Workloads []Workload `json:"workloads,omitempty"`
	Phases    Phases     `json:"phases"`
	Backlog   *Backlog   `json:"backlog,omitempty"`
	// Soak is nil for a scenario with rounds. For a soak, Rounds is 1, and each window is like that
	// of a round.
	Soak *Soak `json:"soak,omitempty"`
	// SeriesEvery is the time between the samples of a window's series; 0 means no series.
	SeriesEvery time.Duration `json:"-"`
	Sweeps      []Sweep       `json:"sweeps,omitempty"`
	Captures    []Capture     `json:"captures"`
	Invariants  []Invariant   `json:"invariants"`
	Validity    Validity      `json:"validity"`
	// References are names from ReferenceNames, in the order of the file. They are measured between
	// the rounds.
	References []string `json:"references,omitempty"`
	// Faults are in the order of their first occurrence. No two overlap.
	Faults []Fault `json:"faults,omitempty"`
	// Attack and Observe are those of the first point of a sweep. They are nil without such a
	// block.
	Attack  *Attack  `json:"attack,omitempty"`
	Observe *Observe `json:"observe,omitempty"`
	// Recurring is nil without recurring tasks.
	Recurring *Recurring `json:"recurring,omitempty"`
	// Scripts are those of all points, if a sweep runs more than one script; else nil.
	Scripts []Script `json:"scripts,omitempty"`
	// Limits are bounds for its runs, in addition to the baseline of its name, in the order of the
	// file.
	Limits []Limit `json:"limits,omitempty"`
	// Score is the score that `prony ratchet` computes for a change; nil means DefaultScore.
	Score *Score `json:"score,omitempty"`
	// Points are all combinations of the swept values; the values of the last sweep change fastest.
	// Points is nil without a sweep.
	Points []Point `json:"-"`

	validityUnrecorded bool // the stored scenario that s was decoded from has no validity
}

// OverrideRounds replaces the number of timed rounds of each point, and stores the original in
// FileRounds.
func (s *Scenario) OverrideRounds(n int) {
	if s.FileRounds == 0 {
		s.FileRounds = s.Rounds
	}
	s.Rounds = n
}

// Variable is a variable block of a file with its value.
type Variable = hclfile.Variable
