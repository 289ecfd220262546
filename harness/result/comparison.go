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
	// Control is a second measurement of the base in the same blocks; nil for a comparison of two
	// stored results.
	Control *Side `json:"control,omitempty"`
	// Paired reports that the rounds of the sides were measured in blocks, with one round of each
	// side per block, so a temporary slowdown of the host affects all sides. The blocks of a duet
	// are its generations.
	Paired bool `json:"paired"`
	Blocks int  `json:"blocks,omitempty"` // number of blocks that enter the comparison
	// Dropped is the number of blocks excluded because one of their rounds was invalid.
	Dropped int `json:"dropped,omitempty"`
	// Tried contains an element for each arm whose rounds were measured in blocks.
	Tried []Tried `json:"tried,omitempty"`
	// Metrics are the compared metrics in the order of Specs; for a duet the primaries followed by
	// the counters from fixed work.
	Metrics []MetricDelta `json:"metrics"`
	// Duet describes how a duet was judged; nil for any other comparison.
	Duet *DuetJudgement `json:"duet,omitempty"`
	// Hosts lists the differences between the hosts of two stored results; empty for rounds that
	// were measured in blocks.
	Hosts []HostDifference `json:"hosts,omitempty"`
	// Causes explain a difference, most likely first.
	Causes []Cause `json:"causes,omitempty"`
	// Search describes the search for the causes of a duet's loss; nil without a search.
	Search   *CauseSearch   `json:"search,omitempty"`
	Profiles []ProfileDelta `json:"profiles,omitempty"`
}

// Tried counts the measured timed rounds of an arm, including those of dropped blocks.
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
	Rounds int    `json:"rounds"` // number of timed rounds used; for a duet, of generations
	// Bound is the resource that limits the rate; in a duet, the rate of the closed load. It is nil
	// for the control, and if no figure shows a limit.
	Bound *Bound `json:"bound,omitempty"`
}

// MetricDelta is the difference of one metric.
type MetricDelta struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Better Better `json:"better"`
	Base   Metric `json:"base"`
	Change Metric `json:"change"`
	// Ratio is the ratio of change to base, and RatioLow to RatioHigh its bootstrap interval. It is
	// the pseudomedian of the blocks' ratios or, for a latency, the ratio of the percentiles of the
	// merged histograms. If the run has a control, which is a second arm of the base's build,
	// change is compared with both arms: with their geometric mean in each block, or with their
	// merged histograms. For a primary of a duet, Ratio is the geometric mean over the generations,
	// with the interval of Student's t.
	Ratio     float64 `json:"ratio"`
	RatioLow  float64 `json:"ratio_low"`
	RatioHigh float64 `json:"ratio_high"`
	// ControlRatio is the ratio of the control to the base, which shows the noise of this run; 0
	// without a control. In a duet it is the ratio of the base's odd slices to the base's even
	// slices.
	ControlRatio     float64 `json:"control_ratio,omitempty"`
	ControlRatioLow  float64 `json:"control_ratio_low,omitempty"`
	ControlRatioHigh float64 `json:"control_ratio_high,omitempty"`
	P                float64 `json:"p"` // of the test that both sides are equal
	// PAdjusted is P after Holm's correction over the timings of the run; for a counter it is P.
	PAdjusted float64 `json:"p_adjusted"`
	// Effect is the smallest relevant deviation of the ratio from 1, as a fraction. A primary of a
	// duet has regressed if its loss certainly exceeds Effect.
	Effect float64 `json:"effect"`
	// Detectable is the smallest deviation of the ratio from 1, as a fraction, that these rounds
	// could have detected. It is 0 if they could not detect any; a warning then states this.
	Detectable float64  `json:"detectable"`
	Outcome    Outcomes `json:"outcome"`
	Because    string   `json:"because"` // the reason for the outcome in one sentence
	Warnings   []string `json:"warnings,omitempty"`
	// Loss is the basis of the outcome of a duet's primary; nil for any other metric.
	Loss *Loss `json:"loss,omitempty"`
	// BaseOfBare and ChangeOfBare are the figures of two stored results as ratios to the bare data
	// path of each run; nil if the run did not measure that path, or if the figure cannot be
	// compared with it.
	BaseOfBare   *Metric `json:"base_of_bare,omitempty"`
	ChangeOfBare *Metric `json:"change_of_bare,omitempty"`
}

// Outcomes is the outcome of comparing one metric.
type Outcomes string

// The outcomes of a metric. Same requires that the rounds could have detected a change as large as
// MetricDelta.Effect. For a primary of a duet, it requires instead that a loss as large as the
// metric's margin is excluded.
const (
	Improved Outcomes = "improved"
	Worsened Outcomes = "regressed"
	Same     Outcomes = "same"
	Unclear  Outcomes = "inconclusive"
	// NotJudged is the outcome of a figure that is shown although too few rounds are valid.
	NotJudged Outcomes = "not judged"
	// Expected is the outcome of a counter from fixed work whose difference the change declares.
	Expected Outcomes = "expected"
)

// Cause explains, with evidence, where time is spent or where additional time is spent.
type Cause struct {
	// Kind is "lock", "cpu", "allocation", "fsync" or "stage". Results of earlier versions also
	// have "channel", "timer", "rpc", "scan" and "storage".
	Kind     string `json:"kind"`
	Name     string `json:"name"`     // of the lock, stage, function or counter
	Sentence string `json:"sentence"` // the explanation
	// Score is the explained time in microseconds per cycle, or a fraction of the rate if the cause
	// explains a rate.
	Score float64 `json:"score"`
}

// CauseSearch describes the search for the causes of a loss.
type CauseSearch struct {
	Generations int `json:"generations"` // number with profiles of both sides
	// Seconds is the duration of all profiled generations; 0 if not recorded.
	Seconds float64 `json:"seconds"`
	// LookedAt is the number of functions, locks, stages and fsyncs for whose differences an
	// interval was computed.
	LookedAt int `json:"looked_at"`
	// Share is the smallest share that a reported cause explains: of the loss of its kind or, if
	// Losses is empty, of the base's time per cycle.
	Share      float64    `json:"share"`
	Losses     []LostTime `json:"losses,omitempty"`
	Confidence float64    `json:"confidence"` // of all intervals together
}

// LostTime is a loss in microseconds per cycle.
type LostTime struct {
	Of string  `json:"of"` // "server CPU time", "client CPU time" or "time per cycle"
	Us float64 `json:"us"`
}

// ProfileDelta is the difference between two sides in a profile's charge to a function, per cycle.
type ProfileDelta struct {
	// Node is GeneratorNode for the generator, or "" for all servers together.
	Node     string `json:"node,omitempty"`
	Kind     string `json:"kind"` // of the profile
	Function string `json:"function"`
	Unit     string `json:"unit"`
	// Base and Change are charged to the function without its callees; both are means over rounds.
	Base   float64 `json:"base_per_cycle"`
	Change float64 `json:"change_per_cycle"`
	Low    float64 `json:"low"` // of the difference: bootstrap interval over rounds
	High   float64 `json:"high"`
	// BaseCum and ChangeCum are charged to the function including its callees.
	BaseCum   float64 `json:"base_cum_per_cycle"`
	ChangeCum float64 `json:"change_cum_per_cycle"`
}
