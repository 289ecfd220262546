// Package experiment reads and extends the ledger of experiments, reports/experiments.hcl. Each
// entry records an attempt to improve the engine, kept or rejected, with the hypothesis, the result
// and the cost.
//
// Load reads the whole file and reports every problem in it. Append adds one experiment and leaves
// all other text unchanged, comments included. An experiment that `prony ratchet` decided has a
// Measurement. One that a person measured describes the method in Measured.
package experiment

import (
	"strings"
	"time"
)

// Experiment is one entry of the ledger. Each text is one line.
type Experiment struct {
	Name string // unique within the file
	// NamedBy is the evidence that identified the cause, for example a profile or a trace. It may
	// be empty if Measurement is set.
	NamedBy    string
	Hypothesis string
	Change     string
	// File is the "PATH:LINE" where the change begins; "" if unknown or if no source was changed.
	File string
	// Code locates a kept change in the current code: "PATH: DECLARATION", where DECLARATION is the
	// beginning of a line. It is "" if it was not recorded.
	Code     string
	Effect   string // the result of the change
	Cost     string // the drawback of the change; "" in entries older than this field
	Measured string // the environment and the method; "" if not recorded
	Kept     bool
	KeptFor  string // why a change whose effect is within the noise was kept; "" otherwise
	Note     string
	// Measurement is nil if a person measured.
	Measurement *Measurement
}

// InCode splits Code into its two parts.
func (e Experiment) InCode() (path, declaration string) {
	path, declaration, _ = strings.Cut(e.Code, ": ")
	return path, declaration
}

// Measurement is a measurement by `prony ratchet`.
type Measurement struct {
	Started time.Time
	// Base and Commit are the revisions of the two sides. Dirty reports whether the changed side
	// was a working tree that differed from Commit.
	Base, Commit string
	Dirty        bool
	Options      string // options of the build or the run that differ from the base; "" if none
	Scenario     string
	Durability   string
	Command      string
	Host         string // a description
	Go           string
	Seconds      float64 // of all generations together
	Generations  int     // only the valid ones
	Points       int
	Tests        string // the test suites that passed on the changed tree; "" if none
	// Disqualified is why the change is rejected whatever its score; "" if it is not.
	Disqualified string
	Score        *Ratio // nil if the change was disqualified before it was scored
	Figures      []Figure
	// MoreWorse counts the metrics of points that are certainly worse and are not in Figures.
	MoreWorse int
}

// Ratio is a ratio of change to base with its 95 % interval.
type Ratio struct{ Ratio, Low, High float64 }

// Figure is a metric measured on both sides.
type Figure struct {
	Metric, Point string // Point is "" for all points together
	Unit          string
	Base, Change  float64 // above 0
	Ratio
	Worse bool // the change is certainly worse
}
