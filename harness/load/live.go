package load

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	// liveEvery is the sampling interval of the live histogram. Each slot combines cycles with
	// equal latency into runs, and enters one of liveEvery runs. All slots share the histogram's
	// counters, so sampling keeps the cost below a nanosecond per cycle.
	liveEvery = 16
	// liveParts is the number of buckets per octave. The reported percentile is too high by at most
	// 1/liveParts = 12.5 %.
	liveParts = 8
	// liveBuckets is the number of buckets, which is enough for latencies of up to an hour.
	liveBuckets = 42 * liveParts
)

// live is a coarse histogram of the cycle latencies of a window, for progress display only. It can
// be read while it is written. In contrast, each exact histogram belongs to one goroutine until the
// load ends. live contains only a sample of the cycles, and is never stored.
type live struct {
	counts [liveBuckets]atomic.Uint64
}

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

func liveUpper(bucket int) time.Duration {
	octave, part := bucket/liveParts, bucket%liveParts
	if octave == 0 {
		return time.Duration(part)
	}
	return time.Duration((liveParts+part+1)<<(octave-1) - 1)
}

// p99 returns the 99th percentile of the recorded latencies, or 0 if the histogram is empty.
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
