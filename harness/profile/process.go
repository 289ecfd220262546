package profile

import (
	"context"
	"time"

	"github.com/google/pprof/profile"
)

// Process is a process that profiles are taken of. Its methods are called one after the other.
type Process interface {
	// setRates puts profiling rates in force, and makes sure that they are.
	setRates(ctx context.Context, wanted rates) error
	// snapshot returns a profile as it stands.
	snapshot(ctx context.Context, k kind) (*profile.Profile, error)
	// startCPU begins the process's only CPU profile. It returns errNoCPUProfile if the process has no such means.
	startCPU(ctx context.Context) error
	// stopCPU ends that profile and returns it.
	stopCPU(ctx context.Context) (*profile.Profile, error)
}

// Mark is an instant, and how many cycles were completed until then.
type Mark struct {
	At     time.Time
	Cycles uint64
}

// Span is the time that a profile covers, from one mark to another.
type Span struct{ From, To Mark }

// Cycles returns how many cycles were completed in the span.
func (s Span) Cycles() uint64 {
	if s.To.Cycles < s.From.Cycles {
		return 0
	}
	return s.To.Cycles - s.From.Cycles
}

// lasting returns the span that ends when s does and lasts as long as a process says, with cycles at the rate of s.
func (s Span) lasting(took time.Duration) Span {
	passed := s.To.At.Sub(s.From.At)
	if took <= 0 || passed <= 0 {
		return s
	}
	cycles := min(s.To.Cycles, uint64(float64(s.Cycles())*float64(took)/float64(passed)))
	return Span{From: Mark{At: s.To.At.Add(-took), Cycles: s.To.Cycles - cycles}, To: s.To}
}
