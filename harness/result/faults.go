package result

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/render"
)

// Faults describes the faults of a cluster in a round's window and their effect on the load.
type Faults struct {
	SlotS  float64   `json:"slot_s"`
	Cycles []float64 `json:"cycles"` // acknowledged in each slot, since the start of the window
	// BaselinePerS is the rate in cycles a second before the first fault. BaselineDipPercent is the
	// largest drop of a single slot below that rate before the first fault, in percent. The dip
	// after a fault is meaningful only if it is deeper.
	BaselinePerS       float64 `json:"baseline_per_s"`
	BaselineDipPercent float64 `json:"baseline_dip_percent"`
	// RecoveredShare is the fraction of a fault's BeforePerS that the load must reach to count as
	// recovered from the fault.
	RecoveredShare float64 `json:"recovered_share,omitempty"`
	FailedCalls    uint64  `json:"failed_calls"` // of the load, including warm-up and drain
	FirstFailure   string  `json:"first_failure,omitempty"`
	// RefusedCompletions counts refused completions, for example of tasks whose lease had ended.
	RefusedCompletions uint64  `json:"refused_completions"`
	Events             []Fault `json:"events"`
}

// Fault is one occurrence of a fault. BeganS, DoneS and HealedS are in seconds since the start of
// the window. FirstAckMs and RecoveryMs are in milliseconds since the start of the fault.
type Fault struct {
	Kind   string   `json:"kind"`
	Target string   `json:"target"`
	Nodes  []string `json:"nodes"`
	Leader string   `json:"leader,omitempty"` // of shard 0 at the start of the fault
	BeganS float64  `json:"began_s"`
	// DoneS is the time when the nodes were stopped, paused or removed, or the links disturbed.
	DoneS   float64 `json:"done_s"`
	HealedS float64 `json:"healed_s"` // when that was undone, for example a restarted node listened
	// FirstAckMs is the time until the first cycle after the outage was acknowledged; 0 without an
	// outage.
	FirstAckMs float64 `json:"first_ack_ms"`
	// Silent reports that no cycle completed before the next fault or the end of the window.
	// FirstAckMs is then the observed time, a lower bound.
	Silent bool `json:"silent,omitempty"`
	// BeforePerS is the rate in cycles a second before this fault, the reference for its recovery.
	BeforePerS float64 `json:"before_per_s,omitempty"`
	// RecoveryMs is the time until the rate returned to RecoveredShare of BeforePerS. If the load
	// did not recover, RecoveryMs is the time until the next fault or the end of the window: a
	// lower bound, not a recovery time.
	RecoveryMs float64 `json:"recovery_ms"`
	Recovered  bool    `json:"recovered"`
	// BackSoon reports that the rate returned to 95 % of BeforePerS within a second and stayed
	// there for half a second; nil in results of earlier builds.
	BackSoon *bool `json:"back_soon,omitempty"`
	// DipPercent is the drop below BeforePerS in the worst slot before the recovery.
	DipPercent float64 `json:"dip_percent"`
	FaultPerS  float64 `json:"fault_per_s"` // cycles a second during the fault
	// AfterPerS is the rate in cycles a second from the end of the fault to the next fault or the
	// end of the window.
	AfterPerS float64 `json:"after_per_s"`
	// LevelPerS is the rate that the load returned to. It is measured from the end of the fault and
	// the recovery (without a recovery, the first cycle) until the next fault or the end of the
	// window.
	LevelPerS float64 `json:"level_per_s,omitempty"`
}

// LevelLeast is the fraction of the rate before the first fault that the load must return to after
// the last faults. Below it, the round is regressed.
const LevelLeast = 0.7

// Level returns the median rate that the load returned to after the last faults, as a fraction of
// the rate before the first fault. It also returns the number of these last faults: a third of all
// faults, at least one. The fraction is NaN without faults or without a rate before them.
func (f *Faults) Level() (share float64, faults int) {
	faults = (len(f.Events) + 2) / 3
	if faults == 0 || f.BaselinePerS <= 0 {
		return math.NaN(), faults
	}
	levels := valuesOfFaults(f.Events[len(f.Events)-faults:], func(e Fault) float64 { return e.LevelPerS })
	return middle(levels) / f.BaselinePerS, faults
}

// LastToFirst returns the rate that the load returned to after the last faults, divided by the rate
// that it returned to after the first faults. The two rates are medians over the last and over the
// first tenth of the faults, at least one fault each. The ratio is NaN with fewer than two faults,
// and if the rate after the first faults is 0.
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

// Decay returns a sentence if the load did not return to LevelLeast of the rate before the first
// fault. It returns "" if the load did, and if there were no faults.
func (f *Faults) Decay() string {
	share, faults := f.Level()
	if math.IsNaN(share) || share >= LevelLeast {
		return ""
	}
	of := "the last fault"
	if faults > 1 {
		of = fmt.Sprintf("the last %d faults", faults)
	}
	return fmt.Sprintf("the rate did not recover: after %s it was %s cycles/s, %s of the %s before the first fault; at least %s is required",
		of, render.Number(share*f.BaselinePerS), render.PercentTo(share, 0), render.Number(f.BaselinePerS), render.PercentTo(LevelLeast, 0))
}

// NotRecovered returns the number of faults without recovery, and the shortest time for which the
// load was observed after any of them.
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

func valuesOfFaults(faults []Fault, value func(Fault) float64) []float64 {
	values := make([]float64, 0, len(faults))
	for _, e := range faults {
		values = append(values, value(e))
	}
	slices.Sort(values)
	return values
}

// middle returns the median of sorted values.
func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

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

// metrics returns the metrics of all faults together, of one round or of several. The metrics of
// recovery times include only faults with a recovery, and the metrics of times to the first cycle
// only faults after which a cycle completed. If there is no such fault, these metrics are missing.
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

// backSoon returns the number of faults after which the load was back soon. known is false if that
// was not recorded for each fault.
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
