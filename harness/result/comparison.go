package result

import "time"

// Comparison is the judgement of a change against its base. It is stored as comparison.json.
type Comparison struct {
	Version  int       `json:"version"`
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Verdict  Verdict   `json:"verdict"`
	Reasons  []string  `json:"reasons,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	Base     Side      `json:"base"`
	Change   Side      `json:"change"`
	// Control is the base measured a second time beside itself; nil where two stored results are compared, which have none.
	Control *Side `json:"control,omitempty"`
	// Paired says that the rounds of the sides were measured in blocks, one of each side in each, so that what slows the host
	// for a while is in all of them. The blocks of a duet are its generations.
	Paired  bool `json:"paired"`
	Blocks  int  `json:"blocks,omitempty"`  // that count
	Dropped int  `json:"dropped,omitempty"` // blocks left out, since one of their rounds was invalid
	// Tried has an element for each arm whose rounds were measured in blocks.
	Tried []Tried `json:"tried,omitempty"`
	// Metrics are those compared, in the order of Specs; of a duet the primaries, then the counters from fixed work.
	Metrics []MetricDelta `json:"metrics"`
	// Duet says how a duet was judged, and is nil of any other comparison.
	Duet *DuetJudgement `json:"duet,omitempty"`
	// Causes explain a difference, the most likely first.
	Causes []Cause `json:"causes,omitempty"`
	// Search says how the causes of a duet's loss were looked for, and is nil if they were not.
	Search   *CauseSearch   `json:"search,omitempty"`
	Profiles []ProfileDelta `json:"profiles,omitempty"`
}

// Tried counts the timed rounds of an arm that were measured, those of dropped blocks too.
type Tried struct {
	Name    string `json:"name"` // of the arm
	Rounds  int    `json:"rounds"`
	Invalid int    `json:"invalid"`
}

// Side is one arm of a comparison.
type Side struct {
	Name   string `json:"name"` // "base", "change" or "control"
	Run    string `json:"run"`  // the folder of its result
	Commit string `json:"commit"`
	Dirty  bool   `json:"dirty"`
	Server string `json:"server"` // SHA-256 of the queued binary
	Rounds int    `json:"rounds"` // timed ones that count; of a duet its generations
	// Bound says what limits the rate; in a duet, the rate of the closed load. It is nil for the control, and where no figure tells.
	Bound *Bound `json:"bound,omitempty"`
}

// MetricDelta is the difference of one metric.
type MetricDelta struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Better Better `json:"better"`
	Base   Metric `json:"base"`
	Change Metric `json:"change"`
	// Ratio is change to base, with its bootstrap interval: the pseudomedian over the rounds of each block, or, of a latency, that of the
	// percentiles of the merged histograms. Where there is a control it is of the same build as the base, and change is compared
	// with both: their geometric mean in each block, or all their histograms merged. Of a primary of a duet it is the geometric mean
	// over the generations, with the interval of Student's t.
	Ratio     float64 `json:"ratio"`
	RatioLow  float64 `json:"ratio_low"`
	RatioHigh float64 `json:"ratio_high"`
	// ControlRatio is that of the control to the base: the noise of this very run. 0 where there is no control. That of a duet is of the
	// base's odd slices to its even ones.
	ControlRatio     float64 `json:"control_ratio,omitempty"`
	ControlRatioLow  float64 `json:"control_ratio_low,omitempty"`
	ControlRatioHigh float64 `json:"control_ratio_high,omitempty"`
	P                float64 `json:"p"`          // of the test that both sides are alike
	PAdjusted        float64 `json:"p_adjusted"` // after Holm's correction over the timings of the run; of a counter P
	// Effect is the least change of the ratio from 1 that matters, as a part of 1. A primary of a duet regressed if its loss is larger
	// for sure.
	Effect float64 `json:"effect"`
	// Detectable is the smallest change of the ratio from 1 that these rounds could have told, likewise; 0 where they could tell
	// none, which a warning says.
	Detectable float64  `json:"detectable"`
	Outcome    Outcomes `json:"outcome"`
	Because    string   `json:"because"` // one sentence: why that is the outcome
	Warnings   []string `json:"warnings,omitempty"`
	// Loss is what a primary of a duet is judged by, and nil of any other metric.
	Loss *Loss `json:"loss,omitempty"`
}

// Outcomes of a comparison of one metric.
type Outcomes string

// What a comparison says of a metric. Same is said only where a change of the least effect would have been seen;
// of a primary of a duet, where a loss of its margin is excluded.
const (
	Improved Outcomes = "improved"
	Worsened Outcomes = "regressed"
	Same     Outcomes = "same"
	Unclear  Outcomes = "inconclusive"
	// NotJudged is of a figure that is shown although there are too few rounds that count.
	NotJudged Outcomes = "not judged"
	// Expected is of a counter from fixed work that differs as the change declares.
	Expected Outcomes = "expected"
)

// Cause is a sentence that says where time goes, or went, with the evidence for it.
type Cause struct {
	// Kind is "lock", "cpu", "allocation", "fsync" or "stage"; in results of earlier versions "channel", "timer", "rpc", "scan" or "storage" too.
	Kind     string  `json:"kind"`
	Name     string  `json:"name"`     // of the lock, stage, function or counter
	Sentence string  `json:"sentence"` // for a person
	Score    float64 `json:"score"`    // microseconds per cycle that it explains, or a part of 1 where it explains a rate
}

// CauseSearch says how the causes of a loss were looked for.
type CauseSearch struct {
	Generations int     `json:"generations"` // that have profiles of both sides
	Seconds     float64 `json:"seconds"`     // that all profiled generations took; 0 if that was not recorded
	LookedAt    int     `json:"looked_at"`   // functions, locks, stages, and fsyncs, whose differences have intervals
	// Share is the least part that a cause takes: of a loss of its kind, or of the base's time per cycle if Losses is empty.
	Share      float64    `json:"share"`
	Losses     []LostTime `json:"losses,omitempty"`
	Confidence float64    `json:"confidence"` // with which all intervals hold together
}

// LostTime is a loss in microseconds per cycle.
type LostTime struct {
	Of string  `json:"of"` // "server CPU time", "client CPU time" or "time per cycle"
	Us float64 `json:"us"`
}

// ProfileDelta is how much what a profile charges to a function differs between two sides, per cycle.
type ProfileDelta struct {
	Node     string  `json:"node,omitempty"` // GeneratorNode of the generator's; of all servers together without one
	Kind     string  `json:"kind"`           // of the profile
	Function string  `json:"function"`
	Unit     string  `json:"unit"`
	Base     float64 `json:"base_per_cycle"` // charged to the function itself: the mean of the rounds
	Change   float64 `json:"change_per_cycle"`
	Low      float64 `json:"low"` // of the difference, a bootstrap interval over rounds
	High     float64 `json:"high"`
	// BaseCum and ChangeCum are charged to the function and what it calls.
	BaseCum   float64 `json:"base_cum_per_cycle"`
	ChangeCum float64 `json:"change_cum_per_cycle"`
}
