package load

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	// liveEvery is the sampling interval: a slot enters one of liveEvery runs of cycles with equal
	// latency in the live histogram. All slots share its counters, so sampling keeps the cost below
	// a nanosecond for each cycle.
	liveEvery = 16
	// liveParts is the number of buckets in an octave. The percentile is at most 1/liveParts = 12.5
	// % too high.
	liveParts = 8
	// liveBuckets is enough for latencies up to an hour.
	liveBuckets = 42 * liveParts
)

// live is a coarse histogram of the cycle latencies of a window, for progress display only. It can
// be read while it is written; the exact histograms belong to one goroutine each until the end. It
// holds a sample and is never stored.
type live struct {
	counts [liveBuckets]atomic.Uint64
}

// show enters one of liveEvery recorded latencies in the live histogram.
func (s *settles) show(ns int64, n int) {
	if s.live == nil {
		return
	}
	if s.shown%liveEvery == 0 {
		s.live.note(ns, n)
	}
	s.shown++
}

func (l *live) note(ns int64, n int) {
	l.counts[liveBucket(ns)].Add(uint64(n))
}

// liveBucket returns the bucket of a latency. Each octave has liveParts equal buckets.
func liveBucket(ns int64) int {
	v := uint64(max(ns, 0))
	octave := bits.Len64(v / liveParts)
	if octave == 0 {
		return int(v)
	}
	return min(octave*liveParts+int(v>>(octave-1))-liveParts, liveBuckets-1)
}

// liveUpper returns the largest latency of a bucket.
func liveUpper(bucket int) time.Duration {
	octave, part := bucket/liveParts, bucket%liveParts
	if octave == 0 {
		return time.Duration(part)
	}
	return time.Duration((liveParts+part+1)<<(octave-1) - 1)
}

// p99 returns the 99th percentile of the noted latencies; 0 without cycles.
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
