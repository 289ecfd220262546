package stalls

import (
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
)

const (
	// readEvery is the interval between two readings of the runtime while commits arrive.
	readEvery = 100 * time.Millisecond
	// readingMax is the maximum age of the last reading before a commit. If it is older, the waits
	// of goroutines during the commit are unknown.
	readingMax = time.Second
	// readingsMax is the maximum number of stored readings. If a commit takes longer than the
	// period that they span, there is no reading before it.
	readingsMax = 16
	// readAtMost is the minimum interval between two readings of the runtime for slow commits.
	readAtMost = time.Millisecond
)

// reading is a copy of a histogram of the runtime: the times that goroutines waited for a
// processor.
type reading struct {
	at     time.Duration
	counts []uint64  // number of waits in each bucket
	bounds []float64 // bounds of the buckets in seconds; one more element than counts
}

func readRuntime(r *reading) {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return
	}
	h := sample[0].Value.Float64Histogram()
	r.counts, r.bounds = h.Counts, h.Buckets
}

// readings contains the latest readings.
type readings struct {
	kept []reading // regular readings, oldest first
	last reading   // the last reading for a slow commit
}

func (r *readings) keep(read func(*reading), now time.Duration) {
	if len(r.kept) == readingsMax {
		r.kept = slices.Delete(r.kept, 0, 1)
	}
	next := reading{at: now}
	read(&next)
	r.kept = append(r.kept, next)
}

// waited returns the longest wait for a processor that ended during a commit or shortly before it.
// over is the length of the period in which it looked for waits. See Ran.
func (r *readings) waited(read func(*reading), began, ended time.Duration) (waited, over time.Duration) {
	base := -1
	for i := range r.kept {
		if r.kept[i].at <= began {
			base = i
		}
	}
	if base < 0 || began-r.kept[base].at > readingMax {
		return 0, 0
	}
	if r.last.counts == nil || ended-r.last.at > readAtMost {
		r.last = reading{at: ended}
		read(&r.last)
	}
	before := r.kept[base]
	for i := len(r.last.counts) - 1; i > 0 && len(before.counts) == len(r.last.counts); i-- {
		if r.last.counts[i] > before.counts[i] {
			waited = time.Duration(r.last.bounds[i] * 1e9)
			break
		}
	}
	return waited, ended - before.at
}

// collections returns the number of garbage collections that ended in an interval. It considers
// only the runtime's last 256 collections.
func collections(from, to time.Duration) (n int) {
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	origin := time.Now().Add(-stages.Now())
	for _, end := range stats.PauseEnd { // latest first
		at := end.Sub(origin)
		if at <= from {
			break
		}
		if at <= to {
			n++
		}
	}
	return n
}
