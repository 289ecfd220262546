package load

import (
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/result"
)

// latencies are the latencies that one goroutine recorded. The zero value is empty and allocates
// its histogram at the first record.
type latencies struct {
	histogram *hdrhistogram.Histogram
	clamped   uint64
}

func newLatencies() latencies { return latencies{histogram: result.NewHistogram()} }

// record adds n tasks with the same latency. A latency above LatencyHighest is recorded as
// LatencyHighest, so that percentiles still include all tasks.
func (l *latencies) record(ns int64, n int) {
	if l.histogram == nil {
		l.histogram = result.NewHistogram()
	}
	if ns > int64(result.LatencyHighest) {
		ns = int64(result.LatencyHighest)
		l.clamped += uint64(n)
	}
	if l.histogram.RecordValues(ns, int64(n)) != nil {
		// RecordValues fails only for a negative latency, which a monotonic clock excludes.
		// Counting it as clamped makes it visible.
		l.clamped += uint64(n)
	}
}

// mergeInto adds the latencies to a histogram with the same configuration and returns the number of
// clamped latencies.
func (l *latencies) mergeInto(all *hdrhistogram.Histogram) (clamped uint64) {
	if l.histogram == nil {
		return 0
	}
	return l.clamped + uint64(all.Merge(l.histogram))
}

func (l *latencies) moveInto(all *hdrhistogram.Histogram) {
	if l.histogram != nil {
		l.mergeInto(all)
		l.histogram.Reset()
	}
}

// sameStart counts tasks of a batch that have the same intended start, and therefore the same
// latency.
type sameStart struct {
	at int64
	n  int
}

func (f *Refusals) note(n int, reason error) {
	if f.Count == 0 {
		f.First = reason.Error()
	}
	f.Count += uint64(n)
}

// Add adds other's refusals to f. If f has none, it adopts other's first reason.
func (f *Refusals) Add(other Refusals) {
	if f.Count == 0 {
		f.First = other.First
	}
	f.Count += other.Count
}

// span is the interval [start, end) in nanoseconds since the epoch.
type span struct{ start, end int64 }

func (s span) contains(ns int64) bool { return s.start <= ns && ns < s.end }

// clock is the only source of time. It is monotonic, and counts nanoseconds since the round's
// epoch.
type clock struct{ epoch time.Time }

func (c clock) now() int64 { return int64(time.Since(c.epoch)) }

func (c clock) at(ns int64) time.Time { return c.epoch.Add(time.Duration(ns)) }

func (c clock) until(ns int64) time.Duration { return time.Duration(ns - c.now()) }

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
