package soak

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/result"
)

// recoveries contains sums over the scored windows. A window is scored if it has faults, was
// measured to its end and is not invalid.
type recoveries struct {
	Windows      int `json:"windows"`
	Faults       int `json:"faults"`
	NotRecovered int `json:"not_recovered"`
	// Decayed is the number of windows whose rate remained low after the last fault.
	Decayed int `json:"decayed"`
	// Reason is the value of Faults.Decay of the first such window.
	Reason string `json:"reason,omitempty"`
	// Times contains the recovery times of all faults that the load recovered from.
	Times latencyEncoding `json:"times,omitempty"`
	MsMax float64         `json:"recovery_ms_max,omitzero"` // maximum of Times, in milliseconds
	Share float64         `json:"recovered_share"`          // the value of Faults.RecoveredShare
}

// recoveriesOf returns the sums of one window. scored reports whether the window is scored.
func recoveriesOf(w *Window) (r recoveries, scored bool, err error) {
	f := w.Round.Faults
	if !w.Faults || w.Cut || f == nil || len(f.Events) == 0 || w.Round.Verdict != result.Pass && w.Round.Verdict != result.Regressed {
		return r, false, nil
	}
	r.Windows, r.Faults, r.Share = 1, len(f.Events), f.RecoveredShare
	r.NotRecovered, _ = f.NotRecovered()
	if decay := f.Decay(); decay != "" {
		r.Decayed, r.Reason = 1, fmt.Sprintf("window %d: %s", w.Number, decay)
	}
	times := result.NewHistogram()
	for _, e := range f.Events {
		if !e.Recovered {
			continue
		}
		r.MsMax = max(r.MsMax, e.RecoveryMs)
		ns := min(int64(e.RecoveryMs*float64(time.Millisecond)), int64(result.LatencyHighest))
		if err := times.RecordValue(ns); err != nil {
			return r, false, fmt.Errorf("window %d: a recovery after %v ms: %w", w.Number, e.RecoveryMs, err)
		}
	}
	r.Times, err = encodeLatency(times)
	return r, true, err
}

func (r *recoveries) add(next recoveries) error {
	r.Windows += next.Windows
	r.Faults += next.Faults
	r.NotRecovered += next.NotRecovered
	r.Decayed += next.Decayed
	if r.Reason == "" {
		r.Reason = next.Reason
	}
	r.MsMax, r.Share = max(r.MsMax, next.MsMax), max(r.Share, next.Share)
	if next.Times == "" {
		return nil
	}
	var err error
	r.Times, err = r.Times.merged(next.Times)
	return err
}

// account returns the sums as they are stored in the result. It returns nil if no window was
// scored.
func (r *recoveries) account() (*result.SoakRecovery, error) {
	if r.Windows == 0 {
		return nil, nil
	}
	times := result.NewHistogram()
	if err := r.Times.mergeInto(times); err != nil {
		return nil, err
	}
	of := &result.SoakRecovery{
		Windows: r.Windows, Faults: r.Faults, NotRecovered: r.NotRecovered, Decayed: r.Decayed, DecayedReason: r.Reason,
		RecoveryMsMax: r.MsMax, RecoveredShare: r.Share,
	}
	if times.TotalCount() > 0 {
		of.RecoveryMsMedian = float64(times.ValueAtPercentile(50)) / float64(time.Millisecond)
	}
	return of, nil
}
