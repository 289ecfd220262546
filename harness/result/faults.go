package result

import (
	"math"
	"slices"
)

// Faults is what was done to a cluster in a round's window, and what the load made of it.
type Faults struct {
	SlotS  float64   `json:"slot_s"`
	Cycles []float64 `json:"cycles"` // acknowledged in each slot, from the window's start on
	// BaselinePerS is the rate in cycles a second before the first fault, and BaselineDipPercent how far it fell below that
	// in its own worst slot: a dip of a fault that is no deeper says nothing.
	BaselinePerS       float64 `json:"baseline_per_s"`
	BaselineDipPercent float64 `json:"baseline_dip_percent"`
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
	FirstAckMs float64  `json:"first_ack_ms"` // until the first cycle after the outage; 0: there was none
	RecoveryMs float64  `json:"recovery_ms"`  // until the rate was at 95 % of the baseline; if it never was, until the next fault or the window's end
	Recovered  bool     `json:"recovered"`
	DipPercent float64  `json:"dip_percent"` // below the baseline, in the worst slot until it had recovered
	FaultPerS  float64  `json:"fault_per_s"` // cycles a second while the fault lasted
	AfterPerS  float64  `json:"after_per_s"` // from then to the next fault or the window's end
}

// deriveFaults fills in the metrics of the faults of a round: where there are several, the median and the worst.
func (r *Round) deriveFaults() {
	f := r.Faults
	if f == nil || len(f.Events) == 0 {
		return
	}
	of := func(value func(Fault) float64) []float64 {
		values := make([]float64, 0, len(f.Events))
		for _, e := range f.Events {
			values = append(values, value(e))
		}
		slices.Sort(values)
		return values
	}
	middle := func(sorted []float64) float64 {
		n := len(sorted)
		return (sorted[(n-1)/2] + sorted[n/2]) / 2
	}
	ack, recovery := of(func(e Fault) float64 { return e.FirstAckMs }), of(func(e Fault) float64 { return e.RecoveryMs })
	r.Metrics[FaultFirstAckMsMedian], r.Metrics[FaultFirstAckMsMax] = middle(ack), ack[len(ack)-1]
	r.Metrics[FaultRecoveryMsMedian], r.Metrics[FaultRecoveryMsMax] = middle(recovery), recovery[len(recovery)-1]
	r.Metrics[FaultDipPercent] = middle(of(func(e Fault) float64 { return math.Max(0, e.DipPercent) }))
	unrecovered := 0
	for _, e := range f.Events {
		if !e.Recovered {
			unrecovered++
		}
	}
	r.Metrics[FaultsUnrecovered] = float64(unrecovered)
	r.Metrics[FailedCalls] = float64(f.FailedCalls)
}
