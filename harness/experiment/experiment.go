// Package experiment reads and extends the ledger of experiments, reports/experiments.hcl. Each
// entry records an attempt to improve the engine, kept or rejected, with the hypothesis, the result
// and the cost.
//
// Load reads the whole file and reports every problem in it. Append adds one experiment and leaves
// all other text unchanged, including comments. If `prony ratchet` decided an experiment, the entry
// has a Measurement. If a person measured it, the field Measured describes the method.
package experiment

import (
	"strings"
	"time"
)

// Experiment is one entry of the ledger. Each text is a single line.
type Experiment struct {
	Name string // unique within the file
	// NamedBy is the evidence that identified the cause, for example a profile or a trace. It may
	// be empty if Measurement is set.
	NamedBy    string
	Hypothesis string
	Change     string
	// File is the place where the change begins, in the form "PATH:LINE". It is "" if the place is
	// unknown or if no source was changed.
	File string
	// Code locates a kept change in the current code. Its form is "PATH: DECLARATION", where
	// DECLARATION is the beginning of a line. It is "" if it was not recorded.
	Code     string
	Effect   string // result of the change
	Cost     string // drawback of the change; "" in entries that are older than this field
	Measured string // environment and method of the measurement; "" if not recorded
	Kept     bool
	KeptFor  string // reason for keeping a change whose effect is within the noise; "" otherwise
	Note     string
	// Measurement is nil if a person measured the experiment.
	Measurement *Measurement
}

// InCode splits Code into path and declaration.
func (e Experiment) InCode() (path, declaration string) {
	path, declaration, _ = strings.Cut(e.Code, ": ")
	return path, declaration
}

// Measurement is a measurement that `prony ratchet` made.
type Measurement struct {
	Started time.Time
	// Base and Commit are the revisions of the two sides. Dirty is set if the changed side was a
	// working tree that differed from Commit.
	Base, Commit string
	Dirty        bool
	// options of the build or the run that differ from those of the base; "" if all are equal
	Options     string
	Scenario    string
	Durability  string
	Command     string
	Host        string // description of the host
	Go          string
	Seconds     float64 // total time of all generations, in seconds
	Generations int     // number of valid generations
	Points      int
	Tests       string // test suites that passed on the changed tree; "" if there are none
	// Disqualified is the reason why the change is rejected, whatever its score is. It is "" if the
	// change is not disqualified.
	Disqualified string
	Score        *Ratio // nil if the change was disqualified before it was scored
	Figures      []Figure
	// MoreWorse is the number of metrics that are certainly worse at some point and are not in
	// Figures.
	MoreWorse int
}

// Ratio is the ratio of change to base, with its 95 % interval.
type Ratio struct{ Ratio, Low, High float64 }

// Figure is a metric that was measured on both sides.
type Figure struct {
	Metric, Point string // Point is "" for the combination of all points
	Unit          string
	Base, Change  float64 // both above 0
	Ratio
	Worse bool // whether the change is certainly worse
}
