package load

import (
	"sync/atomic"
	"time"
)

// Slow is told of the first cycle that is slower than it may be. It may be shared by the workloads of a round.
type Slow struct {
	Than time.Duration
	// Tell is called once, by the goroutine that completed the cycle, and must not block: the load waits for it.
	Tell func(took time.Duration)

	told atomic.Bool
}

// see looks at a cycle that was completed inside the window. There may be nobody to tell.
func (s *Slow) see(took int64) {
	if s == nil || took <= int64(s.Than) || s.told.Swap(true) {
		return
	}
	s.Tell(time.Duration(took))
}

// Told reports whether there was such a cycle.
func (s *Slow) Told() bool { return s.told.Load() }
