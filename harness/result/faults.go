package result

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/render"
)

// Faults is what was done to a cluster in a round's window, and what the load made of it.
type Faults struct {
	SlotS  float64   `json:"slot_s"`
	Cycles []float64 `json:"cycles"` // acknowledged in each slot, from the window's start on
	// BaselinePerS is the rate in cycles a second before the first fault, and BaselineDipPercent how far it fell below that
	// in its own worst slot: a dip of a fault that is no deeper says nothing.
	BaselinePerS       float64 `json:"baseline_per_s"`
	BaselineDipPercent float64 `json:"baseline_dip_percent"`
	// RecoveredShare is the share of a fault's BeforePerS at which the load has recovered from the fault.
	RecoveredShare     float64 `json:"recovered_share,omitempty"`
	FailedCalls        uint64  `json:"failed_calls"` // of the load, warm-up and drain included
	FirstFailure       string  `json:"first_failure,omitempty"`
	RefusedCompletions uint64  `json:"refused_completions"` // of tasks whose lease had ended, say
	Events             []Fault `json:"events"`
}

// Fault is one time that a fault happened. Its times are in seconds from the window's start, those of its effects in
// milliseconds from when it began.
type Fault struct {
	Kind       string   `json:"kind"`
	Target     string   `json:"target"`
	Nodes      []string `json:"nodes"`
	Leader     string   `json:"leader,omitempty"` // of shard 0 when it began
	BeganS     float64  `json:"began_s"`
	DoneS      float64  `json:"done_s"`       // the nodes were gone, paused or removed, or the links ill
	HealedS    float64  `json:"healed_s"`     // that was undone: a node that was started again listened
	FirstAckMs float64  `json:"first_ack_ms"` // until the first cycle after the outage; 0: there was no outage
	// Silent says that no cycle came before the next fault or the window's end. FirstAckMs is how long that was watched then: a lower bound.
	Silent bool `json:"silent,omitempty"`
	// BeforePerS is the rate in cycles a second before this fault, which the recovery is measured against.
	BeforePerS float64 `json:"before_per_s,omitempty"`
	// RecoveryMs is the time until the rate was back at RecoveredShare of BeforePerS. If the load did not recover, RecoveryMs is how
	// long that was watched, until the next fault or the window's end: a lower bound, and no time of recovery.
	RecoveryMs float64 `json:"recovery_ms"`
	Recovered  bool    `json:"recovered"`
	// BackSoon says that the rate was back at 95 % of BeforePerS within a second, and stayed there for half a second; nil in results of earlier
	// builds.
	BackSoon   *bool   `json:"back_soon,omitempty"`
	DipPercent float64 `json:"dip_percent"` // below BeforePerS, in the worst slot until it had recovered
	FaultPerS  float64 `json:"fault_per_s"` // cycles a second while the fault lasted
	AfterPerS  float64 `json:"after_per_s"` // from then to the next fault or the window's end
	// LevelPerS is the rate that the load came back to: from when the fault was over and the load had recovered, or else had the
	// first cycle, to the next fault or the window's end.
	LevelPerS float64 `json:"level_per_s,omitempty"`
}

// LevelLeast is the share of the rate before the first fault that the load must come back to after the last faults. If the load comes
// back to less, the round is regressed.
const LevelLeast = 0.7

// Level returns the median of the rates that the load came back to after the last faults, as a share of the rate before the first
// fault, and how many faults those are: the last third, at least one. The share is NaN without faults or without a rate before them.
func (f *Faults) Level() (share float64, faults int) {
	faults = (len(f.Events) + 2) / 3
	if faults == 0 || f.BaselinePerS <= 0 {
		return math.NaN(), faults
	}
	levels := valuesOfFaults(f.Events[len(f.Events)-faults:], func(e Fault) float64 { return e.LevelPerS })
	return middle(levels) / f.BaselinePerS, faults
}

// LastToFirst returns the rate that the load came back to after the last faults, as a part of that after the first ones: the ratio of the
// medians over the last and the first tenth of the faults, at least one each. It is NaN with fewer than two faults, and without a rate after the
// first ones.
func (f *Faults) LastToFirst() float64 {
	n := len(f.Events)
	tenth := max(1, n/10)
	if n < 2 {
		return math.NaN()
	}
	level := func(e Fault) float64 { return e.LevelPerS }
	first := middle(valuesOfFaults(f.Events[:tenth], level))
	if first <= 0 {
		return math.NaN()
	}
	return middle(valuesOfFaults(f.Events[n-tenth:], level)) / first
}

// Decay says that the load did not come back to LevelLeast of the rate before the first fault. It returns "" if the load did, and
// without faults.
func (f *Faults) Decay() string {
	share, faults := f.Level()
	if math.IsNaN(share) || share >= LevelLeast {
		return ""
	}
	of := "the last fault"
	if faults > 1 {
		of = fmt.Sprintf("the last %d faults", faults)
	}
	return fmt.Sprintf("the rate did not come back: after %s it was %s cycles/s, %s of the %s before the first fault; the least is %s",
		of, render.Number(share*f.BaselinePerS), render.PercentTo(share, 0), render.Number(f.BaselinePerS), render.PercentTo(LevelLeast, 0))
}

// NotRecovered returns how many faults the load did not recover from, and the shortest time that one of those was watched.
func (f *Faults) NotRecovered() (faults int, watchedMs float64) {
	watchedMs = math.Inf(1)
	for _, e := range f.Events {
		if !e.Recovered {
			faults++
			watchedMs = min(watchedMs, e.RecoveryMs)
		}
	}
	if faults == 0 {
		return 0, 0
	}
	return faults, watchedMs
}

// valuesOfFaults returns a figure of each fault, in ascending order.
func valuesOfFaults(faults []Fault, value func(Fault) float64) []float64 {
	values := make([]float64, 0, len(faults))
	for _, e := range faults {
		values = append(values, value(e))
	}
	slices.Sort(values)
	return values
}

// middle is the median of sorted values.
func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// deriveFaults fills in the metrics of the faults of a round.
func (r *Round) deriveFaults() {
	if r.Faults == nil || len(r.Faults.Events) == 0 {
		return
	}
	maps.Copy(r.Metrics, r.Faults.metrics())
	if share, _ := r.Faults.Level(); !math.IsNaN(share) {
		r.Metrics[FaultLevelRatio] = share
	}
	if ratio := r.Faults.LastToFirst(); !math.IsNaN(ratio) {
		r.Metrics[FaultLastToFirstRatio] = ratio
	}
}

// metrics are those of all faults together: of a round, or of several. The times of recovery are those of the faults that the load
// recovered from, and the times of the first cycle those of the faults that one came after; without such a fault they are missing.
func (f *Faults) metrics() map[string]float64 {
	if len(f.Events) == 0 {
		return nil
	}
	notRecovered, _ := f.NotRecovered()
	metrics := map[string]float64{
		FaultDipPercent:    middle(valuesOfFaults(f.Events, func(e Fault) float64 { return math.Max(0, e.DipPercent) })),
		FaultsNotRecovered: float64(notRecovered),
		FailedCalls:        float64(f.FailedCalls),
	}
	answered := slices.DeleteFunc(slices.Clone(f.Events), func(e Fault) bool { return e.Silent })
	if len(answered) > 0 {
		ack := valuesOfFaults(answered, func(e Fault) float64 { return e.FirstAckMs })
		metrics[FaultFirstAckMsMedian], metrics[FaultFirstAckMsMax] = middle(ack), ack[len(ack)-1]
	}
	if soon, known := f.backSoon(); known {
		metrics[FaultsBackSoon] = float64(soon)
	}
	recovered := slices.DeleteFunc(slices.Clone(f.Events), func(e Fault) bool { return !e.Recovered })
	if len(recovered) > 0 {
		recovery := valuesOfFaults(recovered, func(e Fault) float64 { return e.RecoveryMs })
		metrics[FaultRecoveryMsMedian], metrics[FaultRecoveryMsMax] = middle(recovery), recovery[len(recovery)-1]
	}
	return metrics
}

// backSoon returns after how many faults the load was back soon. known is false if that was not looked at after each.
func (f *Faults) backSoon() (faults int, known bool) {
	for _, e := range f.Events {
		if e.BackSoon == nil {
			return 0, false
		}
		if *e.BackSoon {
			faults++
		}
	}
	return faults, true
}

// mergeFaults returns the faults of all rounds together.
func mergeFaults(rounds []Round) *Faults {
	var all Faults
	for _, r := range rounds {
		if r.Faults != nil {
			all.Events = append(all.Events, r.Faults.Events...)
			all.FailedCalls += r.Faults.FailedCalls
		}
	}
	return &all
}
