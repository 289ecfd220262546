// Package experiment reads and extends the ledger of experiments, reports/experiments.hcl: what was tried to make the engine better,
// kept or rejected, with the hypothesis, the result, and the cost.
//
// Load reads the whole file and reports everything that is wrong with it. Append adds one experiment and leaves all else as it is, comments
// included. An experiment that `prony ratchet` decided has a Measurement; one that a person measured otherwise says how in Measured.
package experiment

import (
	"strings"
	"time"
)

// Experiment is one entry of the ledger. Texts are of one line.
type Experiment struct {
	Name string // names no other experiment of the file
	// NamedBy says what named the cause: a profile, a trace. It may be empty beside a Measurement.
	NamedBy    string
	Hypothesis string
	Change     string // what was changed
	File       string // "PATH:LINE", where the change begins; "" if unknown, or if no source was changed
	// Code is where a change that was kept stands in the code of today: "PATH: DECLARATION", the begin of a line; "" if it was not said.
	Code     string
	Effect   string // what came of it
	Cost     string // what the change gives up; "" in entries of before it was asked for
	Measured string // on what, and how; "" where it was not said
	Kept     bool
	KeptFor  string // why it was kept although its effect is within the noise; "" if it was kept for its effect, or rejected
	Note     string
	// Measurement is nil if a person measured.
	Measurement *Measurement
}

// InCode parts Code.
func (e Experiment) InCode() (path, declaration string) {
	path, declaration, _ = strings.Cut(e.Code, ": ")
	return path, declaration
}

// Measurement is what `prony ratchet` measured.
type Measurement struct {
	Started time.Time
	// Base and Commit are the revisions of the two sides. Dirty says that the change was a working tree that differed from Commit.
	Base, Commit string
	Dirty        bool
	Options      string // by which the change's side was built or run, other than the base; "" if alike
	Scenario     string
	Durability   string
	Command      string
	Host         string // in words
	Go           string
	Seconds      float64 // of all generations
	Generations  int     // that counted
	Points       int
	Tests        string // suites that passed on the change's tree; "" without one
	// Disqualified says why the change is rejected whatever its score; "" otherwise.
	Disqualified string
	Score        *Ratio // nil if disqualified before there was one
	Figures      []Figure
	// MoreWorse is how many figures of points got worse for certain beside those of Figures.
	MoreWorse int
}

// Ratio is a ratio of change to base with its 95 % interval.
type Ratio struct{ Ratio, Low, High float64 }

// Figure is a metric of both sides.
type Figure struct {
	Metric, Point string // the point is "" for all points together
	Unit          string
	Base, Change  float64 // above 0
	Ratio
	Worse bool // the change is worse for certain
}
