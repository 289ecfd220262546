package load

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	// liveEvery is how many runs of cycles with one latency a slot sees for each one that it enters in the live figure. The
	// counters are shared by all slots: one addition in so many costs less than a nanosecond for each cycle.
	liveEvery = 16
	// liveParts is into how many parts an octave is divided: the figure is at most 12.5 % too high.
	liveParts = 8
	// liveBuckets are enough for an hour.
	liveBuckets = 42 * liveParts
)

// live is a rough histogram of the cycle latencies of a window so far, which can be read while it is written: the exact
// ones belong to one goroutine each until the end. It is of a sample, shown to people and never stored.
type live struct {
	counts [liveBuckets]atomic.Uint64
}

// show enters what a slot recorded in the live figure, where somebody wants it, one time in liveEvery.
func (s *settles) show(ns int64, n int) {
	if s.live == nil {
		return
	}
	if s.shown%liveEvery == 0 {
		s.live.note(ns, n)
	}
	s.shown++
}

// note enters n cycles that took so many nanoseconds.
func (l *live) note(ns int64, n int) {
	l.counts[liveBucket(ns)].Add(uint64(n))
}

// liveBucket divides each octave into equal parts.
func liveBucket(ns int64) int {
	v := uint64(max(ns, 0))
	octave := bits.Len64(v / liveParts)
	if octave == 0 {
		return int(v)
	}
	return min(octave*liveParts+int(v>>(octave-1))-liveParts, liveBuckets-1)
}

// liveUpper is the largest latency of a bucket.
func liveUpper(bucket int) time.Duration {
	octave, part := bucket/liveParts, bucket%liveParts
	if octave == 0 {
		return time.Duration(part)
	}
	return time.Duration((liveParts+part+1)<<(octave-1) - 1)
}

// p99 returns the latency that 99 % of the cycles noted do not exceed, and 0 without cycles.
func (l *live) p99() time.Duration {
	var counts [liveBuckets]uint64
	var total uint64
	for i := range l.counts {
		counts[i] = l.counts[i].Load()
		total += counts[i]
	}
	if total == 0 {
		return 0
	}
	var seen uint64
	for i, n := range counts {
		if seen += n; float64(seen) >= 0.99*float64(total) {
			return liveUpper(i)
		}
	}
	return liveUpper(liveBuckets - 1)
}
