package load

import (
	"sync/atomic"
	"time"
)

// Slow reports the first cycle that takes longer than Than. Several workloads of a round may share
// a Slow.
type Slow struct {
	Than time.Duration
	// Report is called once, by the goroutine that completed the cycle. It must not block, because
	// the load waits for it.
	Report func(took time.Duration)

	reported atomic.Bool
}

// see checks the duration of a cycle that was completed inside the window, in nanoseconds. s may be
// nil.
func (s *Slow) see(took int64) {
	if s == nil || took <= int64(s.Than) || s.reported.Swap(true) {
		return
	}
	s.Report(time.Duration(took))
}

// Reported reports whether a cycle took longer than Than.
func (s *Slow) Reported() bool { return s.reported.Load() }
