package k6run

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Encode returns the wire form of a load's outcome and of its ledger's balance. It omits the times
// of the harness's hooks.
func Encode(o *load.Outcome, balance result.Ledger) (*Outcome, error) {
	h := result.Histograms{Enqueue: o.EnqueueLatency, Settle: o.SettleLatency, Cycle: o.CycleLatency}
	encoded := &Outcome{
		FinishedNS: o.Finished.Sub(o.Launched),
		Cycles:     o.Cycles, Enqueued: o.Enqueued, Clamped: o.Clamped,
		RefusedEnqueues: o.RefusedEnqueues, RefusedCompletions: o.RefusedCompletions, FailedCalls: o.FailedCalls,
		Drained: o.Drained, Draining: o.Draining, Ledger: balance,
	}
	if open := o.Open; open != nil {
		h.Slip, h.Service = open.Slip, open.Service
		encoded.Open = &open.Arrivals
	}
	var err error
	if encoded.Histograms, err = h.Encode(); err != nil {
		return nil, fmt.Errorf("k6: the outcome: %w", err)
	}
	return encoded, nil
}

// Load is the inverse of Encode. begin is the time when the load began, with a monotonic reading,
// and phases are the phases of the load.
func (o *Outcome) Load(begin time.Time, phases scenario.Phases) (*load.Outcome, error) {
	h, err := result.DecodeHistograms(o.Histograms)
	switch {
	case err != nil:
		return nil, fmt.Errorf("k6: the outcome: %w", err)
	case o.FinishedNS < 0:
		return nil, fmt.Errorf("k6: the outcome: finished_ns is %d, before the load began", o.FinishedNS)
	case (o.Open == nil) != (h.Slip == nil) || (o.Open == nil) != (h.Service == nil):
		return nil, fmt.Errorf("k6: the outcome: expected arrivals and the histograms slip and service of an open load, or none of them; got %d histograms, arrivals: %t",
			len(o.Histograms), o.Open != nil)
	}
	start := begin.Add(phases.Warmup)
	decoded := &load.Outcome{
		Launched: begin, WindowStart: start, WindowEnd: start.Add(phases.Window), Window: phases.Window, Finished: begin.Add(o.FinishedNS),
		Cycles: o.Cycles, Enqueued: o.Enqueued, Clamped: o.Clamped,
		EnqueueLatency: h.Enqueue, SettleLatency: h.Settle, CycleLatency: h.Cycle,
		RefusedEnqueues: o.RefusedEnqueues, RefusedCompletions: o.RefusedCompletions, FailedCalls: o.FailedCalls,
		Drained: o.Drained, Draining: o.Draining,
	}
	if open := o.Open; open != nil {
		decoded.Open = &load.Open{Arrivals: *open, Slip: h.Slip, Service: h.Service}
	}
	return decoded, nil
}
