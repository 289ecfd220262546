package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/result"
)

// latencies are the latencies that one goroutine saw. The zero value is empty, and takes memory when something is recorded.
type latencies struct {
	histogram *hdrhistogram.Histogram
	clamped   uint64
}

func newLatencies() latencies { return latencies{histogram: result.NewHistogram()} }

// record adds n tasks with the same latency. One beyond the range is recorded as the range's end, so
// that percentiles stay percentiles of all tasks.
func (l *latencies) record(ns int64, n int) {
	if l.histogram == nil {
		l.histogram = result.NewHistogram()
	}
	if ns > int64(result.LatencyHighest) {
		ns = int64(result.LatencyHighest)
		l.clamped += uint64(n)
	}
	if l.histogram.RecordValues(ns, int64(n)) != nil {
		// Only for a negative latency, which a monotonic clock does not give: seen in Clamped, not lost.
		l.clamped += uint64(n)
	}
}

// mergeInto adds the latencies to a histogram of the same kind and returns how many were clamped.
func (l *latencies) mergeInto(all *hdrhistogram.Histogram) (clamped uint64) {
	if l.histogram == nil {
		return 0
	}
	return l.clamped + uint64(all.Merge(l.histogram))
}

// moveInto adds the latencies to a histogram of the same kind, and leaves none.
func (l *latencies) moveInto(all *hdrhistogram.Histogram) {
	if l.histogram != nil {
		l.mergeInto(all)
		l.histogram.Reset()
	}
}

// sameStart are tasks of a batch that were meant to be sent at the same time, and so have the same latency.
type sameStart struct {
	at int64
	n  int
}

// note counts n refusals, keeping the first reason.
func (f *Refusals) note(n int, reason error) {
	if f.Count == 0 {
		f.First = reason.Error()
	}
	f.Count += uint64(n)
}

// Add adds others, whose first reason is kept where there was none.
func (f *Refusals) Add(other Refusals) {
	if f.Count == 0 {
		f.First = other.First
	}
	f.Count += other.Count
}

// span is the window: from start on, before end, in nanoseconds since the epoch.
type span struct{ start, end int64 }

func (s span) contains(ns int64) bool { return s.start <= ns && ns < s.end }

// clock is the one source of time: nanoseconds since the round's epoch, monotonic.
type clock struct{ epoch time.Time }

func (c clock) now() int64 { return int64(time.Since(c.epoch)) }

// at returns the instant ns nanoseconds after the epoch.
func (c clock) at(ns int64) time.Time { return c.epoch.Add(time.Duration(ns)) }

// until returns the time left before ns.
func (c clock) until(ns int64) time.Duration { return time.Duration(ns - c.now()) }
