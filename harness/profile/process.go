package profile

import (
	"context"
	"time"

	"github.com/google/pprof/profile"
)

// Process is a process that can be profiled. Its methods must not be called concurrently.
type Process interface {
	// setRates sets profiling rates, and verifies that they are in effect.
	setRates(ctx context.Context, wanted rates) error
	// snapshot returns the current state of a profile.
	snapshot(ctx context.Context, k kind) (*profile.Profile, error)
	// startCPU starts a CPU profile. A process can have only one at a time. The error is
	// errNoCPUProfile if the process does not support CPU profiles with a start and a stop.
	startCPU(ctx context.Context) error
	// stopCPU ends the CPU profile and returns it.
	stopCPU(ctx context.Context) (*profile.Profile, error)
}

// Mark is a moment, and the number of cycles that were completed before it.
type Mark struct {
	At     time.Time
	Cycles uint64
}

// Span is the period that a profile covers. It lasts from one mark to another.
type Span struct{ From, To Mark }

// Cycles returns the number of cycles that were completed in the span.
func (s Span) Cycles() uint64 {
	if s.To.Cycles < s.From.Cycles {
		return 0
	}
	return s.To.Cycles - s.From.Cycles
}

// lasting returns a span that ends at the same time as s. Its duration is took, which the process
// has reported. Its number of cycles corresponds to the rate in s. If took is not positive, lasting
// returns s.
func (s Span) lasting(took time.Duration) Span {
	passed := s.To.At.Sub(s.From.At)
	if took <= 0 || passed <= 0 {
		return s
	}
	cycles := min(s.To.Cycles, uint64(float64(s.Cycles())*float64(took)/float64(passed)))
	return Span{From: Mark{At: s.To.At.Add(-took), Cycles: s.To.Cycles - cycles}, To: s.To}
}
